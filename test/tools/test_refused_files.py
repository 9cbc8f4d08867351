# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Commands with files whose numbers cannot be computed with, or that cannot be written: one line
that names the file."""

import re
import resource
import warnings

import numpy as np
import pytest

import valid_files as valid
from multibody_dynamics.tools import cli
from robots import CONFIG

FULL = 200  # bytes
URDF, SPRINGS = valid.URDF.read_text(), valid.SPRINGS.read_text()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, data in {
        "robot.urdf": URDF.encode(),
        "springs.yaml": SPRINGS.encode(),
        "motion.csv": valid.table("q", "qd", "theta", "Q", "tau"),
        "trajectory.csv": valid.table("q", "qd", every=8),
        "rows.yaml": valid.ROWS,
    }.items():
        (tmp_path / name).write_bytes(data)
    np.savez(tmp_path / "motion.npz", **valid.arrays())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(command, capsys, *named):
    """Run a command that has to be refused in one line with these words; warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        status = cli.main(command.split())
    lines = [
        line for line in capsys.readouterr().err.splitlines()
        if "compil" not in line and "warning:" not in line
    ]  # fmt: skip
    assert status == 2, lines
    assert len(lines) == 1
    for word in named:
        assert word in lines[0]


IDENTIFY = "identify-springs motion.npz --urdf robot.urdf --elastic-joints springs.yaml"


@pytest.mark.parametrize("signal", ["t", "q", "theta", "Q", "tau"])
def test_recordings_that_overflow(folder, capsys, signal):
    arrays = valid.arrays()
    arrays[signal] = arrays[signal].copy()
    arrays[signal].flat[5] = -1e200
    np.savez(folder / "motion.npz", **arrays)
    refused(IDENTIFY, capsys, "motion.npz")


def test_gazebo_refuses_loops(folder, capsys):
    command = "gazebo robot.urdf --elastic-joints springs.yaml -o out"
    loop = "loops: {belt: {type: weld, first: base, second: tool}}"
    (folder / "springs.yaml").write_text(f"{SPRINGS}\n{loop}\n")
    refused(command, capsys, "springs.yaml: loops belt", "Gazebo", "without loops")


def test_a_full_disk_is_reported_with_the_name_of_the_file(folder, capsys):
    (folder / "out.csv").symlink_to("/dev/full")
    refused("trajectory robot.urdf --csv out.csv", capsys, "out.csv: No space left on device")
    (folder / "out.png").symlink_to("/dev/full")
    refused("plot robot.urdf -o out.png", capsys, "out.png: No space left on device")


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("trajectory robot.urdf --csv out.csv", "out.csv"),
        ("plot robot.urdf -o out.png", "out.png"),
        ("scale-time rows.yaml --urdf robot.urdf --elastic-joints springs.yaml -o out", "out/"),
        ("validate motion.npz --urdf robot.urdf -o out", "out/report.json"),
        ("validate motion.npz --urdf robot.urdf --bag -o out", "out/bag/bag.mcap"),
        (f"{IDENTIFY} -o out", "out/springs.yaml"),
        ("write-back springs.yaml --urdf robot.urdf --elastic-joints springs.yaml -o out",
         "robot.urdf"),
        ("generate robot.urdf -o out", "out/planar_two_link_dynamics.h"),
        ("gazebo robot.urdf --elastic-joints springs.yaml -o out", "out/plant.urdf"),
        ("torque-report robot.urdf --elastic-joints springs.yaml -o out", "out/report.json"),
        ("view motion.csv --urdf robot.urdf --page out.html", "out.html"),
        ("excite robot.urdf --runs friction --processes 1 -o out", "out/trajectory.csv"),
        ("collision-thresholds slow.npz --urdf robot.urdf --elastic-joints springs.yaml -o out",
         "out"),
    ],
)  # fmt: skip
def test_a_full_disk_leaves_no_half_files(folder, capsys, command, file):
    """A file that can have no more than a few bytes stands for the disk."""
    arrays = valid.arrays()
    np.savez(folder / "slow.npz", **arrays | {"t": 3.0 * arrays["t"]})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FULL, hard))
    try:
        status = cli.main(command.split())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    line = capsys.readouterr().err.splitlines()[-1]
    assert status == 2
    assert re.search(f"{file}.*: File too large$", line), line
    assert [each for each in folder.rglob("*") if each.stat().st_size == FULL] == []


def test_limits_in_degrees_are_not_planned_with(folder, capsys):

    text = re.sub(r'lower="[^"]+" upper="[^"]+"', 'lower="-120" upper="120"', URDF, count=1)
    (folder / "robot.urdf").write_text(text)
    refused("excite robot.urdf -o plan", capsys, "robot.urdf: shoulder", "limits in degrees?")


def test_joints_that_are_called_by_numbers(folder, capsys):
    for name, number in (("shoulder", "1"), ("elbow", "2")):
        for file in ("robot.urdf", "springs.yaml"):
            text = (folder / file).read_text()
            (folder / file).write_text(text.replace(name, number))
    assert "\n  1:" in (folder / "springs.yaml").read_text()
    trajectory = valid.ROWS.decode().replace("shoulder, elbow", "1, 2")
    (folder / "trajectory.yaml").write_text(trajectory)
    command = "scale-time trajectory.yaml --urdf robot.urdf --elastic-joints springs.yaml -o out"
    assert cli.main([*command.split(), "--limit", "joint_speed.1=0.5"]) == 0
    assert "joint_speed   1" in capsys.readouterr().out
    command = "write-back springs.yaml --urdf robot.urdf --elastic-joints springs.yaml -o new"
    assert cli.main(command.split()) == 0


def test_the_stiffness_that_scale_time_expects(folder, capsys):
    names = ("antagonistic_elbow.urdf", "antagonistic.yaml")
    for name, kind, to in zip(
        names, ("robots", "elastic_joints"), ("a.urdf", "a.yaml"), strict=True
    ):
        (folder / to).write_bytes((CONFIG / kind / name).read_bytes())
    command = "scale-time trajectory.csv --urdf a.urdf --elastic-joints a.yaml --stiffness 1,2"
    refused(command, capsys, "--stiffness: expected 1 comma-separated numbers, of elbow")
