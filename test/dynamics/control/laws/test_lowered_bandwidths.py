# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Laws lowered until their loops are stable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elastic_arms import shipped
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control import (
    ControllerSettings,
    FlatnessSettings,
    LoopJudge,
    StateEstimation,
    make_controller,
)
from multibody_dynamics.dynamics.control.laws.lowered_bandwidths import lowered_bandwidths

ENCODERS = StateEstimation("link_and_motor_encoders", bandwidth=100.0)


class Stated:
    """A judge of settings in place of controllers."""

    def __init__(self, is_stable):
        self.is_stable = is_stable

    def unstable_pose(self, settings, order=()):
        return None if self.is_stable(settings) else 0


def lowered(settings, is_stable):
    return lowered_bandwidths(settings, lambda changed: changed, Stated(is_stable))


def test_the_compensation_is_lowered_first():
    found = lowered(ControllerSettings(), lambda s: s.disturbance_bandwidth < 60.0)
    assert set(found) == {"disturbance_bandwidth"}
    assert 40.0 < found["disturbance_bandwidth"] < 60.0


def test_then_it_is_turned_off():
    found = lowered(ControllerSettings(), lambda s: s.disturbance_bandwidth == 0.0)
    assert found == {"disturbance_bandwidth": 0.0}


def test_then_the_law_is_lowered_and_compensated_again():
    given = ControllerSettings(law="state_feedback", bandwidth=[40.0, 20.0])

    def is_stable(settings):
        return np.max(settings.bandwidth) < 20.0 and settings.disturbance_bandwidth < 50.0

    found = lowered(given, is_stable)
    assert np.max(found["bandwidth"]) < 20.0
    assert found["bandwidth"][0] == pytest.approx(2.0 * found["bandwidth"][1])
    assert 30.0 < found["disturbance_bandwidth"] < 50.0
    found = lowered(given, lambda s: np.max(s.bandwidth) < 20.0 and not s.disturbance_bandwidth)
    assert found["disturbance_bandwidth"] == 0.0
    found = lowered(ControllerSettings(law="hold"), lambda s: s.bandwidth < 30.0)
    assert set(found) == {"bandwidth"}


def test_there_may_be_none():
    assert lowered(ControllerSettings(), lambda s: False) is None
    placed = ControllerSettings(law="state_feedback", poles=[-20.0] * 4)
    assert lowered(placed, lambda s: False) is None  # poles are not changed
    assert lowered(placed, lambda s: not s.disturbance_bandwidth) == {"disturbance_bandwidth": 0.0}


def test_a_cycle_lowers_its_law_and_keeps_to_it():
    arm = shipped("planar_two_link")
    settings = ControllerSettings(law="state_feedback", bandwidth=40.0)
    hold = ControllerSettings(law="hold")
    cycle = control.Arm(
        arm.model,
        arm.actuators,
        FlatnessSettings(
            law="state_feedback", controllers={"state_feedback": settings, "hold": hold}
        ),
    )
    conditions = {"delay": 1e-3, "model_error": 0.3, "poses": 40}
    before = cycle.laws.judge("state_feedback", arm.rest, **conditions)
    assert before.unstable_share > 0.0
    found = cycle.laws.stabilise("state_feedback", arm.rest, **conditions)
    assert found.unstable_share == 0.0
    changed = cycle.laws.lowered["state_feedback"]
    assert 12.0 <= changed["disturbance_bandwidth"] < 120.0
    cycle.design(arm.rest)
    law = cycle.laws["state_feedback"]
    assert law.disturbance_bandwidth == changed["disturbance_bandwidth"]
    same = make_controller(
        arm.model, arm.actuators, replace(settings, position=arm.rest, **changed)
    )
    judge = LoopJudge(same, arm.rest, estimation=ENCODERS, **conditions)
    np.testing.assert_array_equal(judge.judge(same).growth, found.growth)
    exact = cycle.laws.stabilise("state_feedback", arm.rest, delay=1e-3, poses=10)
    assert exact.unstable_share == 0.0
    assert "state_feedback" not in cycle.laws.lowered
    assert cycle.laws.stabilise("hold", arm.rest, poses=3) is not None
