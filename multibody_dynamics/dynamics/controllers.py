"""Four laws that make an arm with elastic joints follow q_d(t), for the control cycle.

    LinearFeedback         tau = tau_ff + G_theta (theta_d - theta) + G_theta' (theta_d' - theta')
      (1), (2)                   + G_q (q_d - q) + G_q' (q_d' - q'),
                           with theta_d, theta_d', tau_ff of the flat map ([M21] (2), (3)) of q_d
    FeedbackLinearization  q'''' = v = q_d'''' + k_3 e''' + k_2 e'' + k_1 e' + k_0 e,  e = q_d - q,
      (3)                  tau = flat map of (q, q', q'', q''', v)
    ComputedTorque         q'' = q_d'' + k_d e' + k_p e,  tau = Q(q, q', q'') + M_m q'' + friction
      (4)                  which takes the joints for rigid

(1) is LinearFeedback with `motor_side_gains`, the classic, which needs motor encoders only; (2) is
the same with the gains of all four states that `placed_gains` or `optimal_gains` design joint by
joint. (3) takes q'' and q''' from the spring torques K (theta - q) and their rates by the forward
dynamics, then Q .. Q'' by the inverse dynamics: twice O(n) in every cycle. It is exact, by A. De
Luca's and M. Spong's feedback linearisation, as far as the model is.

Friction of `joints` is compensated by all four: at the desired motor velocity in (1) and (2), so
that viscous friction goes on damping, at the measured one in (3) and (4), which cancels it. Torques
are not limited here. Everything is on the link side of the gear, in N m, rad, s; see
`elastic_joints`, also for who counts the rotor inertia.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_continuous_are

from .articulated_bodies import singular
from .checked_rows import CheckedRows
from .derivatives import inverse_dynamics_derivatives
from .elastic_joints import MotorFeedforward, SeriesElasticJoints, refuse_counting_twice
from .errors import InputError
from .forward_dynamics import forward_dynamics_cycle, forward_dynamics_scratch
from .inputs import STATE_ROWS, Array, as_array, check_sequence
from .inverse_dynamics_solver import InverseDynamicsSolver
from .mass_matrix import mass_matrix
from .model import MultibodyModel
from .solvers import ModelSolver

ComplexArray = NDArray[np.complex128]

MEASURED_ROWS = ("q", "qd", "theta", "thetad")
FEEDBACKS = ("motor", "link")


def _check_fit(
    model: MultibodyModel,
    joints: SeriesElasticJoints,
    names: tuple[str, ...] | None = None,
    what: str = "",
) -> None:
    """InputError where links, joints and, if given, the `names` in `what` are not of one robot."""
    if joints.joint_names != model.joint_names:
        raise InputError(
            f"springs and motors of {', '.join(joints.joint_names)}; robot '{model.name}' has "
            f"{', '.join(model.joint_names)}"
        )
    refuse_counting_twice(joints, model.reflected_inertia)
    if names is not None and names != joints.joint_names:
        raise InputError(f"{what} of {', '.join(names)} for joints {', '.join(joints.joint_names)}")


def _per_joint(name: str, value: Any, names: Sequence[str], *, positive: bool = False) -> Array:
    """(n,) from a scalar or (n,), not negative; InputError that names the joint."""
    n = len(names)
    row = as_array(name, np.full(n, value) if np.ndim(value) == 0 else value, (n,), names)
    if row.ndim != 1:
        raise InputError(f"{name}: expected one value or {n}, got shape {row.shape}")
    for i in np.flatnonzero(row <= 0.0 if positive else row < 0.0).tolist():
        right = "positive" if positive else "zero or greater"
        raise InputError(f"joint '{names[i]}': {name} is {row[i]:g}: must be {right}")
    return row


def _read_only(array: Any) -> Array:
    array = np.array(array, dtype=np.float64)
    array.flags.writeable = False
    return array


# Gains


@dataclass(frozen=True, eq=False)
class JointPoles:
    """Poles in 1/s for the error of every joint: four of an elastic joint, two of a rigid one.

    Attributes
    ----------
    poles : for each joint, its poles as a complex array.
    coefficients : (4, n) rows k_0 .. k_3, in 1/s^4 .. 1/s, of s^4 + k_3 s^3 + .. + k_0 with these
        poles; of a rigid joint k_0, k_1 of s^2 + k_1 s + k_0, and zeros.
    """

    joint_names: tuple[str, ...]
    poles: tuple[ComplexArray, ...]
    coefficients: Array

    @classmethod
    def from_bandwidth(cls, joints: SeriesElasticJoints, bandwidth: Any) -> JointPoles:
        """All poles of a joint at -bandwidth in rad/s; a scalar, or (n,) for each joint its own."""
        names = joints.joint_names
        w = _per_joint("bandwidth", bandwidth, names, positive=True)
        orders = np.where(joints.is_rigid, 2, 4).tolist()
        return cls.from_poles(
            joints, {name: np.full(orders[i], -w[i]) for i, name in enumerate(names)}
        )

    @classmethod
    def from_poles(
        cls, joints: SeriesElasticJoints, poles: Sequence[complex] | Mapping[str, Any]
    ) -> JointPoles:
        """The same poles for all joints, or a mapping from every joint's name to its own.

        Raises InputError that names the joint, for an unknown or missing one, a wrong number of
        poles, complex ones without their conjugates, and poles that are not left of the axis.
        """
        names = joints.joint_names
        given = poles if isinstance(poles, Mapping) else dict.fromkeys(names, poles)
        unknown, missing = set(given) - set(names), set(names) - set(given)
        if unknown or missing:
            wrong = f"unknown {sorted(unknown)}" if unknown else f"missing {sorted(missing)}"
            raise InputError(f"poles: joints are {', '.join(names)}; {wrong}")
        coefficients = np.zeros((4, len(names)))
        checked = []
        for i, name in enumerate(names):
            each = _checked_poles(name, given[name], bool(joints.is_rigid[i]))
            coefficients[: len(each), i] = np.poly(each)[:0:-1].real
            checked.append(each)
        return cls(names, tuple(checked), _read_only(coefficients))


def _checked_poles(name: str, values: Any, is_rigid: bool) -> ComplexArray:
    try:
        poles = np.array(values, dtype=np.complex128)
    except (TypeError, ValueError):
        raise InputError(f"joint '{name}': poles {values!r}: expected numbers") from None
    count, kind = (2, "a rigid") if is_rigid else (4, "an elastic")
    if poles.shape != (count,):
        raise InputError(
            f"joint '{name}': {kind} joint takes {count} poles, got shape {poles.shape}"
        )
    for pole in poles:
        if not (np.isfinite(pole) and pole.real < 0.0):
            raise InputError(f"joint '{name}': pole {pole:g} 1/s: the real part must be negative")
    conjugates = np.sort_complex(poles.conj())
    if not np.allclose(np.sort_complex(poles), conjugates, rtol=1e-9, atol=0.0):
        raise InputError(f"joint '{name}': poles {poles}: complex ones come in conjugate pairs")
    poles.flags.writeable = False
    return poles


@dataclass(frozen=True, eq=False)
class StateFeedbackGains:
    """Gains on the errors of q, q', theta, theta': rows of `values` (4, n), N m/rad and N m s/rad.

    `poles` (m,) are those of the whole arm in closed loop near rest at the configuration of the
    design (:func:`closed_loop_poles`), `joint_poles` those that each joint would have by itself,
    the others being free; both None for gains that were not designed.
    """

    joint_names: tuple[str, ...]
    values: Array
    joint_poles: tuple[ComplexArray, ...] | None = None
    poles: ComplexArray | None = None

    def __post_init__(self) -> None:
        n = len(self.joint_names)
        values = as_array("gains", self.values, (4, n), self.joint_names)
        if values.ndim != 2:
            raise InputError(f"gains: expected shape (4, {n}), got {values.shape}")
        object.__setattr__(self, "values", _read_only(values))


def motor_side_gains(
    joints: SeriesElasticJoints, proportional: Any, derivative: Any
) -> StateFeedbackGains:
    """PD gains of the motors, (n,) or scalar, N m/rad and N m s/rad, not negative."""
    values = np.zeros((4, joints.n))
    values[2] = _per_joint("proportional", proportional, joints.joint_names)
    values[3] = _per_joint("derivative", derivative, joints.joint_names)
    return StateFeedbackGains(joints.joint_names, values)


def inertias_felt(model: MultibodyModel, joints: SeriesElasticJoints, q: Any) -> Array:
    """(n,) 1 / (M^-1)_ii in kg m^2: what a torque on joint i moves at q, the others being free.

    Rotors of rigid joints count in M, those behind springs do not. The designs joint by joint take
    this for the link. With M_ii, which has the other links locked, they are unstable on arms whose
    axes are nearly parallel: a spring's resonance moves the neighbours, their springs being soft.
    """
    q = as_array("q", q, (joints.n,), joints.joint_names)
    rotors = np.where(joints.is_rigid, joints.motor_inertia, 0.0)
    return np.asarray(1.0 / np.diag(np.linalg.inv(mass_matrix(model, q) + np.diag(rotors))))


def joint_resonances(model: MultibodyModel, joints: SeriesElasticJoints, q: Any) -> Array:
    """(n,) rad/s, (K / m + K / M_m)^(1/2) of each joint by itself, m of :func:`inertias_felt`.

    inf of rigid joints.
    """
    m, b = inertias_felt(model, joints, q), joints.motor_inertia
    inverse = 1.0 / m + 1.0 / np.where(joints.is_rigid, 1.0, b)
    return np.asarray(np.sqrt(joints.stiffness * inverse))


def placed_gains(
    model: MultibodyModel, joints: SeriesElasticJoints, q: Any, poles: JointPoles
) -> StateFeedbackGains:
    """Gains that give each joint by itself the `poles`, at rest at q (n,).

    By itself: m q'' = K (theta - q), M_m theta'' + viscous theta' + K (theta - q) = tau with m of
    :func:`inertias_felt`, a rigid joint m q'' + viscous q' = tau; gravity counts in the
    poles of the whole arm only. Poles all far from :func:`joint_resonances` take large gains or
    negative ones, which do not suit the other joints: :func:`optimal_gains` do better.

    Raises InputError if the whole arm would be unstable at q.
    """
    _check_fit(model, joints, poles.joint_names, "poles")
    values = np.zeros((4, joints.n))
    k0, k1, k2, k3 = poles.coefficients
    for i, m in enumerate(inertias_felt(model, joints, q)):
        b, d, K = joints.motor_inertia[i], joints.viscous[i], joints.stiffness[i]
        if joints.is_rigid[i]:
            values[:2, i] = m * k0[i], m * k1[i] - d
        else:
            position, velocity = b * k2[i] - K - K * b / m, b * k3[i] - d
            link_rate = m * b * k1[i] / K - d - velocity
            values[:, i] = m * b * k0[i] / K - position, link_rate, position, velocity
    return _designed(model, joints, q, values)


def optimal_gains(
    model: MultibodyModel, joints: SeriesElasticJoints, q: Any, bandwidth: Any
) -> StateFeedbackGains:
    """Linear-quadratic gains of each joint by itself, as in `placed_gains`, at rest at q (n,).

    They minimise the integral of

        e^2 + (e' / w)^2 + (e_theta' / w)^2 + (tau / (m_total w^2))^2

    over the errors e of the link and e_theta of the motor and the torque tau of the feedback, with
    the bandwidth w in rad/s, a scalar or (n,), and m_total = m + M_m, of a rigid joint m: two poles
    near w, and where the resonance is faster, two that are damped and left where they are.

    Raises InputError if the whole arm would be unstable at q.
    """
    _check_fit(model, joints)
    values = np.zeros((4, joints.n))
    inertias = inertias_felt(model, joints, q)
    total = inertias + np.where(joints.is_rigid, 0.0, joints.motor_inertia)
    for i, w in enumerate(_per_joint("bandwidth", bandwidth, joints.joint_names, positive=True)):
        A, B = _joint_model(joints, i, inertias[i])
        effort = (total[i] * w**2) ** 2
        cost = np.diag([1.0, w**-2, 0.0, w**-2])[: len(A), : len(A)]
        P = solve_continuous_are(A, B, cost, [[1.0 / effort]])
        values[: len(A), i] = effort * (B.T @ P)[0]
    return _designed(model, joints, q, values)


def _joint_model(joints: SeriesElasticJoints, i: int, m: float) -> tuple[Array, Array]:
    """x' = A x + B tau of joint i by itself; x = (q, q', theta, theta'), of a rigid one (q, q')."""
    b, d, K = joints.motor_inertia[i], joints.viscous[i], joints.stiffness[i]
    if joints.is_rigid[i]:
        return np.array([[0, 1], [0, -d / m]]), np.array([[0], [1 / m]])
    A = [[0, 1, 0, 0], [-K / m, 0, K / m, 0], [0, 0, 0, 1], [K / b, 0, -K / b, -d / b]]
    return np.array(A), np.array([[0], [0], [0], [1 / b]])


def _designed(
    model: MultibodyModel, joints: SeriesElasticJoints, q: Any, values: Array
) -> StateFeedbackGains:
    joint_poles = []
    for i, m in enumerate(inertias_felt(model, joints, q)):
        A, B = _joint_model(joints, i, m)
        joint_poles.append(np.linalg.eigvals(A - B * values[: len(A), i]).astype(np.complex128))
    gains = StateFeedbackGains(joints.joint_names, values)
    poles = closed_loop_poles(model, joints, gains, q)
    worst = poles[poles.real.argmax()]
    if worst.real >= 0.0:
        raise InputError(
            f"robot '{model.name}': with these gains the whole arm has a pole at {worst:.4g} 1/s, "
            f"though each joint by itself has not; take a lower bandwidth, or optimal_gains"
        )
    return StateFeedbackGains(joints.joint_names, values, tuple(joint_poles), poles)


def closed_loop_poles(
    model: MultibodyModel, joints: SeriesElasticJoints, gains: StateFeedbackGains, q: Any
) -> ComplexArray:
    """All poles in 1/s of the arm under LinearFeedback near rest at q (n,), gravity included.

    Four for an elastic joint, two for a rigid one; viscous friction counts, Coulomb friction not.
    """
    _check_fit(model, joints, gains.joint_names, "gains")
    n, rigid = joints.n, joints.is_rigid
    q = as_array("q", q, (n,), joints.joint_names)
    rest = inverse_dynamics_derivatives(model, q, np.zeros(n), np.zeros(n))
    K = np.diag(np.where(rigid, 0.0, joints.stiffness))
    link, link_rate, motor, motor_rate = gains.values
    mass, stiffness, damping = np.zeros((3, 2 * n, 2 * n))  # of q, then theta
    mass[:n, :n] = mass_matrix(model, q)
    mass[n:, n:] = np.diag(joints.motor_inertia)
    stiffness[:n, :n], stiffness[:n, n:] = rest.dtau_dq + K, -K
    stiffness[n:, :n], stiffness[n:, n:] = np.diag(link) - K, np.diag(motor) + K
    damping[n:, :n], damping[n:, n:] = np.diag(link_rate), np.diag(motor_rate + joints.viscous)
    # theta = q of rigid joints: their motor's equation adds to that of the link
    join = np.vstack([np.eye(n), np.diag(rigid.astype(float))])
    join = np.hstack([join, np.eye(2 * n)[:, n:][:, ~rigid]])
    M, S, D = (join.T @ matrix @ join for matrix in (mass, stiffness, damping))
    size = len(M)
    lower = -np.linalg.solve(M, np.hstack([S, D]))
    return np.linalg.eigvals(np.vstack([np.eye(2 * size)[size:], lower])).astype(np.complex128)


# Laws


class Controller(ABC):
    """A law from the desired motion and the measured state to the motor torques.

    Attributes: `torque` (n,) N m, which :meth:`update` overwrites; `external_torque` (n,) N m, zero
    unless the caller writes it: what the world does to the links, such as the residual of a
    :class:`.DisturbanceObserver`, taken as constant; `model`, `joints`. For one thread.

    Raises InputError for robot and motor data that do not fit together.
    """

    def __init__(self, model: MultibodyModel, joints: SeriesElasticJoints) -> None:
        _check_fit(model, joints)
        n, names = model.n, model.joint_names
        self.model, self.joints = model, joints
        self.torque: Array = np.zeros(n)
        self.external_torque: Array = np.zeros(n)
        self._inverse = InverseDynamicsSolver(model, "body")
        self._desired, self._measured = np.zeros((5, n)), np.zeros((4, n))
        self._desired_rows = CheckedRows(
            [f"desired {row}" for row in STATE_ROWS], names, self._desired
        )
        self._measured_rows = CheckedRows(MEASURED_ROWS, names, self._measured)

    def update(self, desired: Any, q: Any, qd: Any, theta: Any, thetad: Any) -> Array:
        """`torque` for the desired (5, n) q .. q'''' and the measured state, (n,) each, of now.

        A law that does not use a row may be given zeros for it. On rigid joints theta is q.
        Raises InputError for wrong shapes, NaN or infinity, and leaves `torque` as it was then.
        """
        check_sequence("desired", desired, "rows")
        self._desired_rows.take(tuple(desired))
        self._measured_rows.take((q, qd, theta, thetad))
        self._law()
        return self.torque

    def set_model(self, model: MultibodyModel) -> None:
        """The robot from the next update on, such as with a payload; gains stay as they are.

        Raises InputError if it has other joints; nothing has changed then.
        """
        _check_fit(model, self.joints)
        self._inverse.set_model(model)
        self.model = model

    def _inverse_dynamics(self) -> None:
        """Q, Q', Q'' that the joints must give: what the world gives is not left to them."""
        self._inverse.update()
        np.subtract(self._inverse.result[0], self.external_torque, out=self._inverse.result[0])

    @abstractmethod
    def _law(self) -> None:
        """Fill `torque` from `_desired` and `_measured`."""


class LinearFeedback(Controller):
    """Laws (1) and (2): feedforward of the flat map, and linear feedback of motor and link errors.

    `variant` says how springs enter the feedforward (`elastic_joints.VARIANTS`): "full", or
    "quasi_static", the classic beside a motor-side PD. Uses the rows whose gains are not zero.
    """

    def __init__(
        self,
        model: MultibodyModel,
        joints: SeriesElasticJoints,
        gains: StateFeedbackGains,
        *,
        variant: str = "full",
    ) -> None:
        _check_fit(model, joints, gains.joint_names, "gains")
        super().__init__(model, joints)
        self.gains = gains
        inverse = self._inverse
        self._flat = MotorFeedforward(joints, inverse.state, inverse.result, variant=variant)
        self._error = np.zeros((4, joints.n))

    def _law(self) -> None:
        self._inverse.state[:] = self._desired
        self._inverse_dynamics()
        command = self._flat.update()
        error = self._error
        np.subtract(self._desired[:2], self._measured[:2], out=error[:2])
        np.subtract(self._flat.result[:2], self._measured[2:], out=error[2:])
        np.multiply(self.gains.values, error, out=error)
        np.sum(error, axis=0, out=self.torque)
        np.add(self.torque, command.torque, out=self.torque)


class _Chain(ModelSolver):
    """q'' and q''' from Q and Q' of the elastic joints and q'', q''' of the rigid ones; in place.

    `motion` (5, n) and `torque` (3, n); `update` returns False where the mass matrix is singular.
    """

    def __init__(self, model: MultibodyModel, prescribed: NDArray[np.bool_]) -> None:
        scratch = forward_dynamics_scratch(model.n)
        super().__init__(model, scratch[1])
        self.prescribed = prescribed.copy()
        self.motion: Array = np.zeros((5, model.n))
        self.torque: Array = np.zeros((3, model.n))
        self.update = partial(
            forward_dynamics_cycle,
            *self._constants,
            self.prescribed,
            1,
            self.motion,
            self.torque,
            self.applied_wrenches.reshape(model.n, 18),
            *scratch,
        )
        self.update()


class FeedbackLinearization(Controller):
    """Law (3): exact feedback linearisation; the error of each joint decays with its own `poles`.

    Rigid joints may be mixed in. Theirs is q'' = v = q_d'' + k_1 e' + k_0 e, and since v and its
    two derivatives are known from q, q' and the desired motion, the chains of the elastic joints
    are free of them: q'' and q''' come from the hybrid dynamics, and all remains decoupled.

    A torque d on the links that it does not know of is taken for acceleration: four poles at -w
    leave the static error -(6 / w^2 + M^-1 K / w^4) M^-1 d, gravity and higher orders of d apart;
    large where links are light. Below w = :func:`joint_resonances` / 6^(1/2) the law also works
    against the springs, and a payload that it does not know of may destabilise it.

    `motion` (5, n): q, q', q'', q''' as they are now, and q'''' as commanded. DynamicsError where
    the mass matrix is singular.
    """

    def __init__(
        self, model: MultibodyModel, joints: SeriesElasticJoints, poles: JointPoles
    ) -> None:
        _check_fit(model, joints, poles.joint_names, "poles")
        super().__init__(model, joints)
        self.poles = poles
        self._chain = _Chain(model, joints.is_rigid)
        self.motion: Array = self._inverse.state
        self._flat = MotorFeedforward(joints, self._inverse.state, self._inverse.result)
        self._stiffness = np.where(joints.is_rigid, 0.0, joints.stiffness)
        self._has_rigid = bool(joints.is_rigid.any())
        self._work = np.zeros((4, model.n))

    def set_model(self, model: MultibodyModel) -> None:
        super().set_model(model)
        self._chain.set_model(model)

    def _law(self) -> None:
        chain, motion, work = self._chain, self._chain.motion, self._work
        motion[:2] = self._measured[:2]
        np.subtract(self._measured[2:], motion[:2], out=chain.torque[:2])
        np.multiply(self._stiffness, chain.torque[:2], out=chain.torque[:2])
        np.add(chain.torque[0], self.external_torque, out=chain.torque[0])
        if self._has_rigid:
            self._drive_rigid_joints(motion)
        if not chain.update():
            raise singular(self.model, motion[0], self.joints.is_rigid)
        np.subtract(self._desired[:4], motion[:4], out=work)
        np.multiply(self.poles.coefficients, work, out=work)
        v = motion[4] if not self._has_rigid else self.torque  # keeps that of rigid joints
        np.sum(work, axis=0, out=v)
        np.add(v, self._desired[4], out=v)
        if self._has_rigid:
            np.copyto(motion[4], v, where=~self.joints.is_rigid)
        self._inverse.state[:] = motion
        self._inverse_dynamics()
        self.torque[:] = self._flat.update().torque

    def _drive_rigid_joints(self, motion: Array) -> None:
        """q'' = v, q''' = v', q'''' = v'' of all joints as if rigid; the chain takes theirs."""
        k0, k1 = self.poles.coefficients[:2]
        desired = self._desired
        for k in range(3):
            motion[k + 2] = desired[k + 2]
            motion[k + 2] += k1 * (desired[k + 1] - motion[k + 1])
            motion[k + 2] += k0 * (desired[k] - motion[k])


class ComputedTorque(Controller):
    """Law (4), for comparison: the computed torque of a rigid arm, which knows of no springs.

    proportional, derivative: k_p in 1/s^2, k_d in 1/s, (n,) or scalar. feedback: "motor" takes
    theta for q, as an arm without link encoders does; "link" measures q, and then the springs
    between motor and encoder bound k_p and k_d tightly.
    """

    def __init__(
        self,
        model: MultibodyModel,
        joints: SeriesElasticJoints,
        proportional: Any,
        derivative: Any,
        *,
        feedback: str = "motor",
    ) -> None:
        super().__init__(model, joints)
        if feedback not in FEEDBACKS:
            raise InputError(f"feedback '{feedback}': expected one of {', '.join(FEEDBACKS)}")
        names = joints.joint_names
        gains = (
            _per_joint("proportional", proportional, names),
            _per_joint("derivative", derivative, names),
        )
        self.gains: Array = _read_only(gains)
        self.feedback = feedback
        self._state = self._measured[2:] if feedback == "motor" else self._measured[:2]
        self._flat = MotorFeedforward(
            joints, self._inverse.state, self._inverse.result, variant="rigid"
        )
        self._error = np.zeros((2, joints.n))

    def _law(self) -> None:
        motion, error = self._inverse.state, self._error
        motion[:2] = self._state
        np.subtract(self._desired[:2], self._state, out=error)
        np.multiply(self.gains, error, out=error)
        np.sum(error, axis=0, out=motion[2])
        np.add(motion[2], self._desired[2], out=motion[2])
        self._inverse_dynamics()
        self.torque[:] = self._flat.update().torque
