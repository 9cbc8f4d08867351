# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""SO(3): group laws, and 50-digit references at every scale of the angle."""

from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings

from lie_reference import (
    ANGLES,
    BEYOND,
    error,
    exact,
    exact_hat3,
    exact_inverse,
    exact_rotation,
    exact_rotation_log,
    exact_series,
    vectors,
)
from multibody_dynamics.dynamics import so3
from multibody_dynamics.dynamics.core.errors import InputError
from rejections import assert_rejected

property_of_all = settings(max_examples=60, deadline=None, derandomize=True)

AXES = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, -1, 1], [0.3, -0.5, 0.8], [-2e-5, 1, -3e-9]]
)
AXES = AXES / np.linalg.norm(AXES, axis=-1, keepdims=True)

VECTOR_FUNCTIONS = (so3.hat, so3.exp, so3.ad, so3.coad, so3.dexp, so3.dexp_inv)
MATRIX_FUNCTIONS = (so3.vee, so3.log, so3.inverse, so3.Ad, so3.coAd)


def rotation_vectors(angles):
    return np.multiply.outer(np.array(angles), AXES)


@pytest.mark.parametrize("angle", [1e-170, *ANGLES, *BEYOND, 6.0])
def test_coefficients_are_their_series(angle):
    computed = [c[0, 0] for c in so3.stumpff([0, 0, angle])]
    z = mp.mpf(angle) ** 2
    c = [sum((-z) ** j / mp.factorial(2 * j + k) for j in range(60)) for k in range(7)]
    assert computed == pytest.approx([float(ck) for ck in c], rel=1e-14, abs=1e-16)
    assert error(computed[2:], np.array(c[2:])) < 1e-15
    derivatives = [computed[k - 2] - (k - 2) * computed[k] for k in (4, 5)]
    assert derivatives == pytest.approx([float(c[2] - 2 * c[4]), float(c[3] - 3 * c[5])], rel=1e-14)


@pytest.mark.parametrize("angle", [*ANGLES[1:], *BEYOND])
def test_coefficients_of_dexp_inv_are_the_cotangent_and_its_derivative(angle):
    g, dg = so3.cotangent(so3.stumpff([angle, 0, 0]))
    with mp.workdps(120):
        exact_g = lambda x: (1 - x / 2 * mp.cot(x / 2)) / x**2  # noqa: E731
        x = mp.mpf(angle)
        assert g.item() == pytest.approx(float(exact_g(x)), rel=1e-14)
        assert dg.item() == pytest.approx(float(mp.diff(exact_g, x) / x), rel=1e-14)


def test_coefficients_of_dexp_inv_at_zero_are_bernoulli_numbers():
    g, dg = so3.cotangent(so3.stumpff(np.zeros(3)))
    assert g.item() == pytest.approx(float(mp.bernoulli(2) / 2), rel=1e-15)
    assert dg.item() == pytest.approx(float(-mp.bernoulli(4) / 12), rel=1e-14)


@pytest.mark.parametrize("angle", [*ANGLES, *BEYOND])
@pytest.mark.parametrize(("function", "shift"), [(so3.exp, 0), (so3.dexp, 1)])
def test_exp_and_dexp_are_their_power_series(function, shift, angle):
    omegas = rotation_vectors(angle)
    for omega, result in zip(omegas, function(omegas), strict=True):
        expected = exact_series(exact_hat3(exact(omega)), shift)
        assert error(result, expected) < 1e-14
        if 0 < angle < 3:
            off = ~np.eye(3, dtype=bool)  # small angles appear here, next to ones on the diagonal
            assert error(result[off], expected[off]) < 1e-14


@pytest.mark.parametrize("angle", [*ANGLES, 5.0])
def test_dexp_inv_inverts_dexp(angle):
    omegas = rotation_vectors(angle)
    for omega, result in zip(omegas, so3.dexp_inv(omegas), strict=True):
        assert error(result, exact_inverse(exact_series(exact_hat3(exact(omega)), 1))) < 1e-14
    assert np.abs(so3.dexp_inv(omegas) @ so3.dexp(omegas) - np.eye(3)).max() < 2e-14


def test_dexp_inv_is_equation_11_of_mueller_and_terze():
    omega = np.array([0.6, -1.1, 0.7])
    x, W = np.linalg.norm(omega), so3.hat(omega)
    printed = np.eye(3) - W / 2 + (1 - x / 2 / np.tan(x / 2)) * W @ W / x**2
    assert error(so3.dexp_inv(omega), printed) < 1e-14


@pytest.mark.parametrize("angle", ANGLES)
def test_log_against_50_digits(angle):
    for omega in rotation_vectors(angle):
        R = so3.exp(omega)
        result = so3.log(R)
        assert error(result, exact_rotation_log(exact_rotation(R), near=result)) < 1e-14
        if angle < np.pi:
            assert error(result, omega) < 1e-14


def test_log_of_a_half_turn_about_any_axis():
    axes = np.concatenate([AXES, np.random.default_rng(1).normal(size=(200, 3))])
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    omegas = so3.log(2 * axes[:, :, None] * axes[:, None, :] - np.eye(3))
    signs = np.sign(np.sum(omegas * axes, axis=-1, keepdims=True))
    assert np.abs(signs * omegas - np.pi * axes).max() < 1e-14 * np.pi


@pytest.mark.parametrize(
    ("diagonal", "axis"), [((1, -1, -1), 0), ((-1, 1, -1), 1), ((-1, -1, 1), 2)]
)
def test_log_of_a_half_turn_about_a_coordinate_axis_is_exact(diagonal, axis):
    np.testing.assert_array_equal(so3.log(np.diag(diagonal)), np.pi * np.eye(3)[axis])


@pytest.mark.parametrize("length", [0.0, 1e-170, 1e-300])
def test_angles_whose_square_underflows(length):
    omega = length * AXES[5]
    np.testing.assert_array_equal(so3.exp(omega), np.eye(3) + so3.hat(omega))
    assert error(so3.log(so3.exp(omega)), omega) < 1e-15


def test_log_is_continuous_across_a_change_of_pivot():
    angles = np.linspace(1.5, 3.1, 400)
    omegas = np.multiply.outer(angles, AXES)
    assert np.abs(so3.log(so3.exp(omegas)) - omegas).max() < 1e-14 * np.pi


@property_of_all
@given(vectors(100))
def test_exp_inverts_log_and_log_is_shortest(omega):
    R = so3.exp(omega)
    assert np.linalg.norm(so3.log(R)) <= np.pi + 1e-15
    assert error(so3.exp(so3.log(R)), R) < 1e-14


@property_of_all
@given(vectors(3), vectors(3), vectors(1e3), vectors(1e3))
def test_adjoints(omega_1, omega_2, a, m):
    R, S = so3.exp(omega_1), so3.exp(omega_2)
    assert error(so3.Ad(R @ S), so3.Ad(R) @ so3.Ad(S)) < 1e-15
    assert error(R @ so3.hat(a) @ so3.inverse(R), so3.hat(so3.Ad(R) @ a)) < 1e-14
    scale = np.linalg.norm(a) * np.linalg.norm(m)
    assert abs((so3.Ad(R) @ a) @ (so3.coAd(R) @ m) - a @ m) < 1e-14 * scale
    assert np.abs(so3.ad(a) @ m - np.cross(a, m)).max() <= 1e-15 * scale
    np.testing.assert_array_equal(so3.coad(a), -so3.ad(a).T)
    assert error(so3.coAd(R), np.linalg.inv(so3.Ad(R)).T) < 1e-14


def test_vee_inverts_hat_and_takes_the_skew_part():
    omega = np.random.default_rng(2).normal(size=(5, 3))
    np.testing.assert_array_equal(so3.vee(so3.hat(omega)), omega)
    np.testing.assert_array_equal(so3.vee([[1, -3, 2], [3, 1, -1], [-2, 1, 1]]), [1, 2, 3])
    np.testing.assert_array_equal(so3.vee(np.diag([1, 2, 3]) + np.ones((3, 3))), 0)


@pytest.mark.parametrize("batch", [(), (1,), (4,), (2, 3), (0,), (2, 0)])
@pytest.mark.parametrize("function", VECTOR_FUNCTIONS + MATRIX_FUNCTIONS, ids=lambda f: f.__name__)
def test_batches_hold_single_results(function: Callable, batch):
    omega = np.random.default_rng(3).normal(size=(*batch, 3))
    argument = omega if function in VECTOR_FUNCTIONS else so3.exp(omega)
    shape = (3,) if function in (so3.vee, so3.log) else (3, 3)
    result = function(argument)
    assert result.shape == (*batch, *shape)
    assert result.dtype == np.float64
    for index in np.ndindex(batch):
        assert error(result[index], function(argument[index])) < 1e-15


@pytest.mark.parametrize("function", VECTOR_FUNCTIONS + MATRIX_FUNCTIONS, ids=lambda f: f.__name__)
def test_arguments_are_neither_written_nor_returned(function: Callable):
    omega = np.array([[0.1, -0.2, 0.3]])
    argument = omega if function in VECTOR_FUNCTIONS else so3.exp(omega)
    before = argument.copy()
    result = function(argument)
    assert not np.shares_memory(result, argument)
    result[...] = 7
    np.testing.assert_array_equal(argument, before)


def test_integers_and_single_precision_are_taken_as_float64():
    np.testing.assert_array_equal(so3.exp([0, 0, 1]), so3.exp([0.0, 0.0, 1.0]))
    omega = np.array([0.1, 0.2, 0.3], dtype=np.float32)
    np.testing.assert_array_equal(so3.exp(omega), so3.exp(omega.astype(np.float64)))


@pytest.mark.parametrize("bad", [np.zeros(4), np.zeros((3, 2)), 1.0, [np.nan, 0, 0], [1j, 0, 0]])
@pytest.mark.parametrize("function", VECTOR_FUNCTIONS, ids=lambda f: f.__name__)
def test_vector_functions_reject_invalid_vectors(function: Callable, bad):
    assert_rejected((lambda: function(bad), "omega"))


@pytest.mark.parametrize(
    ("bad", "found"),
    [
        (np.eye(4), "shape"),
        (np.eye(3)[:2], "shape"),
        (np.full((3, 3), np.nan), "finite"),
        (np.zeros((3, 3)), "differs from 1 by 1,"),
        (1.00001 * np.eye(3), "differs from 1 by 2e-05,"),
        (1e200 * np.eye(3), "differs from 1 by inf,"),
        (-np.eye(3), "reflection"),
        ([np.eye(3), np.diag([1, 1, -1])], r"R\[1\] is not a rotation matrix.*reflection"),
    ],
)
def test_log_rejects_invalid_rotations(bad, found):
    with pytest.raises(InputError, match=found):
        so3.log(bad)


def test_log_accepts_a_rotation_in_single_precision():
    omega = np.array([0.3, -0.4, 0.5])
    assert error(so3.log(so3.exp(omega).astype(np.float32)), omega) < 1e-6
