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
def invert(M, pivots, U, inverse):
    """Write M^-1 = U^T D^-1 U with U = L^-T to `inverse`; U (n, n) is scratch. None is held."""
    n = pivots.shape[0]
    for i in range(n):
        for j in range(n):
            U[i, j] = inverse[i, j] = 0.0
    for r in range(n):
        i = n - 1 - r
        U[i, i] = 1.0
        for k in range(i + 1, n):
            for j in range(k, n):
                U[i, j] = U[i, j] - M[k, i] * U[k, j]
    for i in range(n):
        for k in range(i + 1):
            share = U[k, i] / pivots[k]
            for j in range(i, n):
                inverse[i, j] = inverse[i, j] + share * U[k, j]
        for j in range(i):
            inverse[i, j] = inverse[j, i]


@inlined
def subtract_product(A, B, result):
    """Subtract A B from `result`, all (n, n); four rows of B at a time, or `result` would be read
    and written as often as there are products."""
    n = A.shape[0]
    whole = n - n % 4
    for i in range(n):
        for r in range(0, whole, 4):
            a, b, c, d = A[i, r], A[i, r + 1], A[i, r + 2], A[i, r + 3]
            for j in range(n):
                result[i, j] -= (a * B[r, j] + b * B[r + 1, j]) + (
                    c * B[r + 2, j] + d * B[r + 3, j]
                )
        for r in range(whole, n):
            for j in range(n):
                result[i, j] -= A[i, r] * B[r, j]
