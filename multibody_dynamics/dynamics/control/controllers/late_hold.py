# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Damped stop and hold with torques that arrive late: the last resort before the brakes.

A delay T turns damping at the motor into excitation above a frequency of pi / (2 T), and turns
online gravity compensation g(q(t - T)) = g(q) - T G q' + .. into negative damping where gravity
destabilises the arm (G < 0). Gains below the friction of the motors are stable, but a motor with
little friction then keeps turning for a long time. Here the motor positions are smoothed and
predicted instead:

    F = (W / (s + W))^2,    v = s F theta,    theta_p = F theta + (2 / W + lead) v,
    tau = load(theta_p) + G_theta (theta_h - theta_p) + G_theta' (theta_h' - v)

with the loads and the reference of :class:`.HoldController`. The gains give the motor with its
links two poles at -rate / 2, far below 1 / T. At the resonances of the springs the smoothed
velocity, smaller by (w / W)^2, is too weak to excite them, whatever its phase.
:func:`.forecast_stop` computes the delay that this tolerates.

For the two motors of an antagonistic joint, only the common position is predicted. In the law,
their difference keeps its value from the start of the stop: under a constant pretension torque, the
springs alone stabilise it, whereas a delayed compensation of their torques would not.

If a motor has a coarse encoder, all are interpolated between their steps (:mod:`.encoder_steps`):
one that is damped less would take over the motion of the others. Its reference and filter start
at rest, whatever velocity was measured. Damping is added in proportion to the speed, the length of
a step by the time that it took: the motor alone would lose a share PER_STEP of its speed per step,
and as much until it is known to be slower. A stronger damping would reverse it, and set the springs
swinging.

At constant velocity, the prediction cancels the lag 2 / W of the filter and a delay of `lead`. The
filter follows a motion at constant velocity exactly over any step, so pauses do not disturb it.
"""

from math import exp
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...core import (
    Array,
    Field,
    InputError,
    Integers,
    compiled_exactly,
    inlined_exactly,
    record_fields,
)
from ...elastic import Actuators
from ...model import MultibodyModel
from ..gains.joint_gains import StateFeedbackGains, inertias_felt, motor_side_gains
from ..records.actuation import actuation
from ..signals.encoder_steps import (
    EncoderSteps,
    Resolutions,
    hides_speed,
    interpolated_position,
    interpolated_speed,
)
from .controllers import PERIOD
from .hold_controller import HoldController

RATE = 3.0  # 1/s
BANDWIDTH = 15.0  # rad/s, W
LEAD = 0.02  # s
PER_STEP = 0.25  # share of its speed that a motor without its links loses per step
STRONGEST = 5.0  # times the gain on v, for such a motor
DAMPED = 3.0  # times the gain on v, after a failed stop; 2 W / RATE would be unstable


def late_hold_gains(
    model: MultibodyModel, actuators: Actuators, q: Any, rate: float = RATE
) -> StateFeedbackGains:
    """PD gains that give each motor with its links, at q (n,), two poles at -rate / 2 in 1/s."""
    links = inertias_felt(model, actuators, q)[actuators.joint_of_motor]
    moved = actuators.motor_inertia + links
    return motor_side_gains(actuators, 0.25 * moved * rate**2, moved * rate)


def common_motion(actuators: Actuators) -> Array:
    """(m, m) matrix from the positions of the motors to the common position of those that move the
    same link; a stiffness drive keeps its own."""
    common = actuators.link_of_motors.T[actuators.joint_of_motor]
    for _, actuator, motors, _ in actuators.each():
        if actuator.drive is not None:
            common[motors[1]] = 0.0
            common[motors[1], motors[1]] = 1.0
    return np.asarray(common)


class LateSettings(NamedTuple):
    """Settings of the smoothing, with the names of those of :class:`.CycleSettings`."""

    late_bandwidth: float
    late_lead: float
    motor_resolution: Array


class SmoothedMotors(NamedTuple):
    """Motor positions as smoothed and predicted for a stop with late torques."""

    is_smooth: Annotated[Integers, Field("whether the filter has a state")]
    before: Annotated[Array, Field("rad or m, positions in the last cycle", ("m",))]
    first: Annotated[Array, Field("rad or m, first stage of the filter", ("m",))]
    second: Annotated[Array, Field("rad or m, second stage of the filter", ("m",))]
    difference: Annotated[Array, Field("rad or m, from the common position", ("m",))]


@inlined_exactly
def smooth_motors(common, p, s, steps, step, theta, thetad):
    """Replace theta, theta' by theta_p, v; exact for motors that move steadily in a step."""
    W = p.late_bandwidth
    decay = exp(-W * step)
    for j in range(theta.shape[0]):
        if not s.is_smooth[0] and hides_speed(steps.motor_step[j], p.motor_resolution[j]):
            thetad[j] = 0.0
        if s.is_smooth[0]:
            slope = (theta[j] - s.before[j]) / step
            off_first = s.first[j] - (s.before[j] - slope / W)
            off_second = s.second[j] - (s.before[j] - 2.0 * slope / W)
            s.first[j] = theta[j] - slope / W + decay * off_first
            s.second[j] = theta[j] - 2.0 * slope / W + decay * (off_second + W * step * off_first)
        else:
            s.first[j] = theta[j] - thetad[j] / W
            s.second[j] = theta[j] - 2.0 * thetad[j] / W
            s.difference[j] = theta[j]
            for i in range(theta.shape[0]):
                s.difference[j] -= common[j, i] * theta[i]
    for j in range(theta.shape[0]):
        s.before[j] = theta[j]
        thetad[j] = W * (s.first[j] - s.second[j])
    for j in range(theta.shape[0]):
        theta[j] = s.difference[j]
        for i in range(theta.shape[0]):
            theta[j] += common[j, i] * (s.second[i] + (2.0 / W + p.late_lead) * thetad[i])
    s.is_smooth[0] = 1


@inlined_exactly
def interpolate_motors(motor_inertia, p, steps, theta, thetad, share, gains):
    """Interpolate smoothed motors if an encoder of theirs has steps above `p.motor_resolution`, and
    add to v what a share of the damping per step takes through the gains on theta and theta'."""
    is_coarse = False
    for j in range(theta.shape[0]):
        is_coarse = is_coarse or steps.motor_step[j] > p.motor_resolution[j]
    for j in range(theta.shape[0]):
        size = steps.motor_step[j]
        if is_coarse and size > 0.0:
            k = steps.q.shape[0] + j
            speed = interpolated_speed(steps, k)
            wanted = PER_STEP * motor_inertia[j] * abs(speed) / size  # N m s/rad
            theta[j] = interpolated_position(steps, k)
            thetad[j] += share * min(wanted / gains[1, j], STRONGEST) * speed


@inlined_exactly
def damp_motors(gains, thetad, share, limit, torque):
    """Add a share of the damping of the motors, at smoothed velocities, to the torques for rest.

    A motor that moves its links freely has the poles of s (s / W + 1)^2 + DAMPED RATE.
    """
    for j in range(torque.shape[0]):
        wanted = torque[j] - share * DAMPED * gains[1, j] * thetad[j]
        torque[j] = min(max(wanted, -limit[j]), limit[j])


_SMOOTH = compiled_exactly(smooth_motors)
_INTERPOLATE = compiled_exactly(interpolate_motors)
_DAMP = compiled_exactly(damp_motors)


class LateHoldController(HoldController):
    """Stops and holds the arm from motor states alone, with torques that may arrive late.

    Parameters
    ----------
    q : (n,) position for which gains are designed.
    rate : 1/s, at which the speed decays.
    bandwidth : rad/s, W of the filter.
    lead : s, the expected delay.
    torque_limit, period : see :class:`.HoldController`.

    Raises InputError for values that are not positive; `lead` may be zero.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        q: Any,
        *,
        rate: float = RATE,
        bandwidth: float = BANDWIDTH,
        lead: float = LEAD,
        torque_limit: Any = np.inf,
        period: float = PERIOD,
    ) -> None:
        for name, value in (("rate", rate), ("bandwidth", bandwidth)):
            if not 0.0 < value < np.inf:
                raise InputError(f"{name} is {value}: must be positive")
        if not 0.0 <= lead < np.inf:
            raise InputError(f"lead is {lead} s: must be zero or greater")
        self._own = LateSettings(bandwidth, lead, np.full(len(actuators.motors), np.inf))
        gains = late_hold_gains(model, actuators, q, rate)
        super().__init__(
            model, actuators, gains, stop_time=1.0 / rate, torque_limit=torque_limit, period=period
        )
        self.bandwidth, self.prediction = bandwidth, lead
        self._common = common_motion(actuators)
        self._smoothed = record_fields.zeros(SmoothedMotors, m=len(actuators.motors))
        self._motor_inertia = actuation(actuators).motor_inertia
        self._smooth(period)  # compiles
        self._interpolate(0.0)
        self.damp(self.torque, self._motors[0], period, 0.0)
        self.reset()

    def watch(self, resolutions: Resolutions, steps: EncoderSteps) -> None:
        super().watch(resolutions, steps)
        self._steps = steps
        self._own = self._own._replace(motor_resolution=resolutions.motor_resolution)

    def reset(self) -> None:
        super().reset()
        self._smoothed.is_smooth[0] = 0

    def _smooth_motors(self) -> None:
        self._smooth(self._time_passed())
        self._interpolate(float(self._is_started))  # the reference starts from v

    def damp(self, torque: Array, theta: Array, step: float, share: float) -> None:
        """Add a share of the damping to the torques (m,) for rest, with motors at theta (m,) `step`
        s after the last ones. Nothing but the smoothed positions is used, since a stop on their
        velocities may just have failed; the first velocities are zero."""
        self._motors[0], self._motors[1] = theta, 0.0
        self._smooth(step)
        _DAMP(self.gains.values[2:], self._motors[1], share, self.torque_limit, torque)

    def _smooth(self, step: float) -> None:
        _SMOOTH(self._common, self._own, self._smoothed, self._steps, step, *self._motors)

    def _interpolate(self, share: float) -> None:
        gains = self.gains.values[2:]
        _INTERPOLATE(self._motor_inertia, self._own, self._steps, *self._motors, share, gains)
