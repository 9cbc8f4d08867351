# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion from the matrices of the whole system, [M18d] section 5."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference as ref
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import theory
from multibody_dynamics.dynamics.core.batches import transposed
from reference import error
from robots import draw, panda, random_tree, with_multidof, with_rotors

SEEDS = st.integers(0, 2**32 - 1)
EQUAL = 1e-13
ROBOTS = [with_rotors(x) for x in (panda(), random_tree(6, 0), random_tree(6, 1), with_multidof())]


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_mass_matrix_equals_that_of_composite_inertias(model):
    """[M18d] (81) against the CRBA."""
    (q,) = draw(model, 1, 5)
    assert error(theory.mass_matrix_closed_form(model, q), dyn.mass_matrix(model, q), 2) < EQUAL


@settings(max_examples=8)
@given(SEEDS)
def test_velocity_forces_of_both_coriolis_matrices(seed):
    model = random_tree(6, seed).with_gravity(np.zeros(3))
    q, qd = draw(model, 2, seed=seed)
    bias = ref.dynamics(model, [q, qd, 0 * q]).torques[0].astype(float)
    assert error(theory.coriolis_matrix_mueller(model, q, qd) @ qd, bias) < EQUAL
    assert error(dyn.coriolis_matrix(model, q, qd) @ qd, bias) < EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_long_and_short_form_of_the_coriolis_matrix(model):
    """[M18d] (84) equals the second form of (83), which equals the first."""
    q, qd = draw(model, 2, 3)
    s = theory.system_kinematics(model, q, qd)
    M = np.zeros((model.n, 6, model.n, 6))
    M[range(model.n), :, range(model.n), :] = model.inertias
    M = M.reshape(6 * model.n, 6 * model.n)
    MAa = M @ s.A @ s.a
    first = -transposed(s.J) @ (transposed(MAa) + MAa) @ s.J
    first -= transposed(M @ s.A @ s.b @ s.X) @ s.J
    second = -transposed(s.a @ s.J + s.b @ s.X) @ transposed(s.A) @ M @ s.J
    second -= transposed(s.J) @ MAa @ s.J
    short = theory.coriolis_matrix_mueller(model, q, qd)
    assert error(short, first, 2) < 10 * EQUAL
    assert error(short, second, 2) < 10 * EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_only_the_christoffel_matrix_is_skew_compatible(model):
    q, qd = draw(model, 2)
    rate = dyn.rigid.mass_matrix_dot(model, q, qd)
    size = np.abs(rate).max()
    for function, skew in ((dyn.coriolis_matrix, True), (theory.coriolis_matrix_mueller, False)):
        defect = rate - 2 * function(model, q, qd)
        defect = np.abs(defect + defect.T).max()
        assert defect < EQUAL * size if skew else defect > 0.1 * size
        # along q' itself both preserve energy
        assert abs(qd @ (rate - 2 * function(model, q, qd)) @ qd) < 1e-12 * size * (qd @ qd)


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@settings(max_examples=5)
@given(SEEDS)
def test_projection_equations_from_first_principles(representation, seed):
    """[M18d] (78), with gravity and applied wrenches."""
    model = with_rotors(random_tree(5, seed))
    q, qd, qdd = draw(model, 3, seed=seed)
    W = np.random.default_rng(seed).normal(size=(model.n, 6))
    expected = ref.dynamics(model, [q, qd, qdd], dict(enumerate(W[:, None]))).torques[0]
    wrenches = dict(zip(model.body_names, W, strict=True))
    tau = theory.projection_equations(
        model, q, qd, qdd, wrenches=wrenches, representation=representation
    )
    assert error(tau, expected.astype(float)) < EQUAL
