# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Pairs of link and motor states: equal stamps, tolerated differences, rejected states."""

from collections.abc import Sequence

import pytest
from sensor_msgs.msg import JointState

from elastic_arms import antagonistic_arm
from multibody_dynamics.dynamics.control import BOTH, LINKS, MOTORS
from multibody_dynamics.nodes.base.messages import JointStates, MessageError, set_stamp
from multibody_dynamics.nodes.following import state_pairs

MS = 1_000_000


class Robot:
    def __init__(self, needs_links: bool = True) -> None:
        self.links, self.motors = JointStates(["a", "b"]), JointStates(["a", "b_1", "b_2"])
        self.pairs = state_pairs.StatePairs(self.links, self.motors, needs_links=needs_links)

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
    for k in range(state_pairs.ALONE):
        assert not robot.send((early, late)[k % 2], 2 * k + 1)
    with pytest.raises(MessageError, match=rf"the {late[:-1]} state is .*002000 s older"):
        robot.send(early, 2 * state_pairs.ALONE + 1)


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
    assert state_pairs.missing_of([robot.links, robot.motors]) == "a, b, a, b_2"


class Watch:
    """A watch whose staleness the test sets."""

    def __init__(self) -> None:
        self.stale = False
        self.fed = 0

    def age(self) -> float:
        return 0.25

    def feed(self) -> None:
        self.stale = False
        self.fed += 1


ENCODERS = ("link_position", "motor_position")
ACTUATORS = antagonistic_arm().actuators
NAMES = {LINKS: ACTUATORS.joint_names, MOTORS: ACTUATORS.motor_names}


def inputs(
    names: Sequence[str] = ENCODERS,
    *,
    stale: Sequence[str] = (),
    can_stop_on_links: bool = True,
    has_begun: bool = True,
) -> state_pairs.StateInputs:
    """Inputs of a joint with one motor and one with two; the sides in `stale` have timed out."""
    found = state_pairs.StateInputs(ACTUATORS, names, {}, can_stop_on_links=can_stop_on_links)
    for side in found.topics:
        found.watch(side, Watch())
        found._watches[side].stale = side in stale
    found.has_begun = has_begun
    return found


def accept(found: state_pairs.StateInputs, side: str, stamp: int, **rows: list[float]) -> bool:
    """Add a state of one side, stamped in ms; returns whether it completes a pair."""
    message = JointState(name=list(NAMES[side]), **rows)
    set_stamp(message.header.stamp, stamp * MS)
    assert found.sides[side].accept(message, stamp * MS)
    return found.add(side, 0.0)


def test_signals_are_those_of_the_newest_pair_that_was_read():
    names = ("link_position", "motor_position", "joint_torque")
    found = inputs(names)
    assert not accept(found, LINKS, 5, position=[0.1, 0.2], effort=[1.0, 2.0])
    assert accept(found, MOTORS, 5, position=[0.3, 0.4, 0.5])
    found.read()
    assert set(found.signals) == set(names)
    assert not accept(found, LINKS, 6, position=[9.0, 9.0], effort=[9.0, 9.0])
    assert found.signals["link_position"].tolist() == [0.1, 0.2]
    assert found.signals["joint_torque"].tolist() == [1.0, 2.0]
    assert found.signals["motor_position"].tolist() == [0.3, 0.4, 0.5]
    assert set(found.topics.values()) == {"joint_states", "motor_states"}


def test_without_link_signals_only_motor_states_are_used_and_missing():
    found = inputs(("motor_position", "motor_torque"))
    assert list(found.topics.values()) == ["motor_states"]
    assert found.awaited == ", ".join(NAMES[MOTORS])
    assert accept(found, MOTORS, 5, position=[0.3, 0.4, 0.5], effort=[1.0, 2.0, 3.0])
    found.read()
    assert found.signals["motor_torque"].tolist() == [1.0, 2.0, 3.0]
    assert found.missing == ""
    found._watches[MOTORS].stale = True
    assert found.missing == BOTH


@pytest.mark.parametrize(
    ("stale", "missing"),
    [((), ""), ((LINKS,), LINKS), ((MOTORS,), MOTORS), ((LINKS, MOTORS), BOTH)],
)
def test_the_sides_that_have_timed_out_are_missing_once_a_cycle_has_run(stale, missing):
    found = inputs(stale=stale)
    assert found.missing == missing
    assert found.runs_on(LINKS) == (missing == MOTORS)
    assert found.runs_on(MOTORS) == (missing == LINKS)
    assert bool(found.why) == bool(missing)
    assert inputs(stale=stale, has_begun=False).missing == ""
    alone = BOTH if MOTORS in stale else missing
    assert inputs(stale=stale, can_stop_on_links=False).missing == alone


def test_a_cycle_by_the_timer_needs_a_pair_or_one_side_that_may_run_alone():
    found = inputs()
    assert not found.has_state
    accept(found, LINKS, 5, position=[0.1, 0.2])
    accept(found, MOTORS, 5, position=[0.3, 0.4, 0.5])
    assert found.has_state
    assert inputs(stale=(LINKS,)).has_state
    assert inputs(stale=(MOTORS,)).has_state
    assert not inputs(stale=(LINKS, MOTORS)).has_state
    assert not inputs(stale=(MOTORS,), can_stop_on_links=False).has_state


def test_links_count_as_arriving_by_pairs_and_alone_only_without_motors():
    found = inputs()
    links, motors = found._watches[LINKS], found._watches[MOTORS]
    accept(found, LINKS, 5, position=[0.1, 0.2])
    assert (motors.fed, links.fed) == (0, 0)
    accept(found, MOTORS, 5, position=[0.3, 0.4, 0.5])
    assert (motors.fed, links.fed) == (1, 1)
    motors.stale = True
    accept(found, LINKS, 6, position=[0.1, 0.2])
    assert links.fed == 2
    found.has_begun = False
    accept(found, LINKS, 7, position=[0.1, 0.2])
    assert links.fed == 2


def test_links_that_are_newer_than_the_last_torque_need_no_motors_any_more():
    found = inputs(stale=(LINKS, MOTORS))
    accept(found, LINKS, 6, position=[0.1, 0.2])
    found._watches[LINKS].stale = True
    found.note_stale(MOTORS, 7 * MS)
    assert found.missing == BOTH
    found.note_stale(MOTORS, 5 * MS)
    assert found.missing == MOTORS
