# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The simulator node over the real middleware, in a separate process."""

import json
import math
import threading
import time
from functools import partial
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGSTOP
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import urdf_parts
from elastic_arms import shipped
from multibody_dynamics.dynamics.elastic.actuator_description import load_actuators
from multibody_dynamics.dynamics.model.urdf import parse_urdf
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.dynamics.plant.motor_drive import MotorDrive
from multibody_dynamics.dynamics.plant.plants import Plant
from multibody_dynamics.dynamics.plant.sensors import DelayLine
from multibody_dynamics.dynamics.rigid.crba import gravity_forces
from multibody_dynamics.dynamics.rigid.kinematics import frame_pose
from multibody_dynamics.dynamics.rigid.wrenches import wrench_to_world
from multibody_dynamics.nodes.base.messages import SECOND, nanoseconds, set_stamp
from multibody_dynamics.nodes.base.parameters import ParameterError
from multibody_dynamics.nodes.simulator.simulator_commands import INTERFACES, PlantCommands
from multibody_dynamics.nodes.simulator.simulator_pace import ClockPace
from multibody_dynamics.nodes.simulator.simulator_parameters import SimulatorParameters
from multibody_dynamics.nodes.simulator.simulator_plant import _end_stops, make_robot
from multibody_dynamics.simulation.mujoco_robot import MujocoRobot
from ros_harness import RosHarness, ros

__all__ = ["ros"]  # the fixture

NODE = "elastic_robot_simulator_node"
NAMES = ("turret", "shoulder", "rail")
link = partial(urdf_parts.link, inertia="0.04 0.06 0.05 0.002 0 0.001")
joint = partial(urdf_parts.joint, rpy="0.1 0.2 -0.1", limit="0.1 2.5 6 400")
ROBOT = urdf_parts.robot(
    "arm",
    link("stand"),
    joint("turret", "revolute", "stand", "column", "0 0 0.3", "0 0 1"),
    link("column", 4.0, "0.01 0.02 0.1"),
    joint("shoulder", "revolute", "column", "upper_arm", "0.05 0 0.2", "0 1 0"),
    link("upper_arm", 3.0, "0.2 0.01 0.02"),
    joint("rail", "prismatic", "upper_arm", "slide", "0.4 0.03 0", "1 0 0"),
    link("slide", 2.0, "0.15 0 0.01"),
)


def amount(value: float, unit: str) -> dict[str, Any]:
    return {"value": value, "unit": unit, "side": "link"}


def elastic(stiffness: float) -> dict[str, Any]:
    return {
        "spring": {"law": "linear", "stiffness": amount(stiffness, "N m/rad")},
        "motor": {
            "gear_ratio": 100.0,
            "inertia": amount(0.3, "kg m^2"),
            "viscous_friction": amount(0.5, "N m s/rad"),
            "coulomb_friction": amount(0.3, "N m"),
            "coulomb_velocity": amount(0.1, "rad/s"),
            "torque_limit": amount(60.0, "N m"),
        },
    }


RAIL = {
    "motion": "prismatic",
    "spring": "rigid",
    "motor": {"gear_ratio": 1.0, "inertia": amount(1.5, "kg")},
}
SPRINGS = {"joints": {"turret": elastic(900.0), "shoulder": elastic(600.0), "rail": RAIL}}
MODEL = parse_urdf(ROBOT)
ACTUATORS = load_actuators(SPRINGS, NAMES, MODEL.joint_types)
COMMAND_JOINTS = ("rail", "turret", "shoulder")
HOME = np.array([0.2, 0.6, 0.3])
HOLD = gravity_forces(MODEL, HOME)
BENT = HOME + HOLD * [1.0 / 900.0, 1.0 / 600.0, 0.0]
BANDWIDTH = 10.0


def settings(folder: Path, interface: str, **changes: Any) -> dict[str, Any]:
    springs = folder / "springs.yaml"
    springs.write_text(json.dumps(SPRINGS))
    return {
        "robot_description": ROBOT,
        "elastic_joints_file": str(springs),
        "command_interface": interface,
        "command_joints": list(COMMAND_JOINTS),
        "initial_positions": [float(HOME[NAMES.index(name)]) for name in COMMAND_JOINTS],
        "drive_bandwidth": BANDWIDTH,
        "link_viscous_friction": [0.3],
        "autostart": True,
        **changes,
    }


def plant() -> ElasticRobot:
    drive = MotorDrive.from_bandwidth(MODEL, ACTUATORS, HOME, bandwidth=BANDWIDTH)
    robot = ElasticRobot(MODEL, ACTUATORS, drive=drive, link_viscous=0.3)
    robot.reset(HOME)
    return robot


@pytest.fixture(scope="module", autouse=True)
def compiled_plant() -> None:
    """Compile once in advance, which may exceed a test's timeout; the cache is shared."""
    plant()


def torque_message(torque: Any) -> Float64MultiArray:
    """In the order of COMMAND_JOINTS."""
    return Float64MultiArray(data=[float(torque[NAMES.index(name)]) for name in COMMAND_JOINTS])


def motor_message(stamp: int, names: Any = NAMES, **fields: Any) -> JointTrajectory:
    rows = {key: [float(x) for x in row] for key, row in fields.items()}
    message = JointTrajectory(joint_names=list(names), points=[JointTrajectoryPoint(**rows)])
    set_stamp(message.header.stamp, stamp)
    return message


def stamp_of(message: Any) -> int:
    return nanoseconds(message.header.stamp)


class Simulation:
    """The node's outputs by stamp, and its command topic."""

    def __init__(self, ros: RosHarness, interface: str) -> None:
        self.links = ros.record(JointState, "joint_states")
        self.motors = ros.record(JointState, "motor_states")
        topic, kind = INTERFACES[interface]
        self.command = ros.publisher(kind, topic)
        ros.until(lambda: self.links and self.motors, "states")

    def states(self) -> dict[int, np.ndarray]:
        """stamp: rows q, q', Q, theta, theta', tau_m, for stamps with both messages."""
        motors = {stamp_of(message): message for message in self.motors}
        found = {}
        for a in self.links:
            b = motors.get(stamp_of(a))
            if b is not None:
                assert tuple(a.name) == NAMES
                rows = (a.position, a.velocity, a.effort, b.position, b.velocity, b.effort)
                found[stamp_of(a)] = np.array(rows)
                assert np.isfinite(found[stamp_of(a)]).all()
        return found


def torque_state(stamp: int, names: Any, torque: Any) -> JointState:
    message = JointState(name=list(names), effort=[float(x) for x in torque])
    set_stamp(message.header.stamp, stamp)
    return message


def rows_of(robot: Plant) -> np.ndarray:
    return np.array(
        [robot.q, robot.qd, robot.joint_torque, robot.theta, robot.thetad, robot.motor_torque]
    )


def rows_after(
    robot: ElasticRobot, position: Any, velocity: Any, feedforward: Any, dt: float
) -> np.ndarray:
    """The rows after a cycle under a reference of the drives, with the mean torque of the cycle, as
    far as sensors show it: a command that arrives late is far from where the robot is."""
    before = np.stack([robot.theta, robot.thetad])
    robot.follow(position, velocity, feedforward, dt)
    rows = rows_of(robot)
    assert robot.drive is not None
    reference = np.stack([position, velocity])
    mean = robot.drive.mean_torque(reference, feedforward, before, rows[3:5], dt)
    limit = ACTUATORS.torque_limit
    rows[5] = np.clip(mean, -limit, limit)
    return rows


def moving_from(states: dict[int, np.ndarray]) -> int:
    """The stamp of the last state before the robot moved."""
    standing = [stamp for stamp, rows in states.items() if not rows[1].any()]
    return max(standing)


def test_equilibrium_holds_through_brakes_and_command_and_every_activation(ros, tmp_path):
    """Also tests that it publishes only while active."""
    node = ros.start(NODE, settings(tmp_path, "motor_command", autostart=False, update_rate=100.0))
    assert ros.transition(node, "configure")
    assert ros.transition(node, "activate")
    simulation = Simulation(ros, "motor_command")
    wanted = rows_of(plant())
    for rows in simulation.states().values():
        np.testing.assert_allclose(rows, wanted, rtol=0, atol=1e-12)
    assert "brakes engaged" in ros.until(lambda: ros.diagnosis(": commands")[1], "diagnostics")

    theta = BENT

    def hold() -> None:
        simulation.command.publish(motor_message(0, positions=theta, effort=HOLD))

    ros.until(lambda: ros.diagnosis(": commands")[0] == 0, "acceptance", each=hold)
    count = len(simulation.links)
    ros.until(lambda: len(simulation.links) > count + 50, "states", each=hold)
    for rows in simulation.states().values():
        np.testing.assert_allclose(rows[0], HOME, rtol=0, atol=1e-9)

    assert ros.transition(node, "deactivate")
    ros.spin(0.1)  # receive messages still in transit
    count = len(simulation.links)
    ros.spin(0.1)
    assert len(simulation.links) == count
    assert not ros.transition(node, "deactivate")
    assert ros.transition(node, "activate")
    count = len(simulation.links)
    ros.until(lambda: len(simulation.links) > count + 10, "states again")
    np.testing.assert_allclose(simulation.links[-1].position, HOME, rtol=0, atol=1e-12)
    assert ros.transition(node, "deactivate")
    assert ros.transition(node, "cleanup")
    assert ros.state(node) == "unconfigured"
    assert ros.leave(node) == 0


def test_a_torque_step_moves_the_arm_as_in_the_library_and_silence_means_zero_torque(ros, tmp_path):
    """The command lists the joints in an order of its own; the simulator is the time source."""
    ros.start(NODE, settings(tmp_path, "motor_torque", publish_clock=True, command_timeout=1.0))
    simulation = Simulation(ros, "motor_torque")
    clock = ros.record(Clock, "/clock")
    torque = HOLD + np.array([8.0, -12.0, 5.0])
    simulation.command.publish(torque_message(torque))
    ros.until(lambda: ros.diagnosis(": commands")[0] == 2, "the report of silence")
    assert "zero torque" in ros.diagnosis(": commands")[1]

    states = simulation.states()
    begin = moving_from(states)
    robot = plant()
    period = SECOND // 1000
    compared = 0
    for k in range(1, 250):  # well before command_timeout
        robot.step(torque, 1e-3)
        if begin + k * period in states:
            compared += 1
            np.testing.assert_allclose(
                states[begin + k * period], rows_of(robot), rtol=1e-9, atol=1e-9
            )
    assert compared > 100
    last = states[max(states)]
    np.testing.assert_array_equal(last[5], 0.0)
    assert np.abs(last[1]).max() > 0.1  # it falls
    ticks = {nanoseconds(message.clock) for message in clock}
    assert ticks
    assert all(tick % period == 0 for tick in ticks | states.keys())
    assert ticks & states.keys()

    simulation.command.publish(torque_message([100.0, 0.0, 0.0]))
    ros.until(lambda: simulation.motors[-1].effort[0] > 0.0, "the new torque")
    assert simulation.motors[-1].effort[0] == 60.0  # the limit
    ros.until(lambda: ros.diagnosis(": motors")[0] == 1, "the report of saturation")


def test_drives_extrapolate_a_reference_at_its_velocity(ros, tmp_path):
    """One command with a stamp of the simulation, then silence: the reference is extrapolated,
    stops, and is held with its torque."""
    reach = 0.15
    ros.start(
        NODE,
        settings(
            tmp_path,
            "motor_command",
            publish_clock=True,
            drive_interpolation=reach,
            command_timeout=1.0,
        ),
    )
    simulation = Simulation(ros, "motor_command")
    theta = BENT
    velocity = np.array([0.8, -0.6, 0.4])
    sent = stamp_of(simulation.links[-1])
    message = motor_message(
        sent, names=NAMES[::-1], positions=theta[::-1], velocities=velocity[::-1],
        effort=HOLD[::-1],
    )  # fmt: skip
    message.points[0].time_from_start.nanosec = later = 5_000_000
    simulation.command.publish(message)
    ros.until(lambda: ros.diagnosis(": commands")[0] == 2, "the report of silence")
    assert "hold the last reference" in ros.diagnosis(": commands")[1]

    states = simulation.states()
    begin = moving_from(states)
    robot = plant()
    compared, wanted = 0, rows_of(robot)
    for k in range(400):
        stamp = begin + k * SECOND // 1000
        if stamp in states:
            compared += 1
            np.testing.assert_allclose(states[stamp], wanted, rtol=1e-8, atol=1e-8)
        elapsed = 1e-9 * (stamp - sent - later)
        moves = elapsed <= reach
        reference = theta + min(elapsed, reach) * velocity, moves * velocity
        wanted = rows_after(robot, *reference, HOLD, 1e-3)
    assert compared > 100
    np.testing.assert_allclose(simulation.motors[-1].position, theta + reach * velocity, atol=0.1)


@pytest.mark.parametrize("interface", list(INTERFACES))
def test_bad_commands_are_rejected_with_the_reason_and_have_no_effect(ros, tmp_path, interface):
    ros.start(NODE, settings(tmp_path, interface, update_rate=100.0, command_timeout=2.0))
    simulation = Simulation(ros, interface)
    good = [0.0, 0.0, 0.0]
    labels = Float64MultiArray(data=good)
    labels.layout.dim = [MultiArrayDimension(label=name, size=1, stride=1) for name in NAMES]
    two = motor_message(0, positions=good)
    two.points = two.points * 2
    bad = {
        "motor_torque": {
            "not finite": torque_message([0.0, math.nan, 0.0]),
            "wrong length": Float64MultiArray(data=[0.0, 0.0]),
            "unknown joint": labels,  # in the robot's order, not that of command_joints
        },
        "motor_command": {
            "not finite": motor_message(0, positions=[0.0, math.inf, 0.0]),
            "unknown joint": motor_message(0, names=("turret", "shoulder", "knee"), positions=good),
            "missing joint": motor_message(0, names=NAMES[:2], positions=good[:2]),
            "repeated joint": motor_message(0, names=("rail",) * 3, positions=good),
            "unnamed": motor_message(0, names=(), positions=good),
            "wrong length": two,
        },
        "stamped_motor_torque": {
            "no stamp": torque_state(0, NAMES, good),
            "stale": torque_state(1, NAMES, good),
            "from the future": torque_state(time.time_ns() + 5 * SECOND, NAMES, good),
            "not finite": torque_state(time.time_ns(), NAMES, [0.0, 0.0, math.nan]),
            "missing joint": torque_state(time.time_ns(), NAMES[:2], good[:2]),
            "unknown joint": torque_state(time.time_ns(), ("a", "b", "c"), good),
            "wrong length": torque_state(time.time_ns(), NAMES, good[:2]),
        },
    }[interface]
    topic, _ = INTERFACES[interface]
    for message in bad.values():
        simulation.command.publish(message)
    keys = {f"{topic}: {reason}" for reason in bad}
    ros.until(lambda: ros.diagnosis(": commands")[2].keys() >= keys, f"the report of {keys}")
    assert all(ros.diagnosis(": commands")[2][key] == "1" for key in keys)
    standing = rows_of(plant())
    for rows in simulation.states().values():  # the brakes are still engaged
        np.testing.assert_array_equal(rows, standing)

    if interface == "motor_command":
        theta = BENT
        stamp = time.time_ns()
        simulation.command.publish(motor_message(stamp, positions=theta, effort=HOLD))
        simulation.command.publish(motor_message(stamp - 1000, positions=theta + 1.0))
        for later in (-5, 5):
            simulation.command.publish(motor_message(stamp + later * SECOND, positions=theta + 1.0))
        keys = {f"motor_command: {key}" for key in ("out of order", "stale", "from the future")}
        ros.until(lambda: ros.diagnosis(": commands")[2].keys() >= keys, f"the report of {keys}")
        assert np.abs(np.subtract(simulation.links[-1].position, HOME)).max() < 0.01


def test_a_plant_that_diverges_stops_and_can_be_started_again(ros, tmp_path):
    node = ros.start(NODE, settings(tmp_path, "motor_torque", update_rate=200.0))
    simulation = Simulation(ros, "motor_torque")
    simulation.command.publish(torque_message([0.0, 0.0, 9e8]))
    ros.until(lambda: "diverges" in node.output, "the error")
    ros.until(lambda: ros.state(node) == "inactive", "the stop")
    assert ros.transition(node, "activate")
    count = len(simulation.links)
    ros.until(lambda: len(simulation.links) > count, "states again")
    assert simulation.states()  # all finite


def test_lost_real_time_is_reported_and_the_stamps_continue_with_the_clock(ros, tmp_path):
    node = ros.start(NODE, settings(tmp_path, "motor_command", update_rate=200.0, max_lag=0.02))
    simulation = Simulation(ros, "motor_command")
    node.send(SIGSTOP)
    ros.spin(0.3)
    node.send(SIGCONT)

    def lost() -> float:
        return float(ros.diagnosis(": real time")[2].get("real time lost [s]", 0.0))

    ros.until(lambda: lost() >= 0.2, "the report of lost time")
    stamps = [stamp_of(message) for message in simulation.links]
    steps = np.diff(stamps)
    assert steps.min() > 0
    assert steps.max() > 0.2 * SECOND
    ros.until(lambda: ros.diagnosis(": real time")[1].endswith("Hz"), "real time again")


def test_time_is_slow_in_lockstep_until_a_controller_has_answered(ros, tmp_path):
    options = {"lockstep": True, "publish_clock": True, "update_rate": 200.0}
    ros.start(NODE, settings(tmp_path, "motor_command", **options))
    simulation = Simulation(ros, "motor_command")
    begin, first = time.monotonic(), stamp_of(simulation.links[-1])
    ros.spin(2.0)
    passed = 1e-9 * (stamp_of(simulation.links[-1]) - first)
    assert 0.0 < passed < 0.5 * (time.monotonic() - begin)


def test_time_in_which_the_simulator_is_suspended_does_not_end_lockstep(ros, tmp_path):
    options = {"lockstep": True, "publish_clock": True, "lockstep_timeout": 5.0}
    node = ros.start(NODE, settings(tmp_path, "motor_command", update_rate=100.0, **options))
    simulation = Simulation(ros, "motor_command")
    theta, hold = plant().theta.copy(), plant().motor_torque.copy()

    def answer() -> None:
        stamp = stamp_of(simulation.links[-1])
        simulation.command.publish(motor_message(stamp, positions=theta, effort=hold))

    count = len(simulation.links) + 300
    ros.until(lambda: len(simulation.links) > count, "lockstep", answer)
    ros.until(lambda: "simulated time waits" in node.output, "the line that it waits")
    node.send(SIGSTOP)
    answer()
    ros.spin(6.0)
    node.send(SIGCONT)
    count = len(simulation.links) + 100
    ros.until(lambda: len(simulation.links) > count, "states again", answer)
    assert "not in lockstep" not in node.output


def test_in_lockstep_time_waits_and_every_command_acts_one_period_after_its_state(ros, tmp_path):
    rate, count = 100.0, 30
    step = round(SECOND / rate)
    options = {"lockstep": True, "publish_clock": True, "command_timeout": 20.0}
    ros.start(NODE, settings(tmp_path, "motor_command", update_rate=rate, **options))
    simulation = Simulation(ros, "motor_command")
    robot = plant()
    theta, hold = robot.theta.copy(), robot.motor_torque.copy()
    commands: dict[int, dict[str, Any]] = {}

    def answer() -> None:
        stamp = stamp_of(simulation.links[-1])
        if stamp not in commands:
            wave = np.sin(len(commands) + np.arange(3.0))
            commands[stamp] = {
                "positions": theta + 0.002 * wave, "velocities": 0.1 * wave, "effort": hold + wave
            }  # fmt: skip
            simulation.command.publish(motor_message(stamp, **commands[stamp]))

    # Until the simulator has found the publisher, it runs on, and commands are lost.
    ros.until(lambda: sum(any(x.velocity) for x in simulation.links) > count, "motion", answer)
    last = max(commands)
    ros.until(lambda: last + step in simulation.states(), "the state after the last command")
    ros.spin(5 / rate)
    states = simulation.states()
    assert max(states) == last + step  # it waits for the answer

    moving = [t for t in commands if t > moving_from(states) + 3 * step and t - step in commands]
    assert len(moving) > count // 2
    for t in moving:
        q, qd, _, motor, motor_rate, _ = states[t]
        robot.reset(q, qd, theta=motor, thetad=motor_rate)
        command = commands[t - step]
        reference = command["positions"] + command["velocities"] / rate
        wanted = rows_after(robot, reference, command["velocities"], command["effort"], 1.0 / rate)
        np.testing.assert_allclose(wanted, states[t + step], rtol=1e-12, atol=1e-12)


def test_simulated_time_waits_for_late_commands_in_lockstep_and_a_line_says_so(ros, tmp_path):
    """For much longer than command_timeout; then it continues as if nothing had happened."""
    options = {"lockstep": True, "publish_clock": True, "update_rate": 100.0}
    node = ros.start(NODE, settings(tmp_path, "stamped_motor_torque", **options))
    simulation = Simulation(ros, "stamped_motor_torque")
    answer_states(ros, simulation, 20)
    newest = stamp_of(simulation.links[-1])
    assert "in lockstep" not in node.output
    ros.until(lambda: "simulated time waits for it, 10 s at most" in node.output, "the line")
    ros.spin(0.5)
    assert stamp_of(simulation.links[-1]) == newest
    answer_states(ros, simulation, 20)
    states = simulation.states()
    stamps = sorted(states)
    assert set(np.diff(stamps)) == {SECOND // 100}
    moving = [stamp for stamp in stamps if stamp > moving_from(states)]
    for stamp in moving[1:]:
        np.testing.assert_array_equal(states[stamp][5], HOLD)  # without zero torque in between
    assert node.output.count("simulated time waits") == 1


def test_a_simulator_that_leaves_lockstep_says_so_and_when_it_is_back(ros, tmp_path):
    """Without commands the arm falls, as far as its end stops."""
    options = {"lockstep": True, "publish_clock": True, "lockstep_timeout": 0.2}
    node = ros.start(NODE, settings(tmp_path, "stamped_motor_torque", **options))
    simulation = Simulation(ros, "stamped_motor_torque")
    answer_states(ros, simulation, 20)
    ros.until(
        lambda: "for 0.2 s: not in lockstep until the next one arrives" in node.output, "the line"
    )
    assert "at 0.25 of real time with zero torque, under which the arm falls" in node.output
    newest = stamp_of(simulation.links[-1])
    begin = time.monotonic()
    ros.until(lambda: stamp_of(simulation.links[-1]) > newest + 2 * SECOND, "two seconds")
    assert time.monotonic() - begin > 6.0  # slowly: a controller that returns keeps up
    positions = np.array([list(message.position) for message in simulation.links])
    limits = MODEL.limits
    assert np.abs(np.diff(positions[-1000:], axis=0)).max() < 0.01
    assert np.maximum(positions - limits.upper, limits.lower - positions).max() < 0.05
    assert np.abs(positions[-1] - HOME).max() > 0.1
    answer_states(ros, simulation, 20)
    ros.until(lambda: "in lockstep again" in node.output, "the line")


def answer_states(ros, simulation: Simulation, count: int) -> None:
    """Answer the newest state with the torque that holds the arm, `count` times."""
    answered: set[int] = set()
    while len(answered) < count:
        newest = stamp_of(simulation.links[-1])
        if newest not in answered:
            answered.add(newest)
            simulation.command.publish(torque_state(newest, NAMES, HOLD))
        ros.spin()
    ros.until(lambda: stamp_of(simulation.links[-1]) > newest, "the next state")
    ros.spin(0.05)


@pytest.mark.parametrize(("plant", "stiffness"), [("internal", 3000.0), ("mujoco", 0.0)])
def test_links_stop_at_their_limits_unless_end_stops_are_off(tmp_path, plant, stiffness):
    """An arm without torque falls; a rail without end stops slides on forever."""
    given = settings(tmp_path, "motor_torque", plant=plant, end_stop_stiffness=stiffness)
    beyond = {}
    for end_stops in (True, False):
        p = SimulatorParameters(
            **{key: tuple(v) if isinstance(v, list) else v for key, v in given.items()},
            end_stops=end_stops,
        )
        robot = make_robot(p).plant
        limits, depth = robot.model.limits, []
        for _ in range(3000):
            robot.step(np.zeros(3), 1e-3)
            depth.append(np.maximum(robot.q - limits.upper, limits.lower - robot.q).max())
        beyond[end_stops] = max(depth)
    assert beyond[True] < 0.1
    assert beyond[False] > 1.0


@pytest.mark.parametrize("name", ["panda", "six_joint_arm", "planar_two_link"])
def test_chosen_end_stops_do_not_slow_the_simulation_down(name):
    arm = shipped(name)
    stops = _end_stops(SimulatorParameters(), arm.model, arm.actuators, np.zeros(arm.model.n))
    free = ElasticRobot(arm.model, arm.actuators)
    stopped = ElasticRobot(arm.model, arm.actuators, end_stops=stops)
    assert stopped.step_size == free.step_size


def test_a_signal_shuts_it_down_cleanly_while_active(ros, tmp_path):
    node = ros.start(NODE, settings(tmp_path, "motor_command", update_rate=200.0))
    Simulation(ros, "motor_command")
    node.send(SIGINT)  # twice, as from the launcher and the terminal
    assert ros.leave(node, SIGINT) == 0
    assert "Traceback" not in node.output


def test_invalid_configurations_are_rejected_and_can_be_corrected(ros, tmp_path):
    good = settings(tmp_path, "motor_torque", autostart=False)
    stiff = tmp_path / "stiff.yaml"
    stiff.write_text(json.dumps(SPRINGS).replace("900.0", "900e3"))
    bare = {k: good[k] for k in good if k not in ("command_joints", "initial_positions")}
    node = ros.start(NODE, bare | {"elastic_joints_file": str(stiff)})
    for changes, message in (
        ({"use_sim_time": True}, "publish_clock"),
        ({"use_sim_time": False}, "command_joints is empty"),
        ({"command_joints": ["rail", "turret", "knee"]}, "must be the robot's motors"),
        ({"command_joints": good["command_joints"], "initial_positions": [1.0]}, "has 1 values"),
        ({"initial_positions": [0.3] * 3, "link_viscous_friction": [1.0] * 2}, "has 2 values"),
        ({"link_viscous_friction": [0.3], "hit_link": "stand"}, "'stand' is not a moving link"),
        ({"hit_link": "", "step": 0.01}, "is unstable"),
        ({"elastic_joints_file": "nowhere.yaml"}, "nowhere.yaml"),
        ({"robot_description": ""}, "no robot"),
        ({"robot_file": "nowhere.urdf"}, "nowhere.urdf"),
    ):
        results = ros.set_parameters(node, **changes)
        assert all(result.successful for result in results), results
        assert not ros.transition(node, "configure")
        ros.until(lambda message=message: message in node.output, message)
        assert ros.state(node) == "unconfigured"
    assert "Traceback" not in node.output
    names = ("robot_file", "robot_description", "elastic_joints_file", "step")
    good |= {"robot_file": "", "step": 0.0}
    ros.set_parameters(node, **{name: good[name] for name in names})
    assert ros.transition(node, "configure")
    (result,) = ros.set_parameters(node, update_rate=500.0)
    assert not result.successful
    (result,) = ros.set_parameters(node, hit_link="stand")
    assert not result.successful
    assert "'stand' is not a moving link of the robot" in result.reason


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"robot_file": "a", "robot_description": "b"}, "both"),
        ({"gravity": (0.0, 9.81)}, "gravity has 2 values"),
        ({"command_joints": ("a", "a")}, "duplicate names: a, a"),
        ({"command_timeout": 0.001, "update_rate": 500.0}, "command_timeout.*one cycle"),
        ({"lockstep": True}, "lockstep requires publish_clock"),
        (
            {"lockstep": True, "publish_clock": True, "command_interface": "motor_torque"},
            "stamped_motor_torque",
        ),
        ({"max_speed": 0.0}, "max_speed requires lockstep"),
        ({"publish_clock": True, "time_source": "clock"}, "publish_clock cannot be combined with"),
        ({"payload_mass": 1.0}, "payload_link"),
        ({"contact_frames": ("foot",)}, "contact_frames require plant 'mujoco'"),
        ({"base_motion": "floating", "plant": "mujoco"}, "'floating' requires contact_frames"),
        ({"hit_force": (1.0,)}, "hit_force has 1"),
    ],
)
def test_inconsistent_parameters_are_rejected(changes, message):
    with pytest.raises(ParameterError, match=message):
        SimulatorParameters(**changes).check()


def test_a_clock_that_advances_gives_cycles_and_one_that_jumps_none():
    pace = ClockPace(10)
    pace.advance_to(1000)
    pace.advance_to(1035)
    assert [pace.next(1.0).stamp for _ in range(3)] == [1010, 1020, 1030]
    assert not pace.advance_to(1040)
    assert pace.next(1.0).stamp == 1040
    pace.advance_to(1040 + SECOND)  # more than the greatest lag
    assert pace.next(1e-6).stamp == 1040 + SECOND
    assert pace.lost == SECOND - 10
    assert pace.advance_to(500)
    pace.advance_to(510)
    assert pace.next(1.0).stamp == 510
    assert pace.restarts == 1
    pace.leave()
    assert pace.next(1.0) is None


def test_leaving_before_a_wait_also_ends_the_wait():
    commands = PlantCommands("stamped_motor_torque", NAMES, NAMES)
    commands.leave()
    waiting = threading.Thread(target=commands.wait, args=(1, 1e6), daemon=True)
    waiting.start()
    waiting.join(20.0)
    assert not waiting.is_alive()
    commands.restart(None)
    assert not commands.wait(1, 0.01)


def test_equal_seeds_in_lockstep_give_equal_bits_on_mujoco_with_all_features(ros, tmp_path):
    """Encoders, noise, a delay shorter than a cycle, a payload, a hit, and feedback of the measured
    state, compared with the plant stepped in process."""
    resolution, delay, count = 1e-4, 1.3e-3, 120
    given = settings(
        tmp_path,
        "stamped_motor_torque",
        plant="mujoco",
        publish_clock=True,
        lockstep=True,
        max_speed=0.0,
        command_timeout=20.0,
        actuation_delay=delay,
        link_encoder_resolution=resolution,
        motor_encoder_resolution=resolution,
        motor_position_noise=1e-5,
        velocity_bandwidth=100.0,
        torque_noise=0.05,
        torque_sensor_bandwidth=300.0,
        payload_link="slide",
        payload_mass=0.8,
        payload_com=[0.1, 0.0, 0.0],
        payload_time=0.03,
        hit_link="upper_arm",
        hit_force=[0.0, 30.0, 40.0],
        hit_time=0.05,
        hit_duration=0.01,
    )
    runs = []
    for _ in range(2):
        node = ros.start(NODE, given)
        simulation = Simulation(ros, "stamped_motor_torque")
        torques: dict[int, np.ndarray] = {}

        def answer(simulation=simulation, torques=torques) -> None:
            states = simulation.states()
            stamp = max(states, default=0)
            if stamp and stamp not in torques:
                rows = states[stamp]
                torques[stamp] = HOLD - 20.0 * rows[4] - 0.1 * (rows[2] - HOLD)
                simulation.command.publish(torque_state(stamp, NAMES, torques[stamp]))

        ros.until(lambda t=torques: len(t) > count, "answers", each=answer)
        if not runs:
            ros.until(lambda: ros.diagnosis(": motors")[2].get("payload [kg]") == "0.8", "payload",
                      each=answer)  # fmt: skip
        states = simulation.states()
        standing = states[min(states)]
        moved = [t for t in sorted(states) if (states[t] != standing).any()][: count - 10]
        runs.append((np.array([states[t] for t in moved]), torques, moved))
        assert ros.leave(node) == 0
    (one, torques, stamps), (same, _, _) = runs
    np.testing.assert_array_equal(one, same)
    period = SECOND // 1000
    assert (np.diff(stamps) == period).all()
    steps = one[:, (0, 3)] / resolution
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)

    robot = MujocoRobot(MODEL, ACTUATORS, ROBOT, link_viscous=0.3)
    robot.reset(HOME)
    line: DelayLine[Any] = DelayLine(delay, 1e-3, None)
    for k, stamp in enumerate(stamps):
        if k == 30:
            robot.set_model(MODEL.with_payload("slide", 0.8, (0.1, 0.0, 0.0)))
        robot.applied_wrenches[:] = 0.0
        if 50 <= k < 60:
            place, force = frame_pose(MODEL, robot.q, "upper_arm")[:3, 3], [0.0, 30.0, 40.0]
            robot.applied_wrenches[1] = np.r_[np.cross(place, force), force]
        answered = max(t for t in torques if t <= stamp - 2 * period) if k else min(torques)
        mean = np.zeros(3)
        for duration, torque in line.push(torques[answered]):
            if torque is not None:
                robot.step(torque, duration)
            mean += duration / 1e-3 * robot.motor_torque
        np.testing.assert_allclose(one[k, 5], mean, rtol=0, atol=1e-9)
        assert np.abs(one[k, 0] - robot.q).max() < 0.51 * resolution
        assert np.abs(one[k, 3] - robot.theta).max() < 1.2 * resolution


VARIABLE = {
    "joints": {
        "turret": {
            "motor": elastic(1.0)["motor"],
            "variable_stiffness": {
                "range": {"values": [300.0, 900.0], "unit": "N m/rad", "side": "link"}
            },
        },
        "shoulder": {
            "regulates": "pretension",
            **{
                side: {
                    "motor": elastic(1.0)["motor"],
                    "spring": {
                        "law": "polynomial",
                        "coefficients": {
                            "values": [300.0, 900.0],
                            "torque": "N m",
                            "deflection": "rad",
                            "side": "link",
                        },
                        "travel": {"values": [0.0, 0.5], "unit": "rad", "side": "link"},
                    },
                }
                for side in ("agonist", "antagonist")
            },
        },
        "rail": RAIL,
    }
}


def test_variable_stiffness_and_a_wrench_step_by_step_with_an_external_clock(ros, tmp_path):
    file = tmp_path / "variable.yaml"
    given = settings(tmp_path, "motor_torque", time_source="clock", command_timeout=1.0)
    file.write_text(json.dumps(VARIABLE))
    order = ("rail", "turret", "shoulder_antagonist", "shoulder_agonist")
    given |= {
        "elastic_joints_file": str(file),
        "command_joints": order,
        "initial_positions": [float(HOME[NAMES.index(n)]) for n in ("rail", "turret", "shoulder")],
    }
    node = ros.start(NODE, given)
    clock = ros.publisher(Clock, "/clock")
    wrench = ros.publisher(WrenchStamped, "external_wrench")
    stiffness = ros.publisher(JointState, "stiffness_command")
    command = ros.publisher(Float64MultiArray, "motor_torque")
    links = ros.record(JointState, "joint_states")
    motors = ros.record(JointState, "motor_states")

    actuators = load_actuators(VARIABLE, NAMES, MODEL.joint_types)
    robot = ElasticRobot(MODEL, actuators, link_viscous=0.3)
    robot.reset(HOME)
    torque = robot.motor_torque + np.array([1.0, 3.0, -2.0, 0.5])
    now, period = 7 * SECOND, SECOND // 1000

    def tick(stamp: int) -> np.ndarray:
        message = Clock()
        set_stamp(message.clock, stamp)
        clock.publish(message)
        ros.until(
            lambda: motors and stamp_of(motors[-1]) == stamp == stamp_of(links[-1]), "a state"
        )
        a, b = links[-1], motors[-1]
        assert tuple(b.name) == actuators.motor_names
        rows = (a.position, a.velocity, a.effort, b.position, b.velocity, b.effort)
        return np.concatenate(rows)

    def begin() -> None:  # the node may miss what is published just after it was discovered
        nonlocal now
        now += period
        message = Clock()
        set_stamp(message.clock, now)
        clock.publish(message)

    ros.until(lambda: links and motors, "the first state", each=begin)
    tick(now + period)
    assert "brakes engaged" in ros.until(lambda: ros.diagnosis(": commands")[1], "diagnostics")

    for message in (
        JointState(name=["turret"], position=[math.nan]),
        JointState(name=["shoulder"], position=[500.0]),
        JointState(name=["turret"], position=[5000.0]),
    ):
        stiffness.publish(message)
    stiffness.publish(JointState(name=["turret"], position=[500.0], velocity=[20.0]))
    push = WrenchStamped()
    push.header.frame_id = "slide"
    push.wrench.force.z = push.wrench.torque.x = 5.0
    wrench.publish(push)
    lost = WrenchStamped()
    lost.header.frame_id = "stand"
    wrench.publish(lost)
    by_name = dict(zip(actuators.motor_names, torque, strict=True))
    command.publish(Float64MultiArray(data=[float(by_name[name]) for name in order]))
    keys = {
        "stiffness_command: not finite",
        "stiffness_command: unknown joint",
        "stiffness_command: at its bound",
        "external_wrench: unknown frame",
    }
    ros.until(lambda: ros.diagnosis(": commands")[2].keys() >= keys, f"the report of {keys}")
    ros.until(lambda: "position of 'turret' is nan" in node.output, "the joint in the log")
    ros.until(lambda: ros.diagnosis(": commands")[0] != 3, "the command")

    robot.stiffness[:, 0] = 500.0, 20.0
    applied = np.array([5.0, 0.0, 0.0, 0.0, 0.0, 5.0])
    for k in range(20):
        found = tick(now + (k + 2) * period)
        wanted = (
            robot.q, robot.qd, robot.joint_torque, robot.theta, robot.thetad, robot.motor_torque
        )  # fmt: skip
        np.testing.assert_allclose(found, np.concatenate(wanted), rtol=1e-9, atol=1e-9)
        rows = wrench_to_world(MODEL, robot.q, robot.qd, robot.qdd, "slide", applied)
        robot.applied_wrenches[2] = rows[0]
        robot.step(torque, 1e-3)
        robot.stiffness[1] = 0.0
    assert np.abs(robot.q - HOME).max() > 1e-4

    back = Clock()
    set_stamp(back.clock, SECOND)
    clock.publish(back)
    tick(SECOND + period)
