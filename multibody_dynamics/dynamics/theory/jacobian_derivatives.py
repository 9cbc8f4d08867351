# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Partial derivatives of Jacobians of any order, and the second time derivative; [M18d] section 2.

J_j are the columns of the Jacobian of a body, zero for joints that do not move it, [ , ] is the
screw product, w(X) = (angular part of X, 0) and v(X) = (0, linear part of X), [M18d] (118). Then

    spatial: dJ_j/dq_k = [J_k, J_j] for k < j, else 0                               (15)
    body:    dJ_j/dq_k = [J_j, J_k] for k > j, else 0                               (5)
    hybrid:  dJ_j/dq_k = [w(J_k), J_j] for k < j, [J_j, v(J_k)] for k >= j          (25) corrected

where the paper prints only the second case of (25). The mixed Jacobian combines the angular rows of
the body-fixed one with the linear rows of the hybrid one. The rules also hold on a tree, because
parents have smaller indices and zero columns have zero brackets.

Let X be the derivative of J with respect to any number of joints. If the joints are taken in the
right order, the next derivative is again a single bracket:

    spatial: dX_j/dq_k = [J_k, X_j] for k < j, else 0; by descending k              (20), (23)
    body:    dX_j/dq_k = [X_j, J_k] for k > j, else 0; by ascending k               (12), (14)
    hybrid:  dX_j/dq_k = [w(J_k), X_j] for k < j, [J_j, v(X_k)] for k >= j; by descending k

The hybrid rule, which [M18d] does not give, follows from the product of exponentials.
Differentiating C = exp(Y_1 q_1) ... exp(Y_i q_i) A by joints a <= b <= ... <= z inserts their
generators: d^m C = J^s_a J^s_b ... J^s_z C as 4x4 matrices, with the last column

    d^m r = w_a x (w_b x ( ... x l_z)),   J^h_a = (w_a, l_a), l_z = dr/dq_z.

The linear part of J_j differentiated with respect to k, ... is the derivative of r with respect to
j, k, ..., and therefore this chain for the sorted joints. The rule builds the chain from its inner
end: X_k holds the derivative of r with respect to k and all joints taken before. The angular parts
are those of the spatial rule.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..core import Array, as_array, broadcast_shapes, by_robot, check_sequence
from ..lie import Representation, check_representation
from ..model import MultibodyModel
from ..rigid import jacobian


@by_robot
def jacobian_gradient(
    model: MultibodyModel, q: Any, body: str | int, *, representation: Representation = "spatial"
) -> Array:
    """First partial derivatives dJ_j/dq_k of a Jacobian (..., 6, n, n), axes j, k.

    [M18d] (15), (5), (25) corrected. q is (..., n), `body` a body or a link merged into one.
    Angular rows come first. Raises InputError for wrong shapes, NaN, an unknown body or
    representation.
    """

    if model.is_coupled:
        of_tree = jacobian_gradient(
            model.tree, _of_tree(model, q), body, representation=representation
        )
        return model.collect(of_tree, -2, -1)

    def gradient(J: Array, representation: str) -> Array:
        columns = J[..., None, :, :]
        return _along(np.eye(model.n), columns, columns, representation)

    return np.moveaxis(_seen(model, q, body, representation, gradient), -3, -1)


@by_robot
def jacobian_hessian(
    model: MultibodyModel, q: Any, body: str | int, *, representation: Representation = "spatial"
) -> Array:
    """Second partial derivatives d^2 J_j/dq_k dq_r (..., 6, n, n, n), axes j, k, r.

    Symmetric in k and r. [M18d] (20), (12) and the hybrid and mixed rules. Arguments and errors are
    those of :func:`jacobian_gradient`.
    """
    if model.is_coupled:
        of_tree = jacobian_hessian(
            model.tree, _of_tree(model, q), body, representation=representation
        )
        return model.collect(of_tree, -3, -2, -1)
    joints = np.arange(model.n)

    def hessian(J: Array, representation: str) -> Array:
        columns = J[..., None, :, :]
        by_r = _along(np.eye(model.n), columns, columns, representation)
        by_k = np.eye(model.n)[:, None]
        by_both = _along(by_k, columns[..., None, :, :], by_r[..., None, :, :, :], representation)
        in_order = np.less_equal if _descending(representation) else np.greater_equal
        right = in_order.outer(joints, joints)[:, :, None, None]
        return np.where(right, by_both, np.swapaxes(by_both, -3, -4))

    return np.moveaxis(_seen(model, q, body, representation, hessian), (-4, -3), (-2, -1))


@by_robot
def jacobian_partial(
    model: MultibodyModel,
    q: Any,
    body: str | int,
    joints: Sequence[str | int],
    *,
    representation: Representation = "spatial",
) -> Array:
    """The Jacobian (..., 6, n) differentiated with respect to each of `joints`; [M18d] (23), (14).

    `joints` are names or indices in any order; a repeated joint counts each time. Other arguments
    and errors are those of :func:`jacobian_gradient`; an unknown joint raises InputError.
    """
    check_sequence("joints", joints, "joints")
    indices = [model.joint_index(joint) for joint in joints]
    if model.is_coupled:  # a derivative along a coordinate is the sum over its joints
        rows = _of_tree(model, q)
        shared = [np.flatnonzero(model.coordinates == k).tolist() for k in indices]
        parts = [
            jacobian_partial(model.tree, rows, body, along, representation=representation)
            for along in product(*shared)
        ]
        return model.collect(np.sum(parts, axis=0), -1)

    def partial(J: Array, representation: str) -> Array:
        X = J
        for k in sorted(indices, reverse=_descending(representation)):
            X = _along(np.eye(model.n)[k], J, X, representation)
        return X

    return _seen(model, q, body, representation, partial)


@by_robot
def jacobian_ddot(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, body: str | int, *,
    representation: Representation = "spatial",
) -> Array:  # fmt: skip
    """The componentwise second time derivative J'' (..., 6, n): jerk = J q''' + 2 J' q'' + J'' q'.

    J' is the derivative along q', [M18d] (16), (8) and (26) corrected. J'' follows by the product
    rule; in hybrid representation it is [M18d] (30). q, qd and qdd are (..., n). Raises the
    InputError of :func:`jacobian_gradient`.
    """
    names = ("q", "qd", "qdd")
    rows = [
        as_array(name, row, (model.n,), model.joint_names)
        for name, row in zip(names, (q, qd, qdd), strict=True)
    ]
    shape = broadcast_shapes(names, [row.shape[:-1] for row in rows])
    q, qd, qdd = (np.broadcast_to(row, (*shape, model.n)) for row in rows)
    if model.is_coupled:
        q, qd, qdd = (model.spread(row) for row in (q, qd, qdd))
        of_tree = jacobian_ddot(model.tree, q, qd, qdd, body, representation=representation)
        return model.collect(of_tree, -1)

    def second(J: Array, representation: str) -> Array:
        Jd = _along(qd, J, J, representation)
        turned = _along(qd, Jd, J, representation) + _along(qd, J, Jd, representation)
        return turned + _along(qdd, J, J, representation)

    return _seen(model, q, body, representation, second)


def _descending(representation: str) -> bool:
    """Whether the joints are taken from the body to the base, rather than from base to body."""
    return representation != "body"


def _along(direction: Array, J: Array, X: Array, representation: str) -> Array:
    """The directional derivative sum_k dX_j/dq_k direction_k by the rules above.

    `direction` is (..., n), J and X are (..., 6, n); the result is linear in each of the three.
    """
    ones = np.ones(2 * J.shape[-1:])
    step = direction[..., None, :]
    before = (J * step) @ np.triu(ones, 1)  # sums over k < j
    if representation == "spatial":
        return _bracket(before, X)
    if representation == "body":
        return _bracket(X, (J * step) @ np.tril(ones, -1))
    angular, linear = before.copy(), (X * step) @ np.tril(ones)
    angular[..., 3:, :] = linear[..., :3, :] = 0
    return _bracket(angular, X) + _bracket(J, linear)


def _bracket(X: Array, Y: Array) -> Array:
    """The screw products [X_j, Y_j] of the columns of X and Y (..., 6, n), [M18d] (114)."""
    (a, b), (c, d) = ((Z[..., :3, :], Z[..., 3:, :]) for Z in (X, Y))
    angular = np.cross(a, c, axis=-2)
    linear = np.cross(b, c, axis=-2) + np.cross(a, d, axis=-2)
    return np.concatenate([angular, linear], axis=-2)


def _of_tree(model: MultibodyModel, q: Any) -> Array:
    """q, checked, at the joints of the tree."""
    return model.spread(as_array("q", q, (model.n,), model.joint_names))


def _seen(
    model: MultibodyModel,
    q: Any,
    body: str | int,
    representation: Representation,
    derivative: Callable[[Array, str], Array],
) -> Array:
    """`derivative(J, representation)` (..., 6, n).

    Mixed combines the angular rows of the body-fixed with the linear rows of the hybrid derivative.
    """
    if check_representation(representation) != "mixed":
        J = jacobian(model, q, body, representation=representation)
        return derivative(J, representation)
    body_fixed = _seen(model, q, body, "body", derivative)
    hybrid = _seen(model, q, body, "hybrid", derivative)
    return np.concatenate([body_fixed[..., :3, :], hybrid[..., 3:, :]], axis=-2)
