"""Link and motor state from motor positions and motor torques alone, by the model of the arm.

The model itself, corrected at the motors by the innovation e = theta - theta^ (^: estimated):

    theta^'     = v^ + (G_theta' / M_m) e
    M_m v^'     = tau_m - load(q^, theta^) - friction(v^) + G_theta e
    M(q^) q^''  = Q(q^, theta^) + d^ - h(q^, q^')
    d^'         = (G_theta / T) e,  of each joint the sum over its motors

d^ is a torque on the links that nobody told of: a payload, a contact, wrong masses.

Why it is stable. Without d^, the errors obey the equations of the arm itself with a spring
G_theta and a damper G_theta' from each motor to a wall that stands still: they lose energy, in
every configuration, with any friction, and however fast the correction is, as long as springs
and walls are stiffer than gravity. They are the closed loop of :class:`.HoldController`, and
its :func:`.damping_gains`, designed once, serve here too. d^ is found in T = DISTURBANCE_TIME;
where that loop is slower than T, T does not suit. An observer whose poles are placed instead,
all at one bandwidth, has to slow the resonances of the links down by strong gains on q^, and is
unstable where those do not know the friction of standing motors.

Needs: an undamped spring in every joint and motor torques. At rest a wrong motor torque or
friction f shifts q^ by f / K and d^ by f; an unknown torque on the links does not shift q^.
On the way there, for about T, it does, by up to d (1 / K + 1 / G_theta).
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil, log, pi
from typing import Any, NamedTuple

import numpy as np

from ..core import Array, InputError, as_array
from ..elastic import Actuators, SpringSolver, motor_motion
from ..model import MultibodyModel
from ..rigid import ForwardDynamicsSolver, gravity_forces, mass_matrix, singular
from .derivative_filter import MAX_STEP, SETTLED, positive, time_step
from .gains import StateFeedbackGains, check_fit, damping_gains

MAX_INNOVATION = 0.3  # rad
LONGEST_STEP = 0.5  # |pole| h of an inner step of the observer, a fifth of what RK4 bears
DISTURBANCE_TIME = 0.5  # s, in which the observer finds a torque that nobody told of


class JointState(NamedTuple):
    """Estimates of q, q' (n,) and theta, theta' (m,), on the link side of the gear."""

    q: Array
    qd: Array
    theta: Array
    thetad: Array


class MotorSideObserver:
    """Link and motor state from motor positions and motor torques alone, by the model of the arm.

    Parameters: `bandwidth` in Hz bounds that of the correction (see :func:`.damping_gains`), which
    is also bounded by the springs; `max_innovation` in rad: a sample further from where its motor
    is expected is not believed, as a single one could drive the estimate anywhere.
    Attributes: `state`, a JointState of views that `update` overwrites; `link` (2, n), its q and
    q'; `link_torque` (n,) is d^; `innovation` (m,) the last theta - theta^, large where the model
    is wrong; `starts`; `refused`, how many samples were not believed. For one thread. Raises
    InputError that names a rigid or damped joint.
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
                    f"joint '{actuators.joint_names[j]}' is {is_so}: the observer from motor "
                    f"encoders alone needs an undamped spring in every joint; measure link or "
                    f"torque, and choose link_and_motor_encoders or "
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
        self._links = ForwardDynamicsSolver(model)
        self._springs = SpringSolver(actuators)
        self._time: float | None = None
        self._started = 0.0
        self._measured = np.zeros(m)
        self._pulls = np.sign(actuators.link_of_motors)  # which motors move which link
        self.gains: StateFeedbackGains | None = None
        self._fastest = 0.0

    @property
    def settling_time(self) -> float:
        """s until 1 % of a wrong start is left, by the slowest pole; 0 before the design."""
        if self.gains is None:
            return 0.0
        assert self.gains.poles is not None
        return log(SETTLED) / float(self.gains.poles.real.max())

    @property
    def is_settled(self) -> bool:
        """Whether the last start is a settling time ago."""
        return self._time is not None and self._time - self._started >= self.settling_time

    def reset(self) -> None:
        """Forget everything: the next update starts anew."""
        self._time = None
        self._x[:] = 0.0
        self.innovation[:] = 0.0

    def design(self, q: Any) -> None:
        """Gains that damp best near rest at q (n,), and are stable everywhere. The first update
        does it where the arm hangs then, if nobody did before; some ms.

        Raises InputError where springs cannot hold the arm at q.
        """
        bandwidth = 2.0 * pi * self.bandwidth
        gains = damping_gains(self.model, self.actuators, q, bandwidth=bandwidth)
        assert gains.poles is not None
        steepest = [
            motor.viscous + (motor.coulomb / motor.coulomb_velocity if motor.coulomb else 0.0)
            for motor in self.actuators.motors
        ]
        damping = (gains.values[3] + steepest) / self.actuators.motor_inertia
        self._fastest = max(float(np.abs(gains.poles).max()), float(damping.max()))
        self.gains = gains

    def update(
        self, t: float, motor_position: Any, motor_torque: Any, *, stiffness: Any = None
    ) -> JointState:
        """`state` at t in s, from theta (m,) at t and tau_m (m,) held since the last update.

        stiffness : (2, v) rows k and k' of the variable joints, where no motor tells k. The first
        update, and any after a gap longer than `max_step`, a jump backwards by more or a motion
        that diverged, starts at rest under gravity. A t that is not later, by up to `max_step`,
        changes nothing, nor does a sample that is not believed; so where they go on, the gap ends
        it. Raises InputError for wrong shapes, NaN or infinity, and a stiffness that is missing,
        DynamicsError where M is singular; all stays as it was then.
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
        """x after the step in which the motors went on to theta; None if it diverges."""
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
        """x with the links hanging at rest on the motors at theta."""
        q = theta[self.actuators.first_motor]
        for _ in range(20):  # a contraction, as springs hold the arm
            gravity = gravity_forces(self.model, q)
            q = self.actuators.link_position(theta, gravity, stiffness=stiffness, beyond="continue")
        return np.concatenate((theta, np.zeros_like(theta), q, np.zeros(2 * len(q))))

    def resonances(self, q: Any, stiffness: Any = None) -> Array:
        """(n,) in Hz, increasing: of the links on their springs at q (n,), the motors standing.

        stiffness : (v,) second outputs of the variable joints, see :func:`.motor_motion`.
        """
        q = as_array("q", q, (self.model.n,), self.actuators.joint_names)
        state, torque = np.zeros((2, 3, len(q)))
        state[0], torque[0] = q, gravity_forces(self.model, q)
        held = None
        if stiffness is not None:
            held = np.zeros((3, len(self.actuators.variable_joints)))
            held[0] = as_array("stiffness", stiffness, held.shape[1:])
        theta = motor_motion(self.actuators, state, torque, held, beyond="continue").position
        rows = None if held is None else held[:2]
        rest = np.zeros_like(theta)
        bent = self.actuators.springs(q, 0 * q, theta, rest, stiffness=rows, beyond="continue")
        root = np.sqrt(bent.stiffness)
        flexible = root[:, None] * np.linalg.inv(mass_matrix(self.model, q)) * root
        return np.asarray(np.sqrt(np.linalg.eigvalsh(flexible)) / (2.0 * pi))

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
            return np.full_like(x, np.nan)  # it diverges
        assert self.gains is not None
        estimate, thetad, q, qd, push = (x[part] for part in self._parts)
        springs, links, actuators = self._springs, self._links, self.actuators
        springs.q[:], springs.theta[:] = q, estimate
        springs.update()
        links.state[0], links.state[1], links.torque[0] = q, qd, springs.torque + push
        if not links.update():
            raise singular(self.model, q)
        pull, damper = self.gains.values[2:] * (theta - estimate)
        motor = torque - springs.load - actuators.friction(thetad) + pull
        inertia = actuators.motor_inertia
        found = (pull @ self._pulls) / DISTURBANCE_TIME
        return np.concatenate(
            (thetad + damper / inertia, motor / inertia, qd, links.result[0], found)
        )
