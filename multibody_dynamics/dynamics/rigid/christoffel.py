# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Christoffel symbols of the first kind in closed form, [M18d] (86) and (87), both corrected.

Gamma_ijk = (dM_ik/dq_j + dM_ij/dq_k - dM_jk/dq_i) / 2. Only those bodies l contribute that all
three joints i, j, k move; the three therefore lie on one path. The conditions that the paper puts
on the order of i, j, k are not needed: the formulas hold for any order.
"""

from typing import Any

import numpy as np

from ..core import Array, by_robot, transposed
from ..lie.se3 import ad
from ..model import MultibodyModel, inertia
from .all_bodies import spatial_bodies
from .kinematics import forward_kinematics


@by_robot
def christoffel_symbols(model: MultibodyModel, q: Any) -> Array:
    """Christoffel symbols Gamma (..., n, n, n) at q (..., n), symmetric in j, k; [M18d] (86).

    C(q, q') q' = sum_jk Gamma_ijk q'_j q'_k. With the columns J_k of J_l, s = min(j, k) and
    r = max(j, k) along the path,

        Gamma_ijk = sum_l (J_k^T M_l ad_{J_i} J_j + J_j^T M_l ad_{J_i} J_k
                           + J_i^T M_l ad_{J_s} J_r) / 2

    where the paper prints r, s = max, min(i, j). The result does not depend on the frame of M_l and
    J_l. The inertial frame is used here, in which all bodies share the same columns. Reflected
    rotor inertias are constant and do not contribute.

    kg m^2 for three angles, divided by m for each translation among them. Raises InputError for
    wrong shapes, NaN or infinity.
    """
    S, _, _, M, _ = spatial_bodies(model, q, np.zeros(model.n))
    brackets = ad(S) @ transposed(S)[..., None, :, :]  # (..., i, 6, j): [S_i, S_j]
    symbols = np.zeros((*S.shape[:-2], *(model.body_count,) * 3))
    for body in range(model.body_count):
        path = model.path(body)
        J, bracket = S[..., path, :], brackets[..., path, :, :][..., path]
        MJ = J @ M[..., body, :, :]
        order = np.sign(np.subtract(path, np.reshape(path, (-1, 1))))  # 1 where j comes before k
        terms = np.einsum("...ixj,...kx->...ijk", bracket, MJ)
        terms += np.einsum("...ix,...jxk->...ijk", MJ, bracket * order[:, None, :]) / 2
        _add(symbols, path, terms + transposed(terms))
    return model.collect(symbols, -3, -2, -1) / 2


@by_robot
def christoffel_symbols_binet(model: MultibodyModel, q: Any) -> Array:
    """:func:`christoffel_symbols` from Binet's inertia tensors, [M18d] (87) corrected.

    With the columns (w, v) of J_l at the centre of mass of body l, and B_l = tr(Theta) / 2 - Theta
    from its inertia about that point, for j before k on the path or j = k,

        Gamma_ijk = sum_l (w_j^T B_l (w_k x w_i) + m_l v_i . (w_j x v_k)).

    Raises InputError for wrong shapes, NaN or infinity.
    """
    S = spatial_bodies(model, q, np.zeros(model.n)).screws
    pose = forward_kinematics(model, q).pose
    symbols = np.zeros((*S.shape[:-2], *(model.body_count,) * 3))
    for body in range(model.body_count):
        path = model.path(body)
        mass, com, Theta = inertia.decompose(model.inertias[body])
        R, r = pose[..., body, :3, :3], pose[..., body, :3, 3]
        B = R @ (np.trace(Theta) / 2 * np.eye(3) - Theta) @ transposed(R)
        w = S[..., path, :3]
        v = S[..., path, 3:] + np.cross(w, (R @ com + r)[..., None, :])
        spin = np.cross(w[..., :, None, :], w[..., None, :, :])  # [k, i]
        sweep = np.cross(w[..., :, None, :], v[..., None, :, :])  # [j, k]
        ordered = np.einsum("...jx,...kix->...ijk", w @ B, spin)
        ordered += mass * np.einsum("...ix,...jkx->...ijk", v, sweep)
        later = np.less_equal.outer(path, path)  # j <= k
        _add(symbols, path, np.where(later, ordered, transposed(ordered)))
    return model.collect(symbols, -3, -2, -1)


def _add(symbols: Array, path: list[int], part: Array) -> None:
    """symbols[..., i, j, k] += part for i, j, k on a path."""
    i, j, k = np.ix_(path, path, path)
    symbols[..., i, j, k] += part
