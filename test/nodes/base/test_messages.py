# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inputs matched by joint name, and outputs filled in place."""

import array

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from multibody_dynamics.dynamics.control import PositionCheck
from multibody_dynamics.dynamics.model import Transmission
from multibody_dynamics.nodes.base.messages import (
    SECOND,
    JointMatcher,
    JointStates,
    MessageError,
    command_array_message,
    joint_state_message,
    motor_command_message,
    nanoseconds,
    read_command_array,
    read_motor_command,
    read_trajectory,
    read_wrench,
    set_stamp,
    view,
)

NAMES = ("shoulder", "elbow", "wrist")
NOW = 1_700_000_000_123_456_789


def joint_state(positions: dict[str, float], stamp: int = NOW, **fields) -> JointState:
    message = JointState(name=list(positions), position=list(positions.values()), **fields)
    set_stamp(message.header.stamp, stamp)
    return message


def rejected(reason: str, function, *arguments, says: str = "") -> None:
    """With words, separated by blanks, in the message."""
    with pytest.raises(MessageError) as caught:
        function(*arguments)
    assert caught.value.reason == reason
    assert not [word for word in says.split() if word not in str(caught.value)], caught.value


def test_stamps_keep_every_nanosecond():
    stamp = Time()
    for time in (1, SECOND - 1, SECOND, NOW):
        set_stamp(stamp, time)
        assert nanoseconds(stamp) == time


class TestJointStates:
    def test_order_is_by_name_and_other_joints_are_ignored(self):
        states = JointStates(NAMES)
        shuffled = {"finger": 9.0, "wrist": 3.0, "shoulder": 1.0, "wheel": 8.0, "elbow": 2.0}
        assert states.missing == list(NAMES)
        assert states.accept(joint_state(shuffled), NOW, SECOND)
        assert states.missing == []
        np.testing.assert_array_equal(states.position, [1.0, 2.0, 3.0])
        assert states.stamp == NOW

    def test_a_state_is_that_of_its_message_and_later_ones_leave_it_alone(self):
        states = JointStates(NAMES)
        message = joint_state(dict.fromkeys(NAMES, 1.0))
        assert states.accept(message, NOW)
        first = states.position
        assert np.shares_memory(first, np.frombuffer(message.position))  # not copied
        shuffled = joint_state({"wrist": 3.0, "elbow": 2.0, "shoulder": 1.0}, NOW + 1)
        assert states.accept(shuffled, NOW)
        second = states.position
        assert not states.accept(joint_state({"elbow": 4.0}, NOW + 2), NOW)
        np.testing.assert_array_equal(states.position, [1.0, 4.0, 3.0])
        np.testing.assert_array_equal(second, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(first, 1.0)
        np.testing.assert_array_equal(np.frombuffer(message.position), 1.0)

    def test_joints_of_the_robot_may_be_spread_over_several_messages(self):
        states = JointStates(NAMES)
        assert not states.accept(joint_state({"shoulder": 1.0}), NOW)
        assert states.missing == ["elbow", "wrist"]
        assert not states.accept(joint_state({"finger": 9.0}, NOW + 1), NOW)
        assert states.accept(joint_state({"wrist": 3.0, "elbow": 2.0}, NOW - 5), NOW)
        assert states.stamp == NOW  # the newest of the stamps that make up the state
        np.testing.assert_array_equal(states.position, [1.0, 2.0, 3.0])
        assert states.missing == []
        assert states.foreign == 1
        # The next state requires every joint again.
        assert not states.accept(joint_state({"elbow": 4.0, "wrist": 5.0}, NOW + 9), NOW)
        assert states.accept(joint_state({"shoulder": 6.0}, NOW + 8), NOW)
        np.testing.assert_array_equal(states.position, [6.0, 4.0, 5.0])

    def test_a_message_overlapping_an_earlier_part_does_not_complete_a_state(self):
        states = JointStates(NAMES)
        assert not states.accept(joint_state({"shoulder": 1.0, "elbow": 2.0}), NOW)
        assert not states.accept(joint_state({"shoulder": 1.5, "elbow": 2.5}, NOW + 1), NOW)
        assert states.accept(joint_state({"wrist": 3.0}, NOW + 1), NOW)

    def test_a_whole_message_leaves_nothing_of_earlier_parts(self):
        states = JointStates(NAMES)
        assert not states.accept(joint_state({"shoulder": 1.0}), NOW)
        whole = joint_state(dict.fromkeys(NAMES, 2.0), NOW + 1)
        assert states.accept(whole, NOW)
        assert states.missing == []
        assert not states.accept(joint_state({"elbow": 3.0, "wrist": 3.0}, NOW + 2), NOW)

    def test_messages_with_one_stamp_may_overlap_and_the_first_value_of_a_joint_is_used(self):
        states = JointStates(NAMES)
        for cycle in range(3):
            stamp = NOW + cycle * SECOND
            assert not states.accept(joint_state({"shoulder": 1.0, "elbow": 2.0}, stamp), NOW)
            assert states.accept(joint_state({"wrist": 3.0, "elbow": 2.5}, stamp), NOW)
            np.testing.assert_array_equal(states.position, [1.0, 2.0, 3.0])
        stamp = NOW + 5 * SECOND
        assert not states.accept(joint_state({"wrist": 4.0}, stamp), NOW)
        assert states.accept(joint_state(dict.fromkeys(NAMES, 5.0), stamp), NOW)
        np.testing.assert_array_equal(states.position, [5.0, 5.0, 4.0])
        rejected("out of order", states.accept, joint_state(dict.fromkeys(NAMES, 6.0), stamp), NOW)
        assert states.stamp == stamp

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, -2e9])
    def test_a_value_that_is_not_finite_is_rejected_and_nothing_stored(self, bad):
        states = JointStates(NAMES)
        assert states.accept(joint_state(dict.fromkeys(NAMES, 1.0)), NOW)
        message = joint_state({"shoulder": 2.0, "elbow": bad, "wrist": 2.0}, NOW + 1)
        rejected("not finite", states.accept, message, NOW, says="position of 'elbow'")
        np.testing.assert_array_equal(states.position, [1.0, 1.0, 1.0])
        # Nor is its stamp: the same message, corrected, is not out of order.
        assert states.accept(joint_state(dict.fromkeys(NAMES, 2.0), NOW + 1), NOW)

    def test_optional_fields_are_stored_unchecked(self):
        states = JointStates(NAMES, also=("velocity",))
        positions = dict.fromkeys(NAMES[::-1], 1.0)
        assert states.accept(joint_state(positions, velocity=[0.1, np.nan, 0.3]), NOW)
        np.testing.assert_array_equal(states.velocity, [0.3, np.nan, 0.1])
        assert states.accept(joint_state(positions, NOW + 1), NOW)
        assert np.isnan(states.velocity).all()

    def test_unused_fields_may_be_nan_or_empty(self):
        states = JointStates(NAMES)
        positions = dict.fromkeys(NAMES, 1.0)
        assert states.accept(joint_state(positions, velocity=[np.nan] * 3), NOW)
        states = JointStates(NAMES, ("position", "velocity"))
        rejected("wrong length", states.accept, joint_state(positions), NOW, says="velocity empty")
        partly = joint_state(positions, velocity=[0.0, np.nan, 0.0])
        rejected("not finite", states.accept, partly, NOW)
        assert states.accept(joint_state(positions, velocity=[4.0, 5.0, 6.0]), NOW)
        np.testing.assert_array_equal(states.velocity, [4.0, 5.0, 6.0])

    def test_states_of_a_second_publisher_are_rejected(self):
        check = PositionCheck(NAMES, np.full(3, 2.0), np.zeros(3), 10.0)
        states = JointStates(NAMES, check=check)
        ms = SECOND // 1000
        for k in range(20):
            first = joint_state(dict.fromkeys(NAMES, 0.001 * k), NOW + 2 * k * ms)
            assert states.accept(first, NOW)
            other = joint_state(dict.fromkeys(NAMES, 1.0), NOW + (2 * k + 1) * ms)
            rejected("jump", states.accept, other, NOW, says="'shoulder' second publisher")
        np.testing.assert_allclose(states.position, 0.019)
        # If the first publisher falls silent, the other's states need ~/enable.
        other = joint_state(dict.fromkeys(NAMES, 1.0), NOW + 200 * ms)
        rejected("jump", states.accept, other, NOW)
        check.accept_next()
        assert states.accept(other, NOW)
        states.restart()
        assert states.accept(joint_state(dict.fromkeys(NAMES, -3.0), NOW + 201 * ms), NOW)

    def test_continuous_joints_are_followed_across_the_turn_and_may_not_leap(self):
        turn = 2.0 * np.pi
        check = PositionCheck(NAMES, np.full(3, 2.0), np.array([turn, 0.0, turn]), 10.0)
        states, ms = JointStates(NAMES, check=check), SECOND // 1000
        for k in range(2000):  # three turns forwards and backwards, reported in -pi .. pi
            angle = 3.1 + 0.01 * np.array([k, 0.0, -k])
            reported = np.remainder(angle + np.pi, turn) - np.pi
            message = joint_state(dict(zip(NAMES, reported, strict=True)), NOW + k * ms)
            assert states.accept(message, NOW)
            np.testing.assert_allclose(states.position, angle, atol=1e-12)
        for j, leap in ((0, 1.0), (1, turn)):  # a leap is one, however it is reported
            wrong = reported.copy()
            wrong[j] += leap
            message = joint_state(dict(zip(NAMES, wrong, strict=True)), NOW + 2000 * ms)
            rejected("jump", states.accept, message, NOW)

    def test_malformed(self):
        states = JointStates(NAMES)
        good = joint_state(dict.fromkeys(NAMES, 1.0))
        unnamed = JointState(header=good.header, position=[1.0, 2.0, 3.0])
        rejected("unnamed", states.accept, unnamed, NOW)
        short = JointState(header=good.header, name=list(NAMES), position=[1.0, 2.0])
        rejected("wrong length", states.accept, short, NOW, says="3 names but 2 values in position")
        twice = JointState(header=good.header, name=["elbow", "elbow"], position=[1.0, 2.0])
        rejected("repeated joint", states.accept, twice, NOW)

    @pytest.mark.parametrize(
        ("stamp", "reason"),
        [
            (0, "no stamp"),
            (NOW - 2 * SECOND, "stale"),
            (NOW + 2 * SECOND, "from the future"),
            (NOW - SECOND // 2, "out of order"),
            (NOW, "out of order"),  # repeated
        ],
    )
    def test_stamps(self, stamp, reason):
        states = JointStates(NAMES)
        positions = dict.fromkeys(NAMES, 1.0)
        assert states.accept(joint_state(positions), NOW, SECOND)
        rejected(reason, states.accept, joint_state(positions, stamp), NOW, SECOND)

    def test_without_a_tolerance_only_older_stamps_are_rejected(self):
        states = JointStates(NAMES)
        positions = dict.fromkeys(NAMES, 1.0)
        assert states.accept(joint_state(positions, 5 * SECOND), NOW, 0)
        rejected("out of order", states.accept, joint_state(positions, SECOND), NOW, 0)

    def test_time_going_back_is_distinguished_from_a_late_message(self):
        states = JointStates(NAMES)
        positions = dict.fromkeys(NAMES, 1.0)
        late = joint_state(positions, NOW - SECOND // 4)
        assert states.accept(joint_state(positions), NOW, SECOND)
        assert not states.has_jumped_back(late, NOW, SECOND)
        jumped = NOW - 3600 * SECOND
        assert states.has_jumped_back(joint_state(positions, jumped), jumped, SECOND)
        states.restart()
        assert states.accept(joint_state(positions, jumped), jumped, SECOND)
        # A looped bag, with any stamp allowed.
        assert states.has_jumped_back(joint_state(positions, jumped - 2 * SECOND), NOW, 0)
        assert not states.has_jumped_back(joint_state(positions, 0), NOW, 0)  # no stamp at all
        foreign = joint_state({"gripper": 1.0}, jumped - 2 * SECOND)  # has a clock of its own
        assert not states.has_jumped_back(foreign, NOW, 0)

    def test_a_sender_that_keeps_changing_names_does_not_fill_the_memory(self):
        matcher = JointMatcher(NAMES)
        for k in range(10 * JointMatcher.MEMORY):
            assert matcher.match([f"other{k}", "elbow"]).target.tolist() == [1]
        assert len(matcher._known) <= JointMatcher.MEMORY


def trajectory(names, *points, stamp: int = 0) -> JointTrajectory:
    message = JointTrajectory(joint_names=list(names))
    set_stamp(message.header.stamp, stamp)
    for k, fields in enumerate(points):
        start = Duration(sec=k, nanosec=250_000_000)
        message.points.append(JointTrajectoryPoint(time_from_start=start, **fields))
    return message


class TestTrajectory:
    matcher = JointMatcher(NAMES)

    def test_order_is_by_name(self):
        names = ("wrist", "shoulder", "elbow")
        message = trajectory(
            names,
            {"positions": [3.0, 1.0, 2.0], "velocities": [6.0, 4.0, 5.0]},
            {"positions": [30.0, 10.0, 20.0]},
            stamp=NOW,
        )
        request = read_trajectory(message, self.matcher)
        assert request.start == NOW
        np.testing.assert_array_equal(request.times, [0.25, 1.25])
        np.testing.assert_array_equal(request.positions, [[1, 2, 3], [10, 20, 30]])
        np.testing.assert_array_equal(request.velocities[0], [4, 5, 6])
        assert np.isnan(request.velocities[1]).all()
        assert request.accelerations is None

    def test_stamp_zero_means_now_and_no_points_means_stop(self):
        request = read_trajectory(JointTrajectory(), self.matcher)
        assert request.start is None
        assert request.times.size == 0

    @pytest.mark.parametrize(
        ("names", "point", "reason", "says"),
        [
            ((), {"positions": [1.0]}, "unnamed", "no joint names"),
            (("shoulder", "elbow"), {"positions": [1.0, 2.0]}, "missing joint", "'wrist'"),
            (
                (*NAMES, "tail"),
                {"positions": [1.0] * 4},
                "unknown joint",
                "unknown joint 'tail'; expected the joints 'shoulder', 'elbow', 'wrist'",
            ),
            (("elbow", *NAMES), {"positions": [1.0] * 4}, "repeated joint", "'elbow'"),
            (NAMES, {"positions": [1.0, 2.0]}, "wrong length", "point 0 has 2 positions"),
            (NAMES, {"positions": [1.0, np.nan, 2.0]}, "not finite", "positions of 'elbow'"),
            (NAMES, {"velocities": [1.0, 2.0, np.inf]}, "not finite", "velocities of 'wrist'"),
            (
                NAMES,
                {"accelerations": [1e300, 0, 0]},
                "not finite",
                "of 'shoulder' in point 0 is 1e",
            ),
        ],
    )
    def test_rejected(self, names, point, reason, says):
        rejected(reason, read_trajectory, trajectory(names, point), self.matcher, says=says)


# A differential: pitch = (left + right)/2 + 0.1, roll = (left - right)/2
WRIST = Transmission(
    ("pitch", "roll"), ("left", "right"), np.array([[0.5, 0.5], [0.5, -0.5]]), np.array([0.1, 0.0])
)


class TestTransmissions:
    def test_states_of_the_joints_become_those_of_the_motors(self):
        states = JointStates(
            ("elbow", "left", "right"), ("position", "velocity", "effort"), transmissions=(WRIST,)
        )
        message = joint_state({"roll": 0.3, "elbow": 1.0, "gripper": 9.0, "pitch": 0.6})
        message.velocity = [0.2, 2.0, 0.0, 0.4]
        message.effort = [1.0, 3.0, 0.0, 5.0]
        assert states.accept(message, NOW)
        np.testing.assert_allclose(states.position, [1.0, 0.8, 0.2])  # pitch - 0.1 +- roll
        np.testing.assert_allclose(states.velocity, [2.0, 0.6, 0.2])
        np.testing.assert_allclose(states.effort, [3.0, 3.0, 2.0])  # (pitch +- roll)/2

    def test_states_of_the_motors_are_taken_as_they_are(self):
        states = JointStates(("left", "right"), transmissions=(WRIST,))
        own = {"left": 0.8, "right": 0.2}
        assert states.accept(joint_state(own | {"pitch": 7.0, "roll": 7.0}), NOW)
        np.testing.assert_array_equal(states.position, [0.8, 0.2])

    def test_a_state_of_one_joint_of_a_transmission_is_nobodys(self):
        states = JointStates(("left", "right"), transmissions=(WRIST,))
        assert not states.accept(joint_state({"pitch": 0.6}), NOW)
        assert states.foreign == 1

    def test_what_is_not_finite_is_named_by_its_motor(self):
        states = JointStates(("left", "right"), transmissions=(WRIST,))
        wrong = joint_state({"pitch": np.nan, "roll": 0.0})
        rejected("not finite", states.accept, wrong, NOW, says="position of 'left' is nan")

    def test_a_prefix_belongs_to_all_names(self):
        states = JointStates(("a_left", "a_right"), transmissions=(WRIST,), prefix="a_")
        assert states.accept(joint_state({"a_pitch": 0.6, "a_roll": 0.3}), NOW)
        np.testing.assert_allclose(states.position, [0.8, 0.2])

    def test_trajectories_may_name_the_joints(self):
        matcher = JointMatcher(("elbow", "left", "right"), (WRIST,))
        message = trajectory(
            ["roll", "elbow", "pitch"],
            {"positions": [0.3, 1.0, 0.6], "velocities": [0.2, 2.0, 0.4]},
        )
        request = read_trajectory(message, matcher)
        np.testing.assert_allclose(request.positions, [[1.0, 0.8, 0.2]])
        np.testing.assert_allclose(request.velocities, [[2.0, 0.6, 0.2]])
        point = {"positions": [0.3, 1.0]}
        half = trajectory(["pitch", "elbow"], point)
        says = "'pitch', 'roll' instead of 'left', 'right'"
        rejected("unknown joint", read_trajectory, half, matcher, says=says)
        wrist = trajectory(["pitch", "roll"], point)
        rejected("missing joint", read_trajectory, wrist, matcher, says="elbow")


class TestOutputs:
    """Values written through a view survive serialization."""

    def test_joint_state(self):
        message = joint_state_message(NAMES, "effort")
        view(message.effort)[:] = [1.0, 2.0, 3.0]
        received = deserialize_message(serialize_message(message), JointState)
        assert received.name == list(NAMES)
        assert received.effort == array.array("d", [1.0, 2.0, 3.0])
        assert len(received.position) == 0

    def test_motor_command_round_trip(self):
        message = motor_command_message(NAMES)
        set_stamp(message.header.stamp, NOW)
        point = message.points[0]
        for k, field in enumerate((point.positions, point.velocities, point.accelerations)):
            view(field)[:] = np.arange(3) + 10 * k
        view(point.effort)[:] = np.arange(3) + 30
        received = deserialize_message(serialize_message(message), JointTrajectory)
        command = read_motor_command(received, JointMatcher(NAMES[::-1]))
        assert command.stamp == NOW
        np.testing.assert_array_equal(command.position, [2, 1, 0])
        np.testing.assert_array_equal(command.velocity, [12, 11, 10])
        np.testing.assert_array_equal(command.acceleration, [22, 21, 20])
        np.testing.assert_array_equal(command.effort, [32, 31, 30])

    def test_motor_command_requires_one_point_with_positions(self):
        matcher = JointMatcher(NAMES)
        rejected("wrong length", read_motor_command, trajectory(NAMES), matcher)
        only_effort = trajectory(NAMES, {"effort": [1.0, 2.0, 3.0]})
        rejected("wrong length", read_motor_command, only_effort, matcher)

    def test_command_array_is_labelled_and_survives_a_round_trip(self):
        message = command_array_message(NAMES)
        view(message.data)[:] = [1.0, 2.0, 3.0]
        received = deserialize_message(serialize_message(message), Float64MultiArray)
        assert [dim.label for dim in received.layout.dim] == list(NAMES)
        # A valid layout: the product of the sizes is the length, and the strides agree.
        assert np.prod([dim.size for dim in received.layout.dim]) == len(received.data)
        np.testing.assert_array_equal(read_command_array(received, NAMES), [1.0, 2.0, 3.0])

    def test_command_array_rejected(self):
        good = [1.0, 2.0, 3.0]
        short = Float64MultiArray(data=good[:2])
        rejected("wrong length", read_command_array, short, NAMES)
        bad = Float64MultiArray(data=[1.0, np.nan, 3.0])
        rejected("not finite", read_command_array, bad, NAMES)
        other = Float64MultiArray(data=good)
        other.layout.dim = [MultiArrayDimension(label=name) for name in NAMES[::-1]]
        rejected("unknown joint", read_command_array, other, NAMES)


def test_a_wrench_has_its_force_first_in_the_message_and_its_moment_first_here():
    message = WrenchStamped()
    message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = 1.0, 2.0, 3.0
    message.wrench.torque.x, message.wrench.torque.y, message.wrench.torque.z = 4.0, 5.0, 6.0
    np.testing.assert_array_equal(read_wrench(message), [4, 5, 6, 1, 2, 3])
    message.wrench.force.y = np.nan
    rejected("not finite", read_wrench, message)


def test_values_in_our_order_are_not_copied_and_others_are_reordered():
    matcher, numbers = JointMatcher(("a", "b")), np.array([1.0, 2.0, 3.0])
    same = matcher.match(["a", "b"]).take("position", numbers[:2])
    assert np.shares_memory(same, numbers)
    cases = (
        (["b", "a"], {"a": 2.0, "b": 1.0}),
        (["a", "b", "x"], {"a": 1.0, "b": 2.0}),
        (["x", "b"], {"b": 2.0}),
    )
    for names, wanted in cases:
        match = matcher.match(names)
        taken = match.take("position", numbers[: len(names)])
        assert {
            matcher.joint_names[i]: x for i, x in zip(match.target, taken, strict=True)
        } == wanted


def test_of_overlapping_messages_the_newer_stamp_counts_for_each_joint():
    states, second = JointStates(("a", "b")), 10**9
    for names, values, stamp, complete in (
        (["a", "b"], [1.0, 2.0], second, True),
        (["a"], [3.0], second + 5, False),
        (["a", "b"], [9.0, 4.0], second + 5, True),  # b is new, a is not
        (["b", "a"], [6.0, 5.0], second + 9, True),
    ):
        message = JointState(name=names, position=values)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, second)
        assert states.accept(message, stamp) is complete
        if complete:
            assert states.stamp == stamp
    np.testing.assert_array_equal(states.position, [5.0, 6.0])
