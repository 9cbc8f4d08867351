# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The energy that an arm stores under a law, over batches of states: the storage function V.

    motor_pd               E + e . K_P e / 2 - tau_d . theta
    state_feedback, modal  E - theta' . (B - B_d) theta' / 2 + e . K_p e / 2 - tau_d . theta, see
                           `modal_gains`
    hold                   E + e . K_P e / 2 - W(theta)
    joint_impedance,       E - (1 - r) theta' . M_m theta' / 2 - W(theta), see `impedance`
    cartesian_impedance
    esp, esp_impedance     see `elastic_structure`
    torque source with     q' . M q' / 2 + V_g - tau_d . q + x . K x / 2 + w . a M_m w / 2,
    inertia shaping        with x = theta - theta_d - (q - q_d), w = theta' + (a M_m)^-1 D x

E is the energy of arm and actuators: kinetic, of gravity, and of the springs; e = theta - theta_d;
W is the potential of the motors with the links in equilibrium. All are for a reference at rest. V
is computed independently of the control cycle: by inverse and forward dynamics, numerical inverses
of the springs, and Newton's method.

The last row follows from the law, a M_m theta'' + D (theta' - q') + K (theta - q) = tau_d: the rate
of x . K x / 2 + w . a M_m w / 2 is -q' . K x - x . K (a M_m)^-1 D x, and the first term is what the
springs take from the links.
:meth:`.ImpedanceController.storage` gives V of one state for any reference, and with the tank.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from multibody_dynamics.dynamics.control import (
    CartesianImpedance,
    Controller,
    ElasticStructureController,
    HoldController,
    ImpedanceController,
    JointImpedance,
    LinearFeedback,
    ScheduledFeedback,
    TorqueController,
)
from multibody_dynamics.dynamics.core import Array, DynamicsError, InputError, as_array
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    Spring,
    motor_motion,
    rigid_rotors,
)
from multibody_dynamics.dynamics.lie import so3
from multibody_dynamics.dynamics.model import MultibodyModel
from multibody_dynamics.dynamics.rigid import (
    forward_dynamics,
    frame_pose,
    gravity_forces,
    jacobian,
    kinetic_energy,
    mass_matrix,
    passive_inverse_dynamics,
    potential_energy,
)

ITERATIONS = 200
SETTLED = 1e-11


class ArmStates(NamedTuple):
    """k states of an arm: q, q' (k, n) and theta, theta' (k, m), rad or m and per s."""

    q: Array
    qd: Array
    theta: Array
    thetad: Array


def stored_energy(
    law: Controller,
    states: ArmStates,
    reference: Any,
    *,
    external: Any = 0.0,
    deflection: Any = 0.0,
    stiffness: Any = None,
) -> Array:
    """V (k,) in J, up to a constant.

    external : (k, n) N m, and deflection : (k, n) of damped virtual springs; both for ESP only.
    stiffness : of an impedance in each state, (k, s) in the order of `law.ramp`, for a law whose
        stiffness changes; default: the present one. The energy in its tank must be added.

    The law is one of :data:`.PASSIVITY_CLAIMS`. Raises DynamicsError where the equilibrium of an
    impedance is not found.
    """
    reference = as_array("reference", reference, (law.actuators.n,), law.actuators.joint_names)
    if isinstance(law, ElasticStructureController):
        return _structure_energy(law, states, reference, external, deflection)
    energy = arm_energy(law.model, law.actuators, states, law.stiffness)
    theta_d, load = at_rest(law, reference)
    apart = states.theta - theta_d
    if isinstance(law, ScheduledFeedback):
        inertia, proportional, _ = modal_motors(law)
        shaped = np.diag(law.actuators.motor_inertia) - inertia
        energy = energy - 0.5 * _squares(states.thetad, shaped) - states.theta @ load
        return np.asarray(energy + 0.5 * _squares(apart, proportional))
    if isinstance(law, LinearFeedback):
        held = 0.5 * (law.gains.values[2] * apart**2).sum(axis=-1)
        return np.asarray(energy + held - states.theta @ load)
    if isinstance(law, HoldController):
        held = 0.5 * (law.gains.values[2] * apart**2).sum(axis=-1)
        return np.asarray(energy + held - _hanging_energy(law, states, _no_potential))
    if isinstance(law, TorqueController):
        return _torque_source_energy(law, states, energy, reference)
    if not isinstance(law, ImpedanceController):
        raise InputError(f"{type(law).__name__}: no storage function is claimed for this law")
    shaped = law.actuators.motor_inertia - law.shaping.apparent_inertia
    energy = energy - 0.5 * (shaped * states.thetad**2).sum(axis=-1)
    rows = law.ramp.value if stiffness is None else np.asarray(stiffness, dtype=np.float64)
    own = apart @ law.second_projection.T
    second = 0.5 * (law.second_gains[0] * own**2).sum(axis=-1)

    def potential(q: Array) -> tuple[Array, Array, Array]:
        return _potential(law, q, reference, rows)

    return np.asarray(energy + second - _hanging_energy(law, states, potential))


def arm_energy(
    model: MultibodyModel, actuators: Actuators, states: ArmStates, stiffness: Array
) -> Array:
    """(k,) J: kinetic energy of links and rotors, energy of gravity and springs."""
    q, qd, theta, thetad = states
    coupled = coupled_model(model, actuators)
    behind = np.where(actuators.is_rigid[actuators.joint_of_motor], 0.0, actuators.motor_inertia)
    energy = kinetic_energy(coupled, q, qd) + 0.5 * (behind * thetad**2).sum(axis=-1)
    return np.asarray(
        energy + potential_energy(model, q) + actuators.spring_energy(q, theta, stiffness[0])
    )


def _stiffness(law: Controller) -> Array:
    """(n,) stiffness of the springs, which must be linear and undamped."""
    K = [actuator.series_spring.constant_stiffness for _, actuator, _, _ in law.actuators.each()]
    if None in K or law.actuators.damping.any():
        raise InputError("storage is known only for linear springs without dampers")
    return np.array(K)


def modal_motors(law: ScheduledFeedback) -> tuple[Array, Array, Array]:
    """B_d, K_p and K_d (n, n) of :func:`.modal_gains`, from the constant gains in use.

    Raises InputError unless these matrices are symmetric and positive semidefinite: the condition
    under which the motors are passive.
    """
    K = _stiffness(law)
    n = len(K)
    links, link_rates, motors, rates = (law.current[:, n * i : n * (i + 1)] for i in range(4))
    shaping = np.linalg.inv(np.eye(n) - links / K)  # (B B_d^-1)^-1
    found = shaping * law.actuators.motor_inertia, shaping @ (motors + links), shaping @ rates
    for each in found:
        size = np.abs(each).max()
        is_symmetric = np.abs(each - each.T).max() <= 1e-9 * size
        if link_rates.any() or not is_symmetric or np.linalg.eigvalsh(each)[0] < -1e-9 * size:
            raise InputError("storage is known only for modal gains (gain_design 'modal')")
    inertia, proportional, derivative = found
    return inertia, proportional, derivative


def _torque_source_energy(
    law: TorqueController, states: ArmStates, energy: Array, reference: Array
) -> Array:
    """(k,) J, under the constant torques that hold the links at the reference."""
    K, gains, torque = _stiffness(law), law.gains, gravity_forces(law.model, reference)
    q, _, theta, thetad = states
    inertia = law.shaping.apparent_inertia
    bent = theta - q
    x = bent - torque / K
    w = thetad + gains.damping / inertia * x
    energy = energy - 0.5 * (law.actuators.motor_inertia * thetad**2 + K * bent**2).sum(axis=-1)
    return np.asarray(energy + 0.5 * (K * x**2 + inertia * w**2).sum(axis=-1) - q @ torque)


def torque_source_loss(law: TorqueController, states: ArmStates, torque: Array) -> Array:
    """(k,) W that a torque source dissipates under the constant joint torques (n,)."""
    K, gains = _stiffness(law), law.gains
    x = states.theta - states.q - torque / K
    return np.asarray((K * gains.damping / law.shaping.apparent_inertia * x**2).sum(axis=-1))


def _squares(x: Array, A: Array) -> Array:
    """(k,) x . A x."""
    return np.asarray(((x @ A) * x).sum(axis=-1))


def coupled_model(model: MultibodyModel, actuators: Actuators) -> MultibodyModel:
    return model.with_reflected_inertia(model.reflected_inertia + rigid_rotors(actuators))


def at_rest(law: Controller, reference: Array) -> tuple[Array, Array]:
    """(m,) motor positions and torques that hold the links at `reference`."""
    model, actuators = law.model, law.actuators
    zero = np.zeros_like(reference)
    Q = np.stack((gravity_forces(model, reference), zero, zero))
    second = law.stiffness * np.array([[1.0], [0.0], [0.0]])
    motion = np.stack((reference, zero, zero))
    bent = actuators.settled_deflection(Q)
    found = motor_motion(actuators, motion, Q, second, deflection=bent, beyond="continue")
    return found.position, found.torque


# Impedances


Potential = Callable[[Array], tuple[Array, Array, Array]]
"""V_i (k,) of links at q (k, n), dV_i/dq (k, n), and its stiffness (k, n, n)."""


def _hanging_energy(law: Controller, states: ArmStates, potential: Potential) -> Array:
    """(k,) W(theta)."""
    model, actuators, theta = law.model, law.actuators, states.theta
    q = _equilibrium(law, theta, potential)
    energy = potential_energy(model, q) + actuators.spring_energy(q, theta, law.stiffness[0])
    return np.asarray(energy - potential(q)[0])


def _equilibrium(law: Controller, theta: Array, potential: Potential) -> Array:
    """q_bar (k, n), by Newton steps without the slope of gravity."""
    model, actuators = law.model, law.actuators
    elastic = np.flatnonzero(~actuators.is_rigid)
    q = theta @ actuators.link_of_motors
    for _ in range(ITERATIONS):
        found = actuators.springs(
            q, 0.0 * q, theta, 0.0 * theta, stiffness=law.stiffness[:2], beyond="continue"
        )
        _, slope, own = potential(q)
        excess = (found.torque - gravity_forces(model, q) + slope)[:, elastic]
        if not excess.size or np.abs(excess).max() <= SETTLED * (1.0 + np.nanmax(np.abs(slope))):
            return q
        left = np.eye(len(elastic)) * found.stiffness[:, None, elastic]
        left -= own[:, elastic[:, None], elastic]
        q[:, elastic] += np.linalg.solve(left, excess[..., None])[..., 0]
    if np.abs(excess).max() <= 1e-9 * (1.0 + np.nanmax(np.abs(slope))):
        return q
    raise DynamicsError("the links have no equilibrium under this impedance in some state")


def _no_potential(q: Array) -> tuple[Array, Array, Array]:
    return np.zeros(len(q)), np.zeros_like(q), np.zeros((*q.shape, q.shape[-1]))


def _potential(
    law: ImpedanceController, q: Array, reference: Array, K: Array
) -> tuple[Array, Array, Array]:
    """V_i (k,), dV_i/dq (k, n) and the stiffness (k, n, n) without the change of the Jacobian, for
    stiffnesses K (s,) or (k, s)."""
    e, unit = q - reference, np.eye(q.shape[-1])
    if isinstance(law, JointImpedance):
        full = np.broadcast_to(K, e.shape)[..., None] * unit
        return 0.5 * (K * e**2).sum(axis=-1), K * e, full
    assert isinstance(law, CartesianImpedance)
    now, goal = (frame_pose(law.model, each, law.tool) for each in (q, reference))
    turn = so3.log(now[..., :3, :3] @ goal[:3, :3].T)
    x = np.concatenate((turn, now[..., :3, 3] - goal[:3, 3]), axis=-1)
    J = jacobian(law.model, q, law.tool, representation="hybrid").copy()
    J[..., :3, :] = so3.dexp_inv(turn) @ J[..., :3, :]
    tool, posture = K[..., :6], K[..., 6:]
    pulled = J.swapaxes(-1, -2) * tool[..., None, :]
    V = 0.5 * ((tool * x**2).sum(axis=-1) + (posture * e**2).sum(axis=-1))
    slope = (pulled @ x[..., None])[..., 0] + posture * e
    return V, slope, pulled @ J + posture[..., None] * unit


# Elastic structure


def _structure_energy(
    law: ElasticStructureController,
    states: ArmStates,
    reference: Array,
    external: Any,
    deflection: Any,
) -> Array:
    model, actuators, gains = law.model, law.actuators, law.gains
    q, qd = states[:2]
    coupled, rigid = coupled_model(model, actuators), actuators.is_rigid
    found = actuators.springs(*states, stiffness=law.stiffness[:2], beyond="continue")
    e, zero = q - reference, np.zeros_like(q)
    w = gravity_forces(model, q) - gains.link_damping * qd - gains.link_stiffness * e
    own = -gains.motor_stiffness * e - gains.motor_damping * qd
    Q = np.where(rigid, w + own, found.torque)
    F = np.where(rigid, own, Q - w)
    qdd = forward_dynamics(coupled, q, qd, Q + external)
    weight = passive_inverse_dynamics(coupled, (q, qd, qdd), (zero, zero, zero))
    assert weight.tau_dot is not None
    w_rate = weight.tau_dot - gains.link_damping * qdd - gains.link_stiffness * qd
    x, x_rate, energy = _virtual(law, F, found.torque_rate - w_rate, deflection)
    eta, eta_rate = e + x, qd + x_rate
    drives = np.where(actuators.torque_share > 0.0, actuators.motor_inertia, 0.0)
    inertia = np.where(rigid, 0.0, np.bincount(actuators.joint_of_motor, drives, len(rigid)))
    M = mass_matrix(coupled, q)
    V = energy + 0.5 * (qd * (M @ qd[..., None])[..., 0]).sum(axis=-1)
    V += 0.5 * (gains.link_stiffness * e**2 + gains.motor_stiffness * eta**2).sum(axis=-1)
    return np.asarray(V + 0.5 * (inertia * eta_rate**2).sum(axis=-1))


def _virtual(
    law: ElasticStructureController, F: Array, F_rate: Array, deflection: Any
) -> tuple[Array, Array, Array]:
    """x and x' (k, n) and the energy (k,) of the virtual springs under F; x of damped ones is
    given."""
    x, rate, energy = np.zeros_like(F), np.zeros_like(F), np.zeros(len(F))
    unloaded = _unloaded(law)
    for i, actuator, motors, _ in law.actuators.each():
        force, force_rate, springs = F[:, i], F_rate[:, i], actuator.springs
        if len(springs) > 1:
            starts = actuator.deflections(0.0, unloaded[motors])
            parts = list(zip(springs, starts, -actuator.directions[:, 0], strict=True))
            x[:, i] = _bisected(parts, force)
            slope = sum(
                spring.stiffness(start + side * x[:, i], beyond="continue")
                for spring, start, side in parts
            )
            rate[:, i] = force_rate / slope
            for spring, start, side in parts:
                energy += spring.energy(start + side * x[:, i], beyond="continue")
                energy -= spring.energy(start, beyond="continue")
        elif springs:
            (spring,) = springs
            damping = law.actuators.damping[i]
            if damping:
                x[:, i] = np.broadcast_to(deflection, F.shape)[:, i]
                rate[:, i] = (force - spring.torque(x[:, i], beyond="continue")) / damping
            else:
                x[:, i] = spring.deflection(force, beyond="continue")
                rate[:, i] = force_rate / spring.derivatives(x[:, i], beyond="continue")[1]
            energy += spring.energy(x[:, i], beyond="continue")
    return x, rate, energy


def _unloaded(law: Controller) -> Array:
    """(m,) motor positions for links at zero and springs without load."""
    n = law.actuators.n
    second = law.stiffness * np.array([[1.0], [0.0], [0.0]])
    still = np.zeros((3, n))
    found = motor_motion(
        law.actuators, still, still, second, deflection=still[0], beyond="continue"
    )
    return found.position


def _bisected(parts: list[tuple[Spring, float, float]], force: Array) -> Array:
    """x (k,) at which springs s with deflections start + side x pull with a force, by bisection."""
    lower, upper = np.full_like(force, -100.0), np.full_like(force, 100.0)
    for _ in range(60):
        x = 0.5 * (lower + upper)
        pulled = sum(
            side * s.torque(start + side * x, beyond="continue") for s, start, side in parts
        )
        is_above = np.asarray(pulled > force)
        lower, upper = np.where(is_above, lower, x), np.where(is_above, x, upper)
    return np.asarray(0.5 * (lower + upper))
