"""Pairs of link and motor states: equal stamps, tolerated ones, what is refused."""

from __future__ import annotations

import pytest
from sensor_msgs.msg import JointState

from multibody_dynamics.nodes.messages import JointStates, MessageError, set_stamp
from multibody_dynamics.nodes.state_pairs import StatePairs, missing_of

MS = 1_000_000


class Robot:
    def __init__(self, needs_links: bool = True) -> None:
        self.links, self.motors = JointStates(["a", "b"]), JointStates(["a", "b_1", "b_2"])
        self.pairs = StatePairs(self.links, self.motors, needs_links=needs_links)

    def send(self, side: str, stamp: int, tolerance: float = 0.0) -> bool:
        """A new state of one side, stamped in ms; whether a pair is complete."""
        states = getattr(self, side)
        names = ["a", "b"] if side == "links" else ["a", "b_1", "b_2"]
        message = JointState(name=names, position=[0.1] * len(names))
        set_stamp(message.header.stamp, stamp * MS)
        assert states.accept(message, stamp * MS)
        return self.pairs.add(states, tolerance)


@pytest.mark.parametrize("order", [("links", "motors"), ("motors", "links")])
def test_two_of_one_stamp_are_a_pair_once(order):
    robot, (first, second) = Robot(), order
    for stamp in (5, 6):
        assert not robot.send(first, stamp)
        assert robot.send(second, stamp)
        assert robot.pairs.stamp == stamp * MS
    assert not robot.send(second, 7)  # the other one was used


@pytest.mark.parametrize(("late", "early"), [("links", "motors"), ("motors", "links")])
def test_out_of_step_the_older_one_is_dropped_and_the_newer_one_waits(late, early):
    robot = Robot()
    assert not robot.send(early, 1)
    assert not robot.send(late, 2)  # at a start, one side is heard first: no fault
    with pytest.raises(MessageError):
        robot.send(early, 5)
    with pytest.raises(MessageError, match=rf"002000 s apart, the {early[:-1]} state being older"):
        robot.send(late, 7)
    assert robot.pairs.stamp == 0
    assert robot.send(early, 7)  # which the newer one has waited for
    assert robot.pairs.stamp == 7 * MS


def test_within_the_tolerance_they_go_together_with_the_newer_stamp():
    robot = Robot()
    robot.send("links", 5)
    assert robot.send("motors", 6, tolerance=0.001)
    assert robot.pairs.stamp == 6 * MS
    robot.send("links", 8)
    with pytest.raises(MessageError, match=r"allowed: 0\.001"):
        robot.send("motors", 10, tolerance=0.001)


def test_a_repeated_side_is_taken_at_its_newest():
    robot = Robot()
    for stamp in (5, 6, 7):
        assert not robot.send("motors", stamp)
    assert robot.send("links", 7)


def test_without_links_every_motor_state_is_a_pair():
    robot = Robot(needs_links=False)
    assert robot.send("motors", 5)
    assert robot.send("motors", 6)
    assert robot.pairs.stamp == 6 * MS


def test_after_a_restart_older_stamps_are_right_again():
    robot = Robot()
    robot.send("links", 5)
    robot.pairs.restart()
    assert robot.pairs.stamp == 0
    assert not robot.send("motors", 2)
    assert robot.send("links", 2)


def test_what_has_not_come_is_named():
    robot = Robot()
    message = JointState(name=["b_1"], position=[0.0])
    set_stamp(message.header.stamp, MS)
    robot.motors.accept(message, MS)
    assert missing_of([robot.links, robot.motors]) == "a, b, a, b_2"
