# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""`multibody_dynamics identify --only springs`: differentiate a motion, fit, write, plot.

For the formats of a recording see `spring_recordings`.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import savgol_filter

from ...dynamics.core import Array, InputError, read_yaml, reading
from ...dynamics.elastic import Actuators, load_actuators
from ...dynamics.identification import SpringFit, identify_spring, motor_side_torque, noise_cutoff
from ...dynamics.mechanisms import load_robot
from ...dynamics.model import MultibodyModel
from ...dynamics.rigid import inverse_dynamics
from ...reporting.figures import BLUE, GREY, VERMILION, new_figure, save
from ...reporting.progress import ProgressBar
from ...validation.alignment import GAP
from ..base.arguments import call, selection_of
from .pairing import at_even_times
from .spring_recordings import SIDES, Motion, read_motion

ORDER = 4  # of the polynomials for smoothing and differentiation
SHORTEST, LONGEST = 0.03, 1.0  # s, windows that are chosen from the data
WINDOW = 1.56  # window times the cut-off of these polynomials (-3 dB): R. W. Schafer, IEEE Signal
# Processing Magazine 28(4), 2011
FEWEST = 32  # samples from which the noise can be told

Samples = dict[str, tuple[Array, Array]]  # by motor: deflection and torque, (k,) each


def identify_springs(options: argparse.Namespace) -> int:
    """Run `identify --only springs`; returns the exit status."""
    if len(options.recordings) > 1:
        raise InputError("--only springs: expected one recording")
    (recording,) = options.recordings
    model = None
    if options.urdf:
        model = load_robot(options.urdf, options.elastic_joints, (0.0, 0.0, -options.gravity))
    elif options.hold:
        raise InputError("--hold sets the position of a robot's joint and requires --urdf")
    if options.elastic_joints:
        read_yaml(options.elastic_joints)  # report a bad file before reading a long recording
    motion = read_motion(recording, model, selection_of(options), ProgressBar("messages"))
    print(f"{recording}:", *motion.used, sep="\n  ")
    actuators = None
    if options.elastic_joints:
        joints = motion.joint_names
        known = dict(zip(model.joint_names, model.joint_types, strict=True)) if model else {}
        types = [known[joint] for joint in joints] if known.keys() >= set(joints) else None
        actuators = load_actuators(options.elastic_joints, joints, types)
    with reading(recording, "a recording of this robot"):
        chosen = {name: getattr(options, name) for name in ("law", "robust", "bias")}
        fits, reasons, samples = call(
            identify,
            options,
            motion=motion,
            model=model,
            actuators=actuators,
            progress=ProgressBar("springs"),
            **chosen,
        )
    found = [fits[motor].describe() if motor in fits else reasons[motor] for motor in samples]
    print(*dict.fromkeys(found), sep="\n")  # two motors may have the same reason
    output = options.output or Path("springs")
    output.mkdir(parents=True, exist_ok=True)
    springs, picture = output / "springs.yaml", output / "springs.png"
    springs.write_text(to_yaml(motion, fits, reasons), encoding="utf-8")
    draw_springs(fits, samples, picture)
    print(f"springs: {springs}, {picture}")
    if motion.problem:
        print(f"multibody_dynamics: {motion.problem}", file=sys.stderr)
    return 0 if fits and not motion.problem else 1


def smoothed(t: Array, values: Array, window: float) -> tuple[Array, Array, Array]:
    """Values (k, n) and two derivatives at evenly spaced times, by centred polynomials over
    `window` s.

    Raises InputError for gaps longer than the window, and for windows with too few samples.
    """
    step = float(np.median(np.diff(t)))
    gap = int(np.argmax(np.diff(t)))
    if t[gap + 1] - t[gap] > max(window, 1.5 * step):
        raise InputError(f"no samples were recorded from {t[gap]:.6g} to {t[gap + 1]:.6g} s")
    even, rows = at_even_times(t, values, step)
    length = 2 * round(0.5 * window / step) + 1
    if not ORDER < length <= len(even):
        raise InputError(
            f"a window of {window:g} s has {length} of {len(even)} samples; it must have more "
            f"than {ORDER}, and at most all"
        )
    first, second, third = (
        savgol_filter(rows, length, ORDER, deriv=k, delta=step, axis=0) for k in range(3)
    )
    return first, second, third


def window_of(t: Array, positions: Array) -> float:
    """The window in s at whose cut-off the motion of positions (k, n) is lost in its noise."""
    rate = 1.0 / float(np.median(np.diff(t)))
    if len(t) < FEWEST:
        return SHORTEST
    highest = float(noise_cutoff(positions, rate).max())
    return float(np.clip(WINDOW / max(highest, 1e-3), SHORTEST, LONGEST))


def smoothed_stretches(t: Array, values: Array, window: float) -> Array:
    """Values (k, n) and two derivatives as (3, k', n), smoothed separately between gaps.

    Steps within the window are no gaps, however uneven the stamps are: its polynomials span them.
    Half a window is dropped at both ends of each stretch, where the polynomials are one-sided.
    Raises InputError if no stretch is as long as the window.
    """
    steps = np.diff(t)
    longest = max(GAP * float(np.median(steps)), window)
    cuts = np.flatnonzero((steps <= 0.0) | (steps > longest)) + 1
    found, reason = [], InputError(f"no stretch without a gap is as long as {window:g} s")
    for times, rows in zip(np.split(t, cuts), np.split(values, cuts), strict=True):
        if len(times) <= ORDER:
            continue
        try:
            stretch = np.stack(smoothed(times, rows, window))
        except InputError as error:
            reason = error
            continue
        edge = round(float(0.5 * window / np.median(np.diff(times))))
        found.append(stretch[:, edge : stretch.shape[1] - edge])
    if not found:
        raise reason
    return np.concatenate(found, axis=1)


def identify(
    motion: Motion,
    *,
    torque: str = "",
    model: MultibodyModel | None = None,
    actuators: Actuators | None = None,
    window: float | None = None,
    rate: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    **options: Any,
) -> tuple[dict[str, SpringFit], dict[str, str], Samples]:
    """Identify springs: return the fits, why a motor has none, and samples (phi, Q), by motor.

    For the antagonist's spring, phi = q - theta is its extension and Q = -load.

    torque : "sensor", "links" or "motors"; by default the sensor if it was recorded, else the links
    model : of the links, required by the source "links"
    actuators : motor data, required by the source "motors"
    window : s, of the polynomials that smooth and differentiate; by default :func:`window_of`
    rate : Hz, of the smoothed samples that are fitted; by default all of them
    options : of :func:`.identify_spring`
    """
    source = torque or ("sensor" if motion.Q is not None else "links")
    _require_data(motion, source, model, actuators)
    q, theta, loads = _smoothed_loads(motion, source, model, actuators, window, rate)
    fits, reasons, samples = {}, {}, {}
    owners = zip(motion.motor_names, motion.joint_of_motor, loads, strict=True)
    for j, (motor, i, load) in enumerate(owners):
        progress(j, len(motion.motor_names))
        joint = motion.joint_names[i]
        side = SIDES[motor.removeprefix(joint)]
        if side == 0.0:
            reasons[motor] = f"motor '{motor}' deflects no spring: use the command identify"
            continue
        phi, phid = (side * (theta[k, :, j] - q[k, :, i]) for k in range(2))
        samples[motor] = phi, side * load
        try:
            if source != "motors":
                _refuse_other_springs(motion, joint, actuators)
            if np.isnan(load).any():
                raise InputError(f"joint '{motor}': no torque was recorded")
            prismatic = model is not None and model.joint_types[i] == "prismatic"
            fits[motor] = identify_spring(
                *samples[motor], phid, joint=motor, prismatic=prismatic, **options
            )
        except InputError as error:
            reasons[motor] = str(error)
    progress(len(motion.motor_names), len(motion.motor_names))
    return fits, reasons, samples


def _refuse_other_springs(motion: Motion, joint: str, actuators: Actuators | None) -> None:
    """Raise InputError if the torque of the joint is not that of one spring."""
    own = len(motion.motors_of(joint))
    if own > 1:
        raise InputError(
            f"joint '{joint}': only motor torques distinguish the springs of its {own} motors; use"
            " --torque motors"
        )
    if actuators is not None and joint in actuators.joints_with_base_springs:
        raise InputError(
            f"joint '{joint}': the joint torque contains that of a spring between link and base;"
            " use --torque motors"
        )


def _smoothed_loads(
    motion: Motion,
    source: str,
    model: MultibodyModel | None,
    actuators: Actuators | None,
    window: float | None,
    rate: float | None,
) -> tuple[Array, Array, list[Array]]:
    """q (3, k, n) and theta (3, k, m) with two derivatives, and the load (k,) of each motor."""
    n, m = len(motion.joint_names), len(motion.motor_names)
    effort = {"sensor": motion.Q, "motors": motion.tau}.get(source)
    effort = np.empty((len(motion.t), 0)) if effort is None else effort
    signals = np.concatenate((motion.q, motion.theta, np.nan_to_num(effort)), axis=1)
    span = window or window_of(motion.t, signals[:, : n + m])
    rows = smoothed_stretches(motion.t, signals, span)
    if rate is not None:
        rows = rows[:, :: max(1, round(1.0 / (rate * float(np.median(np.diff(motion.t))))))]
    q, theta, torques = np.split(rows, (n, n + m), axis=2)
    measured = np.where(np.isnan(effort).any(axis=0), np.nan, torques[0])
    if source == "motors" and actuators is not None:
        data = dict(zip(actuators.motor_names, actuators.motors, strict=True))
        loads = [
            motor_side_torque(data[motor], theta[1, :, j], theta[2, :, j], measured[:, j])
            for j, motor in enumerate(motion.motor_names)
        ]
    else:
        Q = inverse_dynamics(model, *q).tau if source == "links" and model else measured
        loads = [Q[:, i] for i in motion.joint_of_motor]
    return q, theta, loads


def _require_data(
    motion: Motion, source: str, model: MultibodyModel | None, actuators: Actuators | None
) -> None:
    """Raise InputError if the data that a source of torque requires is missing."""
    joints, motors = motion.joint_names, motion.motor_names
    if source == "sensor" and motion.Q is None:
        raise InputError("the recording has no sensor torques; use --torque links or motors")
    if source == "links" and (model is None or model.joint_names != joints):
        has = "set --urdf" if model is None else f"--urdf has {', '.join(model.joint_names)}"
        text = f"link torques require a robot with the joints {', '.join(joints)}; {has}"
        raise InputError(
            text + ("" if motion.Q is not None else "; the recording has no sensor torques Q")
        )
    if source == "motors" and motion.tau is None:
        raise InputError("the recording has no motor torques; use --torque sensor or links")
    if source == "motors" and actuators is None:
        raise InputError("motor torques require motor data; set --elastic-joints")
    if source == "motors" and actuators and not set(actuators.motor_names) >= set(motors):
        raise InputError(f"--elastic-joints must contain the motors {', '.join(motors)}")


def to_yaml(motion: Motion, fits: Mapping[str, SpringFit], reasons: Mapping[str, str]) -> str:
    """The springs by joint, to be copied beside the motors in an actuator file."""
    lines = ["# identified springs: copy each beside the `motor` of its joint", "joints:"]
    for joint in motion.joint_names:
        own = motion.motors_of(joint)
        if any(motor in fits for motor in own):
            lines.append(f"  {joint}:")
        for motor in own:
            if motor not in fits:
                lines.append(f"  # {reasons[motor]}")
                continue
            indent = " " * 4
            if motor != joint:
                lines.append(f"{indent}{motor.removeprefix(joint + '_')}:")
                indent = " " * 6
            lines += [indent + line for line in fits[motor].to_yaml().splitlines()]
    return "\n".join(lines) + "\n"


def draw_springs(fits: Mapping[str, SpringFit], samples: Samples, file: Path) -> None:
    """Plot torque against deflection of every joint: samples, law, and residuals below."""
    columns = min(len(samples), 4)
    rows = -(-len(samples) // columns)
    figure, axes = new_figure(
        2 * rows,
        columns,
        (3.2 * columns + 0.6, 4.2 * rows),
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
        law.plot(phi[::every], Q[::every], ".", color=GREY, ms=2, label="samples")
        law.set_title(joint, fontsize=10)
        if joint in fits:
            fit = fits[joint]
            x = np.linspace(*fit.covered, 200)
            law.plot(x, fit.torque(x), color=BLUE, lw=1.6, label=fit.law)
            rest = Q - fit.torque(phi)
            left.plot(phi[::every], rest[::every], ".", color=VERMILION, ms=1.5)
        law.legend(fontsize=7, frameon=False, loc="upper left")
        unit = "m" if joint in fits and fits[joint].prismatic else "rad"
        left.set_xlabel(f"deflection  [{unit}]", fontsize=9)
        if j % columns == 0:
            law.set_ylabel("torque  [N m or N]" if unit == "m" else "torque  [N m]", fontsize=9)
            left.set_ylabel(f"samples - law  [{'N m or N' if unit == 'm' else 'N m'}]", fontsize=9)
    save(figure, file)
