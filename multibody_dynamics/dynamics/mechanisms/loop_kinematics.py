# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motions and Jacobians of the bodies of a robot with or without loops, for compiled code.

A recursion over a tree that calls these functions serves both. It computes in the n coordinates s
of the robot; with loops, these are the actuated joints, and the N joints of the tree follow. With
G = dq/ds, whose derivatives come from A G = 0 in :mod:`.loop_recursion`,

    A_d G_d^(k) = -sum_j C(k, j) A^(j) G^(k-j)    with G_d^(k) = 0 on the right, and G_s = 1
    q^(k+1) = q^(k+1) at s^(k+1) = 0, + G s^(k+1)
    (J G)^(k) = sum_j C(k, j) J^(j) G^(k-j)       for the Jacobian J of anything on the tree

`loops` is the second part of :func:`tree_and_loops`. It is empty without loops, which decides, when
a caller is compiled, what these functions do.
"""

import numpy as np

from ..core import Array, inlined
from ..model import MultibodyModel
from ..recursions import pose_recursion, store_trig
from . import loop_recursion as at
from .closed_chain_model import ClosedChainModel
from .constrained_solvers import ConstrainedInverseDynamicsSolver

forward_recursion = at.forward_recursion
approach, move_rows, find_rate, settle = at.approach, at.move_rows, at.find_rate, at.settle
fill_jacobian, fill_reduction, work = at.fill_jacobian, at.fill_reduction, at.work
DOF, KEPT, CLOSED, TRIG = at.DOF, at.KEPT, at.CLOSED, at.TRIG
INDEPENDENT, START, REDUCTION, BINOMIAL = at.INDEPENDENT, at.START, at.REDUCTION, at.BINOMIAL


def tree_and_loops(model: MultibodyModel, rows: int) -> tuple[MultibodyModel, tuple[Array, ...]]:
    """The tree whose recursion moves the bodies of a robot, and the arrays with which the functions
    below close its loops, including memory for Jacobians of `rows` rows; () without loops."""
    if not isinstance(model, ClosedChainModel):
        return model, ()
    solver = ConstrainedInverseDynamicsSolver(
        model.system, model.assembled, independent=model.joint_names
    )
    return model.tree, (*solver.kinematics, np.zeros((4, rows, model.body_count)))


@inlined
def place_joints(loops, parents, joints, state, trig, bodies):
    """Write the positions of all joints at the coordinates state[0] to `trig`, with loops also the
    poses of all bodies; False if loops cannot be closed there. A far position is approached on a
    straight line from the assembled one."""
    if len(loops) == 0:
        store_trig(joints, state, trig)
        return True
    plan, link_parents, links, rows, motion, link_bodies, wrenches, matrices, vectors, _ = loops
    w = work(plan, matrices, vectors)
    for c in range(plan[DOF]):
        motion[0, plan[plan[INDEPENDENT] + c]] = state[0, c]
    if not approach(
        link_parents, links, plan, rows, state, motion, vectors[TRIG:], link_bodies, wrenches, w
    ):
        return False
    settle(motion.shape[1], motion, 0, w)
    plan[CLOSED] = 1
    store_trig(joints, motion, trig)
    pose_recursion(parents, joints, trig, motion, bodies)
    return True


@inlined
def return_to_start(loops):
    """Let the next position be approached from the assembled one, however near the last one is."""
    if len(loops) != 0:
        plan, _, _, _, motion, _, _, matrices, vectors, _ = loops
        settle(motion.shape[1], vectors, START, work(plan, matrices, vectors))
        plan[CLOSED] = 0


@inlined
def move_bodies(k, loops, parents, joints, state, trig, bodies):
    """Twists of all bodies to order k, with s^(k+1) = 0, from s' ... s^(k) in `state`; after those
    of lower orders, and after :func:`rate_found` for each of these."""
    if len(loops) == 0:
        forward_recursion(parents, joints, trig, state, max(k - 1, 0), bodies)
    else:
        plan, link_parents, links, rows, motion, link_bodies, wrenches, matrices, vectors, _ = loops
        for i in range(motion.shape[1]):
            motion[k + 1, i] = 0.0
        order = max(k - 1, 0)
        forward_recursion(link_parents, links, vectors[TRIG:], motion, order, link_bodies)
        if k > 0:
            move_rows(k, plan, rows, link_bodies, wrenches)
        find_rate(
            k + 1, link_parents, links, plan, rows, motion, link_bodies, wrenches,
            work(plan, matrices, vectors),
        )  # fmt: skip
        forward_recursion(parents, joints, trig, motion, order, bodies)


@inlined
def rate_found(k, loops, state):
    """Take s^(k), k > 0, from `state`."""
    if len(loops) != 0:
        plan, _, _, _, motion, _, _, matrices, _, _ = loops
        G = matrices[REDUCTION]
        for i in range(motion.shape[1]):
            for c in range(plan[DOF]):
                motion[k, i] += G[i, c] * state[k, c]


@inlined
def jacobian_rows(k, loops, A):
    """Where to write J^(k) for :func:`reduce_jacobian`: (rows, N), or A^(k) without loops."""
    if len(loops) == 0:
        return A[k]
    return loops[9][k]


@inlined
def reduce_jacobian(k, loops, joints, bodies, A):
    """A^(k) = (J G)^(k), where A is (orders, rows, n), after lower orders. Without loops, G = 1."""
    if len(loops) != 0:
        plan, _, links, _, _, link_bodies, wrenches, matrices, vectors, J = loops
        G, w = matrices[REDUCTION:], work(plan, matrices, vectors)
        if k > 0:  # closing the loops leaves A
            fill_jacobian(k, plan, links, link_bodies, wrenches, w)
        fill_reduction(k, plan, G, w)
        for r in range(A.shape[1]):
            for c in range(plan[DOF]):
                entry = 0.0
                for j in range(k + 1):
                    for i in range(J.shape[2]):
                        entry += BINOMIAL[k, j] * J[j, r, i] * G[k - j, i, c]
                A[k, r, c] = entry
