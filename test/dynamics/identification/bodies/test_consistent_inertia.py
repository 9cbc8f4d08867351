# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inertias that are always possible, and how far they are from each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.bodies.consistent_inertia import divergence

idn = dyn.identification

NUMBERS = st.lists(st.floats(-1.5, 1.5), min_size=10, max_size=10).map(np.array)


@settings(max_examples=25)
@given(NUMBERS)
def test_log_cholesky_parameters_convert_to_bodies_and_back(theta):
    parameters = idn.consistent_parameters(theta)
    eigenvalues = np.linalg.eigvalsh(idn.pseudo_inertia(parameters))
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
    assert np.allclose(
        idn.consistent_parameters(idn.log_cholesky(parameters)), parameters, atol=1e-9
    )


def test_impossible_parameters_are_rejected_or_made_consistent():
    odd = np.array([1.0, 0, 0, 0, 1.0, 0, 0, 0.1, 0, 0.1])  # 1 > 0.1 + 0.1
    with pytest.raises(dyn.InputError, match="not physically consistent"):
        idn.log_cholesky(odd)
    near = idn.nearest_consistent(odd)
    assert idn.is_physically_consistent(near)
    assert near[0] == odd[0]
    assert idn.is_physically_consistent(idn.nearest_consistent(np.zeros(10)))
    body = idn.consistent_parameters(np.full(10, 0.3))
    assert np.allclose(idn.nearest_consistent(body), body)


@settings(max_examples=20)
@given(NUMBERS, NUMBERS)
def test_the_divergence_from_a_body(theta, other):
    body, reference = (idn.consistent_parameters(0.5 * x) for x in (theta, other))
    found = divergence(body, reference)
    assert found.value >= -1e-9
    assert abs(divergence(reference, reference).value) < 1e-9
    assert np.linalg.eigvalsh(found.hessian)[0] > 0.0  # convex
    h = 1e-6 * np.abs(body).max() * np.eye(10)
    sides = [[divergence(body + sign * step, reference) for step in h] for sign in (1.0, -1.0)]
    for k, (after, before) in enumerate(zip(*sides, strict=True)):
        if not np.isfinite([after.value, before.value]).all():
            continue
        slope = (after.value - before.value) / (2.0 * h[k, k])
        bend = (after.gradient - before.gradient) / (2.0 * h[k, k])
        size = np.abs(found.hessian).max()
        assert abs(slope - found.gradient[k]) < 1e-3 * (1.0 + size)
        assert np.allclose(bend, found.hessian[k], atol=1e-3 * size)


def test_the_divergence_of_a_scaled_and_of_an_impossible_body():
    body = idn.consistent_parameters(np.full(10, 0.3))
    assert divergence(1.01 * body, body).value == pytest.approx(2.0 * 0.01**2, rel=0.02)
    assert divergence(-body, body).value == np.inf
