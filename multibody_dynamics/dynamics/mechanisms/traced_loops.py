# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Dynamics of one mechanism with loops, recorded from the functions of `loop_recursion`.

Straight-line code cannot iterate: it takes `STEPS` steps of Newton's method from the last closed
configuration, and returns with its results how far they can be trusted. Every program has the input
"last" (n,), q of all joints in that configuration, and the results "motion" (k, n), q, q', ... of
all joints as far as they are needed, whose first row is the next "last"; and "closure", whose
entries all lie within -1 and 1 if the other results are valid. NaN does not. In this order:

    the residuals of all rows, the redundant ones last, over those that the general code accepts;
    the Newton step that remains in each dependent joint, over REMAINING;
    the way of each dependent joint from "last", over LONGEST_WAY: not into another assembly mode;
    SINGULAR^2 over the square of the sine of the angle between each column of A_d, or of the
    conditions of the motors, and those before it;
    the way of each independent joint from "last", over its stride;
    the angle theta of each ball, over the LARGEST_PITCH of :mod:`.ball_charts`.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen import Program, cosine, sine
from ..model import MultibodyModel
from ..recursions import generic_trig, momentum_pass, spatial
from ..rigid import (
    STATE_ONLY,
    TracedInputs,
    TracedRobot,
    initial_bodies,
    mass_matrix_recursion,
    result_names,
    state_names,
    traced_inverse_dynamics,
    traced_robot,
)
from . import loop_recursion as at
from .ball_charts import LARGEST_PITCH
from .orthogonal_columns import Objects, OrthogonalColumns, orthogonalise

if TYPE_CHECKING:
    from .constrained_solvers import LoopSolver

STEPS = 3  # the error is squared in each, from 1e-2 rad in a cycle: 1e-4, 1e-8, rounding
REMAINING = 1e-12  # rad or m; the largest step that may be left
SINGULAR = 1e-3  # the smallest sine of the angle between a column of A_d and those before it


class RecordedLoops:
    """The loops of a mechanism over expressions. They are closed on the tree of their links alone,
    and for a base at rest.

    names : of the rows of the state that are inputs, each (dof,). tree : in place of that of the
    solver, which may be exchanged meanwhile. motion : (5, n) of all joints.
    """

    def __init__(
        self,
        solver: "LoopSolver",
        names: Sequence[str],
        inputs: TracedInputs = STATE_ONLY,
        wrench_rows: int = 1,
        pause: Callable[[], object] = lambda: None,
        tree: MultibodyModel | None = None,
    ) -> None:
        tree = tree or solver.model
        (plan, parents, links, rows, *_) = solver.kinematics
        n, dof, m = tree.n, int(plan[at.DOF]), int(plan[at.KEPT])
        self.n, self.m, self.plan, self.inputs = n, m, plan, inputs
        self.robot = traced_robot(tree, names, inputs, wrench_rows, pause, count=dof)
        self.independent, self.dependent = (
            plan[begin : begin + size]
            for begin, size in ((plan[at.INDEPENDENT], dof), (plan[at.DEPENDENT], m))
        )
        size = max(n + m, tree.body_count, at.REPORT_COLUMNS)
        self.vectors: Objects = np.zeros((at.VECTORS, size), dtype=object)
        self.vectors[at.SPRINGS : at.SPRINGS + 3, :n] = solver.springs
        self.matrices: Objects = np.zeros((at.MATRICES, size, size), dtype=object)
        self._links = parents, links.astype(object), plan
        self._bodies = initial_bodies(self.robot._replace(parents=parents, base=None), "spatial")
        self.work = at.work(plan, self.matrices, self.vectors)
        self._rows, self._opening = rows, solver.system.consistency_tolerance
        self._strides = solver.strides
        self._wrenches = np.zeros((len(rows), at.WRENCHES_ROW), dtype=object)
        self._last = self.robot.more("last", n)
        self.motion: Objects = np.zeros((5, n), dtype=object)
        self.motion[:, self.independent] = self.robot.state[:, :dof]
        self._balls = solver.system.balls
        for kept in (self.dependent, self._balls[:, 0]):
            self.motion[0, kept] = self._last[kept]

    def close(self) -> OrthogonalColumns:
        """Close the loops; returns the factors of A_d."""
        parents, links, plan = self._links
        motion, bodies, w = self.motion, self._bodies, self.work
        for _ in range(STEPS + 1):
            self._trig = generic_trig(links, motion[0], sine, cosine)
            spatial.forward_recursion(parents, links, self._trig, motion, 0, bodies)
            at.place_rows(plan, self._rows, bodies, self._wrenches, w)
            at.fill_jacobian(0, plan, links, bodies, self._wrenches, w)
            self.factors = orthogonalise(self.matrices[0][: self.m, self.dependent])
            step = self.factors.solve(w.residual[: self.m])
            closed = motion[0].copy()
            motion[0, self.dependent] -= step
        motion[0] = closed
        way = closed[self.dependent] - self._last[self.dependent]
        residuals = w.residual[: len(self._rows)] / self._opening
        self._closure = [*residuals, *(step / REMAINING), *(way / at.LONGEST_WAY)]
        return self.factors

    def move(self, order: int, rates: int) -> None:
        """q' ... q^(order) of all joints, A' ... A^(rates), after :meth:`close`."""
        parents, links, plan = self._links
        motion, bodies, wrenches, w = self.motion, self._bodies, self._wrenches, self.work
        for k in range(1, order + 1):
            if k > 1:
                spatial.forward_recursion(parents, links, self._trig, motion, k - 2, bodies)
                at.move_rows(k - 1, plan, self._rows, bodies, wrenches)
            at.rate_defect(k, plan, bodies, wrenches, w)
            w.step[: self.m] = self.factors.solve(w.residual[: self.m])
            at.add_rate(k, parents, links, plan, motion, bodies, w)
        for k in range(1, rates + 1):
            at.fill_jacobian(k, plan, links, bodies, wrenches, w)

    def tree(self) -> TracedRobot:
        """The whole tree, in the motion of all its joints."""
        joints: Any = self.robot.joints
        trig = generic_trig(joints, self.motion[0], sine, cosine)
        return self.robot._replace(state=self.motion, trig=trig)

    def compute_torques(self, order: int) -> None:
        """Q and its first `order` derivatives of the tree with its passive springs, without its
        constraints."""
        has_wrenches = bool(self.inputs.wrenches)
        torques, _ = traced_inverse_dynamics(self.tree(), "body", order, has_wrenches)
        self.vectors[at.TORQUE : at.TORQUE + order + 1, : self.n] = torques
        for k in range(order + 1):
            at.load_springs(k, self.plan, self.motion, self.work, self.vectors[at.TORQUE + k])

    def reduced(self, row: Objects) -> tuple[Objects, Objects]:
        """G^T `row` (dof,) of a row (n,) of the tree, and y (m,) of A_d^T y = row_d."""
        y = self.factors.solve_transposed(row[self.dependent])
        return row[self.independent] - y @ self.matrices[0][: self.m, self.independent], y

    def program(
        self,
        rows: int,
        results: dict[str, Objects],
        further: dict[str, Objects] | None = None,
        *,
        others: Sequence[OrthogonalColumns] = (),
    ) -> Program:
        """With the first `rows` rows of the motion and "closure" behind the results, and `further`
        ones behind these; `others` are factors that count besides those of A_d."""
        closure = list(self._closure)
        for each in (self.factors, *others):
            closure += list(SINGULAR**2 * (each.squares * each.inverse_squares))
        way = self.motion[0, self.independent] - self._last[self.independent]
        pitch = self.motion[0, self._balls[:, 0] + 2]
        closure += [*(way / self._strides), *(pitch / LARGEST_PITCH)]
        own = {"motion": self.motion[:rows], "closure": closure}
        return self.robot.program(results | own | (further or {}))


def trace_constrained_inverse_dynamics(
    solver: "LoopSolver",
    order: int = 2,
    inputs: TracedInputs = STATE_ONLY,
    *,
    tree: MultibodyModel | None = None,
    for_solver: bool = False,
    pause: Callable[[], object] = lambda: None,
) -> Program:
    """Q of the motors and its first `order` derivatives, by default for a base at rest.

    solver : of the mechanism, whose tree has n joints; `tree`: in place of its own.

    Inputs: "q", "qd", "qdd", and for each order one more derivative, of the independent joints
    (dof,); those of `inputs`; and "last". Results: "tau", "tau_dot", ... (motors,); "motion"
    (order + 3, n) and "closure".

    With `for_solver`, the torques of passive joints are further inputs, "passive torque 0", ...
    (n,), and the multipliers further results, "multipliers 0", ... (m,).
    """
    loops = RecordedLoops(solver, state_names(order + 3), inputs, order + 1, pause, tree)
    return _with_torques(loops, order, order + 3, for_solver=for_solver)


def trace_constrained_gravity(solver: "LoopSolver") -> Program:
    """Q of the motors that hold the mechanism at rest. Inputs: "q" (dof,) and "last"; results:
    "tau" (motors,), "motion" (n,) and "closure"."""
    return _with_torques(RecordedLoops(solver, state_names(1)), 0, 1)


def _with_torques(
    loops: RecordedLoops, order: int, rows: int, *, for_solver: bool = False
) -> Program:
    plan, vectors, w, n, m = loops.plan, loops.vectors, loops.work, loops.n, loops.m
    if for_solver:
        for k in range(order + 1):
            vectors[at.PASSIVE_TORQUE + k, :n] = loops.robot.more(f"passive torque {k}", n)
    motors = loops.close()
    loops.move(order + 2, order)
    loops.compute_torques(order)
    if plan[at.LEAST] == at.OWN_FACTORS:
        passive = plan[at.PASSIVE]
        motors = orthogonalise(loops.matrices[0][:m, plan[passive : passive + m]])
    elif plan[at.LEAST] >= at.LEAST_NORM:
        at.least_norm_system(plan, w.jacobians, w.motor_factors)
        motors = orthogonalise(w.motor_factors[: m + n, : m + n])
    torques = np.zeros((order + 1, plan[at.PASSIVE] - plan[at.ACTUATED]), dtype=object)
    for k in range(order + 1):
        count = at.motor_conditions(k, plan, w)
        w.step[:count] = motors.solve_transposed(w.rhs[:count])
        at.drive_motors(k, plan, w, torques)
    results = dict(zip(result_names(order), torques, strict=True))
    further = {f"multipliers {k}": vectors[at.MULTIPLIER + k, :m] for k in range(order + 1)}
    others = () if motors is loops.factors else (motors,)
    return loops.program(rows, results, further if for_solver else None, others=others)


def trace_constrained_momentum(solver: "LoopSolver") -> Program:
    """p and beta of the independent joints, as of :class:`.ConstrainedMomentumSolver`. Inputs: "q",
    "qd" (dof,) and "last"; results: "momentum" and "bias" (dof,), "motion" (2, n), "closure"."""
    loops = RecordedLoops(solver, state_names(2))
    loops.close()
    loops.move(2, 1)
    _, parents, joints, gravity, motion, trig, *_ = loops.tree()
    passes = np.zeros((len(parents) + 1, momentum_pass.MOMENTUM_ROW), dtype=object)
    p, beta, _ = of_tree = np.zeros((3, loops.n), dtype=object)
    momentum_pass.momentum_recursion(parents, joints, gravity, trig, motion, passes, of_tree)
    at.load_springs(0, loops.plan, loops.motion, loops.work, beta)
    momentum, y = loops.reduced(p)
    beta += y @ loops.matrices[1][: loops.m, : loops.n]
    return loops.program(2, {"momentum": momentum, "bias": loops.reduced(beta)[0]})


def trace_constrained_forward_dynamics(
    solver: "LoopSolver", inputs: TracedInputs = STATE_ONLY
) -> Program:
    """q'' of the independent joints from the torques of the motors, for a base at rest.

    Inputs: "q", "qd" (dof,), those of `inputs`, "last" and "tau" (motors,); results: "qdd" (dof,),
    "motion" (2, n) and "closure".
    """
    loops = RecordedLoops(solver, state_names(2), inputs)
    n, m, plan, A = loops.n, loops.m, loops.plan, loops.matrices[0]
    actuated = plan[plan[at.ACTUATED] : plan[at.PASSIVE]]
    torque = np.zeros(n, dtype=object)
    torque[actuated] = loops.robot.more("tau", len(actuated))
    loops.close()
    loops.move(2, 0)
    loops.compute_torques(0)
    tree, M = loops.tree(), np.zeros((n, n), dtype=object)
    bodies = initial_bodies(tree, "spatial")
    spatial.forward_recursion(tree.parents, tree.joints, tree.trig, tree.state, 0, bodies)
    mass_matrix_recursion(tree.parents, tree.joints, bodies, bodies[:, at.WRENCH :], M)
    G = np.zeros((n, len(loops.independent)), dtype=object)
    for c, i in enumerate(loops.independent):
        G[i, c] = 1.0
        G[loops.dependent, c] = -loops.factors.solve(A[:m, i])
    left = loops.reduced(torque - loops.vectors[at.TORQUE, :n])[0]
    return loops.program(2, {"qdd": orthogonalise(G.T @ M @ G).solve(left)})
