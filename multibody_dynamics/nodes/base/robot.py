"""The robot of a node: links from a URDF, springs and motors from a YAML file."""

from __future__ import annotations

import filecmp
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics import load_actuators as read_actuators
from ...dynamics.elastic import Actuators, Motor, Rigid
from ...dynamics.model import STANDARD_GRAVITY, MultibodyModel, load_urdf, parse_urdf
from ...resources import share_directory
from .parameters import NodeParameters, ParameterError, parameter


@dataclass(frozen=True)
class RobotParameters(NodeParameters):
    """Where the links are described."""

    robot_file: str = parameter(
        "", "URDF file, absolute or below the package's share folder; '': see robot_description"
    )
    robot_description: str = parameter(
        "", "URDF as text; '': see robot_file, and for feedforward_node the topic of this name"
    )

    def check(self) -> None:
        super().check()
        if self.robot_file and self.robot_description:
            raise ParameterError("robot_file and robot_description are both given; choose one")


@dataclass(frozen=True)
class ElasticRobotParameters(RobotParameters):
    """And the springs and motors."""

    gravity: tuple[float, ...] = parameter(
        STANDARD_GRAVITY, "acceleration of gravity: x, y, z in the base frame", unit="m/s^2"
    )
    elastic_joints_file: str = parameter(
        "", "YAML file of springs and motors, found like robot_file; '': every joint is rigid"
    )
    command_joints: tuple[str, ...] = parameter(
        (),
        "joints, or motors where torques of motors are sent, in the order of every array that comes"
        " or goes without names; feedforward_node, task_space_node, flatness_controller_node and"
        " the command_interface motor_torque need it",
    )

    def check(self) -> None:
        super().check()
        if len(self.gravity) != 3:
            raise ParameterError(f"gravity has {len(self.gravity)} numbers; x, y, z are needed")
        if len(set(self.command_joints)) < len(self.command_joints):
            raise ParameterError(f"command_joints names a joint twice: {self.command_joints}")


def find_file(name: str) -> Path:
    """A file by its path, or by its path below the package's share folder.

    Raises ParameterError that says where it was looked for.
    """
    for path in (Path(name), share_directory() / name):
        if path.is_file():
            return path.resolve()
    raise ParameterError(f"no file {name}: neither from {Path.cwd()} nor from {share_directory()}")


def load_model(p: RobotParameters, description: str = "") -> MultibodyModel:
    """The robot that the parameters describe, or else the URDF text `description`.

    Raises ModelError, and ParameterError where no robot is given.
    """
    gravity = p.gravity if isinstance(p, ElasticRobotParameters) else STANDARD_GRAVITY
    if p.robot_file:
        return load_urdf(find_file(p.robot_file), gravity)
    if not (p.robot_description or description):
        raise ParameterError("no robot: set robot_file or robot_description")
    return parse_urdf(p.robot_description or description, gravity)


def load_actuators(p: ElasticRobotParameters, model: MultibodyModel) -> Actuators:
    """The actuators of the parameters' file; without one, rigid joints without rotors."""
    names = model.joint_names
    if not p.elastic_joints_file:
        return Actuators(names, [Rigid(Motor(0.0))] * model.n)
    file = find_file(p.elastic_joints_file)
    return read_actuators(file, names, model.joint_types)


def chosen_robot(
    parameters: str,
    robot: str = "",
    elastic_joints: str = "",
    command_joints: Sequence[str] = (),
    initial_positions: Sequence[float] = (),
    robot_description: str = "",
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What launch arguments set beside a parameters file: for every node, for those that know
    springs and motors, and for the simulator.

    The package's own files are of the Panda: for another robot the motors (in the order of the
    joints) and the joint positions (zero, or the limit next to it) are given too, since launch
    cannot set an array to none. A file of one's own is left alone but for what is given.
    robot_description: what xacro makes of `robot`, if that is for xacro.
    """
    links: dict[str, Any] = {"robot_file": robot} if robot else {}
    if robot_description:
        links = {"robot_file": "", "robot_description": robot_description}
    motors: dict[str, Any] = {"elastic_joints_file": elastic_joints} if elastic_joints else {}
    order, positions = list(command_joints), list(initial_positions)
    if (links or motors) and _is_ours(parameters):
        motors = {"elastic_joints_file": elastic_joints}
        p = ElasticRobotParameters(
            **(links or {"robot_file": "config/robots/panda.urdf"}), **motors
        )
        model = load_model(p)
        actuators = load_actuators(p, model)
        order = order or list(actuators.motor_names)
        if links and not positions:
            joint_of = dict(zip(actuators.motor_names, actuators.joint_of_motor, strict=True))
            joints = list(dict.fromkeys(joint_of[name] for name in order if name in joint_of))
            positions = np.clip(0.0, model.limits.lower, model.limits.upper)[joints].tolist()
    if order:
        motors["command_joints"] = order
    return links, motors, {"initial_positions": positions} if positions else {}


def _is_ours(parameters: str) -> bool:
    """Whether the file is one of config/, or a copy to the letter."""
    ours = (share_directory() / "config").glob("*.yaml")
    return any(filecmp.cmp(parameters, file, shallow=False) for file in ours)
