"""Christoffel symbols of the first kind in closed form, [M18d] (86) and (87), both corrected.

Gamma_ijk = (dM_ik/dq_j + dM_ij/dq_k - dM_jk/dq_i) / 2. Only the bodies l that all of the joints i,
j, k move contribute, so the three lie on one path and are ordered along it. The printed conditions
on the order of i, j, k are not needed: the formulas hold for any.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import Array, transposed
from ..lie.se3 import ad
from ..model import MultibodyModel, inertia
from .all_bodies import spatial_bodies
from .kinematics import forward_kinematics


def christoffel_symbols(model: MultibodyModel, q: Any) -> Array:
    """Gamma (..., n, n, n) at q (..., n), symmetric in its last two indices, [M18d] (86).

    C(q, q') q' = sum_jk Gamma_ijk q'_j q'_k. With the columns J_k of J_l, s = min(j, k) and
    r = max(j, k) along the path,

        Gamma_ijk = sum_l (J_k^T M_l ad_{J_i} J_j + J_j^T M_l ad_{J_i} J_k
                           + J_i^T M_l ad_{J_s} J_r) / 2

    (printed with r, s = max, min(i, j)). It does not depend on the frame that M_l and J_l are taken
    in; here it is the inertial one, where the columns are those of all bodies. Reflected rotor
    inertias are constant and do not appear. Raises InputError for wrong shapes, NaN or infinity.
    """
    S, _, _, M, _ = spatial_bodies(model, q, np.zeros(model.n))
    brackets = ad(S) @ transposed(S)[..., None, :, :]  # (..., i, 6, j): [S_i, S_j]
    symbols = np.zeros((*S.shape[:-2], *(model.n,) * 3))
    for body in range(model.n):
        path = model.path(body)
        J, bracket = S[..., path, :], brackets[..., path, :, :][..., path]
        MJ = J @ M[..., body, :, :]
        order = np.sign(np.subtract(path, np.reshape(path, (-1, 1))))  # 1 where j comes before k
        terms = np.einsum("...ixj,...kx->...ijk", bracket, MJ)
        terms += np.einsum("...ix,...jxk->...ijk", MJ, bracket * order[:, None, :]) / 2
        _add(symbols, path, terms + transposed(terms))
    return symbols / 2


def christoffel_symbols_binet(model: MultibodyModel, q: Any) -> Array:
    """Gamma (..., n, n, n) at q (..., n) as above, from Binet's inertia tensors, [M18d] (87).

    With the columns (w, v) of J_l at the centre of mass of body l, and B_l = tr(Theta) / 2 - Theta
    of its inertia about it, for j before k on the path or j = k

        Gamma_ijk = sum_l (w_j^T B_l (w_k x w_i) + m_l v_i . (w_j x v_k))

    which is not what is printed. Raises InputError for wrong shapes, NaN or infinity.
    """
    S = spatial_bodies(model, q, np.zeros(model.n)).screws
    pose = forward_kinematics(model, q).pose
    symbols = np.zeros((*S.shape[:-2], *(model.n,) * 3))
    for body in range(model.n):
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
    return symbols


def _add(symbols: Array, path: list[int], part: Array) -> None:
    """symbols[..., i, j, k] += part for i, j, k on a path."""
    i, j, k = np.ix_(path, path, path)
    symbols[..., i, j, k] += part
