"""Recordings for the joint identification of links, motors and springs.

The formats are
    bag     a rosbag2 folder, .mcap or .db3 file: JointState of the links (position; effort) and, of
            an arm with springs, of the motors on another topic (position theta; effort tau)
    .csv    t and, for every joint, `q JOINT`; if measured, also `qd JOINT`, `theta JOINT` of its
            motor, `Q JOINT` of a torque sensor, `tau JOINT` and `current JOINT` of the motor
    .npz    the same as arrays t (k,), q, qd, theta, Q, tau, current (k, n), and joint_names
in s, rad (m), rad/s (m/s), N m (N) and A, all except the current on the link side of the gear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from ...dynamics.core import Array, InputError
from ...dynamics.identification import CarriedPayload, MeasuredRun
from ...dynamics.model import MultibodyModel
from ...validation.alignment import GAP
from ...validation.recordings import Recording, read_arrays, read_columns, signal_in, times_in
from ...validation.survey import turning_joints
from .pairing import pair
from .spring_recordings import read_motion

SIGNALS = {
    "q": "q",
    "qd": "qd",
    "theta": "theta",
    "Q": "sensor",
    "tau": "motor_torque",
    "current": "current",
}
FEWEST = 8  # fewest samples of a stretch
ON_TIME = 1e-3  # periods; samples this close to evenly spaced times are used as they are


# wide: how a recording is read
def read_run(
    path: Path,
    model: MultibodyModel,
    *,
    elastic: bool,
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
    effort : of a recording without torques of both sides, the side of its efforts: "joint" for
        torques on the link side of the springs (of sensors), "motor" for those of the motors.
    held : positions of joints that were not recorded.

    Raises InputError naming file, topic and joint, with what is expected instead.
    """
    held = held or {}
    if path.suffix in (".csv", ".npz") and path.is_file():
        return _of_table(path, model, effort, prefix, held, payload)
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
        if motion.motor_names != model.joint_names:
            raise InputError(
                f"{path}: has the motors {', '.join(motion.motor_names)}; a joint identification "
                f"needs one motor for each of {', '.join(model.joint_names)}"
            )
        signals = {
            "q": motion.q, "theta": motion.theta, "sensor": motion.Q, "motor_torque": motion.tau
        }  # fmt: skip
        return _run(path, motion.t, signals, payload)
    recording = Recording(path)
    recording.overview.require(path, topics or None)
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


# wide: how a table is read
def _of_table(
    path: Path,
    model: MultibodyModel,
    effort: str,
    prefix: str,
    held: Mapping[str, float],
    payload: CarriedPayload | None,
) -> MeasuredRun:
    arrays, names = (_csv_arrays if path.suffix == ".csv" else _npz_arrays)(path)
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
        rows = signal_in(path, arrays, column, len(t), names)
        ordered = np.full((len(t), model.n), np.nan)
        for j, name in enumerate(wanted):
            if name in names:
                ordered[:, j] = rows[:, names.index(name)]
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
    _remove_turns(signals.get("q"), signals.get("theta"), turning_joints(model))
    return _run(path, t, signals, payload)


def _remove_turns(q: Array | None, theta: Array | None, turning: NDArray[np.bool_]) -> None:
    """Make positions (k, n) that were recorded modulo one turn continuous, in place, with less than
    half a turn between motors and links."""
    for rows in (q, theta):
        if rows is not None:
            rows[:, turning] = np.unwrap(rows[:, turning], axis=0)
    if q is not None and theta is not None:
        turns = np.round(np.median(theta - q, axis=0) / (2.0 * np.pi))
        theta -= 2.0 * np.pi * np.where(turning & np.isfinite(turns), turns, 0.0)


def _csv_arrays(path: Path) -> tuple[dict[str, Array], tuple[str, ...]]:
    columns = read_columns(path)
    names = tuple(
        dict.fromkeys(
            name.partition(" ")[2] for name in columns if name.partition(" ")[0] in SIGNALS
        )
    )
    arrays = {"t": columns["t"]}
    missing = np.full(len(columns["t"]), np.nan)
    for signal in SIGNALS:
        if any(f"{signal} {name}" in columns for name in names):
            rows = [columns.get(f"{signal} {name}", missing) for name in names]
            arrays[signal] = np.stack(rows, axis=1)
    return arrays, names


def _npz_arrays(path: Path) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    arrays = read_arrays(path)
    if "joint_names" not in arrays:
        raise InputError(f"{path}: array joint_names is missing; it has {', '.join(arrays)}")
    return arrays, tuple(str(name) for name in np.atleast_1d(arrays.pop("joint_names")))


def _run(
    path: Path, t: Array, signals: Mapping[str, Array | None], payload: CarriedPayload | None
) -> MeasuredRun:
    """The samples at evenly spaced times, stretch by stretch between gaps."""
    steps = np.diff(t)
    if not (steps > 0.0).any():
        raise InputError(f"{path}: t does not increase")
    period = float(np.median(steps[steps > 0.0]))
    cuts = np.flatnonzero((steps <= 0.0) | (steps > GAP * period)) + 1
    given = {name: rows for name, rows in signals.items() if rows is not None}
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


def _resampled(times: Array, rows: Array, even: Array) -> Array:
    out = np.full((len(even), rows.shape[1]), np.nan)
    known = ~np.isnan(rows).any(axis=0)
    if known.any():
        out[:, known] = CubicSpline(times, rows[:, known])(even)
    return out
