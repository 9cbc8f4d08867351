# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Constraint equations f(q) = 0, A q' = 0, A q'' + A' q' = 0, ... up to q''''; [K12] (55).

A loop restricts the relative pose D = C_first^-1 C_second of two frames to the free motions h of
the cut joint: exp(X) for a lower pair, exp(X_1 x_1) ... exp(X_k x_k) otherwise. With h the free
motion closest to D,

    e = log(D h^-1)         the remaining gap, a screw in the first frame, with S(x)^T e = 0
    f = N^T e
    A = N^T Ad_{C_first}^-1 (J_second - J_first)

where S(x) are the free screws at x, and N (6, 6 - k) are the wrenches that the joint transmits,
which are reciprocal to them: N^T S = 0. They are orthonormal, N^T N = 1, and therefore the norm of
the multipliers is that of the transmitted wrench (m in N m, f in N) about the origin of the first
frame. N is constant for a lower pair. Otherwise its derivatives follow from the condition
N^T N' = 0: with Z = S (S^T S)^-1,

    S x' = Ad_{C_first}^-1 (V_second - V_first),   N' = -Z S'^T N.

A', A'', ... are the time derivatives of A along the motion. A is the derivative of f where f = 0.
"""

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import (
    STATE_ROWS,
    Array,
    DynamicsError,
    InputError,
    as_array,
    as_state,
    product_rule,
    times,
)
from ..lie import se3
from ..model import MultibodyModel
from ..rigid import body_rows, spatial_jacobians
from .loops import ConstrainedModel, ConstraintMatrix, LoopClosure

CONVERGED = 1e-14  # the last step of a Newton iteration, rad or m
ITERATIONS = 50
OPEN = 0.1  # rad or m; with a larger gap, another branch of the free motions may be closer
SMALL = 1e-6  # rad or m per s^k; smaller velocities, accelerations, ... are compared with it
PRINTED = 1e-6  # smaller components of a direction are not printed
START = 2.0  # rad or m; initial guesses of the free motion


class ConstraintTerms(NamedTuple):
    """The constraints of one or more states.

    residual : (..., m) f(q).
    matrices : A, A', ... (..., m, n), one for each of q, q', ... given; at most four.
    scale : (..., m) reference for the size of the rows of A: for a loop, the largest row of the
        Jacobians of its two frames; for a user's matrix, its largest row.
    transmitted : {loop: (..., 6, size)} the wrenches on the second body for unit multipliers, in
        inertial axes about the inertial origin.
    rows : {constraint: its rows}.
    names : names of the m rows.
    """

    residual: Array
    matrices: tuple[Array, ...]
    scale: Array
    transmitted: Mapping[str, Array]
    rows: Mapping[str, slice]
    names: tuple[str, ...]


def constraint_residual(system: ConstrainedModel, q: Any) -> Array:
    """The constraint violation f(q) (..., m) at q (..., n), in rad and m.

    Rows of a :class:`.ConstraintMatrix` without f are zero. Raises InputError for wrong shapes, NaN
    or infinity, including in the result of a user's function.
    """
    return constraint_terms(system, q).residual


def constraint_matrices(
    system: ConstrainedModel,
    q: Any,
    qd: Any | None = None,
    qdd: Any | None = None,
    qddd: Any | None = None,
) -> tuple[Array, ...]:
    """A, A', A'', A''' (..., m, n): one matrix for each of q, q', q'', q''' (..., n) given.

    Raises InputError as :func:`constraint_residual` does, and also for a gap such as qdd without qd
    and for a :class:`.ConstraintMatrix` that lacks a derivative.
    """
    return constraint_terms(system, q, qd, qdd, qddd).matrices


def redundant_constraints(system: ConstrainedModel, q: Any) -> tuple[str, ...]:
    """Names of the rows of A that depend on the others at q (n,), or at every q of a batch."""
    constraints = constraint_terms(system, q)
    kept = independent_rows(system, constraints.matrices[0], constraints.scale)
    return dropped_names(constraints, kept)


def constraint_terms(system: ConstrainedModel, *rows: Any) -> ConstraintTerms:
    """:class:`ConstraintTerms` for q, q', ... (..., n); errors as for `constraint_matrices`."""
    states, shape, given = as_state(system.tree.joint_names, *rows)
    if given == 0:
        raise InputError("constraints require q")
    order = min(given, 4) - 1
    bodies = body_rows(system.tree, [states[:, k] for k in range(5)])[0]
    blocks = [
        _loop(system.tree, constraint, bodies, order)
        if isinstance(constraint, LoopClosure)
        else _user(constraint, states, order)
        for constraint in system.constraints
    ]
    residual = np.concatenate([block.residual for block in blocks], axis=-1)
    scale = np.concatenate(
        [np.broadcast_to(block.scale[:, None], block.residual.shape) for block in blocks], axis=-1
    )
    matrices = (
        np.concatenate([block.matrices[k] for block in blocks], axis=-2) for k in range(order + 1)
    )
    return ConstraintTerms(
        residual.reshape(*shape, system.m),
        tuple(A.reshape(*shape, system.m, system.n) for A in matrices),
        scale.reshape(*shape, system.m),
        {
            name: W.reshape(*shape, *W.shape[-2:])
            for block in blocks
            for name, W in block.transmitted.items()
        },
        {c.name: rows for c, rows in zip(system.constraints, system.blocks, strict=True)},
        tuple(name for block in blocks for name in block.names),
    )


def bias(matrices: Sequence[Array], rates: Sequence[Array], k: int) -> Array:
    """sum_{0 < j < k} C(k-1, j) A^(j) q^(k-j), which A q^(k) must cancel; `rates` are q, q', ...

    A' q' for accelerations, 2 A' q'' + A'' q' for q''', and so on.
    """
    total = np.zeros(matrices[0].shape[:-1])
    for j in range(1, k):
        total = total + comb(k - 1, j) * times(matrices[j], rates[k - j])
    return total


def check_motion(
    system: ConstrainedModel, constraints: ConstraintTerms, rates: Sequence[Array]
) -> None:
    """Raise InputError, naming the violated row, if q, q', ... violate the constraints."""
    tolerance = system.consistency_tolerance
    A = constraints.matrices
    for k in range(min(len(rates), len(A) + 1)):
        if k == 0:
            left, size = constraints.residual, np.ones(1)
        else:
            left = times(A[0], rates[k]) + bias(A, rates, k)
            terms = sum((times(abs(A[j]), abs(rates[k - j])) for j in range(k)), 0 * left)
            size = SMALL + np.max(terms, axis=-1, keepdims=True)
        excess = abs(left) - tolerance * size
        if np.any(excess > 0):
            at = np.unravel_index(int(np.argmax(excess)), left.shape)
            raise InputError(
                f"{STATE_ROWS[k]} violates {constraints.names[at[-1]]} by {left[at]:.3g}, with "
                f"{tolerance * np.broadcast_to(size, left.shape)[at]:.3g} allowed"
                f"{state_number(at[:-1])}; consistent_motion() makes a motion obey the constraints"
            )


def independent_rows(system: ConstrainedModel, A: Array, scale: Array) -> NDArray[np.int64]:
    """Indices of rows of A (..., m, n) that span its row space, in every state of the batch.

    Elimination with pivoting: the largest remaining row is kept and projected out of the others.
    `scale` (..., m) is that of `ConstraintTerms`; A may have a subset of the columns. Raises
    DynamicsError if the states differ in rank.
    """
    m, n = A.shape[-2:]
    if not A.size:
        return np.arange(m if n else 0)
    rest = (A / scale[..., None]).reshape(-1, m, n)
    kept: list[int] = []
    for _ in range(min(m, n)):
        remaining = np.linalg.norm(rest, axis=-1)
        pivot = int(np.argmax(remaining.min(axis=0)))
        if remaining[:, pivot].min() <= system.rank_tolerance:
            break
        kept.append(pivot)
        row = rest[:, pivot] / remaining[:, pivot, None]
        for _ in range(2):  # the second pass removes the rounding error of the first
            rest -= (rest @ row[..., None]) * row[:, None]
    remaining = np.linalg.norm(rest, axis=-1)
    if np.any(remaining > system.rank_tolerance):
        state = int(np.argmax(remaining.max(axis=-1)))
        raise DynamicsError(
            f"the constraints have rank {len(kept)} in one state of the batch and a higher rank in "
            f"state {state}: one of the two states is singular"
        )
    return np.array(sorted(kept), dtype=np.int64)


def dropped_names(constraints: ConstraintTerms, kept: NDArray[np.int64]) -> tuple[str, ...]:
    return tuple(name for k, name in enumerate(constraints.names) if k not in kept)


def state_number(index: Sequence[Any]) -> str:
    """' (state [3, 1])' for a state of a batch, '' for a single state."""
    return f" (state {[int(k) for k in index]})" if len(index) else ""


class _Block(NamedTuple):
    """The rows of one constraint for N states, as in `ConstraintTerms`; `scale` is (N,)."""

    residual: Array
    matrices: list[Array]
    scale: Array
    transmitted: Mapping[str, Array]
    names: Sequence[str]


def _user(constraint: ConstraintMatrix, states: Array, order: int) -> _Block:
    """Evaluate the user's functions, one state at a time."""
    what = f"constraint '{constraint.name}'"
    n = states.shape[-1]

    def stacked(name: str, count: int, tail: tuple[int, ...]) -> Array:
        function = getattr(constraint, name, None)
        if function is None:
            raise InputError(f"{what}: {name} is required for this derivative of the motion")
        results = [
            as_array(f"{what}: {name}", function(*state[:count].copy()), tail) for state in states
        ]
        return np.reshape(results, (len(states), *tail))

    shape = (constraint.size, n)
    functions = ("A", "A_dot", "A_ddot", "A_dddot")[: order + 1]
    matrices = [stacked(name, k + 1, shape) for k, name in enumerate(functions)]
    residual = np.zeros((len(states), constraint.size))
    if constraint.f is not None:
        residual = stacked("f", 1, shape[:1])
    names = [f"{what}: {name}" for name in constraint.row_names or ()]
    return _Block(residual, matrices, _largest_row(matrices[0]), {}, names)


def _loop(model: MultibodyModel, loop: LoopClosure, bodies: Array, order: int) -> _Block:
    C1, J1, V1 = spatial_jacobians(model, bodies, loop.first, 4)
    C2, J2, V2 = spatial_jacobians(model, bodies, loop.second, 4)
    to_first = se3.inverse(C1 @ loop.first_pose)
    H = [se3.Ad(to_first)]  # Ad_{C_first}^-1 and its derivatives
    for k in range(order):
        H.append(-product_rule.product(H, se3.ad(V1[: k + 1]))[k])
    J = product_rule.product(H, J2 - J1)
    D = to_first @ C2 @ loop.second_pose
    if loop.is_lower_pair:
        h = _nearest_in_group(loop.free, D)
        N = [np.broadcast_to(_reciprocal(loop.free.T), (len(D), 6, loop.size))]
        N += [np.zeros_like(N[0])] * order
        names = [_row_name(column) for column in N[0][0].T] if len(D) else [""] * loop.size
    else:
        x = _nearest_in_chain(loop.free, D)
        h = _chain(loop.free, x)[0]
        N = _chain_wrenches(loop.free, x, product_rule.apply(H, V2 - V1), order)
        names = [f"wrench {k + 1} transmitted by its joint" for k in range(loop.size)]
    e = se3.log(D @ se3.inverse(h))
    transposed = product_rule.transpose(N)
    return _Block(
        times(transposed[0], e),
        product_rule.product(transposed, J)[: order + 1],
        np.maximum(_largest_row(H[0] @ J1[0]), _largest_row(H[0] @ J2[0])),
        {loop.name: np.swapaxes(H[0], -1, -2) @ N[0]},
        [f"loop '{loop.name}': {name}" for name in names],
    )


def _largest_row(A: Array) -> Array:
    """The norm (N,) of the largest row of matrices A (N, m, n), always positive."""
    return np.asarray(np.linalg.norm(A, axis=-1).max(axis=-1, initial=np.finfo(float).tiny))


# The free motion of a cut joint


def _nearest_in_group(X: Array, D: Array) -> Array:
    """h (N, 4, 4) in the group generated by the screws X (k, 6), with X log(D h^-1) = 0."""
    h = np.broadcast_to(np.eye(4), D.shape)
    onto = np.linalg.pinv(X) @ X
    for _ in range(ITERATIONS if len(X) else 0):
        step = se3.log(D @ se3.inverse(h)) @ onto
        h = se3.exp(step) @ h
        if np.max(abs(step), initial=0.0) < CONVERGED:
            break
    return h


def _nearest_in_chain(X: Array, D: Array) -> Array:
    """x (N, k) of the motion exp(X_1 x_1) ... exp(X_k x_k) closest to D, by Gauss-Newton."""
    best = np.zeros((len(D), len(X)))
    distance = np.full(len(D), np.inf)
    single = START * np.eye(len(X))
    for start in (np.zeros(len(X)), *single, *-single):
        x = np.tile(start, (len(D), 1))
        for _ in range(ITERATIONS):
            h, S = _chain(X, x)
            e = se3.log(D @ se3.inverse(h))
            step = times(np.asarray(np.linalg.pinv(S)), e)
            x = x + step
            if np.max(abs(step), initial=0.0) < CONVERGED:
                break
        e = np.linalg.norm(se3.log(D @ se3.inverse(_chain(X, x)[0])), axis=-1)
        closer = e < distance
        best[closer], distance[closer] = x[closer], e[closer]
        if np.all(distance < OPEN):
            break
    return best


def _chain(X: Array, x: Array) -> tuple[Array, Array]:
    """h = exp(X_1 x_1) ... exp(X_k x_k) (N, 4, 4) and its screws S (N, 6, k)."""
    h = np.broadcast_to(np.eye(4), (len(x), 4, 4))
    S = np.zeros((len(x), 6, len(X)))
    for i, screw in enumerate(X):
        S[..., i] = se3.Ad(h) @ screw
        h = h @ se3.exp(screw * x[:, i, None])
    return h, S


def _chain_wrenches(X: Array, x0: Array, u: Sequence[Array], order: int) -> list[Array]:
    """N, N', ... (N, 6, 6 - k) of a chain; u, u', ... are the relative twist S x' and its rates."""
    S = [_chain(X, x0)[1]]
    onto = np.asarray(np.linalg.pinv(S[0]))
    x: list[Array] = []  # x', x'', ...
    for k in range(order):
        rest = u[k] - sum(comb(k, j) * times(S[j], x[k - j]) for j in range(1, k + 1))
        x.append(times(onto, rest))
        S.append(_chain_screw_rate(S, x))
    ST = product_rule.transpose(S)
    inverse = np.linalg.inv(ST[0] @ S[0])
    square = product_rule.product(ST, S)
    Z: list[Array] = []
    N = [_reciprocal(S[0])]
    for k in range(order):
        rest = S[k] - sum(comb(k, j) * (Z[k - j] @ square[j]) for j in range(1, k + 1))
        Z.append(rest @ inverse)
        turn = product_rule.product(Z, ST[1:])[: k + 1]
        N.append(-product_rule.product(turn, N)[k])
    return N


def _chain_screw_rate(S: Sequence[Array], x: Sequence[Array]) -> Array:
    """S^(k+1) from S ... S^(k) and x' ... x^(k+1): (S_i)' = ad_V S_i, [M21] (9).

    V is the twist that the joints before i contribute.
    """
    k = len(S) - 1
    rate = np.zeros_like(S[0])
    V = [np.zeros(S[0].shape[:-1]) for _ in S]
    for i in range(S[0].shape[-1]):
        for j in range(k + 1):
            rate[..., i] += comb(k, j) * times(se3.ad(V[j]), S[k - j][..., i])
        for j in range(k + 1):
            for r in range(j + 1):
                V[j] = V[j] + comb(j, r) * S[r][..., i] * x[j - r][..., i, None]
    return rate


def _reciprocal(S: Array) -> Array:
    """An orthonormal basis N (..., 6, 6 - k) of the wrenches with N^T S = 0, for S (..., 6, k).

    The coordinate axes are projected onto the complement of S, the longest projection first. Where
    S lies along axes, so does the basis.
    """
    R = np.eye(6) - S @ np.linalg.pinv(S)
    N, pivots = [], []
    for _ in range(6 - S.shape[-1]):
        length = np.round(np.linalg.norm(R, axis=-2), 9)  # rounding must not decide the order
        pivots.append(np.argmax(length, axis=-1)[..., None])
        column = np.take_along_axis(R, pivots[-1][..., None], axis=-1)
        column = column / np.linalg.norm(column, axis=-2, keepdims=True)
        N.append(column)
        R = R - column @ (np.swapaxes(column, -1, -2) @ R)
    order = np.argsort(np.concatenate(pivots, axis=-1), axis=-1)
    return np.take_along_axis(np.concatenate(N, axis=-1), order[..., None, :], axis=-1)


def _row_name(wrench: Array) -> str:
    """The relative motion that a unit wrench prevents, in the first frame."""
    m, f = wrench[:3], wrench[3:]
    if not np.any(abs(m) > PRINTED):
        return f"translation along {direction_name(f)}"
    if not np.any(abs(f) > PRINTED):
        return f"rotation about {direction_name(m)}"
    return f"motion against the wrench {direction_name(m)}, {direction_name(f)}"


def direction_name(v: Array) -> str:
    for axis, e in zip("xyz", np.eye(3), strict=True):
        if np.all(abs(v - e) < PRINTED):
            return axis
    return f"({', '.join(f'{0.0 if abs(x) < PRINTED else x:.3g}' for x in v)})"
