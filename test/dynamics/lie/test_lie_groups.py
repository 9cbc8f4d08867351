# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""State spaces: the group axioms, and dexp^-1 by differences of the product."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import InputError, se3
from multibody_dynamics.dynamics.lie.lie_groups import SE3, SO3, ProductGroup, R, SO3xR3

FACTORS = [SE3(), SO3xR3(), SO3(), R(4)]
GROUP = ProductGroup(FACTORS)


def names(factor):
    return type(factor).__name__


def vectors(dimension, count, seed=5):
    return np.random.default_rng(seed).uniform(-1, 1, (count, dimension))


def test_the_product_group_acts_factor_by_factor():
    x, y, z = vectors(GROUP.dimension, 3)
    assert GROUP.dimension == 19
    X, Y, Z = map(GROUP.exp, (x, y, z))
    left, right = GROUP.product(GROUP.product(X, Y), Z), GROUP.product(X, GROUP.product(Y, Z))
    for a, b, part, factor in zip(left, right, GROUP.split(x), FACTORS, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-15)
        np.testing.assert_array_equal(GROUP.exp(x)[FACTORS.index(factor)], factor.exp(part))


@pytest.mark.parametrize("factor", FACTORS, ids=names)
def test_exp_along_one_direction_is_a_subgroup(factor):
    x = vectors(factor.dimension, 1)[0]
    np.testing.assert_allclose(
        factor.product(factor.exp(0.3 * x), factor.exp(0.9 * x)), factor.exp(1.2 * x), atol=1e-15
    )
    np.testing.assert_allclose(factor.product(factor.exp(x), factor.exp(0 * x)), factor.exp(x))


@pytest.mark.parametrize("factor", FACTORS, ids=names)
def test_dexp_inv_is_the_inverse_of_the_differential(factor):
    """exp(x + h dexp_x^-1 y) = exp(h y) exp(x) to first order in h."""
    x, y = vectors(factor.dimension, 2)
    h = 1e-5
    step = h * factor.dexp_inv(x, y)
    moved = (factor.exp(x + step) - factor.exp(x - step)) / (2 * h)
    turned = (
        factor.product(factor.exp(h * y), factor.exp(x))
        - factor.product(factor.exp(-h * y), factor.exp(x))
    ) / (2 * h)
    np.testing.assert_allclose(moved, turned, atol=1e-9)


def test_the_direct_product_translates_independently_of_rotation():
    C = se3.exp([0.3, -0.2, 0.5, 1.0, 2.0, 3.0])
    both = SO3xR3().product(C, C)
    np.testing.assert_allclose(both[:3, 3], 2 * C[:3, 3])
    np.testing.assert_allclose(both[:3, :3], C[:3, :3] @ C[:3, :3])


def test_groups_have_public_names():
    space = dyn.lie.lie_groups.ProductGroup([dyn.lie.lie_groups.SO3()])
    w = np.array([0.3, -1.0, 2.0])
    _, states = dyn.integration.munthe_kaas(
        space, lambda t, X: w, (np.eye(3),), 1.0, 0.1, method="euler"
    )
    np.testing.assert_allclose(states[-1][0], dyn.so3.exp(w), atol=1e-14)


def test_invalid_elements_are_rejected():
    with pytest.raises(InputError, match=r"start: expected 4 entries, .*, got 1"):
        GROUP.check("start", (np.eye(4),))
    with pytest.raises(InputError, match=r"start\[2\] in SO3.* not a rotation matrix"):
        GROUP.check("start", (np.eye(4), np.eye(4), 2 * np.eye(3), np.zeros(4)))
