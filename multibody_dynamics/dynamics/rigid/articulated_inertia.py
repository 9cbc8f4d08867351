# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Articulated-body inertia: solves M(q) x = b in O(n) for any split of the joints.

[K12] Tables 3 and 4. The acceleration of body i is its acceleration with all unknown q'' at zero
plus a_i = a_parent + S_i x_i. The first part is that of inverse dynamics, see `rnea`. The second
part depends on neither velocity nor gravity and is solved here. The inertia that body i presents to
its joint while the joints beyond it are free to move is its articulated-body inertia, [K12] (49),

    I_i = M_i + sum over children of Pi,   Pi = I - U U^T / D,   U = I S,   D = S . U + rotor

with Pi = I for a prescribed joint, (52). In spatial representation all inertias refer to the same
frame, and the sums need no transformation.

Where joints are coupled, a free joint may move bodies of several branches, and no body has an
articulated inertia of its own. M = G^T M_tree G is then factorised as in `mass_matrix_factors`;
only the number of coordinates enters in the third power. The recursions choose by the width of
`rows`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import (
    Array,
    DynamicsError,
    InputError,
    as_array,
    as_real,
    broadcast_shapes,
    check_sequence,
    compiled,
    inlined,
    read_only,
    spread,
)
from ..lie.screws import (
    about_origin,
    accumulate_screw,
    accumulate_symmetric,
    add,
    dot,
    load_rotation,
    load_screw,
    load_symmetric,
    muladd_screw,
    pair,
    rotate,
    rotate_back,
    scale,
    store_screw,
    symmetric_times,
)
from ..model import MultibodyModel, check_model
from ..model.records import ROTOR, SCREW
from . import mass_matrix_factors
from .crba import cancelled_terms, mass_matrix_recursion, world_inertia
from .kinematics import body_rows

# The row of a body: its articulated inertia [[A, B], [B^T, C]] in inertial axes about the inertial
# origin, A and C symmetric (xx xy xz yy yz zz), B row by row; then U and D of its joint.
ANGULAR_BLOCK = 0
MIXED_BLOCK = 6
LINEAR_BLOCK = 15
U_SCREW = 21
PIVOT = 27  # D
WRENCH_SCREW = 28  # p and a while one right-hand side is solved
MOTION_SCREW = 34
MASS_SUM = 40  # of all bodies beyond the joint: mass, and trace of the inertia about the origin
TRACE_SUM = 41
ARTICULATED_ROW = 42

# Of a robot with coupled joints, row c + 1 has the pivot of coordinate c, the bound of the terms
# that cancelled in it, and from here on row c of M: its upper half, and L below the diagonal.
CANCELLED = MASS_SUM
FACTOR = ARTICULATED_ROW

ROUNDING = 1e-14  # a pivot below this share of the terms that cancelled in it counts as zero


@inlined
def inertia_times(rows, b, X):
    """I X with the articulated inertia in row b."""
    w, v = X
    B = load_rotation(rows, b, MIXED_BLOCK)
    return (
        add(symmetric_times(load_symmetric(rows, b, ANGULAR_BLOCK), w), rotate(B, v)),
        add(rotate_back(B, w), symmetric_times(load_symmetric(rows, b, LINEAR_BLOCK), v)),
    )


@inlined
def add_rigid_body(rows, b, m, c, Theta):
    """Add a rigid body to row b: mass m at c, Theta about c, all in inertial axes."""
    accumulate_symmetric(rows, b, ANGULAR_BLOCK, about_origin(Theta, m, c))
    x, y, z = scale(m, c)
    rows[b, MIXED_BLOCK + 1] -= z
    rows[b, MIXED_BLOCK + 2] += y
    rows[b, MIXED_BLOCK + 3] += z
    rows[b, MIXED_BLOCK + 5] -= x
    rows[b, MIXED_BLOCK + 6] -= y
    rows[b, MIXED_BLOCK + 7] += x
    rows[b, LINEAR_BLOCK] += m
    rows[b, LINEAR_BLOCK + 3] += m
    rows[b, LINEAR_BLOCK + 5] += m


@inlined
def add_without(rows, p, b, s, U):
    """Add I_b - s U U^T to the inertia in row p."""
    w, v = U
    sw, sv = scale(s, w), scale(s, v)
    k = 0
    for i in range(3):
        for j in range(i, 3):
            rows[p, ANGULAR_BLOCK + k] += rows[b, ANGULAR_BLOCK + k] - sw[i] * w[j]
            rows[p, LINEAR_BLOCK + k] += rows[b, LINEAR_BLOCK + k] - sv[i] * v[j]
            k += 1
        for j in range(3):
            rows[p, MIXED_BLOCK + 3 * i + j] += rows[b, MIXED_BLOCK + 3 * i + j] - sw[i] * v[j]


def factorisation_rows(n: int, body_count: int) -> Array:
    """Rows (N + 1, ...) for `factorisation_recursion`, with n more columns for coupled joints."""
    return np.zeros((body_count + 1, ARTICULATED_ROW + (n if body_count > n else 0)))


@inlined
def dense_factorisation(parents, joints, prescribed, bodies, rows):
    """M of the free joints, factorised, for coupled ones."""
    last = prescribed.shape[0] + 1
    M = rows[1:last, FACTOR:]
    mass_matrix_recursion(parents, joints, bodies, rows, M)
    cancelled_terms(joints, bodies, rows, rows[1:last, CANCELLED])
    mass_matrix_factors.factorise(M, prescribed, rows[1:last, PIVOT])


@inlined
def factorisation_recursion(parents, joints, prescribed, bodies, rows):
    """Articulated-body inertias of all bodies, with U and D of every joint; [K12] (49) and (52).

    Parameters
    ----------
    parents, joints, bodies : the arrays of :func:`.spatial.forward_recursion`, which has written
        POSE and SCREW.
    prescribed : (n,) whether the acceleration of the joint is given.
    rows : those of `factorisation_rows`, written.
    """
    if rows.shape[1] > ARTICULATED_ROW:
        dense_factorisation(parents, joints, prescribed, bodies, rows)
        return
    n = parents.shape[0]
    for b in range(n + 1):
        for k in range(U_SCREW):
            rows[b, k] = 0.0
        rows[b, MASS_SUM] = rows[b, TRACE_SUM] = 0.0
    for k in range(n):
        i = n - 1 - k
        b = i + 1
        m, c, Theta = world_inertia(joints, bodies, i)
        add_rigid_body(rows, b, m, c, Theta)
        rows[b, MASS_SUM] += m
        rows[b, TRACE_SUM] += Theta[0] + Theta[3] + Theta[5] + 2 * m * dot(c, c)
        S = load_screw(bodies, b, SCREW)
        U = inertia_times(rows, b, S)
        D = pair(S, U) + joints[i, ROTOR]
        store_screw(rows, b, U_SCREW, U)
        rows[b, PIVOT] = D
        p = parents[i] + 1
        add_without(rows, p, b, 0.0 if prescribed[i] else 1 / D, U)
        rows[p, MASS_SUM] += rows[b, MASS_SUM]
        rows[p, TRACE_SUM] += rows[b, TRACE_SUM]


@inlined
def solution_recursion(parents, prescribed, bodies, rows, force, solution):
    """Solve M x = `force` for the free joints, with x = 0 for the prescribed ones.

    [K12] (45), (77). On return `solution` (n,) holds x of the free joints and, for the prescribed
    joints, the force M_uv x_v that keeps x at zero. It may be the same array as `force`. `rows` are
    those that `factorisation_recursion` has filled.
    """
    if rows.shape[1] > ARTICULATED_ROW:
        last = prescribed.shape[0] + 1
        M, pivots = rows[1:last, FACTOR:], rows[1:last, PIVOT]
        mass_matrix_factors.solve(M, prescribed, pivots, force, solution)
        return
    n = parents.shape[0]
    for b in range(n + 1):
        for k in range(6):
            rows[b, WRENCH_SCREW + k] = 0.0
            rows[b, MOTION_SCREW + k] = 0.0
    for k in range(n):
        i = n - 1 - k
        b = i + 1
        p = load_screw(rows, b, WRENCH_SCREW)
        if not prescribed[i]:
            u = force[i] - pair(load_screw(bodies, b, SCREW), p)
            solution[i] = u / rows[b, PIVOT]
            p = muladd_screw(solution[i], load_screw(rows, b, U_SCREW), p)
        accumulate_screw(rows, parents[i] + 1, WRENCH_SCREW, p)
    for i in range(n):
        b = i + 1
        a = load_screw(rows, parents[i] + 1, MOTION_SCREW)
        carried = pair(load_screw(rows, b, U_SCREW), a)
        S = load_screw(bodies, b, SCREW)
        if prescribed[i]:
            solution[i] = carried + pair(S, load_screw(rows, b, WRENCH_SCREW))
        else:
            x = solution[i] - carried / rows[b, PIVOT]
            solution[i] = x
            a = muladd_screw(x, S, a)
        store_screw(rows, b, MOTION_SCREW, a)


@inlined
def cancelled(bodies, rows, b):
    """A bound on the terms that cancelled in the pivot of row b."""
    if rows.shape[1] > ARTICULATED_ROW:
        return rows[b, CANCELLED]
    w, v = load_screw(bodies, b, SCREW)
    return rows[b, TRACE_SUM] * dot(w, w) + rows[b, MASS_SUM] * dot(v, v)


@inlined
def has_pivots(parents, prescribed, bodies, rows):
    """Whether every free joint moves some inertia, beyond rounding error."""
    result = True
    for b in range(1, prescribed.shape[0] + 1):
        result &= prescribed[b - 1] or rows[b, PIVOT] > ROUNDING * cancelled(bodies, rows, b)
    return result


def _factorise(parents, joints, prescribed, bodies, rows):
    """Factorise every state of a batch and return the index of the first singular one, or -1."""
    for k in range(bodies.shape[0]):
        factorisation_recursion(parents, joints, prescribed, bodies[k], rows[k])
        if not has_pivots(parents, prescribed, bodies[k], rows[k]):
            return k
    return -1


def _solve(parents, prescribed, bodies, rows, states, forces):
    """Solve `forces` (N, k, n) in place; entry i belongs to the factorised state states[i]."""
    for i in range(forces.shape[0]):
        for j in range(forces.shape[1]):
            force, k = forces[i, j], states[i]
            solution_recursion(parents, prescribed, bodies[k], rows[k], force, force)


_compiled_factorise = compiled(_factorise)
_compiled_solve = compiled(_solve)


@dataclass(frozen=True, eq=False)
class ArticulatedBodies:
    """The factorised mass matrix M(q), at one q or a batch; made by :func:`articulated_bodies`.

    With prescribed joints u and free joints v it solves M_vv x_v = b_v.

    Attributes
    ----------
    model : the robot.
    prescribed : (n,) bool.
    shape : shape of the batch.
    """

    model: MultibodyModel
    prescribed: NDArray[np.bool_]
    shape: tuple[int, ...]
    _bodies: Array
    _rows: Array

    def solve(self, b: Any) -> Array:
        """x = M^-1 b (..., n), with x_u = 0 for the prescribed joints; b_u is ignored. [K12] (77)

        Raises InputError for wrong shapes, NaN or infinity.
        """
        return self.solve_with_forces(b)[0]

    def solve_with_forces(self, b: Any) -> tuple[Array, Array]:
        """x of :meth:`solve`, and M x (..., n): M_uv x_v (prescribed joints), b_v (free joints)."""
        column = as_array("b", b, (self.model.n,))[..., None]
        x, f = self.solve_columns_with_forces(column)
        return x[..., 0], f[..., 0]

    def solve_columns(self, b: Any) -> Array:
        """:meth:`solve` for k right-hand sides at once; b and x are (..., n, k)."""
        return self.solve_columns_with_forces(b)[0]

    def solve_columns_with_forces(self, b: Any) -> tuple[Array, Array]:
        """:meth:`solve_with_forces` for k right-hand sides at once; all arrays are (..., n, k)."""
        n, given = self.model.n, as_real("b", b)
        if given.ndim < 2:
            raise InputError(f"b: expected shape (..., {n}, k), got {given.shape}")
        columns = given.shape[-1]
        given = as_array("b", given, (n, columns))
        shape = broadcast_shapes(("q", "b"), (self.shape, given.shape[:-2]))
        work = spread(np.swapaxes(given, -1, -2), shape, (columns, n))
        states = np.arange(len(self._bodies)).reshape(self.shape)
        states = np.broadcast_to(states, shape).flatten()
        parents = self.model.parents
        _compiled_solve(parents, self.prescribed, self._bodies, self._rows, states, work)
        work = np.swapaxes(work.reshape(*shape, columns, n), -1, -2)
        held = self.prescribed[:, None]
        return np.where(held, 0.0, work), np.where(held, work, given)

    def inverse(self) -> Array:
        """M_vv^-1 as (..., n, n), with zero rows and columns for the prescribed joints."""
        free = np.where(self.prescribed, 0.0, np.eye(self.model.n))
        return self.solve_columns(np.broadcast_to(free, (*self.shape, *free.shape)))


def articulated_bodies(
    model: MultibodyModel, q: Any, *, prescribed: Sequence[str | int] = ()
) -> ArticulatedBodies:
    """Factorise M(q) by articulated-body inertias, in O(n); [K12] (49), (52).

    q is (..., n). With `prescribed` joints (names or indices), M_vv of the other joints is
    factorised. Raises InputError for wrong shapes, NaN or an unknown joint, and DynamicsError if a
    free joint moves no inertia.
    """
    held = prescribed_joints(model, prescribed)
    bodies, shape, _ = body_rows(model, (q,))
    bodies = np.ascontiguousarray(bodies)
    shape_of_rows = factorisation_rows(model.n, model.body_count).shape
    rows = np.zeros((len(bodies), *shape_of_rows))
    k = _compiled_factorise(model.parents, model.joint_rows, held, bodies, rows)
    if k >= 0:
        states = spread(as_array("q", q, (model.n,)), shape, (model.n,))
        raise singular(model, states[k], held)
    return ArticulatedBodies(model, held, shape, bodies, rows)


def prescribed_joints(model: MultibodyModel, joints: Sequence[str | int]) -> NDArray[np.bool_]:
    """(n,) bool, true for the given joints (names or indices); InputError for an unknown one."""
    check_model(model)
    check_sequence("prescribed", joints, "joints")
    held = np.zeros(model.n, dtype=bool)
    for joint in joints:
        held[model.joint_index(joint)] = True
    return read_only(held, np.bool_)


def singular(
    model: MultibodyModel, q: Array, held: NDArray[np.bool_] | None = None
) -> DynamicsError:
    """The DynamicsError for a q (n,) with singular M_vv; it names the joint that causes it."""
    held = prescribed_joints(model, ()) if held is None else held
    bodies = np.ascontiguousarray(body_rows(model, (q,))[0])
    rows = factorisation_rows(model.n, model.body_count)[None]
    _compiled_factorise(model.parents, model.joint_rows, held, bodies, rows)
    share = [
        rows[0, b, PIVOT] / max(cancelled(bodies[0], rows[0], b), np.finfo(float).tiny)
        for b in range(1, model.n + 1)
    ]
    # the outermost one: its division by zero makes the pivots nearer the base meaningless
    i = next(i for i in reversed(range(model.n)) if not (held[i] or share[i] > 2 * ROUNDING))
    body = model.body_names[model.first_bodies[i]]
    return DynamicsError(
        f"robot '{model.name}': the mass matrix is singular at q = {q}: joint "
        f"'{model.joint_names[i]}' has no inertia to accelerate; give body "
        f"'{body}' or the bodies that it carries mass and inertia, or prescribe the "
        "motion of the joint"
    )
