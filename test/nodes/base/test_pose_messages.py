# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motions of tools and bases in messages are read as they were written."""

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.nodes.base.messages import SECOND
from multibody_dynamics.nodes.base.pose_messages import (
    cartesian_trajectory_message,
    read_cartesian_trajectory,
)


def test_a_cartesian_trajectory_is_read_as_it_was_written():
    rng = np.random.default_rng(1)
    times, start = np.array([0.0, 0.25, 1.5]), 3 * SECOND + 7
    poses = dyn.se3.exp(rng.normal(size=(3, 6)))
    rates = rng.normal(size=(2, 3, 6))
    message = cartesian_trajectory_message("base", start, times, poses, *rates)
    found = read_cartesian_trajectory(message, "base", lambda frame: np.eye(4))
    assert (found.start, found.orders) == (start, 2)
    np.testing.assert_array_equal(found.times, times)
    np.testing.assert_allclose(found.poses, poses, atol=1e-14)
    np.testing.assert_allclose([found.twists, found.accelerations], rates, atol=1e-14)
