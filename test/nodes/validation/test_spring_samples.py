# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Pairs of joint and motor states become equations of the springs."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from drifting_arm import STIFFNESS, robot
from multibody_dynamics.nodes.base.messages import JointStates, set_stamp
from multibody_dynamics.nodes.validation.spring_samples import SpringSamples

NAMES = ("left_shoulder", "left_elbow")
MS = 1_000_000


def message(stamp, position, effort=()):
    state = JointState(name=NAMES, position=list(position), effort=list(effort))
    set_stamp(state.header.stamp, stamp)
    return state


@pytest.fixture
def samples():
    links = JointStates(NAMES, ("position", "effort"))
    own = SpringSamples(robot().actuators, links, (0, 1), "left_")
    return own, links


def test_pairs_at_a_lower_rate(samples):
    """1 s at 1 kHz, of which every 25th pair is kept; each spring is a tenth too soft."""
    own, links = samples
    rng = np.random.default_rng(1)
    for k in range(1, 1001):
        q, torque = rng.normal(size=(2, 2))
        theta = q + torque / (0.9 * STIFFNESS)
        if k % 2:  # either side may arrive first
            own.add_motors(message(k * MS, theta), 0.0, 0.025)
        assert links.accept(message(k * MS, q, torque), 0)
        own.add_links(0.0, 0.025)
        if not k % 2:
            own.add_motors(message(k * MS, theta), 0.0, 0.025)
    sums = own.taken()
    assert sums.count.tolist() == [0.0, 0.0, 40.0, 40.0]
    change = sums.right[2:, 0] / sums.normal[2:, 0, 0]
    assert change == pytest.approx([-0.1, -0.1])
    assert own.taken() is None


def test_states_without_a_counterpart(samples):
    own, links = samples
    links.accept(message(MS, [0.0, 0.0], [1.0, 1.0]), 0)
    own.add_links(0.0, 0.025)
    own.add_motors(message(2 * MS, [0.0, 0.0]), 0.0, 0.025)
    assert own.taken() is None
    own.add_motors(message(3 * MS, [0.0, 0.0]), 0.003, 0.025)
    links.accept(message(5 * MS, [0.0, 0.0], [1.0, 1.0]), 0)
    own.add_links(0.003, 0.025)
    assert own.taken().count[2] == 1.0
