# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recordings for the joint identification of links, motors and springs.

The formats are
    bag     a rosbag2 folder, .mcap or .db3 file: JointState of the links (position; effort) and, of
            an arm with springs, of the motors on another topic (position theta; effort tau)
    .csv    t and, for every joint, `q JOINT`; if measured, also `qd JOINT`, `theta MOTOR`,
            `Q JOINT` of a torque sensor, `tau MOTOR` and `current MOTOR`, and `stiffness JOINT`
    .npz    the same as arrays t (k,), q, qd, Q, stiffness (k, n), theta, tau, current (k, m),
            joint_names and motor_names (those of the joints by default)
in s, rad (m), rad/s (m/s), N m (N), A and N m/rad, all except the current on the link side of the
gear. A motor has the name of its joint. The two motors of an antagonistic joint append _agonist and
_antagonist to it, and the motor that sets a stiffness appends _stiffness. `stiffness` is needed for
joints whose stiffness is an input that no motor sets.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from ...dynamics.core import Array, InputError, file_reader, read_arrays
from ...dynamics.identification import CarriedPayload, MeasuredRun
from ...dynamics.model import MultibodyModel
from ...validation.alignment import GAP
from ...validation.doubtful_signals import Stretch, contradicting_velocities
from ...validation.recordings import Recording, read_columns, signal_in, times_in
from ...validation.survey import turning_joints
from .pairing import pair
from .spring_recordings import Motion, read_motion

SIGNALS = {
    "q": "q",
    "qd": "qd",
    "theta": "theta",
    "Q": "sensor",
    "tau": "motor_torque",
    "current": "current",
    "stiffness": "stiffness",
}
OF_MOTORS = ("theta", "tau", "current")
FEWEST = 8  # fewest samples of a stretch
JUMP = 0.01  # rad or m beyond JUMP_RATIO times the steps before and after: begins a stretch
JUMP_RATIO = 10.0
ON_TIME = 1e-3  # periods; samples this close to evenly spaced times are used as they are


# wide: how a recording is read
@file_reader
def read_run(
    path: Path,
    model: MultibodyModel,
    *,
    elastic: bool,
    motors: Sequence[str] = (),
    effort: str = "joint",
    topics: Sequence[str] = (),
    motor_topic: str = "",
    prefix: str = "",
    held: Mapping[str, float] | None = None,
    payload: CarriedPayload | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> MeasuredRun:
    """Read a recording in one of the formats of the module's docstring.

    elastic : whether the robot has springs: a bag then has a topic of the motors.
    motors : their names, by default those of the joints.
    effort : of a recording without torques of both sides, the side of its efforts: "joint" for
        torques on the link side of the springs (of sensors), "motor" for those of the motors.
    held : positions of joints that were not recorded.

    Raises InputError naming file, topic and joint, with what is expected instead.
    """
    held, motors = held or {}, tuple(motors) or model.joint_names
    if path.suffix in (".csv", ".npz") and path.is_file():
        return _of_table(path, model, motors, effort, prefix, held, payload)
    if elastic:
        motion = read_motion(
            path,
            model,
            topics=topics,
            motor_topic=motor_topic,
            prefix=prefix,
            held=held,
            progress=progress,
        )
        return _run(path, motion.t, _signals(path, motion, motors), payload)
    recording = Recording(path)
    recording.overview.require(path, topics)
    batches = list(recording.read(topics or None, progress=progress))
    names = {prefix + joint: j for j, joint in enumerate(model.joint_names) if joint not in held}
    used = [batch for batch in batches if set(names) & set(batch.names)]
    if not used:
        raise InputError(f"{path}: no topic has joints of the robot: {', '.join(names)}")
    found = pair(
        path,
        used,
        {batch.topic: names for batch in used},
        held={model.joint_index(joint): value for joint, value in held.items()},
        turning=turning_joints(model),
    )
    side = "motor_torque" if effort == "motor" else "sensor"
    return _run(path, found.t, {"q": found.position, side: found.effort}, payload)


def _signals(path: Path, motion: Motion, motors: Sequence[str]) -> dict[str, Array | None]:
    """The signals of a motion, with its motors in this order."""
    if set(motion.motor_names) != set(motors):
        raise InputError(
            f"{path}: has the motors {', '.join(motion.motor_names)}; the robot has "
            f"{', '.join(motors)}"
        )
    order = [motion.motor_names.index(name) for name in motors]
    tau = None if motion.tau is None else motion.tau[:, order]
    theta = motion.theta[:, order]
    return {"q": motion.q, "theta": theta, "sensor": motion.Q, "motor_torque": tau}


# wide: how a table is read
def _of_table(
    path: Path,
    model: MultibodyModel,
    motors: tuple[str, ...],
    effort: str,
    prefix: str,
    held: Mapping[str, float],
    payload: CarriedPayload | None,
) -> MeasuredRun:
    arrays, names, driven = (_csv_arrays if path.suffix == ".csv" else _npz_arrays)(path)
    if "t" not in arrays or not {"q", "theta"} & set(arrays):
        raise InputError(f"{path}: t and q or theta are needed; it has {', '.join(arrays)}")
    t = times_in(path, arrays["t"])
    wanted = [prefix + joint for joint in model.joint_names]
    missing = [
        name for name, joint in zip(wanted, model.joint_names, strict=True)
        if name not in names and joint not in held
    ]  # fmt: skip
    if missing:
        raise InputError(
            f"{path}: no columns for the joints {', '.join(missing)}; it has {', '.join(names)}; "
            "use --prefix TEXT if recorded names have a prefix, or --hold JOINT=VALUE"
        )
    signals: dict[str, Array | None] = {}
    for column, signal in SIGNALS.items():
        if column not in arrays:
            continue
        given = driven if column in OF_MOTORS else names
        owners = [prefix + motor for motor in motors] if column in OF_MOTORS else wanted
        rows = signal_in(path, arrays, column, len(t), given)
        ordered = np.full((len(t), len(owners)), np.nan)
        for j, name in enumerate(owners):
            if name in given:
                ordered[:, j] = rows[:, given.index(name)]
        signals[signal] = ordered
    # One effort per joint, and no motor positions: the user says on which side it was measured.
    if effort == "joint" and "theta" not in signals and "sensor" not in signals:
        signals["sensor"] = signals.pop("motor_torque", None)
        if signals["sensor"] is None:
            del signals["sensor"]
    for joint, value in held.items():
        for signal, constant in (("q", value), ("qd", 0.0)):
            rows_of = signals.get(signal)
            if rows_of is not None:
                rows_of[:, model.joint_index(joint)] = constant
    turning = turning_joints(model)
    _drop_wrong_velocities(path, t, signals, model.joint_names, turning)
    if motors == model.joint_names:
        _remove_turns(signals.get("q"), signals.get("theta"), turning)
    elif (q := signals.get("q")) is not None:
        q[:, turning] = np.unwrap(q[:, turning], axis=0)
    return _run(path, t, signals, payload)


def _drop_wrong_velocities(
    path: Path,
    t: Array,
    signals: dict[str, Array | None],
    names: Sequence[str],
    turning: NDArray[np.bool_],
) -> None:
    """Velocities that contradict the positions become missing, in place, with a warning."""
    q, qd = signals.get("q"), signals.get("qd")
    if q is None or qd is None:
        return
    positions = q.copy()
    positions[:, turning] = np.unwrap(q[:, turning], axis=0)
    wrong = contradicting_velocities([Stretch(t, positions, qd)])
    for j, text in wrong.items():
        qd[:, j] = np.nan
        warnings.warn(
            f"{path}: {names[j]}: its velocities {text}; its positions are differentiated instead",
            stacklevel=2,
        )


def _remove_turns(q: Array | None, theta: Array | None, turning: NDArray[np.bool_]) -> None:
    """Make positions (k, n) that were recorded modulo one turn continuous, in place, with less than
    half a turn between motors and links."""
    for rows in (q, theta):
        if rows is not None:
            rows[:, turning] = np.unwrap(rows[:, turning], axis=0)
    if q is not None and theta is not None:
        turns = np.round(np.median(theta - q, axis=0) / (2.0 * np.pi))
        theta -= 2.0 * np.pi * np.where(turning & np.isfinite(turns), turns, 0.0)


Table = tuple[dict[str, Array], tuple[str, ...], tuple[str, ...]]
"""Arrays, and the names of joints and of motors."""


def _csv_arrays(path: Path) -> Table:
    columns = read_columns(path)
    split = [name.partition(" ") for name in columns]
    joints, motors = (
        tuple(
            dict.fromkeys(
                owner for signal, _, owner in split
                if signal in SIGNALS and (signal in OF_MOTORS) == of_motors
            )
        )
        for of_motors in (False, True)
    )  # fmt: skip
    joints = joints or motors
    arrays = {"t": columns["t"]}
    missing = np.full(len(columns["t"]), np.nan)
    for signal in SIGNALS:
        names = motors if signal in OF_MOTORS else joints
        if any(f"{signal} {name}" in columns for name in names):
            rows = [columns.get(f"{signal} {name}", missing) for name in names]
            arrays[signal] = np.stack(rows, axis=1)
    return arrays, joints, motors


def _npz_arrays(path: Path) -> Table:
    arrays = read_arrays(path)
    if "joint_names" not in arrays:
        raise InputError(f"{path}: array joint_names is missing; it has {', '.join(arrays)}")
    names = tuple(str(name) for name in np.atleast_1d(arrays.pop("joint_names")))
    motors = np.atleast_1d(arrays.pop("motor_names", np.array(names)))
    return arrays, names, tuple(str(name) for name in motors)


def _run(
    path: Path, t: Array, signals: Mapping[str, Array | None], payload: CarriedPayload | None
) -> MeasuredRun:
    """The samples at evenly spaced times, stretch by stretch between gaps and jumps."""
    steps = np.diff(t)
    if not (steps > 0.0).any():
        raise InputError(f"{path}: t does not increase")
    period = float(np.median(steps[steps > 0.0]))
    given = {name: rows for name, rows in signals.items() if rows is not None}
    is_cut = (steps <= 0.0) | (steps > GAP * period)
    for name in {"q", "theta"} & set(given):
        is_cut |= _jumps(given[name])
    cuts = np.flatnonzero(is_cut) + 1
    pieces: dict[str, list[Array]] = {name: [] for name in given}
    starts, count = [], 0
    for part in np.split(np.arange(len(t)), cuts):
        if len(part) < FEWEST:
            continue
        times = t[part]
        even = times[0] + period * np.arange(int((times[-1] - times[0]) / period + 1e-6) + 1)
        on_time = len(even) == len(times) and np.abs(even - times).max() < ON_TIME * period
        for name, rows in given.items():
            pieces[name].append(rows[part] if on_time else _resampled(times, rows[part], even))
        starts.append(count)
        count += len(even)
    if not starts:
        raise InputError(f"{path}: no stretch without gaps has {FEWEST} samples")
    return MeasuredRun(
        path.stem,
        1.0 / period,
        **{name: np.concatenate(rows) for name, rows in pieces.items()},
        payload=payload,
        starts=tuple(starts),
    )


def _jumps(rows: Array) -> NDArray[np.bool_]:
    """(k - 1,) where positions (k, n) change at once, as where one recording ends and another one
    begins; not at single wrong samples, to which there are two such steps."""
    steps = np.abs(np.diff(rows, axis=0))
    beside = np.zeros_like(steps)
    beside[1:] = steps[:-1]
    np.maximum(beside[:-1], steps[1:], out=beside[:-1])
    return (steps > JUMP + JUMP_RATIO * beside).any(axis=1)


def _resampled(times: Array, rows: Array, even: Array) -> Array:
    out = np.full((len(even), rows.shape[1]), np.nan)
    known = ~np.isnan(rows).any(axis=0)
    if known.any():
        out[:, known] = CubicSpline(times, rows[:, known])(even)
    return out
