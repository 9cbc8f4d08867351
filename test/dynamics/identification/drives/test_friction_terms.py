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


def test_bristles_between_nodes_follow_the_motion():
    """Against steps of their own; y = sign(s) + (y_0 - sign(s)) exp(-|s| / d) over a way s."""
    nodes = VelocityNodes(1.0, has_bristles=True)
    q = 2e-3 * np.sin(np.linspace(0.0, 9.0, 3001))
    table = nodes.bristles(q)
    for d in np.geomspace(1.2 * nodes.values[0], 0.8 * nodes.values[-1], 7):
        y, found = 0.0, [0.0]
        for way in np.diff(q):
            y = np.sign(way) + (y - np.sign(way)) * np.exp(-abs(way) / d)
            found.append(y)
        weights, _ = nodes.weights(np.log(d))
        assert np.abs(table @ weights - found).max() < 2e-3
