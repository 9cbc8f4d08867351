"""Inverse of the flat map: from the measured state of an elastic arm to q, q', q'', q'''.

    (q, q', theta, theta')  ->  Q, Q'  ->  q, q', q'', q'''

This is the state of the chain of four integrators q'''' = v to which exact feedback linearization
reduces every undamped elastic joint.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core import Array, InputError, as_array
from ..elastic import Actuators, Beyond
from ..model import MultibodyModel
from ..rigid import ForwardDynamics, Wrenches, forward_dynamics, forward_dynamics_rates


class ChainState(NamedTuple):
    """q, q', q'', q''' of the links, and the joint torques Q, Q' behind them, each (..., n)."""

    q: Array
    qd: Array
    qdd: Array
    qddd: Array
    torque: Array
    torque_rate: Array


def chain_state(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    qd: Any,
    theta: Any,
    thetad: Any,
    *,
    stiffness: Any = None,
    motor_torque: Any = None,
    motor_torque_rate: Any = None,
    wrenches: Wrenches | None = None,
    beyond: Beyond = "continue",
) -> ChainState:
    """q'' and q''' from measured positions and velocities of links and motors.

    The deflections of the springs give Q and Q'; forward dynamics with rates gives the rest.

    Parameters
    ----------
    q, qd : (..., n). theta, thetad : (..., m), link side of the gear, as `actuators.motor_names`.
    stiffness : (..., 2, v) rows k, k', where no motor determines the stiffness.
    motor_torque : (..., m) tau_m, needed for rigid and damped joints: Q' of a damped spring
        contains theta'', and a rigid joint is moved by tau_m alone.
    motor_torque_rate : (..., m) tau_m', needed for rigid joints.
    wrenches : external wrenches, as in `inverse_dynamics`.
    beyond : as in :func:`motor_motion`; by default a spring is extrapolated beyond its travel.

    Rotors of rigid joints count here, not in the model. Raises InputError for wrong shapes and
    names, NaN and infinity, and a missing motor torque; DynamicsError for a singular mass matrix.
    """
    actuators.refuse_other_joints(model)
    actuators.refuse_counting_twice(model.reflected_inertia)
    n, m = actuators.n, len(actuators.motors)
    q = as_array("q", q, (n,), actuators.joint_names)
    qd = as_array("qd", qd, (n,), actuators.joint_names)
    found = actuators.springs(q, qd, theta, thetad, stiffness=stiffness, beyond=beyond)
    rigid, damped = actuators.is_rigid, actuators.is_damped
    if not (rigid | damped).any():
        Q, Qd = found.torque, found.torque_rate
        rates = forward_dynamics_rates(model, q, qd, Q, Qd, wrenches=wrenches)
        return _chain(q, qd, rates, Q, Qd)

    for name, given, needed in (
        ("motor_torque", motor_torque, rigid | damped),
        ("motor_torque_rate", motor_torque_rate, rigid),
    ):
        if given is None and needed.any():
            joints = ", ".join(np.array(actuators.joint_names)[needed])
            raise InputError(f"{name}: needed for the rigid or damped joints {joints}")
    tau = as_array("motor_torque", motor_torque, (m,), actuators.motor_names)
    first = actuators.first_motor
    friction = actuators.friction(thetad)
    Q = np.where(rigid, (tau - friction)[..., first], found.torque)
    rotors = np.where(rigid, actuators.motor_inertia[first], 0.0)
    coupled = model.with_reflected_inertia(model.reflected_inertia + rotors)
    qdd = forward_dynamics(coupled, q, qd, Q, wrenches=wrenches)

    load = np.where(np.isnan(found.load), 0.0, found.load)
    thetadd = actuators.motor_acceleration(thetad, load, tau)[..., first]
    Qd = found.torque_rate.copy()
    for i in np.flatnonzero(damped).tolist():
        actuator = actuators.actuators[i]
        phi = found.deflection[..., first[i]]
        phid = np.asarray(thetad)[..., first[i]] - qd[..., i]
        Qd[..., i] = actuator.torque_rate(phi, phid, thetadd[..., i] - qdd[..., i], beyond)  # type: ignore[attr-defined]
    if rigid.any():
        tau_rate = as_array("motor_torque_rate", motor_torque_rate, (m,), actuators.motor_names)
        slope = actuators.friction_slope(thetad)[..., first]
        Qd = np.where(rigid, tau_rate[..., first] - slope * qdd, Qd)
    rates = forward_dynamics_rates(coupled, q, qd, Q, Qd, wrenches=wrenches)
    return _chain(q, qd, rates, Q - rotors * rates.qdd, Qd - rotors * np.asarray(rates.qddd))


def _chain(q: Array, qd: Array, rates: ForwardDynamics, Q: Array, Qd: Array) -> ChainState:
    assert rates.qddd is not None
    q, qd = (np.broadcast_to(row, rates.qdd.shape) for row in (q, qd))
    return ChainState(q, qd, rates.qdd, rates.qddd, Q, Qd)
