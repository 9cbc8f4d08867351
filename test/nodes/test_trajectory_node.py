# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""trajectory_node over the real middleware: what it sends and when, and how it reports failure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.motion.trajectories import interpolate
from multibody_dynamics.nodes import trajectory_node
from multibody_dynamics.nodes.base import messages
from multibody_dynamics.nodes.base.parameters import ParameterError
from multibody_dynamics.nodes.base.qos import RELIABLE
from multibody_dynamics.nodes.trajectory_node import (
    TrajectoryParameters,
    load_model,
    make_motion,
    read_file,
)
from rejections import assert_rejected
from ros_harness import RosHarness, ros
from urdf_parts import joint, link, robot

__all__ = ["ros"]  # the fixture

NODE = "trajectory_node"
ROBOT = robot(
    "arm",
    link("stand"),
    joint("turn", "revolute", "stand", "turn_link", axis="0 1 0", limit="-1 1 2 9"),
    link("turn_link", 1.0, inertia="1 1 1"),
    joint("slide", "prismatic", "turn_link", "slide_link", axis="0 1 0", limit="0 1 2 9"),
    link("slide_link", 1.0, inertia="1 1 1"),
)
NAMES = ("turn", "slide")


def settings(tmp_path: Path, **more: Any) -> dict[str, Any]:
    file = tmp_path / "arm.urdf"
    file.write_text(ROBOT)
    chosen = {"robot_file": str(file), "duration": 0.3, "ramp": 0.1, "frequency": 6.0}
    chosen |= {"sample_period": 0.005, "start_delay": 0.1, "shortest_approach": 0.2}
    chosen["autostart"] = True
    return chosen | more


def model(tmp_path: Path) -> Any:
    return load_model(TrajectoryParameters(robot_file=settings(tmp_path)["robot_file"]))


def state_sender(ros: RosHarness, position: Sequence[float], ago: int = 0) -> Any:
    """A function that publishes the robot's position, with a stamp `ago` seconds before now."""
    publisher = ros.peer.create_publisher(JointState, "joint_states", 10)

    def send() -> None:
        message = JointState(name=["other", *NAMES], position=[9.0, *position])
        now = ros.peer.get_clock().now().nanoseconds
        messages.set_stamp(message.header.stamp, now - ago * messages.SECOND)
        publisher.publish(message)

    return send


@pytest.mark.parametrize("motion", ["sum_of_sines", "rest_to_rest"])
def test_it_sends_the_motion_and_exits(ros, tmp_path, motion):
    received = ros.record(JointTrajectory, "joint_trajectory", writers=0)
    actual = (0.9, 0.1)
    send = state_sender(ros, actual)
    begin = ros.peer.get_clock().now().nanoseconds
    node = ros.start(NODE, settings(tmp_path, motion=motion, exit_when_done=True))
    ros.until(lambda: received, "a trajectory", each=send)
    now = ros.peer.get_clock().now().nanoseconds

    request = messages.read_trajectory(received[0], messages.JointMatcher(NAMES))
    assert (
        begin < request.start - 0.1 * messages.SECOND < now
    )  # the delay counts from the time of sending
    wanted = make_motion(
        model(tmp_path), TrajectoryParameters(motion=motion, duration=0.3, ramp=0.1, frequency=6.0)
    )
    approach = request.times[-1] - wanted.duration
    assert approach >= 0.2 - 1e-9
    first = wanted(0.0)[0]
    fastest = np.abs(interpolate(NAMES, [0.0, approach], [actual, first]).extremes()).max(axis=0)
    assert (fastest[1] <= 0.5 * 2.0 * 1.01).all()  # half of the speed limits
    rows = (request.positions, request.velocities, request.accelerations)
    own = request.times > approach - 1e-6  # the points before are those of the approach
    rows = (row if row is None else row[own] for row in rows)
    sent = interpolate(NAMES, np.maximum(request.times[own] - approach, 0.0), *rows)
    times = np.linspace(0.0, wanted.duration, 100)
    np.testing.assert_allclose(
        sent.sample(times)[:, :3], wanted.sample(times)[:, :3], rtol=1e-4, atol=1e-4
    )

    ros.until(lambda: node.exit_code is not None, "the end of the motion")
    end = request.start + messages.SECOND * request.times[-1]
    assert ros.peer.get_clock().now().nanoseconds >= end
    assert node.exit_code == 0
    assert len(received) == 1
    off = np.abs(np.subtract(actual, wanted(wanted.duration)[0]))  # nothing moved the robot
    far = f"'{NAMES[off.argmax()]}' is {off.max():.2g} rad or m from its goal"
    assert f"motion 1 of 1 is over: joint {far}" in node.output


def test_it_sends_the_points_of_a_file_in_the_order_of_the_robot(ros, tmp_path):
    """Joints swapped and times not starting at zero, as in a table of another tool."""
    times = np.linspace(0.0, 0.3, 13)
    sine = np.sin(np.pi * times / 0.3) ** 4
    table = np.column_stack([2.0 + times, 0.1 + 0.2 * sine, 0.1 * sine])
    file = tmp_path / "motion.csv"
    np.savetxt(file, table, delimiter=",", header="t,q slide,q turn", comments="")
    received = ros.record(JointTrajectory, "joint_trajectory", writers=0)
    send = state_sender(ros, (0.0, 0.1))
    chosen = {"motion": "file", "trajectory_file": str(file), "exit_when_done": True}
    node = ros.start(NODE, settings(tmp_path, **chosen))
    ros.until(lambda: received, "a trajectory", each=send)
    request = messages.read_trajectory(received[0], messages.JointMatcher(NAMES))
    np.testing.assert_allclose(request.times - request.times[0], times, atol=1e-8)
    np.testing.assert_allclose(request.positions, table[:, [2, 1]], atol=1e-12)
    assert ros.exit_of(node, each=send) == 0


def test_a_file_with_other_joints_is_refused_by_name(tmp_path):
    file = tmp_path / "motion.csv"
    file.write_text("t,q wrist\n0,1\n1,2\n")
    with pytest.raises(InputError, match=rf"{file}: joints do not match .*unknown: wrist"):
        read_file(model(tmp_path), file)


def test_a_motion_of_too_many_points_is_refused_before_it_is_computed(tmp_path, monkeypatch):
    """An hour at 1 kHz."""
    monkeypatch.setattr(trajectory_node, "sampled", None)
    p = TrajectoryParameters(motion="sum_of_sines", duration=3600.0, sample_period=0.001)
    with pytest.raises(ParameterError, match=r"3,60\d,\d+ points; at most 200,000 .*"):
        trajectory_node._motion_and_points(model(tmp_path), p)


def test_it_fails_without_subscribers(ros, tmp_path):
    send = state_sender(ros, (0.0, 0.5))
    node = ros.start(NODE, settings(tmp_path, exit_when_done=True, patience=0.5))
    assert ros.exit_of(node, each=send) == 1
    assert "only 0 of 1 subscribers on /test/joint_trajectory" in node.output


def test_it_fails_without_joint_states(ros, tmp_path):
    ros.record(JointTrajectory, "joint_trajectory", writers=0)
    node = ros.start(NODE, settings(tmp_path, exit_when_done=True, patience=1.0))
    assert ros.exit_of(node) == 1
    assert "no complete state received on /test/joint_states" in node.output


def test_it_is_patient_again_after_every_motion(ros, tmp_path):
    """A receiver that restarts during a motion, which takes longer than the patience."""
    received: list[JointTrajectory] = []

    def listen() -> Any:
        return ros.peer.create_subscription(
            JointTrajectory, "joint_trajectory", received.append, RELIABLE
        )

    receiver, send = listen(), state_sender(ros, (0.0, 0.5))
    chosen = {"exit_when_done": True, "patience": 6.0, "repeat": 2, "start_delay": 6.0}
    node = ros.start(NODE, settings(tmp_path, **chosen))
    ros.until(lambda: received, "the first trajectory", each=send)
    ros.peer.destroy_subscription(receiver)
    ros.until(lambda: "motion 1 of 2 is over" in node.output, "the end of a motion", each=send)
    ros.spin(1.0)  # in which an impatient node gives up
    assert node.exit_code is None, node.output
    listen()
    assert ros.exit_of(node, each=send) == 0
    assert len(received) == 2


def test_it_waits_for_the_ready_topic(ros, tmp_path):
    received = ros.record(JointTrajectory, "joint_trajectory", writers=0)
    ready = ros.publisher(JointTrajectory, "ready", readers=0)
    send = state_sender(ros, (0.0, 0.5))
    node = ros.start(
        NODE, settings(tmp_path, exit_when_done=True, patience=1.0, ready_topic="ready")
    )
    ros.until(lambda: node.exit_code is not None, "its exit", each=send)
    assert "nothing received on /test/ready" in node.output
    assert not received

    node = ros.start(NODE, settings(tmp_path, exit_when_done=True, ready_topic="ready"))
    send = state_sender(ros, (0.9, 0.1))
    ros.until(lambda: "points" in node.output, "the node", each=send)
    for _ in range(50):
        send()
        ros.spin(0.004)
    # Time goes back while it waits, so the earlier position of the robot no longer counts.
    chosen = TrajectoryParameters(duration=0.3, ramp=0.1, frequency=6.0)
    home = make_motion(model(tmp_path), chosen)(0.0)[0]
    send = state_sender(ros, home.tolist(), ago=3600)

    def both() -> None:
        send()
        ready.publish(JointTrajectory())

    for _ in range(50):
        send()
        ros.spin(0.004)
    ros.until(lambda: received, "a trajectory", each=both)
    request = messages.read_trajectory(received[0], messages.JointMatcher(NAMES))
    assert request.times[0] == 0.2  # no approach is necessary


@pytest.mark.parametrize("subscribes", [True, False])
def test_it_waits_longer_for_a_receiver_that_is_not_active_yet(ros, tmp_path, subscribes):
    """Until the node that owns the ready topic is gone; it may subscribe only once it is active."""
    receiver = rclpy.create_node("receiver", namespace="/test", context=ros.context)
    missing = "only 0 of 1 subscribers"
    if subscribes:
        ros.record(JointTrajectory, "joint_trajectory", writers=0)
        missing = "nothing received on /test/receiver/motor_command"
    send = state_sender(ros, (0.0, 0.5))
    chosen = {"exit_when_done": True, "patience": 0.5, "ready_topic": "receiver/motor_command"}
    node = ros.start(NODE, settings(tmp_path, **chosen))
    ros.until(lambda: "waiting until /test/receiver is active" in node.output, "a line", each=send)
    for _ in range(300):
        send()
        ros.spin(0.005)
    assert node.exit_code is None
    receiver.destroy_node()
    ros.until(lambda: node.exit_code is not None, "its exit", each=send)
    assert missing in node.output


def test_it_fails_without_a_robot(ros, tmp_path):
    node = ros.start(NODE, settings(tmp_path, exit_when_done=True, robot_file="absent.urdf"))
    assert ros.exit_of(node) == 1
    assert "absent.urdf" in node.output
    assert "Traceback" not in node.output


def test_it_repeats_the_motion_and_stops_it_when_deactivated(ros, tmp_path):
    received = ros.record(JointTrajectory, "joint_trajectory", writers=0)
    send = state_sender(ros, (0.0, 0.5))
    node = ros.start(NODE, settings(tmp_path, repeat=0))
    ros.until(lambda: len(received) >= 2, "a second trajectory", each=send)
    first, second = (messages.nanoseconds(message.header.stamp) for message in received[:2])
    duration = Duration.from_msg(received[0].points[-1].time_from_start).nanoseconds
    assert second >= first + duration

    assert ros.transition(node, "deactivate")
    ros.until(lambda: not received[-1].points, "an empty trajectory")
    assert ros.state(node) == "inactive"


# Parameters, without a node


def test_values_are_assigned_by_joint_name(tmp_path):
    given = {"offset": (0.1, 0.4), "cosine": (0.3, 0.2, 0.01, 0.02), "sine": (0.0, 0.1, 0.03, 0.0)}
    swapped = {
        "offset": (0.4, 0.1),
        "cosine": (0.01, 0.02, 0.3, 0.2),
        "sine": (0.03, 0.0, 0.0, 0.1),
    }
    arm = model(tmp_path)
    one = make_motion(arm, TrajectoryParameters(**given))
    other = make_motion(arm, TrajectoryParameters(joints=NAMES[::-1], **swapped))
    np.testing.assert_array_equal(one(3.3), other(3.3))

    points = {"motion": "rest_to_rest", "waypoints": (0.1, 0.4, -0.2, 0.6)}
    swapped = {"motion": "rest_to_rest", "waypoints": (0.4, 0.1, 0.6, -0.2)}
    one = make_motion(arm, TrajectoryParameters(**points))
    other = make_motion(arm, TrajectoryParameters(joints=NAMES[::-1], **swapped))
    np.testing.assert_array_equal(one(3.3), other(3.3))


def test_inconsistent_parameters_are_rejected(tmp_path):
    arm = model(tmp_path)

    def alone(**wrong):
        return lambda: TrajectoryParameters(**wrong).check()

    def for_the_arm(**wrong):
        return lambda: make_motion(arm, TrajectoryParameters(**wrong))

    assert_rejected(
        (alone(robot_file="arm.urdf", motion="file"), "require each other"),
        (alone(robot_file="arm.urdf", trajectory_file="motion.csv"), "require each other"),
        (alone(robot_file="a", robot_description="b"), "choose one"),
        (alone(joints=("turn", "turn")), "duplicate names: turn, turn"),
        (alone(motion="rest_to_rest", offset=(0.1, 0.2)), "require sum_of_sines"),
        (alone(waypoints=(0.1, 0.2)), "require rest_to_rest"),
        (for_the_arm(joints=("turn", "other")), "robot's joints turn, slide"),
        (for_the_arm(offset=(0.1, 0.2, 0.3)), "offset 3 values"),
        (for_the_arm(motion="rest_to_rest", waypoints=(0.1, 0.2, 0.3)), "waypoints 3 values"),
        error=ParameterError,
    )


def test_stamps_are_exact_to_the_nanosecond():
    message = JointTrajectory()
    messages.set_stamp(message.header.stamp, 1_700_000_000_123_456_789)
    assert messages.nanoseconds(message.header.stamp) == 1_700_000_000_123_456_789
