# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""LU factorisation of small square matrices in compiled code, with scaled partial pivoting."""

from functools import partial

from ..core import inlined


@partial(inlined, uncounted=True)
def factorise(F, size, scale, order):
    """Replace F (size, size) by its factors L U, rows permuted, and return its smallest pivot.

    Returns (share, column): the smallest pivot relative to the `scale` (size,) of its row, which
    tells how far F is from a singular matrix, and where it was found. If a pivot is zero, share is
    zero and the factors are incomplete. `order` (size,) receives the original index of each row;
    `scale` is permuted like the rows.
    """
    share, where = 1e300, 0
    for r in range(size):
        order[r] = r
    for c in range(size):
        best, largest = c, -1.0
        for r in range(c, size):
            entry = abs(F[r, c]) / scale[r]
            if entry > largest:
                best, largest = r, entry
        if not largest >= share:  # NaN counts as singular
            share, where = largest, c
        if not largest > 0.0:
            return 0.0, c
        if best != c:
            for k in range(size):
                F[c, k], F[best, k] = F[best, k], F[c, k]
            order[c], order[best] = order[best], order[c]
            scale[c], scale[best] = scale[best], scale[c]
        for r in range(c + 1, size):
            if F[r, c] != 0.0:
                factor = F[r, c] / F[c, c]
                F[r, c] = factor
                for k in range(c + 1, size):
                    F[r, k] -= factor * F[c, k]
    return share, where


@partial(inlined, uncounted=True)
def solve(F, size, order, b, x):
    """x with A x = b, from the factors of A; `b` and `x` are different arrays."""
    for r in range(size):
        x[r] = b[order[r]]
        for k in range(r):
            x[r] -= F[r, k] * x[k]
    for j in range(size):
        r = size - 1 - j
        for k in range(r + 1, size):
            x[r] -= F[r, k] * x[k]
        x[r] /= F[r, r]


@partial(inlined, uncounted=True)
def solve_transposed(F, size, order, b, x):
    """x with A^T x = b, from the factors of A; `b` is overwritten."""
    for r in range(size):
        for k in range(r):
            b[r] -= F[k, r] * b[k]
        b[r] /= F[r, r]
    for j in range(size):
        r = size - 1 - j
        for k in range(r + 1, size):
            b[r] -= F[k, r] * b[k]
        x[order[r]] = b[r]
