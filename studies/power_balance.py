# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Passivity as a power balance: what a law stores, gains from contacts, and dissipates.

An arm under a law is passive from external torques to link velocities if a stored energy V exists
(`stored_energy`) with

    V' = tau_ext . q' - dissipated,    dissipated >= 0.

:func:`power_balance` evaluates both sides in random states and under random contacts; V' comes from
central differences of V along the equations of motion, with the torques of the control cycle.
"""

from typing import Any, NamedTuple

import numpy as np

from multibody_dynamics.dynamics.control import (
    Controller,
    ElasticStructureController,
    HoldController,
    ImpedanceController,
    LinearFeedback,
    ScheduledFeedback,
    TorqueController,
)
from multibody_dynamics.dynamics.core import Array, as_array
from multibody_dynamics.dynamics.elastic import Actuators
from multibody_dynamics.dynamics.model import MultibodyModel
from multibody_dynamics.dynamics.rigid import forward_dynamics, gravity_forces
from studies.stored_energy import (
    ArmStates,
    coupled_model,
    modal_motors,
    stored_energy,
    torque_source_loss,
)

STEP = 2e-6  # s, of the central differences
SETTLING = 20  # updates in which "hold" finds its equilibrium, which it improves in every cycle


class PowerBalance(NamedTuple):
    """(k,) in W: power that contacts supply, power dissipated, and the rate of the stored energy.

    `rate` is `supplied` - `dissipated` for a law that is passive as claimed.
    """

    supplied: Array
    dissipated: Array
    rate: Array

    @property
    def error(self) -> Array:
        """(k,) of the balance, relative to the powers, or to 1 W if these are small."""
        size = np.abs(self.supplied) + np.abs(self.dissipated) + 1.0
        return np.asarray((self.rate - self.supplied + self.dissipated) / size)


def power_balance(
    law: Controller,
    states: ArmStates,
    external: Any,
    reference: Any,
    *,
    deflection: Any = None,
) -> PowerBalance:
    """Both sides of the balance in k states, each under constant external torques.

    Parameters
    ----------
    law : a running law; it is reset for every state.
    external : (k, n) external joint torques in N m.
    reference : (n,) at which the law holds the arm.
    deflection : (k, n) of the virtual springs of ESP where they are damped; default: settled.

    Second outputs are those of the law, which is one of :data:`.PASSIVITY_CLAIMS`.
    """
    actuators, n = law.actuators, law.actuators.n
    external = as_array("external", external, (n,), actuators.joint_names)
    desired = np.zeros((5, n))
    desired[0] = reference
    count, m = len(external), len(actuators.motors)
    held = gravity_forces(law.model, np.asarray(reference, dtype=np.float64))
    torque, lost = np.zeros((count, m)), np.zeros(count)
    bends, bending = np.zeros((2, count, n))
    for k in range(count):
        law.reset()
        if isinstance(law, ElasticStructureController):
            law.contact[0], law.contact[1] = external[k], 0.0
            if deflection is not None:
                law.virtual.x[:] = deflection[k]
        torque[k] = _commanded(law, desired, held, ArmStates(*(row[k] for row in states)))
        if isinstance(law, ImpedanceController | ElasticStructureController):
            lost[k] = law.dissipated
        if isinstance(law, ElasticStructureController):
            bends[k], bending[k] = law.virtual.x, law.virtual.rate
    slopes = equations_of_motion(law.model, actuators, states, torque, external, law.stiffness)
    energies = [
        stored_energy(
            law,
            ArmStates(*(x + h * dx for x, dx in zip(states, slopes, strict=True))),
            reference,
            external=external,
            deflection=bends + h * bending,
        )
        for h in (STEP, -STEP)
    ]
    dissipated = lost + _friction_and_dampers(law, states, held)
    supplied = (external * states.qd).sum(axis=-1)
    return PowerBalance(supplied, dissipated, (energies[0] - energies[1]) / (2.0 * STEP))


def _commanded(law: Controller, desired: Array, held: Array, state: ArmStates) -> Array:
    """Motor torques (m,) of a law in one state, at the reference `desired` (5, n); `held` (n,) is
    the torque that a torque source is commanded."""
    if isinstance(law, TorqueController):
        return law.command(held, *state)
    if isinstance(law, HoldController):
        law.hold_at(desired[0])
        for _ in range(SETTLING):
            law.update(desired, *state)
    return law.update(desired, *state)


def equations_of_motion(
    model: MultibodyModel,
    actuators: Actuators,
    states: ArmStates,
    torque: Array,
    external: Array,
    stiffness: Array,
) -> ArmStates:
    """Time derivatives of the states under motor torques (k, m) and external torques (k, n)."""
    q, qd, _, thetad = states
    rigid, first, joint = actuators.is_rigid, actuators.first_motor, actuators.joint_of_motor
    found = actuators.springs(*states, stiffness=stiffness[:2], beyond="continue")
    net = torque - actuators.friction(thetad)
    Q = np.where(rigid, net[:, first], found.torque)
    qdd = forward_dynamics(coupled_model(model, actuators), q, qd, Q + external)
    inertia = np.where(rigid[joint], 1.0, actuators.motor_inertia)
    free = (net - np.where(rigid[joint], 0.0, found.load)) / inertia
    return ArmStates(qd, qdd, thetad, np.where(rigid[joint], qdd[:, joint], free))


def _friction_and_dampers(law: Controller, states: ArmStates, held: Array) -> Array:
    """(k,) W lost in motors, in the dampers of their loops and in those of the springs."""
    actuators, thetad = law.actuators, states.thetad
    rates = thetad[:, actuators.first_motor] - states.qd
    if isinstance(law, ElasticStructureController):
        return np.zeros(len(thetad))  # the law compensates them and reports its own dissipation
    lost = (actuators.damping * rates**2).sum(axis=-1)
    friction = actuators.friction(thetad) * thetad
    if isinstance(law, ImpedanceController):
        return np.asarray(lost + (law.shaping.share * friction).sum(axis=-1))
    if isinstance(law, TorqueController):
        return np.asarray(lost + torque_source_loss(law, states, held))
    if isinstance(law, ScheduledFeedback):
        inertia, _, damping = modal_motors(law)
        shaped = inertia / actuators.motor_inertia  # B_d B^-1
        braked = damping @ thetad.T + shaped @ actuators.friction(thetad).T
        return np.asarray(lost + (braked.T * thetad).sum(axis=-1))
    assert isinstance(law, LinearFeedback | HoldController)
    return np.asarray(lost + (friction + law.gains.values[3] * thetad**2).sum(axis=-1))
