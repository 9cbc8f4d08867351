# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The state at the time at which a torque takes effect, predicted over known delays.

A sample that arrives at t shows the arm at t - d_s (`sensor_delay`), and the torque computed from
it acts from t + d_c (`command_delay`). Every torque that acts in between has already been sent, so
the model can advance the measured state x = (q, q', theta, theta') to that time:

    M(q) q''    = Q(q, theta) - h(q, q') + M a_links
    M_m theta'' = tau - load(q, theta) - friction(theta') + M_m a_motors

over [t - d_s, t + d_c], with tau piecewise constant (:mod:`sent_torques`). Feedback of the
predicted state, compared with the reference at that time, then yields the closed loop of a robot
without delays, shifted by d_s + d_c. This is the predictor of Manitius and Olbrot (Finite
spectrum assignment problem for systems with delays, IEEE TAC 24(4), 1979) for a nonlinear arm.
Unlike a Smith predictor, it starts from a measured state in every cycle: errors of the model act
over the delay only, and do not accumulate.

A constant error of the model would still leave a constant error of the prediction. As in Smith's
scheme, the difference between measurement and prediction corrects it: each sample is also predicted
from the previous one, with the torque that acted between them. The measured less the predicted
velocities, divided by the time between the samples, are the mean accelerations that the model does
not explain; a first-order low-pass of these is added as a = (a_links, a_motors) above.

Integrator: the classical Runge-Kutta method of order 4, compiled, with at least one step for every
torque.
"""

from math import ceil, exp, isfinite
from typing import Any

import numpy as np

from ...core import Array, DynamicsError, IndependentCopies, InputError, compiled, inlined
from ...elastic import Actuators, LinearArm, resting_second_outputs
from ...elastic_arm import ArmScratch, ArmState, ArmTables, arm_slope
from ...model import MultibodyModel
from ...rigid import mass_matrix, passive_slopes
from ..gains.joint_gains import at_rest, check_fit
from ..signals.derivative_filter import MAX_STEP
from ..signals.sent_torques import SentTorques
from .motor_side_observer import JointState

CORRECTION_BANDWIDTH = 60.0
"""rad/s, of the low-pass for accelerations that the model does not explain, by default."""

LONGEST_DELAY = 0.05
"""s, longest total delay over which settings may ask for a prediction."""

LONGEST_STEP = 1e-3  # s
FASTEST = 0.7  # largest |pole| h of an inner step, the motors' steepest friction included


@inlined
def _step(tables, buffers, second, bias, x, tau, h):
    """One step of RK4 over h s, in place; False: M is singular."""
    scratch, flat = buffers
    stage, dx, total = flat[0], flat[1], flat[2]
    n, m, size = tables.joints.shape[0], tables.motors.shape[0], x.shape[0]
    state = ArmState(stage[:n], stage[n : 2 * n], stage[2 * n : 2 * n + m], stage[2 * n + m :])
    for i in range(size):
        stage[i] = total[i] = x[i]
    for k in range(4):
        if not arm_slope(tables, scratch, state, second, tau, dx):
            return False
        for i in range(n):
            dx[n + i] += bias[i]
        for j in range(m):
            dx[2 * n + m + j] += bias[n + j]
        weight = h / 6.0 if k in (0, 3) else h / 3.0
        reach = h if k == 2 else 0.5 * h
        for i in range(size):
            total[i] += weight * dx[i]
            stage[i] = x[i] + reach * dx[i]
    for i in range(size):
        x[i] = total[i]
    return True


# The arrays of one call from Python; a NamedTuple of them would cost more than the call
def _advance(tables, buffers, second, bias, x, effective, torques, count, span, longest):
    """Advance x through span = (start, end) s under the torques that act from `effective` on; False
    if x is not finite then. buffers: those of ArmScratch as a plain tuple, whose type Numba
    recognises much faster in a call, and three work rows (3, 2 n + 2 m)."""
    external, torque, of_joints, of_motors, motion, joint_torques, bodies = buffers[0]
    scratch = ArmScratch(external, torque, of_joints, of_motors, motion, joint_torques, bodies)
    for k in range(count):
        begin = span[0] if k == 0 else max(span[0], effective[k])
        end = span[1] if k + 1 == count else min(span[1], effective[k + 1])
        if end - begin < 1e-9:
            continue
        steps = ceil((end - begin) / longest - 1e-6)
        h = (end - begin) / steps
        for _ in range(steps):
            if not _step(tables, (scratch, buffers[1]), second, bias, x, torques[k], h):
                return False
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    return isfinite(total)


_compiled_advance = compiled(_advance)


class StatePredictor(IndependentCopies):
    """Predicts q, q', theta, theta' over known delays, by the model and the torques already sent.

    >>> predictor = StatePredictor(model, actuators, sent)
    >>> state = predictor.update(t, (q, qd, theta, thetad), sensor_delay, command_delay)

    Parameters
    ----------
    sent : the torques on their way; the caller pushes every torque that it sends.
    bandwidth : bandwidth in rad/s of the correction by the differences between samples and their
        predictions; 0 turns it off.

    Attributes: `state`, a :class:`.JointState` at the time t + `command_delay` after an update at t
    (views that `update` overwrites in place); `unexplained` (n + m,), the accelerations of links
    and motors that the correction adds, rad/s^2; `stiffness` (2, v), which the caller may write
    where no motor sets it. Not thread-safe. Raises InputError for a negative bandwidth and joints
    that are not those of the model.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        sent: SentTorques,
        *,
        bandwidth: float = CORRECTION_BANDWIDTH,
    ) -> None:
        check_fit(model, actuators)
        if not 0.0 <= bandwidth < np.inf:
            raise InputError(f"bandwidth is {bandwidth} rad/s: must be zero or greater")
        n, m = model.n, len(actuators.motors)
        self.actuators, self.sent, self.bandwidth = actuators, sent, float(bandwidth)
        self._x, self._last, self._expected = np.zeros((3, 2 * n + 2 * m))
        self.state = JointState(*np.split(self._x, (n, 2 * n, 2 * n + m)))
        self._velocities = np.r_[n : 2 * n, 2 * n + m : 2 * n + 2 * m]
        self.unexplained: Array = np.zeros(n + m)
        self._no_bias = np.zeros(n + m)
        self._rigid_links = np.flatnonzero(actuators.is_rigid)
        self._rigid_motors = n + actuators.first_motor[actuators.is_rigid]
        self.stiffness: Array = np.zeros((2, len(actuators.variable_joints)))
        self.stiffness[0] = resting_second_outputs(actuators)
        self._tables = ArmTables.of(model, actuators)
        self._buffers = tuple(ArmScratch.of(model, actuators)), np.zeros((3, 2 * n + 2 * m))
        self._time: float | None = None
        self.set_model(model)
        self._advance(np.zeros_like(self._x), self._no_bias, 0.0, 0.0, 0.0)  # compile now

    def set_model(self, model: MultibodyModel) -> None:
        """Use another model of the robot from the next update on, for example with a payload."""
        check_fit(model, self.actuators)
        self._tables.set_model(model, self.actuators)
        fastest = _fastest_mode(model, self.actuators)  # 0 for rigid joints without friction
        self._longest = FASTEST / max(fastest, FASTEST / LONGEST_STEP)

    def reset(self) -> None:
        """Forget the last sample and the accelerations that the model did not explain."""
        self._time = None
        self.unexplained[:] = 0.0

    def update(
        self, t: float, measured: Any, sensor_delay: float, command_delay: float
    ) -> JointState:
        """Predict `state` at t + command_delay.

        measured : q, q', theta, theta' at t - sensor_delay, in s. Until a torque has been sent,
        `state` is the sample itself. Raises DynamicsError where the prediction diverges.
        """
        x, last = self._x, self._last
        start = t - sensor_delay
        np.concatenate(measured, out=x)
        if not self.sent.count:
            return self.state
        before, self._time = self._time, start
        is_next = before is not None and 0.0 < start - before <= MAX_STEP
        if self.bandwidth and is_next:
            assert before is not None
            self._correct(before, start, command_delay)
        last[:] = x
        if not self._advance(x, self.unexplained, start, t + command_delay, command_delay):
            x[:] = last
            self.reset()
            raise DynamicsError(
                f"the prediction over {sensor_delay + command_delay:g} s diverges; "
                f"check model and delays"
            )
        return self.state

    def _correct(self, before: float, start: float, delay: float) -> None:
        """Compare the sample at `start` with its prediction from the previous one."""
        expected, step = self._expected, start - before
        expected[:] = self._last
        if not self._advance(expected, self._no_bias, before, start, delay):
            return
        np.subtract(self._x, expected, out=expected)
        share = 1.0 - exp(-self.bandwidth * step)
        self.unexplained += share * (expected[self._velocities] / step - self.unexplained)
        self.unexplained[self._rigid_motors] = self.unexplained[self._rigid_links]

    def _advance(self, x: Array, bias: Array, start: float, end: float, delay: float) -> bool:
        sent, count = self.sent, self.sent.count
        times = sent.times[:count]
        first = max(int(np.searchsorted(times, start - delay, "right")) - 1, 0)
        return bool(
            _compiled_advance(
                self._tables,
                self._buffers,
                self.stiffness,
                bias,
                x,
                times[first:] + delay,
                sent.torques[first:count],
                count - first,
                (start, end),
                self._longest,
            )
        )


def _fastest_mode(model: MultibodyModel, actuators: Actuators) -> float:
    """1/s, of links, springs and motors at rest in the middle of the joint limits."""
    q = model.limits.middle
    arm = LinearArm(actuators, mass_matrix(model, q))
    arm.stiffness += at_rest(model, actuators, q, beyond="continue").hessian
    arm.add_link_forces(*passive_slopes(model, q))
    slope = actuators.friction_slope(np.zeros(len(arm.motors)))
    arm.damping[arm.motors, arm.motors] += slope
    arm.damping[arm.links, arm.links] += actuators.link_friction_slope
    return float(np.abs(arm.poles()).max())
