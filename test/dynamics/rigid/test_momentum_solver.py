# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Momentum, gravity and dT/dq in one pass: closed forms, Pinocchio, and the traced code."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics.dynamics.rigid.coriolis import coriolis_matrix
from multibody_dynamics.dynamics.rigid.crba import gravity_forces, mass_matrix
from multibody_dynamics.dynamics.rigid.momentum_solver import MomentumSolver
from multibody_dynamics.dynamics.rigid.traced_momentum import trace_momentum
from multibody_dynamics.dynamics.theory.lagrange import kinetic_energy_gradient
from robots import panda, random_tree, with_rotors

MODELS = {
    "panda": panda, "tree": lambda: random_tree(6, 2), "branches": lambda: random_tree(9, 11),
    "rotors": lambda: with_rotors(random_tree(5, 3)),
    "prismatic": lambda: random_tree(4, 5, kinds=("prismatic", "revolute")),
    "helical": lambda: random_tree(4, 6, kinds=("helical",)),
}  # fmt: skip


def solved(model, q, qd):
    solver = MomentumSolver(model)
    solver.state[:] = q, qd
    solver.update()
    return solver.result


@pytest.mark.parametrize("name", MODELS)
def test_all_rows_are_those_of_the_closed_forms(name):
    model = MODELS[name]()
    for seed in range(5):
        q, qd = np.random.default_rng(seed).normal(size=(2, model.n))
        p, g, slope = solved(model, q, qd)
        for found, wanted in (
            (p, mass_matrix(model, q) @ qd),
            (g, gravity_forces(model, q)),
            (slope, coriolis_matrix(model, q, qd).T @ qd),
            (slope, kinetic_energy_gradient(model, q, qd)),
        ):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("name", MODELS)
def test_the_traced_code_has_the_same_results(name):
    model = MODELS[name]()
    q, qd = np.random.default_rng(3).normal(size=(2, model.n))
    p, g, slope = solved(model, q, qd)
    found = trace_momentum(model).evaluate(q=q, qd=qd)
    np.testing.assert_allclose(found["momentum"], p, rtol=0, atol=1e-13 * np.abs(p).max())
    np.testing.assert_allclose(
        found["bias"], g - slope, rtol=0, atol=1e-12 * np.abs(g - slope).max()
    )
