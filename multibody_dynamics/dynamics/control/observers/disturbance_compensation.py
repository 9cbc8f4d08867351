# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Disturbances of links and motors, estimated on both sides of the springs and compensated.

    links    p' = Q - beta - friction + tau_ext + d,        p = M(q) q'
    motors   M_m theta'' = tau - friction - load + d_m

Whatever the model does not explain appears in d or d_m: wrong inertias, a payload, a contact, wrong
friction or rotors. The momentum on each side (:mod:`momentum_balance`) gives their mean over every
cycle without differentiating velocities; four equal poles smooth it and give d' as well
(:mod:`low_pass`). The flat map then takes Q - d and Q' - d' in place of Q and Q', so the motors
move to where the springs carry the disturbance, and -d_m is added to the torque.

A spring whose stiffness is K appears as d = (K - K_model) phi and is compensated, too: at low
frequencies Q - d = K_model phi, so the motor moves to q_d + phi with the true deflection phi.
Unlike an integral of the tracking error, the estimates do not depend on feedback gains. They use
the torque that was sent, so they do not wind up at torque limits.

The estimates stay within a share of the torque limits. They are limited after the low-pass, not
before it: the momentum differences of coarse encoders are noise of several times the limits (3.7
times with 14 bits per turn on the Panda). Its mean is zero, but clipping this noise would also
suppress any smaller mean beneath it: the observer would hardly see disturbances any more, and the
loop would become unstable.
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

LINEAR = 0.8  # share of the limit up to which an estimate is used as it is


class DisturbanceCompensation:
    """Estimates the torques on links and motors that the model does not explain.

    >>> compensation = DisturbanceCompensation(model, actuators, bandwidth=120.0)
    >>> compensation.update(1e-3, (q, qd), (theta, thetad), sent)  # every cycle

    Parameters
    ----------
    bandwidth : magnitude in rad/s of the four equal poles of each estimate; the estimates lag by
        4 / bandwidth.
    share : largest disturbance that is compensated, as a share (0 to 1) of the motors' torque
        limits; at a joint with two motors, of the sum of their limits.

    Attributes, overwritten in place: `link` and `link_rate` (n,), d in N m and d' in N m/s, zero
    until the second update; `motor` (m,), d_m in N m, zero for motors of rigid joints, whose
    disturbances appear at the link. All are limited, see :func:`soft_limit`. Not thread-safe.
    Raises InputError for values out of range.
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
        self._link_limit: Array = np.asarray(
            np.bincount(actuators.joint_of_motor, limit, n), dtype=np.float64
        )
        self._link, self._motor = LowPass(n, bandwidth), LowPass(m, bandwidth)
        self.link, self.link_rate = np.zeros((2, n))
        self.motor: Array = np.zeros(m)
        self._q, self._theta = np.zeros((2, n)), np.zeros((2, m))
        self.springs = SpringSolver(actuators, *self._q, *self._theta)
        self._is_elastic = ~actuators.is_rigid[actuators.joint_of_motor]
        self._momentum, self._bias = np.zeros((2, m))
        self.set_model(model)

    def set_model(self, model: MultibodyModel) -> None:
        """Use another model of the robot; the estimates continue from their values."""
        links, friction, is_held = driven_links(model, self.actuators, has_sensors=False)
        self._balance = MomentumBalance(links, friction=friction, is_held=is_held)

    @property
    def memory(self) -> tuple[Array, ...]:
        """The arrays that every update after the first reads and overwrites."""
        own = self._momentum, self._bias, self._link.lags, self._motor.lags
        return (*self._balance.memory, *own)

    def reset(self) -> None:
        """Set the estimates to zero; the next update is the first."""
        self._balance.reset()
        self._link.reset()
        self._motor.reset()
        self.link[:] = self.link_rate[:] = 0.0
        self.motor[:] = 0.0

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
            value, rate = self._link.update(step, external), self._link.rate
            self.link[:], self.link_rate[:] = soft_limit(value, rate, self._link_limit)
            value = self._motor.update(step, on_motors)
            self.motor[:], _ = soft_limit(value, value, self._limit)
        self._momentum[:], self._bias[:] = momentum, bias


def soft_limit(value: Array, rate: Array, limit: Array) -> tuple[Array, Array]:
    """Values and their rates (n,), limited to +- `limit` with a continuous slope.

    Below LINEAR times the limit they are not changed. The limit is reached at 2 - LINEAR times the
    limit by a parabola, on which the rate falls to zero; it is zero beyond.
    """
    size, linear = np.abs(value), LINEAR * limit
    if (size <= linear).all():
        return value, rate
    share = np.divide(size, limit, out=np.full_like(size, np.inf), where=limit > 0.0)
    slope = np.clip(0.5 * (2.0 - LINEAR - share) / (1.0 - LINEAR), 0.0, 1.0)
    bent = np.copysign(limit * (1.0 - (1.0 - LINEAR) * slope**2), value)
    is_linear = size <= linear
    return np.where(is_linear, value, bent), np.where(is_linear, rate, slope * rate)
