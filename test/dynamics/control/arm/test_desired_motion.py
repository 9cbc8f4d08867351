# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Trajectories that are followed, when they start, and trajectories that are rejected."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.control.arm.desired_motion import DesiredMotion, TrajectoryRequest
from multibody_dynamics.dynamics.core.errors import RequestError
from multibody_dynamics.dynamics.model.multibody_model import JointLimits
from multibody_dynamics.dynamics.motion import StreamLimits
from multibody_dynamics.dynamics.motion.trajectories import hold, splice

SECOND = 1_000_000_000  # ns
NAMES = ("shoulder", "elbow")
START = 1_700_000_000 * SECOND
Q0 = np.array([0.1, -0.2])
LIMITS = JointLimits(np.full(2, -2.0), np.full(2, 2.0), np.full(2, 5.0), np.full(2, np.inf))


def request(times, positions, start=None, velocities=None) -> TrajectoryRequest:
    def rows(table):
        return None if table is None else np.asarray(table, float)

    return TrajectoryRequest(
        start, np.asarray(times, float), rows(positions), rows(velocities), None
    )


@pytest.fixture
def motion() -> DesiredMotion:
    motion = DesiredMotion(NAMES, LIMITS)
    motion.hold(Q0, START)
    return motion


def state(motion: DesiredMotion, time: int) -> np.ndarray:
    out = np.empty((5, 2))
    motion.evaluate(time, out)
    return out


def follow(motion, wanted, measured=Q0, tolerance=0.1, lead=0.0) -> None:
    motion.follow(wanted, measured, tolerance=tolerance, lead=lead)


def rejection(motion, wanted, **options) -> RequestError:
    before = motion._running
    with pytest.raises(RequestError) as caught:
        follow(motion, wanted, **options)
    assert motion._running is before  # the current motion continues
    return caught.value


def test_waiting_holding_moving(motion):
    assert DesiredMotion(NAMES, LIMITS).mode == "waiting"
    assert motion.mode == "holding"
    np.testing.assert_array_equal(state(motion, START + 5), [Q0, *np.zeros((4, 2))])
    follow(motion, request([1.0], [[1.0, 1.0]]))
    assert motion.mode == "moving"
    np.testing.assert_array_equal(state(motion, START + 2 * SECOND)[0], [1.0, 1.0])
    assert motion.mode == "holding"
    motion.release()
    assert not motion.is_active
    assert rejection(motion, request([1.0], [[1.0, 1.0]])).reason == "no state"


def test_the_end_is_that_of_the_last_motion_accepted(motion):
    assert motion.end == START
    follow(motion, request([1.5], [[1.0, 1.0]]))
    assert motion.end == START + 3 * SECOND // 2
    follow(motion, request([1.0], [[1.0, 1.0]], start=START + SECOND))  # waits
    assert motion.end == START + 2 * SECOND


def test_stamp_zero_is_now_and_the_splice_is_smooth(motion):
    follow(motion, request([1.0], [[1.0, 1.0]]))
    now = START + SECOND // 2
    before = state(motion, now)
    follow(motion, request([1.0], [[0.0, 0.5]]), measured=before[0])
    np.testing.assert_allclose(state(motion, now), before, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(state(motion, now + SECOND)[0], [0.0, 0.5], atol=1e-12)


def test_a_stamp_in_the_future_waits(motion):
    begin = START + SECOND
    follow(motion, request([2.0], [[1.0, 1.0]], start=begin))
    assert motion.mode == "holding"
    np.testing.assert_array_equal(state(motion, begin - 1)[0], Q0)
    expected = splice(hold(NAMES, Q0), 0.0, [2.0], [[1.0, 1.0]])
    for elapsed in (0.3, 0.9, 1.7):
        actual = state(motion, begin + int(elapsed * SECOND))
        np.testing.assert_allclose(actual, expected(elapsed), rtol=1e-9, atol=1e-9)


def test_a_later_trajectory_replaces_a_pending_one(motion):
    follow(motion, request([2.0], [[1.0, 1.0]], start=START + SECOND))
    follow(motion, request([1.0], [[0.3, 0.3]]))
    np.testing.assert_array_equal(state(motion, START + 5 * SECOND)[0], [0.3, 0.3])


def test_past_points_are_dropped_if_the_path_passes_the_current_position(motion):
    state(motion, START + SECOND)
    late = request([0.0, 0.9, 1.5, 2.0], [Q0, Q0, [0.5, 0.5], [1.0, 1.0]], start=START)
    follow(motion, late, tolerance=0.2)
    np.testing.assert_allclose(state(motion, START + 3 * SECOND // 2)[0], [0.5, 0.5], atol=1e-12)
    gone = request([0.5, 1.0], [[0.5, 0.5], [0.6, 0.6]], start=START - SECOND)
    error = rejection(motion, gone)
    assert error.reason == "in the past"
    assert "was due 1.500 s before the motion could begin" in str(error)
    soon = request([0.01, 0.02], [[0.5, 0.5], [0.5, 0.5]])
    error = rejection(motion, soon, lead=0.05)
    assert error.reason == "in the past"
    assert "due 0.020 s after the motion can begin" in str(error)
    assert "splice_lead (0.05 s)" in str(error)


def test_points_within_the_lead_are_dropped(motion):
    dense = np.linspace(0.0, 1.0, 101)
    path = Q0 + 0.5 * (3 * dense**2 - 2 * dense**3)[:, None]
    follow(motion, request(dense, path), lead=0.05)
    assert motion._running.knots[1] == pytest.approx(0.06)


def test_a_point_may_omit_its_positions(motion):
    nothing = [np.nan, np.nan]
    follow(motion, request([1.0, 2.0], [nothing, [1.0, 1.0]], velocities=[[0.5, 0.5], nothing]))
    np.testing.assert_allclose(state(motion, START + SECOND)[1], [0.5, 0.5], atol=1e-12)


def test_time_that_steps_back_before_a_splice_waits_there(motion):
    follow(motion, request([1.0], [[1.0, 1.0]]))
    before = state(motion, START + SECOND // 2)
    follow(motion, request([1.0], [[0.5, 0.5]]), measured=before[0])
    np.testing.assert_allclose(state(motion, START + SECOND // 4), before, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize(
    ("wanted", "measured", "reason", "says"),
    [
        (request([0.0, 1.0], [[0.1, 0.2], [1.0, 1.0]]), Q0, "jump", "trajectory of 'elbow' is 0.4"),
        (request([1.0], [[1.0, 1.0]]), [0.6, -0.2], "jump", "measured position of 'shoulder'"),
        (request([1.0], [[1.0, 2.5]]), Q0, "position limit", "elbow"),
        (request([0.1], [[1.9, 0.0]]), Q0, "velocity limit", "shoulder"),
        (request([1.0, 1.0], [[0.2, 0.0], [0.3, 0.0]]), Q0, "trajectory", "times must increase"),
        (request([1.0, 0.0], [[0.2, 0.0], Q0]), Q0, "trajectory", "times must increase"),
        (request([1.0], None, velocities=[[0.0, 0.0]]), Q0, "trajectory", "no position"),
        (request([1.0], [[1.0, 1.0]], velocities=[[0.0, 1.0]]), Q0, "trajectory", "velocity"),
    ],
)
def test_rejected(motion, wanted, measured, reason, says):
    error = rejection(motion, wanted, measured=np.array(measured))
    assert error.reason == reason
    assert says in str(error)


def test_outside_the_position_limits_a_motion_may_only_return():
    motion = DesiredMotion(NAMES, LIMITS)
    outside = np.array([2.3, 0.0])
    motion.hold(outside, START)
    assert (
        rejection(motion, request([2.0], [[2.4, 0.0]]), measured=outside).reason == "position limit"
    )
    follow(motion, request([2.0], [[1.5, 0.0]]), measured=outside)


def test_a_stop_is_smooth_and_has_the_given_duration(motion):
    follow(motion, request([1.0], [[1.5, 1.0]]))
    now = START + SECOND // 2
    before = state(motion, now)
    motion.stop(0.4)
    np.testing.assert_allclose(state(motion, now), before, rtol=1e-12, atol=1e-9)
    end = state(motion, now + int(0.4 * SECOND) + 1)
    assert motion.mode == "holding"
    np.testing.assert_array_equal(end[1:], np.zeros((4, 2)))
    assert 0.0 < end[0, 0] - before[0, 0] < 0.4 * before[1, 0]


def test_a_stop_takes_as_long_as_the_acceleration_limits_require():
    peaks = []
    for allowed in (np.inf, 8.0):
        limits = LIMITS._replace(acceleration=np.array([allowed, 30.0]))
        motion = DesiredMotion(NAMES, limits)
        motion.hold(Q0, START)
        follow(motion, request([1.0], [[1.5, 1.0]]))
        now = START + SECOND // 2
        begin = state(motion, now)
        motion.stop(0.05)
        rows = np.array([state(motion, now + k * SECOND // 1000) for k in range(1500)])
        assert motion.mode == "holding"
        assert abs(begin[2, 0]) < 8.0
        peaks.append(np.abs(rows[:, 2, 0]).max())
    assert peaks[0] > 20.0
    assert peaks[1] <= 1.1 * 8.0  # the jerk at the start does not allow less


def test_trajectories_of_continuous_joints_begin_in_the_nearest_turn():
    """As a whole: what is between their points stays. Other joints do not repeat."""
    turn = 2.0 * np.pi
    motion = DesiredMotion(NAMES, LIMITS._replace(upper=np.array([np.inf, 2.0])), [turn, 0.0])
    here = np.array([2.0 * turn - 0.2, -0.2])
    motion.hold(here, START)
    follow(motion, request([2.0, 8.0], [[0.3, 0.5], [0.3 + turn, 0.5]]), measured=here)
    assert state(motion, START + 2 * SECOND)[0] == pytest.approx([2.0 * turn + 0.3, 0.5])
    assert state(motion, START + 8 * SECOND)[0] == pytest.approx([3.0 * turn + 0.3, 0.5])
    now = START + 9 * SECOND
    reached = state(motion, now)[0]
    late = request([-1.0, 1.0], [[0.0, 0.4], [0.6, 0.6]], start=now)  # at 0.3 now
    follow(motion, late, measured=reached, tolerance=0.1)
    assert state(motion, now + SECOND)[0] == pytest.approx([3.0 * turn + 0.6, 0.6])


@pytest.mark.parametrize("delay", [0, SECOND // 4])  # starting now, and at a stamp in the future
def test_a_motion_is_as_exact_after_a_day_as_at_the_start(delay):
    """Points every 20 ms: q'''' amplifies the rounding of their times by more than a million."""
    times = 0.02 * np.arange(1, 26)
    points = Q0 + 0.1 * (1.0 - np.cos(3.0 * times[:, None])) * [1.0, -2.0]
    found = []
    for begin in (START, START + 86_400 * SECOND):
        motion = DesiredMotion(NAMES, LIMITS)
        motion.hold(Q0, START)
        state(motion, begin)
        follow(motion, request(times, points, start=begin + delay if delay else None))
        later = delay + np.arange(0, SECOND // 2, SECOND // 100)
        found.append([state(motion, begin + int(t)) for t in later])
    np.testing.assert_array_equal(found[0], found[1])


def test_a_way_begins_at_the_position_that_is_held_and_ends_at_rest_at_its_goal():
    motion = DesiredMotion(NAMES, LIMITS)
    motion.hold(np.array([0.1, -0.2]), 5 * SECOND)
    state = np.zeros((5, 2))
    motion.evaluate(6 * SECOND, state)
    motion.go(np.array([0.2, -0.25]), 0.5)
    motion.evaluate(6 * SECOND, state)
    np.testing.assert_allclose(state[0], [0.1, -0.2], atol=1e-12)
    np.testing.assert_allclose(state[1:], 0.0, atol=1e-9)
    motion.evaluate(round(6.25 * SECOND), state)
    np.testing.assert_allclose(state[0], [0.15, -0.225], atol=1e-12)
    motion.evaluate(7 * SECOND, state)
    np.testing.assert_allclose(state, [[0.2, -0.25], *np.zeros((4, 2))], atol=1e-9)


STREAM = StreamLimits(
    LIMITS.lower, LIMITS.upper, LIMITS.velocity, np.full(2, 20.0), smoothing=0.08, delay=1.0
)


def stream(motion, q, measured=Q0, times=(0.0,), **options) -> None:
    wanted = request(times, np.atleast_2d(q), **options)
    motion.stream(wanted, measured, STREAM, tolerance=0.1)


def test_a_stream_is_followed_ends_at_rest_and_hands_over(motion):
    for k in range(100):
        now = START + k * SECOND // 50
        at = state(motion, now)
        stream(motion, Q0 + np.array([0.01 * k, 0.0]), start=now)
    assert motion.mode == "moving"
    assert motion.streamed.delay == pytest.approx(0.02, rel=0.05)
    before = state(motion, now + SECOND // 100)
    assert before[1, 0] == pytest.approx(0.5, rel=0.02)
    later = request([2.0], [[0.0, 0.0]], start=now + SECOND)
    assert rejection(motion, later, measured=before[0]).reason == "streaming"
    follow(motion, request([1.0], [[0.0, 0.0]]), measured=before[0])
    assert motion.streamed is None
    np.testing.assert_allclose(state(motion, now + SECOND // 100), before, rtol=1e-9, atol=1e-6)
    assert at.shape == (5, 2)


def test_a_stream_begins_in_a_motion_and_may_pause(motion):
    follow(motion, request([1.0], [[1.0, 1.0]]))
    before = state(motion, START + SECOND // 2)
    stream(motion, before[0], measured=before[0])
    np.testing.assert_allclose(state(motion, START + SECOND // 2), before, rtol=1e-9, atol=1e-9)
    rest = state(motion, START + 3 * SECOND)
    np.testing.assert_allclose(rest[0], before[0], atol=1e-9)
    assert motion.mode == "holding"
    stream(motion, rest[0] + 0.5)  # mid-stream, nothing is refused for being far
    assert motion.mode == "moving"
    state(motion, START + 3 * SECOND + SECOND // 10)
    motion.stop(0.5)
    assert not state(motion, START + 5 * SECOND)[1:].any()


@pytest.mark.parametrize(("shape", "overshoots"), [("held", 0), ("monotone", 0), ("least_jerk", 1)])
def test_the_shape_says_what_happens_at_held_points(motion, shape, overshoots):
    wanted = request([1.0, 2.0, 3.0], [[1.1, 0.8]] * 3)
    motion.follow(wanted, Q0, tolerance=0.1, lead=0.0, shape=shape)
    q = np.array([state(motion, START + k * SECOND // 100)[0] for k in range(301)])
    beyond = (q.max(axis=0) - [1.1, 0.8]) / ([1.1, 0.8] - Q0)
    assert (beyond > 0.1).all() if overshoots else (beyond < 1e-9).all()


def test_targets_that_begin_no_stream_are_refused_with_the_reason(motion):
    def refused(q=Q0, **options):
        with pytest.raises(RequestError) as caught:
            stream(motion, q, **options)
        assert motion.streamed is None
        return caught.value

    assert refused(Q0 + 0.2).reason == "jump"
    assert refused(measured=Q0 - 0.2).reason == "jump"
    assert "positions of all joints" in str(refused([np.nan, 0.0]))
    assert refused(start=START - SECOND).reason == "in the past"
    assert "point 1 is not later" in str(refused([Q0, Q0], times=(0.1, 0.1)))
    motion.release()
    assert refused().reason == "no state"


def test_zero_velocities_of_single_points_are_no_velocities(motion):
    for k in range(50):
        state(motion, START + k * SECOND // 20)
        stream(motion, Q0 + np.array([0.02 * k, 0.0]), velocities=[[0.0, 0.0]])
    assert state(motion, START + 49 * SECOND // 20 + SECOND // 50)[1, 0] > 0.35
