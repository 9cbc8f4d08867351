# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Observer of the link and motor state from motor positions and torques alone.

A model of the arm, corrected at the motors by the innovation e = theta - theta^ (^: estimated):

    theta^'     = v^ + (G_theta' / M_m) e
    M_m v^'     = tau_m - load(q^, theta^) - friction(v^) + G_theta e
    M(q^) q^''  = Q(q^, theta^) + d^ - h(q^, q^')
    d^'         = (G_theta / T) e,  for each joint the sum over its motors

d^ is an unknown torque on the links: a payload, a contact, wrong masses.

Stability: without d^, the errors obey the equations of the arm itself, with a spring G_theta and a
damper G_theta' from each motor to a fixed wall. This error dynamics loses energy in every
configuration, with any friction and for any speed of the correction, as long as both kinds of
springs are stiffer than gravity. It is also the closed loop of :class:`.HoldController`, so the
same :func:`.damping_gains`, designed once, are used here. d^ converges in T = DISTURBANCE_TIME,
which must be slower than that loop. In contrast, an observer with all poles at one bandwidth needs
large gains on q^ to slow down the resonances of the links; with the friction of motors at rest,
which these gains ignore, it becomes unstable.

Friction of the links and the torques of slip elements are those along the desired motion, which the
caller writes, as for all observers: at estimated velocities, their signs would follow its noise
near rest, and steep friction would need shorter steps than a cycle.

Requirements: an undamped spring in every joint, and motor torques. At rest an error f in motor
torque or friction shifts q^ by f / K and d^ by f; an unknown torque d on the links does not shift
q^. While d^ converges, for about T, it shifts q^ by up to d (1 / K + 1 / G_theta).
"""

from itertools import pairwise
from math import ceil, log, pi
from typing import Any, NamedTuple

import numpy as np

from ...core import Array, IndependentCopies, InputError, as_array
from ...elastic import Actuators, SpringSolver
from ...model import MultibodyModel
from ...rigid import ForwardDynamicsSolver, inverse_solver, singular
from ..gains.joint_gains import StateFeedbackGains, check_fit, damping_gains
from ..signals.derivative_filter import MAX_STEP, SETTLED, positive, time_step

MAX_INNOVATION = 0.3  # rad
LONGEST_STEP = 0.5  # |pole| h of an inner step of the observer; RK4 is stable up to five times this
DISTURBANCE_TIME = 0.5  # s, in which the observer finds an unknown torque on the links


class JointState(NamedTuple):
    """Estimates of q, q' (n,) and theta, theta' (m,), on the link side of the gear."""

    q: Array
    qd: Array
    theta: Array
    thetad: Array


class MotorSideObserver(IndependentCopies):
    """Link and motor state from motor positions and motor torques alone, by the model of the arm.

    Parameters: `bandwidth` in Hz limits the bandwidth of the correction (see
    :func:`.damping_gains`), which the springs limit, too; `max_innovation` in rad: samples further
    from the expected motor position are rejected, because one outlier could spoil the estimate.
    Attributes: `state`, a JointState of views that `update` overwrites in place; `link` (2, n), its
    q and q'; `link_torque` (n,), d^; `link_friction` (n,), N m, and `spring_states`, as of a
    :class:`.MotorFeedforward`, along the desired motion, which the caller writes, at first zero;
    `innovation` (m,), the last theta - theta^, large where the
    model is wrong; `starts`; `refused`, how many samples were rejected. Not thread-safe. Raises
    InputError, naming the joint, for a rigid or damped one.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        bandwidth: float,
        *,
        max_step: float = MAX_STEP,
        max_innovation: float = MAX_INNOVATION,
    ) -> None:
        check_fit(model, actuators)
        for mask, is_so in ((actuators.is_rigid, "rigid"), (actuators.is_damped, "damped")):
            for j in np.flatnonzero(mask).tolist():
                raise InputError(
                    f"joint '{actuators.joint_names[j]}' is {is_so}: estimation from motor "
                    f"encoders alone requires an undamped spring in every joint; measure link "
                    f"positions or joint torques, and choose link_and_motor_encoders or "
                    f"motor_encoders_and_torque_sensors"
                )
        self.model, self.actuators = model, actuators
        self.bandwidth = positive("bandwidth", bandwidth, "Hz")
        self.max_step = positive("max_step", max_step, "s")
        self.max_innovation = positive("max_innovation", max_innovation, "rad")
        n, m = model.n, len(actuators.motors)
        self._x = np.zeros(2 * m + 3 * n)
        ends = np.cumsum([0, m, m, n, n, n])
        self._parts = [slice(*pair) for pair in pairwise(ends)]
        theta, thetad, q, qd, self.link_torque = (self._x[part] for part in self._parts)
        self.state = JointState(q, qd, theta, thetad)
        self.link: Array = self._x[2 * m : 2 * (m + n)].reshape(2, n)
        self.innovation: Array = np.zeros(m)
        self.starts = self.refused = 0
        model.require_tree("the state from motor encoders alone")
        self._links, self._weight = ForwardDynamicsSolver(model), inverse_solver(model)
        self._springs = SpringSolver(actuators)
        self.spring_states: Array = self._springs.states
        self.link_friction: Array = np.zeros(n)
        self._time: float | None = None
        self._started = 0.0
        self._measured = np.zeros(m)
        self._pulls = np.sign(actuators.link_of_motors)  # which motors move which link
        self.gains: StateFeedbackGains | None = None
        self._fastest = 0.0

    @property
    def settling_time(self) -> float:
        """s in which an initial error decays to 1 %, by the slowest pole; 0 before the design."""
        if self.gains is None:
            return 0.0
        assert self.gains.poles is not None
        return log(SETTLED) / float(self.gains.poles.real.max())

    @property
    def is_settled(self) -> bool:
        """Whether at least a settling time has passed since the last start."""
        return self._time is not None and self._time - self._started >= self.settling_time

    def reset(self) -> None:
        """Clear the state: the next update restarts the observer."""
        self._time = None
        self._x[:] = 0.0
        self.innovation[:] = 0.0

    def design(self, q: Any) -> None:
        """Design gains that are stable everywhere, with the best damping near rest at q (n,); this
        takes a few ms. Without this call, the first update designs them for the position at that
        time.

        Raises InputError where the springs cannot hold the arm at q.
        """
        bandwidth = 2.0 * pi * self.bandwidth
        gains = damping_gains(self.model, self.actuators, q, bandwidth=bandwidth)
        assert gains.poles is not None
        load = np.nan_to_num(self.actuators.torque_limit, posinf=0.0)
        steepest = self.actuators.friction_slope(np.zeros(len(load)), load)
        damping = (gains.values[3] + steepest) / self.actuators.motor_inertia
        self._fastest = max(float(np.abs(gains.poles).max()), float(damping.max()))
        self.gains = gains

    def move_base(self, pose: Array, rates: Array) -> None:
        """Use this motion of the base from the next update on, see
        :meth:`.ModelSolver.move_base`."""
        self._links.move_base(pose, rates)
        self._weight.move_base(pose, rates)

    def update(
        self, t: float, motor_position: Any, motor_torque: Any, *, stiffness: Any = None
    ) -> JointState:
        """Update `state` to t in s, from theta (m,) at t and tau_m (m,) held since the last update.

        stiffness : (2, v) rows k and k' of the variable joints, needed where no motor determines k.
        The first update starts at rest under gravity, as does any update after a divergence or
        after a gap or a jump backwards of more than `max_step`. A rejected sample changes nothing,
        nor does a t that equals the last one or is up to `max_step` earlier; if samples keep being
        rejected, the resulting gap leads to a new start. Raises InputError for wrong shapes, NaN or
        infinity and a missing stiffness, and DynamicsError where M is singular; `state` is then
        unchanged.
        """
        actuators, names = self.actuators, self.actuators.motor_names
        theta = as_array("motor_position", motor_position, (len(names),), names)
        torque = as_array("motor_torque", motor_torque, (len(names),), names)
        step = time_step(t, self._time)
        if -self.max_step <= step <= 0.0:
            return self.state
        k = actuators.measured_stiffness(stiffness)
        if k is not None:
            self._springs.stiffness[:] = k
        x = None
        if 0.0 < step <= self.max_step:
            expected = self.state.theta + step * self.state.thetad
            if np.abs(theta - expected).max() > self.max_innovation:
                self.refused += 1
                return self.state
            x = self._followed(theta, torque, step)
        if x is None:
            x = self._at_rest(theta, stiffness)
            if self.gains is None:
                self.design(x[self._parts[2]])
            self.starts += 1
            self._started = t
        self._x[:] = x
        self.innovation[:] = theta - x[self._parts[0]]
        self._time = t
        self._measured[:] = theta
        return self.state

    def _followed(self, theta: Array, torque: Array, step: float) -> Array | None:
        """x after a step in which the motors moved to theta; None if x diverges."""
        count = max(1, ceil(step * self._fastest / LONGEST_STEP))
        x, before = self._x, self._measured
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(count):
                first, last = (before + (theta - before) * k / count for k in (i, i + 1))
                x = self._advanced(x, first, last, torque, step / count)
                if not np.isfinite(x).all():
                    return None
        return x

    def _at_rest(self, theta: Array, stiffness: Any) -> Array:
        """x with the links in equilibrium and the motors at theta."""
        q = theta[self.actuators.first_motor]
        known = self.link_friction - self.actuators.slip_torque(self.spring_states)
        for _ in range(20):  # a contraction, as springs hold the arm
            self._weight.state[0] = q
            self._weight.update()
            Q = self._weight.result[0] + known
            q = self.actuators.link_position(theta, Q, stiffness=stiffness, beyond="continue")
        return np.concatenate((theta, np.zeros_like(theta), q, np.zeros(2 * len(q))))

    def _advanced(self, x: Array, first: Array, last: Array, torque: Array, h: float) -> Array:
        """RK4 over h with theta going from `first` to `last`."""
        middle = 0.5 * (first + last)
        k1 = self._slope(x, first, torque)
        k2 = self._slope(x + 0.5 * h * k1, middle, torque)
        k3 = self._slope(x + 0.5 * h * k2, middle, torque)
        k4 = self._slope(x + h * k3, last, torque)
        return np.asarray(x + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4))

    def _slope(self, x: Array, theta: Array, torque: Array) -> Array:
        if not np.isfinite(x).all():
            return np.full_like(x, np.nan)  # x has diverged
        assert self.gains is not None
        estimate, thetad, q, qd, push = (x[part] for part in self._parts)
        springs, links, actuators = self._springs, self._links, self.actuators
        springs.q[:], springs.theta[:] = q, estimate
        springs.update()
        links.state[0], links.state[1] = q, qd
        links.torque[0] = springs.torque + push - self.link_friction
        if not links.update():
            raise singular(self.model, q)
        pull, damper = self.gains.values[2:] * (theta - estimate)
        motor = torque - springs.load - actuators.friction(thetad, springs.load) + pull
        inertia = actuators.motor_inertia
        found = (pull @ self._pulls) / DISTURBANCE_TIME
        return np.concatenate(
            (thetad + damper / inertia, motor / inertia, qd, links.result[0], found)
        )
