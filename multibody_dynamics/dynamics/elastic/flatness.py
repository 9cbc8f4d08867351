# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Differential flatness of arms with elastic joints: from the motion of the links to the motors.

The motion q(t), and for each joint with two motors its stiffness or pretension, are flat outputs:
together with Q, Q' and Q'' of the rigid links ([M21] (2), (3)), they determine position and torque
of all motors algebraically (see :mod:`.kinds`; a damped spring adds a first-order filter).

    (q .. q'''', Q, Q', Q'', k, k', k'')  ->  theta, theta', theta'', tau_m

The inverse, from a measured state to q .. q''', requires the forward dynamics: see `chain_state`.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core import Array, InputError, as_array, as_real, broadcast_shapes
from .actuators import Actuators
from .springs import Beyond


class MotorMotion(NamedTuple):
    """theta, theta', theta'' and tau_m of the m motors, and the deflection of the spring in front
    of each (zero where there is none), on the link side of the gear, each (..., m)."""

    position: Array
    velocity: Array
    acceleration: Array
    torque: Array
    deflection: Array


def motor_motion(
    actuators: Actuators,
    state: Any,
    torque: Any,
    stiffness: Any = None,
    *,
    deflection: Any = None,
    beyond: Beyond = "raise",
) -> MotorMotion:
    """Motion and torque of the motors that move the links along `state`: the flat map.

    Parameters
    ----------
    state : (..., k, n), k >= 3: rows q, q', q'', and q''' if a link has friction; further rows only
        enter through Q', Q''.
    torque : (..., 3, n) rows Q, Q', Q'' of the same motion, or the result of `inverse_dynamics`;
        the friction of links is added here.
    stiffness : (..., 3, v) the second outputs of `actuators.variable_joints`, with two rates:
        stiffness in N m/rad, or pretension in N m where the actuator is regulated by it.
    deflection : (..., n) of damped springs, the state of their filter (see
        :meth:`.Actuators.deflection_after`, :func:`filtered_deflection`); other entries are not
        used.
    beyond : "raise" rejects springs beyond their travel and infeasible stiffnesses; "continue"
        follows the tangents, and :func:`limit_margins` then reports the excess.

    Raises InputError for a motion that the springs cannot follow, naming the joint, and for wrong
    shapes and missing rates.
    """
    n, names = actuators.n, actuators.joint_names
    state, torque = _link_rows(actuators, state, torque)
    second = actuators.second_outputs(stiffness, 3)
    if second is None and actuators.variable_joints:
        raise InputError(
            f"stiffness is missing: joints {', '.join(actuators.variable_joints)} have a second "
            f"output (stiffness or pretension); give its rows k, k', k''"
        )
    given = {"state": state.shape[:-2], "torque": torque.shape[:-2]}
    if second is not None:
        given["stiffness"] = second.shape[:-2]
    if deflection is not None:
        deflection = as_array("deflection", deflection, (n,), names)
        given["deflection"] = deflection.shape[:-1]
    batch = broadcast_shapes(tuple(given), tuple(given.values()))

    def rows(array: Array, i: int) -> list[Array]:
        return [np.broadcast_to(array[..., k, i], batch) for k in range(array.shape[-2])]

    m = len(actuators.motors)
    result = np.empty((6, *batch, m))
    for i, actuator, motors, j in actuators.each():
        chosen = () if second is None or actuator.second_output is None else rows(second, j)
        phi = None if deflection is None else np.broadcast_to(deflection[..., i], batch)
        with actuators.named(i):
            found = actuator.motor_rows(rows(state, i), rows(torque, i), chosen, phi, beyond)
        for motor, values in zip(motors, found, strict=True):
            result[..., motor] = values
    position, velocity, acceleration, _, deflected, effort = result
    return MotorMotion(position, velocity, acceleration, effort, deflected)


def _link_rows(actuators: Actuators, state: Any, torque: Any) -> tuple[Array, Array]:
    """q, q', q'' and Q, Q', Q'' (..., 3, n), checked."""
    names, n = actuators.joint_names, actuators.n
    if isinstance(torque, tuple):
        if any(row is None for row in torque):
            raise InputError(
                "torque: Q' or Q'' is missing; pass qddd and qdddd to inverse_dynamics"
            )
        shapes = [np.shape(row) for row in torque]
        if len(set(shapes)) > 1:
            raise InputError(f"torque: Q, Q', Q'' have the shapes {', '.join(map(str, shapes))}")
        torque = np.stack(torque, axis=-2)
    torque = as_array("torque", torque, (3, n), names)
    state = as_real("state", state)
    if state.ndim < 2 or state.shape[-2] < 3:
        raise InputError(f"state: expected rows q, q', q'' (..., 3, {n}), got {state.shape}")
    rows = min(state.shape[-2], 4)
    return as_array("state", state[..., :rows, :], (rows, n), names), torque


def filtered_deflection(
    actuators: Actuators, times: Any, torque: Any, initial: Any = None, *, beyond: Beyond = "raise"
) -> Array:
    """(k, n) deflections of damped springs along a motion; zero for the other joints.

    times: (k,) s, increasing, so closely spaced that Q is quadratic in between. torque: (k, 3, n)
    rows Q, Q', Q'' at these times. initial: (n,) deflections at the first time; settled ones if
    not given.
    """
    times = as_array("times", times, ())
    if times.ndim != 1 or not len(times) or (np.diff(times) <= 0.0).any():
        raise InputError("times: expected a one-dimensional array of increasing numbers")
    torque = as_array("torque", torque, (3, actuators.n), actuators.joint_names)
    if torque.shape[0] != len(times) or torque.ndim != 3:
        raise InputError(f"torque: expected ({len(times)}, 3, {actuators.n}), got {torque.shape}")
    result = np.zeros((len(times), actuators.n))
    result[0] = (
        actuators.settled_deflection(torque[0], beyond=beyond)
        if initial is None
        else as_array("initial", initial, (actuators.n,), actuators.joint_names)
    )
    for k, dt in enumerate(np.diff(times).tolist()):
        result[k + 1] = actuators.deflection_after(result[k], torque[k], dt, beyond=beyond)
    return result


class LimitMargin(NamedTuple):
    """How close a motion comes to one limit, at the instant of least margin."""

    name: str  # of the motor or the joint
    quantity: str  # "motor torque", "motor speed", "deflection", "joint torque", "stiffness", ...
    time: float  # s
    value: float
    limit: float  # the nearer end of the allowed interval
    left: float  # distance left to the limit; negative beyond it
    used: float  # 1 at the limit, 0 in the middle of the interval

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.quantity} {self.value:.6g} at {self.time:.6g} s, limit "
            f"{self.limit:.6g}: {self.left:.6g} left ({self.used:.0%} used)"
        )


def limit_margins(
    actuators: Actuators,
    times: Any,
    torque: Any,
    motion: MotorMotion,
    stiffness: Any = None,
    *,
    joint_torque_limit: Any = None,
) -> tuple[LimitMargin, ...]:
    """The margin to every finite limit along a motion, the most used limit first.

    The limits are those of motor torque, motor speed, spring travel and joint torque, and the
    feasible range of the stiffness (or pretension) at Q. All of them hold if `left` of the first
    margin is not negative; they are checked at the given times only.

    Parameters
    ----------
    times : (k,) s.
    torque : (k, 3, n) rows Q, Q', Q'', or the result of `inverse_dynamics`; only Q is used.
    motion : result of :func:`motor_motion` with ``beyond="continue"`` at these times.
    stiffness : as passed to it.
    joint_torque_limit : (n,) in N m or None, such as model.limits.effort.
    """
    times = np.atleast_1d(as_array("times", times, ()))
    n, count = actuators.n, len(times)
    Q = torque[0] if isinstance(torque, tuple) else as_array("torque", torque, (3, n))[..., 0, :]
    for what, rows in (("torque", Q), ("motion", motion.torque), ("motion", motion.velocity)):
        if rows.shape[:-1] not in ((), (count,)):
            raise InputError(
                f"{what}: expected {count} states, one for each time, got {rows.shape[:-1]}"
            )
    Q = np.broadcast_to(Q, (count, n))
    columns: list[tuple[str, str, Array, Any, Any]] = []

    def add(names: tuple[str, ...], quantity: str, values: Array, lower: Any, upper: Any) -> None:
        values = np.broadcast_to(values, (count, len(names)))
        for j, name in enumerate(names):
            columns.append((name, quantity, values[:, j], lower[..., j], upper[..., j]))

    motors = actuators.motor_names
    travel = actuators.spring_travel
    add(motors, "motor torque", motion.torque, -actuators.torque_limit, actuators.torque_limit)
    add(motors, "motor speed", motion.velocity, -actuators.speed_limit, actuators.speed_limit)
    add(motors, "deflection", motion.deflection, travel[:, 0], travel[:, 1])
    if joint_torque_limit is not None:
        effort = np.asarray(joint_torque_limit, dtype=np.float64)
        if effort.shape != (n,):
            raise InputError(f"joint_torque_limit: expected ({n},), got {effort.shape}")
        add(actuators.joint_names, "joint torque", Q, -effort, effort)
    second = actuators.second_outputs(stiffness, 3)
    if second is not None:
        for i, actuator, _, j in actuators.each():
            if actuator.second_output is not None:
                values = np.broadcast_to(second[..., 0, j], (count,))
                ends = actuator.second_output_range(Q[:, i])
                name, quantity = actuators.joint_names[i], actuator.second_output
                columns.append((name, quantity, values, *ends))
    margins = [_margin(times, *column) for column in columns]
    return tuple(sorted((m for m in margins if m is not None), key=lambda m: -m.used))


def _margin(
    times: Array, name: str, quantity: str, values: Array, lower: Any, upper: Any
) -> LimitMargin | None:
    lower, upper = (np.broadcast_to(end, values.shape) for end in (lower, upper))
    if np.isinf(lower).all() and np.isinf(upper).all():
        return None
    left = np.minimum(values - lower, upper - values)
    one_sided = np.isinf(lower) | np.isinf(upper)
    width = np.where(one_sided, 1.0, np.maximum(upper - lower, np.finfo(float).tiny))
    bound = np.where(values - lower < upper - values, lower, upper)
    scale = np.maximum(np.abs(bound), np.finfo(float).tiny)
    one_sided_use = np.maximum(1.0 - np.where(one_sided, left, 0.0) / scale, 0.0)
    used = np.where(one_sided, one_sided_use, 1.0 - 2.0 * np.where(one_sided, 0.0, left) / width)
    k = int(used.argmax())
    numbers = (times[k], values[k], bound[k], left[k], used[k])
    return LimitMargin(name, quantity, *(float(number) for number in numbers))
