# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""ROS settings with which the package's processes discover only each other."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from multibody_dynamics.dynamics import InputError
from multibody_dynamics.tools.base.ros_settings import (
    DOMAIN_VARIABLE,
    DOMAINS,
    ros_environment,
    ros_settings,
)


def test_this_computer_only_and_a_private_domain():
    settings = ros_settings(environ={"ROS_DOMAIN_ID": "0", "ROS_STATIC_PEERS": "10.0.0.7"})
    assert settings["ROS_STATIC_PEERS"] == ""
    assert int(settings["ROS_DOMAIN_ID"]) in DOMAINS
    assert settings["ROS_DOMAIN_ID"] == ros_settings(environ={})["ROS_DOMAIN_ID"]


def test_the_domain_can_be_chosen():
    assert ros_settings(environ={DOMAIN_VARIABLE: "7"})["ROS_DOMAIN_ID"] == "7"
    assert ros_settings(9, environ={DOMAIN_VARIABLE: "7"})["ROS_DOMAIN_ID"] == "9"


@pytest.mark.parametrize("text", ["seven", "233", "-1", "7.0"])
def test_a_wrong_domain_is_refused_by_name(text):
    with pytest.raises(InputError, match=f"{DOMAIN_VARIABLE}={text}: must be a ROS domain"):
        ros_settings(environ={DOMAIN_VARIABLE: text})
    shell = subprocess.run(
        [sys.executable, "-m", "multibody_dynamics.tools.environment"],
        env={**os.environ, DOMAIN_VARIABLE: text}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (shell.returncode, shell.stdout) == (1, "")
    assert "must be a ROS domain from 0 to 232" in shell.stderr
    assert "Traceback" not in shell.stderr


def test_a_child_inherits_the_rest(monkeypatch):
    monkeypatch.setenv("SOMETHING_ELSE", "kept")
    child = ros_environment(5)
    assert child["SOMETHING_ELSE"] == "kept"
    assert child["ROS_DOMAIN_ID"] == "5"


def test_sourced_prefixes_are_kept():
    inherited = os.pathsep.join(["/opt/ros/jazzy", "/opt/overlay"])
    prefixes = ros_settings(environ={"AMENT_PREFIX_PATH": inherited})["AMENT_PREFIX_PATH"]
    assert prefixes.split(os.pathsep)[-2:] == ["/opt/ros/jazzy", "/opt/overlay"]


def test_fast_dds_is_the_default_middleware():
    assert ros_settings(environ={})["RMW_IMPLEMENTATION"] == "rmw_fastrtps_cpp"
    other = ros_settings(environ={"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"})
    assert other["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert not {"RMW_IMPLEMENTATION", "FASTRTPS_DEFAULT_PROFILES_FILE"} & set(other)


def test_the_profiles_announce_several_times_a_second():
    file = ros_settings(environ={})["FASTRTPS_DEFAULT_PROFILES_FILE"]
    xmlns = "{http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles}"
    period = ElementTree.parse(file).find(f".//{xmlns}leaseAnnouncement/{xmlns}nanosec")
    assert period is not None
    assert int(period.text) <= 250_000_000


SOCKETS = """
import os, rclpy
rclpy.init()
node = rclpy.create_node("alone")
inodes = [os.stat(f"/proc/self/fd/{file}").st_ino for file in os.listdir("/proc/self/fd")
          if os.path.exists(f"/proc/self/fd/{file}")]
for row in open("/proc/self/net/udp").read().splitlines()[1:]:
    columns = row.split()
    if int(columns[9]) in inodes:
        print(columns[1].split(":")[0])
print(*{row.split()[-1] for row in open("/proc/self/maps") if "/dev/shm/fast" in row})
"""


def test_a_node_listens_on_localhost_only_and_shares_no_memory(ros_domain_id):
    program = [sys.executable, "-c", SOCKETS]
    output = subprocess.check_output(program, text=True, env=ros_environment(ros_domain_id))
    assert set(output.split()) == {"0100007F"}  # 127.0.0.1, in the byte order of the memory


@pytest.mark.parametrize(("words", "code"), [(["--help"], 0), (["-h"], 0), ([], 2)])
def test_the_script_prints_help_and_creates_nothing(tmp_path, words, code):
    script = Path(__file__).resolve().parents[3] / "scripts" / "environment.sh"
    environ = {**os.environ, "MULTIBODY_DYNAMICS_VENV": str(tmp_path / "venv"), "PYTHON": "absent"}
    run = subprocess.run([script, *words], env=environ, capture_output=True, text=True)
    assert run.returncode == code
    assert "scripts/environment.sh COMMAND [ARGUMENT...]" in run.stdout
    assert not run.stderr
    assert not (tmp_path / "venv").exists()


def test_a_shell_can_evaluate_the_settings():
    program = [sys.executable, "-m", "multibody_dynamics.tools.environment"]
    root = Path(__file__).resolve().parents[3]
    lines = subprocess.check_output(program, text=True, cwd=root)
    shell = ["sh", "-c", f'{lines}\necho "$ROS_DOMAIN_ID $FASTRTPS_DEFAULT_PROFILES_FILE"']
    domain_id, profiles = subprocess.check_output(shell, text=True).split(maxsplit=1)
    assert int(domain_id) in DOMAINS
    assert Path(profiles.strip()).is_file()


PYTHON = """#!/bin/bash
case "$*" in
--version) echo "Python 3.12.0" ;;
"-m venv "*) mkdir -p "${@: -1}/bin" && cp "$0" "${@: -1}/bin/python" ;;
"-m pip "*) echo "$*" >>"$PIP_LOG" ;;
"-m multibody"*) echo "true" ;;
-c*rclpy*) exit 1 ;;
esac
"""


def test_an_environment_shared_by_checkouts_says_whose_code_it_runs(tmp_path):
    """With a Python that only notes what it is asked for."""
    root = Path(__file__).resolve().parents[3]
    python = tmp_path / "python3"
    python.write_text(PYTHON)
    python.chmod(0o755)
    log, venv = tmp_path / "pip.log", tmp_path / "venv"
    said = {}
    for name in ("one", "two", "two", "one"):
        folder = tmp_path / name
        (folder / "scripts").mkdir(parents=True, exist_ok=True)
        for file in ("setup.py", "setup.cfg", "package.xml", "scripts/environment.sh"):
            shutil.copy(root / file, folder / file)
        log.write_text("")
        run = subprocess.run(
            [folder / "scripts" / "environment.sh", "true"],
            env={"PATH": os.environ["PATH"], "PYTHON": str(python), "PIP_LOG": str(log),
                 "MULTIBODY_DYNAMICS_VENV": str(venv)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        said.setdefault(name, []).append((run.stderr, log.read_text()))
    one, two = (str(tmp_path / name) for name in ("one", "two"))
    change, installed = said["two"][0]
    assert f"ran the code of {one}; from now on, that of {two}" in change
    assert f"--editable {two}" in installed
    assert said["two"][1] == ("", "")  # nothing to say or do
    assert f"ran the code of {two}; from now on, that of {one}" in said["one"][1][0]
