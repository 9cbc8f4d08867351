# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Matrices of vectors, screws and poses over any scalars, batched, without checks.

The kernels of the functions of the same names in :mod:`.so3` and :mod:`.se3`. The entries may also
be objects: complex or mpmath numbers, expressions.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Scalars = NDArray[Any]


def hat(x: Scalars) -> Scalars:
    """x^ (..., 3, 3) of vectors (..., 3): x^ a = x x a."""
    a, b, c = np.moveaxis(x, -1, 0)
    o = np.zeros_like(a)
    entries = np.stack([o, -c, b, c, o, -a, -b, a, o], axis=-1)
    return entries.reshape(*x.shape[:-1], 3, 3)


def ad(X: Scalars) -> Scalars:
    """ad_X = [[w^, 0], [v^, w^]] (..., 6, 6)."""
    W, V = hat(X[..., :3]), hat(X[..., 3:])
    return blocks(W, np.zeros_like(W), V, W)


def coad(X: Scalars) -> Scalars:
    """coad_X = [[w^, v^], [0, w^]] (..., 6, 6)."""
    W, V = hat(X[..., :3]), hat(X[..., 3:])
    return blocks(W, V, np.zeros_like(W), W)


def Ad(C: Scalars) -> Scalars:
    """Ad_C = [[R, 0], [p^ R, R]] (..., 6, 6) of poses (..., 4, 4)."""
    R = C[..., :3, :3]
    return blocks(R, np.zeros_like(R), hat(C[..., :3, 3]) @ R, R)


def coAd(C: Scalars) -> Scalars:
    """coAd_C = [[R, p^ R], [0, R]] (..., 6, 6) of poses (..., 4, 4)."""
    R = C[..., :3, :3]
    return blocks(R, hat(C[..., :3, 3]) @ R, np.zeros_like(R), R)


def blocks(P: Scalars, Q: Scalars, S: Scalars, T: Scalars) -> Scalars:
    """[[P, Q], [S, T]]."""
    return np.concatenate(
        [np.concatenate([P, Q], axis=-1), np.concatenate([S, T], axis=-1)], axis=-2
    )
