# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A mechanism whose ball turns all the way round."""

import numpy as np

from multibody_dynamics import dynamics as dyn
from robots import random_inertia

X, Y, Z = np.eye(3)
CRANK, ROCKER = np.array([0.1, 0.0, 0.05]), np.array([0.5, 0.02, 0.3])  # ends, m
GROUND = np.array([0.55, 0.0, 0.0])
AXIS = np.array([0.1, 0.97, 0.2]) / np.linalg.norm([0.1, 0.97, 0.2])
CHAIN = (Z, Y, X)


def crank_rocker(cut, axes=CHAIN):
    """A crank, which can turn round, a rod and a rocker; the rod has a ball at the crank, and a
    universal joint at the rocker. The loop is cut at one of the two, and closed at q = 0."""
    rng = np.random.default_rng(3)
    inertias = [random_inertia(rng) for _ in range(3)]
    cross = np.zeros((6, 6))
    if cut == "universal":
        parents = [-1, 0, 1, 2, -1]
        screws = [dyn.revolute(Y), *(dyn.revolute(a, CRANK) for a in axes)]
        screws.append(dyn.revolute(AXIS, GROUND))
        bodies = [inertias[0], cross, cross, *inertias[1:]]
        names = ("crank", "psi", "theta", "phi", "rocker")
        ends, free, point = ("phi body", "rocker body"), dyn.universal((0, 0, 0), X, Y), ROCKER
    else:
        parents = [-1, -1, 1, 2]
        screws = [dyn.revolute(Y), dyn.revolute(AXIS, GROUND)]
        screws += [dyn.revolute(a, ROCKER) for a in (Y, X)]
        bodies = [inertias[0], inertias[2], cross, inertias[1]]
        names = ("crank", "rocker", "first", "rod")
        ends, free, point = ("rod body", "crank body"), dyn.spherical(), CRANK
    tree = dyn.model_from_screws(
        parents, screws, [np.eye(4)] * len(parents), bodies, joint_names=names,
        body_names=tuple(f"{name} body" for name in names),
    )  # fmt: skip
    loop = dyn.mechanisms.LoopClosure.at(tree, cut, *ends, free, point=point)
    return dyn.mechanisms.ConstrainedModel(tree, [loop], ["crank"])


def closed(system):
    return dyn.mechanisms.closed_chain(system, np.zeros(system.n))


def turns(count, seed=1):
    """States (count, 5, 1) of the crank along almost two turns."""
    states = np.random.default_rng(seed).uniform(-1, 1, (count, 5, 1))
    states[:, 0, 0] = np.linspace(0.0, 11.0, count)
    return states
