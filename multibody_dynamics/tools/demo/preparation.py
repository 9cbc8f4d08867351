# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Preparation of a demo: which runs to compare, and the parameters of the nodes for any robot."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from ...dynamics.control import StiffnessReference
from ...dynamics.core import parse_yaml
from ...dynamics.elastic import VARIANTS, Actuators, load_actuators
from ...dynamics.model import MultibodyModel
from ...dynamics.rigid import gravity_forces
from ...nodes.base.robot import find_file
from ...nodes.trajectory_node import TrajectoryParameters, make_motion
from ...resources import share_directory
from ...simulation import PLANTS
from ..base.generated_drives import generated_drives
from ..base.models import load_quietly
from ..base.node_parameters import (
    CONTROLLER,
    FEEDFORWARD,
    PARAMETERS,
    SIMULATOR,
    TRAJECTORY,
    read_parameters,
)
from ..base.recording import CONTROL_TOPICS, TOPICS, Topic
from .analysis import LAWS, VARIANT_OF, run_name
from .control_report import OUTPUTS as CONTROL_OUTPUTS
from .control_report import write_control_report
from .report import OUTPUTS, write_report

REMAPPINGS = {SIMULATOR: {"motor_command": f"{FEEDFORWARD}/motor_command"}}
CONTROL_REMAPPINGS = {
    SIMULATOR: {
        "motor_torque_stamped": f"{CONTROLLER}/motor_torque",
        "stiffness_command": f"{CONTROLLER}/stiffness_command",
    }
}
SPRINGS = "elastic_joints.yaml"  # generated for a robot without data of its springs
CONTROL_FOLDER = "controllers"  # for their runs, in the folder of the demo
LIVE_TIMEOUT = 1.0  # s without a command until torques are zero, in real time
MOTION_NUMBERS = ("offset", "cosine", "sine", "waypoints")


@dataclass(frozen=True)
class Comparison:
    """The comparison of a demo: runs that differ in a few parameters of the nodes.

    The node between simulator and trajectory is the feedforward or the controller.
    """

    configuration: str  # in config/
    controller: str
    topics: Mapping[str, Topic]
    remappings: Mapping[str, Mapping[str, str]]
    runs: Mapping[str, Mapping[str, Mapping[str, str]]]  # name: node: parameter
    outputs: tuple[str, ...]
    write: Callable[[Path], dict[str, Any]]

    @property
    def nodes(self) -> tuple[str, str, str]:
        """Simulator, feedforward or controller, trajectory."""
        return SIMULATOR, self.controller, TRAJECTORY


FEEDFORWARDS = Comparison(
    "demo.yaml",
    FEEDFORWARD,
    TOPICS,
    REMAPPINGS,
    {variant: {FEEDFORWARD: {"variant": variant}} for variant in VARIANTS},
    OUTPUTS,
    write_report,
)


def controllers(plants: Sequence[str] = PLANTS) -> Comparison:
    """All control laws on each of the plants."""
    return Comparison(
        "controllers_demo.yaml",
        CONTROLLER,
        CONTROL_TOPICS,
        CONTROL_REMAPPINGS,
        {
            run_name(plant, law): {
                SIMULATOR: {"plant": plant},
                CONTROLLER: {"law": law, "variant": VARIANT_OF.get(law, "full")},
            }
            for plant in plants
            for law in LAWS
        },
        CONTROL_OUTPUTS,
        write_control_report,
    )


def available_plants() -> tuple[str, ...]:
    """The plants whose packages are installed: MuJoCo is an extra."""
    return PLANTS if find_spec("mujoco") else PLANTS[:1]


@dataclass(frozen=True)
class Demo:
    """A prepared demo; `folder` contains the file with the parameters of all three nodes."""

    folder: Path
    model: MultibodyModel
    parameters: Mapping[str, Mapping[str, Any]]  # by node
    comparison: Comparison = FEEDFORWARDS
    springs: str = ""  # contents of SPRINGS, if they are generated

    @property
    def motor_names(self) -> list[str]:
        """The motors, in the order of messages without names."""
        return list(self.parameters[self.comparison.controller]["command_joints"])

    @property
    def robot_file(self) -> Path:
        """The URDF of the robot."""
        return Path(self.parameters[self.comparison.controller]["robot_file"])

    @property
    def file(self) -> Path:
        """The file with the parameters."""
        return self.folder / PARAMETERS

    def write(self, *, keep: bool = False) -> None:
        """Write the parameters to the folder, and delete the results of an earlier demo in it.

        keep : keep the recordings that are in the folder
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        recordings = () if keep else self.folder.glob("*.npz")
        for name in (*self.comparison.outputs, *recordings):
            (self.folder / name).unlink(missing_ok=True)
        if self.springs:
            (self.folder / SPRINGS).write_text(self.springs)
        self.file.write_text(_as_yaml(self.parameters, self.comparison))


def prepare(
    folder: Path,
    comparison: Comparison = FEEDFORWARDS,
    *,
    robot: str = "",
    elastic_joints: str = "",
    motion: str = "",
    duration: float | None = None,
    rate: float | None = None,
    real_time: bool = False,
) -> Demo:
    """The demo for a robot, in `folder`, where nothing is written yet.

    The parameters come from the comparison's file in config/, where springs and motion belong to
    one robot; for any other robot, both are generated.

    robot : URDF file; '': the Panda
    elastic_joints : YAML file; '': the Panda's, or generated
    rate : rate of the simulator, Hz
    real_time : discard late commands instead of waiting for them

    Raises DynamicsError or OSError for files that cannot be used.
    """
    folder = folder.resolve()
    parameters = read_parameters(share_directory() / "config" / comparison.configuration)
    simulator, controller, trajectory = (parameters[name] for name in comparison.nodes)
    file = find_file(robot or controller["robot_file"])
    model = load_quietly(file, find_file(elastic_joints) if elastic_joints else None)

    is_ours = set(model.joint_names) == set(trajectory["joints"])
    _set_motion(trajectory, motion or trajectory["motion"], duration, keep_joints=is_ours)
    if rate is not None:
        simulator["update_rate"] = controller["expected_rate"] = float(rate)
        if "lookahead" in controller:  # it predicts, by a time that depends on the rate
            controller["lookahead"] = 1.5 / rate
        else:
            controller["command_delay"] = 1.0 / rate
    if real_time:
        simulator["lockstep"] = simulator["publish_clock"] = False
        simulator.pop("max_speed", None)
        simulator["command_timeout"] = LIVE_TIMEOUT
        controller["use_sim_time"] = trajectory["use_sim_time"] = False
    if is_ours:
        elastic_joints = elastic_joints or controller["elastic_joints_file"]
    springs, generated, actuators = _springs(folder, model, elastic_joints)
    for node in parameters.values():
        node["robot_file"] = str(file)
        node["elastic_joints_file"] = str(springs)
    for node in (simulator, controller):
        node["command_joints"] = list(actuators.motor_names)
    own = {field.name for field in fields(TrajectoryParameters)} & trajectory.keys()
    values = {key: trajectory[key] for key in own}
    lists = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    reference = make_motion(model, TrajectoryParameters(**values | lists))
    start = reference(reference.start_time)[0]
    simulator["initial_positions"] = start.tolist()
    if actuators.variable_joints:  # the report needs to know what the node would choose
        second = StiffnessReference(actuators).feasible((), gravity_forces(model, start))
        controller["initial_stiffness"] = second.tolist()

    return Demo(folder, model, parameters, comparison, generated)


def _set_motion(
    trajectory: dict[str, Any], motion: str, duration: float | None, *, keep_joints: bool
) -> None:
    """Set kind and duration, and drop numbers that belong to another robot or kind of motion."""
    if not keep_joints:
        trajectory.pop("joints", None)
    if not keep_joints or motion != trajectory["motion"]:
        for key in MOTION_NUMBERS:
            trajectory.pop(key, None)
    trajectory["motion"] = motion
    if duration is not None:
        trajectory["duration"] = float(duration)


def _springs(
    folder: Path, model: MultibodyModel, elastic_joints: str
) -> tuple[Path, str, Actuators]:
    """The file of springs and motors, its contents if they are generated, else "", and both."""
    text = ""
    if elastic_joints:
        file = find_file(elastic_joints)
        actuators = load_actuators(file, model.joint_names, model.joint_types)
    else:
        file, text = folder / SPRINGS, generated_drives(model)
        actuators = load_actuators(parse_yaml(text), model.joint_names, model.joint_types)
    return file, text, actuators


def _as_yaml(parameters: Mapping[str, Any], comparison: Comparison) -> str:
    text = yaml.safe_dump(
        {f"/**/{name}": {"ros__parameters": values} for name, values in parameters.items()},
        sort_keys=False,
        default_flow_style=None,
    )
    source = f"config/{comparison.configuration}"
    return f"# Parameters of the demo's nodes, from {source} and the arguments of the demo.\n{text}"
