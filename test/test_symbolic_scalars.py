# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The recursions over the scalars of JAX and CasADi: Q, Q', Q'' and their derivatives.

Their derivatives by all five rows of the motion are compared with complex steps, and those of Q
with the closed ones; d Q''/d q'''' is the mass matrix.
"""

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import REPRESENTATIONS
from robots import random_tree, two_link_planar

jax.config.update("jax_enable_x64", True)
TOLERANCE = 1e-12


def jax_torques(model, representation="body"):
    def torques(state):
        rows = dyn.generic_inverse_dynamics(
            model, *state, representation=representation, sin=jnp.sin, cos=jnp.cos
        )
        return jnp.array(rows.tolist())

    return torques


def casadi_torques(model, representation="body"):
    """Q, Q', Q'' and their derivatives by q ... q'''' as functions of a state (5, n)."""
    x = casadi.SX.sym("x", 5, model.n)
    state = [casadi.horzsplit(row) for row in casadi.vertsplit(x)]
    rows = dyn.generic_inverse_dynamics(
        model, *state, representation=representation, sin=casadi.sin, cos=casadi.cos
    )
    Q = casadi.vertcat(*(casadi.horzcat(*row) for row in rows))
    both = casadi.Function("both", [x], [Q, casadi.jacobian(casadi.vec(Q.T), casadi.vec(x.T))])

    def evaluate(state):
        torques, slopes = both(state)
        return np.array(torques), np.array(slopes).reshape(3, model.n, 5, model.n)

    return evaluate


def expected(model, state):
    """Q, Q', Q'' (3, n), and by complex steps their derivatives (3, n, 5, n)."""
    slopes = np.empty((3, model.n, 5, model.n))
    for k in range(5):
        for i in range(model.n):
            moved = state.astype(complex)
            moved[k, i] += 1e-30j
            rows = dyn.generic_inverse_dynamics(model, *moved)
            slopes[:, :, k, i] = np.imag(rows.astype(complex)) / 1e-30
    return np.stack(dyn.inverse_dynamics(model, *state)), slopes


def assert_equal(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=TOLERANCE * np.abs(wanted).max())


MODELS = {"two links": two_link_planar(), "tree": random_tree(3, 3)}


def test_jax_differentiates_torques_and_their_rates():
    model = MODELS["two links"]
    state = np.random.default_rng(5).uniform(-1.0, 1.0, (5, model.n))
    torques = jax_torques(model)
    Q, slopes = expected(model, state)
    assert_equal(np.array(torques(state)), Q)
    assert_equal(np.array(jax.jit(jax.jacfwd(torques))(state)), slopes)
    weights = np.random.default_rng(6).normal(size=Q.shape)
    gradient = jax.jit(jax.grad(lambda s: jnp.sum(weights * torques(s))))(state)
    assert_equal(np.array(gradient), np.einsum("ki,kijl->jl", weights, slopes))


def test_jax_compiles_the_recursion_for_a_batch():
    model = MODELS["two links"]
    states = np.random.default_rng(7).uniform(-1.0, 1.0, (4, 5, model.n))
    Q = np.stack(dyn.inverse_dynamics(model, *states.transpose(1, 0, 2)), axis=1)
    assert_equal(np.array(jax.jit(jax.vmap(jax_torques(model)))(states)), Q)


@pytest.mark.parametrize("representation", [each for each in REPRESENTATIONS if each != "body"])
def test_both_take_every_representation(representation):
    model = MODELS["two links"]
    state = np.random.default_rng(8).uniform(-1.0, 1.0, (5, model.n))
    Q, slopes = expected(model, state)
    assert_equal(np.array(jax_torques(model, representation)(state)), Q)
    for found, wanted in zip(
        casadi_torques(model, representation)(state), (Q, slopes), strict=True
    ):
        assert_equal(found, wanted)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_casadi_differentiates_torques_and_their_rates(model):
    state = np.random.default_rng(5).uniform(-1.0, 1.0, (5, model.n))
    Q, slopes = expected(model, state)
    found, found_slopes = casadi_torques(model)(state)
    assert_equal(found, Q)
    assert_equal(found_slopes, slopes)
    for k, wanted in enumerate(dyn.inverse_dynamics_derivatives(model, *state[:3])):
        assert_equal(found_slopes[0, :, k], wanted)
    assert_equal(found_slopes[2, :, 4], dyn.mass_matrix(model, state[0]))
