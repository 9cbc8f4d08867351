"""Disturbances of links and motors, estimated on both sides of the springs and compensated.

    links    p' = Q - beta - friction + tau_ext + d,        p = M(q) q'
    motors   M_m theta'' = tau - friction - load + d_m

Whatever the model does not explain appears in d or d_m: wrong inertias, a payload, a contact, wrong
friction or rotors. The momentum on each side (:mod:`momentum_balance`) gives their mean over every
cycle without differentiating velocities; four equal poles smooth it and give d' as well
(:mod:`low_pass`). The flat map then takes Q - d and Q' - d' in place of Q and Q', so the motors
move to where the springs carry the disturbance, and -d_m is added to the torque.

A spring of another stiffness K appears as d = (K - K_model) phi and is compensated, too: at low
frequencies Q - d = K_model phi, so the motor moves to q_d + phi with the true deflection phi.
Unlike an integral of the tracking error, the estimates do not depend on feedback gains. They use
the torque that was sent, so they do not wind up at torque limits, and stay within a share of those
limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import Array, InputError
from ...elastic import Actuators, SpringSolver
from ...model import MultibodyModel
from ..signals.derivative_filter import MAX_STEP
from ..signals.low_pass import LowPass
from .momentum_balance import MomentumBalance, driven_links

SHARE = 0.5
"""Share of the motors' torque limits that may compensate disturbances, by default."""


class DisturbanceCompensation:
    """Estimates the torques on links and motors that the model does not explain.

    >>> compensation = DisturbanceCompensation(model, actuators, bandwidth=120.0)
    >>> compensation.update(1e-3, (q, qd), (theta, thetad), sent)  # every cycle

    Parameters
    ----------
    bandwidth : rad/s, of the four equal poles of each estimate, which lag by 4 / bandwidth.
    share : 0 to 1, of the motors' torque limits: the largest disturbance that is compensated. A
        joint with two motors has the sum of theirs.

    Attributes, overwritten in place: `link` and `link_rate` (n,), d in N m and d' in N m/s, zero
    until the second update; `motor` (m,), d_m in N m, zero for motors of rigid joints, whose
    disturbances appear at the link. Not thread-safe. Raises InputError for values out of range.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        bandwidth: float,
        *,
        share: float = SHARE,
    ) -> None:
        n, m = actuators.n, len(actuators.motors)
        if not 0.0 <= share <= 1.0:
            raise InputError(f"share of the torque limits is {share}: must be from 0 to 1")
        self.actuators = actuators
        limit = self._limit = share * actuators.torque_limit if share else np.zeros(m)
        self._link_limit = np.bincount(actuators.joint_of_motor, limit, n)
        self._link, self._motor = LowPass(n, bandwidth), LowPass(m, bandwidth)
        self.link: Array = self._link.value
        self.link_rate: Array = self._link.rate
        self.motor: Array = self._motor.value
        self._q, self._theta = np.zeros((2, n)), np.zeros((2, m))
        self.springs = SpringSolver(actuators, *self._q, *self._theta)
        self._is_elastic = ~actuators.is_rigid[actuators.joint_of_motor]
        self._momentum, self._bias = np.zeros((2, m))
        self.set_model(model)

    def set_model(self, model: MultibodyModel) -> None:
        """Use another model of the robot; the estimates continue from their values."""
        links, friction, is_held = driven_links(model, self.actuators, has_sensors=False)
        self._balance = MomentumBalance(links, friction=friction, is_held=is_held)

    def reset(self) -> None:
        """Set the estimates to zero; the next update is the first."""
        self._balance.reset()
        self._link.reset()
        self._motor.reset()

    def update(self, step: float, links: Any, motors: Any, sent: Array, known: Any = 0.0) -> None:
        """Update the estimates to the present state.

        step : s since the last update; after more than MAX_STEP the estimates do not change.
        links : q, q' (n,); motors : theta, theta' (m,).
        sent : (m,) motor torques that acted since the last update.
        known : (n,) external joint torques that the law already takes into account.
        """
        self._q[:], self._theta[:] = links, motors
        springs, actuators = self.springs, self.actuators
        springs.update()
        driving = np.where(actuators.is_rigid, sent[actuators.first_motor], springs.torque) + known
        q, qd = self._q
        external = self._balance.update(step, q, qd, driving)
        momentum = actuators.motor_inertia * self._theta[1]
        bias = actuators.friction(self._theta[1]) + np.where(self._is_elastic, springs.load, 0.0)
        if external is not None and step <= MAX_STEP:
            on_motors = (momentum - self._momentum) / step - sent + 0.5 * (bias + self._bias)
            on_motors *= self._is_elastic
            self._link.update(step, np.clip(external, -self._link_limit, self._link_limit))
            self._motor.update(step, np.clip(on_motors, -self._limit, self._limit))
        self._momentum[:], self._bias[:] = momentum, bias
