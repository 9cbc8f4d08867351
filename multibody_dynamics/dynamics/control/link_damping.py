"""Stopping an arm with elastic joints by what its links tell, where its motors are not seen.

    tau = tau_rest(q) - S C p,    p = M(q) q',    C = share V B^-1

tau_rest(q) is what the motors need for rest at q: gravity on-line, of antagonistic joints with the
pretension. p are the joint momenta, B and V inertia and viscous friction of the motors of a joint,
S hands a joint's torque out to its motors as their inertias are. Rigid joints, whose motors their
links show, are not bound by this: C = 1 / stop_time.

Damping through a spring acts on the wrong mass. Near rest, with K theta - (K + G) q = M q'' for the
links, a joint by itself under tau = G q - D q' has the poles of

    s (M B s^3 + M V s^2 + (K (M + B) + G B) s + V (K + G) + K D),

stable if and only if D < V M / B, whatever K and G are: the first pole is free, as gravity alone
holds the arm wherever it is, and the others lie left of the axis by Routh and Hurwitz. So links can
be damped only as much as the friction of the motors lets them: the rate at which momentum is lost,
(V + D) / (M + B), stays below V / B, and `share` < 1 says how far below. The stop is weak, a
second rather than a tenth; Coulomb friction, not counted here, ends it. A frictionless motor's
links are not damped at all. With motors seen use :class:`.HoldController`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import Array, InputError
from ..elastic import Actuators, MotorFeedforward, VariableStiffness
from ..model import MultibodyModel
from .controllers import PERIOD, Controller
from .gains import rigid_rotors


class LinkDampingController(Controller):
    """A slow stop from any motion by link states alone, torques within the motors' limits.

    >>> stop = LinkDampingController(model, actuators)
    >>> torque = stop.update(None, q, qd, None, None)  # every cycle

    Of an update only q, q' and `stiffness` are looked at.

    Attributes: `rates` (n,) C in 1/s; `theta` (m,) where the motors are if the arm rests.

    Raises InputError for a share that is not between 0 and 1, and for a stiffness drive: under a
    constant torque its motor runs away from where it rests, the stiffer the joint the less it is
    pushed back.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        *,
        share: float = 0.5,
        stop_time: float = 0.1,
        period: float = PERIOD,
    ) -> None:
        super().__init__(model, actuators, friction=0.0, period=period)
        if not 0.0 <= share < 1.0:
            raise InputError(f"share is {share}: must be from 0 to below 1, or links swing up")
        if not 0.0 < stop_time < np.inf:
            raise InputError(f"stop_time is {stop_time} s: must be positive")
        n, m = actuators.n, len(actuators.motors)
        self.rates: Array = np.zeros(n)
        self._hand_out: Array = np.zeros((m, n))
        for i, actuator, motors, _ in actuators.each():
            if isinstance(actuator, VariableStiffness) and actuator.drive is not None:
                name = actuators.motor_names[motors[1]]
                raise InputError(f"motor '{name}' sets a stiffness: it cannot be left unseen")
            total = sum(motor.inertia for motor in actuator.motors)
            for j in motors:
                part = actuators.motor_inertia[j] / total if total else 1.0
                self._hand_out[j, i] = part
            if actuators.is_rigid[i]:
                self.rates[i] = 1.0 / stop_time
            else:
                self.rates[i] = share * sum(motor.viscous for motor in actuator.motors) / total
        self._rotors = rigid_rotors(actuators)
        self._told_by = self._rest = MotorFeedforward(actuators)
        self.theta: Array = self._rest.command.position

    def _take(self, desired: Any, links: Any, motors: Any, ahead: Any) -> None:
        self._link_rows.take(links)

    def rest_at(self, q: Array) -> Array:
        """(m,) torque of the motors for rest at q (n,); `theta` is then where they are."""
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
        wanted = self.rest_at(q)
        inverse = self._inverse
        inverse.state[2] = qd
        self._inverse_dynamics(inverse.state)
        momentum = inverse.result[0] - self._rest.torque[0] + self._rotors * qd
        wanted = wanted - self._hand_out @ (self.rates * momentum)
        limit = self.actuators.torque_limit
        np.clip(wanted, -limit, limit, out=self.torque)
