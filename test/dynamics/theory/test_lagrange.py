# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Lagrange's equations against the energy of particles and the recursion."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference as ref
from multibody_dynamics import dynamics as dyn
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
    assert error(dyn.theory.kinetic_energy_gradient(model, q, qd), slopes(model, q, qd, 0)) < EQUAL
    assert error(dyn.theory.generalized_momentum(model, q, qd), slopes(model, q, qd, 1)) < EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_the_momentum_is_mass_matrix_times_rates(model):
    q, qd = draw(model, 2, 5)
    p = dyn.theory.generalized_momentum(model, q, qd)
    assert error(p, (dyn.mass_matrix(model, q) @ qd[..., None])[..., 0]) < EQUAL
    assert error(np.sum(p * qd, axis=-1) / 2, dyn.rigid.kinetic_energy(model, q, qd), 0) < EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_the_gradient_is_the_contraction_of_the_symbols(model):
    """dT/dq_k = sum_ij Gamma_ijk q'_i q'_j, since dM/dq_k is the symmetric part of 2 Gamma_k."""
    q, qd = draw(model, 2)
    expected = np.einsum("ijk,i,j", dyn.christoffel_symbols(model, q), qd, qd)
    assert error(dyn.theory.kinetic_energy_gradient(model, q, qd), expected) < EQUAL


@settings(max_examples=8)
@given(SEEDS)
def test_torques_from_first_principles(seed):
    """[M18d] (80) with gravity and applied wrenches."""
    model = with_rotors(random_tree(5, seed))
    q, qd, qdd = draw(model, 3, seed=seed)
    W = np.random.default_rng(seed).normal(size=(model.n, 6))
    expected = ref.dynamics(model, [q, qd, qdd], dict(enumerate(W[:, None]))).torques[0]
    wrenches = dict(zip(model.body_names, W, strict=True))
    tau = dyn.theory.lagrange_equations(model, q, qd, qdd, wrenches=wrenches)
    assert error(tau, expected.astype(float)) < EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_torques_are_those_of_the_recursion(model):
    q, qd, qdd = draw(model, 3, 5)
    W = {model.body_names[-1]: np.random.default_rng(2).normal(size=(5, 6))}
    expected = dyn.inverse_dynamics(model, q, qd, qdd, wrenches=W).tau
    assert error(dyn.theory.lagrange_equations(model, q, qd, qdd, wrenches=W), expected) < EQUAL


FUNCTIONS = (
    dyn.theory.generalized_momentum,
    dyn.theory.kinetic_energy_gradient,
    dyn.theory.lagrange_equations,
)


@pytest.mark.parametrize(("function", "rows"), [*zip(FUNCTIONS, (2, 2, 3), strict=True)])
@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_batches_equal_single_results(function, rows, shape):
    model = ROBOTS[1]
    state = draw(model, rows, *shape)
    result = function(model, *state)
    assert result.shape == (*shape, model.n)
    for index in np.ndindex(shape):
        assert error(result[index], function(model, *(row[index] for row in state))) < 1e-14


def test_states_and_wrenches_broadcast():
    model = ROBOTS[1]
    q, qd, qdd = draw(model, 3, 3)
    W = np.random.default_rng(3).normal(size=(2, 1, 1, 6))
    body = model.body_names[2]
    tau = dyn.theory.lagrange_equations(model, q[:, None], qd, qdd, wrenches={body: W})
    assert tau.shape == (2, 3, 3, model.n)
    one = dyn.theory.lagrange_equations(model, q[2], qd[1], qdd[1], wrenches={body: W[1, 0, 0]})
    assert error(tau[1, 2, 1], one) < 1e-14
    with pytest.raises(dyn.InputError, match=r"states \(3,\), wrenches \(2,\)"):
        dyn.theory.lagrange_equations(model, q, qd, qdd, wrenches={body: W[:, 0, 0]})


def test_incompatible_shapes_are_listed():
    model = ROBOTS[1]
    q, qd, qdd = np.zeros((2, 6)), np.zeros(6), np.zeros((3, 6))
    with pytest.raises(dyn.InputError, match=r"q \(2,\), qd \(\), qdd \(3,\)"):
        dyn.theory.lagrange_equations(model, q, qd, qdd)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("bad", [None, 0.0, np.full(5, np.nan), np.zeros(5) * 1j, ["a"] * 5])
def test_bad_input_is_rejected_and_named(place, bad):
    state = [np.zeros(5)] * 3
    state[place] = bad
    for function, rows in zip(FUNCTIONS, (2, 2, 3), strict=True):
        if place < rows:
            with pytest.raises(dyn.InputError, match=rf"\b{('q', 'qd', 'qdd')[place]}\b"):
                function(random_tree(5, 5), *state[:rows])
