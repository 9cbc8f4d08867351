# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Time scaling of a trajectory: its motion, the limits, and a report of both."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics.control import JOINT_QUANTITIES, QUANTITIES, MotionLimits, TimeScaling
from ...dynamics.core import DynamicsError, InputError
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import Trajectory, check_reference, interpolate
from ...reporting.figures import GREEN, new_figure, save
from ...validation.doubtful_signals import doubtful_pace
from ...validation.trajectory_files import Points

SLACK = 1e-6  # rad or m: a motion may end on a limit
TITLES = {
    "joint_torque": "joint torque Q",
    "torque_rate": "torque rate Q'",
    "joint_speed": "joint speed",
    "joint_acceleration": "joint acceleration",
    "joint_jerk": "joint jerk",
    "motor_torque": "motor torque",
    "motor_speed": "motor speed",
    "deflection": "deflection",
}


def motion_through(points: Points, model: MultibodyModel, held: Mapping[str, float]) -> Trajectory:
    """The minimum-jerk motion of the whole robot through the points; `held` joints do not move.

    Raises InputError naming the file and duplicate or missing joints.
    """
    points = points.at_motors(model.transmissions)
    names = points.joint_names
    try:
        for name in (*names, *held):
            model.joint_index(name)
        twice = {name for name in names if name in held or names.count(name) > 1}
        if twice:
            raise InputError(f"duplicate joints: {', '.join(sorted(twice))}")
        missing = [joint for joint in model.joint_names if joint not in (*names, *held)]
        if missing:
            raise InputError(
                f"missing joints of the robot: {', '.join(missing)}; "
                f"--hold {missing[0]}=VALUE sets a constant position"
            )
        data = np.full((3, len(points.times), model.n), np.nan)
        data[:, :, [model.joint_index(name) for name in names]] = points.data
        is_given = np.isfinite(points.data).any(axis=2)
        for joint, value in held.items():
            still = np.array([value, 0.0, 0.0])[:, None]
            data[:, :, model.joint_index(joint)] = np.where(is_given, still, np.nan)
        return interpolate(model.joint_names, points.times, *data)
    except DynamicsError as error:
        raise InputError(f"{points.path}: {error}") from None


def doubts(motion: Trajectory, model: MultibodyModel) -> list[str]:
    """A line if the motion is as slow as one with times in ms, and for every joint that leaves its
    range, which no duration of the motion changes."""
    pace = doubtful_pace(model, motion.peak_values()[1])
    return [pace] * bool(pace) + [
        f"{event}; a slower motion follows the same path"
        for event in check_reference(model.limits, motion)
        if event.quantity == "position" and abs(event.wanted - event.allowed) > SLACK
    ]


def limits_of(
    model: MultibodyModel, actuators: Actuators, stated: Sequence[tuple[str, float]]
) -> MotionLimits:
    """The limits of robot and actuators, with those in `stated` replaced: pairs of a value and
    QUANTITY, for all joints (motors), or QUANTITY.JOINT. Raises InputError."""
    usual = MotionLimits.of_robot(model, actuators)
    limits = {name: np.array(getattr(usual, name)) for name in QUANTITIES}
    for text, value in stated:
        quantity, _, owner = text.partition(".")
        if quantity not in limits:
            raise InputError(f"--limit {text}: must begin with one of {', '.join(QUANTITIES)}")
        owners = model.joint_names if quantity in JOINT_QUANTITIES else actuators.motor_names
        if owner and owner not in owners:
            raise InputError(f"--limit {text}: '{owner}' is not one of {', '.join(owners)}")
        if not value > 0.0:
            raise InputError(f"--limit {text}: {value:g} is not positive")
        which = owners.index(owner) if owner else slice(None)
        limits[quantity][which] = (-value, value) if quantity == "deflection" else value
    if not any(np.isfinite(limit).any() for limit in limits.values()):
        raise InputError("robot, motors and springs have no limits; set one with --limit")
    return MotionLimits(model.joint_names, **limits, motor_names=actuators.motor_names)


def figures(scaled: TimeScaling) -> dict[str, Any]:
    """Factor, binding limit, and utilisation of all limits before and after; times in s."""
    after = {use[:2]: use for use in scaled.after}
    duration = scaled.trajectory.duration
    return {
        "factor": scaled.factor,
        "duration": {"before": duration / scaled.factor, "after": duration},
        "binding": scaled.binding._asdict() if scaled.binding else None,
        "limits": [
            {"before": use._asdict(), "after": after[use[:2]]._asdict()} for use in scaled.before
        ],
    }


def draw(scaled: TimeScaling, file: Path) -> None:
    """Plot the utilisation of all limits over time, before and after, with a row per quantity."""
    from matplotlib import colormaps
    from matplotlib.lines import Line2D

    history = scaled.history
    start = history.times[0]
    quantities = [name for name in QUANTITIES if name in {each[0] for each in history.limits}]
    figure, axes = new_figure(
        len(quantities),
        2,
        (10.5, 1.7 * len(quantities) + 1.2),
        sharey="row",
        sharex="col",
        squeeze=False,
    )
    joints = list(dict.fromkeys(joint for _, joint in history.limits))
    colours = colormaps["tab10" if len(joints) <= 10 else "tab20"].colors
    columns = (
        (history.times, history.before, "as given"),
        (
            start + scaled.factor * (history.times - start),
            history.after,
            f"{scaled.factor:.4g} times slower",
        ),
    )
    for column, (times, shares, title) in enumerate(columns):
        for row, quantity in enumerate(quantities):
            axis = axes[row, column]
            axis.axhspan(-100.0, 100.0, color=GREEN, alpha=0.08, lw=0.0)
            for k, (name, joint) in enumerate(history.limits):
                if name == quantity:
                    colour = colours[joints.index(joint) % len(colours)]
                    axis.plot(times, 100.0 * shares[:, k], color=colour, lw=1.1)
            axes[row, 0].set_ylabel(f"{TITLES[quantity]}  [%]", fontsize=9)
        axes[0, column].set_title(title, fontsize=11)
        axes[-1, column].set_xlabel("time  [s]")
    if scaled.binding:
        use = scaled.binding
        k = history.limits.index(use[:2])
        share = 100.0 * history.after[np.abs(history.after[:, k]).argmax(), k]
        axis = axes[quantities.index(use.quantity), 1]
        axis.plot(use.time, share, "o", color="black", mfc="none", label=f"binding: {use.joint}")
        axis.legend(fontsize=8, loc="best")
    handles = [
        Line2D([], [], color=colours[j % len(colours)], label=joint)
        for j, joint in enumerate(joints)
    ]
    figure.suptitle("utilisation of the limits, which are met in the green band", fontsize=11)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    save(figure, file)
