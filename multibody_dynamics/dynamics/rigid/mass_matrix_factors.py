# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The mass matrix as L^T D L, from the outermost coordinate to the base.

In this order, L has nonzero entries only between a joint and those that carry it, and the pivots D
of a tree are those of its articulated bodies. R. Featherstone, "Efficient factorization of the
joint-space inertia matrix for branched kinematic trees", IJRR 24(6), 2005. All loops run along
rows, which compiled code does several entries at a time.
"""

from ..core import inlined


@inlined
def factorise(M, held, pivots):
    """Write L (unit lower triangular) below the diagonal of M (n, n), and D to `pivots` (n,).

    held : (n,) coordinates without a row in the factors; their rows of M, and its upper half,
        remain. The diagonal is overwritten.
    """
    n = held.shape[0]
    for r in range(n):
        j = n - 1 - r
        if not held[j]:
            pivots[j] = M[j, j]
            for s in range(j):
                i = j - 1 - s
                if not held[i]:
                    share = M[j, i] / pivots[j]
                    for k in range(i + 1):
                        M[i, k] = M[i, k] - share * M[j, k]
                    M[j, i] = share


@inlined
def solve(M, held, pivots, force, solution):
    """Solve M x = `force` with the factors, x = 0 for held coordinates; there, `solution` receives
    the force M_uv x_v. `solution` may be `force`."""
    n = held.shape[0]
    for i in range(n):
        solution[i] = 0.0 if held[i] else force[i]
    for r in range(n):
        j = n - 1 - r
        for i in range(j):
            if not (held[i] or held[j]):
                solution[i] = solution[i] - M[j, i] * solution[j]
    for i in range(n):
        if not held[i]:
            solution[i] = solution[i] / pivots[i]
            for k in range(i):
                if not held[k]:
                    solution[i] = solution[i] - M[i, k] * solution[k]
    for i in range(n):
        if held[i]:
            for k in range(n):
                if not held[k]:
                    solution[i] = solution[i] + M[min(i, k), max(i, k)] * solution[k]


@inlined
def invert(M, pivots, inverse):
    """Write M^-1 (n, n) with the factors; none is held.

    In M^-1 = L^-1 (L^T D)^-1, the second factor is upper triangular, which leaves the lower half of
    M^-1 to L^-1 alone; the upper one follows by symmetry, row by row.
    """
    n = pivots.shape[0]
    for i in range(n):
        if i % 2 == 0:
            _subtract_rows(M, inverse, i, min(i + 1, n - 1), i, i, inverse)
        else:  # what the row before adds
            inverse[i, i - 1] = 0.0
            for j in range(i):
                inverse[i, j] -= M[i, i - 1] * inverse[i - 1, j]
            for k in range(i - 1):
                inverse[i, i - 1] -= M[i, k] * inverse[i - 1, k]
        inverse[i, i] = 1.0 / pivots[i]
        for j in range(i):
            inverse[j, i] = inverse[i, j]
            inverse[i, i] -= M[i, j] * inverse[i, j]


@inlined
def negative_product(A, B, result):
    """Write -A B to `result` (n, c), for A (n, n) or larger, and B (n, c)."""
    n = B.shape[0]
    for i in range(0, n, 2):
        first = max(min(i, n - 2), 0)
        _subtract_rows(A, B, first, min(first + 1, n - 1), n, B.shape[1], result)


@inlined
def _subtract_rows(A, B, i, h, count, columns, result):
    """Write rows i and h of -A B, of the first `count` rows of B and of its first `columns`: two
    rows with four terms at a time, since loads and stores would take longer than the products."""
    for j in range(columns):
        result[i, j] = result[h, j] = 0.0
    whole = count - count % 4
    for k in range(0, whole, 4):
        a0, a1, a2, a3 = A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3]
        b0, b1, b2, b3 = A[h, k], A[h, k + 1], A[h, k + 2], A[h, k + 3]
        for j in range(columns):
            x0, x1, x2, x3 = B[k, j], B[k + 1, j], B[k + 2, j], B[k + 3, j]
            first = result[i, j] - ((a0 * x0 + a1 * x1) + (a2 * x2 + a3 * x3))
            result[h, j] -= (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3)
            result[i, j] = first
    for k in range(whole, count):
        for j in range(columns):
            first = result[i, j] - A[i, k] * B[k, j]
            result[h, j] -= A[h, k] * B[k, j]
            result[i, j] = first
