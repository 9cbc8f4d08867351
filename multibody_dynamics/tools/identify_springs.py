"""Springs from a recorded motion: read it, differentiate it, identify, report, draw.

A recording is one of
    .csv    t and, for every joint, `q JOINT`, `theta JOINT`; `Q JOINT` of a torque sensor or
            `tau JOINT` of the motor beside it, in s, rad (m), N m (N), on the link side of the gear
    .npz    the same as arrays t (k,), q, theta, Q, tau (k, n), and joint_names
    .npz    of the demo: its joint_states (effort: Q) and motor_states (effort: tau)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import savgol_filter

from ..dynamics.actuators import Actuators
from ..dynamics.errors import InputError
from ..dynamics.inputs import Array
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..dynamics.model import MultibodyModel
from ..dynamics.spring_identification import SpringFit, identify_spring, motor_side_torque

SIGNALS = ("q", "theta", "Q", "tau")
TORQUES = ("sensor", "links", "motors")
ORDER = 4  # of the polynomials that smooth and differentiate


@dataclass(frozen=True, eq=False)
class Motion:
    """Samples t (k,), and q, theta, Q, tau (k, n) or None, of the joints that are named."""

    joint_names: tuple[str, ...]
    t: Array
    q: Array
    theta: Array
    Q: Array | None = None
    tau: Array | None = None


def read_motion(path: Path) -> Motion:
    """A recording, see above. Raises InputError that names the file and what it lacks."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8") as file:
            names = [name.strip() for name in file.readline().lstrip("#").split(",")]
        try:
            table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
        except ValueError as error:
            raise InputError(f"{path}: not a table of numbers: {error}") from None
        if len(names) != table.shape[1] or "t" not in names:
            raise InputError(f"{path}: its first line must name {table.shape[1]} columns, t too")
        columns = dict(zip(names, table.T, strict=True))
        joints = tuple(name[2:] for name in names if name.startswith("q "))
        arrays: dict[str, Any] = {"t": columns["t"]}
        for signal in SIGNALS:
            if any(f"{signal} {joint}" in columns for joint in joints):
                for joint in joints:
                    if f"{signal} {joint}" not in columns:
                        raise InputError(f"{path}: column '{signal} {joint}' is missing")
                arrays[signal] = np.stack([columns[f"{signal} {j}"] for j in joints], axis=1)
    elif path.suffix == ".npz":
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        joints = tuple(str(name) for name in arrays.pop("joint_names", ()))
        if "facts" in arrays:
            joints, arrays = _of_demo(arrays)
    else:
        raise InputError(f"{path}: a recording ends in .csv or .npz")
    return _checked(path, joints, arrays)


def _of_demo(arrays: Mapping[str, Array]) -> tuple[tuple[str, ...], dict[str, Array]]:
    links, motors = (arrays[f"{name}.stamp"] for name in ("joint_states", "motor_states"))
    stamp, here, there = np.intersect1d(links, motors, return_indices=True)
    position, _, Q = np.moveaxis(arrays["joint_states.values"][here], 1, 0)
    theta, _, tau = np.moveaxis(arrays["motor_states.values"][there], 1, 0)
    rows = {"t": 1e-9 * (stamp - stamp[:1]), "q": position, "theta": theta, "Q": Q, "tau": tau}
    return tuple(json.loads(str(arrays["facts"]))["joint_names"]), rows


def _checked(path: Path, joints: tuple[str, ...], arrays: Mapping[str, Any]) -> Motion:
    for name in ("t", "q", "theta"):
        if name not in arrays:
            raise InputError(f"{path}: {name} is missing")
    t = np.asarray(arrays["t"], dtype=np.float64)
    found = {name: arrays.get(name) for name in SIGNALS}
    for name, array in found.items():
        if array is not None and np.shape(array) != (len(t), len(joints)):
            raise InputError(
                f"{path}: {name} is {np.shape(array)}: must be ({len(t)}, {len(joints)}), a column "
                f"for each of the joints {', '.join(joints) or '(none is named)'}"
            )
    if len(t) < 2 or not (np.diff(t) > 0.0).all():
        raise InputError(f"{path}: t must increase")
    for name, array in found.items():
        if name in ("q", "theta") and not np.isfinite(array).all():
            raise InputError(f"{path}: {name} has NaN or infinity")
        if array is not None and not np.isfinite(array).all():
            found[name] = None  # a signal that was not there, as ROS says it
    return Motion(joints, t, **found)


def smoothed(t: Array, values: Array, window: float) -> tuple[Array, Array, Array]:
    """Values (k, n) and two derivatives at even times, by polynomials over `window` s: no lag.

    Raises InputError for gaps longer than that, and for windows of too few samples.
    """
    step = float(np.median(np.diff(t)))
    gap = int(np.argmax(np.diff(t)))
    if t[gap + 1] - t[gap] > max(window, 1.5 * step):
        raise InputError(f"nothing was recorded from {t[gap]:.6g} to {t[gap + 1]:.6g} s")
    even = t[0] + step * np.arange(int((t[-1] - t[0]) / step + 1e-6) + 1)
    length = 2 * round(0.5 * window / step) + 1
    if not ORDER < length <= len(even):
        raise InputError(
            f"a window of {window:g} s has {length} of {len(even)} samples: must have more than "
            f"{ORDER}, and no more than there are"
        )
    rows = np.stack([np.interp(even, t, column) for column in values.T], axis=1)
    first, second, third = (
        savgol_filter(rows, length, ORDER, deriv=k, delta=step, axis=0) for k in range(3)
    )
    return first, second, third


def identify(
    motion: Motion,
    *,
    torque: str = "",
    model: MultibodyModel | None = None,
    actuators: Actuators | None = None,
    window: float = 0.03,
    **options: Any,
) -> tuple[dict[str, SpringFit], dict[str, str], dict[str, tuple[Array, Array]]]:
    """The fits, the reasons of the joints that have none, and phi, Q of all of them.

    torque : one of TORQUES; the sensor if it was recorded, else the links. model : of the links, as
    the sources "links" needs it; actuators : the motors' data, as "motors" does. options : of
    :func:`.identify_spring`.
    """
    source = torque or ("sensor" if motion.Q is not None else "links")
    q, qd, qdd = smoothed(motion.t, motion.q, window)
    theta, thetad, thetadd = smoothed(motion.t, motion.theta, window)
    if source == "sensor":
        if motion.Q is None:
            raise InputError("the recording has no torques of sensors: take links or motors")
        Q = smoothed(motion.t, motion.Q, window)[0]
    elif source == "links":
        if model is None or model.joint_names != motion.joint_names:
            has = "none is given" if model is None else ", ".join(model.joint_names)
            raise InputError(
                f"the torques of the links need the robot of {', '.join(motion.joint_names)}: {has}"
            )
        Q = inverse_dynamics(model, q, qd, qdd).tau
    else:
        if motion.tau is None:
            raise InputError("the recording has no torques of motors: take sensor or links")
        if actuators is None:
            raise InputError("the torques at the motors need their data: --elastic-joints")
        if actuators.motor_names != motion.joint_names:
            raise InputError(f"motors: expected one for each of {', '.join(motion.joint_names)}")
        tau = smoothed(motion.t, motion.tau, window)[0]
        rows = zip(actuators.motors, thetad.T, thetadd.T, tau.T, strict=True)
        Q = np.stack([motor_side_torque(*row) for row in rows], axis=1)

    edge = round(float(0.5 * window / np.median(np.diff(motion.t))))
    inner = slice(edge, len(q) - edge)  # the polynomials of the ends are one-sided
    fits, reasons, samples = {}, {}, {}
    for j, joint in enumerate(motion.joint_names):
        phi, phid, torques = (
            row[inner, j] for row in (theta - q, thetad - qd, Q)
        )  # fmt: skip
        samples[joint] = phi, torques
        prismatic = model is not None and model.joint_types[j] == "prismatic"
        try:
            fits[joint] = identify_spring(
                phi, torques, phid, joint=joint, prismatic=prismatic, **options
            )
        except InputError as error:
            reasons[joint] = str(error)
        if sys.stderr.isatty():
            end = "\r" if j + 1 < len(motion.joint_names) else "\r\033[K"
            print(f"{j + 1} of {len(motion.joint_names)} joints", end=end, file=sys.stderr)
    return fits, reasons, samples


def to_yaml(
    joint_names: Sequence[str], fits: Mapping[str, SpringFit], reasons: Mapping[str, str]
) -> str:
    """The springs by joint, to be put beside the motors in a file of actuators."""
    lines = ["# identified springs: put each beside the `motor` of its joint", "joints:"]
    for joint in joint_names:
        if joint in fits:
            lines += [f"  {joint}:", *(f"    {x}" for x in fits[joint].to_yaml().splitlines())]
        else:
            lines.append(f"  # {reasons[joint]}")
    return "\n".join(lines) + "\n"


def draw_springs(
    fits: Mapping[str, SpringFit], samples: Mapping[str, tuple[Array, Array]], file: Path
) -> None:
    """Torque against deflection of every joint, the samples and the law, and what is left."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(len(samples), 4)
    rows = -(-len(samples) // columns)
    figure, axes = pyplot.subplots(
        2 * rows,
        columns,
        figsize=(3.2 * columns + 0.6, 4.2 * rows),
        layout="constrained",
        squeeze=False,
        height_ratios=[2.2, 1.0] * rows,
    )
    for axis in axes.flat[len(samples) :]:
        axis.set_visible(False)
    for j, (joint, (phi, Q)) in enumerate(samples.items()):
        law, left = axes[2 * (j // columns) : 2 * (j // columns) + 2, j % columns]
        law.set_visible(True)
        left.set_visible(True)
        every = max(len(phi) // 3000, 1)
        law.plot(phi[::every], Q[::every], ".", color="#999999", ms=2, label="samples")
        law.set_title(joint, fontsize=10)
        if joint in fits:
            fit = fits[joint]
            x = np.linspace(*fit.covered, 200)
            law.plot(x, fit.torque(x), color="#0072B2", lw=1.6, label=fit.law)
            rest = Q - fit.torque(phi)
            left.plot(phi[::every], rest[::every], ".", color="#D55E00", ms=1.5)
        law.legend(fontsize=7, frameon=False)
        unit = "m" if joint in fits and fits[joint].prismatic else "rad"
        left.set_xlabel(f"deflection  [{unit}]", fontsize=9)
        if j % columns == 0:
            law.set_ylabel("torque  [N m or N]" if unit == "m" else "torque  [N m]", fontsize=9)
            left.set_ylabel("samples - law", fontsize=9)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)
