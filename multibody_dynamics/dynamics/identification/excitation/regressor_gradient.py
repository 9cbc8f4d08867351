# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The regressor of many states, and the gradient of a function of it with respect to the motion.

With S_ij the screw of joint i, V_j and A_j the twist and the acceleration (minus gravity) of body
j, all in the frame of body j, the row of joint i in the ten columns of body j is

    Y_ij = phi(S_ij, A_j) - phi(ad_V_j S_ij, V_j),   phi(s, X) pi = s^T M(pi) X

for every joint i on the path from the base to body j (see `regressor`). A function f of all entries
with derivatives G_ij = df/dY_ij thus changes as

    df = d sum_ij S_ij^T M(G_ij) A_j - (ad_V_j S_ij)^T M(G_ij) V_j

at constant G. The gradient with respect to q, q', q'' follows by running the recursions of V, A and
S backwards, from the tips to the base (reverse mode of automatic differentiation: A. Griewank,
A. Walther, "Evaluating Derivatives", SIAM 2008, ch. 3), at about three times the cost of Y itself.
With loops, Y = G^T Y_tree, and the motion of the tree is that of the motors (`loop_derivatives`).
"""

from typing import Any

import numpy as np

from ...core import (
    Array,
    IndependentCopies,
    InputError,
    answers,
    as_array,
    by_robot,
    compiled,
    inlined,
    writable,
)
from ...lie import se3
from ...lie.screws import (
    accumulate_screw,
    ad,
    add,
    add_screws,
    coad,
    cross,
    load_rotation,
    load_screw,
    load_vector,
    muladd_screw,
    pair,
    scale,
    scale_screw,
    store_screw,
    subtract_screw,
    symmetric_times,
)
from ...mechanisms import ClosedChainModel, loop_tangents
from ...model import MultibodyModel
from ...recursions.body_fixed import pull, push
from ...rigid import forward_kinematics
from ..bodies.regressor import inverse_dynamics_regressor

V, A = 0, 6  # columns of twist and acceleration in the row of a body


@inlined
def momentum_of(weights, at, X):
    """M X for the ten numbers in row `at` of `weights` taken as inertial parameters."""
    m = weights[at, 0]
    c = load_vector(weights, at, 1)
    inertia = (
        weights[at, 4], weights[at, 5], weights[at, 6],
        weights[at, 7], weights[at, 8], weights[at, 9],
    )  # fmt: skip
    return (
        add(symmetric_times(inertia, X[0]), cross(c, X[1])),
        add(scale(m, X[1]), cross(X[0], c)),
    )


@inlined
def add_phi(sign, s, X, row, k):
    """Add sign phi(s, X) to the ten numbers of `row` from column k."""
    a, b = s
    w, v = X
    first = add(cross(v, a), cross(b, w))
    row[k] += sign * (b[0] * v[0] + b[1] * v[1] + b[2] * v[2])
    row[k + 1] += sign * first[0]
    row[k + 2] += sign * first[1]
    row[k + 3] += sign * first[2]
    row[k + 4] += sign * a[0] * w[0]
    row[k + 5] += sign * (a[0] * w[1] + a[1] * w[0])
    row[k + 6] += sign * (a[0] * w[2] + a[2] * w[0])
    row[k + 7] += sign * a[1] * w[1]
    row[k + 8] += sign * (a[1] * w[2] + a[2] * w[1])
    row[k + 9] += sign * a[2] * w[2]


@inlined
def outward(parents, screws, places, motion, bodies, seen):
    """Write V and A of all bodies, and the screws S_ij of the joints that carry them.

    places : (n, 12) rotation and position of every body in the frame of its parent.
    motion : (3, n) rows q, q', q''.
    bodies : (n + 1, 12); row 0 holds V and A of the base.
    seen : (n n, 6); row n j + i holds S_ij.
    """
    n = parents.shape[0]
    for j in range(n):
        p = parents[j]
        R, d = load_rotation(places, j, 0), load_vector(places, j, 9)
        X = load_screw(screws, j, 0)
        twist = muladd_screw(motion[1, j], X, pull(R, d, load_screw(bodies, p + 1, V)))
        change = muladd_screw(motion[2, j], X, scale_screw(motion[1, j], ad(twist, X)))
        store_screw(bodies, j + 1, V, twist)
        store_screw(bodies, j + 1, A, add_screws(change, pull(R, d, load_screw(bodies, p + 1, A))))
        store_screw(seen, n * j + j, 0, X)
        i = p
        while i >= 0:
            store_screw(seen, n * j + i, 0, pull(R, d, load_screw(seen, n * p + i, 0)))
            i = parents[i]


def _regressors(parents, screws, places, motions, bodies, seen, Y):
    n = parents.shape[0]
    for t in range(motions.shape[0]):
        outward(parents, screws, places[t], motions[t], bodies, seen)
        for j in range(n):
            twist, change = load_screw(bodies, j + 1, V), load_screw(bodies, j + 1, A)
            i = j
            while i >= 0:
                S = load_screw(seen, n * j + i, 0)
                add_phi(1.0, S, change, Y[t, i], 10 * j)
                add_phi(-1.0, ad(twist, S), twist, Y[t, i], 10 * j)
                i = parents[i]


def _gradients(parents, screws, places, motions, weights, bodies, seen, bars, seen_bars, result):
    n = parents.shape[0]
    for t in range(motions.shape[0]):
        outward(parents, screws, places[t], motions[t], bodies, seen)
        bars[:] = 0.0
        seen_bars[:] = 0.0
        for j in range(n - 1, -1, -1):
            p = parents[j]
            R, d = load_rotation(places[t], j, 0), load_vector(places[t], j, 9)
            X = load_screw(screws, j, 0)
            qd = motions[t, 1, j]
            twist, change = load_screw(bodies, j + 1, V), load_screw(bodies, j + 1, A)
            i = j
            while i >= 0:
                S = load_screw(seen, n * j + i, 0)
                at = n * i + j
                u = ad(twist, S)
                of_change = momentum_of(weights[t], at, change)
                of_twist = momentum_of(weights[t], at, twist)
                accumulate_screw(bars, j + 1, A, momentum_of(weights[t], at, S))
                less = add_screws(momentum_of(weights[t], at, u), coad(S, of_twist))
                accumulate_screw(bars, j + 1, V, scale_screw(-1.0, less))
                accumulate_screw(
                    seen_bars, n * j + i, 0, add_screws(of_change, coad(twist, of_twist))
                )
                i = parents[i]
            A_bar = load_screw(bars, j + 1, A)
            V_bar = muladd_screw(qd, coad(X, A_bar), load_screw(bars, j + 1, V))
            result[t, 2, j] = pair(X, A_bar)
            result[t, 1, j] = pair(X, V_bar) + pair(ad(twist, X), A_bar)
            local = muladd_screw(motions[t, 2, j], X, scale_screw(qd, ad(twist, X)))
            pulled = subtract_screw(change, local)
            slope = pair(ad(X, twist), V_bar) + pair(ad(X, pulled), A_bar)
            i = p
            while i >= 0:
                S_bar = load_screw(seen_bars, n * j + i, 0)
                slope += pair(ad(X, load_screw(seen, n * j + i, 0)), S_bar)
                accumulate_screw(seen_bars, n * p + i, 0, push(R, d, S_bar))
                i = parents[i]
            result[t, 0, j] = -slope
            accumulate_screw(bars, p + 1, V, push(R, d, V_bar))
            accumulate_screw(bars, p + 1, A, push(R, d, A_bar))


_compiled_regressors = compiled(_regressors)
_compiled_gradients = compiled(_gradients)


class RegressorStack(IndependentCopies):
    """Regressors (k, n, 10 N) of k states of a robot, and gradients of functions of them."""

    def __init__(self, model: MultibodyModel) -> None:
        n = model.body_count
        self._model = model
        self._screws = writable(model.body_screws)
        self._bodies, self._seen = np.zeros((n + 1, 12)), np.zeros((n * n, 6))
        self._bodies[0, A + 3 :] = -model.gravity
        self._bars, self._seen_bars = np.zeros((n + 1, 12)), np.zeros((n * n, 6))

    def regressors(self, motion: Any) -> Array:
        """Y (k, n, 10 N) for states (k, 3, n) with rows q, q', q''.

        The same as :func:`inverse_dynamics_regressor`. Raises InputError for wrong shapes and NaN.
        """
        model, rows = self._model, self._checked(motion)
        N = model.body_count
        Y = np.zeros((len(rows), N, 10 * N))
        of_tree = rows[..., model.coordinates]
        arrays = (model.parents, self._screws, self._places(rows), of_tree)
        _compiled_regressors(*arrays, self._bodies, self._seen, Y)
        return model.collect(Y, -2)

    def gradient(self, motion: Any, weights: Any) -> Array:
        """df/d(q, q', q'') (k, 3, n) of a function f of Y whose derivatives df/dY are `weights`.

        weights : (k, n, 10 N); entries where Y is zero by structure are not used.
        """
        model, rows = self._model, self._checked(motion)
        n, N = model.n, model.body_count
        G = as_array("weights", weights, (n, 10 * N))
        if len(G) != len(rows) or G.ndim != 3:
            raise InputError(f"weights: expected ({len(rows)}, {n}, {10 * N}), got {G.shape}")
        of_tree = rows[..., model.coordinates]
        result = np.empty_like(of_tree)
        arrays = (model.parents, self._screws, self._places(rows), of_tree)
        scratch = (self._bodies, self._seen, self._bars, self._seen_bars)
        flat = writable(G[:, model.coordinates]).reshape(len(rows), N * N, 10)
        _compiled_gradients(*arrays, flat, *scratch, result)
        return model.collect(result, -1)

    def _checked(self, motion: Any) -> Array:
        n = self._model.n
        rows = as_array("motion", motion, (3, n), self._model.joint_names)
        if rows.ndim != 3:
            raise InputError(f"motion: expected states (k, 3, {n}), got {rows.shape}")
        return writable(rows)

    def _places(self, rows: Array) -> Array:
        """Rotation and position (k, n, 12) of the bodies in the frames of their parents."""
        model = self._model
        poses = forward_kinematics(model, rows[:, 0]).pose
        places = np.empty((len(rows), model.body_count, 12))
        for j, p in enumerate(model.parents.tolist()):
            own = poses[:, j] if p < 0 else se3.inverse(poses[:, p]) @ poses[:, j]
            places[:, j, :9] = own[:, :3, :3].reshape(-1, 9)
            places[:, j, 9:] = own[:, :3, 3]
        return places


class LoopRegressorStack(IndependentCopies):
    """The same of a robot with loops."""

    def __init__(self, model: ClosedChainModel) -> None:
        self._model, self._tree = model, RegressorStack(model.tree)

    def regressors(self, motion: Any) -> Array:
        return inverse_dynamics_regressor(self._model, *np.moveaxis(motion, 1, 0)).Y

    def gradient(self, motion: Any, weights: Any) -> Array:
        """Of Y = G^T Y_tree: by the motion of the tree, and by G, which turns with H."""
        tangents = loop_tangents(self._model, *np.moveaxis(motion, 1, 0))
        rows, G = np.stack(tangents.motion, axis=1), tangents.G[0]
        result = tangents.pulled_back(self._tree.gradient(rows, G @ weights))
        felt = self._tree.regressors(rows) @ np.swapaxes(weights, -1, -2)
        result[:, 0] += np.einsum("kaij,kai->kj", tangents.H, felt)
        return result


@by_robot
def regressor_stack(model: MultibodyModel) -> RegressorStack | LoopRegressorStack:
    """The regressors of a robot, with or without loops, and gradients of functions of them."""
    return RegressorStack(model)


@answers(regressor_stack, ClosedChainModel)
def _of_loops(model: ClosedChainModel) -> LoopRegressorStack:
    return LoopRegressorStack(model)
