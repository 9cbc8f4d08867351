# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Kinematics and inverse dynamics of any order, by the Leibniz rule in spatial representation.

With ' for the time derivative and binomial coefficients C(k, j), from [M21] (6), (7) and (14):

    S^(k+1) = sum_j C(k, j) ad_{V^(j)} S^(k-j)                              joint screw
    V^(k)   = V_parent^(k) + sum_j C(k, j) S^(j) q^(k+1-j)                  twist
    M^(k+1) = -sum_j C(k, j) (M^(k-j) ad_{V^(j)} + its transpose)           inertia, [M18d] (37)
    W^(k)   = sum_j C(k+1, j) M^(j) V^(k+1-j) + M^(k) G + children          wrench, G = (0, -g)
    Q^(k)   = sum_j C(k, j) S^(j) . W^(k-j)                                 joint force

`inverse_dynamics` is the case k = 2, written out and compiled. The functions here are plain NumPy
with 6x6 matrices, for batches of floats or for any other scalars in object arrays.
"""

from collections.abc import Callable, Mapping, Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Array, InputError, as_array, as_mapping, broadcast_shapes, times, transposed
from ..lie.screw_matrices import ad, hat
from ..model import MultibodyModel
from ..model.records import ANGULAR, BODY_ROW, COM, INERTIA, LINEAR, MASS, POSE, POSITION, ROTOR
from ..recursions import coordinate, generic_trig, pose_recursion

Scalars = NDArray[Any]


def higher_order_inverse_dynamics(
    model: MultibodyModel, derivatives: Any, *, wrenches: Mapping[str, Any] | None = None
) -> Array:
    """Joint torques with k time derivatives, (..., k + 1, n), for any k >= 0.

    Parameters
    ----------
    derivatives : (..., k + 3, n) rows q, q', ... q^(k+2), rad or m, per s^j in row j.
    wrenches : {body or frame name: (..., j, 6)}, the wrench that the world applies and its first
        j - 1 time derivatives, in inertial axes about the inertial origin; the higher derivatives
        are taken as zero.

    The torques are in N m or N, per s^j in row j. Raises InputError for fewer than three rows,
    wrong shapes, an unknown body, NaN or infinity.
    """
    rows, loads, shape = _inputs(model, derivatives, as_mapping("wrenches", wrenches), 3)
    k = rows.shape[-2] - 3
    angle = model.joint_rows[:, ANGULAR] * rows[:, 0, model.coordinates]
    tau = _inverse_dynamics(model, rows, loads, np.stack([np.sin(angle), np.cos(angle)]))
    return tau.reshape(*shape, k + 1, model.n)


def higher_order_kinematics(model: MultibodyModel, derivatives: Any) -> Array:
    """The spatial twist of each body with k time derivatives, (..., N, k + 1, 6), for any k >= 0.

    [M21] (6) and (7). `derivatives` (..., k + 2, n) has the rows q, q', ... q^(k+1), rad or m and
    per s^j; the twists are in rad/s, m/s and per s^j. Raises InputError for fewer than two rows,
    wrong shapes, NaN or infinity.
    """
    rows, _, shape = _inputs(model, derivatives, {}, 2)
    angle = model.joint_rows[:, ANGULAR] * rows[:, 0, model.coordinates]
    poses = _poses(model, rows, np.stack([np.sin(angle), np.cos(angle)]))
    _, V = _motion(model, rows, poses)
    return np.stack(V, axis=1).reshape(*shape, model.body_count, -1, 6)


def generic_higher_order_inverse_dynamics(
    model: MultibodyModel,
    derivatives: Sequence[Sequence[Any]],
    *,
    wrenches: Mapping[str, Sequence[Sequence[Any]]] | None = None,
    sin: Callable[[Any], Any] = np.sin,
    cos: Callable[[Any], Any] = np.cos,
) -> Scalars:
    """:func:`higher_order_inverse_dynamics` of one state over any scalars: (k + 1, n) objects.

    The scalars and `sin`, `cos` are those of :func:`.generic_inverse_dynamics`; `wrenches` is {body
    name: rows of 6 scalars}. Raises InputError for wrong lengths and names; nothing else is
    checked.
    """
    rows = np.array(derivatives, dtype=object)
    if rows.ndim != 2 or rows.shape[1] != model.n or len(rows) < 3:
        raise InputError(f"derivatives: expected (3 or more, {model.n}) scalars, got {rows.shape}")
    trig = generic_trig(model.joint_rows, rows[0], sin, cos)[:, None]
    given = {name: np.array(W, dtype=object) for name, W in (wrenches or {}).items()}
    for name, W in given.items():
        if W.ndim != 2 or W.shape[1] != 6:
            raise InputError(f"wrenches['{name}']: expected (j, 6) scalars, got {W.shape}")
    loads = _by_body(model, given, (len(rows), 6))
    return _inverse_dynamics(model, rows[None], loads, trig)[0]


def _inputs(
    model: MultibodyModel, derivatives: Any, wrenches: Mapping[str, Any], least: int
) -> tuple[Array, dict[int, Scalars], tuple[int, ...]]:
    """States (N, rows, n) and wrenches {body: (N, j, 6)}, and the batch shape."""
    rows = as_array("derivatives", derivatives, (model.n,), model.joint_names)
    if rows.ndim < 2 or rows.shape[-2] < least:
        raise InputError(
            f"derivatives: expected (..., {least} or more, {model.n}), q and its derivatives row "
            f"by row, got {rows.shape}"
        )
    given = {name: as_array(f"wrenches['{name}']", W, (6,)) for name, W in wrenches.items()}
    for name, W in given.items():
        if W.ndim < 2:
            raise InputError(f"wrenches['{name}']: expected (..., j, 6), got {W.shape}")
    shapes = (rows.shape[:-2], *(W.shape[:-2] for W in given.values()))
    shape = broadcast_shapes(("derivatives", *given), shapes)
    spread = np.broadcast_to(rows, (*shape, *rows.shape[-2:]))
    loads = _by_body(model, given, (*shape, rows.shape[-2], 6))
    return spread.reshape(-1, *rows.shape[-2:]), loads, shape


def _by_body(
    model: MultibodyModel, given: Mapping[str, Scalars], shape: tuple[int, ...]
) -> dict[int, Scalars]:
    """{body: (N, rows, 6)}, the total wrench on each body; rates that are not given are zero."""
    loads: dict[int, Scalars] = {}
    for name, W in given.items():
        total = np.zeros(shape, dtype=W.dtype)
        count = min(W.shape[-2], shape[-2])
        total[..., :count, :] = W[..., :count, :]
        body = model.body_index(name)
        loads[body] = loads.get(body, 0) + total.reshape(-1, *shape[-2:])
    return loads


def _poses(model: MultibodyModel, rows: Scalars, trig: Scalars) -> Scalars:
    """The poses of the joint frames, (bodies, BODY_ROW, N), [M18k] (8)."""
    bodies = np.zeros((model.body_count + 1, BODY_ROW, len(rows)), dtype=rows.dtype)
    bodies[0, POSE : POSE + 9] = np.eye(3, dtype=int).reshape(9, 1)
    state = rows.transpose(1, 2, 0)
    pose_recursion(model.parents, model.joint_rows, trig.transpose(0, 2, 1), state, bodies)
    return bodies[1:]


def _motion(
    model: MultibodyModel, rows: Scalars, poses: Scalars
) -> tuple[list[Scalars], list[Scalars]]:
    """S^(j) and V^(j) of every body, (N, j, 6) each, with j up to the order of the known rates."""
    count = rows.shape[1] - 1
    screws: list[Scalars] = []
    twists: list[Scalars] = []
    rest = np.zeros((len(rows), count, 6), dtype=rows.dtype)
    for i, parent in enumerate(model.parents):
        c = coordinate(model.joint_rows, i)
        R, r = _rotation(poses[i])
        a, h = model.joint_rows[i, [ANGULAR, LINEAR]]
        z = R[..., 2]
        S = np.zeros_like(rest)
        S[:, 0] = np.concatenate([a * z, h * z + a * np.cross(r, z)], axis=-1)
        V0 = twists[parent] if parent >= 0 else rest
        turn = ad(V0)
        for k in range(count - 1):  # with the twist of the parent: ad_S S = 0
            S[:, k + 1] = sum(comb(k, j) * times(turn[:, j], S[:, k - j]) for j in range(k + 1))
        V = V0.copy()
        for k in range(count):
            for j in range(k + 1):
                V[:, k] = V[:, k] + comb(k, j) * S[:, j] * rows[:, k + 1 - j, c, None]
        screws.append(S)
        twists.append(V)
    return screws, twists


def _inverse_dynamics(
    model: MultibodyModel, rows: Scalars, loads: Mapping[int, Scalars], trig: Scalars
) -> Scalars:
    poses = _poses(model, rows, trig)
    S, V = _motion(model, rows, poses)
    order = rows.shape[1] - 3
    G = np.concatenate([np.zeros(3), -model.gravity])
    W = [np.zeros((len(rows), order + 1, 6), dtype=rows.dtype) for _ in range(model.body_count)]
    tau = np.zeros((len(rows), order + 1, model.n), dtype=rows.dtype)
    for i in reversed(range(model.body_count)):
        c = coordinate(model.joint_rows, i)
        M = [_inertia(model.joint_rows[i], poses[i])]
        turn = ad(V[i])
        for k in range(order + 1):
            half = sum(comb(k, j) * (M[k - j] @ turn[:, j]) for j in range(k + 1))
            M.append(-(half + np.swapaxes(half, -1, -2)))
        for k in range(order + 1):
            for j in range(k + 2):
                W[i][:, k] += comb(k + 1, j) * times(M[j], V[i][:, k + 1 - j])
            W[i][:, k] += M[k] @ G
            if i in loads:
                W[i][:, k] -= loads[i][:, k]
            for j in range(k + 1):
                tau[:, k, c] += comb(k, j) * (S[i][:, j] * W[i][:, k - j]).sum(-1)
            tau[:, k, c] += model.joint_rows[i, ROTOR] * rows[:, k + 2, c]
        if model.parents[i] >= 0:
            W[model.parents[i]] += W[i]
    return tau


def _rotation(pose: Scalars) -> tuple[Scalars, Scalars]:
    """R (N, 3, 3) and r (N, 3) of one row of poses."""
    R = np.moveaxis(pose[POSE : POSE + 9].reshape(3, 3, -1), -1, 0)
    return R, pose[POSITION : POSITION + 3].T


def _inertia(joint: Array, pose: Scalars) -> Scalars:
    """M (N, 6, 6) in inertial axes about the inertial origin, from the rows of a body."""
    R, r = _rotation(pose)
    Theta = np.zeros((3, 3))
    Theta[np.triu_indices(3)] = joint[INERTIA : INERTIA + 6]
    Theta = Theta + np.triu(Theta, 1).T
    m = joint[MASS]
    c = hat(r + R @ joint[COM : COM + 3])
    M = np.zeros((len(r), 6, 6), dtype=pose.dtype)
    M[:, :3, :3] = R @ Theta @ transposed(R) - m * (c @ c)
    M[:, :3, 3:], M[:, 3:, :3], M[:, 3:, 3:] = m * c, -m * c, m * np.eye(3)
    return M
