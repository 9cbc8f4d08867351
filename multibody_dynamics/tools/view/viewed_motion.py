# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What is shown of a robot: one state, and motions that are planned, recorded or simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics.core import SECOND, Array, InputError, file_reader, read_arrays
from ...dynamics.elastic import Actuators, motor_motion, resting_second_outputs
from ...dynamics.identification import HIGHEST, ZeroPhaseFilter
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import Reference
from ...dynamics.rigid import gravity_forces, inverse_dynamics
from ...validation.doubtful_signals import doubtful_pace
from ...validation.recordings import (
    ALL_JOINTS,
    Bag,
    JointSamples,
    JointSelection,
    Recording,
    read_columns,
    read_signals,
)
from ...validation.recordings.bag_library import message_types
from ...validation.trajectory_files import MESSAGE, read_points
from ..base.recording import Recording as DemoRecording
from ..motions.scaled_trajectory import motion_through

RATE = 100.0  # Hz, at which planned motions are sampled
LONGEST = 100_000  # samples of a planned motion
GAP = 200  # samples
MOST = 250.0  # Hz: of faster recordings, every second or third sample is shown, and so on
CUTOFF = 8.0  # Hz, of the filter with which recorded positions are differentiated
MEASURED = ("Q ", "tau ", "theta ", "current ")  # columns that a trajectory does not have
WRENCH = "geometry_msgs/msg/WrenchStamped"
LINKS, MOTORS, ERRORS, EXTERNAL = (
    "joint_states",
    "motor_states",
    "tracking_error",
    "external_torque",
)
_Signals = dict[str, list[JointSamples]]  # by name; wrenches are named after their links
PUBLISHED = ("torque", "torque_rate", "torque_acceleration")  # Q, Q', Q'' of the feedforward


def start_of_view(model: MultibodyModel) -> Array:
    """(n,) the middle of the joint ranges, or where the loops of the robot are assembled."""
    q = np.array(model.limits.middle)
    return q if model.reaches(q) else model.home


@dataclass(frozen=True, eq=False)
class RobotState:
    """The robot at one instant. What is unknown is NaN.

    q (n,) rad or m. motor (n,) where the motors would hold the unloaded links. torque (3, n) Q, Q',
    Q'', in N m or N, N m/s, N m/s^2. error (n,) desired minus measured position. external (n,)
    torques of contacts. wrenches: pairs of a link and the wrench (6,) that the world applies to it,
    in its axes and about its origin, moment first.
    """

    q: Array
    motor: Array
    torque: Array
    error: Array
    external: Array
    wrenches: tuple[tuple[str, Array], ...] = ()

    @classmethod
    def at_rest(cls, model: MultibodyModel, actuators: Actuators | None, q: Array) -> RobotState:
        """The robot at rest at q (n,): motors where gravity needs them, rates zero."""
        torque = np.zeros((3, model.n))
        torque[0] = gravity_forces(model, q)
        state = np.stack([q, *np.zeros((4, model.n))])
        nothing = np.full(model.n, np.nan)
        return cls(q, motors_along(actuators, state, torque), torque, nothing, nothing)


@dataclass(frozen=True, eq=False)
class ViewedMotion:
    """A motion: times t (k,) s from 0 on, and the rows of :class:`RobotState` as arrays (k, ...).

    wrenches : {link: (times (w,), wrenches (w, 6))}. notes : what the user should know about it.
    """

    name: str
    t: Array
    q: Array
    motor: Array
    torque: Array
    error: Array
    external: Array
    wrenches: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """s."""
        return float(self.t[-1])

    def at(self, time: float) -> RobotState:
        """The newest state at a time, s."""
        k = int(np.clip(np.searchsorted(self.t, time, side="right") - 1, 0, len(self.t) - 1))
        acting = []
        for link, (times, wrenches) in self.wrenches.items():
            j = int(np.searchsorted(times, time, side="right")) - 1
            if j >= 0 and time - times[j] < 0.1:  # as the nodes' wrench_timeout
                acting.append((link, wrenches[j]))
        rows = (getattr(self, name)[k] for name in ("q", "motor", "torque", "error", "external"))
        return RobotState(*rows, tuple(acting))


def motors_along(actuators: Actuators | None, state: Array, torque: Array) -> Array:
    """(..., n) where motors would hold the unloaded links, by the flat map, along a motion
    (..., 5, n) with torques (..., 3, n); NaN without springs. Two motors of a joint count as their
    mean, as far as both move the link; second outputs are those at rest."""
    if actuators is None:
        return np.full(state.shape[:-2] + state.shape[-1:], np.nan)
    second = None
    if actuators.variable_joints:
        second = np.zeros((3, len(actuators.variable_joints)))
        second[0] = resting_second_outputs(actuators)
    deflection = None
    if actuators.is_damped.any():
        deflection = actuators.settled_deflection(torque, beyond="continue")
    found = motor_motion(actuators, state, torque, second, deflection=deflection, beyond="continue")
    return np.asarray(found.position @ actuators.link_of_motors)


def planned(name: str, motion: Reference, robot: MultibodyModel, actuators: Actuators | None) -> (
    ViewedMotion
):  # fmt: skip
    """A desired motion, with its exact torques and rates."""
    count = max(int(np.ceil(min(motion.duration * RATE, LONGEST))) + 1, 2)
    t = np.linspace(motion.start_time, motion.end_time, count)
    state = motion.sample(t)
    torque = np.stack(inverse_dynamics(robot, *np.moveaxis(state, 1, 0)), axis=1)
    motors = motors_along(actuators, state, torque)
    nothing = np.full((count, robot.n), np.nan)
    pace = doubtful_pace(robot, motion.peak_values()[1])
    notes = (pace,) if pace else ()
    return ViewedMotion(name, t - t[0], state[:, 0], motors, torque, nothing, nothing, notes=notes)


@file_reader
def read_view(
    path: Path,
    model: MultibodyModel,
    actuators: Actuators | None = None,
    selection: JointSelection = ALL_JOINTS,
    cutoff: float = CUTOFF,
) -> ViewedMotion:
    """A motion from a file: a trajectory (.yaml, .csv with q alone, bag with a JointTrajectory), a
    recording (bag, .csv, .npz) or a run of the demo (.npz).

    Torques that were not recorded follow from positions that are filtered at `cutoff`, Hz, and
    differentiated without lag; motors that were not recorded, from the flat map.

    Raises InputError, which names the file and what is missing in it.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if path.suffix in (".yaml", ".yml") or _is_trajectory(path):
        motion = motion_through(read_points(path), model, selection.held)
        return planned(path.name, motion, model, actuators)
    if path.suffix == ".csv" and not path.is_dir():
        series = _table_series(path)
    elif path.suffix == ".npz":
        arrays = read_arrays(path)
        if "facts" in arrays:
            return viewed_recording(DemoRecording.load(path, arrays), model, actuators, cutoff)
        series = _table_series(path, arrays)
    else:
        series = _bag_series(path, selection)
    return _viewed(path.name, series, model, actuators, selection, cutoff)


def _is_trajectory(path: Path) -> bool:
    """Whether a table has neither torques nor motors, or a bag a trajectory but no joint states."""
    if path.suffix == ".csv" and not path.is_dir():
        return not any(name.startswith(MEASURED) for name in read_columns(path))
    if not (path.is_dir() or path.suffix in (".mcap", ".db3")):
        return False
    overview = Bag(path).overview
    return not overview.topics and MESSAGE in overview.others.values()


def _table_series(path: Path, arrays: Mapping[str, Any] | None = None) -> _Signals:
    table = read_signals(path, arrays)
    of_joints = {"Q", "theta"} & set(table.signals)  # otherwise tau is the torque of the joints
    links = "q", "qd", "Q" if of_joints else "tau"
    found = {LINKS: [table.samples(LINKS, table.joints, links)]} if "q" in table.signals else {}
    if "theta" in table.signals:
        found[MOTORS] = [table.samples(MOTORS, table.motors, ("theta", "", ""))]
    return found


def viewed_recording(
    run: DemoRecording,
    model: MultibodyModel,
    actuators: Actuators | None = None,
    cutoff: float = CUTOFF,
) -> ViewedMotion:
    """The motion of a run of the demo; other arguments as of :func:`read_view`."""
    found = {}
    for key in (LINKS, MOTORS, *PUBLISHED):
        series = run.series.get(key)
        if series is None or series.values.shape[2] != len(run.joint_names):
            continue  # two motors per joint, whose names the file does not have
        found[key] = [JointSamples(key, run.joint_names, series.sent, series.stamp, series.values)]
    if "torque_rate" not in found:  # of a control law: torques of motors, not of joints
        found.pop("torque", None)
    return _viewed(run.variant, found, model, actuators, ALL_JOINTS, cutoff)


def _bag_series(path: Path, selection: JointSelection) -> _Signals:
    topics, motor_topic = selection.topics, selection.motor_topic
    recording = Recording(path)
    recording.overview.require(path, [*topics, *([motor_topic] if motor_topic else [])])
    wanted: dict[str, str] = {}
    for topic in recording.overview.topics:
        last = topic.rpartition("/")[2]
        if topic in topics:
            wanted[topic] = LINKS
        elif topic == motor_topic or (not motor_topic and last == MOTORS):
            wanted[topic] = MOTORS
        elif last in (ERRORS, EXTERNAL, *PUBLISHED) or (not topics and last == LINKS):
            wanted[topic] = last
    if LINKS not in wanted.values():
        rest = [topic for topic in recording.overview.topics if topic not in wanted]
        if len(rest) != 1:
            raise InputError(
                f"{path}: no topic is called {LINKS}; --topic selects one of"
                f" {', '.join(recording.overview.topics)}"
            )
        wanted[rest[0]] = LINKS
    found: _Signals = {}
    for batch in recording.read(list(wanted)):
        stamped = batch if (batch.stamp > 0).all() else replace(batch, stamp=batch.received)
        found.setdefault(wanted[batch.topic], []).append(stamped)
    for topic, kind in recording.overview.others.items():
        if kind == WRENCH:
            _add_wrenches(found, path, topic)
    return found


def _add_wrenches(found: _Signals, path: Path, topic: str) -> None:
    types = message_types()
    by_link: dict[str, list[tuple[int, list[float]]]] = {}
    for _, raw in Bag(path).messages(topic):
        message = types.deserialize_cdr(bytes(raw), WRENCH)
        stamp, wrench = message.header.stamp, message.wrench
        row = [getattr(part, axis) for part in (wrench.torque, wrench.force) for axis in "xyz"]
        at = SECOND * stamp.sec + stamp.nanosec
        by_link.setdefault(message.header.frame_id, []).append((at, row))
    for link, pairs in by_link.items():
        at, rows = (np.array(column) for column in zip(*pairs, strict=True))
        found.setdefault("wrench", []).append(
            JointSamples(topic, (link,), at, at, rows[:, :, None])
        )


def _viewed(
    name: str,
    series: _Signals,
    model: MultibodyModel,
    actuators: Actuators | None,
    selection: JointSelection,
    cutoff: float,
) -> ViewedMotion:
    """The motion of the whole robot at the times of its first joint."""
    joints, prefix, held = model.joint_names, selection.prefix, selection.held
    links = _columns(series.get(LINKS, ()), prefix)
    missing = [joint for joint in joints if joint not in links and joint not in held]
    if missing:
        raise InputError(
            f"no positions of {', '.join(missing)}; recorded: {', '.join(links) or 'none'};"
            f" --hold {missing[0]}=VALUE sets a constant position, --prefix a prefix of the names"
        )
    leading = next((links[joint][0] for joint in joints if joint in links), None)
    if leading is None or len(leading) < 2 or leading[-1] == leading[0]:
        raise InputError("fewer than two samples of the joints, at different times")
    span = float(leading[-1] - leading[0])
    at = leading[:: max(round(len(leading) / max(1e-9 * span * MOST, 1.0)), 1)]
    first = at[0]

    def of_joints(signal: str, row: int) -> Array:
        """(k, n) a row of a signal at all times; NaN where it was not recorded."""
        rows = np.full((len(at), model.n), np.nan)
        for joint, recorded in _columns(series.get(signal, ()), prefix).items():
            if joint in joints:
                rows[:, joints.index(joint)] = _newest(at, *recorded)[:, row]
        return rows

    q = of_joints(LINKS, 0)
    for i, joint in enumerate(joints):
        if joint not in links:
            q[:, i] = held[joint]
    is_whole = np.isfinite(q).all(axis=1)
    if np.count_nonzero(is_whole) < 2:
        raise InputError("fewer than two samples with the positions of all joints")
    at, q = at[is_whole], q[is_whole]
    t = 1e-9 * (at - first)
    notes = []
    motion, predicted = _predicted(model, t, q, cutoff)
    if pace := doubtful_pace(model, np.abs(motion[:, 1]).max(axis=0)):
        notes.append(pace)
    torque = np.stack([of_joints(signal, -1) for signal in PUBLISHED], axis=1)
    if np.isnan(torque).all():
        torque = predicted
        notes.append(f"Q, Q', Q'' of the model, from positions filtered at {cutoff:g} Hz")
    measured = of_joints(LINKS, 2)
    is_measured = np.isfinite(measured).any(axis=0) & (np.nan_to_num(measured) != 0.0).any(axis=0)
    torque[:, 0, is_measured] = measured[:, is_measured]
    motor = _motors(series, at, actuators, prefix)
    if motor is None:
        motor = motors_along(actuators, motion, np.nan_to_num(predicted))
        if actuators is not None:
            notes.append("motors by the flat map, as none were recorded")
    wrenches = {
        each.names[0]: (1e-9 * (each.stamp - first), each.rows[:, :, 0])
        for each in series.get("wrench", ())
        if each.names[0] in model.frames
    }
    error, external = of_joints(ERRORS, 0), of_joints(EXTERNAL, 2)
    return ViewedMotion(name, t, q, motor, torque, error, external, wrenches, tuple(notes))


def _columns(series: Sequence[JointSamples], prefix: str) -> dict[str, tuple[Any, Array]]:
    """Times (k,) ns and rows (k, r) of every name, in the order of time."""
    parts: dict[str, list[tuple[Any, Array]]] = {}
    for each in series:
        for j, name in enumerate(each.names):
            parts.setdefault(name.removeprefix(prefix), []).append((each.stamp, each.rows[:, :, j]))
    found = {}
    for name, pieces in parts.items():
        at, rows = (np.concatenate(column) for column in zip(*pieces, strict=True))
        order = np.argsort(at, kind="stable")
        found[name] = at[order], rows[order]
    return found


def _newest(at: Array, when: Array, rows: Array) -> Array:
    """The newest rows at the times `at` (k,); the first ones before they begin."""
    return rows[np.clip(np.searchsorted(when, at, side="right") - 1, 0, None)]


def _motors(series: _Signals, at: Array, actuators: Actuators | None, prefix: str) -> Array | None:
    """(k, n) recorded motors as seen by their links; None if they were not all recorded."""
    recorded = _columns(series.get(MOTORS, ()), prefix)
    names = actuators.motor_names if actuators else ()
    if not names or not set(names) <= recorded.keys():
        return None
    theta = np.stack([_newest(at, *recorded[name])[:, 0] for name in names], axis=1)
    return np.asarray(theta @ actuators.link_of_motors) if actuators else theta


def _predicted(model: MultibodyModel, t: Array, q: Array, cutoff: float) -> tuple[Array, Array]:
    """Motion (k, 5, n) and torques (k, 3, n) by the model, from filtered positions.

    At both ends, where the filter does not reach, the nearest value is repeated. Gaps count as GAP
    samples, as a wrong time would otherwise be filled with millions.
    """
    step = float(np.median(np.diff(t)))
    rate = 1.0 / step if step > 0.0 else RATE
    t = np.cumsum(np.minimum(np.diff(t, prepend=t[0]), GAP / rate))
    grid = t[0] + np.arange(int((t[-1] - t[0]) * rate) + 1) / rate
    order = np.concatenate(([True], np.diff(t) > 0.0))
    even = np.stack([np.interp(grid, t[order], column[order]) for column in q.T], axis=1)
    filter_ = ZeroPhaseFilter(rate, min(cutoff, HIGHEST * rate))
    reach = filter_.reach
    padded = np.concatenate(
        [np.repeat(even[:1], reach, axis=0), even, np.repeat(even[-1:], reach, axis=0)]
    )
    smooth = np.moveaxis(filter_(padded), 0, 1)  # (g, 5, n)
    torque = np.stack(inverse_dynamics(model, *np.moveaxis(smooth, 1, 0)), axis=1)
    nearest = np.clip(np.round((t - t[0]) * rate).astype(int), 0, len(grid) - 1)
    motion = smooth[nearest].copy()
    motion[:, 0] = q
    return motion, torque[nearest]
