# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse dynamics of one mechanism with loops, recorded from the functions of `loop_recursion`.

Straight-line code cannot iterate: it takes `STEPS` steps of Newton's method from the last closed
configuration, and returns with its results how far they can be trusted.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen import Program, cosine, sine
from ..recursions import generic_trig, spatial
from ..rigid import (
    STATE_ONLY,
    TracedInputs,
    initial_bodies,
    result_names,
    state_names,
    traced_inverse_dynamics,
    traced_robot,
)
from . import loop_recursion as at
from .orthogonal_columns import orthogonalise

if TYPE_CHECKING:
    from .constrained_solvers import LoopSolver

STEPS = 3  # the error is squared in each, from 1e-2 rad in a cycle: 1e-4, 1e-8, rounding
REMAINING = 1e-12  # rad or m; the largest step that may be left
SINGULAR = 1e-3  # the smallest sine of the angle between a column of A_d and those before it


def trace_constrained_inverse_dynamics(
    solver: "LoopSolver",
    order: int = 2,
    inputs: TracedInputs = STATE_ONLY,
    *,
    for_solver: bool = False,
    pause: Callable[[], object] = lambda: None,
) -> Program:
    """Q of the motors and its first `order` derivatives, by default for a base at rest.

    solver : of the mechanism, whose tree has n joints.

    Inputs: "q", "qd", "qdd", and for each order one more derivative, of the independent joints
    (dof,); those of `inputs`; and "last" (n,), q of all joints in the last closed configuration.
    Results: "tau", "tau_dot", ... (motors,); "motion" (order + 3, n) q, q', ... of all joints, the
    first row of which is the next "last"; and "closure", whose entries all lie within -1 and 1 if
    the other results are valid. NaN does not. In this order:

        the Newton step that remains in each dependent joint, over REMAINING;
        the residuals of the redundant rows, over those that the general code accepts;
        SINGULAR^2 over the square of the sine of the angle between each column of A_d, or of the
        conditions of the motors, and those before it;
        the way of each independent joint from "last", over STRIDE.

    With `for_solver`, the torques of passive joints are further inputs, "passive torque 0", ...
    (n,), and the multipliers further results, "multipliers 0", ... (m,).
    """
    tree, (plan, link_parents, links, rows, *_) = solver.model, solver.kinematics
    links = links.astype(object)
    n, dof, m = tree.n, int(plan[at.DOF]), int(plan[at.KEPT])
    robot = traced_robot(tree, state_names(order + 3), inputs, order + 1, pause, count=dof)
    last = robot.more("last", n)
    independent, dependent = (
        plan[begin : begin + size]
        for begin, size in ((plan[at.INDEPENDENT], dof), (plan[at.DEPENDENT], m))
    )
    size = max(n + m, tree.body_count, at.REPORT_COLUMNS)
    vectors = np.zeros((at.VECTORS, size), dtype=object)
    if for_solver:
        for k in range(order + 1):
            vectors[at.PASSIVE_TORQUE + k, :n] = robot.more(f"passive torque {k}", n)
    matrices = np.zeros((at.MATRICES, size, size), dtype=object)
    wrenches = np.zeros((len(rows), at.WRENCHES_ROW), dtype=object)
    w = at.work(plan, matrices, vectors)
    at_rest = robot._replace(parents=link_parents, base=None)
    bodies, state = initial_bodies(at_rest, "spatial"), robot.state

    motion = np.zeros((5, n), dtype=object)
    motion[:, independent] = state[:, :dof]
    motion[0, dependent] = last[dependent]
    for _ in range(STEPS + 1):
        trig = generic_trig(links, motion[0], sine, cosine)
        spatial.forward_recursion(link_parents, links, trig, motion, 0, bodies)
        at.place_rows(plan, rows, bodies, wrenches, w)
        at.fill_jacobian(0, plan, links, bodies, wrenches, w)
        factors = orthogonalise(matrices[0][:m, dependent])
        step = factors.solve(w.residual[:m])
        closed = motion[0].copy()
        motion[0, dependent] -= step
    motion[0] = closed
    opening = solver.system.consistency_tolerance
    closure = [*(step / REMAINING), *(w.residual[m : len(rows)] / opening)]

    for k in range(1, order + 3):
        if k > 1:
            spatial.forward_recursion(link_parents, links, trig, motion, max(k - 2, 0), bodies)
            at.move_rows(k - 1, plan, rows, bodies, wrenches)
        at.rate_defect(k, plan, bodies, wrenches, w)
        w.step[:m] = factors.solve(w.residual[:m])
        at.add_rate(k, link_parents, links, plan, motion, bodies, w)
    for k in range(1, order + 1):
        at.fill_jacobian(k, plan, links, bodies, wrenches, w)

    joints: Any = robot.joints
    trig = generic_trig(joints, motion[0], sine, cosine)
    moving = robot._replace(state=motion, trig=trig)
    required, _ = traced_inverse_dynamics(moving, "body", order, bool(inputs.wrenches))
    vectors[at.TORQUE : at.TORQUE + order + 1, :n] = required
    motors = factors
    if plan[at.LEAST] == at.OWN_FACTORS:
        passive = plan[at.PASSIVE]
        motors = orthogonalise(matrices[0][:m, plan[passive : passive + m]])
    elif plan[at.LEAST] == at.LEAST_NORM:
        at.least_norm_system(plan, w.jacobians, w.motor_factors)
        motors = orthogonalise(w.motor_factors[: m + n, : m + n])
    torques = np.zeros((order + 1, plan[at.PASSIVE] - plan[at.ACTUATED]), dtype=object)
    for k in range(order + 1):
        count = at.motor_conditions(k, plan, w)
        w.step[:count] = motors.solve_transposed(w.rhs[:count])
        at.drive_motors(k, plan, w, torques)

    for each in (factors,) if motors is factors else (factors, motors):
        closure += list(SINGULAR**2 * (each.squares * each.inverse_squares))
    closure += list((state[0, :dof] - last[independent]) / at.STRIDE)
    results = dict(zip(result_names(order), torques, strict=True))
    results |= {"motion": motion[: order + 3], "closure": closure}
    if for_solver:
        results |= {f"multipliers {k}": vectors[at.MULTIPLIER + k, :m] for k in range(order + 1)}
    return robot.program(results)
