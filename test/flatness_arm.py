# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A simulated arm in lockstep with the flatness controller node, in simulated time."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.elastic.actuator_description import load_actuators
from multibody_dynamics.dynamics.mechanisms import load_robot
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.nodes.base.messages import SECOND, nanoseconds, set_stamp
from multibody_dynamics.resources import share_directory
from ros_harness import PATIENCE, RosHarness

NODE = "flatness_controller_node"
STEP = 2_000_000  # ns
TOPICS = {  # recorded on request: every message costs the test more time than the node
    "commands": (Float64MultiArray, f"{NODE}/commands"),
    "errors": (JointState, f"{NODE}/tracking_error"),
    "states": (JointState, f"{NODE}/estimated_state"),
    "motion": (JointTrajectory, f"{NODE}/motor_command"),
}

TWO_LINKS = {
    "robot_file": "config/robots/planar_two_link.urdf",
    "elastic_joints_file": "config/elastic_joints/planar_two_link.yaml",
    "command_joints": ["shoulder", "elbow"],
    "autostart": True,
}


def trajectory(names: Sequence[str], points: Mapping[float, Any]) -> JointTrajectory:
    """Positions (n,) by their times in seconds from the start."""
    message = JointTrajectory(joint_names=list(names))
    for seconds, positions in points.items():
        point = JointTrajectoryPoint(positions=[float(x) for x in positions])
        set_stamp(point.time_from_start, round(SECOND * seconds))
        message.points.append(point)
    return message


class Arm:
    """A simulated robot that the node controls, and a record of what the node publishes: its
    torques in `answers`, and what `records` names of TOPICS in lists with these names."""

    commands: list[Float64MultiArray]
    errors: list[JointState]
    states: list[JointState]
    motion: list[JointTrajectory]

    def __init__(
        self,
        ros: RosHarness,
        robot: str = "planar_two_link",
        springs: str | Path = "planar_two_link",
        records: Sequence[str] = (),
        folders: tuple[str, str] = ("robots", "elastic_joints"),
        rest: Any = -0.4,
        **changes: Any,
    ) -> None:
        self.ros = ros
        robot = f"config/{folders[0]}/{robot}.urdf"
        if not isinstance(springs, Path):
            springs = f"config/{folders[1]}/{springs}.yaml"
        self.model = load_robot(share_directory() / robot, share_directory() / springs)
        names = self.model.joint_names
        self.actuators = load_actuators(share_directory() / springs, names)
        self.settings = {
            "robot_file": robot,
            "elastic_joints_file": str(springs),
            "command_joints": list(self.actuators.motor_names)[::-1],
            "autostart": True,
            "use_sim_time": True,
            "state_timeout": 0.05,
            "state_queue_depth": 50,
            "transfer_time": 0.1,
            "start_tolerance": 1.0,
            "judged_poses": 5,  # judging is not what most tests are about
            "frozen_distance": 0.0,  # an arm that is stuck repeats itself
            **changes,
        }
        self.node = ros.start(NODE, self.settings)
        self.plant = ElasticRobot(self.model, self.actuators, step=1e-3)
        self.plant.reset(np.broadcast_to(rest, self.model.n))
        self.helps = changes.get("gravity_compensated_by_robot", False)
        self.now = 100 * SECOND
        self.torque = np.zeros(len(self.actuators.motors))
        self.is_stuck = self.is_answered = False
        self.resolution = 0.0  # rad, of the motor encoders
        self.leap = 0.0  # rad, by which links seem to be elsewhere
        self.clock = ros.publisher(Clock, "/clock")
        self.links = ros.publisher(JointState, "joint_states", readers=0)
        self.motors = ros.publisher(JointState, "motor_states")
        self.trajectory = ros.publisher(JointTrajectory, "joint_trajectory")
        self.answers = ros.record(JointState, f"{NODE}/motor_torque")
        for name in records:
            setattr(self, name, ros.record(*TOPICS[name]))

    def tick(self) -> None:
        self.now += STEP
        message = Clock()
        set_stamp(message.clock, self.now)
        self.clock.publish(message)

    def send(self, publisher: Any, names: Any, rows: Any, stamp: int | None = None) -> None:
        position, velocity, effort = (np.asarray(row, dtype=float).tolist() for row in rows)
        message = JointState(name=list(names), position=position, velocity=velocity, effort=effort)
        set_stamp(message.header.stamp, self.now if stamp is None else stamp)
        publisher.publish(message)

    def send_links(self, stamp: int | None = None) -> None:
        r = self.plant
        rows = (r.q + self.leap, r.qd, r.joint_torque)
        self.send(self.links, self.model.joint_names, rows, stamp)

    def send_motors(self, stamp: int | None = None) -> None:
        r = self.plant
        own = self.resolution
        theta = np.round(r.theta / own) * own if own else r.theta
        rows = (theta, r.thetad, r.motor_torque)
        self.send(self.motors, self.actuators.motor_names, rows, stamp)

    def step(self, links: bool = True, motors: bool = True) -> bool:
        """One state and, if there was one, its answer; the arm moves under the newest torque."""
        self.measured = self.plant.q.copy()
        self.tick()
        if links:
            self.send_links()
        if motors:
            self.send_motors()
        # Without one side, only some states are answered: still, the arm must not go on under an
        # old torque because of a busy computer
        patience = 2.0 if links and motors else 0.2 if links or motors else 0.05
        answered = self.is_answered = self.wait(patience)
        if not self.is_stuck:
            own = dyn.gravity_forces(self.model, self.measured) if self.helps else 0.0
            self.plant.step(self.torque + own, 1e-9 * STEP)
        return answered

    def wait(self, patience: float, late: int = 0) -> bool:
        """Whether this state, stamped `late` ns ago, was answered; the newest torque acts,
        whichever state it answers."""
        end, told = time.monotonic() + patience, len(self.answers)
        while time.monotonic() < end:
            self.ros.executor.spin_once(timeout_sec=0.002)
            if len(self.answers) > told:
                told = len(self.answers)
                self.torque = np.array(self.answers[-1].effort)
                if nanoseconds(self.answers[-1].header.stamp) >= self.now - late:
                    return True
        return False

    def run(self, seconds: float, **what: bool) -> None:
        for _ in range(round(seconds * SECOND / STEP)):
            self.step(**what)

    def start(self) -> None:
        """Until the node answers."""
        end = time.monotonic() + PATIENCE
        self.torque = np.array(self.plant.motor_torque)
        while not self.answers:
            assert time.monotonic() < end, self.node.output
            self.tick()
            self.send_links()
            self.send_motors()
            self.wait(0.02)
        while not self.step():
            assert time.monotonic() < end, self.node.output

    def until_shown(
        self,
        condition: Callable[[], Any],
        what: str,
        each: Callable[[], object] | None = None,
        patience: float = PATIENCE,
    ) -> Any:
        """Until a condition holds that needs no simulated time, such as a text in diagnostics,
        which are published once a second; the arm steps rarely meanwhile."""
        return self.ros.until(condition, what, each or self.step, patience, every=0.02)

    def move(self, goal: Any, duration: float) -> None:
        self.trajectory.publish(trajectory(self.model.joint_names, {duration: goal}))

    def error(self, count: int) -> float:
        """Largest tracking error of the last `count` answers."""
        return float(np.abs([message.position for message in self.errors[-count:]]).max())
