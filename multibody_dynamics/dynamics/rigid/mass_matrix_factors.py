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
def solve_rows(M, pivots, rows):
    """Replace `rows` (n, c) by M^-1 times them, with the factors; none is held."""
    n, upper = pivots.shape[0], M.T
    for r in range(n):
        i = n - 1 - r
        _subtract_rows(upper, rows, i, i + 1, n)
    for i in range(n):
        share = 1.0 / pivots[i]
        for j in range(rows.shape[1]):
            rows[i, j] *= share
        _subtract_rows(M, rows, i, 0, i)


@inlined
def _subtract_rows(factors, rows, i, begin, end):
    """Subtract factors[i, k] times row k, for k from `begin` to `end`, from row i: four at a time,
    or the difference would be read and written for each."""
    whole = end - (end - begin) % 4
    for k in range(begin, whole, 4):
        a, b, c, d = factors[i, k], factors[i, k + 1], factors[i, k + 2], factors[i, k + 3]
        for j in range(rows.shape[1]):
            rows[i, j] -= (a * rows[k, j] + b * rows[k + 1, j]) + (
                c * rows[k + 2, j] + d * rows[k + 3, j]
            )
    for k in range(whole, end):
        for j in range(rows.shape[1]):
            rows[i, j] -= factors[i, k] * rows[k, j]
