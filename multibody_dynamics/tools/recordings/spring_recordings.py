# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recordings for the identification of springs: link and motor positions, and torques.

The formats are
    bag     a rosbag2 folder, .mcap or .db3 file: JointState of the links on one topic (position q;
            effort, if any, Q of torque sensors) and of the motors on another (theta; effort tau)
    .csv    t, q, theta, and Q of torque sensors or tau of the motors: see `validation.recordings`
    .npz    the same, or a recording of the demo: its joint_states (effort: Q) and motor_states
            (effort: tau)
with all quantities on the link side of the gear. A motor has the name of its joint, with a suffix
such as _agonist if its kind of actuator appends one.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...dynamics.core import (
    Array,
    InputError,
    as_real,
    computable_rows,
    file_reader,
    read_arrays,
    reading,
)
from ...dynamics.elastic import KINDS
from ...dynamics.model import MultibodyModel
from ...validation.recordings import (
    ALL_JOINTS,
    JointSamples,
    JointSelection,
    Recording,
    SignalTable,
    read_signals,
)
from ...validation.unwrapping import turning_joints
from .pairing import Paired, pair

LINKS, MOTORS = "joint_states", "motor_states"  # default names of the topics
SIDES = {
    suffix: entry.side for kind in KINDS.values() for suffix, entry in kind.motor_entries.items()
}
"""The direction in which a motor deflects its spring, by the suffix after the name of its joint."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Samples t (k,); q, Q (k, n) of the named joints; theta, tau (k, m) of the motors.

    t may jump over gaps, and decreases where a clock was set back. Q and tau are None if they were
    not recorded at all, and NaN in the columns of joints for which they were not recorded.

    motor_names : by default those of the joints
    used : lines that say what was read and how it was paired
    problem : why the recording is incomplete, or ''
    """

    joint_names: tuple[str, ...]
    t: Array
    q: Array
    theta: Array
    Q: Array | None = None
    tau: Array | None = None
    motor_names: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    problem: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "motor_names", tuple(self.motor_names) or self.joint_names)

    @property
    def joint_of_motor(self) -> list[int]:
        """The index of each motor's joint."""
        joints = self.joint_names
        owner = {joint + side: i for i, joint in enumerate(joints) for side in SIDES}
        return [owner[motor] for motor in self.motor_names]

    def motors_of(self, joint: str) -> list[str]:
        """The motors of a joint."""
        return [joint + side for side in SIDES if joint + side in self.motor_names]


class _Sides(NamedTuple):
    """Batches in recorded order, and the topics of links and motors."""

    batches: list[JointSamples]
    links: tuple[str, ...]
    motors: str
    problem: str = ""


@file_reader
def read_motion(
    path: Path,
    model: MultibodyModel | None = None,
    selection: JointSelection = ALL_JOINTS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Motion:
    """Read a recording in one of the formats of the module's docstring.

    model : the robot whose joints are used; by default all recorded joints that have motors

    Raises InputError naming file, topic and joint, with what is expected instead.
    """
    prefix, held = selection.prefix, selection.held
    sides = _read_sides(path, selection, progress, model)
    recorded = _names(sides.batches, sides.links, prefix)
    driven = _names(sides.batches, (sides.motors,), prefix)
    if model is None:
        joints = tuple(name for name in recorded if any(name + side in driven for side in SIDES))
    else:
        joints = model.joint_names
        _require_joints(path, sides, model, recorded, held)
    motors = tuple(joint + side for joint in joints for side in SIDES if joint + side in driven)
    if not motors:
        raise InputError(
            f"{path}: {sides.motors} has no motors for the joints {', '.join(recorded)}; it has "
            f"{', '.join(driven) or 'none'}; a motor has the name of its joint, or is named "
            + " or ".join(f"JOINT{side}" for side in SIDES if side)
        )
    paired = _paired(path, sides, model, joints, motors, selection)
    n = len(joints)
    Q, tau = (
        None if np.isnan(rows).all() else rows
        for rows in (paired.effort[:, :n], paired.effort[:, n:])
    )
    used = [
        f"links {', '.join(sides.links)}: q of {', '.join(joints)}; Q {_those_with(Q, joints)}",
        f"motors {sides.motors}: theta of {', '.join(motors)}; tau {_those_with(tau, motors)}",
    ]
    unused = sorted({*recorded, *driven} - {*joints, *motors})
    if unused:
        used.append(f"not used: {', '.join(unused)}")
    return Motion(
        joints,
        paired.t - paired.t[0],
        paired.position[:, :n],
        paired.position[:, n:],
        Q,
        tau,
        motors,
        (*used, *paired.used),
        sides.problem,
    )


def _paired(
    path: Path,
    sides: _Sides,
    model: MultibodyModel | None,
    joints: tuple[str, ...],
    motors: tuple[str, ...],
    selection: JointSelection,
) -> Paired:
    """Positions and efforts of joints, then of motors, with the turns between them removed."""
    n, prefix, held = len(joints), selection.prefix, selection.held
    of_motor = [i for i, joint in enumerate(joints) for s in SIDES if joint + s in motors]
    turning = np.zeros(n, dtype=bool) if model is None else turning_joints(model)
    of_links = {prefix + joint: i for i, joint in enumerate(joints) if joint not in held}
    of_motors = {prefix + motor: n + j for j, motor in enumerate(motors)}
    found = pair(
        path,
        sides.batches,
        {**dict.fromkeys(sides.links, of_links), sides.motors: of_motors},
        held={joints.index(joint): value for joint, value in held.items() if joint in joints},
        turning=np.concatenate((turning, turning[of_motor])),
    )
    q, theta = found.position[:, :n], found.position[:, n:]
    theta -= turns_between(theta, q[:, of_motor], turning[of_motor])
    return found


def turns_between(theta: Array, q: Array, turning: NDArray[np.bool_]) -> Array:
    """(m,) whole turns, in rad, between motors and links (k, m) recorded modulo one turn."""
    turns = np.round(np.median(theta - q, axis=0) / (2.0 * np.pi))
    return np.where(turning & np.isfinite(turns), 2.0 * np.pi * turns, 0.0)


def _read_sides(
    path: Path,
    selection: JointSelection,
    progress: Callable[[int, int], None],
    model: MultibodyModel | None,
) -> _Sides:
    prefix = selection.prefix
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if path.suffix == ".csv":
        return _of_table(path, read_signals(path), model, prefix)
    if path.suffix == ".npz":
        return _read_npz(path, model, prefix)
    if path.is_dir() or path.suffix in (".mcap", ".db3"):
        known = model.transmissions if model is not None else ()
        recording = Recording(path, transmissions=known, prefix=prefix)
        return _read_bag(recording, selection, progress)
    raise InputError(
        f"{path}: must be the folder of a bag, or a file ending in .csv, .npz, .mcap or .db3"
    )


def _names(batches: Sequence[JointSamples], topics: Sequence[str], prefix: str) -> tuple[str, ...]:
    """All names on the topics with the prefix, which is removed."""
    names = dict.fromkeys(
        name for batch in batches if batch.topic in topics for name in batch.names
    )
    return tuple(name[len(prefix) :] for name in names if name.startswith(prefix))


def _those_with(efforts: Array | None, names: Sequence[str]) -> str:
    if efforts is None:
        return "not recorded"
    there = np.flatnonzero(np.isfinite(efforts).all(axis=0))
    return "of " + ", ".join(names[k] for k in there)


def _require_joints(
    path: Path,
    sides: _Sides,
    model: MultibodyModel,
    recorded: Sequence[str],
    held: Mapping[str, float],
) -> None:
    """Raise InputError for joints of the robot that were neither recorded nor held."""
    for joint in held:
        model.joint_index(joint)
    missing = [joint for joint in model.joint_names if joint not in (*recorded, *held)]
    if missing:
        raise InputError(
            f"{path}: the joints {', '.join(missing)} of the robot are not on "
            f"{', '.join(sides.links)}, which has {', '.join(recorded) or 'none'}; use --prefix "
            f"TEXT if recorded names have a prefix, or --hold {missing[0]}=VALUE for a joint that "
            "did not move"
        )


def _read_bag(
    recording: Recording, selection: JointSelection, progress: Callable[[int, int], None]
) -> _Sides:
    path = recording.path
    recording.overview.require(path)
    there = recording.overview.topics
    links = selection.topics or (_called(path, there, LINKS, "--topic"),)
    motors = selection.motor_topic or _called(path, there, MOTORS, "--motor-topic")
    if motors in links:
        raise InputError(f"{path}: {motors}: motors and links must be on different topics")
    batches, problem = recording.whole((*links, motors), progress)
    for topic in (*links, motors):
        if not any(batch.topic == topic for batch in batches):
            raise InputError(problem or f"{path}: no message on {topic}")
    return _Sides(batches, links, motors, problem)


def _called(path: Path, there: Iterable[str], name: str, option: str) -> str:
    """The only topic with this name, in any namespace."""
    found = [topic for topic in there if topic.rpartition("/")[2] == name]
    if len(found) != 1:
        raise InputError(
            f"{path}: {'several topics are' if found else 'no topic is'} named {name}; topics "
            f"with joint states: {', '.join(there)}; choose with {option}"
        )
    return found[0]


def _read_npz(path: Path, model: MultibodyModel | None, prefix: str) -> _Sides:
    arrays = read_arrays(path)
    if "facts" not in arrays:
        return _of_table(path, read_signals(path, arrays), model, prefix)
    with reading(path, "a recording of the demo"):
        joints = tuple(map(str, json.loads(str(arrays["facts"]))["joint_names"]))
        batches = []
        for topic in (LINKS, MOTORS):
            stamp = arrays[f"{topic}.stamp"].astype(np.int64).reshape(-1)
            rows = computable_rows("", as_real(topic, arrays[f"{topic}.values"]))
            rows = rows.reshape(len(stamp), 3, len(joints))
            batches.append(JointSamples(topic, joints, stamp, stamp, rows))
    return _Sides(batches, (LINKS,), MOTORS)


def _of_table(path: Path, table: SignalTable, model: MultibodyModel | None, prefix: str) -> _Sides:
    """The columns of a table as topics of links and motors; joints without a motor are left out."""
    passive: set[str] = set()
    if model is not None:
        table = table.at_motors(model.transmissions, prefix)
        passive = {prefix + name for name in model.dependent_joints}
    t, motors = table.t, table.owners("theta")
    joints = tuple(name for name in table.owners("q") if name not in passive)
    for name, owners in (("q", joints), ("theta", motors)):
        if not owners:
            raise InputError(f"{path}: {name} is missing; the file has {', '.join(table.signals)}")
    for joint in joints:
        if not any(joint + side in motors for side in SIDES):
            raise InputError(f"{path}: column 'theta {joint}' is missing")
    if len(t) < 2 or not (np.diff(t) > 0.0).all():
        raise InputError(f"{path}: t must increase")
    # Start at 1 s, because a stamp of zero means "no stamp".
    later = table._replace(t=1.0 + (t - t[0]))
    links = later.samples(f"{path.name} (q)", joints, ("q", "", "Q"))
    drives = later.samples(f"{path.name} (theta)", motors, ("theta", "", "tau"))
    return _Sides([links, drives], (links.topic,), drives.topic)
