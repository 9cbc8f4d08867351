# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The plugin of a generated controller with the real ros2_control: built, and driven through its
life by the program in its own package.

Requires controller_interface, which is not on PyPI: collected only where it is installed, see
conftest.py.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from elastic_arms import antagonistic_arm, elastic_panda, mixed_panda
from generated_controllers import designed, generated

ARMS = {"panda": elastic_panda, "rigid joints": mixed_panda, "antagonistic": antagonistic_arm}


@pytest.mark.parametrize("name", ARMS)
def test_the_plugin_is_built_and_works(tmp_path: Path, name: str, ros_domain_id: int) -> None:
    folder = generated(designed(ARMS[name](), transfer_time=0.5), tmp_path / "source")
    build, install = tmp_path / "build", tmp_path / "install"
    surroundings = os.environ | {
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_DOMAIN_ID": str(ros_domain_id),
    }
    for command in (
        ["cmake", "-S", folder, "-B", build, "-DBUILD_PLUGIN=ON",
         f"-DCMAKE_INSTALL_PREFIX={install}"],
        ["cmake", "--build", build],
        ["ctest", "--test-dir", build, "--output-on-failure"],
        ["cmake", "--install", build],
    ):  # fmt: skip
        done = subprocess.run(command, env=surroundings, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "warning: " not in done.stdout + done.stderr
    timing = [build / "arm_plugin_timing", "3"]
    done = subprocess.run(timing, env=surroundings, capture_output=True, text=True, check=True)
    rows = re.findall(r"^(?:hot|after sleeping.*?|control) +\| +(\d+) ", done.stdout, re.MULTILINE)
    assert [int(row) >= 990 for row in rows] == 6 * [True]
    index = install / "share/ament_index/resource_index"
    for package in ("controller_interface", "hardware_interface"):
        described = index / f"{package}__pluginlib__plugin/arm_controller"
        assert (install / described.read_text().strip()).is_file()
    assert (install / "lib/libarm_controller_plugin.so").is_file()
    assert (install / "share/arm_controller/config/controllers.yaml").is_file()
    assert (install / "share/arm_controller/launch/controller.launch.py").is_file()
