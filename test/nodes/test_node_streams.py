# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Streams of targets over the real middleware."""

import time

import numpy as np
import pytest
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

import feedforward_arm
import flatness_arm
from feedforward_arm import ACTUATORS, COMMAND_JOINTS, MODEL, NAMES, Q0, settings
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.nodes.base.messages import SECOND, set_stamp
from ros_harness import RosHarness, ros

__all__ = ["ros"]  # the fixture

GOAL = Q0 + np.array([0.3, -0.2, 0.25])


def motors_at(q):
    rows = np.zeros((3, len(q)))
    rows[0] = dyn.gravity_forces(MODEL, q)
    return dyn.elastic.motor_motion(ACTUATORS, np.array([q, 0 * q, 0 * q]), rows).position


# Slow: targets that a busy computer sends 0.1 s late are then late by one interval only
DURATION, INTERVAL = 3.0, 0.1  # s


def path(t: float) -> np.ndarray:
    """Half a cosine."""
    share = 0.5 - 0.5 * np.cos(np.pi * min(max(t / DURATION, 0.0), 1.0))
    return np.asarray(Q0 + share * (GOAL - Q0))


@pytest.mark.parametrize("topic", ["joint_targets", "position_commands", "joint_trajectory"])
def test_feedforward_node_follows_a_stream_without_stopping(ros: RosHarness, tmp_path, topic):
    changes = {"stream_topics": [topic], "stream_acceleration": [4.0]}
    ros.start("feedforward_node", settings(tmp_path, **changes))
    arm = feedforward_arm.Arm(ros)
    arm.drive(lambda: arm.motor, "a first command")
    delays = ros.record(Float64, "feedforward_node/stream_delay")
    kind = Float64MultiArray if topic == "position_commands" else JointState
    targets = arm.trajectory if topic == "joint_trajectory" else ros.publisher(kind, topic)
    begin, last = time.monotonic(), -1.0

    def each() -> None:
        nonlocal last
        arm.send()
        t = time.monotonic() - begin
        if t - last < INTERVAL or last > DURATION + 0.3:
            return
        last, q = t, path(t)
        if topic == "joint_targets":
            message = JointState(name=[*NAMES[::-1], "gripper"], position=[*q[::-1], 0.5])
            set_stamp(message.header.stamp, time.time_ns())
            targets.publish(message)
        elif topic == "position_commands":
            order = [NAMES.index(name) for name in COMMAND_JOINTS]
            targets.publish(Float64MultiArray(data=[float(x) for x in q[order]]))
        else:
            arm.move([q], [INTERVAL])

    ros.until(lambda: time.monotonic() > begin + DURATION + 1.5, "the end", each=each)
    speeds = np.array([message.points[0].velocities for message in arm.motor])
    top = 0.5 * np.pi * (GOAL - Q0)[0] / DURATION
    moving = np.flatnonzero(np.abs(speeds[:, 0]) > 0.5 * top)
    known = moving[len(moving) // 3]  # it takes some messages until their interval is known
    assert (np.abs(speeds[known : moving[-1], 0]) > 0.1 * top).all()  # no stop on the way
    assert np.abs(speeds[:, 0]).max() < 3.0 * top
    np.testing.assert_allclose(arm.motor[-1].points[0].positions, motors_at(GOAL), atol=1e-6)
    reference = ros.until(
        lambda: "stream: delay [s]" in ros.diagnosis(": reference")[2] and
        ros.diagnosis(": reference")[2], "the stream in the diagnostics", each=arm.send,
    )  # fmt: skip
    assert float(reference["stream: interval [s]"]) == pytest.approx(INTERVAL, abs=0.05)
    assert float(reference["stream: delay [s]"]) < 3.0 * INTERVAL
    assert reference["topics of streams"] == topic
    assert delays[-1].data == pytest.approx(float(reference["stream: delay [s]"]), rel=1e-4)
    assert len(delays) == int(reference["stream: messages"])
    assert not any(key.startswith("last rejected") for key in ros.diagnosis(": inputs")[2])


def test_single_points_that_look_like_a_stream_are_named(ros: RosHarness, tmp_path):
    node = ros.start("feedforward_node", settings(tmp_path))
    arm = feedforward_arm.Arm(ros)
    arm.drive(lambda: arm.motor, "a first command")
    topics = "topics of streams"
    arm.drive(lambda: topics in ros.diagnosis(": reference")[2], "the diagnostics")
    assert ros.diagnosis(": reference")[2][topics].startswith("none")

    def each() -> None:
        arm.send()
        arm.move([Q0], [0.2])
        time.sleep(0.02)

    hint = "stream_topics: [joint_trajectory] follows them as a stream"
    ros.until(lambda: hint in node.output, "the hint", each=each)


def test_bad_targets_are_rejected_with_the_reason(ros: RosHarness, tmp_path):
    topics = ["joint_targets", "position_commands"]
    ros.start("feedforward_node", settings(tmp_path, stream_topics=topics, start_tolerance=0.1))
    arm = feedforward_arm.Arm(ros)
    arm.drive(lambda: arm.motor, "a first command")
    targets = ros.publisher(JointState, "joint_targets")
    commands = ros.publisher(Float64MultiArray, "position_commands")
    good = [float(x) for x in Q0]
    bad = {
        "joint_targets: missing joint": JointState(name=["elbow"], position=[0.1]),
        "joint_targets: wrong length": JointState(name=list(NAMES), position=[0.1]),
        "joint_targets: not finite": JointState(name=list(NAMES), position=[np.nan, 0.1, 0.1]),
        "joint_targets: jump": JointState(name=list(NAMES), position=[1.5, 0.1, 0.1]),
        "joint_targets: in the past": JointState(name=list(NAMES), position=good),
        "position_commands: wrong length": Float64MultiArray(data=[0.1]),
    }
    set_stamp(bad["joint_targets: in the past"].header.stamp, time.time_ns() - 10 * SECOND)
    for message in bad.values():
        (targets if isinstance(message, JointState) else commands).publish(message)

    def counts() -> bool:
        found = ros.diagnosis(": inputs")[2]
        return all(int(found.get(reason, 0)) == 1 for reason in bad)

    arm.drive(counts, "all rejections in the diagnostics")
    speeds = np.array([message.points[0].velocities for message in arm.motor])
    assert not speeds.any()


def test_an_unknown_topic_is_named(ros: RosHarness, tmp_path):
    node = ros.start("feedforward_node", settings(tmp_path, stream_topics=["joint_target"]))
    ros.until(lambda: "no topic 'joint_target'" in node.output, "the error")
    assert "joint_targets, position_commands, joint_trajectory" in node.output


def test_flatness_controller_node_follows_a_stream_and_then_a_trajectory(ros: RosHarness):
    arm = flatness_arm.Arm(
        ros, records=("errors", "motion"), stream_topics=["joint_targets"],
        torque_rate_limits=[2000.0],
    )  # fmt: skip
    targets = ros.publisher(JointState, "joint_targets")
    arm.start()
    arm.run(0.6)
    names, start = list(arm.model.joint_names), arm.now
    for k in range(50):
        t = 0.04 * k
        q = -0.4 + 0.3 * np.sin(2.0 * t) * np.ones(2)
        message = JointState(name=names, position=q.tolist())
        set_stamp(message.header.stamp, start + round(SECOND * t))
        targets.publish(message)
        arm.run(0.04)
    assert arm.error(900) < 2e-3
    assert np.ptp([m.points[0].positions for m in arm.motion], axis=0).min() > 0.3
    arm.move([0.0, 0.0], 1.0)
    arm.run(1.5)
    np.testing.assert_allclose(arm.plant.q, 0.0, atol=1e-3)


def test_task_space_node_follows_a_stream_of_poses(ros: RosHarness, tmp_path):
    changes = {"stream_topics": ["target_pose"], "tool": "tool", "components": "position"}
    ros.start("task_space_node", settings(tmp_path, **changes))
    motor = ros.record(JointTrajectory, "task_space_node/motor_command")
    states = ros.publisher(JointState, "joint_states")

    def send() -> None:
        message = JointState(name=list(NAMES), position=[float(x) for x in Q0])
        set_stamp(message.header.stamp, time.time_ns())
        states.publish(message)

    ros.until(lambda: motor, "a first command", each=send)
    poses = ros.publisher(PoseStamped, "target_pose")
    begin, last = time.monotonic(), -1.0

    def each() -> None:
        nonlocal last
        send()
        t = time.monotonic() - begin
        if t - last < INTERVAL or last > DURATION + 0.3:
            return
        last = t
        x, y, z = dyn.frame_pose(MODEL, path(t), "tool")[:3, 3].tolist()
        message = PoseStamped(
            pose=Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(w=1.0))
        )
        message.header.frame_id = MODEL.base_name
        set_stamp(message.header.stamp, time.time_ns())
        poses.publish(message)

    ros.until(lambda: time.monotonic() > begin + DURATION + 1.5, "the end", each=each)
    np.testing.assert_allclose(motor[-1].points[0].positions, motors_at(GOAL), atol=1e-5)
