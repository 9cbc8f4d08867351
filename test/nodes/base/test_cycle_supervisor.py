# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Stamps, gaps, silence and statistics of a cycle, in a live node."""

import time

import numpy as np
import pytest
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from live_node import LiveNode, live_node
from multibody_dynamics.nodes.base.cycle_supervisor import CycleSupervisor
from multibody_dynamics.nodes.base.diagnostics import ERROR, OK, WARN
from multibody_dynamics.nodes.base.messages import SECOND, JointStates, MessageError, set_stamp
from multibody_dynamics.nodes.base.node_inputs import Inputs
from multibody_dynamics.nodes.following.following_parameters import FollowingParameters
from ros_harness import RosHarness, ros

__all__ = ["ros"]  # the fixture


class Supervised:
    """What a node does with a supervisor."""

    def __init__(self, node: LiveNode) -> None:
        self.cycles: list[int] = []
        self.jumps: list[str] = []
        self.has_state = True
        self.inputs = Inputs(node)
        self.supervisor = CycleSupervisor(
            node,
            self.inputs,
            cycle=lambda stamp, begin: self.cycles.append(stamp),
            has_state=lambda: self.has_state,
            on_jump=self.restart,
        )
        node.part = self

    def restart(self, why: str) -> None:
        self.jumps.append(why)
        self.supervisor.restart(why)


def supervised(ros: RosHarness, **parameters):
    return live_node(ros, Supervised, FollowingParameters, **parameters)


def state(stamp: int) -> JointState:
    message = JointState(name=["a"], position=[0.5])
    set_stamp(message.header.stamp, stamp)
    return message


def wait(ros: RosHarness, node: LiveNode, seconds: float) -> None:
    end = time.monotonic() + seconds
    ros.until(lambda: time.monotonic() > end, "some time", each=node.turn)


def test_stamps_are_compared_with_the_clock_and_with_the_last_output(ros):
    with supervised(ros, stamp_tolerance=0.5, state_timeout=0.2) as node:
        supervisor, now = node.part.supervisor, time.time_ns()
        supervisor.check_stamp(now)
        for stamp, reason in (
            (0, "no stamp"), (now - SECOND, "stale"), (now + SECOND, "from the future")
        ):  # fmt: skip
            with pytest.raises(MessageError) as caught:
                supervisor.check_stamp(stamp)
            assert caught.value.reason == reason

        assert supervisor.step_to(now) == 0.0
        assert supervisor.stamp_gap(now) == ""
        supervisor.last_stamp = now
        assert supervisor.step_to(now + SECOND // 4) == pytest.approx(0.25)
        assert supervisor.stamp_gap(now + SECOND // 10) == ""
        assert supervisor.stamp_gap(now + SECOND // 4) == "gap of 0.250 s between two stamps"
        assert not supervisor.reject_if_late("states", now + 1)
        assert supervisor.reject_if_late("states", now)
        assert 0 <= supervisor.next_stamp() - now < 10 * SECOND
        supervisor.last_stamp = now + 60 * SECOND
        assert supervisor.next_stamp() == now + 60 * SECOND + 1
        assert node.part.inputs.report()[1]["states: out of order"] == 1

        supervisor.restart("a test")
        assert supervisor.last_stamp == 0
        assert supervisor.events.report()[1] == {"time jumped": 1, "last": "a test"}


def test_states_are_taken_and_stamps_that_jump_back_restart(ros):
    with supervised(ros, stamp_tolerance=0.0) as node:
        part, states = node.part, JointStates(["a"])
        start = time.time_ns()
        assert part.supervisor.take("states", states, state(start))
        np.testing.assert_array_equal(states.position, [0.5])
        with pytest.raises(MessageError, match="already used"):
            part.supervisor.take("states", states, state(start))
        assert part.jumps == []
        with pytest.raises(MessageError, match="older"):  # this node does not restart its states
            part.supervisor.take("states", states, state(start - 2 * SECOND))
        assert part.jumps == ["the clock and the stamps of states jumped back"]


def test_silence_is_reported_once_in_the_thread_of_the_executor(ros):
    with supervised(ros, state_timeout=0.05) as node:
        heard: list[float] = []
        watchdog = node.part.supervisor.watch(lambda: heard.append(watchdog.age()))
        ros.until(lambda: heard, "the alarm", each=node.turn)
        wait(ros, node, 0.2)
        assert len(heard) == 1
        assert heard[0] > 0.05
        watchdog.feed()
        node.trigger_deactivate()
        wait(ros, node, 0.2)
        assert len(heard) == 1


def test_the_timeout_is_live(ros):
    with supervised(ros, state_timeout=60.0) as node:
        watchdog = node.part.supervisor.watch(lambda: None)
        assert not watchdog.stale
        node.restore("state_timeout", 0.001)
        time.sleep(0.002)
        assert watchdog.stale


def test_a_timer_runs_cycles_while_there_is_a_state(ros):
    with supervised(ros, update_rate=200.0) as node:
        part = node.part
        assert part.supervisor.has_timer
        ros.until(lambda: len(part.cycles) > 3, "cycles", each=node.turn)
        assert abs(part.cycles[-1] - time.time_ns()) < 10 * SECOND
        part.has_state = False
        count = len(part.cycles)
        wait(ros, node, 0.05)
        assert len(part.cycles) == count


def test_a_simulated_clock_that_jumps_back_restarts(ros):
    with supervised(ros, use_sim_time=True) as node:
        part, clock = node.part, ros.publisher(Clock, "/clock")

        def say(seconds: int) -> None:
            message = Clock()
            message.clock.sec = seconds
            clock.publish(message)
            node.turn()

        assert part.supervisor.now() == 0
        with pytest.raises(MessageError, match="nothing is published on /clock"):
            part.supervisor.take("states", JointStates(["a"]), state(1))
        ros.until(lambda: part.supervisor.now() == 50 * SECOND, "time", each=lambda: say(50))
        ros.until(lambda: part.jumps, "the jump", each=lambda: say(20))
        assert part.jumps[-1] == "the clock jumped by -30.000 s"


def test_the_status_has_the_rate_and_a_fault_takes_precedence(ros):
    with supervised(ros, expected_rate=1000.0) as node:
        supervisor, begin = node.part.supervisor, time.monotonic_ns()
        assert supervisor.status({}, None)[1:3] == (OK, "no cycles")
        stamps = [0, 1, 2, 5]  # ms; two are missed
        for ms in stamps:
            supervisor.record(begin + ms * 1_000_000, SECOND + ms * 1_000_000)
        status = supervisor.status({"age": 0.25}, None)
        assert (status.part, status.level) == ("cycle", WARN)
        assert status.text == "2 cycles missed"
        assert status.values["cycles"] == 3
        assert status.values["age"] == 0.25
        assert supervisor.status({}, (ERROR, "broken"))[1:3] == (ERROR, "broken")
