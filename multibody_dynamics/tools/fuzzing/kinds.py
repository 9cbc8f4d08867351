# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What is fuzzed: for each kind of input, damaged examples and the functions that read them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from ...dynamics import load_actuators, load_urdf
from ...dynamics.control import (
    KINDS,
    TERMS,
    CollisionThresholds,
    IterativeLearning,
    LearningSettings,
    load_collision_thresholds,
)
from ...dynamics.identification import IdentifiedCovariance
from ...dynamics.integration import load_system
from ...dynamics.model import parse_urdf
from ...validation.drift_watch import DriftSettings, DriftWatch
from ...validation.recordings import Recording
from ...validation.settings import Settings, load_robot
from ...validation.trajectory_files import read_points, write_points
from ..motions.demo_motion import demo_motion
from ..recordings.identification_recordings import read_run
from ..recordings.spring_recordings import read_motion
from ..robot.identified_results import read_results
from . import command_lines, examples
from .mutations import damaged_bytes, damaged_csv, damaged_npz, damaged_tree, damaged_xml
from .mutations import damaged_yaml as damaged_yaml_text

URDF = examples.config("robots", "planar_two_link.urdf")
Read = Callable[[], object]
"""Reads what has been written; raises the package's own errors if it has to be refused."""


@dataclass(frozen=True)
class Kind:
    """A kind of input. prepare : writes a damaged example into a folder, and returns a reader.

    seconds : of CPU time that the reader may take.
    """

    prepare: Callable[[Random, Path], Read]
    seconds: float = 5.0


def _file(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


# Descriptions of robots and systems


def _urdf(random: Random, folder: Path) -> Read:
    name, data = random.choice(examples.contents("robots", "*.urdf"))
    data = damaged_xml(random, data)
    path = _file(folder, f"{name}.urdf", data)

    def read() -> None:
        model = load_urdf(path)
        model.describe()
        for kind in ("sum_of_sines", "rest_to_rest"):
            demo_motion(model, kind, 5.0)

    def read_text() -> None:  # as a robot_description
        parse_urdf(data.decode("utf-8", "surrogateescape"), strict=True)

    return random.choice((read, read, read_text))


def _springs(random: Random, folder: Path) -> Read:
    name, data = random.choice(examples.contents("elastic_joints", "*.yaml"))
    path = _file(folder, "springs.yaml", damaged_yaml_text(random, data))
    joints = tuple(yaml.safe_load(data)["joints"])
    types = examples.arm().joint_types if name == "planar_two_link" else None
    return partial(load_actuators, path, joints, types)


def _systems(random: Random, folder: Path) -> Read:
    _, data = random.choice(examples.contents("systems", "*.yaml"))
    return partial(load_system, _file(folder, "system.yaml", damaged_yaml_text(random, data)))


def _results(random: Random, folder: Path) -> Read:
    """Files beside those of the robot: friction, thresholds, identified values."""
    arm = examples.arm()
    what = random.randrange(4)
    if what == 0:
        path = _file(folder, "data.yaml", damaged_yaml_text(random, examples.data_file()))
        return partial(load_robot, examples.config("robots", "planar_two_link.urdf"), path)
    if what == 1:
        path = _file(folder, "thresholds.yaml", damaged_yaml_text(random, _thresholds()))
        return partial(load_collision_thresholds, path, arm.joint_names, arm.joint_types)
    if what == 2:
        springs = examples.config("elastic_joints", "planar_two_link.yaml").read_bytes()
        return partial(
            read_results, _file(folder, "springs.yaml", damaged_yaml_text(random, springs))
        )
    data = examples.identified()
    if random.random() < 0.3:
        data = damaged_bytes(random, data)
    else:
        data = json.dumps(damaged_tree(random, json.loads(data)), indent=1).encode()
    return partial(read_results, _file(folder, "identified.json", data))


@cache
def _thresholds() -> bytes:
    names = examples.arm().joint_names
    rows = 0.1 + np.arange(float(len(KINDS) * len(TERMS) * len(names)))
    shape = len(KINDS), len(TERMS), len(names)
    return CollisionThresholds(names, rows.reshape(shape)).to_yaml().encode()


# Recordings and trajectories


def _of_recording(path: Path, random: Random) -> Read:
    """One of the readers of recordings."""
    arm = examples.arm()

    def stream() -> None:
        recording = Recording(path, random.choice(("joint", "motor")))
        recording.overview.require(path)
        for _ in recording.read():
            pass

    return random.choice(
        (
            stream,
            partial(read_motion, path, arm),
            partial(read_motion, path),
            partial(read_run, path, arm, elastic=True),
            partial(read_run, path, arm, elastic=False),
        )
    )


def _of_trajectory(path: Path) -> Read:
    def read() -> None:
        points = read_points(path)
        with TemporaryDirectory() as folder:
            write_points(points.slower(2.0), Path(folder))

    return read


def _trajectories(random: Random, folder: Path) -> Read:
    what = random.randrange(3)
    if what == 0:
        data = damaged_csv(random, examples.trajectory_table())
        return _of_trajectory(_file(folder, "motion.csv", data))
    text = examples.ROWS if what == 1 else examples.POINTS
    data = damaged_yaml_text(random, text.encode())
    return _of_trajectory(_file(folder, "motion.yaml", data))


def _csv(random: Random, folder: Path) -> Read:
    path = _file(folder, "motion.csv", damaged_csv(random, examples.table()))
    return _of_recording(path, random)


def _npz(random: Random, folder: Path) -> Read:
    what = random.randrange(6)
    arrays: Mapping[str, Any] = examples.arrays()
    if what == 3:
        arrays = _learned()
    elif what == 4:
        m = 4
        names = np.array([f"x{k}" for k in range(m)])
        arrays = {"names": names, "values": np.ones(m), "covariance": np.eye(m), "links": 2}
    elif what == 5:
        arrays = _drift()
    path = _file(folder, "motion.npz", damaged_npz(random, arrays))
    if what == 3:
        return partial(IterativeLearning.load, path)
    if what == 4:
        return partial(IdentifiedCovariance.read, path)
    if what == 5:
        return lambda: _watch().load(path)
    return _of_recording(path, random)


@cache
def _learned() -> dict[str, Any]:
    """The arrays of a learned correction."""
    arm = examples.arm()
    start = examples.recorded().q[0]
    new = IterativeLearning.of_trajectory(
        "key", "robot", arm.joint_names, start, 1.0, LearningSettings()
    )
    return _saved(new.save)


@cache
def _drift() -> dict[str, Any]:
    """The arrays of what drift_node remembers."""
    return _saved(_watch().save)


def _watch() -> DriftWatch:
    robot = load_robot(
        URDF,
        elastic_joints=examples.config("elastic_joints", "planar_two_link.yaml"),
    )
    return DriftWatch(robot, DriftSettings(), robot.model.n - 1, Settings(URDF))


def _saved(save: Callable[[Path], object]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "saved.npz")
        save(path)
        with np.load(io.BytesIO(path.read_bytes())) as content:
            return {name: content[name] for name in content.files}


def _bags(random: Random, folder: Path) -> Read:
    plugin = random.choice(("MCAP", "SQLITE3"))
    compressed = plugin == "SQLITE3" and random.random() < 0.3
    states = examples.messages(random if random.random() < 0.5 else None)
    bag = examples.write_bag(folder / "bag", states, plugin=plugin, compressed=compressed)
    metadata = bag / "metadata.yaml"
    data = next(file for file in sorted(bag.iterdir()) if file != metadata)
    what = random.randrange(8)
    if what <= 2:
        metadata.write_bytes(damaged_yaml_text(random, metadata.read_bytes()))
    elif what <= 5:
        data.write_bytes(damaged_bytes(random, data.read_bytes()))
    elif what == 6:
        random.choice((metadata, data)).unlink()
    path = data if data.is_file() and random.random() < 0.3 else bag
    if random.random() < 0.3:
        return _of_trajectory(path)
    return _of_recording(path, random)


# Command lines


def _command_line(random: Random, folder: Path) -> Read:
    return command_lines.prepare(random, folder, _damaged_one)


def _damaged_one(random: Random, folder: Path) -> None:
    """Damage one of the files of a command line."""
    damage: dict[str, Callable[[Random, bytes], bytes]] = {
        "robot.urdf": damaged_xml,
        "springs.yaml": damaged_yaml_text,
        "data.yaml": damaged_yaml_text,
        "motion.csv": damaged_csv,
        "trajectory.csv": damaged_csv,
        "trajectory.yaml": damaged_yaml_text,
    }
    name = random.choice(list(damage))
    file = folder / name
    file.write_bytes(damage[name](random, file.read_bytes()))


ALL = {
    "urdf": Kind(_urdf),
    "springs": Kind(_springs),
    "systems": Kind(_systems),
    "trajectories": Kind(_trajectories),
    "csv": Kind(_csv),
    "npz": Kind(_npz),
    "bags": Kind(_bags),
    "results": Kind(_results),
    "command-line": Kind(_command_line, seconds=60.0),
}
"""The kinds by the names that the command `fuzz` gives them."""
