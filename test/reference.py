# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Dynamics from first principles to 40 digits, the reference for the recursions.

A body is its particles p, known by J = integral p p^T dm (4x4, homogeneous), and moves by a product
of matrix exponentials C(t). Everything else follows from the power series of C in time: no screw
algebra, no inertia tensor, no recursion of the papers. With X = integral (p'' - g) p^T dm = (C'' -
[g; 0] e_4^T) J C^T summed over a subtree, and S the 4x4 generator of its joint, the principle of
d'Alembert reads Q = sum_ab S_ab X_ab. The skew part of X is the moment about the origin, its last
column the force.

A series is an object array (k, ...) of the coefficients of 1, t, t^2, ...
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np

DIGITS = 40


def exact(values: Any) -> np.ndarray:
    """Float64 numbers, unrounded, as numbers with 40 digits."""
    mp.mp.dps = DIGITS
    array = np.asarray(values)
    result = np.empty(array.shape, dtype=object)
    for index, x in np.ndenumerate(array):
        result[index] = x if isinstance(x, mp.mpf) else mp.mpf(float(x))
    return result


def error(actual: Any, expected: Any, axes: int = 1) -> float:
    """Largest difference relative to the largest component, over vectors (matrices: `axes` 2)."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    if not actual.size:
        return 0.0
    last = tuple(range(actual.ndim - axes, actual.ndim))
    difference = np.asarray(np.abs(actual - expected).max(axis=last), dtype=float)
    size = np.asarray(np.abs(expected).max(axis=last), dtype=float)
    return float(np.max(difference / np.where(size > 0, size, 1.0)))


def worst(actual: Iterable[Any], expected: Iterable[Any], axes: int = 1) -> float:
    """The largest :func:`error` of several results."""
    return float(np.max([error(*pair, axes) for pair in zip(actual, expected, strict=True)]))


# Power series in time


def series(derivatives: Any) -> np.ndarray:
    """Coefficients x_k / k! of the function with these derivatives (k, ...) at t = 0."""
    x = exact(derivatives)
    return np.array([x[k] / mp.factorial(k) for k in range(len(x))])


def derivatives(x: np.ndarray) -> np.ndarray:
    """Values of a function and its derivatives at t = 0."""
    return np.array([x[k] * mp.factorial(k) for k in range(len(x))])


def constant(x: np.ndarray, count: int) -> np.ndarray:
    """`x` at all times, as a series of `count` coefficients."""
    return np.array([x, *[0 * x] * (count - 1)])


def rate(x: np.ndarray) -> np.ndarray:
    """The time derivative, known to one order less."""
    return np.array([k * x[k] for k in range(1, len(x))])


def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two series of matrices, to the order to which both are known."""
    count = min(len(a), len(b))
    return np.array([sum(a[j] @ b[k - j] for j in range(k + 1)) for k in range(count)])


def transpose(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, -1, -2)


# Rigid motions and bodies as homogeneous matrices


def hat(screw: np.ndarray) -> np.ndarray:
    """The 4x4 generator of a twist (..., 6)."""
    wx, wy, wz, vx, vy, vz = np.moveaxis(exact(screw), -1, 0)
    o = 0 * wx
    rows = [[o, -wz, wy, vx], [wz, o, -wx, vy], [-wy, wx, o, vz], [o, o, o, o]]
    return np.moveaxis(np.array(rows, dtype=object), (0, 1), (-2, -1))


def twist(generator: np.ndarray) -> np.ndarray:
    """(omega, v) of 4x4 generators (..., 4, 4)."""
    g = generator
    entries = (g[..., 2, 1], g[..., 0, 2], g[..., 1, 0], g[..., 0, 3], g[..., 1, 3], g[..., 2, 3])
    return np.stack(entries, axis=-1)


def wrench(X: np.ndarray) -> np.ndarray:
    """(m, f) of X = integral a p^T dm (..., 4, 4): m = integral p x a dm, f = integral a dm."""
    return twist(np.concatenate([X[..., :3] - transpose(X)[..., :3], X[..., 3:]], axis=-1))


def rigid(C: Any) -> np.ndarray:
    """The exact rigid motion next to a float64 pose (4, 4), whose rotation has rounding errors."""
    C = exact(C)
    for _ in range(2):  # 1e-16, 1e-32, 1e-64
        R = C[:3, :3]
        C[:3, :3] = R @ (3 * np.eye(3, dtype=int) - R.T @ R) / 2
    return C


def inverse(C: np.ndarray) -> np.ndarray:
    """The inverse of a series of rigid motions."""
    R = transpose(C[:, :3, :3])
    result = constant(exact(np.eye(4)), len(C))
    result[:, :3, :3] = R
    result[:, :3, 3:] = -times(R, C[:, :3, 3:])
    return result


def matrix_exponential(x: np.ndarray) -> np.ndarray:
    """exp(x) of a 4x4 generator; x^4 = -w^2 x^2 by Cayley and Hamilton, with w its angle.

    Many times faster than mp.expm, which takes over where the differences cancel.
    """
    w = mp.sqrt(x[2, 1] ** 2 + x[0, 2] ** 2 + x[1, 0] ** 2)
    if w == 0:
        return exact(np.eye(4)) + x
    if w < 1e-3:
        return exact(mp.expm(mp.matrix(x.tolist())).tolist())
    square = x @ x
    rest = square * ((1 - mp.cos(w)) / w**2) + square @ x * ((w - mp.sin(w)) / w**3)
    return exact(np.eye(4)) + x + rest


def exponential(Y: np.ndarray, q: np.ndarray) -> np.ndarray:
    """exp(Y q(t)) of a screw (6,) and a series of scalars: exp(Y q(0)) times a finite sum."""
    generator = hat(Y)
    start = matrix_exponential(generator * q[0])
    step = np.array([0 * q[0], *q[1:]])[:, None, None]
    power, term = constant(exact([[1]]), len(q)), start
    total = power * term
    for k in range(1, len(q)):
        power, term = times(power, step), term @ generator / k
        total = total + power * term
    return total


def moved_by(pose: Any, twists: Any) -> np.ndarray:
    """The pose (4, 4) that moves with spatial twist, acceleration, ... (k, 6): C' = V^ C."""
    V = hat(series(twists))
    C = [rigid(pose)]
    for k in range(len(V)):
        C.append(sum(V[j] @ C[k - j] for j in range(k + 1)) / (k + 1))
    return np.array(C)


def particles(M: np.ndarray) -> np.ndarray:
    """J = integral p p^T dm (4, 4) of a spatial inertia (6, 6) about the origin."""
    M = exact(M)
    moment = np.array([M[2, 4], M[0, 5], M[1, 3]])  # m c, from m c~
    J = np.empty((4, 4), dtype=object)
    J[:3, :3] = np.trace(M[:3, :3]) / 2 * np.eye(3) - M[:3, :3]
    J[:3, 3] = J[3, :3] = moment
    J[3, 3] = M[5, 5]
    return J


# The robot


class Motion(NamedTuple):
    """Series of the base's pose, of the bodies' poses and of the joints' generators."""

    base: np.ndarray
    poses: list[np.ndarray]
    joints: list[np.ndarray]


def motion(model: Any, state: Any, base: np.ndarray | None = None) -> Motion:
    """Move the robot by q, q', ... in `state` (k, n); `base` is a series of poses, None at rest."""
    q = series(state)
    base = constant(exact(np.eye(4)), len(q)) if base is None else base[: len(q)]
    frames, poses, joints = [], [], []
    for i, parent in enumerate(model.parents):
        before = base if parent < 0 else frames[parent]
        generator = hat(model.screws[i])
        frames.append(times(before, exponential(model.screws[i], q[:, i])))
        poses.append(frames[i] @ rigid(model.poses[i]))
        joints.append(times(before @ generator, inverse(before)))
    return Motion(base, poses, joints)


def twists(pose: np.ndarray, representation: str = "spatial") -> np.ndarray:
    """The twist of a series of poses and its derivatives, (k - 1, 6)."""
    omega = twist(times(rate(pose), inverse(pose)))
    turned = twist(times(inverse(pose), rate(pose)))
    velocity = rate(pose)[:, :3, 3]
    parts = {
        "spatial": (omega[:, :3], omega[:, 3:]),
        "body": (turned[:, :3], turned[:, 3:]),
        "hybrid": (omega[:, :3], velocity),
        "mixed": (turned[:, :3], velocity),
    }
    return derivatives(np.concatenate(parts[representation], axis=-1))


class Dynamics(NamedTuple):
    """Derivatives of the joint torques (k, n), and of the wrenches (k, n, 6) that joints transmit,
    that bodies need for their motion under gravity, and that compensate for gravity alone."""

    torques: np.ndarray
    transmitted: np.ndarray
    needed: np.ndarray
    against_gravity: np.ndarray


def dynamics(
    model: Any,
    state: Any,
    applied: Mapping[int, Any] | None = None,
    base: np.ndarray | None = None,
    inertias: Any = None,
    moving: Motion | None = None,
) -> Dynamics:
    """All quantities of the dynamics of order len(state) - 3.

    `applied` is {body index: (k, 6)}, the wrench that the world applies and its derivatives, in
    inertial axes about the inertial origin. `inertias` (n, 6, 6) replaces those of the model;
    `moving` is an earlier result of :func:`motion`, which then need not be computed again.
    """
    moving = moving or motion(model, state, base)
    inertias = model.inertias if inertias is None else inertias
    g = np.zeros((4, 4), dtype=object)
    g[:3, 3] = exact(model.gravity)
    needed, weight = [], []
    for C, M in zip(moving.poses, inertias, strict=True):
        J = particles(M)
        lever = J @ transpose(C)
        acceleration = rate(rate(C))
        gravity = constant(g, len(acceleration))
        needed.append(wrench(times(acceleration - gravity, lever)))
        weight.append(wrench(times(-gravity, lever)))
    transmitted = [W.copy() for W in needed]
    for i, W in (applied or {}).items():
        transmitted[i] = transmitted[i] - series(W)[: len(transmitted[i])]
    for i in reversed(range(model.n)):
        if model.parents[i] >= 0:
            transmitted[model.parents[i]] = transmitted[model.parents[i]] + transmitted[i]
    q2 = rate(rate(series(state)))
    torques = [
        times(twist(S)[:, None, :], W[:, :, None])[:, 0, 0] + rotor * q2[:, i]
        for i, (S, W, rotor) in enumerate(
            zip(moving.joints, transmitted, exact(model.reflected_inertia), strict=True)
        )
    ]
    return Dynamics(
        *(derivatives(np.stack(x, axis=1)) for x in (torques, transmitted, needed, weight))
    )


def energy(model: Any, state: Any) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the kinetic energy, rotors included, and of the potential energy."""
    q1 = rate(series(state))
    kinetic = potential = 0
    for i, C in enumerate(motion(model, state).poses):
        J, v = particles(model.inertias[i]), rate(C)
        kinetic = kinetic + np.trace(times(v @ J, transpose(v)), axis1=1, axis2=2) / 2
        potential = potential - (C @ J)[:, :3, 3] @ exact(model.gravity)
        spin = times(q1[:, i, None, None], q1[:, i, None, None])[:, 0, 0]
        kinetic = kinetic + exact(model.reflected_inertia)[i] / 2 * spin
    return derivatives(kinetic), derivatives(potential)


STEP = 1e-30


def complex_steps(function, rows):
    """The derivatives (n, n) of `function` by each of its rows (n,), by complex steps."""
    matrices = []
    for k in range(len(rows)):
        columns = []
        for unit in np.eye(len(rows[k])):
            moved = [row + (STEP * 1j * unit if j == k else 0) for j, row in enumerate(rows)]
            columns.append([complex(x).imag / STEP for x in function(*moved)])
        matrices.append(np.array(columns).T)
    return matrices


def exact_rates(model, state, body, representation):
    """J, J', J'', ... (k, 6, n) along the motion `state` (k, n), from generators and poses."""
    moving = motion(model, state)
    index, offset = model.frame(body)
    C = moving.poses[index] @ exact(offset)
    columns = 0 * C[:, :1, :1] + np.zeros((6, model.n), dtype=int)
    for j in model.path(body):
        S = moving.joints[j]
        inside = twist(times(inverse(C), times(S, C)))
        angular, linear = {
            "spatial": (twist(S)[:, :3], twist(S)[:, 3:]),
            "body": (inside[:, :3], inside[:, 3:]),
            "hybrid": (twist(S)[:, :3], times(S, C)[:, :3, 3]),
            "mixed": (inside[:, :3], times(S, C)[:, :3, 3]),
        }[representation]
        columns[:, :, j] = np.concatenate([angular, linear], axis=-1)
    return derivatives(columns)


def along(model, q, direction, order, body, representation):
    """The derivative of this order of J along a straight line, to 40 digits."""
    state = np.zeros((order + 1, model.n))
    state[0], state[1] = q, direction
    return exact_rates(model, state, body, representation)[order]
