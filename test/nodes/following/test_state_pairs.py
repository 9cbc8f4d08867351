# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Pairs of link and motor states: equal stamps, tolerated differences, rejected states."""

from __future__ import annotations

import pytest
from sensor_msgs.msg import JointState

from multibody_dynamics.nodes.base.messages import JointStates, MessageError, set_stamp
from multibody_dynamics.nodes.following.state_pairs import (
    ALONE,
    MeasuredSignals,
    StatePairs,
    missing_of,
)

MS = 1_000_000


class Robot:
    def __init__(self, needs_links: bool = True) -> None:
        self.links, self.motors = JointStates(["a", "b"]), JointStates(["a", "b_1", "b_2"])
        self.pairs = StatePairs(self.links, self.motors, needs_links=needs_links)

    def send(self, side: str, stamp: int, tolerance: float = 0.0) -> bool:
        """Add a state of one side, stamped in ms; returns whether it completes a pair."""
        states = getattr(self, side)
        names = ["a", "b"] if side == "links" else ["a", "b_1", "b_2"]
        message = JointState(name=names, position=[0.1] * len(names))
        set_stamp(message.header.stamp, stamp * MS)
        assert states.accept(message, stamp * MS)
        return self.pairs.add(states, tolerance)


@pytest.mark.parametrize("order", [("links", "motors"), ("motors", "links")])
def test_two_states_with_one_stamp_are_a_pair_once(order):
    robot, (first, second) = Robot(), order
    for stamp in (5, 6):
        assert not robot.send(first, stamp)
        assert robot.send(second, stamp)
        assert robot.pairs.stamp == stamp * MS
    assert not robot.send(second, 7)  # the other one was used


@pytest.mark.parametrize(("late", "early"), [("links", "motors"), ("motors", "links")])
def test_without_a_match_the_older_one_is_skipped_and_the_newer_one_waits(late, early):
    robot = Robot()
    assert not robot.send(early, 1)
    assert not robot.send(late, 2)
    assert not robot.send(early, 5)
    assert not robot.send(late, 7)
    assert robot.pairs.stamp == 0
    assert robot.send(early, 7)  # for which the newer one has waited
    assert robot.pairs.stamp == 7 * MS
    assert robot.pairs.alone == 3


def test_states_of_one_side_read_in_a_row_drop_only_older_ones():
    robot = Robot()
    for stamp in range(1, 9):
        assert not robot.send("links", stamp)
    assert [robot.send("motors", stamp) for stamp in range(1, 9)] == [False] * 7 + [True]
    assert robot.pairs.alone == 7


@pytest.mark.parametrize(("late", "early"), [("links", "motors"), ("motors", "links")])
def test_states_that_never_match_are_reported(late, early):
    robot = Robot()
    for k in range(ALONE):
        assert not robot.send((early, late)[k % 2], 2 * k + 1)
    with pytest.raises(MessageError, match=rf"the {late[:-1]} state is .*002000 s older"):
        robot.send(early, 2 * ALONE + 1)


def test_states_within_the_tolerance_pair_with_the_newer_stamp():
    robot = Robot()
    robot.send("links", 5)
    assert robot.send("motors", 6, tolerance=0.001)
    assert robot.pairs.stamp == 6 * MS
    robot.send("links", 8)
    assert not robot.send("motors", 10, tolerance=0.001)


def test_the_newest_state_of_a_side_is_used():
    robot = Robot()
    for stamp in (5, 6, 7):
        assert not robot.send("motors", stamp)
    assert robot.send("links", 7)


def test_without_links_every_motor_state_is_a_pair():
    robot = Robot(needs_links=False)
    assert robot.send("motors", 5)
    assert robot.send("motors", 6)
    assert robot.pairs.stamp == 6 * MS


def test_after_a_restart_older_stamps_are_accepted_again():
    robot = Robot()
    robot.send("links", 5)
    robot.pairs.restart()
    assert robot.pairs.stamp == 0
    assert not robot.send("motors", 2)
    assert robot.send("links", 2)


def test_missing_joints_are_named():
    robot = Robot()
    message = JointState(name=["b_1"], position=[0.0])
    set_stamp(message.header.stamp, MS)
    robot.motors.accept(message, MS)
    assert missing_of([robot.links, robot.motors]) == "a, b, a, b_2"


def accept(inputs: MeasuredSignals, side: str, stamp: int, **rows: list[float]) -> bool:
    """Add a state of one side, stamped in ms; returns whether it completes a pair."""
    message = JointState(name=["a", "b"], **rows)
    set_stamp(message.header.stamp, stamp * MS)
    states = inputs.sides[side]
    assert states.accept(message, stamp * MS)
    return inputs.pairs.add(states, 0.0)


def test_signals_are_a_copy_of_the_newest_pair():
    names = ("link_position", "motor_position", "joint_torque")
    inputs = MeasuredSignals(["a", "b"], ["b", "a"], names)
    assert not accept(inputs, "links", 5, position=[0.1, 0.2], effort=[1.0, 2.0])
    assert accept(inputs, "motors", 5, position=[0.3, 0.4])
    inputs.read()
    assert set(inputs.values) == set(names)
    assert not accept(inputs, "links", 6, position=[9.0, 9.0], effort=[9.0, 9.0])
    assert inputs.values["link_position"].tolist() == [0.1, 0.2]
    assert inputs.values["joint_torque"].tolist() == [1.0, 2.0]
    assert inputs.values["motor_position"].tolist() == [0.4, 0.3]  # by name
    assert list(inputs.used) == ["joint_states", "motor_states"]


def test_without_link_signals_only_motor_states_are_used_and_missing():
    inputs = MeasuredSignals(["a"], ["a", "b"], ("motor_position", "motor_torque"))
    assert list(inputs.used) == ["motor_states"]
    assert not inputs.pairs.needs_links
    assert inputs.missing == "a, b"
    assert accept(inputs, "motors", 5, position=[0.3, 0.4], effort=[1.0, 2.0])
    inputs.read()
    assert inputs.values["motor_torque"].tolist() == [1.0, 2.0]
