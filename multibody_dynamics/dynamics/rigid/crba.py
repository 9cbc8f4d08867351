# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Composite rigid body algorithm (CRBA): the joint-space mass matrix, in spatial representation.

In inertial axes about the inertial origin the inertias of a subtree simply add up, and
M_ij = S_i^T M^c_j S_j for every joint i on the path from the base to joint j.
"""

from functools import partial
from typing import Any

import numpy as np

from ..codegen import Program
from ..core import Array, by_robot, compiled, inlined
from ..lie.screws import (
    about_origin,
    accumulate_symmetric,
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
from ..model import MultibodyModel
from ..model.records import COM, INERTIA, MASS, POSE, POSITION, ROTOR, SCREW
from ..recursions import coordinate, spatial
from .kinematics import BaseMotion, body_rows
from .rnea import inverse_dynamics
from .tracing import STATE_ONLY, Objects, TracedInputs, TracedRobot, initial_bodies, traced_robot
from .vector_batches import vector_batch

# The row of a body and everything that it carries: mass, first moment m c, and inertia about the
# inertial origin.
FIRST_MOMENT = 1
SECOND_MOMENT = 4
COMPOSITE_ROW = 10


@inlined
def world_inertia(joints, bodies, i):
    """Mass m, centre of mass c and inertia Theta about c of body i, in inertial axes."""
    b = i + 1
    R = load_rotation(bodies, b, POSE)
    c = add(load_vector(bodies, b, POSITION), rotate(R, load_vector(joints, i, COM)))
    return joints[i, MASS], c, rotate_symmetric(R, load_symmetric(joints, i, INERTIA))


@inlined
def composite_times(composite, b, X):
    """M^c X with the composite inertia in row b: the momentum (angular, linear) of a twist X."""
    first = load_vector(composite, b, FIRST_MOMENT)
    return (
        add(symmetric_times(load_symmetric(composite, b, SECOND_MOMENT), X[0]), cross(first, X[1])),
        add(scale(composite[b, 0], X[1]), cross(X[0], first)),
    )


@inlined
def add_inertia(composite, b, m, c, Theta):
    """Add a body of mass m at c, with the inertia Theta about c, to row b."""
    composite[b, 0] += m
    first = muladd(m, c, load_vector(composite, b, FIRST_MOMENT))
    store_vector(composite, b, FIRST_MOMENT, first)
    accumulate_symmetric(composite, b, SECOND_MOMENT, about_origin(Theta, m, c))


@inlined
def mass_matrix_recursion(parents, joints, bodies, composite, M):
    """M (n, n) from the poses and joint screws that the forward kinematics wrote into `bodies`.

    Reflected rotor inertias are added to the diagonal. `composite` (N + 1, COMPOSITE_ROW or more)
    is scratch and holds the composite inertias on return.
    """
    n = parents.shape[0]
    for b in range(n + 1):
        for k in range(COMPOSITE_ROW):
            composite[b, k] = 0.0
    for k in range(n):
        i = n - 1 - k
        m, c, Theta = world_inertia(joints, bodies, i)
        add_inertia(composite, i + 1, m, c, Theta)
        for j in range(COMPOSITE_ROW):
            composite[parents[i] + 1, j] += composite[i + 1, j]
    fill_mass_matrix(parents, joints, bodies, composite, M)


@inlined
def fill_mass_matrix(parents, joints, bodies, composite, M):
    """M (n, n) from the composite inertias."""
    for i in range(M.shape[0]):
        for j in range(M.shape[0]):
            M[i, j] = 0.0
    for i in range(parents.shape[0]):
        S = load_screw(bodies, i + 1, SCREW)
        momentum = composite_times(composite, i + 1, S)
        own = coordinate(joints, i)
        M[own, own] += pair(S, momentum) + joints[i, ROTOR]
        j = parents[i]
        while j >= 0:
            entry = pair(load_screw(bodies, j + 1, SCREW), momentum)
            other = coordinate(joints, j)
            M[own, other] += entry
            M[other, own] += entry
            j = parents[j]


@inlined
def cancelled_terms(joints, bodies, composite, bounds):
    """Bounds (n,) of the terms that cancel in the diagonal of M, of which rounding errors are a
    share, after `mass_matrix_recursion`."""
    for j in range(bounds.shape[0]):
        bounds[j] = 0.0
    for i in range(joints.shape[0]):
        b = i + 1
        w, v = load_screw(bodies, b, SCREW)
        inertia = load_symmetric(composite, b, SECOND_MOMENT)
        trace = inertia[0] + inertia[3] + inertia[5]
        bounds[coordinate(joints, i)] += trace * dot(w, w) + composite[b, 0] * dot(v, v)


def _batch(parents, joints, bodies, composite, result):
    for k in range(bodies.shape[0]):
        mass_matrix_recursion(parents, joints, bodies[k], composite, result[k])


_compiled_batch = compiled(_batch)


@by_robot
def mass_matrix(model: MultibodyModel, q: Any) -> Array:
    """The joint-space mass matrix M(q) (..., n, n) for q (..., n), symmetric, positive definite.

    Composite rigid body algorithm (CRBA); [M18d] (81), the M of [K12] (32). An entry is in kg m^2
    between two angles, kg m between an angle and a translation, kg between two translations.
    Reflected rotor inertias are included on the diagonal.

    Raises InputError for wrong shapes, NaN or infinity.
    """
    trace = partial(trace_mass_matrix, model)
    batch = vector_batch(model, "mass_matrix", trace, {"q": q}, [("n", "n")])
    if batch is not None:
        return batch[0]
    bodies, shape, _ = body_rows(model, (q,))
    n = model.n
    result = np.empty((len(bodies), n, n))
    composite = np.empty((model.body_count + 1, COMPOSITE_ROW))
    constants = (model.parents, model.joint_rows)
    _compiled_batch(*constants, np.ascontiguousarray(bodies), composite, result)
    return result.reshape(*shape, n, n)


def trace_mass_matrix(model: MultibodyModel, inputs: TracedInputs = STATE_ONLY) -> Program:
    """The mass matrix, by composite rigid bodies, as straight-line code.

    Inputs: "q" (n,), followed by those of `inputs`. Result: "M" (n n,), row by row. Raises
    InputError for unknown bodies.
    """
    robot = traced_robot(model, ("q",), inputs)
    bodies = initial_bodies(robot, "spatial")
    spatial.forward_recursion(robot.parents, robot.joints, robot.trig, robot.state, 0, bodies)
    return robot.program({"M": traced_mass_matrix(robot, bodies)[0]})


def traced_mass_matrix(
    robot: TracedRobot, bodies: Objects, size: int = COMPOSITE_ROW
) -> tuple[Objects, Objects]:
    """M, and rows of the subtrees with their composite inertias, (N + 1, size)."""
    M = np.zeros((robot.n, robot.n), dtype=object)
    subtrees = np.zeros((robot.body_count + 1, size), dtype=object)
    mass_matrix_recursion(robot.parents, robot.joints, bodies, subtrees, M)
    return M, subtrees


@by_robot
def gravity_forces(model: MultibodyModel, q: Any, *, base: BaseMotion | None = None) -> Array:
    """The joint torques g(q) (..., n) that hold the robot still at q (..., n); N m or N.

    [M21] (1), [M18d] (1). If `base` is tilted or moving, these are the torques that hold the joints
    at q on that base.

    Raises InputError for wrong shapes, NaN or infinity.
    """
    zero = np.zeros(model.n)
    return inverse_dynamics(model, q, zero, zero, base=base).tau
