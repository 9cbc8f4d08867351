# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robot of a node: links from a URDF file, springs and motors from a YAML file."""

import filecmp
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics import load_actuators as read_actuators
from ...dynamics.core import Array, ModelError, ModelWarning
from ...dynamics.elastic import Actuators, Motor, Rigid
from ...dynamics.mechanisms import close_loops
from ...dynamics.model import (
    STANDARD_GRAVITY,
    MultibodyModel,
    load_couplings,
    load_urdf,
    parse_urdf,
)
from ...dynamics.rigid import gravity_forces, held_joints, held_position, holding_shares
from ...resources import share_directory
from .parameters import NodeParameters, ParameterError, parameter

SIMULATOR = ("elastic_robot_simulator_node",)
FEEDFORWARD = ("feedforward_node", "task_space_node")
CONTROLLERS = (*FEEDFORWARD, "flatness_controller_node")
PHYSICS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "contact_frames": ([], (*FEEDFORWARD, *SIMULATOR)),
    "base_motion": ("fixed", (*CONTROLLERS, *SIMULATOR)),
    "gravity_compensated_by_robot": (False, CONTROLLERS),
}
"""Parameters without which the dynamics would be those of another robot: the value without effect,
and the nodes that have them."""


@dataclass(frozen=True)
class RobotParameters(NodeParameters):
    """The parameters of nodes that load a robot."""

    # fmt: off
    robot_file: str = parameter("",
        meaning="path of a URDF file, absolute or relative to the working directory or the"
        " package's share folder; empty: use robot_description")
    robot_description: str = parameter("",
        meaning="URDF text; empty: use robot_file or, in nodes that subscribe to it, the topic"
        " robot_description")
    root_link: str = parameter("",
        meaning="link that becomes the fixed base; only joints beyond it move; empty: that of the"
        " URDF")
    tip_link: str = parameter("",
        meaning="only the joints up to this link move, others are locked; empty: all joints")
    locked_joints: tuple[str, ...] = parameter((),
        meaning="joints that are held and have no coordinates, such as those of a gripper: 'name'"
        " (at zero) or 'name=position' in rad or m")
    # fmt: on

    def check(self) -> None:
        super().check()
        locked_positions(self)
        if self.robot_file and self.robot_description:
            raise ParameterError("robot_file and robot_description are both set; choose one")


@dataclass(frozen=True)
class DynamicRobotParameters(RobotParameters):
    """The parameters of nodes that compute the robot's dynamics."""

    physics = PHYSICS

    gravity: tuple[float, ...] = parameter(
        STANDARD_GRAVITY, "gravitational acceleration: x, y, z in the base frame", unit="m/s^2"
    )

    def check(self) -> None:
        super().check()
        self._require_three("gravity")


@dataclass(frozen=True)
class ElasticRobotParameters(DynamicRobotParameters):
    """The parameters of nodes that also model springs and motors."""

    elastic_joints_file: str = parameter(
        "", "YAML file of springs and motors, found like robot_file; empty: every joint is rigid"
    )
    command_joints: tuple[str, ...] = parameter(
        (),
        "names of the motors (those of their joints, unless a joint has several) in the order of"
        " messages that carry no names; required, except by simulators with named commands",
    )

    def check(self) -> None:
        super().check()
        self._require_unique("command_joints")


def find_file(name: str) -> Path:
    """The file at a path that is absolute, or relative to the working directory or share folder.

    Raises a ParameterError that lists the folders searched.
    """
    folders = dict.fromkeys((Path.cwd(), share_directory()))
    for path in (folder / name for folder in folders):
        if path.is_file():
            return path.resolve()
    where = "" if Path(name).is_absolute() else f" in {' or '.join(map(str, folders))}"
    raise ParameterError(f"file {name} not found{where}")


def load_model(p: RobotParameters, description: str = "") -> MultibodyModel:
    """The robot that the parameters describe, or else the one in the URDF text `description`, with
    the couplings and loops in the file of its springs.

    Raises ModelError, ParameterError if no robot is given, and the errors of :func:`.close_loops`.
    """
    if not (p.robot_file or p.robot_description or description):
        raise ParameterError("no robot: set robot_file or robot_description")
    file = find_file(p.robot_file) if p.robot_file else None
    gravity = p.gravity if isinstance(p, DynamicRobotParameters) else STANDARD_GRAVITY
    name = getattr(p, "elastic_joints_file", "")
    springs = find_file(name) if name else None
    part: dict[str, Any] = {
        "lock": locked_positions(p),
        "root": p.root_link or None,
        "tip": p.tip_link or None,
        "couplings": load_couplings(springs) if springs else None,
    }
    if file is not None:
        model = load_urdf(file, gravity, **part)
    else:
        try:
            model = parse_urdf(p.robot_description or description, gravity, **part)
        except ModelError as error:
            raise ModelError(f"robot_description: {error}") from None
    return close_loops(springs, model) if springs else model


def locked_positions(p: RobotParameters) -> dict[str, float]:
    """{joint: position} of the parameter locked_joints; ParameterError for anything else."""
    held: dict[str, float] = {}
    for text in p.locked_joints:
        name, _, position = text.partition("=")
        if name in held:
            raise ParameterError(f"locked_joints: '{name}' occurs twice")
        try:
            held[name] = float(position or 0.0)
        except ValueError:
            held[name] = np.nan
        if not np.isfinite(held[name]):
            raise ParameterError(f"locked_joints: '{text}' is neither 'name' nor 'name=position'")
    return held


def load_actuators(p: ElasticRobotParameters, model: MultibodyModel) -> Actuators:
    """The actuators described by elastic_joints_file; without a file, rigid massless drives."""
    names = model.joint_names
    if not p.elastic_joints_file:
        return Actuators(names, [Rigid(Motor(0.0))] * model.n)
    file = find_file(p.elastic_joints_file)
    return read_actuators(file, names, model.joint_types, model.locked)


def start_position(model: MultibodyModel) -> Array:
    """(n,) where a simulated robot begins: at zero, or where its loops are assembled, or the
    nearest joint limit, if its effort limits hold it there, otherwise close to it, with a
    ModelWarning."""
    zero = np.clip(model.home, model.limits.lower, model.limits.upper)
    held = held_position(model, zero)
    if held is not None and np.array_equal(held, zero):
        return zero
    j = int(holding_shares(model, zero).argmax())
    remedy = "lock joints, or correct the limits" if held is None else "starting near it"
    warnings.warn(
        f"joint '{model.joint_names[j]}' takes {abs(gravity_forces(model, zero)[j]):.3g} N m or N"
        f" to hold its links at zero and has an effort limit of {model.limits.effort[j]:.3g}:"
        f" {remedy}",
        ModelWarning,
        stacklevel=2,
    )
    return zero if held is None else held


def _held(links: dict[str, Any]) -> dict[str, Any]:
    """The parameter locked_joints for the joints that no motion can use, with a ModelWarning.

    Raises ModelError if these are all joints."""
    model = load_model(RobotParameters(**links))
    names = held_joints(model)
    if not names:
        return {}
    found = f"without range, speed or the effort to hold their links: {', '.join(names)}"
    if len(names) == model.n:
        raise ModelError(f"{model.name}: every joint is {found}; correct the limits")
    warnings.warn(f"held, because they are {found}", ModelWarning, stacklevel=2)
    zero = np.clip(0.0, model.limits.lower, model.limits.upper).tolist()
    at = dict(zip(model.joint_names, zero, strict=True))
    return {"locked_joints": [f"{name}={at[name]}" for name in names]}


def chosen_robot(
    parameters: str,
    robot: str = "",
    elastic_joints: str = "",
    command_joints: Sequence[str] = (),
    initial_positions: Sequence[float] = (),
    robot_description: str = "",
    *,
    assumes_motors: bool = False,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The parameters that launch arguments set on top of a parameters file: those of every node,
    those of nodes that model springs and motors, and those of the simulator.

    The package's own files describe the Panda. For another robot, the motors (in the order of the
    joints) and the joint positions (:func:`start_position`) are set too, since launch cannot pass
    an empty array. In a user's own file, the arguments override only the values they give.
    robot_description: the output of xacro, if `robot` is a xacro file. assumes_motors: without
    elastic_joints, hold the joints that no motion can use.
    """
    links: dict[str, Any] = {"robot_file": robot} if robot else {}
    if robot_description:
        links = {"robot_file": "", "robot_description": robot_description}
    motors: dict[str, Any] = {"elastic_joints_file": elastic_joints} if elastic_joints else {}
    order, positions = list(command_joints), list(initial_positions)
    if (links or motors) and _is_ours(parameters):
        motors = {"elastic_joints_file": elastic_joints}
        if links and assumes_motors and not elastic_joints:
            links |= _held(links)
        p = ElasticRobotParameters(
            **(links or {"robot_file": "config/robots/panda.urdf"}), **motors
        )
        model = load_model(p)
        actuators = load_actuators(p, model)
        order = order or list(actuators.motor_names)
        if links and not positions:
            joint_of = dict(zip(actuators.motor_names, actuators.joint_of_motor, strict=True))
            joints = list(dict.fromkeys(joint_of[name] for name in order if name in joint_of))
            positions = start_position(model)[joints].tolist()
    if order:
        motors["command_joints"] = order
    return links, motors, {"initial_positions": positions} if positions else {}


def _is_ours(parameters: str) -> bool:
    """Whether the file is one of config/ or an identical copy."""
    ours = (share_directory() / "config").glob("*.yaml")
    return any(filecmp.cmp(parameters, file, shallow=False) for file in ours)
