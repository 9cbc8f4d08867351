# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Coordinates of the second kind about the current pose of a joint, free of singularities.

Near its current pose T_0, a joint whose displacements form a group, such as a ball or a free joint,
is a chain of joints with one degree of freedom, T = T_0 exp(X_1 x_1) ... exp(X_k x_k) with x = 0 at
this instant, [M18k] remark 4. Its body-fixed twist is X nu with nu = B(x) x'. There, B(0) = 1, and

    B_j' = -[U_j, B_j],   U_j = sum over l > j of B_l x_l'  (the twist of the joints after j),

so that x', x'', ... are polynomials in nu, nu', ...: x' = nu, x'' = nu' - B' x', and so on.
"""

from math import atan2, cos, prod, sin
from typing import Any

import numpy as np

from ..core import Array, ModelError, compiled, read_only, times
from ..lie import se3

ROUNDING = 1e-12  # relative; smaller components of the bracket of two screws


def structure_constants(screws: Array) -> Array | None:
    """The rows a, b, d, c (t, 4) with c != 0 of [X_a, X_b] = sum of c X_d for screws X (k, 6).

    None if the brackets leave the span of the screws: their motions do not form a group. Raises
    ModelError if the screws depend on each other.
    """
    if np.linalg.matrix_rank(screws) < len(screws):
        raise ModelError(f"the screws of a joint must be linearly independent; got {screws}")
    brackets = times(se3.ad(screws)[:, None], screws)
    c = brackets @ np.linalg.pinv(screws)
    rounding = ROUNDING * max(1.0, np.abs(screws).max() ** 2)
    if np.abs(c @ screws - brackets).max() > rounding:
        return None
    terms = np.argwhere(np.abs(c) > rounding)
    return read_only(np.column_stack([terms, c[tuple(terms.T)]]))


def local_rates(brackets: Any, twists: Any, rates: Any, matrices: Any, after: Any) -> None:
    """x', x'', ... at x = 0 from nu, nu', ..., and B with its derivatives, for one state.

    Plain Python over arrays of any scalar.

    Parameters
    ----------
    brackets : (t, 4) see :func:`structure_constants`.
    twists : (m, k) nu, nu', ... in the basis X.
    rates : (m, k) result: x', x'', ...
    matrices : (m, k, k) result: B, B', ...; the columns belong to the coordinates.
    after : (m, k, k) scratch: row j has U_j, U_j', ...
    """
    m, k = twists.shape
    for r in range(m):
        for j in range(k):
            for d in range(k):
                matrices[r, d, j] = 1.0 if r == 0 and d == j else 0.0
            weight = -1.0  # -C(r - 1, s)
            for s in range(r):
                for t in range(brackets.shape[0]):
                    a, b, d = int(brackets[t, 0]), int(brackets[t, 1]), int(brackets[t, 2])
                    moved = weight * after[s, j, a] * matrices[r - 1 - s, b, j]
                    matrices[r, d, j] += brackets[t, 3] * moved
                weight = weight * (r - 1 - s) / (s + 1)
        for d in range(k):
            rates[r, d] = twists[r, d]
            weight = -1.0  # -C(r, s)
            for s in range(1, r + 1):
                weight = weight * (r - s + 1) / s
                for j in range(k):
                    rates[r, d] += weight * matrices[s, d, j] * rates[r - s, j]
        for d in range(k):
            total = 0.0 * twists[r, d]
            for i in range(k):
                j = k - 1 - i
                after[r, j, d] = total
                weight = 1.0  # C(r, s)
                for s in range(r + 1):
                    total = total + weight * matrices[s, d, j] * rates[r - s, j]
                    weight = weight * (r - s) / (s + 1)


def pose_coordinates(T: Any, x: Any) -> None:
    """x, y, z, yaw, pitch, roll of a pose T (4, 4), those of :func:`.floating`, in x (6,), or only
    the angles in x (3,). At a pitch of +-90 deg, roll is that for the yaw that rounding gives."""
    n = x.shape[0]
    for i in range(n - 3):
        x[i] = T[i, 3]
    yaw = atan2(T[1, 0], T[0, 0])
    s, c = sin(yaw), cos(yaw)
    x[n - 3] = yaw
    x[n - 2] = atan2(-T[2, 0], c * T[0, 0] + s * T[1, 0])
    x[n - 1] = atan2(s * T[0, 2] - c * T[1, 2], c * T[1, 1] - s * T[0, 1])


compiled_rates = compiled(local_rates)
compiled_pose = compiled(pose_coordinates)


def _batch(brackets, poses, twists, coordinates, rates, matrices, after):
    for i in range(poses.shape[0]):
        compiled_pose(poses[i], coordinates[i])
        compiled_rates(brackets, twists[i], rates[i], matrices[i], after)


_compiled_batch = compiled(_batch)


def local_motion(
    brackets: Array, poses: Array, twists: Array, count: int
) -> tuple[Array, Array, list[Array]]:
    """:func:`pose_coordinates` and :func:`local_rates` for poses (..., 4, 4) and nu, nu', ...
    (..., m, k): `count` coordinates, x', x'', ... (..., m, k), and the list of B, B', ..."""
    *shape, m, k = twists.shape
    states = prod(shape)
    T, nu = (np.ascontiguousarray(x).reshape(states, *x.shape[-2:]) for x in (poses, twists))
    found = np.empty((len(T), count)), np.empty_like(nu), np.empty((len(T), m, k, k))
    _compiled_batch(brackets, T, nu, *found, np.empty((m, k, k)))
    coordinates, rates, B = (x.reshape(*shape, *x.shape[1:]) for x in found)
    return coordinates, rates, list(np.moveaxis(B, -3, 0))
