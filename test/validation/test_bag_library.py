# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Without the optional package rosbags, everything but bags works, and bags say what to install."""

import subprocess
import sys
from pathlib import Path

import pytest

CONFIG = Path(__file__).parents[2] / "config"
ARM = str(CONFIG / "robots" / "planar_two_link.urdf")
SPRINGS = str(CONFIG / "elastic_joints" / "planar_two_link.yaml")
WITHOUT = "import sys; sys.modules['rosbags'] = None\n"
EVERY_MODULE = """
import importlib, pkgutil
import multibody_dynamics

for each in pkgutil.walk_packages(multibody_dynamics.__path__, "multibody_dynamics."):
    if not each.name.endswith((".launch_arguments", ".__main__")):  # launch files; the program
        importlib.import_module(each.name)
from multibody_dynamics.validation.recordings import bag_library
for use in (lambda: bag_library.Stores.ROS2_JAZZY, lambda: bag_library.Reader("bag")):
    try:
        use()
    except multibody_dynamics.dynamics.InputError as error:
        print(error)
"""
COMMAND = "from multibody_dynamics.tools.cli import main; sys.exit(main(sys.argv[1:]))\n"


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program, *arguments], capture_output=True, text=True
    )


@pytest.mark.ros
def test_every_module_can_be_imported_without_rosbags():
    done = run(EVERY_MODULE)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all("pip install 'rosbags>=" in line for line in lines)


def test_tables_are_read_and_bags_are_refused(tmp_path):
    table = tmp_path / "motion.csv"
    table.write_text("t,q a,qd a\n0,0,0\n1,1,0\n")
    program = (
        "from pathlib import Path\n"
        "from multibody_dynamics.validation.trajectory_files import read_points\n"
        "print(read_points(Path(sys.argv[1])).joint_names)\n"
    )
    assert run(program, str(table)).stdout == "('a',)\n"
    bag = tmp_path / "motion.mcap"
    bag.write_bytes(b"")
    done = run(COMMAND, "scale-time", "--urdf", ARM, "--elastic-joints", SPRINGS, str(bag))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'rosbags>=" in done.stderr
