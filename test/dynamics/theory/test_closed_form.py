# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion from the matrices of the whole system, [M18d] section 5."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference as ref
from multibody_dynamics import dynamics as dyn
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
    assert error(dyn.theory.mass_matrix_closed_form(model, q), dyn.mass_matrix(model, q), 2) < EQUAL


@pytest.mark.parametrize("seed", range(2))
def test_mass_matrix_from_first_principles(seed):
    model = with_rotors(random_tree(6, seed)).with_gravity(np.zeros(3))
    (q,) = draw(model, 1)
    columns = [ref.dynamics(model, [q, 0 * q, unit]).torques[0] for unit in np.eye(model.n)]
    assert error(dyn.theory.mass_matrix_closed_form(model, q), np.array(columns).T, 2) < EQUAL


@settings(max_examples=8)
@given(SEEDS)
def test_velocity_forces_of_both_coriolis_matrices(seed):
    model = random_tree(6, seed).with_gravity(np.zeros(3))
    q, qd = draw(model, 2, seed=seed)
    bias = ref.dynamics(model, [q, qd, 0 * q]).torques[0].astype(float)
    assert error(dyn.theory.coriolis_matrix_mueller(model, q, qd) @ qd, bias) < EQUAL
    assert error(dyn.coriolis_matrix(model, q, qd) @ qd, bias) < EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_long_and_short_form_of_the_coriolis_matrix(model):
    """[M18d] (84) equals the second form of (83), which equals the first."""
    q, qd = draw(model, 2, 3)
    s = dyn.theory.system_kinematics(model, q, qd)
    M = np.zeros((model.n, 6, model.n, 6))
    M[range(model.n), :, range(model.n), :] = model.inertias
    M = M.reshape(6 * model.n, 6 * model.n)
    MAa = M @ s.A @ s.a
    first = -transposed(s.J) @ (transposed(MAa) + MAa) @ s.J
    first -= transposed(M @ s.A @ s.b @ s.X) @ s.J
    second = -transposed(s.a @ s.J + s.b @ s.X) @ transposed(s.A) @ M @ s.J
    second -= transposed(s.J) @ MAa @ s.J
    short = dyn.theory.coriolis_matrix_mueller(model, q, qd)
    assert error(short, first, 2) < 10 * EQUAL
    assert error(short, second, 2) < 10 * EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_only_the_christoffel_matrix_is_skew_compatible(model):
    q, qd = draw(model, 2)
    rate = dyn.rigid.mass_matrix_dot(model, q, qd)
    size = np.abs(rate).max()
    for function, skew in (
        (dyn.coriolis_matrix, True),
        (dyn.theory.coriolis_matrix_mueller, False),
    ):
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
    tau = dyn.theory.projection_equations(
        model, q, qd, qdd, wrenches=wrenches, representation=representation
    )
    assert error(tau, expected.astype(float)) < EQUAL


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_projection_equations_equal_the_recursion(model, representation):
    q, qd, qdd = draw(model, 3, 5)
    W = {model.body_names[-1]: np.random.default_rng(2).normal(size=(5, 6))}
    expected = dyn.inverse_dynamics(model, q, qd, qdd, wrenches=W).tau
    tau = dyn.theory.projection_equations(
        model, q, qd, qdd, wrenches=W, representation=representation
    )
    assert error(tau, expected) < EQUAL


FUNCTIONS = (
    (dyn.theory.mass_matrix_closed_form, 1),
    (dyn.theory.coriolis_matrix_mueller, 2),
    (dyn.theory.projection_equations, 3),
)


@pytest.mark.parametrize(("function", "rows"), FUNCTIONS)
@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_batches_equal_single_results(function, rows, shape):
    model = ROBOTS[1]
    state = draw(model, rows, *shape)
    result = function(model, *state)
    tail = (model.n,) if rows == 3 else (model.n, model.n)
    assert result.shape == (*shape, *tail)
    for index in np.ndindex(shape):
        single = function(model, *(row[index] for row in state))
        assert error(result[index], single, len(tail)) < 1e-14


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_states_and_wrenches_broadcast(representation):
    model = ROBOTS[1]
    q, qd, qdd = draw(model, 3, 3)
    W = np.random.default_rng(3).normal(size=(2, 1, 1, 6))
    body, options = model.body_names[2], {"representation": representation}
    tau = dyn.theory.projection_equations(model, q[:, None], qd, qdd, wrenches={body: W}, **options)
    assert tau.shape == (2, 3, 3, model.n)
    one = dyn.theory.projection_equations(
        model, q[2], qd[1], qdd[1], wrenches={body: W[1, 0, 0]}, **options
    )
    assert error(tau[1, 2, 1], one) < 1e-14
    tau = dyn.theory.projection_equations(model, q[0], qd[0], qdd, **options)
    assert (
        error(tau[2], dyn.theory.projection_equations(model, q[0], qd[0], qdd[2], **options))
        < 1e-14
    )


def test_incompatible_shapes_are_listed():
    model = ROBOTS[1]
    q, qd, qdd = np.zeros((2, 6)), np.zeros(6), np.zeros((3, 6))
    with pytest.raises(dyn.InputError, match=r"q \(2,\), qd \(\), qdd \(3,\)"):
        dyn.theory.projection_equations(model, q, qd, qdd)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("bad", [None, 0.0, np.full(5, np.nan), np.zeros(5) * 1j, ["a"] * 5])
def test_bad_input_is_rejected_and_named(place, bad):
    state = [np.zeros(5)] * 3
    state[place] = bad
    for function, rows in FUNCTIONS:
        if place < rows:
            with pytest.raises(dyn.InputError, match=rf"\b{('q', 'qd', 'qdd')[place]}\b"):
                function(random_tree(5, 5), *state[:rows])


def test_other_mistakes_are_explained():
    model, zero = random_tree(5, 5), np.zeros(5)
    with pytest.raises(dyn.InputError, match="'world' is not one of spatial"):
        dyn.theory.projection_equations(model, zero, zero, zero, representation="world")
    with pytest.raises(dyn.InputError, match="no body or frame 'hand'"):
        dyn.theory.projection_equations(model, zero, zero, zero, wrenches={"hand": np.zeros(6)})
    with pytest.raises(dyn.InputError, match=r"states \(2,\), wrenches \(4,\)"):
        dyn.theory.projection_equations(
            model, np.zeros((2, 5)), zero, zero, wrenches={"body1": np.zeros((4, 6))}
        )


def test_arguments_are_never_written_to():
    model = random_tree(5, 6)
    state = list(draw(model, 3, 4))
    before = [x.copy() for x in state]
    for x in state:
        x.flags.writeable = False
    for function, rows in FUNCTIONS:
        function(model, *state[:rows])[...] = 7
    for x, old in zip(state, before, strict=True):
        np.testing.assert_array_equal(x, old)
