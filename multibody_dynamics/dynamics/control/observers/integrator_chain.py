# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse of the flat map: from the measured state of an elastic arm to q, q', q'', q'''.

    (q, q', theta, theta')  ->  Q, Q'  ->  q, q', q'', q'''

This is the state of the chain of four integrators q'''' = v to which exact feedback linearisation
reduces every undamped elastic joint.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Array, InputError, as_array
from ...elastic import Actuators, Beyond, rigid_rotors
from ...model import MultibodyModel
from ...rigid import ForwardDynamics, Wrenches, forward_dynamics, forward_dynamics_rates

FRICTION_ITERATIONS = 12


class ChainState(NamedTuple):
    """q, q', q'', q''' of the links, and the torques Q, Q' that move them, each (..., n): those
    behind the joints less the friction of links."""

    q: Array
    qd: Array
    qdd: Array
    qddd: Array
    torque: Array
    torque_rate: Array


def chain_state(
    model: MultibodyModel, actuators: Actuators, q: Any, qd: Any, theta: Any, thetad: Any, *,
    stiffness: Any = None, motor_torque: Any = None, motor_torque_rate: Any = None,
    wrenches: Wrenches | None = None, beyond: Beyond = "continue",
) -> ChainState:  # fmt: skip
    """q'' and q''' from measured positions and velocities of links and motors.

    Parameters
    ----------
    q, qd : (..., n). theta, thetad : (..., m), link side of the gear, as `actuators.motor_names`.
    stiffness : (..., 2, v) rows k, k', where no motor determines the stiffness.
    motor_torque : (..., m) tau_m, needed for rigid and damped joints: Q' of a damped spring
        contains theta'', and a rigid joint is moved by tau_m alone.
    motor_torque_rate : (..., m) tau_m', needed for rigid joints.
    wrenches : external wrenches, as in `inverse_dynamics`.
    beyond : as in :func:`motor_motion`; by default a spring is extrapolated beyond its travel.

    The rotors of rigid joints come from `actuators` and must not be part of the model. Raises
    InputError for wrong shapes and names, NaN and infinity, and a missing motor torque;
    DynamicsError for a singular mass matrix.
    """
    actuators.refuse_other_joints(model)
    actuators.refuse_counting_twice(model.reflected_inertia)
    n, m = actuators.n, len(actuators.motors)
    q, qd = (as_array(*row, (n,), actuators.joint_names) for row in (("q", q), ("qd", qd)))
    springs = actuators.springs(q, qd, theta, thetad, stiffness=stiffness, beyond=beyond)
    rigid, damped = actuators.is_rigid, actuators.is_damped
    if not (rigid | damped).any():
        Q, Qd = springs.torque, springs.torque_rate
        if actuators.has_link_friction.any():
            Q = _on_links(actuators, qd, Q)
            qdd = forward_dynamics(model, q, qd, Q, wrenches=wrenches)
            Qd = _rate_on_links(actuators, qd, qdd, Q, Qd)
        return _chain(q, qd, forward_dynamics_rates(model, q, qd, Q, Qd, wrenches=wrenches), Q, Qd)

    _require("motor_torque", motor_torque, actuators, rigid | damped)
    _require("motor_torque_rate", motor_torque_rate, actuators, rigid)
    tau = as_array("motor_torque", motor_torque, (m,), actuators.motor_names)
    first = actuators.first_motor
    Q = np.where(rigid, (tau - actuators.friction(thetad))[..., first], springs.torque)
    rotors = rigid_rotors(actuators)
    coupled = model.with_reflected_inertia(model.reflected_inertia + rotors)
    if actuators.has_link_friction.any():
        Q = _on_links(actuators, qd, Q)
    qdd = forward_dynamics(coupled, q, qd, Q, wrenches=wrenches)

    load = np.where(np.isnan(springs.load), 0.0, springs.load)
    thetadd = actuators.motor_acceleration(thetad, load, tau)[..., first]
    rates = (np.asarray(thetad)[..., first] - qd, thetadd - qdd)
    Qd = _add_dampers(actuators, springs.torque_rate, springs.deflection, rates, beyond)
    if rigid.any():
        tau_rate = as_array("motor_torque_rate", motor_torque_rate, (m,), actuators.motor_names)
        slope = actuators.friction_slope(thetad)[..., first]
        Qd = np.where(rigid, tau_rate[..., first] - slope * qdd, Qd)
    if actuators.has_link_friction.any():
        Qd = _rate_on_links(actuators, qd, qdd, Q, Qd)
    links = forward_dynamics_rates(coupled, q, qd, Q, Qd, wrenches=wrenches)
    return _chain(q, qd, links, Q - rotors * links.qdd, Qd - rotors * np.asarray(links.qddd))


def _require(name: str, given: Any, actuators: Actuators, joints: NDArray[np.bool_]) -> None:
    """Raise InputError if any of `joints`, a mask, needs this argument and it was not given."""
    if given is None and joints.any():
        names = ", ".join(np.array(actuators.joint_names)[joints])
        raise InputError(f"{name} is missing: the rigid or damped joints {names} need it")


def _add_dampers(
    actuators: Actuators,
    torque_rate: Array,
    deflection: Array,
    rates: tuple[Array, Array],
    beyond: Beyond,
) -> Array:
    """Q' (..., n) of all springs; that of damped springs follows from phi (..., m) and the first
    two derivatives of their deflections, (..., n) each."""
    Qd = torque_rate.copy()
    for i in np.flatnonzero(actuators.is_damped).tolist():
        actuator = actuators.actuators[i]
        phi = deflection[..., actuators.first_motor[i]]
        phid, phidd = (row[..., i] for row in rates)
        Qd[..., i] = actuator.torque_rate(phi, phid, phidd, beyond)
    return Qd


def _on_links(actuators: Actuators, qd: Array, carried: Array) -> Array:
    """Q (..., n) that moves the rigid links: carried = Q + friction(q', Q), in which Q has a small
    share only."""
    Q, zero = carried, np.zeros_like(carried)
    motion = np.stack(np.broadcast_arrays(zero, qd, zero, zero), axis=-2)
    for _ in range(FRICTION_ITERATIONS):
        load = np.stack([Q, zero, zero], axis=-2)
        Q = carried - actuators.link_friction(motion, load)[..., 0, :]
    return np.asarray(Q)


def _rate_on_links(
    actuators: Actuators, qd: Array, qdd: Array, Q: Array, carried_rate: Array
) -> Array:
    """Q' (..., n) of the same; the rate of friction is linear in q'' and Q'."""
    zero, one = np.zeros_like(Q), np.ones_like(Q)

    def rate(acceleration: Array, load_rate: Array) -> Array:
        motion = np.stack(np.broadcast_arrays(zero, qd, acceleration, zero), axis=-2)
        load = np.stack([Q, load_rate, zero], axis=-2)
        return np.asarray(actuators.link_friction(motion, load)[..., 1, :])

    return np.asarray((carried_rate - rate(qdd, zero)) / (1.0 + rate(zero, one)))


def _chain(q: Array, qd: Array, rates: ForwardDynamics, Q: Array, Qd: Array) -> ChainState:
    assert rates.qddd is not None
    q, qd = (np.broadcast_to(row, rates.qdd.shape) for row in (q, qd))
    return ChainState(q, qd, rates.qdd, rates.qddd, Q, Qd)
