# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""System Jacobian: factors, inverses and derivatives, against exact motions."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import block_diag

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3, theory
from reference import error, motion, twists
from rejections import assert_rejected
from robots import panda, random_state, random_tree, with_multidof

MODELS = [panda(), random_tree(8, seed=3), random_tree(7, seed=9), with_multidof()]
RNG = np.random.default_rng(21)

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
each_representation = pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)


def state(model, seed=0):
    return 2 * random_state(model, seed)[:3]


def depth(model):
    return max(len(model.path(i)) for i in range(model.n))


@each_representation
@each_model
def test_twists_and_accelerations_of_all_bodies_are_exact(model, representation):
    q, qd, qdd = state(model)
    k = theory.system_kinematics(model, q, qd, representation=representation)
    exact = np.array([twists(C, representation) for C in motion(model, [q, qd, qdd]).poses])
    assert error(k.V.reshape(-1, 6), exact[:, 0]) < 5e-14
    assert error(k.acceleration(qdd).reshape(-1, 6), exact[:, 1]) < 5e-14
    np.testing.assert_allclose(k.J @ qd, k.V, atol=1e-13)


@each_representation
@each_model
def test_the_system_jacobian_holds_the_jacobians_of_the_bodies(model, representation):
    q, qd, _ = state(model, seed=1)
    k = theory.system_kinematics(model, q, qd, representation=representation)
    for i in range(model.n):
        rows = slice(6 * i, 6 * i + 6)
        J = dyn.jacobian(model, q, i, representation=representation)
        Jd = dyn.jacobian_dot(model, q, qd, i, representation=representation)
        assert error(k.J[rows], J, axes=2) < 1e-14
        np.testing.assert_allclose(k.J_dot[rows], Jd, atol=5e-14)
        off = [j for j in range(model.n) if j not in model.path(i)]
        assert not k.J[rows, off].any()


@each_representation
@each_model
def test_a_is_the_resolvent_of_d(model, representation):
    k = theory.system_kinematics(model, state(model)[0], representation=representation)
    assert error(theory.resolvent(k.D), k.A, axes=2) < 1e-14
    assert error(k.A @ k.A_inverse, np.eye(6 * model.n), axes=2) < 2e-14
    powers = [np.linalg.matrix_power(k.D, p) for p in (depth(model) - 1, depth(model))]
    assert powers[0].any()
    assert not powers[1].any()


@each_representation
@each_model
def test_blocks_transform_a_twist_from_one_body_to_another(model, representation):
    """A common rigid motion of two bodies: block (i, j) maps its components at j to those at i."""
    k = theory.system_kinematics(model, state(model, seed=2)[0], representation=representation)
    V = RNG.normal(size=6)
    at = [dyn.convert_twist(C, [V], "spatial", representation)[0] for C in k.pose]
    blocks = k.A.reshape(model.n, 6, model.n, 6).swapaxes(1, 2)
    for i in range(model.n):
        for j in range(model.n):
            expected = at[i] if j in model.path(i) else np.zeros(6)
            np.testing.assert_allclose(blocks[i, j] @ at[j], expected, atol=2e-14)


@each_model
def test_derivatives_of_the_body_fixed_jacobian(model):
    """[M18d] (8), (9), (10)."""
    q, qd, qdd = state(model)
    k = theory.system_kinematics(model, q, qd)
    X = theory.BodyScrewDescription.of(model).screws
    assert error(k.X, block_diag(*X[..., None]), axes=2) < 1e-15
    a = block_diag(*(rate * se3.ad(screw) for rate, screw in zip(qd, X, strict=True)))
    assert error(k.a, a, axes=2) < 1e-15
    assert error(k.J_dot, -k.A @ a @ k.A @ k.X, axes=2) < 1e-14
    acceleration = k.J @ qdd - k.A @ a @ k.V
    assert error(k.acceleration(qdd).reshape(-1, 6), acceleration.reshape(-1, 6)) < 1e-13


@each_model
def test_derivatives_of_the_spatial_jacobian(model):
    """[M18d] (18), (19)."""
    q, qd, qdd = state(model)
    k = theory.system_kinematics(model, q, qd, representation="spatial")
    np.testing.assert_array_equal(k.A, k.L)
    b = block_diag(*se3.ad(k.V.reshape(-1, 6)))
    assert error(k.b, b, axes=2) < 1e-15
    acceleration = k.J @ qdd + k.L @ b @ k.X @ qd
    assert error(k.acceleration(qdd).reshape(-1, 6), acceleration.reshape(-1, 6)) < 1e-14


@each_representation
@each_model
def test_derivatives_of_the_factors_are_their_slopes(model, representation):
    q, qd, _ = state(model)
    step = 1e-3
    k, *near = (
        theory.system_kinematics(model, q + s * step * qd, qd, representation=representation)
        for s in (0, -2, -1, 1, 2)
    )
    for name in ("X", "D", "J"):
        slope = np.tensordot([1, -8, 8, -1], [getattr(x, name) for x in near], axes=1) / (12 * step)
        np.testing.assert_allclose(getattr(k, f"{name}_dot"), slope, atol=1e-8)


@pytest.mark.parametrize("screws", ["spatial", "body"])
@each_model
def test_the_spatial_jacobian_has_factors_with_constant_screws(model, screws):
    q, other, _ = state(model)
    factors = theory.spatial_factors(model, q, screws)
    k = theory.system_kinematics(model, q, representation="spatial")
    assert error(factors.A @ factors.X, k.J, axes=2) < 1e-14
    assert error(factors.A @ factors.A_inverse, np.eye(6 * model.n), axes=2) < 2e-14
    np.testing.assert_array_equal(factors.X, theory.spatial_factors(model, other, screws).X)

    body = theory.system_kinematics(model, q)
    before = (
        np.broadcast_to(np.eye(6), (model.n, 6, 6)) if screws == "body" else se3.Ad(model.poses)
    )
    to_bodies = block_diag(*se3.Ad(se3.inverse(k.pose)))
    inverse = block_diag(*before) @ body.A_inverse @ to_bodies
    assert error(factors.A_inverse, inverse, axes=2) < 1e-14
    blocks = factors.A.reshape(model.n, 6, model.n, 6).swapaxes(1, 2)
    for i in range(model.n):
        for j in model.path(i):
            np.testing.assert_array_equal(blocks[i, j], blocks[j, j])


@each_representation
def test_batches_equal_single_results(representation):
    model = MODELS[1]
    q, qd = RNG.normal(size=(2, 1, model.n)), RNG.normal(size=(3, model.n))
    qdd = RNG.normal(size=(2, 3, model.n))
    names = ["X", "D", "A", "A_inverse", "J", "V", "X_dot", "D_dot", "J_dot"]
    names += {"body": ["a", "b"], "spatial": ["b"]}.get(representation, [])
    k = theory.system_kinematics(model, q, qd, representation=representation)
    for index in np.ndindex(2, 3):
        args = q[index[0], 0], qd[index[1]]
        single = theory.system_kinematics(model, *args, representation=representation)
        for name in names:
            one = getattr(single, name)
            assert error(getattr(k, name)[index], one, one.ndim) < 1e-14, name
        assert error(k.acceleration(qdd)[index], single.acceleration(qdd[index])) < 1e-14
    factors, single = (theory.spatial_factors(model, x) for x in (q[:, 0], q[1, 0]))
    assert error(factors.A[1], single.A, axes=2) < 1e-14
    assert error(factors.A_inverse[1], single.A_inverse, axes=2) < 1e-14


def test_the_matrices_are_read_only():
    k = theory.system_kinematics(MODELS[0], *state(MODELS[0])[:2])
    for array in (k.J, k.A, k.V, k.pose, k.qd):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert k.J is k.J


def test_bad_arguments_are_named():
    model = MODELS[0]
    zero = np.zeros(model.n)
    kinematics = partial(theory.system_kinematics, model)
    one, two = kinematics(zero), kinematics(np.zeros((2, 7)), zero)
    assert_rejected(
        (lambda: kinematics(zero, representation="world"), "representation 'world'"),
        (lambda: kinematics(None), "requires q"),
        (lambda: kinematics(zero, np.zeros(6)), "qd: (..., 7)"),
        (lambda: one.J_dot, "qd was not given"),
        (lambda: two.acceleration(np.zeros((3, 7))), "states (2,), qdd (3,)"),
        (lambda: kinematics(zero, zero, representation="spatial").a, "matrix a body"),
        (lambda: kinematics(zero, zero, representation="hybrid").b, "matrix b spatial body"),
        (lambda: theory.spatial_factors(model, zero, "hybrid"), "screws: 'spatial' 'hybrid'"),
    )


@pytest.mark.parametrize("D", [np.eye(3), np.ones((2, 3)), 1.0, [[np.nan]]])
def test_a_matrix_that_is_not_nilpotent_is_rejected(D):
    with pytest.raises(dyn.InputError):
        theory.resolvent(D)


def test_the_resolvent_of_an_empty_matrix_and_of_a_batch():
    strict = np.tril(RNG.normal(size=(4, 5, 5)), -1)
    assert error(theory.resolvent(strict), np.linalg.inv(np.eye(5) - strict), axes=2) < 1e-12
    np.testing.assert_array_equal(theory.resolvent(np.zeros((2, 2))), np.eye(2))
