# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The numbers of springs and motors from which gains, limits and motions are chosen.

For each motor: the stiffness of its joint, the motor's resonance sqrt(K/M_m) with the links held,
that of the link with the motors held, the sag of the spring under gravity, and the shares of the
motor's torque and speed limits that a motion uses; for the whole arm, its resonances with free and
with held motors. docs/tuning.md says what each of them is for.
"""

from typing import NamedTuple

import numpy as np

from ...dynamics.control import at_rest, linear_arm, middle_of_range
from ...dynamics.core import Array, InputError
from ...dynamics.elastic import Actuators, motor_motion
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import rest_to_rest_motion
from ...dynamics.rigid import inverse_dynamics, mass_matrix, postures
from ...reporting.tables import text_table

POSTURES = 40  # at which the springs are balanced
RIGID = 1e-6  # 1/s; below, an eigenvalue belongs to a free motion, not to a spring


class SpringFigures(NamedTuple):
    """Rows by motor (m,). Ranges (2, m) are the smallest and the largest value over the postures;
    they are NaN for the second motor of a joint.

    stiffness : of the joint, N m/rad or N/m; infinite without a spring
    motor_frequency : sqrt(K/M_m), links held, rad/s; K without springs between link and base
    link_frequency : sqrt(K/M_ii), motors and other links held, Hz
    sag : largest deflection of the spring at rest, rad or m
    torque_used, speed_used : shares of the motor's limits; NaN without a limit
    free, held : resonances of the whole arm, Hz, with free motors and with motors held, from the
        lowest on, in the posture in the middle of the joint range
    """

    stiffness: Array
    motor_frequency: Array
    link_frequency: Array
    sag: Array
    torque_used: Array
    speed_used: Array
    free: Array
    held: Array


def spring_figures(model: MultibodyModel, actuators: Actuators) -> SpringFigures:
    """The figures over random postures, and in a motion at up to half the speed limits.

    Raises InputError, which names the joint, if the springs cannot carry the arm in one of them.
    """
    joints, m = actuators.joint_of_motor, len(actuators.motors)
    M_m = actuators.motor_inertia
    is_first = np.isin(np.arange(m), actuators.first_motor)
    K, between, link, sag = np.empty((4, POSTURES, m))
    for k, q in enumerate(postures(model, POSTURES)):
        rest = at_rest(model, actuators, q)
        stiffness = np.where(actuators.is_rigid, np.inf, rest.stiffness)[joints]
        stiffness[~is_first] = np.nan
        K[k] = stiffness
        own = -rest.hessian[: model.n, model.n :] @ (actuators.torque_share > 0.0)
        between[k] = np.where(np.isfinite(stiffness), own[joints], stiffness)
        link[k] = np.sqrt(stiffness / np.diag(mass_matrix(model, q))[joints]) / (2.0 * np.pi)
        sag[k] = _deflection(model, actuators, q, rest.second)
    with np.errstate(divide="ignore"):
        motor = np.sqrt(between / M_m)
    torque_used, speed_used = _used(model, actuators, rest.second)
    free, held = resonances(model, actuators, middle_of_range(model))
    return SpringFigures(
        _range(K), _range(motor), _range(link), np.abs(sag).max(axis=0), torque_used, speed_used,
        free, held,
    )  # fmt: skip


def _range(rows: Array) -> Array:
    return np.array([rows.min(axis=0), rows.max(axis=0)])


def _deflection(model: MultibodyModel, actuators: Actuators, q: Array, second: Array) -> Array:
    """(m,) deflections of the springs at rest at q."""
    zero = np.zeros(model.n)
    torque = inverse_dynamics(model, q, zero, zero).tau
    rows = np.array([torque, zero, zero])
    settled = actuators.settled_deflection(rows)
    motion = motor_motion(actuators, np.array([q, zero, zero]), rows, second, deflection=settled)
    return np.where(actuators.is_rigid[actuators.joint_of_motor], 0.0, motion.deflection)


def _used(model: MultibodyModel, actuators: Actuators, second: Array) -> tuple[Array, Array]:
    """(m,) largest shares of the motors' torque and speed limits in the motion of `inspect`."""
    motion = rest_to_rest_motion(model, duration=10.0)
    states = motion.sample(np.linspace(motion.start_time, motion.end_time, 500))
    torque = np.stack(inverse_dynamics(model, *np.moveaxis(states, 1, 0)), axis=-2)
    settled = np.stack([actuators.settled_deflection(row, beyond="continue") for row in torque])
    motors = motor_motion(actuators, states, torque, second, deflection=settled, beyond="continue")
    shares = []
    for values, limit in (
        (motors.torque, actuators.torque_limit),
        (motors.velocity, actuators.speed_limit),
    ):
        most = np.abs(values).max(axis=0)
        shares.append(np.divide(most, limit, out=np.full_like(most, np.nan), where=limit < np.inf))
    return shares[0], shares[1]


def resonances(model: MultibodyModel, actuators: Actuators, q: Array) -> tuple[Array, Array]:
    """Resonances of the arm near rest at q, Hz: with free motors, and with all motors held.

    Without friction and dampers, one for each spring; with free motors, the arm also moves without
    bending springs, more slowly, under gravity.
    """
    arm = linear_arm(model, actuators, q, at_rest(model, actuators, q))
    arm.damping[:] = 0.0
    springs = int((~actuators.is_rigid[actuators.joint_of_motor]).sum())
    free = np.sort(arm.poles().imag)
    free = free[free > RIGID][-springs:] if springs else free[:0]
    sprung = arm.links[~actuators.is_rigid]
    M, K = (matrix[np.ix_(sprung, sprung)] for matrix in (arm.mass, arm.stiffness))
    held = np.linalg.eigvals(np.linalg.solve(M, K)).real
    return free / (2.0 * np.pi), np.sqrt(np.sort(np.maximum(held, 0.0))) / (2.0 * np.pi)


def lines(model: MultibodyModel, actuators: Actuators) -> list[str]:
    """A table of the figures by motor, and the resonances of the arm."""
    try:
        springs = spring_figures(model, actuators)
    except InputError as error:
        return [f"WRONG: {error}"]
    head = ("motor", "K", "sqrt(K/M_m)", "sqrt(K/M_ii)", "sag", "torque used", "speed used")
    kinds = {"N/m, mm" if kind == "prismatic" else "N m/rad, mrad" for kind in model.joint_types}
    stiffness, sag = (
        " or ".join(each) for each in zip(*(k.split(", ") for k in sorted(kinds)), strict=True)
    )
    units = ("", stiffness, "rad/s", "Hz", sag, "of limit", "of limit")
    rows = [
        (name, _between(*springs.stiffness[:, j]), _between(*springs.motor_frequency[:, j]),
         _between(*springs.link_frequency[:, j]), f"{1e3 * springs.sag[j]:.3g}",
         _share(springs.torque_used[j]), _share(springs.speed_used[j]))
        for j, name in enumerate(actuators.motor_names)
    ]  # fmt: skip
    heads = [f"{name}, {unit}" if unit else name for name, unit in zip(head, units, strict=True)]
    table = text_table(heads, rows, indent="")
    for text, values in (("free motors", springs.free), ("held motors", springs.held)):
        if len(values):
            row = ", ".join(f"{x:.3g}" for x in values)
            table.append(f"resonances in the middle of the joint range, {text}: {row} Hz")
    return table + assumed_second_outputs(model, actuators)[1]


def assumed_second_outputs(model: MultibodyModel, actuators: Actuators) -> tuple[Array, list[str]]:
    """The stiffness or pretension (v,) to which the joints that can change it are set where it is
    not given, and a line on each."""
    second = at_rest(model, actuators, middle_of_range(model)).second[0]
    found = []
    for name, value in zip(actuators.variable_joints, second, strict=True):
        i = actuators.joint_names.index(name)
        kind, unit = actuators.actuators[i].second_output, "N m"
        if model.joint_types[i] == "prismatic":
            unit = "N"
        if kind == "stiffness":
            unit += "/m" if unit == "N" else "/rad"
        found.append(f"{name} has a {kind} of {value:.4g} {unit}, in the middle of its range")
    return second, found


def _between(low: float, high: float) -> str:
    if not np.isfinite(high):
        return "rigid" if high > 0.0 else "-"
    return f"{low:.4g}" if f"{low:.4g}" == f"{high:.4g}" else f"{low:.4g} to {high:.4g}"


def _share(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.0%}"
