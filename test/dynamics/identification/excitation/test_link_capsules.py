# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Capsules: distances of segments by brute force, slopes by central differences, pairs and box."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.identification.excitation.link_capsules import (
    box_excess,
    clearances,
    closest_points,
    end_points,
)
from robots import panda, random_tree, two_link_planar


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from(["any", "parallel", "point"]))
def test_closest_points_of_segments_against_a_minimisation(seed, kind):
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=(2, 2, 3))
    if kind == "parallel":
        other[1] = other[0] + rng.normal() * (one[1] - one[0])
    if kind == "point":
        other[1] = other[0]
    near, far = closest_points(one, other)

    def distance(x):
        apart = one[0] + x[0] * (one[1] - one[0]) - other[0] - x[1] * (other[1] - other[0])
        return apart @ apart

    starts = ([0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5])
    best = min(minimize(distance, x, bounds=[(0, 1)] * 2).fun for x in starts)
    assert np.linalg.norm(near - far) == pytest.approx(np.sqrt(best), abs=2e-4)


@pytest.mark.parametrize("make", [panda, lambda: random_tree(6, 3)])
def test_slopes_of_clearances_and_of_the_box_are_those_of_central_differences(make):
    model = make()
    capsules = idn.link_skeleton(model)
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (5, model.n))
    box = np.array([[-0.5, -0.6, -0.1], [0.7, 0.8, 0.9]])
    direction = np.random.default_rng(2).normal(size=q.shape)
    for function in (
        lambda q: clearances(model, capsules, q),
        lambda q: box_excess(model, capsules, q, box),
    ):
        found = (function(q).slope * direction[:, None]).sum(axis=-1)
        step = 1e-6
        ends = [function(q + s * step * direction).distance for s in (1, -1)]
        np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * step), rtol=0, atol=1e-6)


def test_two_links_touch_when_the_arm_is_folded():
    """The forearm, folded back, lies on the base; its distance follows from plane geometry."""
    model = two_link_planar(1.0, 0.7)
    capsules = idn.link_skeleton(model, 0.1)
    owners = {tuple(capsules.bodies[pair]) for pair in capsules.pairs}
    assert (-1, 1) in owners
    assert (0, 1) not in owners  # neighbours
    folded = clearances(model, capsules, np.array([[0.0, np.pi], [0.0, 0.0]])).distance
    column = [tuple(capsules.bodies[pair]) for pair in capsules.pairs].index((-1, 1))
    assert folded[0, column] < 0.4 < 0.7 < folded[1, column]


def test_ends_fixed_to_the_pedestal_may_stand_outside_the_box():
    model = panda()
    capsules = idn.link_skeleton(model)
    points = end_points(model, capsules, np.random.default_rng(1).uniform(-1, 1, (20, model.n)))
    still = np.ptp(points, axis=0).max(axis=-1) < 1e-9
    assert still.any()
    assert not capsules.boxed[still].any()


def test_radii_must_be_positive():
    with pytest.raises(InputError, match="radii of capsules"):
        idn.link_skeleton(panda(), 0.0)
