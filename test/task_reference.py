# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joint rates from task rates to 40 digits, from the optimisation problem that defines them.

`rates(t)` solves W (q' - z) = A^T mu, A q' + c_0 = -L mu at one time, with A from products of
exponentials and no recursion. The package's q'', q''' and q'''' must be the derivatives of this
solution along the motion q(t), differentiated numerically with 40 digits.
"""

from collections.abc import Callable
from math import factorial

import mpmath as mp
import numpy as np

from multibody_dynamics.dynamics.tasks.tool_task import COMPONENTS
from reference import derivatives, error, exact, motion, moved_by, rigid, twists

ORDERS = 4
POINTS = 9


def tool_motion(model, task, state):
    """Pose (4, 4) and hybrid twist ... jounce (4, 6) of a tool at 40 digits, from q ... q''''."""
    index, offset = task.tool_in(model)
    pose = motion(model, state).poses[index] @ rigid(offset)
    return pose[0], twists(pose, "hybrid")


def differentiated(function: Callable, orders: int = ORDERS) -> np.ndarray:
    """function and its derivatives at t = 0, (orders, ...): by a polynomial through 9 points."""
    mp.mp.dps = 40
    h, steps = mp.mpf(10) ** -6, range(-(POINTS // 2), POINTS // 2 + 1)
    inverse = np.array((mp.matrix([[k**j for j in range(POINTS)] for k in steps]) ** -1).tolist())
    values = np.array([function(h * k) for k in steps])
    flat = (inverse / h ** np.arange(POINTS)[:, None]) @ values.reshape(POINTS, -1)
    return derivatives(flat.reshape(values.shape))[:orders]


def polynomial(rows):
    """The function of time with the derivatives `rows` (k, ...) at 0."""
    rows = exact(rows)
    return lambda t: sum(rows[k] * t**k / mp.factorial(k) for k in range(len(rows)))


def taylor(rows, t):
    """The rows f, f', ... of a polynomial at t, from those at 0."""
    return [
        sum(row * t**j / factorial(j) for j, row in enumerate(rows[k:])) for k in range(len(rows))
    ]


def step(x):
    if x <= 0 or x >= 1:
        return mp.mpf(x >= 1)
    return x**5 * (126 - 420 * x + 540 * x**2 - 315 * x**3 + 70 * x**4)


def exponential(Y, q):
    """exp(Y q) of a screw (6,), closed form."""
    w, v = Y[:3], Y[3:]
    size = mp.sqrt(w @ w)
    C = exact(np.eye(4))
    if size == 0:
        C[:3, 3] = v * q
        return C
    W = hat(w / size)
    x, one = size * q, exact(np.eye(3))
    C[:3, :3] = one + mp.sin(x) * W + (1 - mp.cos(x)) * W @ W
    C[:3, 3] = (one * x + (1 - mp.cos(x)) * W + (x - mp.sin(x)) * W @ W) @ v / size
    return C


def hat(w):
    o = 0 * w[0]
    return np.array([[o, -w[2], w[1]], [w[2], o, -w[0]], [-w[1], w[0], o]])


def cross(a, b):
    return hat(a) @ b


def placed(model, q):
    """The poses of all bodies and the joint screws (n, 6), inertial axes and origin."""
    before, poses, screws = [], [], []
    for i, parent in enumerate(model.parents):
        Y = exact(model.screws[i])
        C = exact(np.eye(4)) if parent < 0 else before[parent]
        e = C[:3, :3] @ Y[:3]
        screws.append(np.concatenate([e, C[:3, :3] @ Y[3:] + cross(C[:3, 3], e)]))
        before.append(C @ exponential(Y, q[i]))
        poses.append(before[i] @ rigid(model.poses[i]))
    return poses, screws


class Reference:
    """A motion q(t) with derivatives `state` (5, n), targets of tasks, and the required q'."""

    def __init__(self, model, tasks, targets, state, resolution, prescribed=None):
        self.model, self.tasks, self.resolution = model, tasks, resolution
        self.q = polynomial(state)
        self.prescribed = None if prescribed is None else polynomial(np.asarray(prescribed)[1:])
        self.poses = []
        for target in targets:
            V = [np.array(x, dtype=float) for x in target.seen_as("spatial").rates]
            self.poses.append(moved_by(target.pose, V))
        index = {model.joint_index(j) for j in resolution.prescribed}
        self.serving = [i not in index for i in range(model.n)]

    def target(self, k, t):
        """Pose, omega and r' of a target, and its axes as rows."""
        C = sum(x * t**j for j, x in enumerate(self.poses[k]))
        rate = sum(j * x * t ** (j - 1) for j, x in enumerate(self.poses[k]) if j)
        W = rate[:3, :3] @ C[:3, :3].T
        return C, np.array([W[2, 1], W[0, 2], W[1, 0]]), rate[:3, 3]

    def problem(self, t):
        """A, c_0 and the scale, the softness of each row."""
        poses, screws = placed(self.model, self.q(t))
        gain, length = exact([self.resolution.feedback, self.resolution.length])
        A, c, scales, softness = [], [], [], []
        for k, task in enumerate(self.tasks):
            index, offset = task.tool_in(self.model)
            C = poses[index] @ rigid(offset)
            desired, omega, velocity = self.target(k, t)
            axes = desired[:3, :3].T if task.is_turning else exact(task.axis_rows)
            r, s = C[:3, 3], C[:3, 3] - desired[:3, 3]
            free = [i for i in range(3) if i not in task.rotations]
            weights = {2: [int(i in free) for i in range(3)]}.get(len(task.rotations), [0.5] * 3)
            tilt = sum(mp.mpf(w) * cross(desired[:3, i], C[:3, i]) for i, w in enumerate(weights))
            path = self.model.path(index)
            for name in task.components:
                axis = axes[COMPONENTS.index(name) % 3]
                row = np.array([mp.mpf(0)] * self.model.n)
                if name.startswith("r"):
                    for j in path:
                        row[j] = axis @ screws[j][:3]
                    c.append(axis @ (gain * tilt - omega))
                    scales.append(mp.mpf(1))
                else:
                    for j in path:
                        row[j] = axis @ (screws[j][3:] + cross(screws[j][:3], r)) / length
                    turning = cross(omega, axis) @ s if task.is_turning else 0
                    c.append((axis @ (gain * s - velocity) + turning) / length)
                    scales.append(1 / length)
                A.append(row)
                softness.append(mp.mpf(task.softness))
        return np.array(A), np.array(c), np.array(scales), softness

    def rates(self, t):
        """q' (n,), and the missing task rates (m,), hard tasks before soft ones."""
        model, given = self.model, self.resolution
        q = self.q(t)
        A, c, scales, softness = self.problem(t)
        order = sorted(range(len(c)), key=lambda i: softness[i] > 0)
        A, c, scales = A[order], c[order], scales[order]
        softness = [softness[i] for i in order]
        mobility = np.array([1 / mp.mpf(w) for w in given.joint_weights(model)])
        mobility = np.where(self.serving, mobility, mp.mpf(0))
        z = np.array([self.wish(i, q[i]) for i in range(model.n)])
        if self.prescribed is not None:
            z = np.where(self.serving, z, self.prescribed(t))
        G = (A * mobility) @ A.T
        L = np.array([s**2 for s in softness])
        if given.damping is not None:
            hard = [i for i, s in enumerate(softness) if s == 0]
            eps = mp.mpf(given.damping.singular_value) ** 2
            inner = mp.matrix((G[np.ix_(hard, hard)] + eps * exact(np.eye(len(hard)))).tolist())
            inverse = inner**-1
            tau = eps * sum(inverse[i, i] for i in range(len(hard)))
            value = mp.mpf(given.damping.lambda_max) ** 2 * step(
                (tau - mp.mpf("0.1")) / mp.mpf("0.4")
            )
            L = np.array([value if s == 0 else x for s, x in zip(softness, L, strict=True)])
            self.tau = tau
        right = mp.matrix((-c - A @ z).tolist())
        mu = np.array(list(mp.lu_solve(mp.matrix((G + np.diag(L)).tolist()), right)))
        return z + mobility * (A.T @ mu), L * mu / scales

    def wish(self, i, q):
        given, model = self.resolution, self.model
        each = lambda x: mp.mpf(float(np.broadcast_to(x, model.n)[i]))  # noqa: E731
        z = mp.mpf(0)
        if given.posture is not None:
            z = -each(given.posture_gain) * (q - each(given.posture))
        if np.any(given.limit_speed):
            margin, (lower, upper) = each(given.limit_margin), model.limits[:2]
            if np.isfinite(lower[i]):
                low, high = (lower[i] - q) / margin + 1, (q - upper[i]) / margin + 1
                z += each(given.limit_speed) * (step(low) - step(high))
        return z

    def expected(self):
        """q' ... q'''' (4, n), and the missing task rates with derivatives (4, m)."""
        both = differentiated(lambda t: np.concatenate(self.rates(t)))
        return both[:, : self.model.n], both[:, self.model.n :]


def distance(a, b):
    """The largest differences of two motions, order by order, over the largest component."""
    pairs = zip(a.rates, b.rates, strict=True)
    return [float(np.abs(a.pose - b.pose).max()), *(error(x, y) for x, y in pairs)]
