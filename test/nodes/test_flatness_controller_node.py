# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The flatness controller node over the real middleware, in a separate process.

The test is the robot: it integrates the arm in lockstep, in simulated time, one step per answered
state.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from flatness_arm import NODE, STEP, TOPICS, TWO_LINKS, Arm, trajectory
from law_table import LAW_TABLE
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control.arm.modes import DAMPED_FOR
from multibody_dynamics.nodes.base.messages import SECOND, nanoseconds, set_stamp
from multibody_dynamics.resources import share_directory
from ros_harness import RosHarness, ros

__all__ = ["ros"]  # the fixture
JUDGED = 120.0  # s; a process of low priority judges a law


def numbers(messages: list[JointState], field: str = "effort") -> np.ndarray:
    return np.array([getattr(message, field) for message in messages])


def counted(ros: RosHarness, part: str, key: str) -> int:
    return int(ros.diagnosis(part)[2].get(key, 0))


def enable(arm: Arm, value: bool = True) -> Any:
    return arm.ros.call(SetBool, f"{NODE}/enable", SetBool.Request(data=value))


def choose(arm: Arm, law: str) -> None:
    """Choose a law and wait until it has been judged and is in force."""
    assert arm.ros.set_parameters(arm.node, law=law)[0].successful
    in_force = lambda: law_status(arm)["chosen"] == law  # noqa: E731
    arm.until_shown(in_force, f"law {law}", patience=JUDGED)


def law_status(arm: Arm) -> dict[str, str]:
    return arm.ros.diagnosis(": law")[2]


def test_every_law_follows_and_none_takes_over_with_a_jump(ros):
    slow = {"motor_bandwidth": [20.0], "computed_torque_bandwidth": 20.0}
    slow |= {"judged_poses": 3}
    arm = Arm(
        ros,
        records=["errors"],
        **slow,
        tracking_tolerance=0.5,
        observer_gain=20.0,
        adaptation="payload",
    )
    held = arm.plant.joint_torque.copy()
    arm.start()
    np.testing.assert_allclose(arm.answers[0].effort, held, atol=1e-3)
    arm.run(0.2)
    goal, worst, smooth = np.array([0.0, -0.1]), {}, {}
    for adapt, text in ((True, "adapting"), (False, "estimates kept")):
        assert ros.set_parameters(arm.node, adapt=adapt)[0].successful
        arm.until_shown(lambda t=text: ros.diagnosis(": adaptation")[1] == t, text)
    masses = ros.diagnosis(": adaptation")[2]
    assert f"mass of {arm.model.body_names[-1]} [kg]" in masses
    laws = sorted([*LAW_TABLE, "torque_control"], key=lambda law: LAW_TABLE[law].sags)
    for law in laws:
        choose(arm, law)
        begin = len(arm.answers)
        if LAW_TABLE[law].error is not None:
            arm.move(goal, 0.5)
            goal = -0.4 - goal
        arm.run(0.65)
        steps = np.diff(numbers(arm.answers[begin - 1 :]), axis=0)
        smooth[law] = np.abs(steps).max()
        worst[law] = arm.error(len(arm.answers) - begin)
    flat = ("motor_pd", "state_feedback", "feedback_linearization")
    assert max(worst[name] for name in flat) < 3e-4
    assert worst["computed_torque"] > 3e-3
    assert worst["torque_control"] < 5e-3
    gentle = {name: smooth.pop(name) for name in flat[1:]}
    assert max(*gentle.values(), smooth["hold"]) < 1.5  # N m from one sample to the next
    assert max(smooth.values()) < 8.0  # the others let the springs ring
    assert worst["hold"] < 0.05
    assert arm.step()
    arm.until_shown(lambda: ros.diagnosis(": law")[1] == "computed_torque", "the law")
    stamps = [nanoseconds(message.header.stamp) for message in arm.answers]
    assert (np.diff(stamps)[2:] == STEP).all()
    for name in ("commands", "motion", "states"):
        setattr(arm, name, ros.record(*TOPICS[name]))
    ros.until(lambda: arm.commands and arm.motion and arm.states, "messages", each=arm.step)
    for messages in (arm.motion, arm.states):
        ros.until(lambda m=messages: m[-1].header.stamp == arm.answers[-1].header.stamp, "messages")
    commanded = lambda: list(arm.commands[-1].data)  # noqa: E731
    ros.until(lambda: commanded() == list(arm.answers[-1].effort)[::-1], "the commands")
    point = arm.motion[-1].points[0]
    assert arm.motion[-1].joint_names == list(arm.actuators.motor_names)
    np.testing.assert_array_equal(point.effort, arm.answers[-1].effort)
    np.testing.assert_allclose(arm.states[-1].position, arm.measured, atol=1e-3)
    (result,) = ros.set_parameters(arm.node, law="magic")
    assert not result.successful


def test_every_fault_leads_to_its_defined_state(ros):
    arm = Arm(ros, records=["errors", "states"], wrench_tolerance=0.0)
    arm.start()
    arm.move([0.0, 0.0], 1.0)
    arm.run(0.4)

    # Link states missing: a damped stop on the motors, without a jump of torque.
    begin = len(arm.answers)
    arm.run(1.0, links=False)
    assert "link states missing" in arm.node.output
    assert len(arm.answers) - begin > 100
    assert np.abs(np.diff(numbers(arm.answers[begin:]), axis=0)).max() < 5.0
    assert np.abs(arm.plant.qd).max() < 0.05
    assert ros.diagnosis(": cycle")[0] == 2
    arm.move([0.0, 0.0], 1.0)
    arm.until_shown(lambda: counted(ros, ": inputs", "joint_trajectory: fault"), "a rejection")
    assert "rejected joint_trajectory: link states missing: " in arm.node.output
    ros.until(lambda: "missing: cleared" in arm.node.output, "the recovery", each=arm.step)
    arm.run(0.6)
    assert arm.error(5) < 1e-3

    # Motor states missing: a slower stop on the links, also without a jump of torque.
    arm.move([-0.4, -0.4], 1.0)
    arm.run(0.4)
    begin, speed = len(arm.answers), np.abs(arm.plant.qd).max()
    arm.run(0.8, motors=False)
    assert "motor states missing" in arm.node.output
    assert len(arm.answers) - begin > 100
    assert np.abs(np.diff(numbers(arm.answers[begin:]), axis=0)).max() < 5.0
    assert np.abs(arm.plant.qd).max() < 0.4 * speed
    assert not enable(arm).success

    # Both missing: the holding torque once, then silence.
    begin = len(arm.answers)
    arm.run(0.2, motors=False, links=False)
    (last,) = arm.answers[begin:]
    weight = dyn.gravity_forces(arm.model, arm.plant.q)
    np.testing.assert_allclose(last.effort, weight, rtol=0.1)  # it still moves a little
    before = arm.node.output.count("missing: cleared")
    ros.until(
        lambda: arm.node.output.count("missing: cleared") > before, "the recovery", each=arm.step
    )

    # Tracking error: the arm does not move, so neither does its reference; ~/enable clears it.
    arm.run(0.3)
    arm.is_stuck = True
    arm.move([0.15, 0.15], 0.6)
    ros.until(lambda: "tracking error" in arm.node.output, "the fault", each=arm.step)
    arm.is_stuck = False
    arm.run(0.5)
    assert np.abs(arm.plant.qd).max() < 0.1
    assert "tracking error: cleared" not in arm.node.output
    assert enable(arm).success
    arm.run(0.2)
    assert "tracking error: cleared" in arm.node.output

    # Every torque late: a damped stop, though the arm still follows.
    def late() -> None:
        arm.tick()
        arm.send_links(arm.now - 3 * STEP)
        arm.send_motors(arm.now - 3 * STEP)
        arm.wait(0.01)
        arm.plant.step(arm.torque, 1e-9 * STEP)

    arm.run(0.02)
    late_by = ros.until(
        lambda: re.search(r"torques too late: (\d+) ms after", arm.node.output),
        "the fault",
        each=late,
    )
    assert int(late_by[1]) >= 6  # more if the computer is busy
    arm.run(0.1)
    assert "too late: cleared" not in arm.node.output
    assert enable(arm).success
    arm.run(0.2)
    assert arm.node.output.count("torques too late") == 2  # the fault, and its clearing

    # A torque that is not finite is never published.
    contact = ros.publisher(WrenchStamped, "external_wrench")
    message = WrenchStamped()
    message.header.frame_id = arm.model.body_names[-1]
    for axis in "xyz":
        setattr(message.wrench.force, axis, 1.7e308)
        setattr(message.wrench.torque, axis, 1.7e308)

    def touched() -> None:  # again and again: the topic is best effort
        set_stamp(message.header.stamp, arm.now)
        contact.publish(message)
        arm.step()

    ros.until(lambda: "torque not finite" in arm.node.output, "the fault", each=touched)
    arm.run(0.1)
    assert enable(arm).success
    arm.run(0.1)
    for messages in (arm.answers, arm.errors, arm.states):
        for each in messages:
            rows = (each.position, each.velocity, each.effort)
            assert all(np.isfinite(row).all() for row in rows if len(row))
    assert "Traceback" not in arm.node.output


def test_bad_states_are_rejected_time_may_jump_and_the_last_torque_holds_the_arm(ros):
    arm = Arm(ros)
    arm.start()
    r, n = arm.plant, arm.model.n
    names, zero = arm.model.joint_names, np.zeros(n)
    bad = {
        "joint_states: not finite": lambda: arm.send(
            arm.links, names, (np.full(n, np.nan), zero, zero)
        ),
        "motor_states: unnamed": lambda: arm.send(arm.motors, (), (r.theta, zero, zero)),
        "motor_states: stale": lambda: arm.send_motors(arm.now - 10 * SECOND),
        "joint_states: out of order": lambda: arm.send_links(arm.now - STEP),
        "unpaired states": lambda: arm.send_motors(arm.now + 1),
    }
    for send in bad.values():
        arm.tick()
        send()
        arm.run(0.01)
    arm.until_shown(lambda: all(counted(ros, ": inputs", key) for key in bad), "the reasons")
    assert "missing" not in arm.node.output
    assert "apart" not in arm.node.output

    # Stamps that never match count as missing link states; within the tolerance, they match again.
    def apart() -> None:
        arm.tick()
        arm.send_links(arm.now - 1000)
        arm.send_motors()
        arm.wait(0.005)
        arm.plant.step(arm.torque, 1e-9 * STEP)

    ros.until(lambda: "link states missing" in arm.node.output, "the fault", each=apart)
    ros.until(lambda: "older than its counterpart" in arm.node.output, "the reason", each=apart)
    assert ros.set_parameters(arm.node, pair_tolerance=1e-5)[0].successful
    ros.until(lambda: "missing: cleared" in arm.node.output, "the recovery", each=apart)

    # Time jumps back; the last output is the holding torque.
    arm.run(0.1)
    arm.move([0.0, 0.0], 0.6)
    arm.run(0.2)
    arm.now -= 50 * SECOND
    count = len(arm.answers)
    ros.until(lambda: len(arm.answers) > count + 5, "answers after the jump", each=arm.step)
    assert "the clock jumped by" in arm.node.output
    assert np.abs(np.diff(numbers(arm.answers[count - 1 :]), axis=0)).max() < 1.0
    assert "following again" not in arm.node.output.split("jump in time")[-1]  # still moving
    ros.until(lambda: "jump in time: cleared" in arm.node.output, "the recovery", each=arm.step)
    arm.run(0.1)
    assert ros.transition(arm.node, "deactivate")
    ros.spin(0.02)
    weight = dyn.gravity_forces(arm.model, arm.plant.q)
    np.testing.assert_allclose(arm.answers[-1].effort, weight, rtol=0.02)
    assert ros.transition(arm.node, "activate")
    count = len(arm.answers)
    ros.until(lambda: len(arm.answers) > count + 5, "answers", each=arm.step)
    count = len(arm.answers)
    assert ros.leave(arm.node) == 0
    ros.until(lambda: len(arm.answers) > count, "the last output")
    assert "Traceback" not in arm.node.output


def test_the_state_may_come_from_motor_encoders_alone(ros):
    arm = Arm(
        ros,
        records=["states"],
        state_source="motor_encoders",
        observer_bandwidth=30.0,
        state_speed_factor=0.0,
    )  # a wild reading must reach the observer
    arm.start()
    arm.move([0.0, 0.0], 0.6)
    arm.run(0.8, links=False)
    assert np.abs(arm.plant.q).max() < 0.02
    np.testing.assert_allclose(arm.states[-1].position, arm.plant.q, atol=0.005)
    assert "missing" not in arm.node.output

    # A wild reading: stop, hold on the motors, follow again.
    arm.tick()
    r = arm.plant
    arm.send(arm.motors, arm.actuators.motor_names, (r.theta + 1.0, r.thetad, r.motor_torque))
    assert arm.wait(0.5)  # otherwise, a newer state would replace it
    ros.until(lambda: "state estimate lost" in arm.node.output, "the fault", each=arm.step)
    ros.until(lambda: "lost: cleared" in arm.node.output, "the recovery", each=arm.step)
    assert np.abs(arm.plant.q).max() < 0.02


def test_a_timer_may_drive_the_cycle_and_limits_are_reported_with_their_cause(ros):
    """With motor encoders and torque sensors."""
    arm = Arm(
        ros,
        records=["states"],
        state_source="motor_encoders_and_torque_sensors",
        update_rate=SECOND / STEP,
        law="state_feedback",
        feedback_bandwidth=[10.0],
        disturbance_bandwidth=0.0,
    )
    arm.start()
    count = len(arm.answers)
    arm.move([0.0, 0.0], 0.6)
    arm.run(0.8)
    assert np.abs(arm.plant.q).max() < 0.02
    np.testing.assert_allclose(arm.states[-1].position, arm.plant.q, atol=0.005)
    stamps = np.array([nanoseconds(message.header.stamp) for message in arm.answers[count:]])
    assert (np.diff(stamps) == STEP).mean() > 0.9
    assert "missing" not in arm.node.output
    changed = ros.set_parameters(arm.node, torque_limit_scale=0.33, torque_rate_limits=[2000.0])
    assert all(result.successful for result in changed)
    begin = len(arm.answers)
    arm.move([0.7, 0.7], 0.55)
    arm.run(0.6)
    arm.until_shown(lambda: counted(ros, ": limits", "torque of shoulder"), "clipping")
    most = np.abs(numbers(arm.answers[begin + 5 :])).max(axis=0)
    limit = 0.33 * np.minimum(arm.model.limits.effort, arm.actuators.torque_limit)
    assert (most <= limit * (1 + 1e-12)).all()
    assert "limit" in ros.diagnosis(": limits")[2]["last"]
    # A spring beyond its travel, according to the sensors.
    arm.is_stuck = True
    for deflection in (0.05, 0.1, 0.15, 0.2):  # no leap
        arm.plant.reset(arm.plant.q, theta=arm.plant.q + deflection)
        arm.step()
    arm.until_shown(lambda: counted(ros, ": limits", "travel of shoulder"), "a report")

    # The holding torque is approached within the rate limit.
    count = len(arm.answers)
    assert ros.transition(arm.node, "deactivate")
    ros.spin(0.02)
    last = numbers(arm.answers[count - 1 :])
    assert len(last) > 2
    assert np.abs(np.diff(last, axis=0)).max() < 2000.0 * 1e-9 * STEP * (1 + 1e-6)


def side(value: float, unit: str) -> dict[str, Any]:
    return {"value": value, "unit": unit, "side": "link"}


def test_declared_sensors_a_free_stiffness_and_gravity_compensated_by_the_robot(ros, tmp_path):
    """A torque sensor in the shoulder; an elbow whose stiffness no motor sets."""
    motor = {
        "gear_ratio": 100.0,
        "inertia": side(0.2, "kg m^2"),
        "viscous_friction": side(0.5, "N m s/rad"),
        "torque_limit": side(80.0, "N m"),
    }
    spring = {"law": "linear", "stiffness": side(500.0, "N m/rad")}
    joints = {
        "shoulder": {"motor": motor, "spring": spring, "torque_source": "torque_sensor"},
        "elbow": {
            "motor": motor,
            "variable_stiffness": {
                "range": {"values": [100.0, 400.0], "unit": "N m/rad", "side": "link"}
            },
        },
    }
    springs = tmp_path / "springs.yaml"
    springs.write_text(json.dumps({"joints": joints}))
    arm = Arm(
        ros,
        records=["errors"],
        springs=springs,
        state_source="as_described",
        gravity_compensated_by_robot=True,
        initial_stiffness=[150.0],
    )
    stiffness = ros.record(JointState, f"{NODE}/stiffness_command")
    reference = ros.publisher(JointTrajectory, "stiffness_reference")
    arm.plant.stiffness[0] = 150.0
    arm.plant.reset(np.full(2, -0.4))

    def run(seconds: float) -> None:
        for _ in range(round(seconds * SECOND / STEP)):
            arm.step()
            if stiffness:  # the device that sets it is fast
                arm.plant.stiffness[:] = stiffness[-1].position, stiffness[-1].velocity

    arm.torque -= dyn.gravity_forces(arm.model, arm.plant.q)
    arm.start()
    assert np.abs(arm.answers[0].effort).max() < 0.5  # the robot compensates gravity itself
    run(0.2)
    reference.publish(trajectory(["elbow"], {0.5: [300.0]}))
    arm.move([0.0, 0.0], 0.6)
    run(0.8)
    assert stiffness[-1].name == ["elbow"]
    assert stiffness[-1].position[0] == pytest.approx(300.0)
    assert arm.error(300) < 5e-3
    assert np.abs(arm.plant.q).max() < 5e-3
    assert "missing" not in arm.node.output
    # Motor states missing: no encoder measures the shoulder's link, so no stop on the links.
    begin = len(arm.answers)
    arm.run(0.1, motors=False)  # on the reference for 50 ms, then the safe output
    silent = len(arm.answers)
    assert silent > begin
    arm.run(0.1, motors=False)
    assert len(arm.answers) == silent


def test_stiffness_follows_its_own_reference_within_its_range(ros):
    arm = Arm(ros, "antagonistic_elbow", "antagonistic", transfer_time=0.2)
    reference = ros.publisher(JointTrajectory, "stiffness_reference")
    arm.start()
    arm.run(0.4)
    stiffness = []
    for k in (80.0, 1.0, 1e4):
        reference.publish(trajectory(["elbow"], {0.5: [k]}))
        arm.run(0.7)
        r = arm.plant
        springs = arm.actuators.springs(r.q, r.qd, r.theta, r.thetad)
        stiffness.append(float(springs.stiffness[arm.model.joint_index("elbow")]))
    assert stiffness[0] == pytest.approx(80.0, rel=0.02)
    assert 20.0 < stiffness[1] < 60.0
    assert 110.0 < stiffness[2] < 150.0  # the most that the motors can hold
    most = np.abs(numbers(arm.answers)).max(axis=0)
    assert (most < arm.actuators.torque_limit).all()
    arm.until_shown(lambda: counted(ros, ": limits", "stiffness of elbow"), "clipping")
    assert "torque limits" in ros.diagnosis(": reference")[2]["range of elbow"]
    assert np.abs(arm.plant.q + 0.4).max() < 0.01


def test_a_differential_wrist_is_commanded_by_its_joints(ros):
    """The robot's states and the trajectory name pitch and roll, the torques left and right."""
    arm = Arm(ros, "differential_wrist", "differential_wrist", ("errors",))
    joints, T = ("elbow", "roll", "pitch"), np.array([[1, 0, 0], [0, 0.5, -0.5], [0, 0.5, 0.5]])

    def send_joints(stamp=None):
        r = arm.plant
        torque = np.linalg.solve(T.T, r.joint_torque)
        arm.send(arm.links, joints, (T @ r.q, T @ r.qd, torque), stamp)

    arm.send_links = send_joints
    arm.start()
    arm.run(0.3)
    goal = np.array([-0.2, 0.5, -0.1])  # elbow, roll, pitch
    arm.trajectory.publish(trajectory(joints, {1.0: goal}))
    arm.run(1.5)
    np.testing.assert_allclose(T @ arm.plant.q, goal, atol=1e-3)
    assert arm.error(len(arm.errors) // 2) < 5e-3
    assert arm.answers[-1].name == list(arm.actuators.motor_names)


def test_continuous_joints_cross_the_turn_of_a_driver_that_reports_minus_pi_to_pi(ros, tmp_path):
    """Links and motors are reported modulo one turn, and trajectories take the nearest one."""
    text = (share_directory() / "config" / "robots" / "planar_two_link.urdf").read_text()
    file = tmp_path / "arm.urdf"
    file.write_text(text.replace('type="revolute"', 'type="continuous"'))
    arm = Arm(ros, records=("errors",), robot_file=str(file))
    arm.plant.reset([3.0, -0.4])

    def within_a_turn(angle):
        return np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi

    def send_links(stamp=None):
        r = arm.plant
        rows = within_a_turn(r.q), r.qd, r.joint_torque
        arm.send(arm.links, arm.model.joint_names, rows, stamp)

    def send_motors(stamp=None):
        r = arm.plant
        rows = within_a_turn(r.theta), r.thetad, r.motor_torque
        arm.send(arm.motors, arm.actuators.motor_names, rows, stamp)

    arm.send_links, arm.send_motors = send_links, send_motors
    arm.start()
    arm.run(0.3)
    for goal, reached in ((-2.9, 2.0 * np.pi - 2.9), (3.0, 3.0)):
        arm.move([goal, -0.4], 0.6)
        arm.run(1.0)
        np.testing.assert_allclose(arm.plant.q, [reached, -0.4], atol=2e-3)
    assert arm.error(len(arm.errors) // 2) < 5e-3


@pytest.mark.parametrize(("plant", "bound"), [("internal", 1e-3), ("mujoco", 2e-3)])
def test_a_simulated_arm_is_controlled_in_lockstep(ros, plant, bound):
    """The simulator node waits for each torque, which acts from the next state on."""
    judged = {"judged_poses": 5, "use_sim_time": True, "command_delay": 0.002}
    controller = ros.start(NODE, {**TWO_LINKS, **judged})
    ros.until(lambda: "active;" in controller.output, "the controller", patience=60.0)
    simulator = ros.start(
        "elastic_robot_simulator_node",
        {
            **TWO_LINKS,
            "plant": plant,
            "command_interface": "stamped_motor_torque",
            "initial_positions": [-0.4, -0.4],
            "publish_clock": True,
            "lockstep": True,
            "max_speed": 0.0,
            "update_rate": 500.0,
            "command_timeout": 20.0,
        },
        "-r", f"motor_torque_stamped:={NODE}/motor_torque",
    )  # fmt: skip
    ros.until(lambda: "active" in simulator.output, "the simulator", patience=60.0)
    errors = ros.record(JointState, f"{NODE}/tracking_error")
    links = ros.record(JointState, "joint_states")
    publisher = ros.publisher(JointTrajectory, "joint_trajectory")
    ros.until(lambda: len(errors) > 300, "control")
    begin = len(errors)
    publisher.publish(trajectory(["shoulder", "elbow"], {0.75: [0.3, 0.2]}))
    ros.until(lambda: len(errors) > begin + 600, "the motion")
    worst = np.abs(numbers(errors[begin:], "position")).max()
    assert worst < bound, (worst, controller.output, simulator.output)
    horizon = lambda: ros.diagnosis(": estimator")[2].get("prediction horizon [ms]")  # noqa: E731
    ros.until(horizon, "a predicted state")
    assert float(horizon()) == 2.0
    arrived = dict(zip(links[-1].name, links[-1].position, strict=True))
    assert arrived["shoulder"] == pytest.approx(0.3, abs=bound)
    assert arrived["elbow"] == pytest.approx(0.2, abs=bound)
    stamps = np.array([nanoseconds(message.header.stamp) for message in errors[begin:]])
    assert (np.diff(stamps) == STEP).all()  # no state was left without its torque


def test_with_a_timer_each_state_is_used_once_with_its_stamp(ros):
    """Neither states that wait for the timer nor ticks without one shake the torque."""
    arm = Arm(ros, update_rate=SECOND / STEP)
    arm.start()
    begin = len(arm.answers)
    arm.move([0.0, 0.0], 0.6)
    for k in range(400):
        arm.step(links=k % 50 != 7, motors=k % 50 not in (7, 8))
    arm.run(0.1)
    assert np.abs(arm.plant.q).max() < 0.02
    assert "missing" not in arm.node.output
    steps = np.abs(np.diff(numbers(arm.answers[begin:]), axis=0)).max(axis=0)
    assert (steps < 0.05 * arm.model.limits.effort).all()


def test_the_loop_is_judged_when_the_node_is_configured(ros):
    arm = Arm(ros, design_position=[-0.4, -0.4], motor_bandwidth=[30.0], judged_poses=100)
    arm.start()
    arm.run(0.1)
    arm.until_shown(lambda: ros.diagnosis(": law")[1] == "motor_pd", "the law")
    values = ros.diagnosis(": law")[2]
    assert float(values["share of unstable poses: motor_pd"]) == 0.0
    assert values["stability: motor_pd"].startswith("stable at 101 poses, with a delay of 1 ms")
    assert "law 'hold': stable at 101 poses" in arm.node.output


def test_bandwidths_are_lowered_for_a_model_that_is_30_percent_off(ros):
    """With gains of the whole arm, which are designed in the background as the arm moves."""
    arm = Arm(
        ros,
        design_position=[-0.4, -0.4],
        law="state_feedback",
        gain_design="coupled",
        feedback_bandwidth=[30.0],
        judged_model_error=0.3,
        judged_poses=30,
        tracking_tolerance=0.5,
        base_frequency=0.0,  # 30 % and a soft base are more than lower settings can mend
    )
    arm.start()
    arm.run(0.1)
    arm.until_shown(lambda: ros.diagnosis(": law")[1] == "state_feedback", "the law")
    values = ros.diagnosis(": law")[2]
    lowered = float(values["lowered: state_feedback, disturbance_bandwidth [rad/s]"])
    assert 12.0 <= lowered < 120.0
    assert float(values["share of unstable poses: state_feedback"]) == 0.0
    assert "stable at 31 poses" in values["stability: state_feedback"]
    assert f"is lowered to disturbance_bandwidth {lowered:.3g} in rad/s" in arm.node.output

    def age() -> float:
        return float(ros.diagnosis(": law")[2]["age of the gains [s]"])

    arm.run(0.5)
    before = age()
    arm.move([0.1, -0.2], 0.6)
    ros.until(lambda: age() < before, "new gains", each=arm.step)  # it only grows at rest
    assert ros.diagnosis(": law")[2]["failed gain designs"] == "0"


def test_an_unstable_loop_is_refused(ros):
    """State feedback with 8 ms of delay; without a design position, at the first state."""
    late = {
        "law": "state_feedback",
        "feedback_bandwidth": [40.0],
        "command_delay": 0.007,
        "predict_state": False,
        "unstable_poses": "report",
    }
    files = {**TWO_LINKS, "judged_poses": 3}
    node = ros.start(NODE, {**files, **late, "design_position": [0.0, 0.0]})
    refused = "law 'state_feedback' is refused: unstable at"
    ros.until(lambda: refused in node.output, "the refusal", patience=60.0)
    assert "including the design position" in node.output
    node = ros.start(NODE, {**files, **late, "unstable_poses": "reject"})
    ros.until(lambda: f"{refused} 4 of 4 poses" in node.output, "the refusal", patience=60.0)
    arm = Arm(ros, **late, judged_poses=0)
    arm.step()
    ros.until(lambda: f"{refused} 1 of 1 poses" in arm.node.output, "the fault", arm.step)
    for _ in range(20):  # once per position: nothing is sent, and nothing is designed anew
        arm.tick()
        arm.send_links()
        arm.send_motors()
        ros.spin(0.005)
    assert not arm.answers
    assert arm.node.output.count("no stable gains") == 1
    assert enable(arm).success
    again = lambda: arm.node.output.count(f"{refused} 1 of 1 poses") == 2  # noqa: E731
    ros.until(again, "the same refusal", arm.step)


def test_a_law_chosen_while_the_node_runs_is_judged_first(ros):
    """Accepted, lowered or refused, in the background: every state is answered."""
    late = {"judged_delay": 0.004, "judged_poses": 5, "tracking_tolerance": 0.5}
    arm = Arm(ros, **late, feedback_poles=[-90.0, -90.0, -90.0, -90.0])
    arm.start()
    arm.run(0.1)
    begin = len(arm.answers)
    # poles are not lowered
    assert ros.set_parameters(arm.node, law="state_feedback")[0].successful
    is_refused = lambda: "refused" in law_status(arm)  # noqa: E731
    ros.until(is_refused, "the refusal", each=arm.step, patience=JUDGED)
    status = law_status(arm)
    assert "law 'state_feedback' is refused: unstable at 6 of 6 poses" in status["refused"]
    assert status["chosen"] == "motor_pd"
    assert "stability: state_feedback" not in status
    assert "law 'motor_pd' remains in force" in arm.node.output
    (value,) = ros.get_parameters(arm.node, "law")
    assert value == "motor_pd"  # the parameter says what is in force
    choose(arm, "esp")
    assert float(law_status(arm)["share of unstable poses: esp"]) == 0.0
    assert "refused" not in law_status(arm)
    assert "law 'esp' is being judged; 'motor_pd' remains in force" in arm.node.output
    choose(arm, "motor_pd")  # judged before
    assert "law 'motor_pd' is being judged" not in arm.node.output
    stamps = [nanoseconds(message.header.stamp) for message in arm.answers[begin:]]
    assert (np.diff(stamps) == STEP).all()


def test_a_filter_that_is_too_slow_for_a_resonance_is_made_faster(ros):
    """The last link of the six-joint arm, at 577 rad/s, would be excited with 100 Hz and 1 ms."""
    names = ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"]
    node = ros.start(
        NODE,
        {
            "robot_file": "config/robots/six_joint_arm.urdf",
            "elastic_joints_file": "config/elastic_joints/six_joint_arm.yaml",
            "command_joints": names,
            "autostart": True,
            "judged_poses": 10,
        },
    )
    ros.until(lambda: "active; law: motor_pd" in node.output, "the node", patience=120.0)
    assert "filter_bandwidth is raised from 100 to " in node.output
    assert "law 'motor_pd': stable at 11 poses" in node.output
    assert "law 'hold': stable at 11 poses" in node.output


def test_a_stop_that_does_not_stop_ends_in_silence_and_says_so(ros):
    arm = Arm(ros, stop_timeout=0.4)
    arm.start()
    assert "stop: comes to rest: 'shoulder' at " in arm.node.output
    arm.run(0.1)

    def turn(speed: float = 0.5) -> None:
        """From here on, the joints turn, whatever the torque; no answer is waited for long."""
        arm.plant.q[:] += 1e-9 * STEP * speed
        arm.plant.theta[:] += 1e-9 * STEP * speed
        arm.tick()
        arm.send_links()
        arm.send_motors()
        arm.wait(0.01)

    ros.until(lambda: "tracking error" in arm.node.output, "the fault", each=turn)
    ros.until(lambda: "stop failed" in arm.node.output, "the last resort", each=turn)
    assert "still moves at 0.5" in arm.node.output
    assert "brakes or drives must stop the arm" in arm.node.output
    last = arm.plant.q.copy()  # position of the last answer
    for _ in range(round(1.1 * SECOND * DAMPED_FOR / STEP)):  # damping, which fades
        before = len(arm.answers)
        turn()
        last = arm.plant.q.copy() if len(arm.answers) > before else last
    begin = len(arm.answers)
    for _ in range(60):
        turn()
    assert len(arm.answers) == begin
    weight = dyn.gravity_forces(arm.model, last)
    np.testing.assert_allclose(arm.answers[-1].effort, weight, rtol=0.2)
    ros.until(lambda: ros.diagnosis(": law")[1].startswith("none"), "the report", each=turn)
    assert ros.diagnosis(": cycle")[0] == 2
    refused = enable(arm)
    assert not refused.success
    assert "still moves" in refused.message

    # At rest, as held by brakes, ~/enable starts again from the measured position.
    arm.plant.reset(arm.plant.q.copy())
    for _ in range(100):
        turn(0.0)
    assert enable(arm).success
    before = len(arm.answers)
    arm.torque = np.array(arm.plant.motor_torque)
    arm.run(0.3)
    assert len(arm.answers) > before + 100
    assert np.abs(arm.plant.qd).max() < 0.05
    assert arm.node.output.count("stop failed") == 2  # the fault, and its clearing
    assert "Traceback" not in arm.node.output


def test_an_arm_that_is_interrupted_repeatedly_stays_stopped(ros):
    arm = Arm(ros, recovery_limit=2)
    arm.start()
    for k in range(3):
        arm.run(0.2, links=False)
        if k < 2:
            ros.until(
                lambda n=k: arm.node.output.count("missing: cleared") > n,
                "the recovery",
                each=arm.step,
            )
    ros.until(lambda: "interrupted repeatedly" in arm.node.output, "the fault", each=arm.step)
    arm.run(0.4)
    assert "interrupted 3 times within 60 s" in arm.node.output
    assert arm.node.output.count("missing: cleared") == 2
    assert arm.node.output.count("interrupted repeatedly") == 1
    assert enable(arm).success
    arm.run(0.1)
    assert "interrupted repeatedly: cleared" in arm.node.output


def test_springs_that_cannot_carry_the_arm_anywhere_are_refused(ros, tmp_path):
    """The node names the joint, and ends, since it cannot start by itself."""
    weak = {"elastic_joints_file": str(weak_springs(tmp_path))}
    node = ros.start(NODE, {**TWO_LINKS, **weak})
    refused = "no design succeeds anywhere in the joint range: joint 'shoulder'"
    assert ros.exit_of(node, patience=JUDGED) == 1
    assert refused in node.output


def weak_springs(folder: Path) -> Path:
    """Springs with too little travel for the weight of planar_two_link."""
    motor = {"gear_ratio": 1.0, "inertia": side(0.1, "kg m^2")}
    spring = {
        "law": "linear",
        "stiffness": side(100.0, "N m/rad"),
        "travel": {"values": [-1e-4, 1e-4], "unit": "rad", "side": "link"},
    }
    joints = {name: {"spring": spring, "motor": motor} for name in ("shoulder", "elbow")}
    file = folder / "weak.yaml"
    file.write_text(json.dumps({"joints": joints}))
    return file


def test_the_stiffness_of_an_impedance_changes_by_topic(ros):
    """Live, by name, within the ramp, judged where it was not; a refusal changes nothing and names
    the joint; setting one parameter changes no other value; activation returns to the parameters.
    """
    stiff = {"link_stiffness": [40.0, 30.0], "stiffness_time": 0.2}
    arm = Arm(ros, law="joint_impedance", judged_poses=5, base_frequency=0.0, **stiff)
    reference = ros.publisher(JointTrajectory, "impedance_reference")
    arm.start()
    arm.run(0.3)

    def send(values, **header):
        message = trajectory(values, {0.0: values.values()})
        if header:
            set_stamp(message.header.stamp, header["stamp"])
        reference.publish(message)

    def stiffness():
        values = ros.diagnosis(": law")[2]
        names = arm.model.joint_names
        return [float(values.get(f"stiffness: {name}", "nan")) for name in names]

    shoulder, elbow = arm.model.joint_names
    arm.until_shown(lambda: stiffness() == [40.0, 30.0], "the parameters")
    before = len(arm.answers)
    send({elbow: 15.0, "damping_ratio": 0.6})
    softer = lambda: stiffness() == [40.0, 15.0]  # noqa: E731
    arm.until_shown(softer, "the new stiffness, once it is judged", patience=JUDGED)
    assert "law 'joint_impedance' is being judged" in arm.node.output
    assert float(law_status(arm)["damping ratio"]) == 0.6
    steps = np.abs(np.diff(numbers(arm.answers[before:]), axis=0))
    assert steps.max() < 0.5  # N m from one sample to the next
    send({shoulder: 1e5})
    arm.until_shown(
        lambda: counted(ros, ": inputs", "impedance_reference: impedance refused"), "the refusal"
    )
    assert f"most at joint '{shoulder}'" in arm.node.output
    send({shoulder: 20.0}, stamp=arm.now - 10 * SECOND)
    arm.until_shown(lambda: counted(ros, ": inputs", "impedance_reference: stale"), "a stale one")
    assert stiffness() == [40.0, 15.0]
    assert ros.set_parameters(arm.node, impedance_damping=0.8)[0].successful
    changed = lambda: float(law_status(arm)["damping ratio"]) == 0.8  # noqa: E731
    arm.until_shown(changed, "the damping, once it is judged", patience=JUDGED)
    assert stiffness() == [40.0, 15.0]
    (result,) = ros.set_parameters(arm.node, link_stiffness=[1e5])
    assert not result.successful
    assert f"most at joint '{elbow}'" in result.reason
    assert ros.transition(arm.node, "deactivate")
    assert ros.transition(arm.node, "activate")
    arm.until_shown(lambda: stiffness() == [40.0, 30.0], "the parameters again")
    assert float(law_status(arm)["damping ratio"]) == 0.8

    choose(arm, "esp_impedance")
    send({elbow: 12.0})
    firmer = lambda: stiffness() == [40.0, 12.0]  # noqa: E731
    arm.until_shown(firmer, "the stiffness of ESPi", patience=JUDGED)
    assert np.abs(arm.plant.qd).max() < 0.05
    choose(arm, "motor_pd")
    send({shoulder: 20.0})
    ros.until(
        lambda: "law 'motor_pd': its stiffness does not change" in arm.node.output,
        "a refusal",
        each=arm.step,
    )
    assert "Traceback" not in arm.node.output


def test_a_law_in_force_that_becomes_unstable_with_a_delay_is_an_error(ros):
    arm = Arm(ros, judged_poses=3, tracking_tolerance=0.5, motor_bandwidth=[60.0])
    arm.start()
    late = {"command_delay": 0.03, "predict_state": False}
    assert all(result.successful for result in ros.set_parameters(arm.node, **late))
    text = "motor_pd, unstable with these delays"
    shown = lambda: ros.diagnosis(": law")[1] == text  # noqa: E731
    arm.until_shown(shown, "the error", patience=JUDGED)
    assert ros.diagnosis(": law")[0] == 2
    assert law_status(arm)["stability: motor_pd"].startswith("unstable at")
    assert "law 'motor_pd' is in force, but unstable now: unstable at" in arm.node.output
    assert ros.set_parameters(arm.node, predict_state=True)[0].successful
    shown = lambda: ros.diagnosis(": law")[:2] == (0, "motor_pd")  # noqa: E731
    arm.until_shown(shown, "the law as before", patience=JUDGED)
