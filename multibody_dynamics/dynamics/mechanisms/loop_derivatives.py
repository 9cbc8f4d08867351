# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of robots with loops: of the motion of all joints, and of their dynamics.

The loops determine the N joints of the tree, q = f(s), by the n coordinates s, hence q' = G s' with
G = df/ds. Variation and differentiation commute, so that variations of s, s', s'' change the motion
of the tree by the Leibniz rule:

    dq   = G ds
    dq'  = G ds' + G' ds
    dq'' = G ds'' + 2 G' ds' + G'' ds

The torques tau of the tree change with its motion as in [K12] section 4. Those that the motors and
passive joints do not supply are held by the loops, T = tau - tau_given = A^T lambda, and do no
work: G^T T = 0. Since A G = 0, dG^T A^T = -G^T dA^T, and the generalised torques Q = G^T tau of s
change by

    dQ = G^T (dtau - dA^T lambda)

where dA is A' at the velocities G ds. For the forward dynamics, with M = G^T M_tree G,
ds'' = M^-1 (G_a^T dtau_a - dQ).
"""

from math import comb
from typing import Any, NamedTuple

import numpy as np

from ..core import (
    STATE_ROWS,
    Array,
    BoundCall,
    CheckedRows,
    answers,
    compiled,
    inlined,
    times,
    transposed,
)
from ..recursions import coordinate
from ..rigid import (
    SUBTREE_ROW,
    BaseMotion,
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    Wrenches,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    inverse_dynamics_derivatives_cycle,
    mass_matrix_factors,
    passive_slopes,
)
from . import loop_recursion as at
from .closed_chain_model import ClosedChainModel, at_states
from .constrained_solvers import ConstrainedForwardDynamicsSolver


class LoopTangents(NamedTuple):
    """The motion q, q', q'' of the tree, 3 of (..., N); G, G', G'', 3 of (..., N, n); and H = dG/ds
    (..., N, n, n), which is symmetric in the last two."""

    motion: list[Array]
    G: list[Array]
    H: Array

    def pulled_back(self, bars: Array) -> Array:
        """The gradient (..., 3, n) with respect to s, s', s'' of a function of the tree's motion
        whose gradient with respect to q, q', q'' is `bars` (..., 3, N)."""
        back = [transposed(each) for each in self.G]
        rows = [
            sum(comb(k, i) * times(back[k - i], bars[..., k, :]) for k in range(i, 3))
            for i in range(3)
        ]
        return np.stack(rows, axis=-2)


def loop_tangents(model: ClosedChainModel, q: Any, qd: Any, qdd: Any) -> LoopTangents:
    """The derivatives at q, q', q'' (..., n) of the motors, rad or m and per s^k.

    Raises InputError for wrong shapes, NaN or infinity, and DynamicsError for a position that the
    loops do not allow.
    """
    alone = np.asarray(q, dtype=np.float64)[..., None, :], np.eye(model.n)
    _, each = model.reduction(*alone)  # G' at the speed of one motor alone
    motion, G = model.tree_motion(q, qd, qdd), model.reduction(q, qd, qdd)
    return LoopTangents(motion, G, np.moveaxis(each, -3, -1))


invert, negative_product = mass_matrix_factors.invert, mass_matrix_factors.negative_product
fill_reduction, reduce_row, withhold = at.fill_reduction, at.reduce_row, at.withhold
fill_jacobian, forward_recursion = at.fill_jacobian, at.forward_recursion
move, move_rows, work = at.move, at.move_rows, at.work
add_product, add_reduced = at.add_product, at.add_reduced
forward_dynamics, spatial_cycle, BINOMIAL = at.forward_dynamics, at.spatial_cycle, at.BINOMIAL
load_springs, SPRINGS = at.load_springs, at.SPRINGS
DOF, KEPT, JOINTS, SIDES = at.DOF, at.KEPT, at.JOINTS, at.SIDES
INDEPENDENT, ACTUATED, PASSIVE = at.INDEPENDENT, at.ACTUATED, at.PASSIVE
REDUCTION, INERTIA = at.REDUCTION, at.INERTIA
TORQUE, PASSIVE_TORQUE, TRIG, TREE_TRIG = at.TORQUE, at.PASSIVE_TORQUE, at.TRIG, at.TREE_TRIG


@inlined
def bends_loops(c, plan, links):
    """Whether A depends on the independent joint c: whether it is on the path of a row."""
    own, sides = plan[plan[INDEPENDENT] + c], plan[SIDES]
    for r in range(plan[KEPT]):
        for e in range(plan[sides + 4 * r + 2], plan[sides + 4 * r + 3], 2):
            if coordinate(links, plan[e]) == own:
                return True
    return False


# Plain arrays; a named tuple would add 0.2 us per field to every call from Python
def _inverse(
    parents, joints, gravity, plan, link_parents, links, rows, applied, motion, bodies, link_bodies,
    wrenches, matrices, vectors, state, subtrees, of_tree, columns, result,
):  # fmt: skip
    """Write dQ/ds, dQ/ds' and dQ/ds'' = M to `result` (3, dof, dof); False where loops stay open.

    state : (5, dof) s, s', s'', and zeros. of_tree (3, n, n) and columns (n, dof) are scratch. The
    other arrays are those of :mod:`.loop_recursion`; the row PASSIVE_TORQUE of `vectors` is given.
    """
    w, m, n, dof = work(plan, matrices, vectors), plan[KEPT], plan[JOINTS], plan[DOF]
    G, trig, torque = matrices[REDUCTION:], vectors[TREE_TRIG:], vectors[TORQUE:]
    if not move(
        4, link_parents, links, plan, rows, state, motion, vectors[TRIG:], link_bodies, wrenches, w
    ):
        withhold(result, 0)
        return False
    spatial_cycle(parents, joints, gravity, 0, motion, applied, trig, bodies, torque)
    inverse_dynamics_derivatives_cycle(
        parents, joints, gravity, motion, applied, trig, bodies, subtrees, of_tree
    )
    load_springs(0, plan, motion, w, torque[0])
    for p in range(plan[PASSIVE], plan[SIDES]):
        i = plan[p]
        of_tree[0, i, i] += vectors[SPRINGS, i]
        of_tree[1, i, i] += vectors[SPRINGS + 2, i]
    for k in range(3):
        fill_reduction(k, plan, G, w)
    for k in range(3):  # ds^(k) changes q^(j) by C(j, k) G^(j - k) ds^(k)
        result[k] = 0.0
        columns[:] = 0.0
        for j in range(k, 3):
            add_product(plan, BINOMIAL[j, k], of_tree[j], G[j - k], columns)
        add_reduced(plan, 1.0, columns, G[0], result[k])
    for i in range(n):
        torque[0, i] -= vectors[PASSIVE_TORQUE, i]
    reduce_row(plan, torque[0], w.residual, w)  # leaves lambda in `w.step`
    columns[:] = 0.0
    for c in range(dof):
        if not bends_loops(c, plan, links):
            continue
        for i in range(n):
            motion[1, i] = G[0, i, c]
        forward_recursion(link_parents, links, vectors[TRIG:], motion, 0, link_bodies)
        move_rows(1, plan, rows, link_bodies, wrenches)
        fill_jacobian(1, plan, links, link_bodies, wrenches, w)
        for i in range(n):
            for r in range(m):
                columns[i, c] += w.jacobians[1, r, i] * w.step[r]
    add_reduced(plan, -1.0, columns, G[0], result[0])
    for i in range(n):
        motion[1, i] = 0.0
        for c in range(dof):
            motion[1, i] += G[0, i, c] * state[1, c]
    return True


def _forward(
    parents, joints, gravity, plan, link_parents, links, rows, states, applied, motions, bodies,
    link_bodies, wrenches, matrices, vectors, torques, results, state, subtrees, of_tree, columns,
    inverse, by_state, by_torque,
):  # fmt: skip
    """Write s'' to `results`, ds''/ds and ds''/ds' to `by_state` (2, dof, dof), and ds''/dtau to
    `by_torque` (1, dof, motors); 1, or 0 where that fails."""
    withhold(by_state, 0)
    withhold(by_torque, 0)
    if forward_dynamics(
        parents, joints, gravity, plan, link_parents, links, rows, states, applied, motions, bodies,
        link_bodies, wrenches, matrices, vectors, torques, results,
    ) == 0:  # fmt: skip
        return 0
    w, dof = work(plan, matrices, vectors), plan[DOF]
    invert(w.motor_factors, w.row_size[:dof], matrices[INERTIA])
    for c in range(dof):
        state[0, c], state[1, c], state[2, c] = states[0, 0, c], states[0, 1, c], results[0, 0, c]
    if not _inverse(
        parents, joints, gravity, plan, link_parents, links, rows, applied, motions[0], bodies,
        link_bodies, wrenches, matrices, vectors, state, subtrees, of_tree, columns, inverse,
    ):  # fmt: skip
        return 0
    G, M_inverse = matrices[REDUCTION], matrices[INERTIA]
    for k in range(2):
        negative_product(M_inverse, inverse[k], by_state[k])
    for a in range(plan[ACTUATED], plan[PASSIVE]):
        by_torque[0, :, a - plan[ACTUATED]] = 0.0
        for d in range(plan[DOF]):
            if G[plan[a], d] != 0.0:
                for r in range(plan[DOF]):
                    by_torque[0, r, a - plan[ACTUATED]] += M_inverse[r, d] * G[plan[a], d]
    return 1


_inverse_cycle, _forward_cycle = compiled(_inverse), compiled(_forward)
inlined(_inverse)


class ConstrainedForwardDynamicsDerivativesSolver(ConstrainedForwardDynamicsSolver):
    """dq''/dq, dq''/dq' and dq''/dtau of the independent joints, for the control cycle: compiled.

    >>> solver = ConstrainedForwardDynamicsDerivativesSolver(system, q)
    >>> dqdd_dq, dqdd_dqd, dqdd_dtau = solver(q, qd, tau)

    The results are views, (dof, dof), (dof, dof) and (dof, motors), in the units of
    :class:`.ForwardDynamicsDerivatives`; `result` is q''. Applied wrenches stay constant in
    inertial axes about the inertial origin. In other respects as its base class.
    """

    def _cycle(self) -> tuple[BoundCall, tuple[Array, ...]]:
        n, dof, count = self.model.n, self.dof, len(self.actuated)
        state, inverse = np.zeros((5, dof)), np.zeros((3, dof, dof))
        by_state, by_torque = np.zeros((2, dof, dof)), np.zeros((1, dof, count))
        subtrees = np.zeros((self.model.body_count + 1, SUBTREE_ROW))
        scratch = state, subtrees, np.zeros((3, n, n)), np.zeros((n, dof))
        self._inverse = BoundCall(
            _inverse_cycle, *self._arguments, self._applied, self.motion, *self._scratch, *scratch,
            inverse,
        )  # fmt: skip
        self._checked_motion = CheckedRows(STATE_ROWS[:3], self.independent, state[:3])
        self.inverse_results = tuple(inverse)
        self.derivatives: tuple[Array, ...] = *by_state, by_torque[0]
        given = *self._given_to_cycle, *scratch, inverse, by_state, by_torque
        return BoundCall(_forward_cycle, *given), self.derivatives

    def __call__(self, q: Any, qd: Any, tau: Any) -> tuple[Array, ...]:  # type: ignore[override]
        """dq''/dq, dq''/dq' and dq''/dtau, for q, q' (dof,) and tau (motors,).

        Raises the errors of the base class, and leaves NaN after a DynamicsError.
        """
        super().__call__(q, qd, tau)
        return self.derivatives

    def inverse(self, q: Any, qd: Any, qdd: Any) -> tuple[Array, ...]:
        """dQ/dq, dQ/dq' and dQ/dq'' = M (dof, dof), as views, of the torques Q at the independent
        joints that cause their motion q, q', q'' (dof,). Raises the same errors."""
        self._checked_motion.take((q, qd, qdd))
        self.passive_torque[self.system.actuated_indices] = 0.0
        if not self._inverse():
            raise self.failure()
        return self.inverse_results


@answers(inverse_dynamics_derivatives, ClosedChainModel)
def _inverse_derivatives(
    model: ClosedChainModel, q: Any, qd: Any, qdd: Any, *, wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> InverseDynamicsDerivatives:  # fmt: skip
    solver = model.solver(ConstrainedForwardDynamicsDerivativesSolver)
    rows, results = {"q": q, "qd": qd, "qdd": qdd}, solver.inverse_results
    found = at_states(model, solver, solver.inverse, results, rows, wrenches, base)
    return InverseDynamicsDerivatives(*found)


@answers(passive_slopes, ClosedChainModel)
def _passive_slopes(model: ClosedChainModel, q: Any) -> Array:
    if not model.has_passive_springs:
        return np.zeros((2, model.n, model.n))
    still = np.zeros(model.n)
    unloaded = model.with_gravity((0.0, 0.0, 0.0))
    return np.stack(inverse_dynamics_derivatives(unloaded, q, still, still)[:2])


@answers(forward_dynamics_derivatives, ClosedChainModel)
def _forward_derivatives(
    model: ClosedChainModel, q: Any, qd: Any, tau: Any, *, wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> ForwardDynamicsDerivatives:  # fmt: skip
    solver = model.solver(ConstrainedForwardDynamicsDerivativesSolver)
    rows, results = {"q": q, "qd": qd, "tau": tau}, solver.derivatives
    found = at_states(model, solver, solver, results, rows, wrenches, base)
    return ForwardDynamicsDerivatives(*found)
