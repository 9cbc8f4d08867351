# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recordings for the joint identification of links, motors and springs.

The formats are
    bag     a rosbag2 folder, .mcap or .db3 file: JointState of the links (position; effort) and, of
            an arm with springs, of the motors on another topic (position theta; effort tau)
    table   a .csv or .npz file with t, q or theta, and whatever else was measured: see
            `validation.recordings.tables`
A motor has the name of its joint. The two motors of an antagonistic joint append _agonist and
_antagonist to it, and the motor that sets a stiffness appends _stiffness. `stiffness` is needed for
joints whose stiffness is an input that no motor sets.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...dynamics.core import Array, InputError, file_reader
from ...dynamics.identification import CarriedPayload, MeasuredRun
from ...dynamics.model import MultibodyModel
from ...validation.alignment import GAP
from ...validation.doubtful_signals import Stretch, contradicting_velocities
from ...validation.recordings import ALL_JOINTS, JointSelection, Recording, read_signals
from ...validation.recordings.tables import OF_MOTORS, SUFFIXES
from ...validation.unwrapping import turning_joints, unwrapped
from .pairing import at_even_times, pair
from .spring_recordings import Motion, read_motion, turns_between

FIELDS = {"Q": "sensor", "tau": "motor_torque"}  # of a run, where they differ from the table's
FEWEST = 8  # fewest samples of a stretch
JUMP = 0.01  # rad or m beyond JUMP_RATIO times the steps before and after: begins a stretch
JUMP_RATIO = 10.0


@file_reader
def read_run(
    path: Path,
    model: MultibodyModel,
    selection: JointSelection = ALL_JOINTS,
    *,
    elastic: bool,
    motors: Sequence[str] = (),
    effort: str = "joint",
    payload: CarriedPayload | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> MeasuredRun:
    """Read a recording in one of the formats of the module's docstring.

    elastic : whether the robot has springs: a bag then has a topic of the motors.
    motors : their names, by default those of the joints.
    effort : of a recording without torques of both sides, the side of its efforts: "joint" for
        torques on the link side of the springs (of sensors), "motor" for those of the motors.

    Raises InputError naming file, topic and joint, with what is expected instead.
    """
    motors, prefix, held = tuple(motors) or model.joint_names, selection.prefix, selection.held
    if path.suffix in SUFFIXES and path.is_file():
        return _of_table(path, model, motors, effort, selection, payload)
    if elastic:
        motion = read_motion(path, model, selection, progress)
        _warn(motion.problem)
        return _run(path, motion.t, _signals(path, motion, motors), payload)
    recording = Recording(path, transmissions=model.transmissions, prefix=prefix)
    recording.overview.require(path, selection.topics)
    batches, problem = recording.whole(selection.topics or None, progress)
    _warn(problem)
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


def _of_table(
    path: Path,
    model: MultibodyModel,
    motors: tuple[str, ...],
    effort: str,
    selection: JointSelection,
    payload: CarriedPayload | None,
) -> MeasuredRun:
    prefix, held = selection.prefix, selection.held
    table = read_signals(path).at_motors(model.transmissions, prefix)
    turning = turning_joints(model)
    joints = [prefix + joint for joint in model.joint_names]
    missing = [
        name for name, joint in zip(joints, model.joint_names, strict=True)
        if name not in table.joints and joint not in held
    ]  # fmt: skip
    if missing:
        raise InputError(
            f"{path}: no columns for the joints {', '.join(missing)}; it has "
            f"{', '.join(table.joints)}; use --prefix TEXT if recorded names have a prefix, or "
            "--hold JOINT=VALUE"
        )
    owners = {True: [prefix + motor for motor in motors], False: joints}
    signals = {
        FIELDS.get(name, name): table.rows(name, owners[name in OF_MOTORS])
        for name in table.signals
    }
    # Samples that lack a number of a signal that was measured are left out.
    lacking = (np.isnan(rows) & ~np.isnan(rows).all(axis=0) for rows in signals.values())
    is_whole = ~np.any([rows.any(axis=1) for rows in lacking], axis=0)
    t, signals = table.t[is_whole], {name: rows[is_whole] for name, rows in signals.items()}
    # One effort per joint, and no motor positions: the user says on which side it was measured.
    if effort == "joint" and not {"theta", "sensor"} & set(signals) and "motor_torque" in signals:
        signals["sensor"] = signals.pop("motor_torque")
    for joint, value in held.items():
        for signal, constant in (("q", value), ("qd", 0.0)):
            if signal in signals:
                signals[signal][:, model.joint_index(joint)] = constant
    q, theta = signals.get("q"), signals.get("theta")
    for rows in (q, theta if motors == model.joint_names else None):
        if rows is not None:
            rows[:] = unwrapped(rows, turning)
    if q is not None and theta is not None and motors == model.joint_names:
        theta -= turns_between(theta, q, turning)
    if q is not None and "qd" in signals:
        for j, text in contradicting_velocities([Stretch(t, q, signals["qd"])]).items():
            signals["qd"][:, j] = np.nan
            name = model.joint_names[j]
            _warn(
                f"{path}: {name}: its velocities {text}; its positions are differentiated instead"
            )
    return _run(path, t, signals, payload)


def _warn(text: str) -> None:
    if text:
        warnings.warn(text, stacklevel=2)


def _run(
    path: Path, t: Array, signals: Mapping[str, Array | None], payload: CarriedPayload | None
) -> MeasuredRun:
    """The samples at evenly spaced times, stretch by stretch between gaps and jumps. Torques that
    are all zero were not measured."""
    steps = np.diff(t)
    if not (steps > 0.0).any():
        raise InputError(f"{path}: t does not increase")
    period = float(np.median(steps[steps > 0.0]))
    given = {name: rows for name, rows in signals.items() if rows is not None}
    for name in FIELDS.values():
        if name in given:
            given[name] = np.where(given[name].any(axis=0), given[name], np.nan)
    is_cut = (steps <= 0.0) | (steps > GAP * period)
    for name in {"q", "theta"} & set(given):
        is_cut |= _jumps(given[name])
    cuts = np.flatnonzero(is_cut) + 1
    pieces: dict[str, list[Array]] = {name: [] for name in given}
    starts, count = [], 0
    for part in np.split(np.arange(len(t)), cuts):
        if len(part) < FEWEST:
            continue
        for name, rows in given.items():
            even, piece = at_even_times(t[part], rows[part], period)
            pieces[name].append(piece)
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
    return np.asarray((steps > JUMP + JUMP_RATIO * beside).any(axis=1))
