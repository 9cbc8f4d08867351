# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Slow stop of an arm with elastic joints from its link states, when motor states are missing.

    tau = tau_rest(q) - S C p,    p = M(q) q',    C = share V B^-1

tau_rest(q) are the motor torques for rest at q: online gravity compensation, plus the pretension of
antagonistic joints. p are the joint momenta, B and V inertia and viscous friction of the motors of
a joint; S distributes a joint's torque to its motors in proportion to their inertias. At rigid
joints link and motor move as one, and the limit below does not apply: C = 1 / stop_time.

Damping through a spring acts on the wrong mass. Near rest, with K theta - (K + G) q = M q'' for the
links, a single joint under tau = G q - D q' has the poles of

    s (M B s^3 + M V s^2 + (K (M + B) + G B) s + V (K + G) + K D),

stable if and only if D < V M / B, for any K and G: the first pole is zero, because the compensated
arm is in equilibrium anywhere, and the others lie left of the imaginary axis by the Routh-Hurwitz
criterion. The friction of the motors therefore limits how strongly the links can be damped: the
decay rate of the momentum, (V + D) / (M + B), stays below V / B, and `share` < 1 sets how far
below. The stop takes about a second rather than a tenth of one; Coulomb friction, neglected here,
completes it. Links of frictionless motors are not damped at all. If motor states are available, use
:class:`.HoldController`.
"""

from typing import Any

import numpy as np

from ...core import Array, InputError, compiled_exactly, inlined_exactly
from ...elastic import Actuators, MotorFeedforward, rigid_rotors
from ...model import MultibodyModel
from ..records.actuation import actuation
from .controllers import PERIOD, Controller
from .hold_controller import STOP_TIME


@inlined_exactly
def damp_links(joint_of_motor, momentum, damping, limit, torque):
    """Turn the torques of the motors for rest into those of the stop: each motor takes its share of
    the momentum of its joint."""
    for j in range(torque.shape[0]):
        wanted = torque[j] - damping[j] * momentum[joint_of_motor[j]]
        torque[j] = min(max(wanted, -limit[j]), limit[j])


_DAMP = compiled_exactly(damp_links)


class LinkDampingController(Controller):
    """A slow stop from any motion, from link states alone, within the torque limits of the motors.

    >>> stop = LinkDampingController(model, actuators)
    >>> torque = stop.update(None, q, qd, None, None)  # every cycle

    An update uses only q, q' and `stiffness`.

    Attributes: `rates` (n,) C in 1/s; `theta` (m,), motor positions with the arm at rest.

    Raises InputError for a share that is not between 0 and 1, and for a stiffness drive: under a
    constant torque its motor runs away from equilibrium, because the restoring torque decreases as
    the joint gets stiffer.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        *,
        share: float = 0.5,
        stop_time: float = STOP_TIME,
        period: float = PERIOD,
    ) -> None:
        super().__init__(model, actuators, friction=0.0, period=period)
        if not 0.0 <= share < 1.0:
            raise InputError(f"share is {share}: must be at least 0 and below 1 to be stable")
        if not 0.0 < stop_time < np.inf:
            raise InputError(f"stop_time is {stop_time} s: must be positive")
        self.rates: Array = np.zeros(actuators.n)
        self._distribution: Array = np.ones(len(actuators.motors))
        for i, actuator, motors, _ in actuators.each():
            if actuator.drive is not None:
                name = actuators.motor_names[motors[1]]
                raise InputError(f"motor '{name}' sets a stiffness: its state must be measured")
            total = sum(motor.inertia for motor in actuator.motors)
            if actuators.is_rigid[i]:
                self.rates[i] = 1.0 / stop_time
            else:
                self.rates[i] = share * sum(motor.viscous for motor in actuator.motors) / total
            if total:
                self._distribution[list(motors)] = actuators.motor_inertia[list(motors)] / total
        self._rotors = rigid_rotors(actuators)
        self._joint_of_motor = actuation(actuators).joint_of_motor
        _DAMP(self._joint_of_motor, self.rates, self.damping, actuators.torque_limit, self.torque)
        self._reported_map = self._rest = MotorFeedforward(actuators)
        self.theta: Array = self._rest.command.position

    @property
    def damping(self) -> Array:
        """(m,) S C of each motor on the momentum of its joint, 1/s."""
        return self._distribution * self.rates[self._joint_of_motor]

    def _take(self, desired: Any, links: Any, motors: Any, ahead: Any) -> None:
        self._link_rows.take(links)

    def rest_at(self, q: Array) -> Array:
        """(m,) motor torques for rest at q (n,); sets `theta` to the positions there."""
        inverse, rest = self._inverse, self._rest
        inverse.state[0], inverse.state[1:] = q, 0.0
        self._inverse_dynamics(inverse.state)
        rest.state[0], rest.torque[0] = q, inverse.result[0]
        if self.stiffness.size:
            rest.stiffness[0] = self.stiffness[0]
        rest.settle()
        return rest.update().torque

    def _law(self, has_ahead: bool) -> None:
        q, qd = self._links
        self.torque[:] = self.rest_at(q)
        inverse = self._inverse
        inverse.state[2] = qd
        self._inverse_dynamics(inverse.state)
        momentum = inverse.result[0] - self._rest.torque[0] + self._rotors * qd
        joint = self._joint_of_motor
        _DAMP(joint, momentum, self.damping, self.actuators.torque_limit, self.torque)
