# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The Coriolis matrix of the Christoffel symbols, and the derivative of the mass matrix, in O(n^2).

Contracting the symbols of :mod:`.christoffel` with q' gives, summed over the bodies l of the tree
(V, Pi and M of body l, all in spatial representation),

    C_ij = sum_l S_i^T (M S_j' + B S_j),   B = (P + coad_V M - M ad_V) / 2,   P X = coad_X Pi

because the third term of [M18d] (86), summed over k after j and over k before j, is
ad_{S_j} (V - V_j) and -ad_{S_j} V_j. Only M and B depend on l. They are summed over the subtree of
joint i or j, whichever is farther from the base.
"""

from typing import Any

import numpy as np

from ..core import Array, times, transposed
from ..lie.se3 import ad, coad
from ..lie.so3 import hat
from ..model import MultibodyModel
from .all_bodies import along_paths, spatial_bodies, subtree_sums


def coriolis_matrix(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """The Coriolis matrix C (..., n, n) of the Christoffel symbols; M' - 2C is skew symmetric.

    M q'' + C q' + g = tau with C_ij = sum_k Gamma_ijk q'_k, the symbols of [M18d] (85); q and q'
    are (..., n). Passivity-based control requires this C among all matrices with the same product
    C q'; :func:`.coriolis_matrix_mueller`, [M18d] (84), lacks the skew symmetry. kg m^2/s between
    two angles, kg m/s or kg/s with translations.

    Raises InputError for wrong shapes, NaN or infinity.
    """
    S, Sd, V, M, Pi = spatial_bodies(model, q, qd)
    B = (_momentum_matrix(Pi) + coad(V) @ M - M @ ad(V)) / 2
    M, B = subtree_sums(model, M, -3), subtree_sums(model, B, -3)
    i_first = S @ transposed(times(M, Sd) + times(B, S))
    j_first = times(M, S) @ transposed(Sd) + times(transposed(B), S) @ transposed(S)
    return along_paths(model, j_first, i_first)


def mass_matrix_dot(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """The time derivative M' = C + C^T (..., n, n) of the mass matrix at q and q' (..., n).

    From M_ij = S_i^T M^c S_j by the product rule, with the derivative of M^c = sum_l M_l by [M18d]
    (37). Raises InputError for wrong shapes, NaN or infinity.
    """
    S, Sd, V, M, _ = spatial_bodies(model, q, qd)
    Md = coad(V) @ M - M @ ad(V)
    M, Md = subtree_sums(model, M, -3), subtree_sums(model, Md, -3)
    j_first = (times(M, Sd) + times(Md, S)) @ transposed(S) + times(M, S) @ transposed(Sd)
    return along_paths(model, j_first, transposed(j_first))


def _momentum_matrix(Pi: Array) -> Array:
    """P (..., 6, 6) with P X = coad_X Pi = -ad_X^T Pi for every screw X; skew symmetric."""
    L, p = -hat(Pi[..., :3]), -hat(Pi[..., 3:])
    return np.concatenate(
        [np.concatenate([L, p], axis=-1), np.concatenate([p, np.zeros_like(p)], axis=-1)], axis=-2
    )
