# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Lagrange's equations against the energy of particles and the recursion."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference as ref
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import theory
from reference import error
from robots import draw, panda, random_tree, with_multidof, with_rotors

SEEDS = st.integers(0, 2**32 - 1)
EQUAL = 1e-13
ROBOTS = [with_rotors(x) for x in (panda(), random_tree(6, 0), random_tree(6, 1), with_multidof())]


def slopes(model, q, qd, of):
    """dT/dq or dT/dq' by central differences with 40 digits."""
    step = mp.mpf(10) ** -12
    state = ref.exact([q, qd])
    result = []
    for i in range(model.n):
        shift = np.zeros_like(state)
        shift[of, i] = step
        ahead, behind = (ref.energy(model, state + s * shift)[0][0] for s in (1, -1))
        result.append(float((ahead - behind) / (2 * step)))
    return np.array(result)


@pytest.mark.parametrize("model", ROBOTS[:3], ids=repr)
def test_derivatives_are_those_of_the_energy_of_the_particles(model):
    q, qd = draw(model, 2)
    assert error(theory.kinetic_energy_gradient(model, q, qd), slopes(model, q, qd, 0)) < EQUAL
    assert error(theory.generalized_momentum(model, q, qd), slopes(model, q, qd, 1)) < EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_the_momentum_is_mass_matrix_times_rates(model):
    q, qd = draw(model, 2, 5)
    p = theory.generalized_momentum(model, q, qd)
    assert error(p, (dyn.mass_matrix(model, q) @ qd[..., None])[..., 0]) < EQUAL
    assert error(np.sum(p * qd, axis=-1) / 2, dyn.rigid.kinetic_energy(model, q, qd), 0) < EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_the_gradient_is_the_contraction_of_the_symbols(model):
    """dT/dq_k = sum_ij Gamma_ijk q'_i q'_j, since dM/dq_k is the symmetric part of 2 Gamma_k."""
    q, qd = draw(model, 2)
    expected = np.einsum("ijk,i,j", dyn.christoffel_symbols(model, q), qd, qd)
    assert error(theory.kinetic_energy_gradient(model, q, qd), expected) < EQUAL


@settings(max_examples=8)
@given(SEEDS)
def test_torques_from_first_principles(seed):
    """[M18d] (80) with gravity and applied wrenches."""
    model = with_rotors(random_tree(5, seed))
    q, qd, qdd = draw(model, 3, seed=seed)
    W = np.random.default_rng(seed).normal(size=(model.n, 6))
    expected = ref.dynamics(model, [q, qd, qdd], dict(enumerate(W[:, None]))).torques[0]
    wrenches = dict(zip(model.body_names, W, strict=True))
    tau = theory.lagrange_equations(model, q, qd, qdd, wrenches=wrenches)
    assert error(tau, expected.astype(float)) < EQUAL
