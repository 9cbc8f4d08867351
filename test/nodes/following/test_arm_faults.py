# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Faults of an arm: what they tell, how they are cleared, and the torques that end in silence."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from elastic_arms import at_rest_under, at_start, linear_arm, sample_of
from multibody_dynamics.dynamics.control import FAULTS, Command, Contact, Event, Mode
from multibody_dynamics.dynamics.motion import JointCommandLimits
from multibody_dynamics.nodes.base.diagnostics import ERROR, STALE, EventCounter
from multibody_dynamics.nodes.following import arm_faults
from multibody_dynamics.nodes.following.arm_faults import SILENT, ArmFaults, approach_rest
from multibody_dynamics.nodes.following.trajectory_goal import ErrorCode

MS = 1_000_000
FAULT = {fault.text: fault for fault in FAULTS}


class Bench:
    """An arm at rest that is followed by nothing; what its faults have told is noted."""

    def __init__(self) -> None:
        described = linear_arm()
        self.arm = at_rest_under(described)
        self.position, _, self.motors, _ = at_start(described)[0]
        self.time = 0.0  # s
        self.states = SimpleNamespace(missing="", has_begun=False, awaited="elbow", stamp=0)
        self.logged: list[tuple[str, str]] = []
        self.answers: list[Command] = []
        self.ends: list[tuple[str, ErrorCode]] = []
        log = SimpleNamespace(
            info=lambda text: self.logged.append(("info", text)),
            warning=lambda text: self.logged.append(("warning", text)),
            error=lambda text: self.logged.append(("error", text)),
        )
        self.parameters = SimpleNamespace(recovery_speed=0.1, collision_reaction="report")
        node = SimpleNamespace(get_logger=lambda: log, parameters=self.parameters)
        self.followed = SimpleNamespace(
            events=EventCounter(), end_goal=lambda why, code: self.ends.append((why, code))
        )
        self.faults = ArmFaults(node, self.arm, self.states, self.answers.append)

    def run(self, count: int = 1) -> Command:
        """Cycles of 1 ms; returns the last command."""
        for _ in range(count):
            command = self.arm.update(sample_of(self.arm, self.time, self.position, self.motors))
            self.time += 1e-3
        self.states.stamp = command.stamp
        return command

    def report(self, event: Event, mode: Mode = Mode.STOPPING) -> None:
        self.noticed(events=(event,), mode=mode)

    def noticed(self, **changes) -> None:
        """Report a command with these changes."""
        self.faults.report(self.arm.command(0)._replace(**changes), self.followed)


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    made.run()
    return made


def test_a_fault_is_logged_with_the_answer_counted_and_ends_the_goal(bench):
    bench.report(Event(FAULT["torques too late"], "by 1 s"))
    assert bench.logged == [("error", "torques too late: by 1 s: stopping")]
    assert bench.followed.events.totals == {"torques too late": 1}
    assert bench.ends == [("torques too late: by 1 s", ErrorCode.INVALID_GOAL)]
    bench.report(Event(FAULT["stop failed"], "too fast"), Mode.LOST)
    assert bench.logged[-1] == ("error", f"stop failed: too fast: {SILENT}")


def test_a_tracking_error_violates_the_tolerance_of_the_path(bench):
    bench.report(Event(FAULT["tracking error"], "far"))
    assert bench.ends == [("tracking error: far", ErrorCode.PATH_TOLERANCE_VIOLATED)]


def test_the_end_of_a_fault_is_only_logged(bench):
    bench.report(Event(FAULT["tracking error"], "cleared", is_over=True))
    assert bench.logged == [("info", "tracking error: cleared")]
    assert bench.ends == []
    assert bench.followed.events.totals == {}


def test_contacts_that_are_only_reported_and_oscillations_are_logged_and_counted(bench):
    contact = Contact(0, np.zeros(2), "hit of 9 N m at 'elbow'")
    bench.noticed(contact=contact, slowed="the links oscillate")
    assert bench.logged == [
        ("warning", "oscillation: the links oscillate"),
        ("warning", "contact: hit of 9 N m at 'elbow'"),
    ]
    assert bench.followed.events.totals == {"oscillation": 1, "contact": 1}
    bench.logged.clear()
    bench.parameters.collision_reaction = "stop"  # the fault tells of the contact
    bench.noticed(contact=contact)
    assert bench.logged == []
    assert bench.ends == []


def test_before_the_first_cycle_states_are_missing(bench):
    assert bench.faults.problem() == (STALE, "no state received yet for elbow")
    bench.states.awaited = ""
    assert bench.faults.problem() == (STALE, "no matching pair of states yet")
    bench.states.has_begun = True
    assert bench.faults.problem() is None


def test_a_fault_forbids_motions_until_it_is_cleared(bench):
    bench.run(100)
    bench.states.has_begun = True
    assert bench.faults.present() == ""
    bench.arm.fail(FAULT["torque not finite"].code, "a test")
    bench.run()
    assert bench.faults.present() == "torque not finite: a test"
    assert bench.faults.problem() == (ERROR, "torque not finite: a test")
    bench.states.missing = "links"
    assert bench.faults.refusal() == "a test"
    bench.states.missing = ""
    assert bench.faults.refusal() == ""
    bench.faults.clear()
    (answer,) = bench.answers
    assert [event.is_over for event in answer.events] == [True]
    bench.run(100)
    assert bench.faults.present() == ""


def test_a_lost_arm_must_be_at_rest_before_its_fault_is_cleared(bench):
    bench.run(100)
    bench.arm.fail(FAULT["stop failed"].code, "a test")
    assert bench.faults.refusal() == ""
    bench.arm.measured.estimator.state.qd[1] = -0.5
    assert bench.faults.refusal() == "'elbow' still moves at 0.5; allowed: 0.1 (recovery_speed)"


def test_the_holding_torque_is_sent_once_if_no_rate_is_limited(bench):
    torque = bench.run(100).torque
    (command,) = approach_rest(bench.arm, bench.states.stamp + MS, bench.states.stamp)
    np.testing.assert_allclose(command.torque, torque, atol=1e-6)
    assert command.stamp == bench.states.stamp + MS


def test_the_holding_torque_is_approached_cycle_by_cycle_for_a_second_at_most(bench, monkeypatch):
    slept: list[float] = []
    monkeypatch.setattr(arm_faults, "time", SimpleNamespace(sleep=slept.append))
    goal = bench.run(100).torque
    arm, now = bench.arm, bench.states.stamp
    names = arm.actuators.motor_names
    for rate, count in ((1000.0, 11), (1.0, 1001)):
        limits = dict(torque=np.full(2, np.inf), motor_speed=np.full(2, np.inf))
        arm.limit(JointCommandLimits(names, torque_rate=np.full(2, rate), **limits))
        arm.transfer.torque[:] = goal + 10.0
        slept.clear()
        commands = list(approach_rest(arm, now + MS, now))
        assert abs(len(commands) - count) <= 1
        assert len(slept) == len(commands) - 1
        np.testing.assert_allclose(slept, 1e-3)
        assert {b.stamp - a.stamp for a, b in pairwise(commands)} == {MS}
        left = commands[-1].torque - goal
        np.testing.assert_allclose(left, max(10.0 - rate * 1e-3 * len(commands), 0.0), atol=1e-3)
