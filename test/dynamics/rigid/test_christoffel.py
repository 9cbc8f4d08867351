# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Christoffel symbols against first principles and each other."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference as ref
from multibody_dynamics import dynamics as dyn
from reference import error
from robots import draw, panda, random_tree

SEEDS = st.integers(0, 2**32 - 1)
FUNCTIONS = (dyn.christoffel_symbols, dyn.rigid.christoffel_symbols_binet)
EQUAL = 1e-13


def symbols_of_torques(model, q):
    """Gamma_ijk = (b(e_j + e_k) - b(e_j) - b(e_k)) / 2, where b(q') are the velocity forces."""
    free = model.with_gravity(np.zeros(3))
    units = np.eye(model.n)

    def bias(qd):
        return ref.dynamics(free, [q, qd, 0 * q]).torques[0]

    squares = [bias(unit) for unit in units]
    symbols = np.zeros((model.n,) * 3, dtype=object)
    for j, square in enumerate(squares):
        symbols[:, j, j] = square
    for j, k in combinations(range(model.n), 2):
        mixed = (bias(units[j] + units[k]) - squares[j] - squares[k]) / 2
        symbols[:, j, k] = symbols[:, k, j] = mixed
    return symbols.astype(float)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("model", [panda(), random_tree(6, 8), random_tree(6, 9)], ids=repr)
def test_velocity_forces_from_first_principles_determine_them(function, model):
    q = draw(model, 1)[0]
    assert error(function(model, q), symbols_of_torques(model, q), 3) < EQUAL


@settings(max_examples=15)
@given(SEEDS)
def test_both_closed_forms_agree_and_are_symmetric(seed):
    """[M18d] (86) and (87), corrected."""
    model = random_tree(6, seed)
    q = draw(model, 1, 3, seed=seed)[0]
    first, second = (function(model, q) for function in FUNCTIONS)
    assert error(second, first, 3) < EQUAL
    for symbols in (first, second):
        np.testing.assert_array_equal(symbols, np.swapaxes(symbols, -1, -2))
