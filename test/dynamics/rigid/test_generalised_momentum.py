# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Momentum, gravity and dT/dq in one pass: closed forms and the traced code."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.rigid.coriolis import coriolis_matrix
from multibody_dynamics.dynamics.rigid.crba import gravity_forces, mass_matrix
from multibody_dynamics.dynamics.rigid.generalised_momentum import (
    MomentumSolver,
    trace_gravity_forces,
    trace_momentum,
)
from multibody_dynamics.dynamics.rigid.traced_dynamics import trace_inverse_dynamics
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
        p, beta, g = solved(model, q, qd)
        for found, wanted in (
            (p, mass_matrix(model, q) @ qd),
            (g, gravity_forces(model, q)),
            (beta, gravity_forces(model, q) - coriolis_matrix(model, q, qd).T @ qd),
            (beta, gravity_forces(model, q) - kinetic_energy_gradient(model, q, qd)),
        ):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("name", MODELS)
def test_the_traced_code_has_the_same_results(name):
    model = MODELS[name]()
    q, qd = np.random.default_rng(3).normal(size=(2, model.n))
    found = trace_momentum(model).evaluate(q=q, qd=qd) | trace_gravity_forces(model).evaluate(q=q)
    for name, wanted in zip(("momentum", "bias", "tau"), solved(model, q, qd), strict=True):
        atol = (1e-13 if name == "momentum" else 1e-12) * np.abs(wanted).max()
        np.testing.assert_allclose(found[name], wanted, rtol=0, atol=atol)


def test_gravity_and_momentum_take_a_fraction_of_the_operations():
    model = panda()
    full = trace_inverse_dynamics(model).size
    assert trace_gravity_forces(model).size < 0.1 * full
    assert trace_momentum(model).size < 0.5 * full
