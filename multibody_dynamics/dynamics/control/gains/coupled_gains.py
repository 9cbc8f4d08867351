# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Linear-quadratic (LQR) gains of the whole arm: every motor also uses the errors of other joints.

Near rest at q, with one motor for each joint (:mod:`joint_gains` explains how two act as one),

    M q'' + D (q' - theta') + K (q - theta) + dg/dq q = 0        (of a rigid joint: = tau)
    B theta'' + viscous theta' + D (theta' - q') + K (theta - q) = tau.

Joint-by-joint designs replace the mass matrix M by a diagonal one. Here all joints are designed
together, for torques that are held for a period h and act after a delay. The gains minimise the
sum of

    w^2 e^T M_t e  +  e'^T M e'  +  e_theta'^T B e_theta'  +  u^T M_t^-1 u / w^2,    M_t = M + B

where e and e_theta are the errors of links and motors, and u the feedback torques. The terms are
twice the energy of springs that would give the arm the frequency w, twice the kinetic energies of
links and motors, and twice the energy that the torques u would store in such springs. A single
bandwidth w, in 1/s, therefore sets all weights, whatever the coordinates and units of the joints.

A delay of (j + f) h, with whole j and 0 <= f < 1, makes the feedback torques of the last cycles
part of the state:

    x_(k+1) = F x_k + G_0 u_(k-j) + G_1 u_(k-j-1),    u_k = G e_k - sum_i P_i u_(k-i).

Sources: B. Anderson, J. Moore, Optimal Control: Linear Quadratic Methods, 1990; K. Astrom,
B. Wittenmark, Computer-Controlled Systems, 3rd ed., 1997, sections 3.2 and 11.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from ...core import Array, IndependentCopies, InputError, as_array, read_only
from ...elastic import Actuators, rigid_rotors
from ...model import MultibodyModel
from ...rigid import gravity_gradient, mass_matrix, passive_slopes
from .joint_gains import (
    ComplexArray,
    Rest,
    StateFeedbackGains,
    _drive_gains,
    _joints,
    at_rest,
    linear_arm,
)
from .joint_values import bandwidths
from .riccati_doubling import solve_riccati

MAX_PERIODS = 5
"""Longest delay, in periods, for which gains are designed."""


@dataclass(frozen=True, eq=False)
class CoupledGains(IndependentCopies):
    """Gains of m motors on the errors of all n links and m motors.

    The feedback torques are u = values e - sum_i past_i u_(k-i), with e = (q_d - q, q_d' - q',
    theta_d - theta, theta_d' - theta').

    Attributes: `values` (m, 2 n + 2 m), in N m/rad and N m s/rad; `past` (L, m, m), gains on the
    feedback torques of the last L cycles.
    """

    motor_names: tuple[str, ...]
    values: Array
    past: Array

    def __post_init__(self) -> None:
        m = len(self.motor_names)
        values = as_array("gains", self.values, (np.shape(self.values)[-1],))
        past = np.asarray(self.past, dtype=np.float64).reshape(-1, m, m)
        if values.ndim != 2 or len(values) != m:
            raise InputError(f"gains: expected {m} rows, one for each motor, got {values.shape}")
        if not np.isfinite(past).all():
            raise InputError("gains on past torques: must be finite")
        object.__setattr__(self, "values", read_only(values))
        object.__setattr__(self, "past", read_only(past))

    @classmethod
    def of_joints(cls, gains: StateFeedbackGains, actuators: Actuators) -> CoupledGains:
        """The same feedback as gains of each motor on errors of its own joint."""
        n, m = actuators.n, len(gains.motor_names)
        values = np.zeros((m, 2 * (n + m)))
        values[_own_columns(actuators)] = gains.values
        return cls(gains.motor_names, values, np.zeros((0, m, m)))

    def own(self, actuators: Actuators) -> Array:
        """(4, m) the gains of each motor on errors of its own joint: q, q', theta, theta'."""
        return np.asarray(self.values[_own_columns(actuators)])


def _own_columns(actuators: Actuators) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row and column indices (4, m) of the gains of each motor on q, q', theta, theta' of its
    joint."""
    n, joint = actuators.n, actuators.joint_of_motor
    motors = np.arange(len(joint))
    columns = np.array([joint, n + joint, 2 * n + motors, 2 * n + len(joint) + motors])
    return np.broadcast_to(motors, columns.shape), columns


class CoupledArm(NamedTuple):
    """An arm near rest with one motor for each joint.

    Attributes: `mass` (n, n), with the rotors of rigid joints; `gravity` (n, n), dg/dq; `dampers`
    (n, n), of passive joints; `motor` B, `stiffness` K and `damping` D (n,), zero at rigid joints;
    `viscous` (n,); `elastic`, the indices of the elastic joints; `shares` (m, n), of each motor in
    the torque of its joint.
    """

    mass: Array
    gravity: Array
    dampers: Array
    motor: Array
    viscous: Array
    stiffness: Array
    damping: Array
    elastic: NDArray[np.int64]
    shares: Array

    @classmethod
    def at(
        cls, model: MultibodyModel, actuators: Actuators, rest: Rest, q: Array, w: Array
    ) -> tuple[CoupledArm, Array]:
        """The arm at rest at q (n,), and the gains (4, m) of its stiffness drives for the bandwidth
        w (n,)."""
        n, m = model.n, len(actuators.motors)
        rows, shares, drives = np.zeros((4, n)), np.zeros((m, n)), np.zeros((4, m))
        for i, joint in enumerate(_joints(model, actuators, rest, q, np.ones(n))):
            for j, share in joint.shares.items():
                shares[j, i] = share
            rows[1, i] = joint.viscous
            if not joint.is_rigid:
                rows[0, i], rows[2:, i] = joint.motor, (joint.K, joint.damping)
            _drive_gains(actuators, joint, drives, w[i] ** 2, 2.0 * w[i])
        mass = mass_matrix(model, q) + np.diag(rigid_rotors(actuators))
        elastic = np.flatnonzero(~actuators.is_rigid)
        of_links = gravity_gradient(model, q), passive_slopes(model, q)[1]
        motor, viscous, springs, dampers = rows
        return cls(mass, *of_links, motor, viscous, springs, dampers, elastic, shares), drives

    @property
    def weight(self) -> Array:
        """(n, n) M + B, the inertia of links that move with their motors."""
        return np.asarray(self.mass + np.diag(self.motor))

    def state_space(self) -> tuple[Array, Array]:
        """A and B of x' = A x + B tau; x = (q, theta, q', theta') with the motors of elastic joints
        only; tau (n,), one torque for each joint."""
        n, e = len(self.motor), self.elastic
        k = n + len(e)
        is_elastic = np.isin(np.arange(n), e)
        joint = np.vstack((np.eye(n), np.eye(n)[e]))  # of each coordinate
        bends = np.vstack((-np.eye(n), np.eye(n)[e]))  # theta - q from the coordinates
        mass = np.zeros((k, k))
        mass[:n, :n], mass[n:, n:] = self.mass, np.diag(self.motor[e])
        spring, damper = (bends * row @ bends.T for row in (self.stiffness, self.damping))
        spring[:n, :n] += self.gravity
        damper[:n, :n] += self.dampers
        damper += np.diag(np.r_[np.where(is_elastic, 0.0, self.viscous), self.viscous[e]])
        joint[e] = 0.0  # the torque of an elastic joint acts on its motor
        rates = np.linalg.solve(mass, np.hstack((-spring, -damper, joint)))
        A = np.vstack((np.eye(2 * k)[k:], rates[:, : 2 * k]))
        return A, np.vstack((np.zeros((k, n)), rates[:, 2 * k :]))

    def lift(self, of_links: Array, of_motors: Array, drives: Array) -> Array:
        """(m, 2 n + 2 m) gains of the motors from gains (2, n, n) of joint torques on q, q' and
        (2, n, n) on theta, theta', and those of the drives (4, m).

        The motors of a joint share its torque. Each corrects the error of its own theta, and the
        other joints use their mean.
        """
        shares = self.shares
        blocks = [shares @ each for each in of_links]
        for each, own in zip(of_motors, drives[2:], strict=True):
            diagonal = np.diag(each)
            others = shares @ (each - np.diag(diagonal)) @ shares.T
            blocks.append(others + np.diag(shares @ diagonal + own))
        return np.hstack(blocks)


def coupled_gains(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    bandwidth: Any,
    stiffness: Any = None,
    *,
    period: float = 1e-3,
    delay: float = 0.0,
) -> CoupledGains:
    """Linear-quadratic gains of the whole arm at rest at q (n,), see the module.

    bandwidth : w in 1/s, a scalar or (n,); M_t is then scaled by w from both sides.
    stiffness : (v,) second outputs at rest; default: mid-range. A stiffness drive has a position
        loop of its own, with two poles at -w.
    period, delay : s; the delay from a sample to the effect of its torque, at most MAX_PERIODS
        periods; the hold for a period is added.

    Raises InputError for a longer delay, and DynamicsError if no gains stabilise the arm.
    """
    q = as_array("q", q, (model.n,), model.joint_names)
    w = per_joint(model, bandwidth)
    arm, drives = CoupledArm.at(model, actuators, at_rest(model, actuators, q, stiffness), q, w)
    n, e = model.n, arm.elastic
    k = n + len(e)
    A, B = arm.state_space()
    springs = w[:, None] * arm.weight * w
    cost = np.zeros_like(A)
    cost[:n, :n] = springs
    cost[k : k + n, k : k + n] = arm.mass
    cost[k + n :, k + n :] = np.diag(arm.motor[e])
    effort = np.asarray(np.linalg.inv(springs), dtype=np.float64)
    gains, past = sampled_lqr(A, B, cost, effort, period, delay)
    full = np.zeros((4, n, n))  # of q, theta, q', theta'
    full[0], full[2] = gains[:, :n], gains[:, k : k + n]
    full[1][:, e], full[3][:, e] = gains[:, n:k], gains[:, k + n :]
    of_joint = (arm.shares.T > 0.0).astype(np.float64)  # the torques of its motors, added
    before = np.array([arm.shares @ each @ of_joint for each in past])
    return CoupledGains(actuators.motor_names, arm.lift(full[::2], full[1::2], drives), before)


def per_joint(model: MultibodyModel, bandwidth: Any) -> Array:
    """(n,) bandwidths in 1/s, from a scalar or (n,)."""
    return bandwidths(bandwidth, model.joint_names)


def sampled_lqr(
    A: Array, B: Array, cost: Array, effort: Array, period: float, delay: float
) -> tuple[Array, Array]:
    """Gains (m, N) on the state and (L, m, m) on the inputs of the last L periods that minimise the
    integral of x^T cost x + u^T effort u, sampled, with inputs held for a period.

    Raises InputError for a delay that is negative or beyond MAX_PERIODS periods.
    """
    if not 0.0 <= delay <= MAX_PERIODS * period * (1.0 + 1e-9):
        raise InputError(
            f"delay is {1e3 * delay:g} ms: gains are designed for 0 to {MAX_PERIODS} periods of "
            f"{1e3 * period:g} ms; predict the state over a longer delay, if it is known"
        )
    N, m = B.shape
    late = int(delay / period + 1e-9)
    fraction = max(delay / period - late, 0.0)
    fraction = fraction if fraction > 1e-6 else 0.0
    first, early = held_response(A, B, (1.0 - fraction) * period)
    second, rest = held_response(A, B, fraction * period)
    count = late + (fraction > 0.0)
    step = np.zeros((N + m * count, N + m * count))
    push = np.zeros((len(step), m))
    step[:N, :N] = first @ second
    for j, effect in ((late, early), (late + 1, first @ rest)):
        if j == 0:
            push[:N] = effect
        elif j <= count:
            step[:N, N + m * (j - 1) : N + m * j] = effect
    if count:
        push[N : N + m] = np.eye(m)
        step[N + m :, N : N + m * (count - 1)] = np.eye(m * (count - 1))
    weight = np.zeros_like(step)
    weight[:N, :N] = period * cost
    P = solve_riccati(step, push, weight, period * effort)
    curvature = period * effort + push.T @ P @ push
    gains = np.asarray(np.linalg.solve(curvature, push.T @ P @ step), dtype=np.float64)
    past = gains[:, N:].reshape(m, count, m).transpose(1, 0, 2)
    return gains[:, :N], past


def held_response(A: Array, B: Array, time: float) -> tuple[Array, Array]:
    """e^(A t) and the response to inputs held for t in s."""
    N, m = B.shape
    both = np.zeros((N + m, N + m))
    both[:N] = time * np.hstack((A, B))
    transition = expm(both)
    return transition[:N, :N], transition[:N, N:]


def whole_arm_poles(
    model: MultibodyModel,
    actuators: Actuators,
    gains: CoupledGains,
    q: Array,
    stiffness: Any = None,
) -> ComplexArray:
    """Poles in 1/s of the whole arm near rest at q (n,) under these gains, without sampling and
    delay; gravity and viscous friction included."""
    arm = linear_arm(model, actuators, q, at_rest(model, actuators, q, stiffness))
    A, B, join = arm.state_space()
    n, m = model.n, len(actuators.motors)
    state = np.block([[join, 0.0 * join], [0.0 * join, join]])  # q, theta, q', theta'
    order = np.r_[0:n, n + m : 2 * n + m, n : n + m, 2 * n + m : 2 * (n + m)]
    closed = A - B @ gains.values @ state[order]
    return np.asarray(np.linalg.eigvals(closed), dtype=np.complex128)
