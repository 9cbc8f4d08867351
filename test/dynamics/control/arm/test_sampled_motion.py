# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The motion of an arm on samples: changes between points and streams are smooth, and answered."""

from types import SimpleNamespace

import numpy as np
import pytest

from multibody_dynamics.dynamics.control import CycleCounts, Mode
from multibody_dynamics.dynamics.control.arm import sampled_motion
from multibody_dynamics.dynamics.core import record_fields
from multibody_dynamics.dynamics.motion import StreamedMotion, StreamLimits
from multibody_dynamics.dynamics.motion.segments import BRAKES, MOVING, RESTING, Answer

FAR, FAST = np.full(2, 3.0), np.full(2, 2.0)
LIMITS = StreamLimits(-FAR, FAR, FAST, 5.0 * FAST, 0.1, 1.0)
SETTINGS = SimpleNamespace(
    lead=0.001, stop_acceleration=5.0 * FAST, lower=-FAR, upper=FAR, velocity=FAST
)
NO_RATES = np.full((1, 2), np.nan)
START = np.array([0.2, -0.3])


class Arm:
    """A motion with its settings, counts and clock."""

    def __init__(self):
        self.motion = sampled_motion.sampled_motion(2, LIMITS)
        self.counts = record_fields.zeros(CycleCounts)
        self.now, self.desired = 0.0, np.zeros((5, 2))
        sampled_motion.hold_motion(self.motion, START, 0.0)
        self.run(1)

    def run(self, cycles):
        for _ in range(cycles):
            self.now += 1e-3
            before = self.desired[0].copy()
            sampled_motion.follow_motion(SETTINGS, self.counts, self.motion, self.now, self.desired)
            if cycles > 1:
                assert np.abs(self.desired[0] - before).max() <= 1.01e-3 * FAST[0]

    def append(self, time, q, mode=Mode.HOLDING):
        state = np.zeros((5, 2))
        state[0] = q
        return sampled_motion.append_point(
            SETTINGS, self.counts, self.motion, mode, self.now, self.desired, time, state
        )

    def follow(self, q, mode=Mode.HOLDING):
        return sampled_motion.follow_targets(
            self.motion, mode, self.now, self.desired, 0.0, False, np.zeros(1), np.array([q]),
            NO_RATES, 1,
        )  # fmt: skip

    @property
    def phase(self):
        return sampled_motion.phase_of_motion(self.motion)


def test_points_move_the_arm_and_refusals_are_counted():
    arm = Arm()
    assert arm.append(0.5, START + 0.1) == Answer.ACCEPTED
    assert arm.append(0.4, START + 0.1) == Answer.LATE
    assert arm.append(0.9, START, mode=Mode.STOPPING) == Answer.NOT_READY
    assert arm.counts.refused_points[0] == 2
    arm.run(300)
    assert arm.phase == MOVING
    arm.run(300)
    assert arm.phase == RESTING
    np.testing.assert_allclose(arm.desired[0], START + 0.1, rtol=0, atol=1e-12)


def test_a_stop_brakes_and_a_cut_ends_on_the_path_to_rest():
    for request in ("stop", "cut"):
        arm = Arm()
        arm.append(0.5, START + 0.1)
        arm.run(250)
        if request == "stop":
            sampled_motion.stop_motion(SETTINGS, arm.motion, Mode.FOLLOWING, arm.now, arm.desired)
        else:
            sampled_motion.cut_motion(arm.motion, Mode.FOLLOWING, arm.now, arm.now)
        arm.run(2)
        assert arm.phase == BRAKES
        assert arm.counts.late_references[0] == (request == "cut")
        arm.run(500)
        assert arm.phase == RESTING
        assert (arm.desired[0] < START + 0.1).all()


def test_a_stream_begins_at_rest_and_points_continue_from_its_end():
    arm = Arm()
    assert arm.follow(START + 0.1, mode=Mode.LOST) == Answer.NOT_READY
    assert arm.follow(START + np.nan) == Answer.NOT_FINITE
    assert arm.phase == RESTING
    assert arm.follow(START + 0.1) == Answer.ACCEPTED
    arm.run(50)
    assert arm.phase == MOVING
    assert arm.append(arm.now + 1.0, START) == Answer.NOT_READY
    arm.run(1500)
    assert arm.phase == RESTING
    np.testing.assert_allclose(arm.desired[0], START + 0.1, rtol=0, atol=1e-6)
    assert arm.append(arm.now + 0.5, START) == Answer.ACCEPTED
    arm.run(600)
    np.testing.assert_allclose(arm.desired[0], START, rtol=0, atol=1e-12)


def test_a_stream_takes_over_a_motion_without_a_step_as_in_the_arm():
    """It continues q..q'''' and leads to its target as the node's does, and refuses only brakes."""
    arm = Arm()
    arm.append(0.5, START + 0.3)
    arm.run(200)
    assert np.abs(arm.desired[2:]).max(axis=1).min() > 0.1
    other = StreamedMotion(("a", "b"), LIMITS, arm.now, arm.desired)
    assert arm.follow(START + 0.2) == Answer.ACCEPTED
    other.add(arm.now, np.zeros(1), np.array([START + 0.2]), NO_RATES)
    now = np.zeros((5, 2))
    sampled_motion.evaluate_motion(arm.motion, arm.now, arm.now, now)
    np.testing.assert_allclose(now, arm.desired, rtol=1e-12, atol=1e-12)
    for _ in range(400):
        arm.run(1)
        other.evaluate(arm.now, now)
        np.testing.assert_allclose(arm.desired, now, rtol=1e-9, atol=1e-9)
    assert arm.append(arm.now + 0.5, START) == Answer.NOT_READY
    arm.run(1500)
    assert arm.phase == RESTING
    np.testing.assert_allclose(arm.desired[0], START + 0.2, rtol=0, atol=1e-6)
    arm.append(arm.now + 0.5, START)
    arm.run(250)
    sampled_motion.stop_motion(SETTINGS, arm.motion, Mode.FOLLOWING, arm.now, arm.desired)
    assert arm.follow(START) == Answer.NOT_READY


@pytest.mark.parametrize("request_", ["look ahead", "stop"])
def test_a_moving_stream_looks_ahead_and_stops_smoothly(request_):
    arm = Arm()
    arm.follow(START + 0.3)
    arm.run(200)
    if request_ == "look ahead":
        later = np.zeros((5, 2))
        sampled_motion.evaluate_motion(arm.motion, arm.now + 1e-3, arm.now, later)
        arm.run(1)
        np.testing.assert_array_equal(arm.desired, later)
        return
    sampled_motion.stop_motion(SETTINGS, arm.motion, Mode.FOLLOWING, arm.now, arm.desired)
    arm.run(2)
    assert arm.phase == BRAKES
    arm.run(1000)
    assert arm.phase == RESTING
    assert not arm.desired[1:].any()


def test_a_stream_that_begins_beyond_its_limits_may_stay_there():
    arm = Arm()
    sampled_motion.hold_motion(arm.motion, FAR + 0.1, arm.now)
    arm.run(1)
    assert arm.follow(FAR + 0.1) == Answer.ACCEPTED
    arm.run(300)
    np.testing.assert_allclose(arm.desired[0], FAR + 0.1, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(LIMITS.upper, FAR)
