# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Runs a recursion as plain Python for one state, for tests of its intermediate results."""

from types import ModuleType
from typing import NamedTuple

import numpy as np

from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.model import MultibodyModel, records
from multibody_dynamics.dynamics.recursions import pose_recursion
from multibody_dynamics.dynamics.rigid.rnea import dynamic_base_rows
from robots import random_tree


class Chain(NamedTuple):
    """Everything in the joint frames: poses C (n, 4, 4), C_{parent,i}, screws Z, inertias M^b;
    twists V and wrenches W as (n, k, 6), with those of the base in `base`; torques (3, n)."""

    parents: np.ndarray
    C: np.ndarray
    relative: np.ndarray
    Z: np.ndarray
    M: np.ndarray
    V: np.ndarray
    base: np.ndarray
    W: np.ndarray
    torques: np.ndarray

    def parent(self, i: int, k: int) -> np.ndarray:
        """The k-th derivative of the twist of the parent of body i."""
        p = self.parents[i]
        return self.base[k] if p < 0 else self.V[p, k]

    def children(self, i: int) -> np.ndarray:
        return np.flatnonzero(self.parents == i)


def run(
    recursion: ModuleType,
    representation: str,
    model: MultibodyModel,
    state: np.ndarray,
    applied: np.ndarray,
    order: int = 2,
) -> Chain:
    n, rows = model.n, model.joint_rows
    angle = rows[:, records.ANGULAR] * state[0]
    trig = np.stack([np.sin(angle), np.cos(angle)])
    bodies, places, result = *np.zeros((2, n + 1, records.BODY_ROW)), np.zeros((3, n))
    bodies[0, : records.WRENCH] = dynamic_base_rows(model, None, representation)
    constants, world = (model.parents, rows), (model.gravity, trig, state, order, applied, bodies)
    recursion.forward_recursion(*constants, trig, state, order, bodies)
    motion = bodies.copy()
    recursion.apply_wrenches(*constants, *world)
    recursion.backward_recursion(*constants, model.gravity, state, order, bodies, result)

    places[0, : records.WRENCH] = dynamic_base_rows(model, None, "spatial")
    pose_recursion(*constants, trig, state, places)
    C = se3.from_rotation_translation(
        places[:, : records.POSITION].reshape(-1, 3, 3), places[:, records.POSITION : records.TWIST]
    )
    relative = np.array([se3.inverse(C[p + 1]) @ C[i + 1] for i, p in enumerate(model.parents)])
    Z = np.zeros((n, 6))
    Z[:, 2], Z[:, 5] = rows[:, records.ANGULAR], rows[:, records.LINEAR]
    coAd = se3.coAd(model.body_in_joint)
    M = coAd @ model.inertias @ np.swapaxes(coAd, -1, -2)
    V = motion[:, records.TWIST : records.SCREW].reshape(n + 1, 4, 6)
    W = bodies[1:, records.WRENCH :].reshape(n, 3, 6)
    return Chain(model.parents, C[1:], relative, Z, M, V[1:], V[0], W, result)


def run_random(
    recursion: ModuleType, representation: str, seed: int, order: int = 2
) -> tuple[MultibodyModel, np.ndarray, np.ndarray, Chain]:
    """A random robot, its state (5, n), the wrenches (n, 18) on its bodies, and the chain."""
    model, rng = random_tree(6, seed), np.random.default_rng(seed)
    state, applied = rng.normal(size=(5, model.n)), rng.normal(size=(model.n, 18))
    return model, state, applied, run(recursion, representation, model, state, applied, order)
