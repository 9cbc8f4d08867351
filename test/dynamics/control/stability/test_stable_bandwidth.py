# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The largest bandwidth with which a loop is stable at all poses, and filters made faster for the
resonance of a small last link."""

import numpy as np
import pytest

from elastic_arms import shipped
from multibody_dynamics.dynamics import control, load_actuators, load_urdf
from multibody_dynamics.dynamics.control import StateEstimation, stable_bandwidth
from multibody_dynamics.dynamics.control.stability.stable_bandwidth import STEP
from multibody_dynamics.dynamics.core import DynamicsError
from robots import CONFIG

ENCODERS = StateEstimation("link_and_motor_encoders", bandwidth=100.0)
OFF = 0.3


class Stated:
    """A judge of controllers that are numbers: pose k is unstable above its limit."""

    def __init__(self, limits, windows=()):
        self.limits, self.windows, self.asked = limits, windows, []

    def unstable_pose(self, value, order=(), above=0.0):
        self.asked.append((value, tuple(order)))
        for k in (*order, *range(len(self.limits))):
            if value > self.limits[k] or any(a < value < b for a, b in self.windows):
                return k
        return None


def found(limits, largest=100.0, smallest=10.0, **others):
    return stable_bandwidth(lambda b: b, largest, smallest, Stated(limits, **others))


def test_a_stable_bandwidth_stays():
    assert found([120.0, 100.0]).bandwidth == 100.0


def test_a_lowered_one_has_a_margin():
    """One step below the first stable one, and itself stable."""
    assert found([200.0, 90.0]).bandwidth == pytest.approx(100.0 * STEP**2)
    assert found([200.0, 80.0]).bandwidth == pytest.approx(100.0 * STEP**3)
    window = (100.0 * STEP**2 - 1.0, 100.0 * STEP**2 + 1.0)  # unstable in between
    assert found([90.0], windows=[window]).bandwidth == pytest.approx(100.0 * STEP**4)


def test_there_may_be_none():
    assert found([5.0]) is None
    assert found([10.5]) is None  # without a margin

    def refused(bandwidth):
        raise DynamicsError("no solution")

    assert stable_bandwidth(refused, 100.0, 10.0, Stated([1e3])) is None


def test_poses_that_were_unstable_are_tried_first():
    judge = Stated([200.0, 200.0, 60.0])
    stable_bandwidth(lambda b: b, 100.0, 10.0, judge)
    assert judge.asked[0][1] == ()
    assert all(order == (2,) for _, order in judge.asked[1:])


@pytest.mark.parametrize(
    ("name", "design"), [("planar_two_link", "coupled"), ("antagonistic_elbow", "joint")]
)
def test_it_is_stable_for_other_robots_of_the_box_too(name, design):
    """30 % off: the fixed compensation is unstable at some poses; the one found is stable at all of
    them and, with its margin, for other wrong parameters than those judged."""
    arm = shipped(name)

    def make(bandwidth):
        law = {"law": "state_feedback", "gain_design": design, "delay": 1e-3}
        law = law if design == "coupled" else {"law": "motor_pd", "bandwidth": 45.0}
        given = control.ControllerSettings(
            position=arm.rest, disturbance_bandwidth=bandwidth, base_frequency=0.0, **law
        )
        return control.make_controller(arm.model, arm.actuators, given)

    conditions = {"delay": 1e-3, "estimation": ENCODERS}
    judge = control.LoopJudge(make(120.0), arm.rest, model_error=OFF, poses=40, **conditions)
    best = stable_bandwidth(make, 240.0, 5.0, judge)
    assert best is not None
    assert 5.0 < best.bandwidth < 240.0
    assert judge.unstable_pose(make(240.0)) is not None
    assert judge.judge(best.controller).unstable_share == 0.0
    for seed, q in enumerate(np.tile(judge.poses, (3, 1)), start=1000):
        errors = control.RobotErrors.corner(arm.actuators, OFF, seed)
        loop = control.sampled_loop(best.controller, q, errors=errors, **conditions)
        assert loop.growth < 0.0


def test_a_faster_filter_stabilises_the_six_joint_arm():
    """The damping by the motors comes too late at 577 rad/s, with or without gravity; lower gains
    do not help."""
    given = load_urdf(CONFIG / "robots" / "six_joint_arm.urdf")
    actuators = load_actuators(CONFIG / "elastic_joints" / "six_joint_arm.yaml", given.joint_names)
    conditions = {"delay": 1e-3, "poses": 5}
    for model in (given, given.with_gravity((0.0, 0.0, 0.0))):
        laws = control.Arm(model, actuators).laws
        q = control.middle_of_range(model)
        found = laws.judge("motor_pd", q, **conditions)
        assert found.is_unstable.any()
        assert found.is_late
        assert found.joint == "wrist_3"
        assert "a faster filter or less delay helps" in str(found)
        bandwidth = laws.faster_filter(("motor_pd", "hold"), q, **conditions)
        assert 100.0 < bandwidth < 200.0
        assert laws.judge("motor_pd", q, **conditions).growth.max() == found.growth.max()
    assert laws.faster_filter(("motor_pd",), q, delay=4e-3, poses=2) is None


def test_an_arm_without_fast_resonances_is_not_late():
    arm = shipped("planar_two_link")
    laws = control.Arm(arm.model, arm.actuators).laws
    assert not laws.judge("motor_pd", np.zeros(2), delay=1e-3, poses=5).is_late
