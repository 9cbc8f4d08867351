# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Small linear systems over any scalars by the modified Gram-Schmidt method.

A = U R with orthogonal columns u_j, and R upper triangular with a diagonal of ones. The columns are
not normalised, which would take square roots, and there is no pivoting: no step depends on values,
so that recorded code holds for all of them. Only a singular matrix divides by zero, where |u_j| /
|a_j|, the sine of the angle between column j of A and those before it, is zero.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Objects = NDArray[np.object_]


class OrthogonalColumns(NamedTuple):
    """Factors of A (m, m) with its columns in the order `order`.

    columns : U (m, m). rest : R (m, m) above the diagonal.
    inverse_squares : (m,) 1 / |u_j|^2. squares : (m,) |a_j|^2.
    """

    order: list[int]
    columns: Objects
    rest: Objects
    inverse_squares: Objects
    squares: Objects

    def solve(self, b: Objects) -> Objects:
        """x (m,) with A x = b. Each component is removed from b before the next one is found:
        errors then stay of the size of those of a triangular factorisation."""
        order, U, R, inverse_squares, _ = self
        b, x, result = b.copy(), b.copy(), b.copy()
        for j, inverse in enumerate(inverse_squares):
            x[j] = inverse * (U[:, j] @ b)
            b -= x[j : j + 1] * U[:, j]
        for j in range(len(x) - 2, -1, -1):
            x[j] -= R[j, j + 1 :] @ x[j + 1 :]
        result[order] = x
        return result

    def solve_transposed(self, c: Objects) -> Objects:
        """y (m,) with A^T y = c."""
        order, U, R, inverse_squares, _ = self
        z = c[order]
        for j in range(1, len(z)):
            z[j] -= R[:j, j] @ z[:j]
        return np.asarray(U @ (inverse_squares * z))


def orthogonalise(A: Objects) -> OrthogonalColumns:
    """The factors of A (m, m), an array of objects, which is not changed.

    Columns with few entries come first, which keeps more of the zeros.
    """
    order = np.argsort(np.count_nonzero(A != 0.0, axis=0), kind="stable").tolist()
    A = A[:, order]
    U, R, inverse = A.copy(), np.zeros_like(A), np.zeros(len(A), dtype=object)
    for j in range(len(A)):
        inverse[j] = 1.0 / (U[:, j] @ U[:, j])
        for k in range(j + 1, len(A)):
            R[j, k] = inverse[j] * (U[:, j] @ U[:, k])
            U[:, k] -= R[j, k : k + 1] * U[:, j]
    return OrthogonalColumns(order, U, R, inverse, (A * A).sum(axis=0))
