# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Faults injected into a controller on the real middleware, while a separate process judges every
torque that it publishes (torque_monitor.py): the promises of docs/safety.md."""

import signal
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration
from rclpy.context import Context
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flatness_arm import NODE, STEP
from judged_arm import JudgedArm
from multibody_dynamics.nodes.base.messages import SECOND
from ros_harness import FIRST_START, NAMESPACE, ros

__all__ = ["ros"]  # the fixture


def test_states_of_every_wrong_kind(ros, tmp_path):
    arm = JudgedArm(ros, tmp_path)
    r, names, zero = arm.plant, arm.model.joint_names, np.zeros(2)

    def links(position: Any, velocity: Any = zero, joints: Any = names) -> None:
        arm.send(arm.links, joints, (position, velocity, zero))

    before = {
        "not finite": lambda: links([np.inf, 0.0]),
        "wrong length": lambda: links([0.1]),
        "repeated joint": lambda: links(r.q, joints=("elbow", "elbow")),
        "out of order": lambda: arm.send_links(arm.now - STEP),
        "implausible": lambda: links([1e300, 0.0]),
        "jump": lambda: links(r.q + 0.5),
    }
    for send in before.values():
        arm.tick()
        send()
        arm.run(0.02)
    total = lambda: sum(  # noqa: E731
        int(value)
        for key, value in ros.diagnosis(": inputs")[2].items()
        if key.startswith("joint_states: ") and key != "joint_states: messages without our joints"
    )
    arm.until_shown(lambda: total() >= len(before), "the reasons")
    assert "missing" not in arm.node.output  # single bad messages cause no fault

    # Harmless: another order of the joints, more joints, denormal numbers, another robot.
    count = len(arm.answers)
    for _ in range(10):
        arm.tick()
        arm.send(
            arm.links,
            (*reversed(names), "gripper"),
            (np.r_[r.q[::-1], 0.3], np.r_[r.qd[::-1], 5e-324], np.zeros(3)),
        )
        links([0.3], [0.0], joints=("other_robot",))
        arm.send_motors()
        assert arm.wait(2.0)
        r.step(arm.torque, 1e-9 * STEP)
    assert len(arm.answers) >= count + 10

    # A foreign type on our topic reaches nobody, and does no harm.
    context = Context()  # the middleware allows one type for each topic of a participant
    rclpy.init(context=context, domain_id=int(ros.environment["ROS_DOMAIN_ID"]))
    stranger = rclpy.create_node("stranger", namespace=NAMESPACE, context=context)
    foreign = stranger.create_publisher(String, "motor_states", 10)
    for _ in range(50):
        foreign.publish(String(data="motor states"))
        assert arm.step()
    rclpy.shutdown(context=context)

    # A second publisher, whose arm is elsewhere: its states are refused, the arm stays where it is.
    second = ros.publisher(JointState, "joint_states", readers=2)
    here = r.q.copy()
    for _ in range(100):
        arm.tick()
        arm.send(second, names, (here + 0.4, zero, zero), arm.now - STEP // 2)
        arm.send_links()
        arm.send_motors()
        arm.wait(2.0)
        r.step(arm.torque, 1e-9 * STEP)
    assert np.abs(r.q - here).max() < 0.01
    assert np.abs(r.qd).max() < 0.1
    arm.run(0.1)

    # States that slow down to a fifth are followed; those that stop are a fault, and one safe stop.
    for _ in range(40):
        for _ in range(4):
            arm.tick()
            r.step(arm.torque, 1e-9 * STEP)
        arm.step()
    assert np.abs(r.q - here).max() < 0.05
    arm.run(0.2)
    arm.run(0.15, links=False, motors=False)
    arm.until_shown(lambda: ros.diagnosis(": cycle")[0] == 2, "the fault")
    arm.recover()
    arm.run(0.1)
    verdict = arm.verdict()
    assert verdict["violations"] == {}
    assert verdict["old_answers"] == 0
    assert verdict["torques"] > 400
    assert len(verdict["safe_outputs"]) <= 2  # the silence, and ~/enable may find the arm in it
    assert verdict["restarts"] == 0
    assert "Traceback" not in arm.node.output


def point(seconds: float, **rows: Any) -> JointTrajectoryPoint:
    time = Duration(sec=int(seconds // 1), nanosec=round(seconds % 1 * SECOND))
    fields = {key: [float(x) for x in row] for key, row in rows.items()}
    return JointTrajectoryPoint(time_from_start=time, **fields)


def trajectory(*points: JointTrajectoryPoint, names: Any = ("shoulder", "elbow")) -> Any:
    return JointTrajectory(joint_names=list(names), points=list(points))


def test_trajectories_of_every_wrong_kind(ros, tmp_path):
    arm = JudgedArm(ros, tmp_path)
    here = arm.plant.q.copy()
    good = point(1.0, positions=here)
    past = trajectory(good)
    past.header.stamp.sec = 5
    wrong = {
        "names": trajectory(good, names=("shoulder", "knee")),
        "fewer joints": trajectory(point(1.0, positions=here[:1]), names=("shoulder",)),
        "joint twice": trajectory(good, names=("elbow", "elbow")),
        "positions missing": trajectory(point(1.0, velocities=[0.0, 0.0])),
        "positions": trajectory(point(1.0, positions=here[:1])),
        "velocities": trajectory(point(1.0, positions=here, velocities=[0.0])),
        "accelerations": trajectory(point(1.0, positions=here, accelerations=[0.0] * 3)),
        "nan": trajectory(point(1.0, positions=[np.nan, 0.0])),
        "inf velocity": trajectory(point(1.0, positions=here, velocities=[np.inf, 0.0])),
        "huge acceleration": trajectory(
            point(1.0, positions=here, velocities=[0.0] * 2, accelerations=[1e300, 0.0])
        ),
        "times fall": trajectory(good, point(0.5, positions=here)),
        "times repeat": trajectory(good, good),
        "negative time": trajectory(point(-1.0, positions=here)),
        "past": past,
        "far away": trajectory(point(1.0, positions=here + 50.0)),
        "too fast": trajectory(point(1e-3, positions=here + 0.9)),
    }
    refused = lambda: sum(  # noqa: E731
        int(value)
        for key, value in ros.diagnosis(": inputs")[2].items()
        if key.startswith("joint_trajectory: ")
    )
    for number, (what, message) in enumerate(wrong.items(), 1):
        arm.trajectory.publish(message)
        arm.until_shown(lambda n=number: refused() >= n, f"the rejection of: {what}")
        assert ros.diagnosis(": reference")[1] == "holding", what
    assert refused() == len(wrong)
    assert np.abs(arm.plant.q - here).max() < 1e-3
    assert arm.node.output.count("\n") < 40 + 3 * len(wrong)

    # 500 replacements a second of simulated time, each valid, each from the present motion.
    begin = len(arm.answers)
    for k in range(300):
        goal = here + 0.1 * np.sin(0.02 * k)
        arm.trajectory.publish(trajectory(point(0.5, positions=goal)))
        assert arm.step()
    assert len(arm.answers) - begin >= 300
    assert np.abs(arm.plant.qd).max() < 5.0
    arm.run(0.8)
    verdict = arm.verdict()
    assert verdict["violations"] == {}
    assert verdict["old_answers"] == 0
    assert verdict["safe_outputs"] == []
    assert "Traceback" not in arm.node.output


def test_a_controller_that_is_suspended_killed_and_started_again_in_motion(ros, tmp_path):
    arm = JudgedArm(ros, tmp_path)
    here = arm.plant.q.copy()

    # Suspended in motion for longer than the watchdog: it must not continue as if nothing happened.
    arm.move(here + 0.3, 1.0)
    arm.run(0.3)
    arm.node.send(signal.SIGSTOP)
    for _ in range(40):  # 80 ms; the arm moves on under the last torque until its brakes engage
        arm.step()
    arm.node.send(signal.SIGCONT)
    there = arm.plant.q.copy()
    arm.until(lambda: "stopping" in arm.node.output, "the stop")
    arm.recover()
    # Which it sees first, the silence or the gap, depends on the threads. After a gap, it starts
    # from the torque that it sent last, not knowing of the brakes, and the arm swings a little.
    arm.until_at_rest(0.05)
    assert np.abs(arm.plant.q - there).max() < 0.03  # the goal was 0.26 rad away

    # Killed in motion, while brakes engage, and started again: it holds the arm where it is.
    arm.move(here, 1.0)
    arm.run(0.3)
    arm.node.send(signal.SIGKILL)
    ros.until(lambda: arm.node.exit_code is not None, "its end")
    arm.plant.reset(arm.plant.q)  # the brakes
    count = len(arm.answers)
    arm.node = ros.start(NODE, arm.settings)
    arm.is_stuck = True
    ros.until(lambda: len(arm.answers) > count + 50, "torques", each=arm.step, patience=FIRST_START)
    arm.is_stuck = False
    there = arm.plant.q.copy()
    arm.run(0.3)
    assert np.abs(arm.plant.q - there).max() < 5e-3
    verdict = arm.verdict()
    assert verdict["violations"] == {}
    # What it was computing when it was suspended, and what it reads before the newest state has
    # arrived; but it does not work off its queue of 40 states.
    assert verdict["old_answers"] <= 8
    assert "Traceback" not in arm.node.output


def test_lifecycle_requests_and_parameters_in_motion(ros, tmp_path):
    """Transitions in every order, and parameters out of range, while the arm moves."""
    arm = JudgedArm(ros, tmp_path)
    arm.move(arm.plant.q + 0.2, 2.0)
    arm.run(0.2)
    for what in ("configure", "activate", "cleanup", 250):
        assert not ros.transition(arm.node, what)
        assert arm.step()
    changes = {
        "torque_rate_limits": [1.0, 2.0, 3.0],
        "torque_limit_scale": -1.0,
        "tracking_tolerance": float("nan"),
        "law": "magic",
        "robot_file": "absent.urdf",
        "state_timeout": "soon",
    }
    for name, value in changes.items():
        (result,) = ros.set_parameters(arm.node, **{name: value})
        assert not result.successful, name
        assert result.reason, name
        assert arm.step()
    arm.run(0.3)
    assert np.abs(arm.plant.qd).min() > 0.02  # it still moves
    assert ros.transition(arm.node, "deactivate")
    arm.is_stuck = True  # brakes, since no torques come
    arm.run(0.02)
    arm.wait_for_readers(1)
    assert ros.transition(arm.node, "activate")
    arm.wait_for_readers(2)  # states that nobody receives would be a silence of their own
    ros.until(arm.step, "answers")
    arm.is_stuck = False
    arm.run(0.2)
    verdict = arm.verdict()
    assert verdict["violations"] == {}
    assert verdict["old_answers"] == 0
    assert verdict["safe_outputs"] == []
    assert len(verdict["on_reference"]) == 1  # that of the deactivation, which follows a state
    assert "Traceback" not in arm.node.output
