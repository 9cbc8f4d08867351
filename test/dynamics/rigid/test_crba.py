# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The mass matrix (CRBA) against inverse dynamics from first principles and Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from reference import dynamics, error
from robots import random_base, random_tree, to_pinocchio

SEEDS = st.integers(0, 2**32 - 1)


def configuration(model, *batch, seed=1):
    return np.random.default_rng(seed).normal(size=(*batch, model.n))


@settings(max_examples=20)
@given(SEEDS)
def test_symmetric_and_positive_definite(seed):
    model = random_tree(6, seed)
    M = dyn.mass_matrix(model, configuration(model, 10, seed=seed))
    np.testing.assert_array_equal(M, np.swapaxes(M, 1, 2))
    assert np.linalg.eigvalsh(M).min() > 0


@pytest.mark.parametrize("seed", range(3))
def test_columns_are_torques_of_unit_accelerations_from_first_principles(seed):
    model = random_tree(6, seed).with_gravity(np.zeros(3))
    q = configuration(model, seed=seed)
    columns = [dynamics(model, [q, 0 * q, unit]).torques[0] for unit in np.eye(model.n)]
    assert error(dyn.mass_matrix(model, q), np.array(columns).T, 2) < 1e-13


@pytest.mark.parametrize("seed", range(6))
def test_pinocchio_agrees(seed):
    model = random_tree(6, seed).with_reflected_inertia(np.full(6, 0.1))
    twin = to_pinocchio(model)
    data = twin.model.createData()
    for q in configuration(model, 5, seed=seed):
        M = np.triu(pin.crba(twin.model, data, twin.to_pin(q)))
        M = M + np.triu(M, 1).T
        assert error(dyn.mass_matrix(model, q), M[np.ix_(twin.order, twin.order)], 2) < 1e-13
        weight = pin.computeGeneralizedGravity(twin.model, data, twin.to_pin(q))
        assert error(dyn.gravity_forces(model, q), twin.from_pin(weight)) < 1e-12


def test_gravity_forces_on_a_tilted_base():
    model, base = random_tree(6, 7), random_base(8)
    q, R = configuration(model, 4), base.pose[:3, :3]
    seen = model.with_gravity(R.T @ model.gravity)
    tilted = dyn.gravity_forces(model, q, base=dyn.BaseMotion(base.pose))
    assert error(tilted, dyn.gravity_forces(seen, q)) < 1e-13
    pushed = dyn.BaseMotion(base.pose, acceleration=[0, 0, 0, 1.0, -2.0, 3.0])
    falling = model.with_gravity(model.gravity - [1.0, -2.0, 3.0])
    expected = dyn.gravity_forces(falling, q, base=dyn.BaseMotion(base.pose))
    assert error(dyn.gravity_forces(model, q, base=pushed), expected) < 1e-13
