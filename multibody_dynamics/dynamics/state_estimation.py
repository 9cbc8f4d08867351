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
from math import ceil, exp, expm1, factorial, isfinite, pi
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_discrete_lyapunov
from scipy.special import gammainccinv

from .articulated_bodies import singular
from .elastic_joints import SeriesElasticJoints, refuse_counting_twice
from .errors import InputError
from .forward_dynamics_solver import ForwardDynamicsSolver
from .inputs import Array, as_array
from .mass_matrix import gravity_forces, mass_matrix
from .model import MultibodyModel

ORDERS = (2, 3, 4)
MAX_STEP = 0.05  # s
SETTLED = 0.01  # of the initial error
LONGEST_STEP = 0.5  # w h of an inner step of the observer

SOURCES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "link_and_motor_encoders": ("link_position", "motor_position"),
        "motor_encoders_and_torque_sensors": ("motor_position", "joint_torque"),
        "motor_encoders": ("motor_position", "motor_torque"),
    }
)
"""The signals from which the link state is estimated, (n,) each, on the link side of the gear.

link_position q and motor_position theta in rad; joint_torque Q in N m, of a sensor between motor
and link; motor_torque tau_m in N m, the one that acted since the last update. With the torque
sensor q = theta - K^-1 Q, so the stiffness counts; with the motor encoders alone, the whole model.
"""


class DerivativeFilter:
    """Positions of n joints and their derivatives to order - 1 from sampled positions; causal.

    >>> velocity_filter = DerivativeFilter(names, order=3, bandwidth=40.0)
    >>> q, qd, qdd = velocity_filter.update(t, measured_q)

    Parameters
    ----------
    order : m = 2, 3 or 4: how many derivatives, from the position on, are estimated.
    bandwidth : w / (2 pi) in Hz, of the m poles.
    max_step : s; a longer gap between two samples starts anew, at rest.

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

        The first sample, and any after a jump backwards or a gap longer than `max_step`, is taken
        as rest there; the same t again changes nothing. Raises InputError for wrong shapes, NaN or
        infinity, and leaves everything as it was then.
        """
        y = as_array("position", position, (len(self.joint_names),), self.joint_names)
        step = _step(t, self._time)
        if step == 0.0:
            return self.state
        if 0.0 < step <= self.max_step:
            if step != self._step:
                self._step = step
                self._transition, self._gain = _discretised(self.order, self._pole, step)
            predicted = self._transition @ self.state
            self.state[:] = predicted + np.outer(self._gain, y - predicted[0])
        else:
            self.state[:] = 0.0
            self.state[0] = y
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

    A Luenberger observer, with the innovation e = theta - theta^ (^: estimated), K theta taken from
    the measurement, and the nonlinear link dynamics h = C q' + g as an input known at the estimate:

        theta^' = v^ + 4 w e
        v^'     = (tau_m - K (theta - q^) - friction(v^)) / M_m + L_2 e
        q^'     = u^ + L_3 e
        u^'     = M(q^)^-1 (K (theta - q^) - h(q^, u^)) + L_4 e

    With k = K / M_m and W = k M^-1 M_m (n, n), at the estimated configuration, the gains

        L_2 = 6 w^2 - W,    L_3 = k^-1 (4 w^3 - 4 w W),    L_4 = k^-1 (w^4 - W L_2)

    give the linearised error (d/dt + w)^4 e = 0 in every joint, decoupled though M is not. It is
    integrated by RK4 with theta linear between samples; the error system's matrix is -w plus a
    nilpotent part of index 4, on which RK4 is stable at any stiffness.

    Needs: a spring in every joint, motor torques, and good data of everything. A wrong link torque
    d (payload, contact) shifts q^ by k^-1 L_2 k M^-1 d / w^4, 6 M^-1 d / w^2 where w is well above
    the resonances; a wrong motor torque or friction f by f / K then. No force from outside can
    be told from q^ here: where there may be contact, measure q or Q. Noise of theta shows least in
    q^ with w among the :meth:`resonances` of the links; above, it grows with w^2, and below them
    far faster, as it takes strong gains to slow a fast resonance down.

    Parameters: `bandwidth` is w / (2 pi) in Hz. Attributes: `state` (4, n) with the rows theta,
    theta', q, q'; `innovation` (n,) the last theta - theta^ before the correction has acted, large
    where the model is wrong; `starts`. For one thread. Raises InputError that names a rigid joint.
    """

    def __init__(
        self,
        model: MultibodyModel,
        joints: SeriesElasticJoints,
        bandwidth: float,
        *,
        max_step: float = MAX_STEP,
    ) -> None:
        if joints.joint_names != model.joint_names:
            raise InputError(
                f"springs and motors of {', '.join(joints.joint_names)}; robot '{model.name}' has "
                f"{', '.join(model.joint_names)}"
            )
        refuse_counting_twice(joints, model.reflected_inertia)
        for j in np.flatnonzero(joints.is_rigid).tolist():
            raise InputError(
                f"joint '{joints.joint_names[j]}' is rigid: the observer from motor encoders alone "
                f"needs a spring in every joint; measure link or torque, and choose that source"
            )
        self.model, self.joints = model, joints
        self.bandwidth = _positive("bandwidth", bandwidth, "Hz")
        self.max_step = _positive("max_step", max_step, "s")
        self.state: Array = np.zeros((4, model.n))
        self.innovation: Array = np.zeros(model.n)
        self.starts = 0
        self._links = ForwardDynamicsSolver(model)
        self._time: float | None = None
        self._started = 0.0
        self._measured = np.zeros(model.n)

    @property
    def _pole(self) -> float:
        return 2.0 * pi * self.bandwidth

    @property
    def settling_time(self) -> float:
        """s, as of a filter of order 4 with the same bandwidth."""
        return float(gammainccinv(4, SETTLED)) / self._pole

    @property
    def is_settled(self) -> bool:
        """Whether the last start is a settling time ago."""
        return self._time is not None and self._time - self._started >= self.settling_time

    def reset(self) -> None:
        """Forget everything: the next update starts anew."""
        self._time = None
        self.state[:] = 0.0
        self.innovation[:] = 0.0

    def update(self, t: float, motor_position: Any, motor_torque: Any) -> Array:
        """`state` (4, n) at t in s, from theta (n,) at t and tau_m (n,) held since the last update.

        The first update, and any after a jump backwards or a gap longer than `max_step`, starts at
        rest under gravity; the same t again changes nothing. Raises InputError for wrong shapes,
        NaN or infinity, DynamicsError where M is singular; all stays as it was then.
        """
        n, names = self.model.n, self.joints.joint_names
        theta = as_array("motor_position", motor_position, (n,), names)
        torque = as_array("motor_torque", motor_torque, (n,), names)
        step = _step(t, self._time)
        if step == 0.0:
            return self.state
        if 0.0 < step <= self.max_step:
            count = max(1, ceil(step * self._pole / LONGEST_STEP))
            x = self.state
            for i in range(count):
                ends = [self._measured + (theta - self._measured) * k / count for k in (i, i + 1)]
                x = self._advanced(x, ends[0], ends[1], torque, step / count)
            self.state[:] = x
            self.innovation[:] = theta - x[0]
        else:
            q = theta
            for _ in range(20):  # a contraction, as springs hold the arm
                q = theta - self.joints.compliance * gravity_forces(self.model, q)
            self.state[:] = theta, np.zeros(n), q, np.zeros(n)
            self.innovation[:] = 0.0
            self.starts += 1
            self._started = t
        self._time = t
        self._measured[:] = theta
        return self.state

    def resonances(self, q: Any) -> Array:
        """(n,) in Hz, increasing: of the links on their springs at q (n,), the motors standing."""
        q = as_array("q", q, (self.model.n,), self.joints.joint_names)
        root = np.sqrt(self.joints.stiffness)
        flexible = root[:, None] * np.linalg.inv(mass_matrix(self.model, q)) * root
        return np.asarray(np.sqrt(np.linalg.eigvalsh(flexible)) / (2.0 * pi))

    def _advanced(self, x: Array, first: Array, last: Array, torque: Array, h: float) -> Array:
        """RK4 over h with theta going from `first` to `last` and the gains as they are at x."""
        gains = self._gains(x[2])
        middle = 0.5 * (first + last)
        k1 = self._slope(x, first, torque, gains)
        k2 = self._slope(x + 0.5 * h * k1, middle, torque, gains)
        k3 = self._slope(x + 0.5 * h * k2, middle, torque, gains)
        k4 = self._slope(x + h * k3, last, torque, gains)
        return np.asarray(x + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4))

    def _gains(self, q: Array) -> tuple[Array, Array, Array]:
        w, inertia = self._pole, self.joints.motor_inertia
        k = (self.joints.stiffness / inertia)[:, None]
        eye = np.eye(len(q))
        W = k * np.linalg.inv(mass_matrix(self.model, q)) * inertia
        L2 = 6.0 * w**2 * eye - W
        return L2, (4.0 * w**3 * eye - 4.0 * w * W) / k, (w**4 * eye - W @ L2) / k

    def _slope(
        self, x: Array, theta: Array, torque: Array, gains: tuple[Array, Array, Array]
    ) -> Array:
        estimate, thetad, q, qd = x
        spring = self.joints.stiffness * (theta - q)
        links = self._links
        links.state[0], links.state[1], links.torque[0] = q, qd, spring
        if not links.update():
            raise singular(self.model, q)
        e = theta - estimate
        L2, L3, L4 = gains
        motor = torque - spring - self.joints.friction(thetad)
        return np.stack(
            [
                thetad + 4.0 * self._pole * e,
                motor / self.joints.motor_inertia + L2 @ e,
                qd + L3 @ e,
                links.result[0] + L4 @ e,
            ]
        )


class JointState(NamedTuple):
    """Estimates (n,) each of q, q', theta, theta', on the link side of the gear."""

    q: Array
    qd: Array
    theta: Array
    thetad: Array


@dataclass(frozen=True)
class StateEstimation:
    """How the state of links and motors is estimated.

    source : one of SOURCES. bandwidth : of filters or observer, Hz. order : of the filters, 2 to 4;
    the observer of the source motor_encoders has order 4. max_step : s. Raises InputError for other
    values.
    """

    source: str
    bandwidth: float
    order: int = 3
    max_step: float = MAX_STEP

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise InputError(f"source '{self.source}': expected one of {', '.join(SOURCES)}")
        if self.order not in ORDERS:
            raise InputError(f"order of the filter is {self.order!r}: must be 2, 3 or 4")
        _positive("bandwidth", self.bandwidth, "Hz")
        _positive("max_step", self.max_step, "s")

    @property
    def signals(self) -> tuple[str, ...]:
        """What each update needs, see SOURCES."""
        return SOURCES[self.source]


class StateEstimator:
    """q, q', theta, theta' of elastic joints from the signals that a robot has.

    >>> settings = StateEstimation("motor_encoders_and_torque_sensors", bandwidth=60.0)
    >>> estimator = StateEstimator(model, joints, settings)
    >>> q, qd, theta, thetad = estimator.update(t, motor_position=theta, joint_torque=Q)

    Attributes: `state` (4, n) with the rows of JointState, overwritten by `update`; `link` (m, n),
    q and its derivatives as far as the filter goes, q and q' with the observer; `starts`. On rigid
    joints q is theta where there are no link encoders. For one thread.
    """

    def __init__(
        self, model: MultibodyModel, joints: SeriesElasticJoints, settings: StateEstimation
    ) -> None:
        self.settings, self.joints = settings, joints
        self.state: Array = np.zeros((4, model.n))
        self._names = model.joint_names
        self._result = JointState(*self.state)
        if joints.joint_names != model.joint_names:
            raise InputError(
                f"springs and motors of {', '.join(joints.joint_names)}; robot '{model.name}' has "
                f"{', '.join(model.joint_names)}"
            )
        gap = settings.max_step
        self._observer: MotorSideObserver | None = None
        if settings.source == "motor_encoders":
            self._observer = MotorSideObserver(model, joints, settings.bandwidth, max_step=gap)
            self.link: Array = self._observer.state[2:]
        else:
            # links and motors side by side: one filter, and so one phase
            names = (*self._names, *(f"{name} (motor)" for name in self._names))
            self._filter = DerivativeFilter(names, settings.order, settings.bandwidth, max_step=gap)
            self.link = self._filter.state[:, : model.n]

    @property
    def _estimator(self) -> DerivativeFilter | MotorSideObserver:
        return self._filter if self._observer is None else self._observer

    @property
    def starts(self) -> int:
        return self._estimator.starts

    @property
    def is_settled(self) -> bool:
        """Whether the last start is a settling time ago."""
        return self._estimator.is_settled

    def reset(self) -> None:
        """Forget everything: the next update starts anew."""
        self._estimator.reset()
        self.state[:] = 0.0

    def update(self, t: float, **signals: Any) -> JointState:
        """The state at t in s from the signals (n,) that the source needs; others are ignored.

        Jumps and gaps in t as in the filter and the observer. Raises InputError for a signal that
        is missing, and for wrong shapes, NaN or infinity; nothing has changed then.
        """
        first, second = (self._signal(signals, name) for name in self.settings.signals)
        if self._observer is not None:
            theta, thetad, q, qd = self._observer.update(t, first, second)
        else:
            if self.settings.source == "link_and_motor_encoders":
                q, theta = first, second
            else:
                q, theta = first - self.joints.compliance * second, first
            n = len(self._names)
            estimate = self._filter.update(t, np.concatenate((q, theta)))
            q, theta = estimate[0, :n], estimate[0, n:]
            qd, thetad = estimate[1, :n], estimate[1, n:]
        self.state[:] = q, qd, theta, thetad
        return self._result

    def _signal(self, signals: Mapping[str, Any], name: str) -> Array:
        if signals.get(name) is None:
            given = [each for each in signals if signals[each] is not None]
            raise InputError(
                f"{name} is missing: the source {self.settings.source} needs "
                f"{' and '.join(self.settings.signals)}; given: {', '.join(given) or 'nothing'}"
            )
        return as_array(name, signals[name], (len(self._names),), self._names)


def _step(t: float, before: float | None) -> float:
    """Time since the last update; inf at the first."""
    if not isfinite(t):
        raise InputError(f"t is {t} s; a time must be finite")
    return float("inf") if before is None else t - before


def _positive(name: str, value: float, unit: str) -> float:
    if not (isfinite(value) and value > 0.0):
        raise InputError(f"{name} is {value} {unit}: must be positive and finite")
    return float(value)
