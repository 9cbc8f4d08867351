# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Screw algebra over tuples of scalars: the vocabulary of the recursions.

A vector is ``(x, y, z)``. A twist is ``(omega, v)`` and a wrench ``(m, f)``, angular part first.
A rotation is a tuple of nine entries, row by row; a symmetric 3x3 matrix is ``(xx, xy, xz, yy, yz,
zz)``. The scalars may be floats, NumPy arrays (a batch of states), complex or mpmath numbers, or
CasADi symbols, since these functions never branch and use only ``+``, ``-`` and ``*``.

Every function is plain Python that compiled recursions may call (:func:`~.compilation.inlined`).
The ``load_``, ``store_`` and ``accumulate_`` functions read and write the flat rows of
:mod:`.records`, at row i from column k.
"""

from ..core import inlined

# 3-vectors


@inlined
def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inlined
def add3(a, b, c):
    return (a[0] + b[0] + c[0], a[1] + b[1] + c[1], a[2] + b[2] + c[2])


@inlined
def subtract(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inlined
def scale(s, a):
    return (s * a[0], s * a[1], s * a[2])


@inlined
def muladd(s, a, b):
    """s a + b."""
    return (s * a[0] + b[0], s * a[1] + b[1], s * a[2] + b[2])


@inlined
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a, b):
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


# rotations and symmetric matrices


@inlined
def rotate(R, a):
    """R a."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@inlined
def rotate_back(R, a):
    """R^T a."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@inlined
def transpose(R):
    return (R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8])


@inlined
def matmul(A, B):
    """A B of two 3x3 matrices."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@inlined
def rotate_about_z(R, s, c):
    """R Rot_z(angle), with the sine and cosine of the angle given."""
    return (
        c * R[0] + s * R[1], c * R[1] - s * R[0], R[2],
        c * R[3] + s * R[4], c * R[4] - s * R[3], R[5],
        c * R[6] + s * R[7], c * R[7] - s * R[6], R[8],
    )  # fmt: skip


@inlined
def symmetric_times(A, x):
    """A x for a symmetric A."""
    return (
        A[0] * x[0] + A[1] * x[1] + A[2] * x[2],
        A[1] * x[0] + A[3] * x[1] + A[4] * x[2],
        A[2] * x[0] + A[4] * x[1] + A[5] * x[2],
    )


@inlined
def rotate_symmetric(R, A):
    """R A R^T for a symmetric A."""
    x = rotate(R, (A[0], A[1], A[2]))
    y = rotate(R, (A[1], A[3], A[4]))
    z = rotate(R, (A[2], A[4], A[5]))  # x, y, z: the columns of R A
    return (
        x[0] * R[0] + y[0] * R[1] + z[0] * R[2],
        x[0] * R[3] + y[0] * R[4] + z[0] * R[5],
        x[0] * R[6] + y[0] * R[7] + z[0] * R[8],
        x[1] * R[3] + y[1] * R[4] + z[1] * R[5],
        x[1] * R[6] + y[1] * R[7] + z[1] * R[8],
        x[2] * R[6] + y[2] * R[7] + z[2] * R[8],
    )


@inlined
def about_origin(Theta, m, c):
    """Theta - m c~ c~: inertia about the origin of a body with mass m, COM c and Theta about c."""
    d = dot(c, c)
    return (
        Theta[0] + m * (d - c[0] * c[0]), Theta[1] - m * c[0] * c[1], Theta[2] - m * c[0] * c[2],
        Theta[3] + m * (d - c[1] * c[1]), Theta[4] - m * c[1] * c[2],
        Theta[5] + m * (d - c[2] * c[2]),
    )  # fmt: skip


# screws: twists (omega, v) and wrenches (m, f)


@inlined
def add_screws(X, Y):
    return (add(X[0], Y[0]), add(X[1], Y[1]))


@inlined
def subtract_screw(X, Y):
    return (subtract(X[0], Y[0]), subtract(X[1], Y[1]))


@inlined
def minus_screw(X):
    return ((-X[0][0], -X[0][1], -X[0][2]), (-X[1][0], -X[1][1], -X[1][2]))


@inlined
def scale_screw(s, X):
    return (scale(s, X[0]), scale(s, X[1]))


@inlined
def muladd_screw(s, X, Y):
    """s X + Y."""
    return (muladd(s, X[0], Y[0]), muladd(s, X[1], Y[1]))


@inlined
def ad(X, Y):
    """The screw product [X, Y] = ad_X Y of two twists, [M21] (36)."""
    return (
        cross(X[0], Y[0]),
        add(cross(X[1], Y[0]), cross(X[0], Y[1])),
    )


@inlined
def coad(X, W):
    """-ad_X^T W: the rate of a wrench W that moves along with the twist X, [M18d] (41)."""
    return (
        add(cross(X[0], W[0]), cross(X[1], W[1])),
        cross(X[0], W[1]),
    )


@inlined
def pair(V, W):
    """The power V^T W of a wrench W on a twist V."""
    return dot(V[0], W[0]) + dot(V[1], W[1])


# rows of numbers


@inlined
def load_vector(row, i, k):
    return (row[i, k], row[i, k + 1], row[i, k + 2])


@inlined
def store_vector(row, i, k, a):
    row[i, k] = a[0]
    row[i, k + 1] = a[1]
    row[i, k + 2] = a[2]


@inlined
def load_screw(row, i, k):
    return (load_vector(row, i, k), load_vector(row, i, k + 3))


@inlined
def store_screw(row, i, k, X):
    store_vector(row, i, k, X[0])
    store_vector(row, i, k + 3, X[1])


@inlined
def accumulate_screw(row, i, k, X):
    """Add X to the stored screw and return the sum."""
    total = add_screws(load_screw(row, i, k), X)
    store_screw(row, i, k, total)
    return total


@inlined
def load_symmetric(row, i, k):
    return (
        row[i, k], row[i, k + 1], row[i, k + 2],
        row[i, k + 3], row[i, k + 4], row[i, k + 5],
    )  # fmt: skip


@inlined
def accumulate_symmetric(row, i, k, A):
    """Add A to the stored symmetric matrix."""
    for j in range(6):
        row[i, k + j] += A[j]


@inlined
def load_rotation(row, i, k):
    return (
        row[i, k], row[i, k + 1], row[i, k + 2],
        row[i, k + 3], row[i, k + 4], row[i, k + 5],
        row[i, k + 6], row[i, k + 7], row[i, k + 8],
    )  # fmt: skip


@inlined
def store_rotation(row, i, k, R):
    store_vector(row, i, k, (R[0], R[1], R[2]))
    store_vector(row, i, k + 3, (R[3], R[4], R[5]))
    store_vector(row, i, k + 6, (R[6], R[7], R[8]))
