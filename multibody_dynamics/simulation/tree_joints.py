# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The joints of a robot one by one, for a simulator that knows no coordinates but those of joints.

A joint that depends on several coordinates is a chain of joints on one axis in the tree of the
model, with massless bodies in between; here it is one joint again. The positions x of the joints
follow from the coordinates, x = G q, and those of n independent joints give them back, q = R x.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dynamics.core import Array, InputError
from ..dynamics.mechanisms import ClosedChainModel, in_charts
from ..dynamics.model import MultibodyModel, joint_chains
from ..dynamics.rigid import forward_kinematics


class TreeJoints(NamedTuple):
    """The k >= n joints of a robot; x in rad or m, at zero for q = 0.

    names : of the joints. bodies : (k,) the body of the model that each one moves. parents : (k,)
    the joint before it, or -1. screws : (k, 6) in the frame of the body, of length 1 about or along
    the axis. poses : (k, 4, 4) of these bodies at x = 0. matrix, inverse : G (k, n) and R (n, k).
    independent : (n,) the joints that R reads.
    """

    names: tuple[str, ...]
    bodies: NDArray[np.int64]
    parents: NDArray[np.int64]
    screws: Array
    poses: Array
    matrix: Array
    inverse: Array
    independent: NDArray[np.int64]

    def joint_of(self, c: int) -> int | None:
        """The joint that is the coordinate c itself, if there is one."""
        (read,) = np.nonzero(self.inverse[c])
        return int(read[0]) if len(read) == 1 and self.inverse[c, read[0]] == 1.0 else None

    def ties(self) -> dict[int, Array]:
        """{dependent joint: (k,) factors}: the sum of factor x that is zero."""
        factors = np.eye(len(self.bodies)) - self.matrix @ self.inverse
        return {j: factors[j] for j in range(len(factors)) if j not in self.independent}


def tree_joints(model: MultibodyModel) -> TreeJoints:
    """Raises InputError if the positions of the joints do not determine all coordinates.

    With loops, these are the joints of the tree that move, `inverse` reads the actuated ones, and
    `matrix` belongs to the pose `home`.
    """
    if isinstance(model, ClosedChainModel):
        moves, at_rest = _moving(model), np.zeros(model.body_count)
        at_rest[~moves] = model.assembled[~moves]
        of_tree, bodies = tree_joints(model.tree), np.flatnonzero(moves)
        before, place = model.parents[bodies], np.cumsum(moves) - 1
        before = np.where(moves[before], before, model.parents[before])
        return TreeJoints(
            tuple(model.tree_joint_names[i] for i in bodies),
            bodies,
            np.where(before < 0, -1, place[before]),
            of_tree.screws[bodies],
            forward_kinematics(model.tree, at_rest).pose[bodies],
            _positions_of_tree(model, model.home)[1],
            np.eye(model.body_count)[model.first_bodies][:, bodies],
            np.arange(len(bodies)),
        )
    chains = joint_chains(model)
    names, bodies = tuple(chains), np.array([chain[-1] for chain in chains.values()])
    X = model.body_screws[bodies]
    turns = np.linalg.norm(X[:, :3], axis=1)
    lengths = np.where(turns > 0.0, turns, np.linalg.norm(X[:, 3:], axis=1))
    lengths[np.abs(lengths - 1.0) < 1e-9] = 1.0  # rounding, which would make G inexact
    screws = X / (lengths * [_sign(model, int(i)) for i in bodies])[:, None]
    G, parents = np.zeros((len(bodies), model.n)), np.full(len(bodies), -1)
    joint_of_body = {int(i): j for j, i in enumerate(bodies)}
    for j, chain in enumerate(chains.values()):
        parents[j] = joint_of_body.get(int(model.parents[chain[0]]), -1)
        for i in chain:
            G[j, model.coordinates[i]] += model.body_screws[i] @ screws[j] / (screws[j] @ screws[j])
    independent = _independent(model, names, G)
    R = np.zeros((model.n, len(bodies)))
    R[:, independent] = np.linalg.inv(G[independent])
    return TreeJoints(names, bodies, parents, screws, model.poses[bodies], G, R, independent)


def joint_positions(model: MultibodyModel, joints: TreeJoints, q: Array) -> tuple[Array, Array]:
    """x (k,) of the joints at q (n,), and G (k, n) with x' = G q'."""
    if not isinstance(model, ClosedChainModel):
        return joints.matrix @ q, joints.matrix
    return _positions_of_tree(model, q)


def ball_pitches(model: MultibodyModel) -> NDArray[np.int64]:
    """The second hinges of passive balls in loops, whose angles theta are singular at 90 deg, among
    the joints of :func:`tree_joints`."""
    if not isinstance(model, ClosedChainModel):
        return np.zeros(0, dtype=np.int64)
    place = np.cumsum(_moving(model)) - 1
    return np.asarray(place[model.system.balls[:, 0] + 2])


def _moving(model: ClosedChainModel) -> NDArray[np.bool_]:
    """(N,) the joints of the tree but those that choose the charts of balls."""
    return ~np.isin(model.tree_joint_names, model.charts)


def _positions_of_tree(model: ClosedChainModel, q: Array) -> tuple[Array, Array]:
    """As `joint_positions`, in the charts of the assembled pose."""
    balls, moves = model.system.balls, _moving(model)
    motion = model.configuration(q), model.reduction(q)[0]
    x, G = in_charts(*motion, balls, model.assembled[balls[:, 0]])
    return x[moves], G[moves]


def _sign(model: MultibodyModel, i: int) -> float:
    """-1 if the screw of body i has been reversed by the factor of a coupling."""
    made = model.couplings.get(model.tree_joint_names[i])
    coordinate = model.joint_names[model.coordinates[i]]
    return -1.0 if made is not None and made.terms.get(coordinate, 1.0) < 0.0 else 1.0


def _independent(model: MultibodyModel, names: tuple[str, ...], G: Array) -> NDArray[np.int64]:
    """(n,) joints whose positions determine q, those with the names of coordinates first."""
    own = [name in model.joint_names for name in names]
    chosen = list(np.flatnonzero(own))
    for j in np.flatnonzero(np.logical_not(own)):
        if len(chosen) < model.n and np.linalg.matrix_rank(G[[*chosen, j]]) > len(chosen):
            chosen.append(j)
    if len(chosen) < model.n or not model.couplings.keys() <= {*names}:
        raise InputError(
            f"robot '{model.name}': its {model.n} coordinates ({', '.join(model.joint_names)}) "
            f"cannot be read from the positions of its joints ({', '.join(names)}); use the "
            "internal plant, ElasticRobot"
        )
    return np.sort(chosen)
