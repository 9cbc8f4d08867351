# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Gains of linear feedback and poles of feedback linearisation, designed from the model.

At rest at q, under gravity and with the second outputs at their reference, a single joint obeys

    m q'' = K (theta - q) - P q + d (theta' - q'),
    M_m theta'' + viscous theta' + K (theta - q) + d (theta' - q') = tau,

with the tangent stiffness K of its springs between motor and link, P of those between base and
link, of which most kinds have none, and m the inertia that a torque on the joint moves
(:func:`inertias_felt`). Gains are designed for this model, joint by joint, and then checked on the
whole arm with all joints coupled (:func:`closed_loop_poles`).

Joints with two motors: the two of an antagonistic joint, with springs of stiffness K_a + K_b = K,
act as one motor. Its position is (K_a theta_a + K_b theta_b) / K; its inertia, friction and torque
are the sums of theirs (exactly if K_a / M_a = K_b / M_b). The joint's gains are divided between
them in proportion to their inertias: each motor delivers its share of the torque for the error of
the link and controls its own theta, which also holds the pretension. A stiffness drive moves no
link: it has its own position loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, solve_continuous_are

from ...core import (
    Array,
    IndependentCopies,
    InputError,
    OverloadError,
    as_array,
    read_only,
    refused_as,
)
from ...elastic import (
    Actuators,
    Beyond,
    LinearArm,
    motor_motion,
    resting_second_outputs,
    rigid_rotors,
)
from ...model import MultibodyModel
from ...rigid import gravity_forces, gravity_gradient, mass_matrix, passive_slopes
from .joint_values import FASTEST, SLOWEST, bandwidths, is_possible, per_name

ComplexArray = NDArray[np.complex128]
POSTURES = 50  # at which the inertia felt at a joint is computed


def check_fit(
    model: MultibodyModel,
    actuators: Actuators,
    names: tuple[str, ...] | None = None,
    what: str = "",
) -> None:
    """Raise InputError unless links, actuators and, if given, the `names` in `what` match; `names`
    are those of joints (poles) or of motors (gains).
    """
    actuators.refuse_other_joints(model)
    actuators.refuse_counting_twice(model.reflected_inertia)
    if names is not None and names not in (actuators.joint_names, actuators.motor_names):
        raise InputError(f"{what} are for {', '.join(names)}, but the robot has {_all(actuators)}")


def _all(actuators: Actuators) -> str:
    motors = actuators.motor_names
    if motors == actuators.joint_names:
        return ", ".join(motors)
    return f"the joints {', '.join(actuators.joint_names)} and the motors {', '.join(motors)}"


# Poles


@dataclass(frozen=True, eq=False)
class JointPoles(IndependentCopies):
    """Poles in 1/s for the error of every joint, and of every second output that a motor sets.

    An elastic joint has four, a rigid one two, a damped one three, because its damper passes a step
    of the motor torque directly on to q'''; a stiffness or pretension has two.

    Attributes
    ----------
    poles : for each joint, its poles as a complex array.
    coefficients : (4, n) rows k_0 .. k_3, in 1/s^4 .. 1/s, of s^4 + k_3 s^3 + .. + k_0 with these
        poles; for three poles, k_0 .. k_2 of s^3 + k_2 s^2 + .. and zero; for two, k_0, k_1 and
        two zeros.
    second : (2, v) rows k_0, k_1 of s^2 + k_1 s + k_0 for the second outputs of `variable_joints`;
        zero for those without a motor.
    """

    joint_names: tuple[str, ...]
    poles: tuple[ComplexArray, ...]
    coefficients: Array
    second: Array

    @classmethod
    def from_bandwidth(cls, actuators: Actuators, bandwidth: Any, second: Any = None) -> JointPoles:
        """All poles of a joint at -bandwidth in rad/s, a scalar or (n,).

        second: bandwidth of the second outputs, a scalar or (v,); default: that of the joint.
        """
        names = actuators.joint_names
        w = bandwidths(bandwidth, names)
        variable = [names.index(name) for name in actuators.variable_joints]
        w2 = w[variable] if second is None else second
        w2 = bandwidths(w2, actuators.variable_joints, what="second bandwidth")
        orders = _orders(actuators)
        return cls.from_poles(
            actuators,
            {name: np.full(orders[i], -w[i]) for i, name in enumerate(names)},
            {name: (-w2[j], -w2[j]) for j, name in enumerate(actuators.variable_joints)},
        )

    @classmethod
    def from_poles(
        cls,
        actuators: Actuators,
        poles: Sequence[complex] | Mapping[str, Any],
        second: Sequence[complex] | Mapping[str, Any] | None = None,
    ) -> JointPoles:
        """The same poles for all joints, or a mapping from the name of every joint to its poles.

        second: the two poles of the second outputs, in the same form; default: the real parts of
        the two slowest of the joint. Raises InputError, naming the joint, for an unknown or missing
        joint, a wrong number of poles, complex poles without their conjugates, and poles not left
        of the imaginary axis.
        """
        names, variable = actuators.joint_names, actuators.variable_joints
        given = _by_name("poles", poles, names)
        orders = _orders(actuators)
        checked = tuple(_checked(name, given[name], orders[i]) for i, name in enumerate(names))
        coefficients = np.zeros((4, len(names)))
        for i, each in enumerate(checked):
            coefficients[: len(each), i] = np.poly(each)[:0:-1].real
        others = {} if second is None else _by_name("second poles", second, variable)
        rows = np.zeros((2, len(variable)))
        for i, actuator, _, j in actuators.each():
            if actuator.second_output is None or len(actuator.motors) < 2:
                continue
            pair = others.get(names[i], np.sort(checked[i].real)[-2:])
            rows[:, j] = np.poly(_checked(names[i], pair, 2))[:0:-1].real
        return cls(names, checked, read_only(coefficients), read_only(rows))


def _orders(actuators: Actuators) -> list[int]:
    elastic = np.where(actuators.is_damped, 3, 4)
    return [int(order) for order in np.where(actuators.is_rigid, 2, elastic)]


def _by_name(what: str, given: Any, names: tuple[str, ...]) -> dict[str, Any]:
    given = dict(given) if isinstance(given, Mapping) else dict.fromkeys(names, given)
    unknown, missing = set(given) - set(names), set(names) - set(given)
    if unknown or missing:
        wrong = f"unknown {sorted(unknown)}" if unknown else f"missing {sorted(missing)}"
        raise InputError(f"{what}: {wrong}; expected exactly the joints {', '.join(names)}")
    return given


def _checked(name: str, values: Any, count: int) -> ComplexArray:
    try:
        poles = np.array(values, dtype=np.complex128)
    except (TypeError, ValueError):
        raise InputError(f"joint '{name}': poles {values!r}: expected numbers") from None
    kind = {2: "a rigid joint or a second output", 3: "a damped joint", 4: "an elastic joint"}
    if poles.shape != (count,):
        raise InputError(
            f"joint '{name}': {kind[count]} takes {count} poles, got shape {poles.shape}"
        )
    for pole in poles:
        if not (np.isfinite(pole) and pole.real < 0.0):
            raise InputError(f"joint '{name}': pole {pole:g} 1/s: the real part must be negative")
        if not is_possible(pole):
            raise InputError(
                f"joint '{name}': pole {pole:g} 1/s: its magnitude must be between {SLOWEST:g} and"
                f" {FASTEST:g}"
            )
    conjugates = np.sort_complex(poles.conj())
    if not np.allclose(np.sort_complex(poles), conjugates, rtol=1e-9, atol=0.0):
        raise InputError(
            f"joint '{name}': poles {poles}: complex poles must come in conjugate pairs"
        )
    return read_only(poles, np.complex128)


# The arm near rest


class Rest(NamedTuple):
    """An arm at rest: `theta` (m,); `stiffness` K (n,), inf for rigid joints; `hessian` (n + m, n +
    m) of the spring energy by (q, theta), zero for rigid joints; `second` outputs (3, v)."""

    theta: Array
    stiffness: Array
    hessian: Array
    second: Array


def rest_outputs(actuators: Actuators, stiffness: Any = None) -> Array:
    """(3, v) second outputs at rest: `stiffness` (v,), or the middle of their unloaded range."""
    rows = np.zeros((3, len(actuators.variable_joints)))
    if stiffness is None:
        rows[0] = resting_second_outputs(actuators)
    else:
        rows[0] = as_array("stiffness", stiffness, rows[0].shape, actuators.variable_joints)
    return rows


def at_rest(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    stiffness: Any = None,
    *,
    beyond: Beyond = "raise",
) -> Rest:
    """Motors and springs at rest at q (n,) under gravity, with the second outputs `stiffness` (v,),
    by default mid-range. OverloadError names a joint whose springs cannot carry its load, unless
    `beyond` lets them continue beyond their travel."""
    check_fit(model, actuators)
    n, m = actuators.n, len(actuators.motors)
    q = as_array("q", q, (n,), actuators.joint_names)
    zero = np.zeros(n)
    torque = np.array([gravity_forces(model, q), zero, zero])
    second = rest_outputs(actuators, stiffness)
    rows, none = np.array([q, zero, zero]), np.zeros(m)
    with refused_as(OverloadError):
        settled = actuators.settled_deflection(torque, beyond=beyond)
        motors = motor_motion(actuators, rows, torque, second, deflection=settled, beyond=beyond)
        theta = motors.position
        springs = actuators.springs(q, zero, theta, none, stiffness=second[:2], beyond=beyond)
    hessian = np.zeros((n + m, n + m))
    for i, actuator, indices, output in actuators.each():
        places, k = [i, *(n + j for j in indices)], 1.0
        if actuator.second_output is not None:
            k = second[0, output]
        hessian[np.ix_(places, places)] = actuator.energy_hessian(q[i], theta[indices], k)
    return Rest(theta, springs.stiffness, hessian, second)


def inertias_felt(model: MultibodyModel, actuators: Actuators, q: Any) -> Array:
    """(n,) 1 / (M^-1)_ii in kg m^2: the inertia that a torque on joint i moves at q while the other
    joints are free.

    M includes the rotors of rigid joints, but not those behind springs. Most joint-by-joint designs
    use this as the inertia of the link. Designs with M_ii, for which the other links are locked,
    would be unstable on arms with nearly parallel axes, where the resonance of one spring also
    moves the neighbouring links on their soft springs.
    """
    q = as_array("q", q, (actuators.n,), actuators.joint_names)
    M = mass_matrix(model, q) + np.diag(rigid_rotors(actuators))
    return np.asarray(1.0 / np.diag(np.linalg.inv(M)))


def smallest_inertias(model: MultibodyModel, actuators: Actuators, q: Any) -> Array:
    """(n,) the smallest of :func:`inertias_felt` at q (n,) and at POSTURES random positions within
    the joint limits.

    Without a rotor, the inertia that a rigid joint feels may fall to a twentieth from one posture
    to another; gains for the largest one would be unstable at the smallest.
    """
    inverses = np.diagonal(_mobilities(model, actuators, q), axis1=1, axis2=2)
    return np.asarray(1.0 / inverses.max(axis=0))


def _mobilities(model: MultibodyModel, actuators: Actuators, q: Any) -> Array:
    """(1 + POSTURES, n, n) M^-1 at q (n,) and at random positions within the joint limits."""
    q = as_array("q", q, (actuators.n,), actuators.joint_names)
    lower, upper = np.maximum(model.limits.lower, -np.pi), np.minimum(model.limits.upper, np.pi)
    others = np.random.default_rng(0).uniform(lower, upper, (POSTURES, model.n))
    M = mass_matrix(model, np.vstack((q, others))) + np.diag(rigid_rotors(actuators))
    return np.asarray(np.linalg.inv(M))


def _moved_by_rigid_joints(model: MultibodyModel, actuators: Actuators, q: Any) -> Array:
    """(n,) inertias d for which rigid joints are controlled; 0 for the others.

    With feedback at several joints, the arm resists less than each of :func:`smallest_inertias`
    would: with A = diag(d) M^-1 of the rigid joints, gains proportional to d act on the arm as on
    single joints times the eigenvalues of A. These are at most 1, because each row of |A| adds up
    to at most 1 at all those postures: d = 1 / max_q sum_j |M^-1_ij| (d_j / d_i)^(1/2), taken with
    d_j from smallest_inertias, is a similarity away from that.
    """
    inertias = np.zeros(actuators.n)
    rigid = np.flatnonzero(actuators.is_rigid)
    if rigid.size:
        free = _mobilities(model, actuators, q)[:, rigid[:, None], rigid]
        root = np.sqrt(np.diagonal(free, axis1=1, axis2=2).max(axis=0))
        coupled = np.abs(free) / np.outer(root, root)
        inertias[rigid] = 1.0 / (root**2 * coupled.sum(axis=2).max(axis=0))
    return inertias


def inertias_held(model: MultibodyModel, actuators: Actuators, q: Any) -> Array:
    """(n,) M_ii in kg m^2: the inertia that a torque on joint i moves at q while the other joints
    are locked."""
    q = as_array("q", q, (actuators.n,), actuators.joint_names)
    return np.asarray(np.diag(mass_matrix(model, q)) + rigid_rotors(actuators))


def joint_resonances(
    model: MultibodyModel, actuators: Actuators, q: Any, stiffness: Any = None
) -> Array:
    """(n,) rad/s, (K / m + K / M_m)^(1/2) of each single joint, as in the designs (see above); inf
    for rigid joints. stiffness: (v,) second outputs at rest; default: mid-range."""
    return np.array(
        [
            np.inf
            if joint.is_rigid
            else np.sqrt((joint.K + joint.base) / joint.link + joint.K / joint.motor)
            for joint in _joints(model, actuators, at_rest(model, actuators, q, stiffness), q)
        ]
    )


def lowest_resonance(model: MultibodyModel, actuators: Actuators, q: Array) -> float:
    """rad/s, the lowest natural frequency of the links on their springs at q (n,) while all motors
    are locked: det(K - w^2 M) = 0; inf for rigid joints and links without mass."""
    elastic = np.flatnonzero(~actuators.is_rigid)
    if not elastic.size:
        return np.inf
    own = np.ix_(elastic, elastic)
    springs = at_rest(model, actuators, q, beyond="continue").hessian[own]
    # not of the springs relative to M, which is singular if the last link has no mass
    slowest = eigh(mass_matrix(model, q)[own], springs, eigvals_only=True)[-1]
    return float(1.0 / np.sqrt(slowest)) if slowest > 0.0 else np.inf


class _Joint(NamedTuple):
    """A single joint; `shares` of its motors, by index, in the torque that moves the link."""

    is_rigid: bool
    link: float  # m, with the rotor if rigid
    motor: float  # M_m
    viscous: float
    K: float  # between motor and link
    base: float  # between base and link
    damping: float
    shares: dict[int, float]
    drive: int | None  # index of the motor that sets the stiffness alone
    second: int

    @property
    def zero(self) -> float:
        """The zero of a damped spring, 1/s: a pole there cannot be moved by feedback."""
        return -self.K / self.damping

    def model(self) -> tuple[Array, Array]:
        """A and B of x' = A x + B tau; x = (q, q', theta, theta'), or (q, q') of a rigid joint."""
        m, b, v, K, d = self.link, self.motor, self.viscous, self.K, self.damping
        own = K + self.base
        if self.is_rigid:
            return np.array([[0, 1], [0, -v / m]]), np.array([[0], [1 / m]])
        link = [-own / m, -d / m, K / m, d / m]
        motor = [K / b, d / b, -K / b, -(d + v) / b]
        return np.array([[0, 1, 0, 0], link, [0, 0, 0, 1], motor]), np.array(
            [[0], [0], [0], [1 / b]]
        )


def _joints(
    model: MultibodyModel, actuators: Actuators, rest: Rest, q: Any, links: Array | None = None
) -> Iterator[_Joint]:
    """Every joint, uncoupled, with the link inertias `links` (n,); default: those felt at q."""
    inertias = inertias_felt(model, actuators, q) if links is None else links
    for i, actuator, indices, second in actuators.each():
        has_drive = actuator.drive is not None
        movers = indices[:1] if has_drive else indices
        own = rest.hessian[i, [actuators.n + j for j in movers]]
        base = 0.0 if actuator.is_rigid else float(rest.hessian[i, i] + own.sum())
        motors = [actuators.motors[j] for j in movers]
        total = sum(motor.inertia for motor in motors)
        yield _Joint(
            actuator.is_rigid,
            float(inertias[i]),
            total,
            sum(motor.viscous for motor in motors),
            float(rest.stiffness[i]) - base,
            base,
            float(actuators.damping[i]),
            {
                j: motor.inertia / total if total else 1.0
                for j, motor in zip(movers, motors, strict=True)
            },
            indices[1] if has_drive else None,
            second,
        )


# Gains


@dataclass(frozen=True, eq=False)
class StateFeedbackGains(IndependentCopies):
    """Gains of m motors on errors of their joint's q, q' and their own theta, theta'.

    Rows of `values` (4, m) in N m/rad and N m s/rad: motor j of joint i adds the torque

        G_q (q_d - q)_i + G_q' (q_d' - q')_i + G_theta (theta_d - theta)_j + G_theta' (..)'_j.

    `poles` are the closed-loop poles of the whole arm near rest at the configuration of the design
    (:func:`closed_loop_poles`); `joint_poles` are those of each single joint, with the other joints
    free, or locked where the design assumes this. Both are None for gains that were not designed
    here.
    """

    motor_names: tuple[str, ...]
    values: Array
    joint_poles: tuple[ComplexArray, ...] | None = None
    poles: ComplexArray | None = None

    def __post_init__(self) -> None:
        m = len(self.motor_names)
        values = as_array("gains", self.values, (4, m), self.motor_names)
        if values.ndim != 2:
            raise InputError(f"gains: expected shape (4, {m}), got {values.shape}")
        object.__setattr__(self, "values", read_only(values))


def motor_side_gains(
    actuators: Actuators, proportional: Any, derivative: Any
) -> StateFeedbackGains:
    """PD gains of the motors, (m,) or scalar, N m/rad and N m s/rad, not negative."""
    names = actuators.motor_names
    values = np.zeros((4, len(names)))
    values[2] = per_name("proportional", proportional, names, of="motor")
    values[3] = per_name("derivative", derivative, names, of="motor")
    return StateFeedbackGains(names, values)


def motor_bandwidth_gains(
    model: MultibodyModel, actuators: Actuators, q: Any, bandwidth: Any
) -> StateFeedbackGains:
    """PD gains that give each motor, without its spring, two poles at -bandwidth in rad/s, (m,) or
    scalar. The motor of a rigid joint carries the smallest inertia that it feels at q (n,) or
    elsewhere, with the other joints free. In contrast, :meth:`.MotorDrive.from_bandwidth` of the
    simulated drives takes a bandwidth in Hz and locks the other joints.
    """
    w = bandwidths(bandwidth, actuators.motor_names, of="motor")
    links = _moved_by_rigid_joints(model, actuators, q)
    is_rigid, joint = actuators.is_rigid, actuators.joint_of_motor
    carried = np.where(is_rigid[joint], links[joint], actuators.motor_inertia)
    return motor_side_gains(actuators, carried * w**2, 2.0 * carried * w)


def damping_gains(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    stiffness: Any = None,
    *,
    bandwidth: float = 60.0,
) -> StateFeedbackGains:
    """PD gains of the motors alone that damp the links behind their springs, at rest at q (n,).

    G_theta = M_m w^2 and G_theta' = 2 (K M_m)^(1/2) less the viscous friction, with w^2 = K / m:
    both pole pairs of a single joint are then roots of s^2 + (m / M_m)^(1/2) w s + w^2. A spring P
    between base and link changes them to w^2 = (K + P) / m, a damping of K / (K + P) times the
    above, G_theta = M_m w^2 - K P / (K + P), and G_theta' by the factor (K / (K + P))^(1/2). With
    stiffer motor loops, the links would keep oscillating. The inertia m is therefore the one that
    the joint carries while the others are locked (:func:`inertias_held`): this damps the slow
    oscillation of the whole arm on its springs two to three times as fast as the inertia used by
    the other designs. `bandwidth` in rad/s limits w to what the control cycle can follow; rigid
    joints get two poles there with the smallest inertia that they feel, stiffness drives with their
    own.
    """
    rest = at_rest(model, actuators, q, stiffness)
    moved = _moved_by_rigid_joints(model, actuators, q)
    links = np.where(actuators.is_rigid, moved, inertias_held(model, actuators, q))
    values = np.zeros((4, len(actuators.motors)))
    for joint in _joints(model, actuators, rest, q, links):
        for j, share in joint.shares.items():
            if joint.is_rigid:
                gains = joint.link * bandwidth**2, 2.0 * joint.link * bandwidth - joint.viscous
            else:
                own = joint.K + joint.base
                w = min(np.sqrt(own / joint.link), bandwidth)
                rate = 2.0 * np.sqrt(joint.K * joint.motor) * np.sqrt(joint.K / own)
                by_base = joint.K * joint.base / own if w < bandwidth else 0.0
                gains = joint.motor * w**2 - by_base, rate - joint.viscous
            values[2:, j] = share * gains[0], share * max(gains[1], 0.0)
        _drive_gains(actuators, joint, values, bandwidth**2, 2.0 * bandwidth)
    return _designed(model, actuators, q, rest, values, links)


def placed_gains(
    model: MultibodyModel, actuators: Actuators, q: Any, poles: JointPoles, stiffness: Any = None
) -> StateFeedbackGains:
    """Gains by pole placement: each single joint gets the `poles`, at rest at q (n,), without
    gravity.

    The fourth pole of a damped joint stays at -K / d. Poles far from :func:`joint_resonances` need
    large or negative gains, which disturb the other joints: :func:`optimal_gains` are the better
    choice there. stiffness: (v,) second outputs at rest; default: mid-range.

    Raises InputError if the whole arm would be unstable at q.
    """
    check_fit(model, actuators, poles.joint_names, "poles")
    rest = at_rest(model, actuators, q, stiffness)
    values = np.zeros((4, len(actuators.motors)))
    for joint, wanted, k in zip(
        _joints(model, actuators, rest, q), poles.poles, poles.coefficients.T, strict=True
    ):
        m, b, v, K, d = joint.link, joint.motor, joint.viscous, joint.K, joint.damping
        if joint.is_rigid:
            gains = np.array([m * k[0], m * k[1] - v, 0.0, 0.0])
        else:
            # (b s^2 + (v + g_3) s + g_2) (m s^2 + d s + K + P)
            # + (d s + K) (m s^2 + P + g_1 s + g_0)
            P, own = joint.base, K + joint.base
            all_four = wanted if d == 0.0 else np.append(wanted, joint.zero)
            target = m * b * np.poly(all_four).real[:0:-1]
            target -= v * np.array([0.0, own, d, m]) + b * np.array([0.0, 0.0, own, d])
            target -= m * np.array([0.0, 0.0, K, d]) + P * np.array([K, d, 0.0, 0.0])
            columns = [[K, d, 0, 0], [0, K, d, 0], [own, d, m, 0], [0, own, d, m]]
            gains = np.linalg.solve(np.transpose(columns), target)
        for j, share in joint.shares.items():
            values[:, j] = share * gains
        if joint.drive is not None:
            _drive_gains(actuators, joint, values, *poles.second[:, joint.second])
    return _designed(model, actuators, q, rest, values)


def optimal_gains(
    model: MultibodyModel, actuators: Actuators, q: Any, bandwidth: Any, stiffness: Any = None
) -> StateFeedbackGains:
    """Linear-quadratic (LQR) gains, joint by joint, at rest at q (n,).

    They minimise the integral of

        e^2 + (e' / w)^2 + (e_theta' / w)^2 + (tau / (m_total w^2))^2

    where e and e_theta are the errors of link and motor, tau is the feedback torque, w the
    bandwidth in rad/s, a scalar or (n,), and m_total = m + M_m (m for a rigid joint). This gives
    two poles near w; if the resonance is faster, the other two are damped and stay at its
    frequency. A stiffness drive gets two poles at -w.

    Positive gains on the position or velocity of the link (G_q > 0 or G_q' > 0) are then moved to
    the motor: through the spring they have the phase of the design only while the link has the
    inertia of the design, and other configurations would be unstable. The remaining negative G_q
    and G_q' feed torque and torque rate of the spring back to the motor, which reduces its apparent
    inertia and damps it for any inertia behind the spring (C. Ott, A. Albu-Schaeffer et al., IEEE
    T-RO 2008).

    Raises InputError if the whole arm would be unstable at q.
    """
    rest = at_rest(model, actuators, q, stiffness)
    values = np.zeros((4, len(actuators.motors)))
    rates = bandwidths(bandwidth, actuators.joint_names)
    for joint, w in zip(_joints(model, actuators, rest, q), rates, strict=True):
        A, B = joint.model()
        effort = (joint.link + (0.0 if joint.is_rigid else joint.motor)) * w**2
        units = np.array([1.0, w, 1.0, w])[: len(A)]  # with time in 1/w and torques in `effort`
        A, B = A * units / units[:, None] / w, B / units[:, None] * effort / w
        P = solve_continuous_are(A, B, np.diag([1.0, 1.0, 0.0, 1.0])[: len(A), : len(A)], np.eye(1))
        gains = effort * (B.T @ P)[0] / units
        if not joint.is_rigid:
            gains += np.concatenate((np.minimum(-gains[:2], 0.0), np.maximum(gains[:2], 0.0)))
        for j, share in joint.shares.items():
            values[: len(A), j] = share * gains
        _drive_gains(actuators, joint, values, w**2, 2.0 * w)
    return _designed(model, actuators, q, rest, values)


def _drive_gains(actuators: Actuators, joint: _Joint, values: Array, k0: float, k1: float) -> None:
    if joint.drive is not None:
        motor = actuators.motors[joint.drive]
        values[2, joint.drive] = motor.inertia * k0
        values[3, joint.drive] = max(motor.inertia * k1 - motor.viscous, 0.0)


def _designed(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    rest: Rest,
    values: Array,
    links: Array | None = None,
) -> StateFeedbackGains:
    joint_poles = []
    for joint in _joints(model, actuators, rest, q, links):
        A, B = joint.model()
        total = values[: len(A), list(joint.shares)].sum(axis=1)
        if joint.is_rigid:
            total = total + values[2:, list(joint.shares)].sum(axis=1)
        joint_poles.append(np.linalg.eigvals(A - B * total).astype(np.complex128))
    names = actuators.motor_names
    arm = linear_arm(model, actuators, q, rest)
    arm.add_feedback(values)
    poles = arm.poles()
    worst = poles[poles.real.argmax()]
    if worst.real >= 0.0:
        mode = int(arm.modes().values.real.argmax())
        shape = np.abs(arm.modes().shapes[:, mode])
        moving = actuators.joint_names[int(shape[arm.links].argmax())]
        raise InputError(
            f"robot '{model.name}': with these gains the whole arm has a pole at {worst:.4g} 1/s, "
            f"mainly in the motion of joint '{moving}', although each single joint is stable; use"
            " a lower bandwidth, or optimal_gains"
        )
    return StateFeedbackGains(names, values, tuple(joint_poles), poles)


def closed_loop_poles(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    gains: StateFeedbackGains,
    stiffness: Any = None,
) -> ComplexArray:
    """All poles in 1/s of the arm under LinearFeedback near rest at q (n,), gravity included.

    There are two for each link and two for each motor behind a spring. Viscous friction is
    included, Coulomb friction is not. stiffness: (v,) second outputs at rest; default: mid-range.
    """
    check_fit(model, actuators, gains.motor_names, "gains")
    rest = at_rest(model, actuators, q, stiffness)
    arm = linear_arm(model, actuators, q, rest)
    arm.add_feedback(gains.values)
    return arm.poles()


def linear_arm(model: MultibodyModel, actuators: Actuators, q: Any, rest: Rest) -> LinearArm:
    """The arm near rest at q (n,): springs, dampers, gravity, and viscous friction of the motors;
    no feedback."""
    q = as_array("q", q, (actuators.n,), actuators.joint_names)
    arm = LinearArm(actuators, mass_matrix(model, q))
    arm.stiffness += rest.hessian
    arm.add_link_forces(gravity_gradient(model, q), passive_slopes(model, q)[1])
    arm.damping[arm.motors, arm.motors] += viscous_friction(actuators)
    return arm


def viscous_friction(actuators: Actuators) -> Array:
    """(m,) viscous friction of the motors, N m s/rad."""
    return np.array([motor.viscous for motor in actuators.motors])
