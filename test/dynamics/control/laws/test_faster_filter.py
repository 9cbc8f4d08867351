# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Filters made faster for the resonance of a small last link."""

from __future__ import annotations

import numpy as np

from elastic_arms import shipped
from multibody_dynamics.dynamics import control, load_actuators, load_urdf
from multibody_dynamics.dynamics.control import middle_of_range
from robots import CONFIG

CONDITIONS = {"delay": 1e-3, "poses": 5}


def test_a_faster_filter_stabilises_the_six_joint_arm():
    """The damping by the motors comes too late at 577 rad/s, with or without gravity; lower gains
    do not help."""
    robot = CONFIG / "robots" / "six_joint_arm.urdf"
    given = load_urdf(robot)
    actuators = load_actuators(CONFIG / "elastic_joints" / "six_joint_arm.yaml", given.joint_names)
    for model in (given, given.with_gravity((0.0, 0.0, 0.0))):
        law = control.Arm(model, actuators)
        q = middle_of_range(model)
        found = law.laws.judge("motor_pd", q, **CONDITIONS)
        assert found.is_unstable.any()
        assert found.is_late
        assert found.joint == "wrist_3"
        assert "a faster filter or less delay helps" in str(found)
        bandwidth = law.laws.faster_filter(("motor_pd", "hold"), q, **CONDITIONS)
        assert 100.0 < bandwidth < 200.0
        assert law.laws.judge("motor_pd", q, **CONDITIONS).growth.max() == found.growth.max()
    assert law.laws.faster_filter(("motor_pd",), q, delay=4e-3, poses=2) is None


def test_an_arm_without_fast_resonances_is_not_late():
    arm = shipped("planar_two_link")
    found = control.Arm(arm.model, arm.actuators).laws.judge("motor_pd", np.zeros(2), **CONDITIONS)
    assert not found.is_late
