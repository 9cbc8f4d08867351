# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Forward dynamics of mechanisms with n joints and m constraints: O(n) + O(m^3)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import harness
import numpy as np
from harness import Group, Row
from scaling import chain

from multibody_dynamics import dynamics as dyn

LENGTHS = (10, 30, 100, 300, 1000)
PINNED = (1, 2, 5, 10, 20, 40)


def pinned_chain(n: int, pins: int) -> dyn.mechanisms.ConstrainedModel:
    """A chain with `pins` bodies along it attached to the ground by ball joints."""
    model = chain(n)
    places = np.linspace(0, n - 1, pins + 1).astype(int)[1:]
    closures = [
        dyn.mechanisms.LoopClosure.at(
            model, f"pin{i}", model.base_name, int(i), dyn.spherical(), point=model.poses[i, :3, 3]
        )
        for i in places
    ]
    return dyn.mechanisms.ConstrainedModel(model, closures)


def forward(system: dyn.mechanisms.ConstrainedModel) -> Callable[[], object]:
    n = system.tree.n
    q, qd, tau = np.zeros(n), np.zeros(n), np.random.default_rng(1).normal(size=n)
    run = partial(dyn.mechanisms.constrained_forward_dynamics, system, q, qd, tau)
    found = run()
    (A,) = dyn.mechanisms.constraint_matrices(system, q)
    free = A @ dyn.forward_dynamics(system.tree, q, qd, tau)
    harness.require(f"A q'' of {n} joints, zero at rest", free + A @ found.qdd, free, 1e-6)
    return run


def groups(_: argparse.Namespace) -> list[Group]:
    sizes = [(n, 2) for n in LENGTHS] + [(300, pins) for pins in PINNED if pins != 2]
    rows = [
        Row(
            f"{n} joints, {3 * pins} constraints",
            harness.loop(forward(pinned_chain(n, pins)), 3),
            3,
            60,
        )
        for n, pins in sizes
    ]
    title = "forward dynamics of a chain with loops, one state, from Python"
    return [Group("constrained", title, rows)]
