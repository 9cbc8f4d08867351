# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse dynamics of robots with balls and free joints for the control cycle, compiled.

An :class:`.InverseDynamicsSolver` computes Q, Q' and Q'' of :attr:`.MultiDofModel.tree`. Before it,
the body-fixed rates become those of the tree (:mod:`.local_coordinates`); after it, the torques
along the tree's coordinates become those along the screws of the joints.
"""

import numpy as np

from ..core import Array, IndependentCopies, InputError, compiled
from ..rigid import InverseDynamicsSolver
from .local_coordinates import compiled_pose, compiled_rates
from .motion_subspaces import BodyFixedJoint, CompositeJoint
from .multi_dof import MultiDofModel

OWN, SIZE, HELD, HELD_SIZE, LOCAL, TERM, TERM_COUNT = range(7)  # columns of a link


def _enter(links, brackets, poses, state, matrices, after, tree_state):
    """The state (5, N) of the tree, and B, B', ... (4, 6, 6) of each BodyFixedJoint."""
    for i in range(links.shape[0]):
        own, k, local = links[i, OWN], links[i, SIZE], links[i, LOCAL]
        held, size = links[i, HELD], links[i, HELD_SIZE]
        if size == 0:
            for r in range(5):
                for j in range(k):
                    tree_state[r, local + j] = state[r, own + j]
        else:
            terms = brackets[links[i, TERM] : links[i, TERM] + links[i, TERM_COUNT]]
            compiled_pose(poses[i], tree_state[0, held : held + size])
            compiled_rates(
                terms, state[1:, own : own + k], tree_state[1:, local : local + k],
                matrices[i, :, :k, :k], after[:, :k, :k],
            )  # fmt: skip


def _leave(links, matrices, rotors, state, tree_result, result):
    """Q, Q', Q'' (3, n) from Q_x of the tree: f in B^T f = Q_x with its rates, and the rotors."""
    for i in range(links.shape[0]):
        own, k, local = links[i, OWN], links[i, SIZE], links[i, LOCAL]
        for r in range(3):
            for j in range(k):
                total = tree_result[r, local + j]
                if links[i, HELD_SIZE] > 0:
                    weight = -1.0  # -C(r, s)
                    for s in range(1, r + 1):
                        weight = weight * (r - s + 1) / s
                        for d in range(k):
                            total += weight * matrices[i, s, d, j] * result[r - s, own + d]
                result[r, own + j] = total
    for r in range(3):
        for c in range(result.shape[1]):
            result[r, c] += rotors[c] * state[2 + r, c]


_compiled_enter, _compiled_leave = compiled(_enter), compiled(_leave)


class MultiDofInverseDynamicsSolver(IndependentCopies):
    """Q, Q' and Q'' of a :class:`.MultiDofModel` for one state at a time, without allocating.

    Fill `poses` and `state`, call `update()`, and read `result`; nothing is checked.

    poses : (J, 4, 4) T of each joint; read for a :class:`.BodyFixedJoint`, whose q is not.
    state : (5, n) rows q ... q'''', rad or m and per s^k; the last four are nu and its derivatives
        for a :class:`.BodyFixedJoint`.
    result : (3, n) rows Q, Q', Q'', N m or N and per s^k.
    tree : the :class:`.InverseDynamicsSolver` of its tree: it has `move_base`, and
        `applied_wrenches`, in which a body has the row `solver.tree.model.body_index(name)`.

    Raises InputError for joints other than composite ones and those with body-fixed rates.
    """

    def __init__(self, robot: MultiDofModel) -> None:
        links, terms = [], [np.zeros((0, 4))]
        rotors = robot.reflected_inertia.copy()
        for name, joint, link in zip(robot.joint_names, robot.joints, robot.links, strict=True):
            if not isinstance(joint, CompositeJoint | BodyFixedJoint):
                raise InputError(
                    f"joint '{name}': the solver takes a CompositeJoint or a BodyFixedJoint, got "
                    f"{type(joint).__name__}; a ball is BodyFixedJoint.spherical()"
                )
            own, held, local = link.own, link.held, link.local
            first = sum(map(len, terms))
            if link.brackets is None:
                rotors[own] = 0.0  # part of the tree
            else:
                terms.append(link.brackets)
            row = own.start, joint.degrees, held.start, held.stop - held.start, local.start
            links.append([*row, first, sum(map(len, terms)) - first])
        count = len(links)
        self.robot = robot
        self.poses: Array = np.tile(np.eye(4), (count, 1, 1))
        self.state: Array = np.zeros((5, robot.n))
        self.result: Array = np.zeros((3, robot.n))
        self.tree = InverseDynamicsSolver(robot._tree, "body")
        self._links, self._brackets = np.array(links), np.concatenate(terms)
        self._matrices, self._after = np.zeros((count, 4, 6, 6)), np.empty((4, 6, 6))
        self._rotors = rotors
        self.update()

    def update(self) -> None:
        """Compute `result` from `poses` and `state`."""
        tree, links, matrices = self.tree, self._links, self._matrices
        _compiled_enter(
            links, self._brackets, self.poses, self.state, matrices, self._after, tree.state
        )
        tree.update()
        _compiled_leave(links, matrices, self._rotors, self.state, tree.result, self.result)
