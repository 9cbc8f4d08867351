# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""SE(3): group laws, and 50-digit references with omega and v scaled independently."""

from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from multibody_dynamics.dynamics import se3, so3
from multibody_dynamics.dynamics.core.errors import InputError
from rejections import assert_rejected

property_of_all = settings(max_examples=60, deadline=None, derandomize=True)

LENGTHS = (0.0, 1e-12, 1e-6, 1.0, 1e3)
AXIS = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
DIRECTIONS = (np.array([0.5, 0.7, -0.4]), AXIS, np.cross(AXIS, [0, 0, 1]))

SCREW_FUNCTIONS = (se3.hat, se3.exp, se3.ad, se3.coad, se3.dexp, se3.dexp_inv)
POSE_FUNCTIONS = (se3.vee, se3.log, se3.inverse, se3.Ad, se3.coAd)


def screws(largest_angle: float = 3.1) -> st.SearchStrategy:
    return st.builds(lambda *X: np.concatenate(X), vectors(largest_angle), vectors(1e3))


def poses() -> st.SearchStrategy:
    return st.builds(se3.from_rotation_translation, vectors(3.1).map(so3.exp), vectors(1e3))


def block_error(actual, expected) -> float:
    """The worst error() of the rotation and translation parts of two screws, poses or 6x6 maps."""
    parts = {
        (6,): (np.s_[:3], np.s_[3:]),
        (4, 4): (np.s_[:3, :3], np.s_[:3, 3], np.s_[3]),
        (6, 6): (np.s_[:3, :3], np.s_[:3, 3:], np.s_[3:, :3], np.s_[3:, 3:]),
    }[np.shape(actual)]
    return max(error(actual[part], expected[part]) for part in parts)


def exact_hat(X):
    matrix = exact(np.zeros((4, 4)))
    matrix[:3, :3], matrix[:3, 3] = exact_hat3(X[:3]), X[3:]
    return matrix


def exact_ad(X):
    matrix = exact(np.zeros((6, 6)))
    matrix[:3, :3] = matrix[3:, 3:] = exact_hat3(X[:3])
    matrix[3:, :3] = exact_hat3(X[3:])
    return matrix


def exact_dexp_inv(dexp):
    """[[P, 0], [D, P]]^-1 by its blocks."""
    P = exact_inverse(dexp[:3, :3])
    result = exact(np.zeros((6, 6)))
    result[:3, :3] = result[3:, 3:] = P
    result[3:, :3] = -P @ dexp[3:, :3] @ P
    return result


def exact_log(C, near):
    """The logarithm of a pose whose float64 rotation is made exact; see exact_rotation_log."""
    omega = exact_rotation_log(exact_rotation(C[:3, :3]), near)
    p = exact(C[:3, 3])
    return np.concatenate([omega, exact_inverse(exact_series(exact_hat3(omega), 1)) @ p])


def grid(angle: float):
    """Screws of one angle, and translations of every length along, across and askew to the axis."""
    return np.array([[*(angle * AXIS), *(s * d)] for s in LENGTHS for d in DIRECTIONS])


@pytest.mark.parametrize("angle", [*ANGLES, *BEYOND])
@pytest.mark.parametrize(
    ("function", "matrix", "shift"), [(se3.exp, exact_hat, 0), (se3.dexp, exact_ad, 1)]
)
def test_exp_and_dexp_are_their_power_series(function, matrix, shift, angle):
    X = grid(angle)
    for x, result in zip(X, function(X), strict=True):
        assert block_error(result, exact_series(matrix(exact(x)), shift)) < 1e-14


@pytest.mark.parametrize("angle", [*ANGLES, 5.0])
def test_dexp_inv_inverts_dexp(angle):
    X = grid(angle)
    for x, result in zip(X, se3.dexp_inv(X), strict=True):
        assert block_error(result, exact_dexp_inv(exact_series(exact_ad(exact(x)), 1))) < 1e-14
        product = result @ se3.dexp(x)
        product[3:, :3] /= max(1e-12, np.linalg.norm(x[3:]))
        assert np.abs(product - np.eye(6)).max() < 2e-14


@pytest.mark.parametrize("angle", ANGLES)
def test_log_against_50_digits(angle):
    for X in grid(angle):
        C = se3.exp(X)
        result = se3.log(C)
        assert block_error(result, exact_log(C, near=result[:3])) < 1e-14
        if angle < np.pi:
            assert block_error(result, X) < 1e-14


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.1, 2.0, np.pi, 5.0, 7.0])
def test_dexp_is_the_right_trivialised_derivative_of_exp(angle):
    X = exact([*(angle * AXIS), 0.9, -0.2, 1.4])
    rate, h = exact([0.4, 0.7, -0.2, -0.5, 0.1, 0.8]), mp.mpf(10) ** -20
    step = [exact_series(exact_hat(X + s * h * rate)) for s in (1, -1)]
    spatial = (step[0] - step[1]) / (2 * h) @ exact_series(exact_hat(-X))
    body = exact_series(exact_hat(-X)) @ (step[0] - step[1]) / (2 * h)
    X, rate = X.astype(float), rate.astype(float)
    assert error(se3.hat(se3.dexp(X) @ rate), spatial) < 1e-14
    assert error(se3.hat(se3.dexp(-X) @ rate), body) < 1e-14


def test_printed_equations_of_mueller_and_terze_where_they_are_accurate():
    X = np.array([0.6, -1.1, 0.7, 0.2, 0.5, -0.9])
    omega, v = X[:3], X[3:]
    x, A = np.linalg.norm(omega), se3.ad(X)
    translation = (np.eye(3) - so3.exp(omega)) @ np.cross(omega, v) / x**2
    equation_8 = translation + omega @ v / x**2 * omega
    f = 2 / x**2 + (x + 3 * np.sin(x)) / (4 * x * (np.cos(x) - 1))
    g = 1 / x**4 + (x + np.sin(x)) / (4 * x**3 * (np.cos(x) - 1))
    equation_10 = np.eye(6) - A / 2 + f * A @ A + g * A @ A @ A @ A
    assert error(se3.exp(X)[:3, 3], equation_8) < 1e-14
    assert error(se3.dexp_inv(X), equation_10) < 1e-13


@pytest.mark.parametrize("distance", [1e-2, 1e-5, -1e-5, 1e-9])
def test_dexp_inv_loses_digits_only_near_its_pole(distance):
    X = np.array([*((2 * np.pi - distance) * AXIS), 0.5, 0.7, -0.4])
    expected = exact_dexp_inv(exact_series(exact_ad(exact(X)), 1))
    eps = np.finfo(float).eps * 2 * np.pi / abs(distance)
    assert block_error(se3.dexp_inv(X), expected) < 4 * eps


@property_of_all
@given(poses())
def test_exp_inverts_log(C):
    assert block_error(se3.exp(se3.log(C)), C) < 1e-14


@property_of_all
@given(screws(7))
def test_a_motion_and_its_negative_are_inverse(X):
    difference = se3.exp(-X) - se3.inverse(se3.exp(X))
    assert np.abs(difference[:3, :3]).max() < 1e-14
    assert np.abs(difference[:3, 3]).max() < 1e-14 * np.linalg.norm(X[3:])


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 1.0, np.pi, 5.0])
def test_Ad_of_exp_is_exp_of_ad(angle):
    for X in grid(angle):
        assert block_error(se3.Ad(se3.exp(X)), exact_series(exact_ad(exact(X)))) < 1e-14
        expected = exact_series(-exact_ad(exact(X)).T)
        assert block_error(se3.coAd(se3.exp(X)), expected) < 1e-14
        np.testing.assert_array_equal(se3.coad(X), -se3.ad(X).T)


@property_of_all
@given(screws(10), screws(10))
def test_ad_is_the_commutator_of_the_matrices(X, Y):
    x, y = se3.hat(X), se3.hat(Y)
    scale = np.linalg.norm(X) * np.linalg.norm(Y)
    assert np.abs(se3.hat(se3.ad(X) @ Y) - (x @ y - y @ x)).max() < 1e-14 * scale
    assert np.abs(se3.ad(X) @ Y + se3.ad(Y) @ X).max() < 1e-14 * scale


def test_vee_inverts_hat():
    X = np.random.default_rng(2).normal(size=(5, 6))
    np.testing.assert_array_equal(se3.vee(se3.hat(X)), X)


@pytest.mark.parametrize("batch", [(), (1,), (4,), (2, 3), (0,), (2, 0)])
@pytest.mark.parametrize("function", SCREW_FUNCTIONS + POSE_FUNCTIONS, ids=lambda f: f.__name__)
def test_batches_hold_single_results(function: Callable, batch):
    X = np.random.default_rng(3).normal(size=(*batch, 6))
    argument = X if function in SCREW_FUNCTIONS else se3.exp(X)
    pose_like, screw_like = (se3.hat, se3.exp, se3.inverse), (se3.vee, se3.log)
    shape = (4, 4) if function in pose_like else (6,) if function in screw_like else (6, 6)
    result = function(argument)
    assert result.shape == (*batch, *shape)
    assert result.dtype == np.float64
    for index in np.ndindex(batch):
        assert error(result[index], function(argument[index])) < 1e-15


def test_from_rotation_translation_broadcasts():
    R, p = so3.exp([0.1, 0.2, 0.3]), np.arange(6.0).reshape(2, 3)
    C = se3.from_rotation_translation(R, p)
    np.testing.assert_array_equal(C[:, :3, :3], [R, R])
    np.testing.assert_array_equal(C[:, :3, 3], p)
    np.testing.assert_array_equal(C[:, 3], [[0, 0, 0, 1]] * 2)
    with pytest.raises(InputError, match="do not broadcast"):
        se3.from_rotation_translation(np.stack([R] * 3), p)


@pytest.mark.parametrize("function", SCREW_FUNCTIONS + POSE_FUNCTIONS, ids=lambda f: f.__name__)
def test_arguments_are_neither_written_nor_returned(function: Callable):
    X = np.array([[0.1, -0.2, 0.3, 1.0, 2.0, 3.0]])
    argument = X if function in SCREW_FUNCTIONS else se3.exp(X)
    before = argument.copy()
    result = function(argument)
    assert not np.shares_memory(result, argument)
    result[...] = 7
    np.testing.assert_array_equal(argument, before)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((6, 2)), 1.0, [np.nan, 0, 0, 0, 0, 0]])
@pytest.mark.parametrize("function", SCREW_FUNCTIONS, ids=lambda f: f.__name__)
def test_screw_functions_reject_invalid_screws(function: Callable, bad):
    assert_rejected((lambda: function(bad), "X"))


@pytest.mark.parametrize(
    ("bad", "found"),
    [
        (np.eye(3), "shape"),
        (np.full((4, 4), np.nan), "finite"),
        (np.diag([1, 1, 2, 1]), "not a rotation matrix"),
        (np.diag([1, 1, -1, 1]), "reflection"),
        (np.diag([1, 1, 1, 2]), "last row"),
        (np.eye(4) + np.eye(4)[::-1], "last row"),
    ],
)
def test_log_rejects_invalid_poses(bad, found):
    with pytest.raises(InputError, match=found):
        se3.log(bad)
