"""Articulated bodies: M(q) x = b for any split of the joints, in O(n); [K12] Tables 3 and 4.

The acceleration of body i is that of the robot with all unknown q'' at zero, plus
a_i = a_parent + S_i x_i. What the first part needs is inverse dynamics, written once elsewhere; the
second part knows neither velocity nor gravity and is solved here. The inertia that a body shows to
its joint, with the joints x beyond it free to move, is the articulated one, [K12] (49),

    I_i = M_i + sum over children of Pi,   Pi = I - U U^T / D,   U = I S,   D = S . U + rotor

or Pi = I where the joint is prescribed, (52). In spatial representation they add up as they are,
without any change of frame.
"""

from __future__ import annotations

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
    load_vector,
    muladd_screw,
    pair,
    rotate,
    rotate_back,
    rotate_symmetric,
    scale,
    store_screw,
    symmetric_times,
)
from ..model import MultibodyModel
from ..model.records import COM, INERTIA, MASS, POSE, POSITION, ROTOR, SCREW
from .kinematics import body_rows

# The row of a body: its articulated inertia [[A, B], [B^T, C]] in inertial axes about the inertial
# origin, A and C symmetric (xx xy xz yy yz zz), B row by row; then what its joint sees of it.
ANGULAR_BLOCK = 0
MIXED_BLOCK = 6
LINEAR_BLOCK = 15
U_SCREW = 21
PIVOT = 27  # D
WRENCH_SCREW = 28  # p and a of the solution of one right-hand side
MOTION_SCREW = 34
MASS_SUM = 40  # of all that the joint moves: mass, and the trace of the inertia about the origin
TRACE_SUM = 41
ARTICULATED_ROW = 42

ROUNDING = 1e-14  # a pivot that is this much smaller than what cancelled in it is none


@inlined
def inertia_times(rows, b, X):
    """I X of the articulated inertia in row b."""
    w, v = X
    B = load_rotation(rows, b, MIXED_BLOCK)
    return (
        add(symmetric_times(load_symmetric(rows, b, ANGULAR_BLOCK), w), rotate(B, v)),
        add(rotate_back(B, w), symmetric_times(load_symmetric(rows, b, LINEAR_BLOCK), v)),
    )


@inlined
def add_rigid_body(rows, b, m, c, Theta):
    """Add the inertia of mass m at c, with Theta about c, in inertial axes about the origin."""
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


@inlined
def factorisation_recursion(parents, joints, prescribed, bodies, rows):
    """[K12] (49) and (52): the articulated inertias, with U and D of every joint.

    Parameters
    ----------
    parents, joints, bodies : as of :func:`.spatial.forward_recursion`, which wrote POSE and SCREW.
    prescribed : (n,) whether the acceleration of the joint is given.
    rows : (n + 1, ARTICULATED_ROW), written.
    """
    n = parents.shape[0]
    for b in range(n + 1):
        for k in range(U_SCREW):
            rows[b, k] = 0.0
        rows[b, MASS_SUM] = rows[b, TRACE_SUM] = 0.0
    for k in range(n):
        i = n - 1 - k
        b = i + 1
        R = load_rotation(bodies, b, POSE)
        c = add(load_vector(bodies, b, POSITION), rotate(R, load_vector(joints, i, COM)))
        Theta = rotate_symmetric(R, load_symmetric(joints, i, INERTIA))
        m = joints[i, MASS]
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
    """M x = `force` for the free joints, with x = 0 for the prescribed ones; [K12] (45), (77).

    `solution` (n,) gets x of the free joints, and of the prescribed ones the force M_uv x_v that
    holds them. It may be `force` itself. `rows` is what `factorisation_recursion` left.
    """
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
    """A bound of what cancelled in the pivot of row b."""
    w, v = load_screw(bodies, b, SCREW)
    return rows[b, TRACE_SUM] * dot(w, w) + rows[b, MASS_SUM] * dot(v, v)


@inlined
def has_pivots(parents, prescribed, bodies, rows):
    """Whether every free joint has an inertia to accelerate, and not the rounding of none."""
    result = True
    for b in range(1, parents.shape[0] + 1):
        result &= prescribed[b - 1] or rows[b, PIVOT] > ROUNDING * cancelled(bodies, rows, b)
    return result


def _factorise(parents, joints, prescribed, bodies, rows):
    """Every state of a batch; the index of the first one that is singular, or -1."""
    for k in range(bodies.shape[0]):
        factorisation_recursion(parents, joints, prescribed, bodies[k], rows[k])
        if not has_pivots(parents, prescribed, bodies[k], rows[k]):
            return k
    return -1


def _solve(parents, prescribed, bodies, rows, states, forces):
    """Every right-hand side (k, n) of every entry of a batch, in place; states[i] is its state."""
    for i in range(forces.shape[0]):
        for j in range(forces.shape[1]):
            force, k = forces[i, j], states[i]
            solution_recursion(parents, prescribed, bodies[k], rows[k], force, force)


_compiled_factorise = compiled(_factorise)
_compiled_solve = compiled(_solve)


@dataclass(frozen=True, eq=False)
class ArticulatedBodies:
    """The mass matrix at one q or a batch of them, factorised; made by :func:`articulated_bodies`.

    With prescribed joints u and free joints v it solves M_vv x_v = b_v.

    Attributes: `model`, `prescribed` (n,) bool, `shape` of the batch.
    """

    model: MultibodyModel
    prescribed: NDArray[np.bool_]
    shape: tuple[int, ...]
    _bodies: Array
    _rows: Array

    def solve(self, b: Any) -> Array:
        """x = M^-1 b (..., n); prescribed joints have x_u = 0, b_u is not used. [K12] (77)

        Raises InputError for wrong shapes, NaN or infinity.
        """
        return self.solve_with_forces(b)[0]

    def solve_with_forces(self, b: Any) -> tuple[Array, Array]:
        """x as of :meth:`solve`, and M x (..., n): M_uv x_v for the prescribed joints, else b_v."""
        column = as_array("b", b, (self.model.n,))[..., None]
        x, f = self.solve_columns_with_forces(column)
        return x[..., 0], f[..., 0]

    def solve_columns(self, b: Any) -> Array:
        """:meth:`solve` for many right-hand sides at once, b and x are (..., n, k)."""
        return self.solve_columns_with_forces(b)[0]

    def solve_columns_with_forces(self, b: Any) -> tuple[Array, Array]:
        """:meth:`solve_with_forces` for many right-hand sides at once, all are (..., n, k)."""
        n, given = self.model.n, as_real("b", b)
        if given.ndim < 2:
            raise InputError(f"b: expected shape (..., {n}, k), got {given.shape}")
        columns = given.shape[-1]
        given = as_array("b", given, (n, columns))
        shape = broadcast_shapes(("q", "b"), (self.shape, given.shape[:-2]))
        work = spread(np.swapaxes(given, -1, -2), shape, (columns, n))
        states = np.broadcast_to(np.arange(len(self._bodies)).reshape(self.shape), shape).ravel()
        parents = self.model.parents
        _compiled_solve(parents, self.prescribed, self._bodies, self._rows, states, work)
        work = np.swapaxes(work.reshape(*shape, columns, n), -1, -2)
        held = self.prescribed[:, None]
        return np.where(held, 0.0, work), np.where(held, work, given)

    def inverse(self) -> Array:
        """M^-1 (..., n, n), with zeros in the rows and columns of prescribed joints: M_vv^-1."""
        free = np.where(self.prescribed, 0.0, np.eye(self.model.n))
        return self.solve_columns(np.broadcast_to(free, (*self.shape, *free.shape)))


def articulated_bodies(
    model: MultibodyModel, q: Any, *, prescribed: Sequence[str | int] = ()
) -> ArticulatedBodies:
    """Factorise M(q), or M_vv without the `prescribed` joints (names or indices); [K12] (49), (52).

    q is (..., n). Raises InputError for wrong shapes, NaN or an unknown joint, DynamicsError where
    a free joint has nothing to accelerate.
    """
    held = prescribed_joints(model, prescribed)
    bodies, shape, _ = body_rows(model, (q,))
    bodies = np.ascontiguousarray(bodies)
    rows = np.zeros((len(bodies), model.n + 1, ARTICULATED_ROW))
    k = _compiled_factorise(model.parents, model.joint_rows, held, bodies, rows)
    if k >= 0:
        states = spread(as_array("q", q, (model.n,)), shape, (model.n,))
        raise singular(model, states[k], held)
    return ArticulatedBodies(model, held, shape, bodies, rows)


def prescribed_joints(model: MultibodyModel, joints: Sequence[str | int]) -> NDArray[np.bool_]:
    """(n,) true for the named joints; InputError for one that is unknown."""
    check_sequence("prescribed", joints, "joints")
    held = np.zeros(model.n, dtype=bool)
    for joint in joints:
        held[model.joint_index(joint)] = True
    return read_only(held, np.bool_)


def singular(
    model: MultibodyModel, q: Array, held: NDArray[np.bool_] | None = None
) -> DynamicsError:
    """The error for a state q (n,) in which M_vv is singular, with the joint that makes it so."""
    held = np.zeros(model.n, dtype=bool) if held is None else held
    bodies = np.ascontiguousarray(body_rows(model, (q,))[0])
    rows = np.zeros((1, model.n + 1, ARTICULATED_ROW))
    _compiled_factorise(model.parents, model.joint_rows, held, bodies, rows)
    share = [
        rows[0, b, PIVOT] / max(cancelled(bodies[0], rows[0], b), np.finfo(float).tiny)
        for b in range(1, model.n + 1)
    ]
    # the outermost one; what it leaves to those before it is no number
    i = next(i for i in reversed(range(model.n)) if not (held[i] or share[i] > 2 * ROUNDING))
    return DynamicsError(
        f"robot '{model.name}': the mass matrix is singular at q = {q}: joint "
        f"'{model.joint_names[i]}' has no inertia to accelerate; give body "
        f"'{model.body_names[i]}' or those that it carries mass and inertia, or prescribe the "
        "motion of the joint"
    )
