# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Damped stop and hold of an arm with elastic joints, from motor states alone: the safe fallback.

    tau = load(theta) + G_theta (theta_h - theta) + G_theta' (theta_h' - theta'),   |tau| <= limit

load(theta) is the torque of the springs on the motors with the links in equilibrium, Q(q, theta) =
g(q) + F_0, where F_0 is the friction of links at rest, its offset: online gravity compensation, see
`link_equilibrium`. It needs no link encoders and no desired motion. Hysteresis shifts the links by
at most its torque over the stiffness, and with them g by a negligible share; it is left out.

The reference starts at the position and velocity of the motors and slows down exponentially. The
stop is damped: the gains (:func:`.damping_gains`) release the springs in such a way that the links
behind them do not oscillate. While a motor is at its torque limit, its reference gives way, so the
motor does not spring back later. If the links would come to rest beyond their limits, the reference
slows down faster.
"""

from math import exp
from typing import Any

import numpy as np

from ...core import (
    Array,
    BoundCall,
    InputError,
    compiled_exactly,
    inlined_exactly,
    read_only,
    record_fields,
)
from ...elastic import Actuators
from ...model import MultibodyModel
from ..gains.joint_gains import StateFeedbackGains, at_rest, check_fit
from ..records.actuation import actuation
from ..signals.encoder_steps import EncoderSteps, Resolutions, compiled_calm_motors
from .controllers import PERIOD, Controller
from .link_equilibrium import LinkEquilibrium

STOP_TIME = 0.1  # s, default
ITERATIONS = 3


@inlined_exactly
def hold_step(
    joint_of_motor, reference, q, theta, thetad, load, lower, upper, torque, share, gains,
    stop_time, limit, dt
):  # fmt: skip
    """The torques of the stop, and its reference dt later.

    `load` are the torques that hold the motors, q the positions of the links at rest; `lower` and
    `upper` are the ranges of the links that the motors drive; a `share` of the `gains` on theta and
    theta' acts.
    """
    decay = exp(-dt / stop_time)
    for j in range(theta.shape[0]):
        position = reference[0, j]
        velocity = reference[1, j]
        link = q[joint_of_motor[j]] + position - theta[j]
        slowest = min((lower[j] - link) / stop_time, 0.0)
        fastest = max((upper[j] - link) / stop_time, 0.0)
        velocity = min(max(velocity, slowest), fastest)
        wanted = load[j] + share * (
            gains[0, j] * (position - theta[j]) + gains[1, j] * (velocity - thetad[j])
        )
        torque[j] = min(max(wanted, -limit[j]), limit[j])
        reference[0, j] = position + (torque[j] - wanted) / gains[0, j]
        reference[0, j] += (1.0 - decay) * stop_time * velocity
        reference[1, j] = velocity * decay


_HOLD = compiled_exactly(hold_step)


class HoldController(Controller):
    """Law "hold": a damped stop from any motion, then a hold with gravity compensated.

    >>> stop = HoldController(model, actuators, damping_gains(model, actuators, q))
    >>> torque = stop.update(None, None, None, theta, thetad)  # every cycle

    An update uses only theta, theta' and `stiffness`.

    Parameters
    ----------
    gains : only those of the motors are used; G_theta must be positive.
    stop_time : s, in which the reference slows down by a factor of e.
    torque_limit : (m,) or a scalar, N m; never above the motors' own limits. If lower limits apply
        to the torques that are sent, pass these: the reference gives way at this limit. May be set
        between updates.
    friction : share that is compensated; none by default, because friction helps to stop.

    Attributes: `reference` (2, m), desired position and velocity of the motors; `q` (n,),
    equilibrium positions of the links on the springs.
    """

    reduces_gains = True
    uses_motion = False

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        gains: StateFeedbackGains,
        *,
        stop_time: float = STOP_TIME,
        torque_limit: Any = np.inf,
        friction: Any = 0.0,
        period: float = PERIOD,
    ) -> None:
        check_fit(model, actuators, gains.motor_names, "gains")
        super().__init__(model, actuators, friction=friction, period=period)
        names = actuators.motor_names
        for j in np.flatnonzero(gains.values[2] <= 0.0).tolist():
            raise InputError(
                f"motor '{names[j]}': the gain on theta is {gains.values[2, j]:g}: must be "
                f"positive to hold the motor"
            )
        if not 0.0 < stop_time < np.inf:
            raise InputError(f"stop_time is {stop_time} s: must be positive")
        self.gains, self.stop_time, self.torque_limit = gains, stop_time, torque_limit
        joint = actuators.joint_of_motor
        lower, upper = model.limits.lower[joint], model.limits.upper[joint]
        for _, actuator, motors, _ in actuators.each():
            if actuator.drive is not None:
                lower[motors[1]], upper[motors[1]] = -np.inf, np.inf
        self._offset = actuators.link_friction_offset
        self._motor_reference: Array = np.zeros((4, len(names)))
        self.reference = self._motor_reference[:2]
        self._hanging = LinkEquilibrium(actuators, self._motors[0], self._weight)
        self.q: Array = self._hanging.q
        self._is_started = False
        self._advance = BoundCall(
            _HOLD, actuation(actuators).joint_of_motor, self.reference, self.q, *self._motors,
            self._hanging.load, lower, upper, self.torque,
        )  # fmt: skip
        m = len(names)
        no_limits = Resolutions(np.full(actuators.n, np.inf), np.full(m, np.inf))
        self.watch(no_limits, record_fields.zeros(EncoderSteps, n=actuators.n, m=m))
        self._calm()  # compiles
        self._step()  # compiles
        self.reference[:] = self.torque[:] = 0.0

    @property
    def motor_reference(self) -> Array:
        """(4, m): the reference of the next update, and the torque."""
        self._motor_reference[3] = self.torque
        return self._motor_reference

    @property
    def torque_limit(self) -> Array:
        return self._torque_limit

    @torque_limit.setter
    def torque_limit(self, limit: Any) -> None:
        own = self.actuators.torque_limit
        row = np.asarray(limit, dtype=np.float64)
        if row.shape not in ((), own.shape):
            raise InputError(f"torque_limit: expected one value or {len(own)}, got {limit}")
        row = np.broadcast_to(row, own.shape)
        for j in np.flatnonzero(~(row > 0.0)).tolist():
            name = self.actuators.motor_names[j]
            raise InputError(f"torque_limit of motor '{name}' is {row[j]} N m: must be positive")
        self._torque_limit = read_only(np.minimum(row, own))

    def limit(self, torque: Array) -> None:
        self.torque_limit = torque

    def watch(self, resolutions: Resolutions, steps: EncoderSteps) -> None:
        """Do not take the steps of coarse encoders for motion; both are shared, not copied."""
        self.watched = resolutions, steps
        self._calm = BoundCall(compiled_calm_motors, resolutions, steps, self._motors[1])

    def reset(self) -> None:
        """Start a new stop at the next update."""
        super().reset()
        self._is_started = False

    def hold_at(self, q: Any) -> None:
        """Hold the arm at rest at q (n,), which should be at or close to its present position."""
        names = self.actuators.joint_names
        rest = at_rest(self.model, self.actuators, q, self.stiffness[0])
        self.reference[0], self.reference[1] = rest.theta, 0.0
        self.q[:] = np.asarray(q, dtype=np.float64).reshape(len(names))
        self._is_started = True

    def _take(self, desired: Any, links: Any, motors: Any, ahead: Any) -> None:
        self._motor_rows.take(motors)

    def _smooth_motors(self) -> None:
        """Replace what the encoders of the motors cannot know."""
        self._calm()

    def _law(self, has_ahead: bool) -> None:
        self._smooth_motors()
        thetad = self._motors[1]
        if not self._is_started:
            self.reference[:] = self._motors
            self._hanging.start()
        if self.stiffness.size:
            self._hanging.springs.stiffness[0] = self.stiffness[0]
        load = self._hanging.update(ITERATIONS if self._is_started else 10 * ITERATIONS)
        self._is_started = True
        if self._friction.any():
            load += self._friction * self.actuators.friction(thetad, load)
        self._step()

    def _step(self) -> None:
        """Fill `torque`, and advance the reference by a period."""
        own = self.gains.values[2:], self.stop_time, self._torque_limit
        self._advance(self.feedback_share, *own, self.period)

    def _weight(self, q: Array) -> tuple[Array, None]:
        """Torques that the links need at rest at q, with the offset of their friction."""
        self._inverse.state[0] = q  # its rates stay zero
        self._inverse.update()
        torque = self._inverse.result[0]
        torque -= self.external_torque
        torque += self._offset
        return torque, None
