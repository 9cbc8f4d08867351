# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A robot arm for the feedforward node: its description, its settings, and its messages."""

import json
import math
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import urdf_parts
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.urdf import parse_urdf
from multibody_dynamics.nodes.base.messages import set_stamp
from ros_harness import RosHarness
from urdf_parts import link, robot

NAMES = ("turret", "shoulder", "elbow")


joint = partial(urdf_parts.joint, rpy="0.1 0.2 -0.1", limit="-2.5 2.5 6 400")
ROBOT = robot(
    "arm",
    link("floor"),
    joint("bolts", "fixed", "floor", "stand", "0.5 -0.2 0.1"),
    link("stand"),
    joint("turret", "revolute", "stand", "column", "0 0 0.3", "0 0 1"),
    link("column", 4.0, "0.01 0.02 0.1", "0.05 0.06 0.04 0.002"),
    joint("shoulder", "revolute", "column", "upper_arm", "0.05 0 0.2", "0 1 0"),
    link("upper_arm", 3.0, "0.2 0.01 0.02", "0.01 0.05 0.05 0.001"),
    joint("elbow", "revolute", "upper_arm", "forearm", "0.4 0.03 0", "0 1 0"),
    link("forearm", 2.0, "0.15 0 0.01", "0.005 0.03 0.03 0.0005"),
    joint("flange", "fixed", "forearm", "tool", "0.3 0 0"),
    link("tool"),
)


def motor(stiffness: float | None) -> dict[str, Any]:
    def amount(value: float, unit: str) -> dict[str, Any]:
        return {"value": value, "unit": unit, "side": "link"}

    spring = {"law": "linear", "stiffness": amount(stiffness, "N m/rad")} if stiffness else "rigid"
    friction = {
        "viscous_friction": amount(0.4, "N m s/rad"),
        "coulomb_friction": amount(0.3, "N m"),
        "coulomb_velocity": amount(0.1, "rad/s"),
    }
    return {
        "spring": spring,
        "motor": {"gear_ratio": 100.0, "inertia": amount(0.2, "kg m^2"), **friction},
    }


SPRINGS = {"joints": {"turret": motor(900.0), "shoulder": motor(600.0), "elbow": motor(None)}}
COMMAND_JOINTS = ("elbow", "turret", "shoulder")
MODEL = parse_urdf(ROBOT)
ACTUATORS = dyn.load_actuators(SPRINGS, NAMES)
STIFFNESS = np.array([900.0, 600.0, np.inf])
Q0 = np.array([0.2, -0.4, 0.7])
GOALS = np.array([[0.9, 0.1, -0.3], [-0.2, -0.6, 0.5]])
TIMES = np.array([0.6, 1.2])


def settings(folder: Path, **changes: Any) -> dict[str, Any]:
    springs = folder / "springs.yaml"
    springs.write_text(json.dumps(SPRINGS))
    return {
        "robot_description": ROBOT,
        "elastic_joints_file": str(springs),
        "command_joints": list(COMMAND_JOINTS),
        "autostart": True,
        "ramp_time": 0.0,
        "state_timeout": 2.0,
        "start_tolerance": 3.0,  # the joint states of most tests do not follow the motion
        **changes,
    }


class Arm:
    """Publishes joint states as a robot would, and records the outputs of the node."""

    def __init__(
        self,
        ros: RosHarness,
        names: Sequence[str] = NAMES,
        position: Any = Q0,
        node: str = "feedforward_node",
    ) -> None:
        self.ros = ros
        self.names = tuple(names)
        self.position = np.array(position)
        self.clock = time.time_ns
        self.stamps: list[int] = []
        self.torque = ros.record(JointState, f"{node}/torque")
        self.rate = ros.record(JointState, f"{node}/torque_rate")
        self.acceleration = ros.record(JointState, f"{node}/torque_acceleration")
        self.motor = ros.record(JointTrajectory, f"{node}/motor_command")
        self.commands = ros.record(Float64MultiArray, f"{node}/commands")
        self.state = ros.publisher(JointState, "joint_states")
        self.trajectory = ros.publisher(JointTrajectory, "joint_trajectory")

    def send(
        self, names: Sequence[str] | None = None, position: Any = None, stamp: int | None = None
    ) -> None:
        """Send one joint state; by default of all joints, at their positions, stamped now."""
        names = self.names if names is None else names
        by_name = dict(zip(self.names, self.position, strict=True))
        values = [by_name.get(name, 9.0) for name in names] if position is None else position
        message = JointState(name=list(names), position=[float(x) for x in values])
        stamp = self.clock() if stamp is None else stamp
        set_stamp(message.header.stamp, stamp)
        self.stamps.append(stamp)
        self.state.publish(message)

    def drive(self, condition, what: str) -> Any:
        """Send joint states until a condition holds."""
        return self.ros.until(condition, what, each=self.send)

    def drive_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.drive(lambda: time.monotonic() > end, "time to pass")

    def move(self, points=GOALS, times=TIMES, names=NAMES, stamp: int = 0) -> None:
        message = JointTrajectory(joint_names=list(names))
        set_stamp(message.header.stamp, stamp)
        for t, q in zip(times, points, strict=True):
            whole = math.floor(t)
            start = Duration(sec=whole, nanosec=round(1e9 * (t - whole)))
            point = JointTrajectoryPoint(time_from_start=start, positions=[float(x) for x in q])
            message.points.append(point)
        self.trajectory.publish(message)

    def everything(self) -> list[Any]:
        return [*self.torque, *self.rate, *self.acceleration, *self.motor]
