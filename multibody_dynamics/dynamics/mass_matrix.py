"""The joint-space mass matrix by composite inertias in spatial representation (CRBA).

In inertial axes about the inertial origin the inertias of a subtree simply add up, and
M_ij = S_i^T M^c_j S_j for every joint i on the way from the base to joint j.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compilation import compiled, inlined
from .inputs import Array
from .inverse_dynamics import inverse_dynamics
from .kinematics import body_rows
from .model import MultibodyModel
from .records import COM, INERTIA, MASS, POSE, POSITION, ROTOR, SCREW
from .screws import (
    add,
    cross,
    dot,
    load_rotation,
    load_screw,
    load_symmetric,
    load_vector,
    muladd,
    pair,
    rotate,
    rotate_symmetric,
    scale,
    store_vector,
    symmetric_times,
)

COMPOSITE_ROW = 10  # mass, first moment m c, and the inertia about the inertial origin


@inlined
def mass_matrix_recursion(parents, joints, bodies, composite, M):
    """M (n, n) from the poses and joint screws that the forward kinematics left in `bodies`.

    `composite` (n + 1, COMPOSITE_ROW) is scratch. The rotor inertias are on the diagonal.
    """
    n = parents.shape[0]
    for b in range(n + 1):
        for k in range(COMPOSITE_ROW):
            composite[b, k] = 0.0
    for k in range(n):
        i = n - 1 - k
        b = i + 1
        m = joints[i, MASS]
        R = load_rotation(bodies, b, POSE)
        c = add(load_vector(bodies, b, POSITION), rotate(R, load_vector(joints, i, COM)))
        Theta = rotate_symmetric(R, load_symmetric(joints, i, INERTIA))
        d = dot(c, c)
        composite[b, 0] += m
        store_vector(composite, b, 1, muladd(m, c, load_vector(composite, b, 1)))
        composite[b, 4] += Theta[0] + m * (d - c[0] * c[0])
        composite[b, 5] += Theta[1] - m * c[0] * c[1]
        composite[b, 6] += Theta[2] - m * c[0] * c[2]
        composite[b, 7] += Theta[3] + m * (d - c[1] * c[1])
        composite[b, 8] += Theta[4] - m * c[1] * c[2]
        composite[b, 9] += Theta[5] + m * (d - c[2] * c[2])

        S = load_screw(bodies, b, SCREW)
        mc = load_vector(composite, b, 1)
        momentum = (
            add(symmetric_times(load_symmetric(composite, b, 4), S[0]), cross(mc, S[1])),
            add(scale(composite[b, 0], S[1]), cross(S[0], mc)),
        )
        for j in range(n):
            M[i, j] = 0.0
        j = i
        while j >= 0:
            M[i, j] = pair(load_screw(bodies, j + 1, SCREW), momentum)
            j = parents[j]
        M[i, i] += joints[i, ROTOR]

        p = parents[i] + 1
        for j in range(COMPOSITE_ROW):
            composite[p, j] += composite[b, j]
    for i in range(n):
        for j in range(i):
            M[j, i] = M[i, j]


def _batch(parents, joints, bodies, composite, result):
    for k in range(bodies.shape[0]):
        mass_matrix_recursion(parents, joints, bodies[k], composite, result[k])


_compiled_batch = compiled(_batch)


def mass_matrix(model: MultibodyModel, q: Any) -> Array:
    """M(q) (..., n, n) of the configurations q (..., n), symmetric and positive definite.

    [M18d] (81) by composite inertias; the M of [K12] (32). kg m^2 between angles, kg m or kg where
    a translation takes part. Reflected rotor inertias are on the diagonal. Raises InputError for
    wrong shapes, NaN or infinity.
    """
    bodies, shape, _ = body_rows(model, (q,))
    n = model.n
    result = np.empty((len(bodies), n, n))
    composite = np.empty((n + 1, COMPOSITE_ROW))
    constants = (model.parents, model.joint_rows)
    _compiled_batch(*constants, np.ascontiguousarray(bodies), composite, result)
    return result.reshape(*shape, n, n)


def gravity_forces(model: MultibodyModel, q: Any) -> Array:
    """g(q) (..., n): the joint torques that hold the robot still, N m or N; [M21] (1), [M18d] (1).

    Raises InputError for wrong shapes, NaN or infinity.
    """
    zero = np.zeros(model.n)
    return inverse_dynamics(model, q, zero, zero).tau
