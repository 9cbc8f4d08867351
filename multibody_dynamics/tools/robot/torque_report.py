# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How good the joints of a robot are as torque sources: three designs, joint by joint.

multibody_dynamics torque-report ROBOT.urdf --elastic-joints SPRINGS.yaml -o report
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from ... import __version__
from ...dynamics.control import (
    TORQUE_DESIGNS,
    LoopTiming,
    SingleJoint,
    TorqueEvaluation,
    TorqueGains,
    TorqueLimits,
    evaluate_torque,
    single_joints,
)
from ...dynamics.core import Array, InputError
from ...dynamics.elastic import Actuators, Motor
from ...dynamics.model import MultibodyModel
from ...dynamics.rigid import gravity_forces
from ...reporting.page import finite
from ...reporting.tables import text_table

AMPLITUDES = (0.1, 0.25, 0.5)
"""Shares of the available torque for which the large-torque bandwidth is reported."""

DIGITS = 3  # of all numbers
DESIGN_COLUMNS: dict[str, Callable[[TorqueEvaluation], float]] = {
    "locked, Hz": lambda found: found.bandwidth,
    "rates, Hz": lambda found: found.bandwidth_with_rates,
    "free, Hz": lambda found: found.bandwidth_free,
    "gain": lambda found: found.gain_free,
    "felt, kg m²": lambda found: found.rendered_inertia,
    "Re Z, N m s": lambda found: found.passivity_margin,
    "at, Hz": lambda found: found.least_passive_at,
    "passive, Hz": lambda found: found.first_violation,
    "noise, N m": lambda found: float(found.noise[0]),
    "delay, ms": lambda found: 1e3 * found.delay_margin,
}
DESIGN_HEADS = ("joint", "design", *DESIGN_COLUMNS)
LIMIT_HEADS = ("joint", "resonance, Hz", "available, N m", *(f"{x:.0%}, Hz" for x in AMPLITUDES))

LEGEND = (
    "locked, rates, free: -3 dB bandwidth from reference to spring torque: with the link locked;"
    " the same, given the reference's first two time derivatives; with the link free, relative to"
    " slow references",
    "gain: for slow references with the link free; below 1, some of the torque moves the motor"
    " along with the link",
    "felt: motor inertia felt at the link in slow motion, |Z| / ω at 1 Hz, where the driving-point"
    " impedance Z is the torque opposing the motion over its velocity",
    "Re Z, at: minimum real part of Z and its frequency; if negative, the joint is passive only"
    " with this much viscous friction at the link",
    "passive: up to this frequency, the joint feeds no energy into a link in sinusoidal motion;"
    " all: up to half the rate of the loop",
    "noise: standard deviation of the motor torque from the encoders",
    "delay: additional delay at which the loop becomes unstable",
)


@dataclass(frozen=True, eq=False)
class TorqueReport:
    """Results for all joints with springs.

    Attributes
    ----------
    robot : name of the robot.
    position : (n,) position for which the loops were designed.
    timing, resolution, friction : conditions of the loops, see :func:`torque_report`.
    joints : the joints with springs. rigid : names of those without.
    evaluations : one for every joint and accepted design, joint by joint.
    gains : the gains of every accepted design, by its name.
    refused : why other designs were rejected, by their names.
    limits : torque limits of every joint in `joints`.
    """

    robot: str
    position: Array
    timing: LoopTiming
    resolution: float
    friction: float
    joints: tuple[SingleJoint, ...]
    rigid: tuple[str, ...]
    evaluations: tuple[TorqueEvaluation, ...]
    gains: dict[str, TorqueGains]
    refused: dict[str, str]
    limits: tuple[TorqueLimits, ...]


def torque_report(
    model: MultibodyModel,
    actuators: Actuators,
    position: Any,
    timing: LoopTiming,
    *,
    resolution: float,
    bandwidth: float | None = None,
    friction: float = 1.0,
) -> TorqueReport:
    """Design and evaluate all designs at `position` (n,).

    bandwidth : bandwidth of all designs, rad/s; by default, each design chooses one for each joint.
    resolution : resolution of the encoders, rad or m.
    friction : share of the viscous friction that is compensated.
    """
    joints = single_joints(model, actuators, position)
    gains: dict[str, TorqueGains] = {}
    refused: dict[str, str] = {}
    for name, design in TORQUE_DESIGNS.items():
        try:
            gains[name] = design(
                model, actuators, position, bandwidth, timing=timing, friction=friction
            )
        except InputError as error:
            refused[name] = str(error)
    evaluations = tuple(
        evaluate_torque(joint, each, timing, resolution=resolution, friction=friction)
        for joint in joints
        for each in gains.values()
    )
    weight = gravity_forces(model, position)
    return TorqueReport(
        robot=model.name,
        position=np.asarray(position, dtype=np.float64),
        timing=timing,
        resolution=resolution,
        friction=friction,
        joints=joints,
        rigid=tuple(np.array(model.joint_names)[actuators.is_rigid].tolist()),
        evaluations=evaluations,
        gains=gains,
        refused=refused,
        limits=tuple(
            TorqueLimits(each.joint, _as_one(actuators, each), float(weight[each.place]))
            for each in joints
        ),
    )


def _as_one(actuators: Actuators, joint: SingleJoint) -> Motor:
    """The motors of a joint, combined into one with their total torque."""
    motors = [actuators.motors[j] for j in joint.motors]
    return Motor(
        joint.joint.inertia,
        coulomb=sum(motor.coulomb for motor in motors),
        torque_limit=sum(motor.torque_limit for motor in motors),
        speed_limit=min(motor.speed_limit for motor in motors),
    )


def design_row(found: TorqueEvaluation) -> tuple[Any, ...]:
    """The cells below DESIGN_HEADS."""
    numbers = {head: value(found) for head, value in DESIGN_COLUMNS.items()}
    cells = numbers | ({} if isfinite(found.first_violation) else {"passive, Hz": "all"})
    return found.joint, found.design, *cells.values()


def limit_row(joint: SingleJoint, limits: TorqueLimits) -> tuple[Any, ...]:
    """The cells below LIMIT_HEADS."""
    resonance, available = limits.joint.resonance / (2.0 * np.pi), limits.available
    shares = AMPLITUDES if isfinite(available) else ()
    wide = [limits.bandwidth(share * available) for share in shares] or [None] * len(AMPLITUDES)
    return joint.name, resonance, available, *wide


def limit_rows(report: TorqueReport) -> Iterator[tuple[Any, ...]]:
    """The table of limits."""
    return map(limit_row, report.joints, report.limits)


def conditions(report: TorqueReport) -> str:
    """The conditions for which the numbers hold."""
    timing = report.timing
    order, bandwidth = timing.velocity_filter or (0, 0.0)
    position = ", ".join(f"{x:.4g}" for x in report.position)
    return (
        f"{1.0 / timing.period:g} Hz, {1e3 * timing.delay:g} ms from measurement to torque,"
        f" velocities by a filter of order {order} at {bandwidth:g} Hz, encoder"
        f" resolution {report.resolution:.3g} rad (m) at links and motors, {report.friction:.0%} of"
        f" the viscous friction compensated; at ({position})"
    )


def lines(report: TorqueReport) -> Iterator[str]:
    """The tables for the terminal."""
    yield f"{report.robot}: {conditions(report)}"
    yield from (
        "",
        *text_table(DESIGN_HEADS, map(design_row, report.evaluations), DIGITS, indent=""),
    )
    yield from (f"refused: {text}" for text in report.refused.values())
    yield from (
        f"{name}: no spring; the motor torque acts on the link directly" for name in report.rigid
    )
    yield from ("", *LEGEND, "")
    yield (
        "Large torques with the link locked: the highest frequency at which the motor delivers"
        " these shares of its available torque (limit less friction and gravity)"
    )
    yield from text_table(LIMIT_HEADS, limit_rows(report), DIGITS, indent="")


def as_dict(report: TorqueReport) -> dict[str, Any]:
    """All numbers and curves for JSON; None where not finite."""
    timing = report.timing
    content = {
        "version": __version__,
        "robot": report.robot,
        "conditions": {
            "period [s]": timing.period,
            "delay [s]": timing.delay,
            "velocity filter [order, Hz]": list(timing.velocity_filter or ()),
            "encoder resolution [rad or m]": report.resolution,
            "compensated viscous friction": report.friction,
            "position [rad or m]": report.position.tolist(),
        },
        "rigid joints": list(report.rigid),
        "refused": report.refused,
        "joints": {
            joint.name: {
                "motor inertia [kg m^2]": joint.joint.inertia,
                "stiffness [N m/rad]": joint.joint.stiffness,
                "spring damping [N m s/rad]": joint.joint.damping,
                "viscous friction [N m s/rad]": joint.joint.viscous,
                "link inertia at the position [kg m^2]": joint.apparent_inertia,
                "smallest link inertia [kg m^2]": joint.link,
                "limits": _limits(joint, limits),
                "designs": {
                    each.design: _design(each, report.gains[each.design], joint)
                    for each in report.evaluations
                    if each.joint == joint.name
                },
            }
            for joint, limits in zip(report.joints, report.limits, strict=True)
        },
    }
    return dict(finite(content))


def _limits(joint: SingleJoint, limits: TorqueLimits) -> dict[str, Any]:
    _, resonance, available, *wide = limit_row(joint, limits)
    hertz = np.geomspace(0.1, 500.0, 60)
    return {
        "resonance [Hz]": resonance,
        "available torque [N m]": available,
        "speed limit [rad/s]": limits.motor.speed_limit,
        "large-torque bandwidth [Hz]": {
            f"{share:.0%}": value for share, value in zip(AMPLITUDES, wide, strict=True)
        },
        "frequency [Hz]": hertz.tolist(),
        "largest torque [N m]": limits.largest(hertz).tolist(),
    }


def _design(result: TorqueEvaluation, gains: TorqueGains, joint: SingleJoint) -> dict[str, Any]:
    servo = joint.servo(gains, LoopTiming())
    return {
        "apparent inertia [kg m^2]": result.apparent_inertia,
        "damping [N m s/rad]": servo.damping,
        "integral [1/s]": servo.integral,
        "observer [rad/s]": servo.observer,
        "observer share": servo.observer_share,
        **{
            head.replace(", ", " [") + "]" * (", " in head): value(result)
            for head, value in DESIGN_COLUMNS.items()
        },
        "peak": result.peak,
        "noise of the spring torque [N m]": float(result.noise[1]),
        "rendered stiffness at high frequency [N m/rad]": result.rendered_stiffness,
        "frequency [Hz]": result.frequency.tolist(),
        "locked": _complex(result.locked),
        "with rates": _complex(result.with_rates),
        "free": _complex(result.free),
        "impedance [N m s/rad]": _complex(result.impedance),
    }


def _complex(values: Sequence[complex] | Array) -> dict[str, list[float]]:
    row = np.asarray(values)
    return {"real": row.real.tolist(), "imaginary": row.imag.tolist()}
