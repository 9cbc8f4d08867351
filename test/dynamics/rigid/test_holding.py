# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Positions at which effort limits hold the links, compared with the planar arm's closed form."""

from dataclasses import replace

import numpy as np
import pytest

from multibody_dynamics.dynamics.model import MultibodyModel, model_from_screws, revolute
from multibody_dynamics.dynamics.model.inertia import spatial_inertia
from multibody_dynamics.dynamics.rigid import held_joints, held_position, holding_shares

WEIGHT = 3.0 * 9.81  # N of each link, one metre behind its joint


def planar_arm(effort, lower=(-3.0, -3.0), velocity=(1.0, 1.0)) -> MultibodyModel:
    """Two joints about y, one metre apart, with point-like links at a distance of one metre."""
    screws = [revolute([0, -1, 0], [0, 0, 0]), revolute([0, -1, 0], [1, 0, 0])]
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[1, 0, 3] = 1.0
    link = spatial_inertia(3.0, [1.0, 0.0, 0.0], 0.01 * np.eye(3))
    model = model_from_screws([-1, 0], screws, poses, [link, link])
    rows = {"effort": effort, "lower": lower, "velocity": velocity, "upper": (3.0, 3.0)}
    limits = {name: np.array(row, dtype=float) for name, row in rows.items()}
    return replace(model, limits=model.limits._replace(**limits))


def moments(q):
    """(2,) N m against gravity, from the lever arms."""
    elbow = np.cos(q[0] + q[1])
    return WEIGHT * np.abs([2.0 * np.cos(q[0]) + elbow, elbow])


@pytest.mark.parametrize("q", [(0.0, 0.0), (0.4, -1.2), (1.5, 0.3)])
def test_shares_are_those_of_the_lever_arms(q):
    found = holding_shares(planar_arm((100.0, 50.0)), np.array(q))
    np.testing.assert_allclose(found, moments(q) / (100.0, 50.0), rtol=1e-12, atol=1e-12)


def test_a_position_that_is_held_stays():
    near = np.array([0.3, -0.2])
    np.testing.assert_array_equal(held_position(planar_arm((200.0, 60.0)), near), near)


def test_a_stretched_arm_that_is_too_heavy_is_bent_a_little():
    """At zero, the shoulder needs 3 W; the result holds, and the first half of the way does not."""
    model, zero = planar_arm((3.0 * WEIGHT, 1.5 * WEIGHT)), np.zeros(2)
    found = held_position(model, zero)
    assert (moments(found) <= 0.8 * model.limits.effort + 1e-12).all()
    assert (moments(0.5 * found) > 0.8 * model.limits.effort).any()
    assert (np.abs(found) <= 3.0).all()


def test_an_arm_that_nowhere_holds_itself_has_no_position():
    assert held_position(planar_arm((1e-3, 1e-3)), np.zeros(2)) is None


@pytest.mark.parametrize(
    ("limits", "names"),
    [
        ({"effort": (200.0, 60.0)}, ()),
        ({"effort": (200.0, 0.0)}, ("joint_2",)),
        ({"effort": (200.0, 1e-3)}, ("joint_2",)),
        ({"effort": (200.0, 60.0), "velocity": (0.0, 1.0)}, ("joint_1",)),
        ({"effort": (200.0, 60.0), "lower": (-3.0, 3.0)}, ("joint_2",)),
        ({"effort": (np.inf, np.inf)}, ()),
    ],
)
def test_joints_that_no_motion_can_use(limits, names):
    model = planar_arm(**limits)
    assert held_joints(model) == tuple(model.joint_names[int(name[-1]) - 1] for name in names)
