# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tabulated friction terms equal the closed forms between their nodes."""

import numpy as np

from multibody_dynamics.dynamics.identification.drives.friction_terms import (
    VelocityNodes,
    stribeck_shape,
)

V = np.linspace(-3.0, 3.0, 4001)


def test_tabulated_terms_equal_the_closed_forms_for_all_velocities():
    nodes = VelocityNodes(1.0)
    for log_velocity in np.linspace(*nodes.bounds, 203):
        weights, _ = nodes.weights(log_velocity)
        v0 = np.exp(log_velocity)
        assert np.abs(nodes.coulomb(V) @ weights - np.tanh(V / v0)).max() < 3e-4
        assert np.abs(nodes.stribeck(V) @ weights - stribeck_shape(V / v0)).max() < 6e-3


def test_the_slope_of_the_weights_by_differences():
    nodes, h = VelocityNodes(0.4), 1e-5
    middle = np.mean(nodes.bounds)
    (after, _), (before, _) = (nodes.weights(middle + step) for step in (h, -h))
    assert np.allclose((after - before) / (2 * h), nodes.weights(middle)[1], atol=1e-6)


def test_the_stribeck_term_has_the_maximum_one():
    assert abs(stribeck_shape(np.array(np.sqrt(0.5))) - 1.0) < 1e-15
    assert np.abs(stribeck_shape(V)).max() <= 1.0 + 1e-15
