# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Butcher tableaux: order conditions, error estimates, dense output, and errors."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.integration import ButcherTableau
from multibody_dynamics.dynamics.integration.butcher import DORMAND_PRINCE, METHODS, tableau
from rejections import assert_rejected


def conditions(a, weights):
    """Residuals of the order conditions 1 to 5, one for each rooted tree, for any weights."""
    c = a.sum(axis=1)
    ac, acc, aac = a @ c, a @ c**2, a @ (a @ c)
    trees = (
        (1, [(np.ones_like(c), 1)]),
        (2, [(c, 2)]),
        (3, [(c**2, 3), (ac, 6)]),
        (4, [(c**3, 4), (c * ac, 8), (acc, 12), (aac, 24)]),
        (
            5,
            [
                (c**4, 5), (c**2 * ac, 10), (c * acc, 15), (c * aac, 30), (ac**2, 20),
                (a @ c**3, 20), (a @ (c * ac), 40), (a @ acc, 60), (a @ aac, 120),
            ],
        ),
    )  # fmt: skip
    return {p: max(abs(weights @ x - 1 / g) for x, g in rows) for p, rows in trees}


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda m: m.name)
def test_the_stated_order_is_right(method):
    left = conditions(method.a, method.b)
    assert max(left[p] for p in range(1, method.order + 1)) < 1e-14
    assert method.order == 5 or left[method.order + 1] > 1e-3


def test_the_error_estimate_has_the_lower_order():
    left = conditions(DORMAND_PRINCE.a, DORMAND_PRINCE.b - DORMAND_PRINCE.error)
    assert max(left[p] for p in range(1, 5)) < 1e-14 < 1e-4 < left[5]


@pytest.mark.parametrize("s", [0.0, 0.3, 0.75, 1.0])
def test_dense_output_has_order_four(s):
    # at t + s h the right-hand sides are those for a step of length s h
    weights, a = DORMAND_PRINCE.weights(s), DORMAND_PRINCE.a
    c = a.sum(axis=1)
    for power in range(4):
        assert weights @ c**power == pytest.approx(s ** (power + 1) / (power + 1), abs=1e-14)
    assert weights @ (a @ c) == pytest.approx(s**3 / 6, abs=1e-14)
    if s == 1.0:
        assert weights == pytest.approx(DORMAND_PRINCE.b, abs=1e-14)


def test_invalid_tableaux_raise():
    assert_rejected(
        (lambda: ButcherTableau("implicit", np.eye(1), np.ones(1), 1), "zero on above diagonal"),
        (lambda: ButcherTableau("half", np.zeros((1, 1)), np.array([0.5]), 1), "sum to 0.5"),
        (lambda: tableau("rk5"), "unknown method 'rk5'; known: euler"),
        (lambda: tableau("rk4").weights(0.5), "'rk4' has no dense output"),
    )
    with pytest.raises(ValueError, match="read-only"):
        DORMAND_PRINCE.a[0, 0] = 1.0
