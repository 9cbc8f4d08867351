# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The feedforward node over the real middleware, in a separate process."""

import math
import re
import time
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import Quaternion, Transform, WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from feedforward_arm import (
    ACTUATORS,
    COMMAND_JOINTS,
    GOALS,
    MODEL,
    NAMES,
    Q0,
    ROBOT,
    STIFFNESS,
    TIMES,
    Arm,
    settings,
)
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.motion.trajectories import hold, splice
from multibody_dynamics.nodes.base.messages import SECOND, nanoseconds, set_stamp
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.live.launched_systems import FEEDFORWARD
from ros_harness import RosHarness, ros

__all__ = ["ros"]  # the fixture


def stamp_of(message: Any) -> int:
    return nanoseconds(message.header.stamp)


def close(actual: Any, expected: Any) -> None:
    """Equal to 1e-9 of the largest component."""
    size = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=0, atol=1e-9 * size)


def gravity_torque(q: Any = Q0) -> Any:
    return dyn.gravity_forces(MODEL, q)


def far_from_start(command: JointTrajectory) -> bool:
    """Whether a motor is farther from Q0 than gravity deflects its spring."""
    return bool(np.abs(np.array(command.points[0].positions) - Q0).max() > 0.2)


def counted(ros: RosHarness, key: str) -> int:
    return int(ros.diagnosis(": inputs")[2].get(key, 0))


@pytest.mark.parametrize("arrival", ["shuffled, with a gripper", "in two messages", "by a timer"])
def test_every_output_equals_the_library_at_the_desired_state_of_its_stamp(ros, tmp_path, arrival):
    timer = {"update_rate": 200.0} if arrival == "by a timer" else {}
    lookahead = 0.003
    ros.start("feedforward_node", settings(tmp_path, lookahead=lookahead, **timer))
    arm = Arm(ros)

    def send() -> None:
        if arrival == "in two messages":
            stamp = time.time_ns()
            arm.send(("elbow", "turret"), stamp=stamp)
            arm.send(("finger_left", "finger_right"), stamp=stamp)
            arm.send(("shoulder",), stamp=stamp)
        else:
            arm.send(("elbow", "finger_left", "turret", "wheel", "shoulder"))

    ros.until(lambda: arm.torque, "a first torque", each=send)
    begin = time.time_ns() + SECOND // 5
    arm.move(names=NAMES[::-1], points=GOALS[:, ::-1], stamp=begin)
    ros.until(lambda: time.time_ns() > begin + 1.4 * SECOND, "the end of the motion", each=send)
    ros.until(
        lambda: len({len(x) for x in (arm.torque, arm.rate, arm.motor, arm.commands)}) == 1,
        "the last messages",
    )

    desired = splice(hold(NAMES, Q0), 0.0, TIMES, GOALS)
    moving = 0
    rows = zip(arm.torque, arm.rate, arm.acceleration, arm.motor, arm.commands, strict=False)
    for torque, rate, acceleration, motor, commands in rows:
        stamp = stamp_of(torque)
        assert {stamp_of(rate), stamp_of(acceleration), stamp_of(motor)} == {stamp}
        state = desired(1e-9 * (stamp - begin) + lookahead)
        Q = np.array(dyn.inverse_dynamics(MODEL, *state))
        theta = dyn.elastic.motor_motion(ACTUATORS, state, Q)
        assert torque.name == list(NAMES)
        close([torque.effort, rate.effort, acceleration.effort], Q)
        (point,) = motor.points
        close(point.positions, theta.position)
        close(point.velocities, theta.velocity)
        close(point.accelerations, theta.acceleration)
        close(point.effort, theta.torque)
        assert [dim.label for dim in commands.layout.dim] == list(COMMAND_JOINTS)
        close(commands.data, [theta.torque[NAMES.index(name)] for name in COMMAND_JOINTS])
        moving += 0 < stamp - begin < 1.2 * SECOND
    assert moving > 50
    if not timer:
        assert {stamp_of(message) for message in arm.torque} <= set(arm.stamps)
    assert not any(key.startswith("last rejected") for key in ros.diagnosis(": inputs")[2])


@pytest.mark.parametrize("names", [["2", "1"], [2, 1]])
def test_joints_called_1_and_2_need_no_quotes(ros, tmp_path, names):
    """Launch files write text; YAML and `-p command_joints:=[2, 1]` contain what ROS reads as
    numbers."""
    files = []
    for folder, suffix in (("robots", "urdf"), ("elastic_joints", "yaml")):
        text = (share_directory() / f"config/{folder}/planar_two_link.{suffix}").read_text()
        text = re.sub(r"\bshoulder\b", "1", re.sub(r"\belbow\b", "2", text))
        files.append(tmp_path / f"arm.{suffix}")
        files[-1].write_text(text)
    given = {"robot": str(files[0]), "elastic_joints": str(files[1]), "command_joints": "2, 1"}
    (start,) = FEEDFORWARD.nodes(FEEDFORWARD.values(given))
    launched = {name: value for table in start.parameters[1:] for name, value in table.items()}
    assert launched["command_joints"] == ["2", "1"]
    ros.start("feedforward_node", launched | {"command_joints": names})
    arm = Arm(ros, ("1", "2"), (0.1, 0.2))
    arm.drive(lambda: arm.commands and arm.torque, "outputs")
    assert [dim.label for dim in arm.commands[0].layout.dim] == ["2", "1"]
    assert arm.torque[0].name == ["1", "2"]


def test_bad_joint_states_are_rejected_with_the_reason_and_silence_gives_the_safe_output(
    ros, tmp_path
):
    ros.start("feedforward_node", settings(tmp_path, state_timeout=0.5, state_queue_depth=50))
    arm = Arm(ros)
    arm.drive(lambda: len(arm.torque) > 5, "some torques")
    good = set(arm.stamps)

    now = time.time_ns
    bad = {
        "not finite": lambda: arm.send(position=[0.1, math.nan, 0.1]),
        "unnamed": lambda: arm.send(names=(), position=[0.1, 0.1, 0.1]),
        "wrong length": lambda: arm.send(position=[0.1, 0.1]),
        "repeated joint": lambda: arm.send(names=("elbow",) * 3, position=[0.1, 0.1, 0.1]),
        "stale": lambda: arm.send(stamp=now() - 5 * SECOND),
        "from the future": lambda: arm.send(stamp=now() + 5 * SECOND),
        "out of order": lambda: arm.send(stamp=max(good)),
        "no stamp": lambda: arm.send(stamp=0),
    }
    for send in bad.values():
        send()
    arm.send(names=("left", "right"), position=[1.0, 2.0])  # of another robot: no fault
    sent = len(arm.stamps)
    keys = [f"joint_states: {reason}" for reason in bad]
    arm.drive(lambda: all(counted(ros, key) == 1 for key in keys), "the reasons")
    assert ros.diagnosis(": inputs")[2]["joint_states: messages without our joints"] == "1"
    later = set(arm.stamps[sent:])
    good |= later

    # Silence: one more output, at rest and stamped now; then nothing, and an error.
    ros.until(lambda: ros.diagnosis(": cycle")[0] == 2, "the error of silence")
    arm.send(stamp=stamp_of(arm.torque[-1]) - 1)  # too late to be answered
    answered = {stamp_of(message) for message in arm.torque}
    assert answered & later  # it continued
    (safe,) = answered - good
    assert safe > max(good)
    close(arm.torque[-1].effort, gravity_torque())
    close(arm.rate[-1].effort, np.zeros(3))
    close(arm.motor[-1].points[0].velocities, np.zeros(3))
    for message in arm.everything():
        numbers = message.effort if isinstance(message, JointState) else message.points[0].effort
        assert np.isfinite(numbers).all()
    assert "no complete joint state" in ros.diagnosis(": cycle")[1]

    # And recovery.
    arm.drive(lambda: ros.diagnosis(": cycle")[0] in (0, 1), "the recovery")
    close(arm.torque[-1].effort, gravity_torque())
    stamps = [stamp_of(message) for message in arm.torque]
    assert stamps == sorted(set(stamps))


def test_rejected_trajectories_leave_the_hold(ros, tmp_path):
    node = ros.start("feedforward_node", settings(tmp_path, start_tolerance=0.1))
    arm = Arm(ros)
    arm.drive(lambda: arm.torque, "a torque")
    enable = "feedforward_node/enable"

    def forbid() -> None:
        assert ros.call(SetBool, enable, SetBool.Request(data=False)).success
        arm.move()

    now = time.time_ns
    bad = {
        "jump": lambda: arm.move([Q0 + 0.2, Q0 + 0.3], [0.0, 1.0]),
        "unknown joint": lambda: arm.move(names=("turret", "shoulder", "knee")),
        "missing joint": lambda: arm.move(names=NAMES[:2], points=GOALS[:, :2]),
        "not finite": lambda: arm.move([[0.1, math.nan, 0.1]], [1.0]),
        "wrong length": lambda: arm.move([[0.1, 0.1]], [1.0]),
        "in the past": lambda: arm.move(stamp=now() - 10 * SECOND),
        "trajectory": lambda: arm.move(times=[1.0, 1.0]),
        "position limit": lambda: arm.move([[0.0, 2.6, 0.0]], [2.0]),
        "velocity limit": lambda: arm.move([[2.0, 0.0, 0.0]], [0.05]),
        "not enabled": forbid,
    }
    for send in bad.values():
        send()
        arm.drive_for(0.02)  # in this order
    keys = [f"joint_trajectory: {reason}" for reason in bad]
    arm.drive(lambda: all(counted(ros, key) == 1 for key in keys), "the reasons")
    for message in arm.torque:
        close(message.effort, gravity_torque())
    assert ros.diagnosis(": reference")[1] == "holding"

    assert ros.call(SetBool, enable, SetBool.Request(data=True)).success
    arm.move(stamp=now() + 1000 * SECOND)  # accepted: a later one replaces it
    arm.drive(lambda: "begins in 1e+03 s, by its stamp" in node.output, "a doubt about the stamp")
    arm.move()
    arm.drive(lambda: ros.diagnosis(": reference")[1] == "moving", "the permitted motion")


def test_an_empty_trajectory_stops_smoothly_and_so_does_disabling(ros, tmp_path):
    ros.start("feedforward_node", settings(tmp_path, stop_duration=0.3))
    arm = Arm(ros)
    arm.drive(lambda: arm.torque, "a torque")
    for stop in (
        lambda: arm.trajectory.publish(JointTrajectory()),
        lambda: ros.call(SetBool, "feedforward_node/enable", SetBool.Request(data=False)),
    ):
        held = np.array(arm.motor[-1].points[0].positions)
        goal = np.array(MODEL.limits.upper) - 0.5
        arm.move([goal], [2.0])
        arm.drive(
            lambda held=held: np.abs(arm.motor[-1].points[0].positions - held).max() > 0.3,
            "the motion",
        )
        stop()
        moved = len(arm.rate)
        arm.drive(lambda: not np.any(arm.rate[-1].effort), "rest")
        assert len(arm.rate) > moved
        begin, end = arm.position, np.array(arm.motor[-1].points[0].positions)
        for share in np.linspace(0.0, 1.0, 50):  # a jump would be rejected until ~/enable
            arm.position = begin + share * (end - begin)
            arm.drive_for(0.005)
        arm.move([Q0], [1.0])
        arm.drive_for(1.1)
    outputs = arm.torque, arm.rate, arm.acceleration
    count = min(map(len, outputs))  # one may be a message ahead
    times = np.array([1e-9 * (stamp_of(message) - arm.stamps[0]) for message in arm.torque[:count]])
    tau, rate, second = (
        np.array([message.effort for message in messages[:count]]) for messages in outputs
    )
    # No jumps: over every step, Q' integrates to Q and Q'' to Q' (Hermite, order 4).
    step = np.diff(times)[:, None]
    change = step / 2 * (rate[1:] + rate[:-1]) + step**2 / 12 * (second[:-1] - second[1:])
    jumps = np.abs(np.diff(tau, axis=0) - change)[step[:, 0] < 0.02]
    assert jumps.max() < 1e-2 * np.abs(np.diff(tau, axis=0)).max()


def test_a_killed_node_restarts_at_the_position_of_the_robot(ros, tmp_path):
    first = ros.start("feedforward_node", settings(tmp_path))
    arm = Arm(ros)
    arm.drive(lambda: arm.torque, "a torque")
    arm.move()
    arm.drive_for(0.3)
    assert ros.leave(first, SIGKILL) == -SIGKILL
    arm.position = np.array([0.5, 0.3, -0.2])
    ros.start("feedforward_node", settings(tmp_path))
    count = len(arm.torque)
    arm.drive(lambda: len(arm.torque) > count + 5, "torques of the new node")
    close(arm.torque[-1].effort, gravity_torque(arm.position))


def test_life_cycle_under_load(ros, tmp_path):
    node = ros.start("feedforward_node", settings(tmp_path, autostart=False))
    ros.until(lambda: ros.state(node) == "unconfigured", "the node")
    assert ros.transition(node, "configure")
    assert ros.transition(node, "activate")
    arm = Arm(ros)
    for k in range(20):
        assert not ros.transition(node, 200 + k)
        count = len(arm.torque)
        arm.drive(lambda count=count: len(arm.torque) > count + 3, f"torques in round {k}")
        arm.move()
        for _ in range(20):  # in transit while the node changes its state
            arm.send()
        assert not ros.transition(node, "configure")
        assert ros.transition(node, "deactivate")
        # The safe output is the last message.
        ros.spin(0.02)
        count = len(arm.torque)
        for _ in range(10):
            arm.send()
        ros.spin(0.02)
        assert len(arm.torque) == count
        close(arm.rate[-1].effort, np.zeros(3))
        if k % 5 == 4:
            assert ros.transition(node, "cleanup")
            assert ros.transition(node, "configure")
        assert ros.transition(node, "activate")
    assert ros.state(node) == "active"
    shut_down = ros.peer.create_client(ChangeState, f"{node.name}/change_state")
    ros.until(shut_down.service_is_ready, "the service")
    number = Transition.TRANSITION_ACTIVE_SHUTDOWN
    node.send(SIGSTOP)  # it is busy for a while
    answer = shut_down.call_async(ChangeState.Request(transition=Transition(id=number)))
    for _ in range(200):  # queued events arrive after the publishers are gone
        arm.send()
    node.send(SIGCONT)
    assert ros.until(answer.done, "the shutdown")
    assert ros.state(node) == "finalized"
    assert ros.leave(node) == 0
    assert "Traceback" not in node.output


def test_a_signal_during_a_motion_leaves_a_hold_against_gravity(ros, tmp_path):
    node = ros.start("feedforward_node", settings(tmp_path))
    arm = Arm(ros)
    arm.drive(lambda: arm.torque, "a torque")
    arm.move()
    arm.drive(lambda: arm.motor and far_from_start(arm.motor[-1]), "the motion")
    node.send(SIGTERM)
    assert ros.leave(node, SIGTERM) == 0
    ros.until(lambda: not np.any(arm.rate[-1].effort), "the last output")
    ros.until(lambda: stamp_of(arm.motor[-1]) == stamp_of(arm.torque[-1]), "all of it")
    assert far_from_start(arm.motor[-1])
    theta = np.array(arm.motor[-1].points[0].positions)
    held = theta - np.array(arm.torque[-1].effort) / STIFFNESS
    close(arm.torque[-1].effort, gravity_torque(held))
    assert "Traceback" not in node.output


def test_simulated_time_may_pause_and_jump_back(ros, tmp_path):
    node = ros.start("feedforward_node", settings(tmp_path, use_sim_time=True, state_timeout=0.1))
    arm = Arm(ros)
    clock = ros.publisher(Clock, "/clock")
    arm.drive(lambda: counted(ros, "joint_states: no clock"), "the rejection")
    simulated = [100 * SECOND]
    arm.clock = lambda: simulated[0]

    def step() -> None:
        simulated[0] += 5_000_000
        message = Clock()
        set_stamp(message.clock, simulated[0])
        clock.publish(message)
        arm.send()

    ros.until(lambda: len(arm.torque) > 20, "torques", each=step)
    arm.move(stamp=simulated[0] + SECOND // 10)
    ros.until(lambda: np.abs(arm.rate[-1].effort).max() > 1.0, "the motion", each=step)
    ros.spin(0.5)  # the answers that are under way
    count = len(arm.torque)
    ros.spin(1.5)  # paused: neither clock nor states
    assert ros.diagnosis(": cycle")[0] in (0, 1)
    assert len(arm.torque) - count <= 1
    assert "safe output" not in node.output
    ros.until(lambda: len(arm.torque) > count + 5, "torques after the pause", each=step)
    assert np.any(arm.rate[-1].effort)  # the motion continues

    simulated[0] = 3 * SECOND
    arm.position = Q0 + 0.1
    ros.until(lambda: stamp_of(arm.torque[-1]) < 50 * SECOND, "torques after the jump", each=step)
    assert "the clock jumped by" in node.output
    assert ros.diagnosis(": cycle")[0] in (0, 1)
    close(arm.torque[-1].effort, gravity_torque(arm.position))
    arm.move(stamp=simulated[0])
    ros.until(lambda: np.abs(arm.rate[-1].effort).max() > 1.0, "a motion after the jump", each=step)


def test_the_robot_may_be_given_by_a_topic(ros, tmp_path):
    node = ros.start("feedforward_node", settings(tmp_path, robot_description=""))
    ros.until(lambda: "waiting for a robot_description" in node.output, "the wait for the robot")
    assert not ros.transition(node, "configure")
    assert "nothing received on /test/robot_description yet" in node.output
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    ros.publisher(String, "robot_description", qos=latched).publish(String(data=ROBOT))
    ros.until(lambda: ros.state(node) == "active", "the start")


def test_invalid_configurations_are_explained_and_can_be_corrected(ros, tmp_path):
    right = settings(tmp_path, autostart=False, position_margin=0.0)
    node = ros.start("feedforward_node", right)
    wrong = {
        "robot_description": ("<robot", "cannot configure"),
        "command_joints": (["elbow", "knee"], "no joint 'knee'"),
        "elastic_joints_file": ("no/such.yaml", "no/such.yaml"),
        "position_margin": (3.0, "leaves no range for 'turret'"),
    }
    for name, (value, says) in wrong.items():
        assert ros.set_parameters(node, **{name: value})[0].successful
        assert not ros.transition(node, "configure")
        assert ros.state(node) == "unconfigured"
        assert says in node.output
        assert ros.set_parameters(node, **{name: right[name]})[0].successful
    assert ros.transition(node, "configure")
    assert "Traceback" not in node.output


def test_a_continuous_joint_takes_the_nearest_turn_and_crosses_that_of_the_driver(ros, tmp_path):
    robot = ROBOT.replace('"turret" type="revolute"', '"turret" type="continuous"')
    ros.start("feedforward_node", settings(tmp_path, robot_description=robot, start_tolerance=0.5))
    arm = Arm(ros, position=[3.0, -0.4, 0.7])
    turret = lambda: arm.motor[-1].points[0].positions[arm.motor[-1].joint_names.index("turret")]  # noqa: E731
    arm.drive(lambda: arm.motor, "a command")
    for goal, reached in ((-2.9, 2.0 * np.pi - 2.9), (3.0, 3.0)):
        first = len(arm.motor)
        arm.move([[goal, -0.4, 0.7]], [0.6])

        def follow() -> None:
            arm.position[0] = np.remainder(turret() + np.pi, 2.0 * np.pi) - np.pi
            arm.send()

        ros.until(lambda at=reached: abs(turret() - at) < 0.02, "the goal", each=follow)
        places = [message.points[0].positions for message in arm.motor[first:]]
        at = arm.motor[-1].joint_names.index("turret")
        assert all(2.9 < place[at] < 3.5 for place in places)


@pytest.mark.parametrize("kind", ["trajectory", "odometry", "imu"])
def test_a_base_that_turns_and_accelerates(ros, tmp_path, kind):
    """Torques hold the arm on a base that has been tilted, and follow its planned motion."""
    node = ros.start("feedforward_node", settings(tmp_path, base_motion=kind))
    arm = Arm(ros)
    arm.drive(lambda: arm.torque, "a torque")
    tilted = dyn.se3.exp(np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0]))
    tilt = Quaternion(x=float(np.sin(0.2)), w=float(np.cos(0.2)))
    zero, base = np.zeros(3), dyn.BaseMotion(tilted)
    held = dyn.inverse_dynamics(MODEL, Q0, zero, zero, base=base).tau
    assert np.abs(held - gravity_torque()).max() > 0.1
    if kind == "trajectory":
        message = MultiDOFJointTrajectory(joint_names=[MODEL.base_name])
        for seconds, turn in ((0, Quaternion(w=1.0)), (1, tilt)):
            point = MultiDOFJointTrajectoryPoint(transforms=[Transform(rotation=turn)])
            point.time_from_start.sec = seconds
            message.points.append(point)
        ros.publisher(MultiDOFJointTrajectory, "base_trajectory").publish(message)
        arm.drive(lambda: np.abs(arm.torque[-1].effort - held).max() < 1e-9, "the tilted base")
        torques = np.array([each.effort for each in arm.torque])
        steps = np.abs(np.diff(torques, axis=0)).max(axis=1)
        passed = 1e-9 * np.diff([nanoseconds(each.header.stamp) for each in arm.torque])
        size = np.abs(
            held - gravity_torque()
        ).max()  # in 1 s, besides the torque that turns the arm
        assert (steps < 10.0 * size * np.maximum(passed, 1e-3)).all()
        message.joint_names = ["forearm"]
        unknown = message, ros.publisher(MultiDOFJointTrajectory, "base_trajectory")
    else:
        if kind == "odometry":
            message = Odometry(child_frame_id=MODEL.base_name)
            message.pose.pose.orientation = tilt
        else:
            message = Imu()
            message.header.frame_id = "stand"
            in_world = tilted @ dyn.frame_pose(MODEL, Q0, "stand")
            up = message.linear_acceleration
            up.x, up.y, up.z = (in_world[:3, :3].T @ -MODEL.gravity).tolist()
        sensor = ros.publisher(type(message), f"base_{kind}")

        def sense() -> None:
            set_stamp(message.header.stamp, time.time_ns())
            sensor.publish(message)
            arm.send()

        ros.until(lambda: np.abs(arm.torque[-1].effort - held).max() < 1e-6, "the tilt", each=sense)
        contact = ros.publisher(WrenchStamped, "external_wrench")
        touch = WrenchStamped()
        touch.header.frame_id, touch.wrench.force.y, touch.wrench.torque.z = "forearm", 3.0, 0.4
        W = np.array([0.0, 0.0, 0.4, 0.0, 3.0, 0.0])
        world = dyn.wrench_to_world(MODEL, Q0, zero, zero, "forearm", W, base=base)
        carried = dyn.inverse_dynamics(
            MODEL, Q0, zero, zero, base=base, wrenches={"forearm": world}
        ).tau
        assert np.abs(carried - held).max() > 0.1

        def push() -> None:
            set_stamp(touch.header.stamp, time.time_ns())
            contact.publish(touch)
            sense()

        ros.until(lambda: np.abs(arm.torque[-1].effort - carried).max() < 1e-6, "it", each=push)
        if kind == "odometry":
            message.child_frame_id = "forearm"
        else:
            message.header.frame_id = "forearm"
        set_stamp(message.header.stamp, time.time_ns())
        unknown = message, sensor
    topic = f"base_{kind}: unknown frame"
    unknown[1].publish(unknown[0])
    arm.drive(lambda: counted(ros, topic), "the rejection")
    assert "'forearm' is not fixed to the base of the robot; expected" in node.output
    if kind != "trajectory":
        arm.drive(lambda: counted(ros, f"base_{kind}: stale"), "the end of the messages")
        assert f"base_{kind}: none within state_timeout; the base is taken to rest" in node.output
    if kind == "imu":
        message.header.frame_id = "stand"
        message.angular_velocity_covariance[0] = -1.0
        sense()
        arm.drive(lambda: counted(ros, "base_imu: not measured"), "the rejection")


@pytest.mark.parametrize(("frame", "wrench_link"), [("tool", ""), ("stand", "forearm")])
def test_an_external_wrench(ros, tmp_path, frame, wrench_link):
    own = settings(tmp_path, wrench_timeout=0.5, wrench_link=wrench_link)
    node = ros.start("feedforward_node", own)
    arm = Arm(ros)
    arm.drive(lambda: arm.torque, "a torque")
    sensor = ros.publisher(WrenchStamped, "external_wrench")
    force, moment = [1.0, -2.0, 3.0], [0.4, 0.5, -0.6]

    def touch(frame: str, later: int = 0) -> None:
        message = WrenchStamped()
        message.header.frame_id = frame
        set_stamp(message.header.stamp, time.time_ns() + later)
        for field, values in (("force", force), ("torque", moment)):
            for axis, value in zip("xyz", values, strict=True):
                setattr(getattr(message.wrench, field), axis, value)
        sensor.publish(message)

    sent: list[float] = []  # s

    def touched() -> None:
        sent.append(time.monotonic())
        touch(frame)
        arm.send()

    zero = np.zeros(3)
    pose = dyn.frame_pose(MODEL, Q0, frame)
    world = dyn.se3.coAd(pose) @ np.array([*moment, *force])
    expected = dyn.inverse_dynamics(MODEL, Q0, zero, zero, wrenches={"forearm": world}).tau
    assert np.abs(expected - gravity_torque()).max() > 0.5
    ros.until(
        lambda: np.abs(arm.torque[-1].effort - expected).max() < 1e-9, "the wrench", each=touched
    )
    touch("elsewhere")
    arm.drive(lambda: counted(ros, "external_wrench: unknown frame"), "the rejection")
    touch(frame, later=10 * SECOND)  # would make all later ones look old
    arm.drive(lambda: counted(ros, "external_wrench: from the future"), "the rejection")
    ros.until(
        lambda: np.abs(arm.torque[-1].effort - expected).max() < 1e-9, "the wrench", each=touched
    )
    if not wrench_link:
        touch("stand")  # does not move, so the link that it acts on is unknown
        arm.drive(lambda: counted(ros, "external_wrench: unknown frame") == 2, "the rejection")
    gone = gravity_torque()
    arm.drive(lambda: np.abs(arm.torque[-1].effort - gone).max() < 1e-9, "the wrench to expire")
    silences = np.diff([*sent, time.monotonic()]) > 0.1  # two, and pauses of a busy computer
    assert counted(ros, "external_wrench: stale") <= np.count_nonzero(silences)  # once each

    force[2] = 3000.0  # N, 1.2 kN m at the shoulder, whose limit is 400 N m
    ros.until(lambda: counted(ros, "external_wrench: too large"), "the rejection", each=touched)
    last = ros.diagnosis(": inputs")[2]["last rejected external_wrench"]
    assert "would have to hold" in last
    assert "its limit is 400" in last
    assert np.abs(arm.torque[-1].effort - gone).max() < 1e-9

    (answer,) = ros.set_parameters(node, wrench_tolerance=0.0)
    assert answer.successful
    force[:] = moment[:] = [1e308] * 3  # finite, but the resulting torque is not
    fault = "the computed torque is not finite: safe output"
    ros.until(lambda: ros.diagnosis(": cycle")[1] == fault, "the fault", each=touched)
    arm.drive(lambda: ros.diagnosis(": cycle")[0] in (0, 1), "the end of the fault")
    arm.drive(lambda: np.abs(arm.torque[-1].effort - gone).max() < 1e-9, "the hold")
    for message in arm.everything():
        numbers = message.effort if isinstance(message, JointState) else message.points[0].effort
        assert np.isfinite(numbers).all()


def test_motor_torques_ramp_up_and_keep_their_limits_per_second(ros, tmp_path):
    limit = 40.0  # N m/s
    changes = {"ramp_time": 0.3, "torque_rate_limits": [limit], "torque_limit_scale": 0.04}
    node = ros.start("feedforward_node", settings(tmp_path, **changes))
    arm = Arm(ros)
    arm.drive(lambda: arm.motor, "a command")
    assert np.abs(arm.motor[0].points[0].effort).max() < 1.0
    arm.drive_for(1.0)
    weight = gravity_torque()
    assert np.abs(weight).max() < 16.0  # 0.04 of the effort limit: not clipped
    close(arm.motor[-1].points[0].effort, weight)
    arm.move(np.array([[0.5, 0.4, -0.5], [-0.5, -0.4, 0.7]]), [0.5, 1.0])
    arm.drive_for(1.2)
    times = np.array([1e-9 * (stamp_of(message) - arm.stamps[0]) for message in arm.motor])
    torque = np.array([message.points[0].effort for message in arm.motor])
    assert np.abs(torque).max() <= 16.0 * (1 + 1e-12)
    assert (np.abs(np.diff(torque, axis=0)) <= limit * np.diff(times)[:, None] + 1e-9).all()
    wanted = np.abs([message.effort for message in arm.torque]).max()
    assert wanted > 16.0  # the command is clipped, the torque of the model is not
    arm.drive(lambda: ros.diagnosis(": limits")[2], "the report")
    keys = " ".join(ros.diagnosis(": limits")[2])
    assert "torque rate of" in keys
    # Limits change at run time, and only to valid values.
    assert ros.set_parameters(node, torque_rate_limits=[1e6], torque_limit_scale=1.0)[1].successful
    (result,) = ros.set_parameters(node, torque_rate_limits=[1.0, 2.0])
    assert not result.successful


def test_the_safe_output_is_the_full_hold_even_during_a_ramp_or_a_rate_limit(ros, tmp_path):
    slow = {"ramp_time": 60.0, "torque_rate_limits": [0.1], "state_timeout": 0.5}
    ros.start("feedforward_node", settings(tmp_path, **slow))
    arm = Arm(ros)
    arm.drive(lambda: arm.motor, "a command")
    state, Q = np.array([Q0, *np.zeros((4, 3))]), np.array([gravity_torque(), *np.zeros((2, 3))])
    hold = dyn.elastic.motor_motion(ACTUATORS, state, Q)
    assert np.abs(arm.motor[-1].points[0].effort - hold.torque).max() > 1.0
    ros.until(
        lambda: np.abs(arm.motor[-1].points[0].effort - hold.torque).max() < 1e-9, "the safe output"
    )


def test_a_motion_that_the_robot_does_not_follow_is_stopped(ros, tmp_path):
    tolerance = 0.1
    changes = {"path_tolerance": tolerance, "stop_duration": 0.2}
    node = ros.start("feedforward_node", settings(tmp_path, **changes))
    arm = Arm(ros)  # its joint states do not follow the motion
    arm.drive(lambda: arm.motor, "a command")
    arm.move(times=5 * TIMES)  # slowly: late messages of a busy computer add little
    arm.drive(lambda: "from the motion; allowed: 0.1: stopping" in node.output, "the stop")
    arm.drive_for(0.5)
    resting = np.array(arm.motor[-1].points[0].velocities)
    assert np.all(resting == 0.0)
    expected = Q0 + arm.torque[-1].effort / STIFFNESS
    moved = np.abs(np.array(arm.motor[-1].points[0].positions) - expected).max()
    assert tolerance < moved < 0.5  # the first goal is 1 rad away

    changes = {"path_tolerance": 0.0, "goal_tolerance": 0.2, "goal_time_tolerance": 0.1}
    assert all(result.successful for result in ros.set_parameters(node, **changes))
    arm.move()
    arm.drive(lambda: "from the goal; allowed: 0.2" in node.output, "the missed goal")
    arm.drive(lambda: ros.diagnosis(": reference")[2].get("goal tolerance") == "1", "the count")


def test_stamps_that_jump_ahead_drop_the_motion(ros, tmp_path):
    ros.start("feedforward_node", settings(tmp_path, state_timeout=0.4, stamp_tolerance=60.0))
    arm = Arm(ros)
    arm.drive(lambda: arm.motor, "a command")
    arm.move(times=TIMES * 3)
    arm.drive(lambda: np.abs(arm.motor[-1].points[0].velocities).max() > 0.1, "motion")
    arm.clock = lambda: time.time_ns() + 2 * SECOND
    arm.send()
    ahead = arm.stamps[-1]
    arm.drive(lambda: stamp_of(arm.motor[-1]) > ahead, "commands after the jump")
    assert np.all(np.array(arm.motor[-1].points[0].velocities) == 0.0)


def test_variants_and_gravity_compensated_by_the_robot(ros, tmp_path):
    changes = {"gravity_compensated_by_robot": True, "variant": "quasi_static"}
    node = ros.start("feedforward_node", settings(tmp_path, **changes))
    arm = Arm(ros)
    arm.drive(lambda: len(arm.motor) > 3, "commands")
    assert "gravity is compensated by the robot" in node.output
    close(arm.torque[-1].effort, np.zeros(3))
    close(arm.motor[-1].points[0].effort, np.zeros(3))
    deflection = gravity_torque() / STIFFNESS
    close(arm.motor[-1].points[0].positions, Q0 + deflection)

    begin = time.time_ns() + SECOND // 10
    arm.move(stamp=begin)
    arm.drive(lambda: time.time_ns() > begin + 0.4 * SECOND, "the motion")
    (result,) = ros.set_parameters(node, variant="full")
    assert result.successful
    changed = time.time_ns()
    arm.drive(lambda: time.time_ns() > begin + 1.1 * SECOND, "the motion")
    desired = splice(hold(NAMES, Q0), 0.0, TIMES, GOALS)
    seen = {"quasi_static": 0, "full": 0}
    for message in arm.motor:
        state = desired(1e-9 * (stamp_of(message) - begin))
        Q = np.array(dyn.inverse_dynamics(MODEL, *state))
        full = dyn.elastic.motor_motion(ACTUATORS, state, Q).velocity
        candidates = {"full": full, "quasi_static": state[1]}
        velocity = np.array(message.points[0].velocities)
        if np.abs(candidates["full"] - candidates["quasi_static"]).max() < 1e-3:
            continue
        variant = min(seen, key=lambda v: np.abs(candidates[v] - velocity).max())
        close(velocity, candidates[variant])
        seen[variant] += 1
        assert variant == "full" or stamp_of(message) < changed
    assert min(seen.values()) > 10


def test_the_stiffness_of_antagonists_follows_its_own_reference(ros):
    """Even while the arm moves; infeasible stiffness is clipped and reported."""
    folder = share_directory() / "config"
    robot, springs = "robots/antagonistic_elbow.urdf", "elastic_joints/antagonistic.yaml"
    model = dyn.load_urdf(folder / robot)
    actuators = dyn.load_actuators(folder / springs, model.joint_names)
    ros.start(
        "feedforward_node",
        {
            "robot_file": f"config/{robot}",
            "elastic_joints_file": f"config/{springs}",
            "command_joints": list(actuators.motor_names)[::-1],
            "initial_stiffness": [80.0],
            "autostart": True,
            "ramp_time": 0.0,
            "state_timeout": 2.0,
            "start_tolerance": 3.0,
        },
    )
    q0, goal = np.array([-0.5, 0.2]), np.array([0.0, 0.6])
    arm = Arm(ros, model.joint_names, q0)
    reference = ros.publisher(JointTrajectory, "stiffness_reference")
    arm.drive(lambda: len(arm.motor) > 3, "commands")
    begin = time.time_ns() + SECOND // 5

    def ask(name: str, stiffness: float, after: float) -> None:
        message = JointTrajectory(joint_names=[name])
        set_stamp(message.header.stamp, begin)
        point = JointTrajectoryPoint(positions=[stiffness])
        set_stamp(point.time_from_start, round(SECOND * after))
        message.points.append(point)
        reference.publish(message)

    ask("shoulder", 100.0, 1.0)  # has no variable stiffness
    ask("elbow", 110.0, 1.0)
    arm.move([goal], [1.0], model.joint_names, begin)
    arm.drive(lambda: time.time_ns() > begin + 1.2 * SECOND, "the motion")
    moving = splice(hold(model.joint_names, q0), 0.0, [1.0], [goal])
    stiffer = splice(hold(["elbow"], [80.0]), 0.0, [1.0], [[110.0]])
    for motor, commands in zip(arm.motor, arm.commands, strict=False):
        t = 1e-9 * (stamp_of(motor) - begin)
        state = moving(t)
        wanted = dyn.elastic.motor_motion(
            actuators, state, dyn.inverse_dynamics(model, *state), stiffer(t)[:3]
        )
        (point,) = motor.points
        assert motor.joint_names == list(actuators.motor_names)
        close(point.positions, wanted.position)
        close(point.velocities, wanted.velocity)
        close(point.accelerations, wanted.acceleration)
        close(point.effort, wanted.torque)
        close(commands.data, wanted.torque[::-1])
    arm.drive(lambda: counted(ros, "stiffness_reference: unknown joint") == 1, "the rejection")
    ask("elbow", 1.0, 2.0)
    arm.drive(lambda: "stiffness of elbow" in ros.diagnosis(": limits")[2], "the clipping")
    assert "stiffness of elbow" in ros.diagnosis(": reference")[2]
