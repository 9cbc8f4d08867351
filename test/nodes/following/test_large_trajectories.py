# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Trajectories with many points are planned in the background and give the same motion."""

from concurrent.futures import wait

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory

from little_memory import no_more_memory
from multibody_dynamics.dynamics.control.arm.desired_motion import DesiredMotion
from multibody_dynamics.dynamics.model import JointLimits
from multibody_dynamics.dynamics.motion import Points
from multibody_dynamics.nodes.base.messages import (
    SECOND,
    JointMatcher,
    MessageError,
    read_trajectory,
    trajectory_message,
)
from multibody_dynamics.nodes.following.large_trajectories import ATTEMPTS, LARGE, LargeTrajectories
from rejections import assert_rejected

NAMES = ("shoulder", "elbow")
START = 1_700_000_000 * SECOND
Q0 = np.array([0.1, -0.2])
LIMITS = JointLimits(np.full(2, -2.0), np.full(2, 2.0), np.full(2, 50.0), np.full(2, np.inf))
OPTIONS = {"tolerance": 0.1, "lead": 0.0, "shape": "held"}


class Bench:
    """A motion, and the planner whose results wait in a list, as in an executor."""

    def __init__(self) -> None:
        self.waiting = []
        self.planner = LargeTrajectories(self.waiting.append)
        self.begin()
        submit = self.planner._process.submit

        def counted(*arguments):
            self.submitted += 1
            future = submit(*arguments)
            self.future = future
            return future

        self.planner._process.submit = counted

    def begin(self) -> None:
        """Hold at Q0, with a process that may have been started."""
        self.motion = DesiredMotion(NAMES, LIMITS)
        self.motion.hold(Q0, START)
        self.results = []
        self.submitted = 0

    def plan(self, data):
        self.planner.plan(data, self.motion, **OPTIONS, then=self.results.append)

    def finish(self):
        """Wait until the process has answered, and take the answer in the executor's thread."""
        wait([self.future], timeout=240.0)  # it may have been cancelled
        while not self.waiting:
            pass
        self.waiting.pop()()

    def state(self, time):
        out = np.empty((5, 2))
        self.motion.evaluate(time, out)
        return out


@pytest.fixture
def fresh():
    """With a process of its own."""
    made = Bench()
    yield made
    made.planner.close()


@pytest.fixture(scope="module")
def shared():
    made = Bench()
    yield made
    made.planner.close()


@pytest.fixture
def bench(shared):
    shared.begin()
    return shared


def message(start=0, scale=1.0, points=800):
    times = np.linspace(0.01, 8.0, points)
    shape = 1.0 - np.cos(2.0 * np.pi * times / 8.0)
    positions = Q0 + scale * np.outer(shape, [0.5, -0.4])
    data = serialize_message(trajectory_message(NAMES, start, Points(times, positions)))
    assert len(data) > LARGE
    return data


def in_line(data, start=START):
    """The motion that the same message gives without another process."""
    motion = DesiredMotion(NAMES, LIMITS)
    motion.hold(Q0, start)
    request = read_trajectory(deserialize_message(data, JointTrajectory), JointMatcher(NAMES))
    motion.follow(request, Q0, **OPTIONS)
    return motion


def compare(motion, other, shift):
    mine, wanted = np.empty((2, 5, 2))
    for t in np.linspace(0.0, 8.5, 50):
        time = START + int(SECOND * t)
        motion.evaluate(time + shift, mine)
        other.evaluate(time, wanted)
        np.testing.assert_allclose(mine, wanted, atol=1e-9)


def test_from_a_hold_it_begins_whenever_it_is_ready(bench):
    data = message()
    bench.plan(data)
    assert bench.planner.is_busy
    shift = 3 * SECOND
    np.testing.assert_array_equal(bench.state(START + shift)[0], Q0)  # holds in the meantime
    bench.finish()
    (found,) = bench.results
    bench.motion.follow(found.request, Q0, **OPTIONS, planned=found.planned)
    compare(bench.motion, in_line(data), shift)
    assert not bench.planner.is_busy


def test_from_a_motion_it_is_spliced_smoothly(bench):
    bench.motion.follow(request_of(message()), Q0, **OPTIONS)
    now = START + SECOND
    before = bench.state(now)
    there = before[0]
    later = message(start=START, scale=1.001)
    bench.plan(later)
    bench.finish()
    (found,) = bench.results
    begin = found.planned.splice.begin
    assert begin > now
    wanted = np.empty((5, 2))
    bench.motion.look_ahead(begin, wanted)
    bench.motion.follow(found.request, there, **OPTIONS, planned=found.planned)
    np.testing.assert_allclose(bench.state(begin), wanted, atol=1e-9)
    assert bench.motion.end == START + 8 * SECOND


def request_of(data):
    return read_trajectory(deserialize_message(data, JointTrajectory), JointMatcher(NAMES))


def test_a_stamp_in_the_future_is_kept(bench):
    start = START + 60 * SECOND
    data = message(start=start)
    bench.plan(data)
    bench.finish()
    (found,) = bench.results
    assert found.planned.splice.begin == start
    bench.motion.follow(found.request, Q0, **OPTIONS, planned=found.planned)
    assert bench.motion.end == start + 8 * SECOND


def test_if_planning_takes_too_long_it_is_planned_again_with_more_notice(bench):
    bench.motion.follow(request_of(message(scale=0.2, points=8000)), Q0, **OPTIONS)
    bench.state(START + SECOND // 2)
    bench.plan(message(scale=0.2))
    notices = []
    for _ in range(ATTEMPTS):
        begin = bench.motion.splice(None, 0).begin
        bench.future.exception(timeout=240.0)
        planned = bench.future.result().planned
        notices.append(planned.splice.begin - begin)
        bench.state(planned.splice.begin + 1)  # the cycle has passed the splice already
        bench.finish()
    assert bench.submitted == ATTEMPTS
    assert np.allclose(np.diff(np.log2(notices)), 1.0, atol=1e-6)
    (found,) = bench.results
    assert isinstance(found, MessageError)
    assert found.reason == "planned too late"


def test_only_a_trajectory_that_leaves_time_is_planned_in_the_process(fresh):
    planner, motion = fresh.planner, fresh.motion
    assert planner.has_time(message(), motion)
    assert not planner.has_time(message(start=START - SECOND), motion)
    assert not planner.has_time(message(start=START + 3 * SECOND), motion)
    assert planner.has_time(message(start=START + 8 * SECOND), motion)
    fresh.plan(message())  # starts the process
    assert planner.has_time(message(start=START + 3 * SECOND), motion)


def test_a_trajectory_that_falls_due_while_it_is_planned_is_planned_here(bench):
    data = message(start=START + 10 * SECOND)
    bench.plan(data)
    bench.state(START + 10 * SECOND + 5 * SECOND // 1000)  # before its first point
    bench.finish()
    (found,) = bench.results
    assert bench.submitted == 1
    bench.motion.follow(found.request, Q0, **OPTIONS, planned=found.planned)
    assert bench.motion.end == START + 18 * SECOND


@pytest.mark.parametrize(
    ("change", "reason"), [({"scale": 10.0}, "position limit"), ({"scale": np.nan}, "not finite")]
)
def test_rejections_are_those_of_a_small_trajectory(bench, change, reason):
    bench.plan(message(**change))
    bench.finish()
    (found,) = bench.results
    assert found.reason == reason
    with pytest.raises(MessageError) as caught:
        in_line(message(**change))
    assert str(caught.value) == str(found)


def test_a_newer_one_supersedes_and_a_process_that_ends_is_reported(fresh):
    fresh.plan(message())
    assert fresh.planner.drop()
    assert not fresh.planner.drop()
    fresh.finish()
    assert fresh.results == []
    fresh.plan(message())
    (worker,) = fresh.planner._process._pool._processes.values()
    worker.kill()
    fresh.finish()
    (found,) = fresh.results
    assert "planning failed" in str(found)


def test_without_a_motion_there_is_nothing_to_start_from(bench):
    bench.motion.release()
    assert_rejected((lambda: bench.plan(message()), "no joint state"), error=MessageError)
    assert not bench.planner.is_busy


def test_without_memory_for_the_process_the_trajectory_is_refused_and_nothing_else_happens(fresh):
    """The message of Python, "can't start new thread", is the reason."""
    data = message()
    with no_more_memory():
        fresh.plan(data)
    fresh.finish()
    (found,) = fresh.results
    assert isinstance(found, MessageError)
    assert found.reason == "trajectory"
    assert "planning failed: can't start new thread" in str(found)
    np.testing.assert_array_equal(fresh.state(START + SECOND)[0], Q0)
    fresh.plan(data)  # with memory
    fresh.finish()
    assert not isinstance(fresh.results[-1], MessageError)
