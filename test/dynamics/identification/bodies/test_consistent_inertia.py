"""Inertias that are always possible, and the derivatives of their parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.bodies.consistent_inertia import (
    consistent_derivative,
)

NUMBERS = st.lists(st.floats(-1.5, 1.5), min_size=10, max_size=10).map(np.array)


@settings(max_examples=25)
@given(NUMBERS)
def test_log_cholesky_parameters_convert_to_bodies_and_back(theta):
    parameters = dyn.identification.consistent_parameters(theta)
    eigenvalues = np.linalg.eigvalsh(dyn.identification.pseudo_inertia(parameters))
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
    assert np.allclose(
        dyn.identification.consistent_parameters(dyn.identification.log_cholesky(parameters)),
        parameters,
        atol=1e-9,
    )


@settings(max_examples=10)
@given(NUMBERS)
def test_the_derivative_of_consistent_parameters_by_differences(theta):
    h = 1e-6
    for k, column in enumerate(consistent_derivative(theta).T):
        step = h * np.eye(10)[k]
        after, before = dyn.identification.consistent_parameters(
            np.stack([theta + step, theta - step])
        )
        assert np.allclose(
            (after - before) / (2 * h), column, atol=1e-6 * (1 + np.abs(column).max())
        )


def test_impossible_parameters_are_rejected_or_made_consistent():
    odd = np.array([1.0, 0, 0, 0, 1.0, 0, 0, 0.1, 0, 0.1])  # 1 > 0.1 + 0.1
    with pytest.raises(dyn.InputError, match="not physically consistent"):
        dyn.identification.log_cholesky(odd)
    near = dyn.identification.nearest_consistent(odd)
    assert dyn.identification.is_physically_consistent(near)
    assert near[0] == odd[0]
    assert dyn.identification.is_physically_consistent(
        dyn.identification.nearest_consistent(np.zeros(10))
    )
    body = dyn.identification.consistent_parameters(np.full(10, 0.3))
    assert np.allclose(dyn.identification.nearest_consistent(body), body)
