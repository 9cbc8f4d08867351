# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded gravity torques and momentum equal the general functions."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.rigid import (
    trace_gravity_forces,
    trace_inverse_dynamics,
    trace_momentum,
)
from reference import error
from robots import panda, random_tree


@pytest.mark.parametrize("robot", ["panda", "off-axis", "prismatic", "helical"])
def test_gravity_and_momentum(robot):
    model = {
        "panda": panda,
        "off-axis": lambda: random_tree(6, 3).with_reflected_inertia(np.linspace(0.0, 0.5, 6)),
        "prismatic": lambda: random_tree(4, 5, kinds=("prismatic", "revolute")),
        "helical": lambda: random_tree(4, 6, kinds=("helical",)),
    }[robot]()
    for q, qd in np.random.default_rng(5).uniform(-2.0, 2.0, (20, 2, model.n)):
        weight = dyn.gravity_forces(model, q)
        assert error(trace_gravity_forces(model).evaluate(q=q)["tau"], weight) < 1e-12
        found = trace_momentum(model).evaluate(q=q, qd=qd)
        assert error(found["momentum"], dyn.mass_matrix(model, q) @ qd) < 1e-12
        bias = weight - dyn.coriolis_matrix(model, q, qd).T @ qd
        assert error(found["bias"], bias) < 1e-12


def test_gravity_and_momentum_take_a_fraction_of_the_operations():
    model = panda()
    full = trace_inverse_dynamics(model).size
    assert trace_gravity_forces(model).size < 0.1 * full
    assert trace_momentum(model).size < 0.5 * full
