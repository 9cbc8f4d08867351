"""Velocity, acceleration and jerk from positions; the state of links from what sensors there are.

Filter: a chain of m integrators, q^(m) taken as zero, corrected by the measured position y,

    x' = A x + L (y - x_0),    L_i = C(m, i + 1) w^(i+1),    all m poles at -w.

Its position error is (s / (s + w))^m y, so polynomials below degree m are followed exactly. Sampled
with the exact transition of the chain, exp(A h), over any step h, and with the poles at exp(-w h),
it is the fading-memory polynomial filter (alpha-beta, alpha-beta-gamma filters of critical
damping): exact on these polynomials too, at any steps. With b = exp(-w h) and d = 1 - b,

    m = 2:  K = (1 - b^2, d^2 / h)
    m = 3:  K = (1 - b^3, 3/2 d^2 (1 + b) / h, d^3 / h^2)
    m = 4:  K = (1 - b^4, d^2 (11 + 14 b + 11 b^2) / (6 h), 2 d^3 (1 + b) / h^2, d^4 / h^3)

Phase: towards low frequency only the highest derivative m - 1 lags, by m h / d - (m + 1) h / 2,
about m / w - h / 2; the others have no delay there, their errors being of order (s / w)^2 and
higher. So ask for one order more than is needed where lag hurts more than noise. Noise: white
noise of standard deviation n per sample appears in derivative k as about c n w^k sqrt(w h), with

    m = 2:  c = 1.12, 0.50      m = 3:  c = 1.44, 1.32, 0.43      m = 4:  c = 1.70, 2.40, 1.59, 0.40

:meth:`DerivativeFilter.delay`, `response` and `noise_gain` have the exact numbers for a step.

Link state (q, q') and motor state (theta, theta') of elastic joints come from one of SOURCES; the
last of them needs :class:`MotorSideObserver`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, exp, expm1, factorial, isfinite, log, pi
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_discrete_lyapunov
from scipy.special import gammainccinv

from .actuator_cycle import SpringSolver
from .actuator_kinds import Antagonistic, Rigid, SeriesElastic
from .actuators import Actuators
from .articulated_bodies import singular
from .errors import InputError
from .flatness import motor_motion
from .forward_dynamics_solver import ForwardDynamicsSolver
from .gains import StateFeedbackGains, damping_gains
from .inputs import Array, as_array
from .mass_matrix import gravity_forces, mass_matrix
from .model import MultibodyModel
from .springs import LinearSpring

ORDERS = (2, 3, 4)
MAX_STEP = 0.05  # s
MAX_INNOVATION = 0.3  # rad
BRIDGED = 4.0  # gaps in max_step: up to here the motion goes on as it did on average
SETTLED = 0.01  # of the initial error
LONGEST_STEP = 0.5  # |pole| h of an inner step of the observer, a fifth of what RK4 bears
DISTURBANCE_TIME = 0.5  # s, in which the observer finds a torque that nobody told of

SOURCES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "link_and_motor_encoders": ("link_position", "motor_position"),
        "motor_encoders_and_torque_sensors": ("motor_position", "joint_torque"),
        "motor_encoders": ("motor_position", "motor_torque"),
        "as_described": ("link_position", "motor_position", "joint_torque"),
    }
)
"""The signals from which the link state is estimated, on the link side of the gear.

link_position q (n,) and motor_position theta (m,) in rad; joint_torque Q (n,) in N m, of a sensor
between motor and link; motor_torque tau_m (m,) in N m, the one that acted since the last update.
With the torque sensor q is what the law of the spring says, theta - K^-1 Q of a linear one, so the
stiffness counts; with the motor encoders alone, the whole model. `as_described` follows the
`torque_sources` of the actuators joint by joint: q where they say spring deflection, Q where they
say torque sensor; the other entries may be anything, NaN too.
"""


class JointState(NamedTuple):
    """Estimates of q, q' (n,) and theta, theta' (m,), on the link side of the gear."""

    q: Array
    qd: Array
    theta: Array
    thetad: Array


class DerivativeFilter:
    """Positions of n joints and their derivatives to order - 1 from sampled positions; causal.

    >>> velocity_filter = DerivativeFilter(names, order=3, bandwidth=40.0)
    >>> q, qd, qdd = velocity_filter.update(t, measured_q)

    Parameters
    ----------
    order : m = 2, 3 or 4: how many derivatives, from the position on, are estimated.
    bandwidth : w / (2 pi) in Hz, of the m poles.
    max_step : s; a longer gap between two samples starts anew.

    Attributes: `state` (m, n), which `update` overwrites; `starts`: how often the filter has
    started. For one thread. Raises InputError for values that no filter has.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        order: int,
        bandwidth: float,
        *,
        max_step: float = MAX_STEP,
    ) -> None:
        if order not in ORDERS:
            raise InputError(f"order of the filter is {order!r}: must be 2, 3 or 4")
        self.joint_names, self.order = tuple(joint_names), int(order)
        self.bandwidth = _positive("bandwidth", bandwidth, "Hz")
        self.max_step = _positive("max_step", max_step, "s")
        self.state: Array = np.zeros((order, len(self.joint_names)))
        self.starts = 0
        self._time: float | None = None
        self._started = 0.0
        self._step = 0.0
        self._transition, self._gain = _discretised(self.order, self._pole, 1.0)

    @property
    def _pole(self) -> float:
        return 2.0 * pi * self.bandwidth

    def reset(self) -> None:
        """Forget everything: the next sample starts anew."""
        self._time = None
        self.state[:] = 0.0

    def update(self, t: float, position: Any) -> Array:
        """`state` (m, n) after the position (n,) measured at t in s.

        The first sample, and any after a gap longer than `max_step` or a jump backwards by more, is
        taken as rest there; but after a gap of up to 4 `max_step`, with the mean velocity during
        it, so that a moving joint is not taken for a standing one. A t that is not later, by up to
        `max_step`, changes nothing. Raises InputError for wrong shapes, NaN or infinity, and leaves
        everything as it was then.
        """
        y = as_array("position", position, (len(self.joint_names),), self.joint_names)
        step = _step(t, self._time)
        if -self.max_step <= step <= 0.0:
            return self.state
        if 0.0 < step <= self.max_step:
            if step != self._step:
                self._step = step
                self._transition, self._gain = _discretised(self.order, self._pole, step)
            predicted = self._transition @ self.state
            self.state[:] = predicted + np.outer(self._gain, y - predicted[0])
        else:
            moved = y - self.state[0]
            self.state[:] = 0.0
            self.state[0] = y
            if 0.0 < step <= BRIDGED * self.max_step:
                self.state[1] = moved / step
            self.starts += 1
            self._started = t
        self._time = t
        return self.state

    @property
    def settling_time(self) -> float:
        """s from a start until 1 % of an error in the highest derivative, the slowest, is left."""
        return float(gammainccinv(self.order, SETTLED)) / self._pole

    @property
    def is_settled(self) -> bool:
        """Whether the last start is a settling time ago."""
        return self._time is not None and self._time - self._started >= self.settling_time

    def delay(self, step: float) -> Array:
        """(m,) s by which each estimate lags slow motions, sampled every `step` s."""
        m = self.order
        lag = np.zeros(m)
        lag[-1] = m * step / -expm1(-self._pole * step) - 0.5 * (m + 1) * step
        return lag

    def response(self, frequency: Any, step: float) -> NDArray[np.complex128]:
        """Each estimate over the true derivative (..., m) of a sine of `frequency` (...) > 0 in Hz.

        x = z (z - exp(A h))^-1 K e from the innovation e = ((z - 1) / (z - b))^m y.
        """
        w = self._pole * _positive("step", step, "s")
        s = 2j * pi * step * np.asarray(frequency, dtype=np.float64)  # per step
        transition, gain = _discretised(self.order, w, 1.0)
        rise = np.expm1(s)  # z - 1
        innovation = (rise / (rise - expm1(-w))) ** self.order
        x = np.zeros((*s.shape, self.order), dtype=np.complex128)
        for k in reversed(range(self.order)):
            x[..., k] = (x @ transition[k] + np.exp(s) * gain[k] * innovation) / rise
        return np.asarray(x / s[..., None] ** np.arange(self.order))

    def noise_gain(self, step: float) -> Array:
        """(m,) standard deviations of the estimates over that of white noise in the samples.

        In 1/s^k. The rounding of an encoder of resolution r is about white, r / sqrt(12), while the
        joint moves several r per step.
        """
        w = self._pole * _positive("step", step, "s")
        transition, gain = _discretised(self.order, w, 1.0)
        units = (-expm1(-w)) ** np.arange(self.order)  # time in 1 / w: a well-posed equation
        F = (transition - np.outer(gain, transition[0])) * units / units[:, None]
        K = gain / units
        variance = np.diag(solve_discrete_lyapunov(F, np.outer(K, K)))
        return np.asarray(np.sqrt(variance) * units / step ** np.arange(self.order))


def _discretised(order: int, pole: float, step: float) -> tuple[Array, Array]:
    """exp(A h) (m, m) of the chain of integrators and the gains K (m,), see above."""
    powers = step ** np.arange(order)
    transition = np.zeros((order, order))
    for i in range(order):
        for j in range(i, order):
            transition[i, j] = powers[j - i] / factorial(j - i)
    b, d = exp(-pole * step), -expm1(-pole * step)
    first = -expm1(-order * pole * step)
    gains = {
        2: (first, d**2),
        3: (first, 1.5 * d**2 * (1.0 + b), d**3),
        4: (first, d**2 * (11.0 + 14.0 * b + 11.0 * b**2) / 6.0, 2.0 * d**3 * (1.0 + b), d**4),
    }
    return transition, np.array(gains[order]) / powers


class MotorSideObserver:
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
        _refuse_other_joints(model, actuators)
        actuators.refuse_counting_twice(model.reflected_inertia)
        for mask, is_so in ((actuators.is_rigid, "rigid"), (actuators.is_damped, "damped")):
            for j in np.flatnonzero(mask).tolist():
                raise InputError(
                    f"joint '{actuators.joint_names[j]}' is {is_so}: the observer from motor "
                    f"encoders alone needs an undamped spring in every joint; measure link or "
                    f"torque, and choose link_and_motor_encoders or "
                    f"motor_encoders_and_torque_sensors"
                )
        self.model, self.actuators = model, actuators
        self.bandwidth = _positive("bandwidth", bandwidth, "Hz")
        self.max_step = _positive("max_step", max_step, "s")
        self.max_innovation = _positive("max_innovation", max_innovation, "rad")
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
        self._pulls = np.zeros((m, n))  # which motors move which link
        for i, actuator, motors, _ in actuators.each():
            own = motors if isinstance(actuator, Antagonistic) else motors[:1]
            self._pulls[list(own), i] = 1.0
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
        step = _step(t, self._time)
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


@dataclass(frozen=True)
class StateEstimation:
    """How the state of links and motors is estimated.

    source : one of SOURCES. bandwidth : of filters or observer, Hz. order : of the filters, 2 to 4.
    max_step : s. max_innovation : rad, of
    that observer. Raises InputError for other values.
    """

    source: str = "as_described"
    bandwidth: float = 40.0
    order: int = 3
    max_step: float = MAX_STEP
    max_innovation: float = MAX_INNOVATION

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise InputError(f"source '{self.source}': expected one of {', '.join(SOURCES)}")
        if self.order not in ORDERS:
            raise InputError(f"order of the filter is {self.order!r}: must be 2, 3 or 4")
        _positive("bandwidth", self.bandwidth, "Hz")
        _positive("max_step", self.max_step, "s")
        _positive("max_innovation", self.max_innovation, "rad")


class StateEstimator:
    """q, q', theta, theta' of elastic joints from the signals that a robot has.

    >>> settings = StateEstimation("motor_encoders_and_torque_sensors", bandwidth=60.0)
    >>> estimator = StateEstimator(model, actuators, settings)
    >>> q, qd, theta, thetad = estimator.update(t, motor_position=theta, joint_torque=Q)

    On rigid joints q is theta where there are no link encoders. Deflections of damped springs are
    filtered from Q, linear between two samples.

    Attributes: `state`, a JointState that `update` overwrites; `link` (order, n), q and its
    derivatives as far as the filter goes, (2, n) with the observer; `signals`, what each update
    needs; `starts`; `refused`, samples that the observer did not believe. For one thread. Raises
    InputError for joints that the source cannot do.
    """

    def __init__(
        self, model: MultibodyModel, actuators: Actuators, settings: StateEstimation
    ) -> None:
        _refuse_other_joints(model, actuators)
        self.settings, self.actuators = settings, actuators
        n, m = model.n, len(actuators.motors)
        by_torque = np.zeros(n, dtype=bool)
        if settings.source == "motor_encoders_and_torque_sensors":
            by_torque[:] = True
        elif settings.source == "as_described":
            by_torque = actuators.has_torque_sensor | actuators.is_rigid
        self._by_torque = by_torque
        needs = {
            "link_position": ~by_torque,
            "motor_position": np.ones(m, dtype=bool),
            "joint_torque": by_torque & ~actuators.is_rigid,
            "motor_torque": np.ones(m, dtype=bool),
        }
        self._needs = {name: needs[name] for name in SOURCES[settings.source]}
        if settings.source == "as_described":
            self._needs = {name: needed for name, needed in self._needs.items() if needed.any()}
        self.signals: tuple[str, ...] = tuple(self._needs)
        stiffness = _linear_stiffness(actuators, by_torque)
        self._compliance = None if stiffness is None else 1.0 / stiffness
        self._deflection, self._torque = np.zeros((2, n))
        self._time: float | None = None
        gap = settings.max_step
        self._observer: MotorSideObserver | None = None
        if settings.source == "motor_encoders":
            observer = MotorSideObserver(
                model,
                actuators,
                settings.bandwidth,
                max_step=gap,
                max_innovation=settings.max_innovation,
            )
            self._observer, self.state = observer, observer.state
            self.link: Array = observer.link
        else:
            # links and motors side by side: one filter, and so one phase
            names = (*model.joint_names, *(f"{name} (motor)" for name in actuators.motor_names))
            self._filter = DerivativeFilter(names, settings.order, settings.bandwidth, max_step=gap)
            rows = self._filter.state
            self.state = JointState(rows[0, :n], rows[1, :n], rows[0, n:], rows[1, n:])
            self.link = rows[:, :n]

    def design(self, q: Any) -> None:
        """See :meth:`.MotorSideObserver.design`; nothing where no observer is."""
        if self._observer is not None:
            self._observer.design(q)

    @property
    def _estimator(self) -> DerivativeFilter | MotorSideObserver:
        return self._filter if self._observer is None else self._observer

    @property
    def starts(self) -> int:
        return self._estimator.starts

    @property
    def refused(self) -> int:
        return 0 if self._observer is None else self._observer.refused

    @property
    def is_settled(self) -> bool:
        """Whether the last start is a settling time ago."""
        return self._estimator.is_settled

    def reset(self) -> None:
        """Forget everything: the next update starts anew."""
        self._estimator.reset()
        self._time = None

    def update(self, t: float, *, stiffness: Any = None, **signals: Any) -> JointState:
        """The state at t in s from the `signals` that the source needs; others are ignored.

        stiffness : (2, v) rows k and k' of the variable joints, where no motor tells k and the
        source is not the link encoders. Jumps and gaps in t as in the filter and the observer.
        Raises InputError for a signal that is missing, and for wrong shapes, NaN or infinity;
        nothing has changed then.
        """
        given = {name: self._signal(signals, name) for name in self.signals}
        theta = given["motor_position"]
        if self._observer is not None:
            return self._observer.update(t, theta, given["motor_torque"], stiffness=stiffness)
        step = _step(t, self._time)
        if -self.settings.max_step <= step <= 0.0:
            return self.state
        q = given.get("link_position", 0.0)
        if self._by_torque.any():
            Q = given.get("joint_torque", np.zeros(self.actuators.n))
            q = np.where(self._by_torque, self._behind_springs(step, theta, Q, stiffness), q)
        self._filter.update(t, np.concatenate((q, theta)))
        self._time = t
        return self.state

    def _behind_springs(self, step: float, theta: Array, Q: Array, stiffness: Any) -> Array:
        """Link positions (n,) of the motors' and the joint torques, `step` s after the last."""
        if self._compliance is not None:
            return np.asarray(theta[self.actuators.first_motor] - self._compliance * Q)
        bent = self._deflection
        if self.actuators.is_damped.any():
            rows = np.zeros((3, self.actuators.n))
            if 0.0 < step <= self.settings.max_step:
                rows[:2] = self._torque, (Q - self._torque) / step
                bent = self.actuators.deflection_after(bent, rows, step, beyond="continue")
            else:
                rows[0] = Q
                bent = self.actuators.settled_deflection(rows, beyond="continue")
        q = self.actuators.link_position(
            theta,
            Q,
            stiffness=stiffness,
            deflection=bent,
            where=self._by_torque,
            beyond="continue",
        )
        self._deflection, self._torque = bent, Q
        return q

    def _signal(self, signals: Mapping[str, Any], name: str) -> Array:
        if signals.get(name) is None:
            given = [each for each in signals if signals[each] is not None]
            raise InputError(
                f"{name} is missing: the source {self.settings.source} needs "
                f"{' and '.join(self.signals)}; given: {', '.join(given) or 'nothing'}"
            )
        needed = self._needs[name]
        is_of_motors = name.startswith("motor")
        names = self.actuators.motor_names if is_of_motors else self.actuators.joint_names
        value = signals[name]
        if not needed.all() and np.shape(value) == needed.shape:
            value = np.where(needed, value, 0.0)
        return as_array(name, value, (len(names),), names)


def _refuse_other_joints(model: MultibodyModel, actuators: Actuators) -> None:
    if actuators.joint_names != model.joint_names:
        raise InputError(
            f"actuators of {', '.join(actuators.joint_names)}; robot '{model.name}' has "
            f"{', '.join(model.joint_names)}"
        )


def _linear_stiffness(actuators: Actuators, where: NDArray[np.bool_] | None = None) -> Array | None:
    """(n,) K, inf of rigid joints; None if a joint (of the mask `where`) has any other actuator."""
    stiffness = np.full(actuators.n, np.inf)
    for i, actuator in enumerate(actuators.actuators):
        if isinstance(actuator, Rigid) or not (where is None or where[i]):
            continue
        if not (
            isinstance(actuator, SeriesElastic)
            and isinstance(actuator.spring, LinearSpring)
            and actuator.damping == 0.0
        ):
            return None
        stiffness[i] = actuator.spring.K
    return stiffness


def _step(t: float, before: float | None) -> float:
    """Time since the last update; inf at the first."""
    if not isfinite(t):
        raise InputError(f"t is {t} s; a time must be finite")
    return float("inf") if before is None else t - before


def _positive(name: str, value: float, unit: str) -> float:
    if not (isfinite(value) and value > 0.0):
        raise InputError(f"{name} is {value} {unit}: must be positive and finite")
    return float(value)
