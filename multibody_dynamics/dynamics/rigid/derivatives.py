# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Analytical derivatives of inverse and forward dynamics; [K12] section 4.

A displacement along q_j moves everything beyond joint j as one rigid body, by the screw S_j. In
spatial representation, with p the parent of j, V the twists and A the accelerations minus gravity,

    S'_j = [V_p, S_j],   S''_j = [A_p, S_j] + [V_p, S'_j],

the wrench W_i = sum of M A - ad_V^T M V required by body i and everything it carries changes by

    dW_i/dq_j = C_i S'_j + M_i S''_j - ad_{S_j}^T W_i,   dW_i/dq'_j = C_i S_j + 2 M_i S'_j

if joint j carries body i, and by the same expression for body j if body i carries joint j. M_i is
the inertia of the subtree of i, and C_i X = 2 integral (r x (omega x r'), omega x r') dm, with
X = (omega, v), is the wrench of the Coriolis forces on its particles at r. Since Q_i = S_i . W_i
minus the contribution of the applied wrenches, each entry is a pairing of screws; all entries take
O(n d) operations for a tree of depth d. For other derivations see
J. Carpentier, N. Mansard, "Analytical derivatives of rigid body dynamics algorithms", RSS 2018;
S. Singh, R. Russell, P. Wensing, "Efficient analytical derivatives of rigid-body dynamics using
spatial vector algebra", IEEE RA-L 7(2), 2022.

For the forward dynamics, dq'' = M^-1 (dtau - dQ).
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..codegen import Program
from ..core import STATE_ROWS, Array, InputError, by_robot, compiled, copy_row, inlined
from ..lie.screws import (
    accumulate_screw,
    ad,
    add,
    add3,
    add_screws,
    coad,
    cross,
    dot,
    load_rotation,
    load_screw,
    load_vector,
    muladd,
    muladd_screw,
    pair,
    rotate,
    rotate_back,
    scale,
    scale_screw,
    store_screw,
    store_vector,
    subtract,
    subtract_screw,
)
from ..model import MultibodyModel, model_state
from ..model.records import BODY_ROW, SCREW, TWIST, WRENCH
from ..recursions import angular_momentum_dot, coordinate, store_trig
from ..recursions.spatial import forward_recursion
from .aba import forward_dynamics, traced_forward_dynamics, traced_margins
from .articulated_inertia import PIVOT, articulated_bodies
from .crba import (
    COMPOSITE_ROW,
    add_inertia,
    composite_times,
    fill_mass_matrix,
    world_inertia,
)
from .kinematics import BaseMotion
from .mass_matrix_factors import factorise, invert, negative_product
from .rnea import flat_batch
from .tracing import (
    STATE_ONLY,
    Objects,
    Pause,
    TracedInputs,
    TracedRobot,
    initial_bodies,
    no_pause,
    state_names,
    traced_robot,
)
from .vector_batches import vector_batch
from .wrenches import Wrenches

# The row of a subtree starts with its composite inertia.
CORIOLIS = COMPOSITE_ROW  # integral r~ r'~ dm, row by row
MOMENTUM = COMPOSITE_ROW + 9  # integral r' dm
NEEDED = COMPOSITE_ROW + 12  # W
APPLIED = COMPOSITE_ROW + 18  # the wrench that the world applies
SUBTREE_ROW = COMPOSITE_ROW + 24


class InverseDynamicsDerivatives(NamedTuple):
    """dQ/dq, dQ/dq' and dQ/dq'' = M, each (..., n, n); row i belongs to the torque of joint i.

    N m or N per rad or m for `dtau_dq`; times s for `dtau_dqd`, times s^2 for `dtau_dqdd`.
    """

    dtau_dq: Array
    dtau_dqd: Array
    dtau_dqdd: Array


class ForwardDynamicsDerivatives(NamedTuple):
    """dq''/dq, dq''/dq' and dq''/dtau = M^-1, each (..., n, n); row i belongs to q''_i.

    rad/s^2 or m/s^2 per rad or m for `dqdd_dq`, times s for `dqdd_dqd`, per N m or N for
    `dqdd_dtau`.
    """

    dqdd_dq: Array
    dqdd_dqd: Array
    dqdd_dtau: Array


@inlined
def coriolis_times(subtrees, b, X):
    """C X for the subtree in row b."""
    N, p = load_rotation(subtrees, b, CORIOLIS), load_vector(subtrees, b, MOMENTUM)
    return (scale(-2, rotate(N, X[0])), scale(2.0, cross(X[0], p)))


@inlined
def coriolis_transposed_times(subtrees, b, X):
    """The angular part of C^T X for the subtree in row b; the linear part is zero."""
    N, p = load_rotation(subtrees, b, CORIOLIS), load_vector(subtrees, b, MOMENTUM)
    return scale(-2, add(rotate_back(N, X[0]), cross(X[1], p)))


@inlined
def add_coriolis(subtrees, b, Theta, w, m, c, v):
    """Add integral r~ r'~ dm = w~ (tr Theta / 2 - Theta) + m c~ v~ of a body to row b.

    The body has mass m at c, velocity v there, angular velocity w, and inertia Theta about c.
    """
    half = 0.5 * (Theta[0] + Theta[3] + Theta[5])
    x = cross(w, (half - Theta[0], -Theta[1], -Theta[2]))
    y = cross(w, (-Theta[1], half - Theta[3], -Theta[4]))
    z = cross(w, (-Theta[2], -Theta[4], half - Theta[5]))
    cv = dot(c, v)
    for i in range(3):
        subtrees[b, CORIOLIS + 3 * i] += x[i] + m * v[i] * c[0]
        subtrees[b, CORIOLIS + 3 * i + 1] += y[i] + m * v[i] * c[1]
        subtrees[b, CORIOLIS + 3 * i + 2] += z[i] + m * v[i] * c[2]
        subtrees[b, CORIOLIS + 4 * i] -= m * cv


@inlined
def subtree_recursion(parents, joints, gravity, applied, bodies, subtrees):
    """Write the sums over each body and all that it carries to `subtrees` (N + 1, SUBTREE_ROW).

    Parameters
    ----------
    parents, joints, bodies : the arrays of the spatial forward recursion, which must have run.
    applied : (N, 6) or more columns, the wrenches that the world applies, in inertial axes about
        the inertial origin.
    """
    n = parents.shape[0]
    g = (gravity[0], gravity[1], gravity[2])
    for b in range(n + 1):
        for k in range(SUBTREE_ROW):
            subtrees[b, k] = 0.0
    for k in range(n):
        i = n - 1 - k
        b = i + 1
        m, c, Theta = world_inertia(joints, bodies, i)
        w, v = load_screw(bodies, b, TWIST)
        w1, v1 = load_screw(bodies, b, TWIST + 6)
        c1 = add(v, cross(w, c))
        c2 = add3(v1, cross(w1, c), cross(w, c1))
        f = scale(m, subtract(c2, g))
        _, _, h1 = angular_momentum_dot(Theta, w, w1)
        add_inertia(subtrees, b, m, c, Theta)
        add_coriolis(subtrees, b, Theta, w, m, c, c1)
        store_vector(subtrees, b, MOMENTUM, muladd(m, c1, load_vector(subtrees, b, MOMENTUM)))
        accumulate_screw(subtrees, b, NEEDED, (add(h1, cross(c, f)), f))
        accumulate_screw(subtrees, b, APPLIED, load_screw(applied, i, 0))
        for j in range(SUBTREE_ROW):
            subtrees[parents[i] + 1, j] += subtrees[b, j]


@inlined
def add_torques(joints, bodies, subtrees, factor, torque):
    """Add `factor` times the torques that move the subtrees to `torque` (n,), without rotors."""
    for i in range(joints.shape[0]):
        W, F = load_screw(subtrees, i + 1, NEEDED), load_screw(subtrees, i + 1, APPLIED)
        S = load_screw(bodies, i + 1, SCREW)
        torque[coordinate(joints, i)] += factor * pair(S, subtract_screw(W, F))


@inlined
def accelerate(parents, joints, qdd, bodies, subtrees):
    """Add q'' to the accelerations in `bodies`, and its share of W to `subtrees`.

    It adds the accelerations a_i = a_p + S_i q''_i. As the inertia of a body is that of its subtree
    minus those of its children, W_i changes by M_i a_p + sum of M_j S_j q''_j, over joint i and all
    beyond it. WRENCH in `bodies` receives a, followed by this sum.
    """
    n = parents.shape[0]
    for k in range(12):
        bodies[0, WRENCH + k] = 0.0
    for i in range(n):
        b = i + 1
        S, a_p = load_screw(bodies, b, SCREW), load_screw(bodies, parents[i] + 1, WRENCH)
        S_qdd = scale_screw(qdd[coordinate(joints, i)], S)
        a = add_screws(a_p, S_qdd)
        store_screw(bodies, b, WRENCH, a)
        store_screw(bodies, b, WRENCH + 6, composite_times(subtrees, b, S_qdd))
        accumulate_screw(bodies, b, TWIST + 6, a)
    for k in range(n):
        b, p = n - k, parents[n - 1 - k] + 1
        total = load_screw(bodies, b, WRENCH + 6)
        accumulate_screw(bodies, p, WRENCH + 6, total)
        moved = composite_times(subtrees, b, load_screw(bodies, p, WRENCH))
        accumulate_screw(subtrees, b, NEEDED, add_screws(moved, total))


@inlined
def derivatives_recursion(parents, joints, gravity, bodies, subtrees, result):
    """Write dQ/dq and dQ/dq' to `result` (2 or more, n, n), after :func:`subtree_recursion`.

    The screws S'' in `bodies` receive those of the equation above.
    """
    n = parents.shape[0]
    g = (gravity[0], gravity[1], gravity[2])
    for i in range(n):
        b, p = i + 1, parents[i] + 1
        w1, v1 = load_screw(bodies, p, TWIST + 6)
        S2 = ad((w1, subtract(v1, g)), load_screw(bodies, b, SCREW))
        S2 = add_screws(S2, ad(load_screw(bodies, p, TWIST), load_screw(bodies, b, SCREW + 6)))
        store_screw(bodies, b, SCREW + 12, S2)
    for i in range(result.shape[1]):
        for j in range(result.shape[1]):
            result[0, i, j] = 0.0
            result[1, i, j] = 0.0
    for i in range(n):  # column i: the joints that carry body i; row i: those that carry joint i
        b = i + 1
        S = load_screw(bodies, b, SCREW)
        S1 = load_screw(bodies, b, SCREW + 6)
        S2 = load_screw(bodies, b, SCREW + 12)
        MS1 = composite_times(subtrees, b, S1)
        dW = add_screws(coriolis_times(subtrees, b, S1), composite_times(subtrees, b, S2))
        dW = add_screws(dW, coad(S, load_screw(subtrees, b, NEEDED)))
        dW_rate = muladd_screw(2.0, MS1, coriolis_times(subtrees, b, S))
        CS = coriolis_transposed_times(subtrees, b, S)
        MS = composite_times(subtrees, b, S)
        turned = coad(S, load_screw(subtrees, b, APPLIED))
        own = coordinate(joints, i)
        j = i
        while j >= 0:
            a = j + 1
            other = coordinate(joints, j)
            Sj = load_screw(bodies, a, SCREW)
            S1j = load_screw(bodies, a, SCREW + 6)
            S2j = load_screw(bodies, a, SCREW + 12)
            if j != i:
                result[0, other, own] += pair(Sj, dW)
                result[1, other, own] += pair(Sj, dW_rate)
            result[0, own, other] += dot(CS, S1j[0]) + pair(S2j, MS) - pair(Sj, turned)
            result[1, own, other] += dot(CS, Sj[0]) + 2 * pair(S1j, MS)
            j = parents[j]


# Plain arrays; a named tuple would add 0.2 us per field to every call from Python
@inlined
def inverse_dynamics_derivatives_cycle(
    parents, joints, gravity, state, applied, trig, bodies, subtrees, result
):
    """Write dQ/dq, dQ/dq' and M of one state to `result` (3, n, n).

    `state` is (3, n) or more rows; trig (2, n), bodies (n + 1, BODY_ROW) and
    subtrees (n + 1, SUBTREE_ROW) are scratch, with the motion of the base in row 0 of `bodies`.
    """
    store_trig(joints, state, trig)
    forward_recursion(parents, joints, trig, state, 0, bodies)
    subtree_recursion(parents, joints, gravity, applied, bodies, subtrees)
    fill_mass_matrix(parents, joints, bodies, subtrees, result[2])
    derivatives_recursion(parents, joints, gravity, bodies, subtrees, result)


def _batch(robot, bases, states, applied, trig, bodies, subtrees, results):
    parents, joints, gravity = robot
    for k in range(states.shape[0]):
        copy_row(bodies[0], bases[k])
        inverse_dynamics_derivatives_cycle(
            parents, joints, gravity, states[k], applied[k], trig, bodies, subtrees, results[k]
        )


_compiled_batch = compiled(_batch)


@by_robot
def inverse_dynamics_derivatives(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, *, wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> InverseDynamicsDerivatives:  # fmt: skip
    """Derivatives of the inverse dynamics: dQ/dq, dQ/dq' and dQ/dq'' = M (..., n, n).

    [K12] section 4, analytical, in O(n d) for a tree of depth d.

    Parameters
    ----------
    q, qd, qdd : (..., n), rad or m and per s^k; leading dimensions broadcast.
    wrenches, base : as in :func:`.inverse_dynamics`. The wrenches stay constant in inertial axes
        about the inertial origin while q varies; their rates are not used.

    Returns :class:`InverseDynamicsDerivatives`. Raises InputError for wrong shapes or names, NaN
    or infinity.
    """
    if base is None and wrenches is None:
        rows, trace = {"q": q, "qd": qd, "qdd": qdd}, trace_inverse_dynamics_derivatives
        batch = vector_batch(
            model, "inverse_dynamics_derivatives", partial(trace, model), rows, [("n", "n")] * 3
        )
        if batch is not None:
            return InverseDynamicsDerivatives(*batch)
    found = model_state(model, q, qd, qdd)
    n = model.n
    if found[2] < 3:
        raise InputError(f"derivatives of the inverse dynamics require {STATE_ROWS[found[2]]}")
    shape, states, applied, bases = flat_batch(model, found, wrenches, base)
    results = np.empty((len(states), 3, n, n))
    robot = (model.parents, model.joint_rows, model.gravity)
    N = model.body_count
    scratch = (np.empty((2, N)), np.zeros((N + 1, BODY_ROW)), np.empty((N + 1, SUBTREE_ROW)))
    _compiled_batch(robot, bases, states, applied, *scratch, results)
    parts = (np.ascontiguousarray(results[:, k]).reshape(*shape, n, n) for k in range(3))
    return InverseDynamicsDerivatives(*parts)


def gravity_gradient(model: MultibodyModel, q: Any) -> Array:
    """dg/dq (..., n, n) of :func:`.gravity_forces` at q (..., n), N m or N per rad or m.

    Raises InputError for wrong shapes, NaN or infinity.
    """
    zero = np.zeros(model.n)
    return inverse_dynamics_derivatives(model, q, zero, zero).dtau_dq


@by_robot
def forward_dynamics_derivatives(
    model: MultibodyModel, q: Any, qd: Any, tau: Any, *, wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> ForwardDynamicsDerivatives:  # fmt: skip
    """Derivatives of the forward dynamics: dq''/dq, dq''/dq' and dq''/dtau = M^-1 (..., n, n).

    [K12] section 4: dq'' = M^-1 (dtau - dQ).

    Parameters
    ----------
    q, qd, tau : (..., n), rad or m, per s, and N m or N; leading dimensions broadcast.
    wrenches, base : as in :func:`inverse_dynamics_derivatives`.

    Returns :class:`ForwardDynamicsDerivatives`. Raises InputError for wrong shapes or names, NaN or
    infinity, and DynamicsError if the mass matrix is singular.
    """
    if base is None and wrenches is None:
        rows, trace = {"q": q, "qd": qd, "tau": tau}, partial(_trace_with_margins, model)
        name, shapes = "forward_dynamics_derivatives", [("n", "n")] * 3
        batch = vector_batch(model, name, trace, rows, shapes, before=2, has_margins=True)
        if batch is not None:
            return ForwardDynamicsDerivatives(*batch)
    qdd = forward_dynamics(model, q, qd, tau, wrenches=wrenches, base=base)
    dq, dqd, _ = inverse_dynamics_derivatives(model, q, qd, qdd, wrenches=wrenches, base=base)
    inverse = articulated_bodies(model, q).inverse()
    by_tau = np.broadcast_to(inverse, dq.shape).copy()
    return ForwardDynamicsDerivatives(-by_tau @ dq, -by_tau @ dqd, by_tau)


def trace_inverse_dynamics_derivatives(
    model: MultibodyModel, inputs: TracedInputs = STATE_ONLY, pause: Pause = no_pause
) -> Program:
    """dQ/dq, dQ/dq' and dQ/dq'' = M as straight-line code for a base at rest.

    Inputs: "q", "qd", "qdd", each (n,), followed by those of `inputs`; wrenches (6,) stay constant
    while q varies. Results: "dtau_dq", "dtau_dqd" and "dtau_dqdd", each (n n,), row by row. `pause`
    is called now and then, see `codegen.pause`. Raises InputError for unknown bodies.
    """
    robot = traced_robot(model, state_names(3), inputs, 1, pause)
    dq, dqd, M = _traced_derivatives(robot)
    return robot.program({"dtau_dq": dq, "dtau_dqd": dqd, "dtau_dqdd": M})


def _traced_derivatives(robot: TracedRobot) -> Objects:
    """dQ/dq, dQ/dq' and M (3, n, n) for the first three rows of the state."""
    bodies = initial_bodies(robot, "spatial")
    parents, joints, gravity = robot.parents, robot.joints, robot.gravity
    subtrees = np.zeros((robot.body_count + 1, SUBTREE_ROW), dtype=object)
    result = np.zeros((3, robot.n, robot.n), dtype=object)
    forward_recursion(parents, joints, robot.trig, robot.state, 0, bodies)
    subtree_recursion(parents, joints, gravity, robot.applied, bodies, subtrees)
    fill_mass_matrix(parents, joints, bodies, subtrees, result[2])
    derivatives_recursion(parents, joints, gravity, bodies, subtrees, result)
    return result


def trace_forward_dynamics_derivatives(
    model: MultibodyModel, inputs: TracedInputs = STATE_ONLY
) -> Program:
    """dq''/dq, dq''/dq' and dq''/dtau = M^-1 as straight-line code for a base at rest.

    Inputs: those of `trace_forward_dynamics`. Results: "dqdd_dq", "dqdd_dqd" and "dqdd_dtau", each
    (n n,), row by row. Raises InputError for unknown bodies.
    """
    robot, results, _ = _traced_solution(model, inputs, no_pause)
    return robot.program(results)


def trace_solved_derivatives(
    model: MultibodyModel, inputs: TracedInputs, pause: Pause = no_pause
) -> Program:
    """The same, followed by "qdd" (n,), and by "validity" (n,), within -1 and 1 unless M is
    singular."""
    robot, results, (qdd, margins, pivots) = _traced_solution(model, inputs, pause)
    return robot.program(results | {"qdd": qdd, "validity": 1.0 - 2.0 * margins / pivots})


def _trace_with_margins(model: MultibodyModel, inputs: TracedInputs) -> Program:
    """The same with "margins" (n,) instead, which are positive unless M is singular."""
    robot, results, (_, margins, _) = _traced_solution(model, inputs, no_pause)
    return robot.program(results | {"margins": margins})


def _traced_solution(
    model: MultibodyModel, inputs: TracedInputs, pause: Pause
) -> tuple[TracedRobot, dict[str, Objects], tuple[Objects, Objects, Objects]]:
    """The robot and the derivatives; q'', the margins of the pivots of M, and the pivots."""
    robot, n = traced_robot(model, state_names(2), inputs, 1, pause), model.n
    tau = robot.more("tau", n)
    qdd, bodies, rows = traced_forward_dynamics(robot, tau, bool(inputs.wrenches))
    robot.state[2] = qdd
    dq, dqd, M = _traced_derivatives(robot)
    pivots, solution = np.zeros(n, dtype=object), np.zeros((3, n, n), dtype=object)
    factorise(M, np.zeros(n, dtype=bool), pivots)
    invert(M, pivots, solution[2])
    negative_product(solution[2], dq, solution[0])
    negative_product(solution[2], dqd, solution[1])
    names = "dqdd_dq", "dqdd_dqd", "dqdd_dtau"
    results = dict(zip(names, solution, strict=True))
    return robot, results, (qdd, traced_margins(n, bodies, rows), rows[1 : n + 1, PIVOT])
