"""The simulator node over the real middleware, in a process of its own."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGSTOP, SIGTERM
from typing import Any

import numpy as np
import pytest
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from multibody_dynamics.dynamics.elastic_joints import load_elastic_joints
from multibody_dynamics.dynamics.elastic_robot import ElasticRobot, MotorDrive
from multibody_dynamics.dynamics.mass_matrix import gravity_forces
from multibody_dynamics.dynamics.urdf import parse_urdf
from multibody_dynamics.nodes.elastic_robot_simulator_node import SimulatorParameters
from multibody_dynamics.nodes.messages import SECOND, nanoseconds, set_stamp
from multibody_dynamics.nodes.parameters import ParameterError
from ros_harness import RosHarness, ros

__all__ = ["ros"]  # the fixture

NODE = "elastic_robot_simulator_node"
NAMES = ("turret", "shoulder", "rail")


def link(name: str, mass: float, com: str) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>'
        '<inertia ixx="0.04" iyy="0.06" izz="0.05" ixy="0.002" ixz="0" iyz="0.001"/>'
        "</inertial></link>"
    )


def joint(name: str, kind: str, parent: str, child: str, xyz: str, axis: str) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="0.1 0.2 -0.1"/><axis xyz="{axis}"/>'
        '<limit lower="0.1" upper="2.5" velocity="6" effort="400"/></joint>'
    )


ROBOT = "".join(
    [
        '<robot name="arm"><link name="stand"/>',
        joint("turret", "revolute", "stand", "column", "0 0 0.3", "0 0 1"),
        link("column", 4.0, "0.01 0.02 0.1"),
        joint("shoulder", "revolute", "column", "upper_arm", "0.05 0 0.2", "0 1 0"),
        link("upper_arm", 3.0, "0.2 0.01 0.02"),
        joint("rail", "prismatic", "upper_arm", "slide", "0.4 0.03 0", "1 0 0"),
        link("slide", 2.0, "0.15 0 0.01"),
        "</robot>",
    ]
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
JOINTS = load_elastic_joints(SPRINGS, NAMES, MODEL.joint_types)
COMMAND_JOINTS = ("rail", "turret", "shoulder")
HOME = np.array([0.2, 0.6, 0.3])
HOLD = gravity_forces(MODEL, HOME)
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
    drive = MotorDrive.from_bandwidth(MODEL, JOINTS, HOME, bandwidth=BANDWIDTH)
    robot = ElasticRobot(MODEL, JOINTS, drive=drive, link_viscous=0.3)
    robot.reset(HOME)
    return robot


@pytest.fixture(scope="module", autouse=True)
def compiled_plant() -> None:
    """A first compilation may take longer than a test waits for a node; the cache is shared."""
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
        kind = Float64MultiArray if interface == "motor_torque" else JointTrajectory
        self.command = ros.publisher(kind, interface)
        ros.until(lambda: self.links and self.motors, "states")

    def states(self) -> dict[int, np.ndarray]:
        """stamp: rows q, q', Q, theta, theta', tau_m of the stamps of which both have come."""
        motors = {stamp_of(message): message for message in self.motors}
        found = {}
        for a in self.links:
            b = motors.get(stamp_of(a))
            if b is not None:
                assert tuple(a.name) == tuple(b.name) == NAMES
                rows = (a.position, a.velocity, a.effort, b.position, b.velocity, b.effort)
                found[stamp_of(a)] = np.array(rows)
                assert np.isfinite(found[stamp_of(a)]).all()
        return found


def rows_of(robot: ElasticRobot) -> np.ndarray:
    return np.array(
        [robot.q, robot.qd, robot.joint_torque, robot.theta, robot.thetad, robot.motor_torque]
    )


def moving_from(states: dict[int, np.ndarray]) -> int:
    """The stamp of the last state before the robot moved."""
    standing = [stamp for stamp, rows in states.items() if not rows[1].any()]
    return max(standing)


def test_equilibrium_holds_through_brakes_and_command_and_every_activation(ros, tmp_path):
    """Also: a life cycle of its own, publishing only while active."""
    node = ros.start(NODE, settings(tmp_path, "motor_command", autostart=False, update_rate=100.0))
    assert ros.transition(node, "configure")
    assert ros.transition(node, "activate")
    simulation = Simulation(ros, "motor_command")
    wanted = rows_of(plant())
    for rows in simulation.states().values():
        np.testing.assert_allclose(rows, wanted, rtol=0, atol=1e-12)
    assert "brakes closed" in ros.until(lambda: ros.diagnosis(": commands")[1], "diagnostics")

    theta = HOME + JOINTS.compliance * HOLD

    def hold() -> None:
        simulation.command.publish(motor_message(0, positions=theta, effort=HOLD))

    ros.until(lambda: ros.diagnosis(": commands")[0] == 0, "acceptance", each=hold)
    count = len(simulation.links)
    ros.until(lambda: len(simulation.links) > count + 50, "states", each=hold)
    for rows in simulation.states().values():
        np.testing.assert_allclose(rows[0], HOME, rtol=0, atol=1e-9)

    assert ros.transition(node, "deactivate")
    ros.spin(0.1)  # what was still under way
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


def test_a_torque_step_moves_it_as_the_library_says_and_silence_sets_it_free(ros, tmp_path):
    """The joints of the command in another order than the robot's; as time source."""
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


def test_drives_follow_a_reference_that_moves_on_at_its_velocity(ros, tmp_path):
    """One command with a stamp of the simulation, then silence: the reference goes on, stops, and
    is held with its torque."""
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
    theta = HOME + JOINTS.compliance * HOLD
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
    compared = 0
    for k in range(400):
        stamp = begin + k * SECOND // 1000
        if stamp in states:
            compared += 1
            np.testing.assert_allclose(states[stamp], rows_of(robot), rtol=1e-8, atol=1e-8)
        elapsed = 1e-9 * (stamp - sent - later)
        goes = elapsed <= reach
        robot.follow(theta + min(elapsed, reach) * velocity, goes * velocity, HOLD, 1e-3)
    assert compared > 100
    np.testing.assert_allclose(simulation.motors[-1].position, theta + reach * velocity, atol=0.1)


@pytest.mark.parametrize("interface", ["motor_torque", "motor_command"])
def test_bad_commands_are_refused_with_the_reason_and_do_nothing(ros, tmp_path, interface):
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
    }[interface]
    for message in bad.values():
        simulation.command.publish(message)
    keys = {f"{interface}: {reason}" for reason in bad}
    ros.until(lambda: ros.diagnosis(": commands")[2].keys() >= keys, f"the report of {keys}")
    assert all(ros.diagnosis(": commands")[2][key] == "1" for key in keys)
    standing = rows_of(plant())
    for rows in simulation.states().values():  # the brakes are still closed
        np.testing.assert_array_equal(rows, standing)

    if interface == "motor_command":
        theta = HOME + JOINTS.compliance * HOLD
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
    simulation.command.publish(torque_message([0.0, 0.0, 1e200]))
    ros.until(lambda: "diverges" in node.output, "the error")
    ros.until(lambda: ros.state(node) == "inactive", "the stop")
    assert ros.transition(node, "activate")
    count = len(simulation.links)
    ros.until(lambda: len(simulation.links) > count, "states again")
    assert simulation.states()  # all finite


def test_lost_real_time_is_reported_and_the_stamps_go_on_with_the_clock(ros, tmp_path):
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


def test_in_lockstep_time_waits_and_every_command_acts_one_period_after_its_state(ros, tmp_path):
    rate, count = 100.0, 40
    step = round(SECOND / rate)
    options = {"lockstep": True, "publish_clock": True, "command_timeout": 20.0}
    ros.start(NODE, settings(tmp_path, "motor_command", update_rate=rate, **options))
    simulation = Simulation(ros, "motor_command")
    robot = plant()
    theta, hold = robot.theta.copy(), robot.motor_torque.copy()
    commands: dict[int, dict[str, Any]] = {}

    def answer(stamp: int) -> None:
        wave = np.sin(len(commands) + np.arange(3.0))
        commands[stamp] = {
            "positions": theta + 0.002 * wave, "velocities": 0.1 * wave, "effort": hold + wave
        }  # fmt: skip
        simulation.command.publish(motor_message(stamp, **commands[stamp]))

    while len(commands) < count:
        newest = stamp_of(simulation.links[-1])
        if newest in commands:
            ros.spin()
        else:
            answer(newest)
    last = max(commands)
    ros.until(lambda: last + step in simulation.states(), "the state that answers the last one")
    ros.spin(5 / rate)
    states = simulation.states()
    assert max(states) == last + step  # it waits for its answer

    moving = [t for t in commands if t > moving_from(states) + 3 * step and t - step in commands]
    assert len(moving) > count // 2
    for t in moving:
        q, qd, _, motor, motor_rate, _ = states[t]
        robot.reset(q, qd, theta=motor, thetad=motor_rate)
        command = commands[t - step]
        reference = command["positions"] + command["velocities"] / rate
        robot.follow(reference, command["velocities"], command["effort"], 1.0 / rate)
        np.testing.assert_allclose(rows_of(robot), states[t + step], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("number", [SIGINT, SIGTERM])
def test_signals_end_it_cleanly_while_active(ros, tmp_path, number):
    node = ros.start(NODE, settings(tmp_path, "motor_command", update_rate=200.0))
    Simulation(ros, "motor_command")
    node.send(number)  # twice, as from a launcher and its terminal
    assert ros.leave(node, number) == 0
    assert "Traceback" not in node.output


def test_configurations_that_cannot_be_are_refused_and_can_be_mended(ros, tmp_path):
    good = settings(tmp_path, "motor_torque", autostart=False)
    stiff = tmp_path / "stiff.yaml"
    stiff.write_text(json.dumps(SPRINGS).replace("900.0", "900e3"))
    bare = {k: good[k] for k in good if k not in ("command_joints", "initial_positions")}
    node = ros.start(NODE, bare | {"elastic_joints_file": str(stiff)})
    for changes, message in (
        ({"use_sim_time": True}, "publish_clock"),
        ({"use_sim_time": False}, "command_joints is empty"),
        ({"command_joints": ["rail", "turret", "knee"]}, "must be the robot's joints"),
        ({"command_joints": good["command_joints"], "step": 0.01}, "is unstable"),
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"robot_file": "a", "robot_description": "b"}, "both"),
        ({"gravity": (0.0, 9.81)}, "gravity has 2 numbers"),
        ({"command_joints": ("a", "a")}, "twice"),
        ({"command_joints": ("a", "b"), "initial_positions": (1.0,)}, "initial_positions has 1"),
        ({"command_joints": ("a",), "link_viscous_friction": (1.0, 2.0)}, "friction has 2"),
        ({"command_timeout": 0.001, "update_rate": 500.0}, "command_timeout.*one cycle"),
        ({"lockstep": True}, "lockstep needs publish_clock"),
    ],
)
def test_parameters_that_do_not_go_together(changes, message):
    with pytest.raises(ParameterError, match=message):
        SimulatorParameters(**changes).check()
