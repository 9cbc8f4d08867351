# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Short demos with real processes over DDS, which leave no process running."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import urdf_parts
from multibody_dynamics.tools.demo.analysis import LAWS
from multibody_dynamics.tools.demo.control_report import OUTPUTS as CONTROL_OUTPUTS
from multibody_dynamics.tools.demo.report import OUTPUTS
from urdf_parts import joint, link

ROOT = Path(__file__).parents[3]
PATIENCE = 600.0  # s; a first start compiles two arms, maybe on a busy computer
ROBOT = urdf_parts.robot(
    "two",
    link("stand"),
    joint("shoulder", "revolute", "stand", "upper", axis="0 1 0", limit="-2 2 6 150"),
    link("upper", 3.0, "0.01 0.02 0.2", "0.06 0.05 0.02"),
    joint("elbow", "continuous", "upper", "lower", "0 0 0.4", "0 1 0", "0.3 0 0", "0 0 6 100"),
    link("lower", 2.0, "0.02 0 0.15", "0.04 0.03 0.01"),
)


@pytest.fixture
def robot(tmp_path: Path) -> str:
    file = tmp_path / "two.urdf"
    file.write_text(ROBOT)
    return str(file)


@pytest.fixture
def start_demo(ros_domain_id: int) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts demos; none of their processes survives a failed test."""
    demos: dict[Path, subprocess.Popen[str]] = {}

    def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "multibody_dynamics.tools.cli", "demo"]
        command += ["--output", str(folder), "--domain-id", str(ros_domain_id), *arguments]
        demos[folder] = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        return demos[folder]

    yield start
    for folder, demo in demos.items():
        demo.kill()
        demo.communicate()
        for node in nodes_of(folder):
            os.kill(node, signal.SIGKILL)


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.02)


def nodes_of(folder: Path) -> list[int]:
    """Ids of the processes with parameters of this demo, or of its control laws."""
    place = os.fsencode(folder)
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdecimal() else ()
            if any(w.startswith(place) and w.endswith(b"/parameters.yaml") for w in words):
                found.append(int(entry.name))
        except OSError:  # it has just exited
            continue
    return found


def test_another_robot_from_urdf_to_report(tmp_path, robot, start_demo):
    """Its control laws on MuJoCo, a plant whose dynamics are independent of the controller's."""
    folder = tmp_path / "out"
    demo = start_demo(
        folder, "--urdf", robot, "--duration", "1.2", "--rate", "500",
        "--trajectory", "rest_to_rest", "--plant", "mujoco",
    )  # fmt: skip
    out, err = demo.communicate(timeout=PATIENCE)
    assert demo.returncode == 0, out + err
    assert nodes_of(folder) == []

    report = json.loads((folder / "report.json").read_text())
    assert report["problems"] == []
    assert set(report["runs"]) == {"full", "quasi_static", "rigid"}
    for run in report["runs"].values():
        # the feedforward on messages of other processes, compared with the library here
        assert max(run["disagreement"].values()) < 1e-12
        assert run["states"] > 150
        assert set(run["cpu"]) >= {"elastic_robot_simulator_node", "feedforward_node"}
    ratios = report["ratios of rms errors"]
    assert ratios["quasi_static"] > 3.0
    assert ratios["rigid"] > 10.0
    for name in OUTPUTS:
        assert (folder / name).is_file()
    assert "each link oscillates at 10 Hz against its locked" in (folder / "report.md").read_text()

    report = json.loads((folder / "controllers" / "report.json").read_text())
    assert report["problems"] == []
    assert list(report["runs"]) == [f"mujoco_{law}" for law in LAWS]
    for row in report["ratios of rms errors"]["mujoco"].values():
        assert min(row.values()) > 10.0
    for name in CONTROL_OUTPUTS:
        assert (folder / "controllers" / name).is_file()


def test_a_joint_with_two_motors(tmp_path, start_demo):
    """The whole demo, with the variable stiffness in the middle of its range."""
    folder, config = tmp_path / "out", ROOT / "config"
    demo = start_demo(
        folder, "--urdf", str(config / "robots" / "antagonistic_elbow.urdf"),
        "--elastic-joints", str(config / "elastic_joints" / "antagonistic.yaml"),
        "--duration", "1.2", "--trajectory", "rest_to_rest", "--plant", "internal",
    )  # fmt: skip
    out, err = demo.communicate(timeout=PATIENCE)
    assert "Traceback" not in out + err
    report = json.loads((folder / "report.json").read_text())
    assert report["problems"] == []  # published values are those of the library
    assert min(report["ratios of rms errors"].values()) > 10.0
    laws = json.loads((folder / "controllers" / "report.json").read_text())
    assert laws["ratios of rms errors"]["internal"]["motor_pd"]["state_feedback"] > 10.0
    for run in laws["runs"].values():
        assert not run["stopped"]
        assert run["joints"].keys() == {"shoulder", "elbow"}
        assert 0.0 < run["peak torque, share of limit"] <= 1.0


def test_an_interrupted_demo_stops_its_nodes(tmp_path, robot, start_demo):
    folder = tmp_path / "out"
    demo = start_demo(folder, "--urdf", robot)
    until(lambda: len(nodes_of(folder)) == 3, "the three nodes")
    demo.send_signal(signal.SIGINT)
    _, err = demo.communicate(timeout=PATIENCE)
    assert demo.returncode == 130
    assert "stopped" in err
    assert "Traceback" not in err
    assert nodes_of(folder) == []
    assert not (folder / "report.json").exists()


def test_a_node_that_dies_ends_the_demo(tmp_path, robot, start_demo):
    folder = tmp_path / "out"
    demo = start_demo(folder, "--urdf", robot)
    until(lambda: len(nodes_of(folder)) == 3, "the three nodes")
    for pid in nodes_of(folder):
        if (
            b"multibody_dynamics.nodes.feedforward_node"
            in Path(f"/proc/{pid}/cmdline").read_bytes()
        ):
            os.kill(pid, signal.SIGKILL)
    _, err = demo.communicate(timeout=PATIENCE)
    assert demo.returncode == 1
    assert "feedforward_node ended with status -9" in err
    assert "Traceback" not in err
    assert nodes_of(folder) == []
