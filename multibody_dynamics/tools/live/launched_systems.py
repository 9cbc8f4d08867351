# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The nodes that the launch files and the command `loop` start, and the arguments of both.

A launch file declares the arguments of a `System` and turns its nodes into launch actions
(tools/launch_arguments.py); `multibody_dynamics loop` starts the same nodes as child processes
(`supervision`), without `launch`, which is not on PyPI. ROS and the dynamics are imported when
nodes are made: the command's --help needs neither.
"""

import hashlib
import shlex
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ...resources import share_directory
from ...simulation import PLANTS

FOLDER_OF_LAWS = Path(__file__).parents[2] / "dynamics" / "control" / "laws" / "by_name"
LAWS = tuple(sorted(file.stem for file in FOLDER_OF_LAWS.glob("[!_]*.py")))
"""The laws by name, without importing them: one file each."""
FLAG = ("true", "false")
AUTO = "auto"
REPORT_TIME = 600.0  # s for the final report of a long comparison


@dataclass(frozen=True)
class Argument:
    """An argument of a launch file, NAME:=VALUE, and of the command `loop`, --NAME VALUE."""

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeStart:
    """How to start one node of this package.

    parameters : files and dictionaries; later ones override earlier ones
    log_level : "" for the default
    patience : s that the node may take to end after Ctrl-C
    """

    executable: str
    name: str = ""
    namespace: str = ""
    parameters: tuple[str | Mapping[str, Any], ...] = ()
    remappings: tuple[tuple[str, str], ...] = ()
    log_level: str = ""
    patience: float = 5.0


class Values(dict[str, str]):
    """The values of all arguments of a system, by name."""

    def flag(self, name: str) -> bool:
        """The value of an argument whose choices are true and false."""
        return self[name] == "true"

    def items_of(self, name: str) -> list[str]:
        """The items of a comma-separated value; none if the system has no such argument."""
        return [item.strip() for item in self.get(name, "").split(",") if item.strip()]


@dataclass(frozen=True)
class System:
    """Nodes that are started together."""

    purpose: str
    arguments: tuple[Argument, ...]
    nodes: Callable[[Values], list[NodeStart]]

    def values(self, given: Mapping[str, str]) -> Values:
        """The given values, and the defaults of the other arguments."""
        return Values({a.name: a.default for a in self.arguments} | dict(given))


# fmt: off
ROBOT = Argument("robot", "", "URDF or xacro file; '' uses the robot of the parameters file")
XACRO = Argument("xacro_arguments", "", "arguments for a xacro file: name:=value ...")
SPRINGS = Argument("elastic_joints", "",
    "YAML file of springs and motors; '' uses that of the parameters file or, if a robot is"
    " given, makes every joint rigid; a simulated robot then gets assumed motors, which are"
    " printed")
MOTORS = Argument("command_joints", "",
    "motors in the order of ~/commands and other arrays without names, separated by commas; ''"
    " uses the order of the parameters file or, if a robot or elastic joints are given, that of"
    " the robot's joints")
MOTION = Argument("motion", "rest_to_rest",
    "motion sent by trajectory_node; none: publish joint_trajectory yourself",
    ("rest_to_rest", "sum_of_sines", "none"))
INITIAL_POSITIONS = Argument("initial_positions", "",
    "initial positions of the simulated links in the order of command_joints, separated by"
    " commas; '' uses those of the parameters file or, if a robot is given, zero or the nearest"
    " position at which the effort limits hold the links")
PLANT = Argument("plant", "internal",
    "simulator of the robot; none: a real robot, or your own simulator",
    (*PLANTS, "none"))
NAMESPACE = Argument("namespace", "", "namespace of the nodes and their topics")
SIMULATED_TIME = Argument("use_sim_time", "false", "take the time from /clock", FLAG)
# fmt: on
ROBOT_ARGUMENTS = (ROBOT, XACRO, SPRINGS, MOTORS)


def _parameters(file: str, what: str = "the node's parameters") -> Argument:
    path = share_directory() / "config" / file
    return Argument("parameters", str(path), f"YAML file with {what}")


def robot_parameters(values: Values) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The node parameters for the selected robot, see `chosen_robot`; runs xacro if necessary.

    Raises InputError if xacro fails, and for initial positions that are not numbers.
    """
    from ...dynamics.core import InputError
    from ...nodes.base.robot import chosen_robot

    try:
        positions = [float(item) for item in values.items_of("initial_positions")]
    except ValueError:
        given = values["initial_positions"]
        raise InputError(f"initial_positions are '{given}'; expected numbers") from None
    description = ""
    if values["robot"].endswith(".xacro"):
        description = _expanded(values["robot"], shlex.split(values["xacro_arguments"]))
    return chosen_robot(
        values["parameters"],
        values["robot"],
        values["elastic_joints"],
        values.items_of("command_joints"),
        positions,
        description,
        assumes_motors=values.get("plant", "none") != "none",
    )


def _expanded(file: str, arguments: list[str]) -> str:
    """The URDF text that xacro generates from a file."""
    from ...dynamics.core import InputError

    try:
        done = subprocess.run(["xacro", file, *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        raise InputError(
            f"{file} is a xacro file, but the program xacro was not found: install it, or expand"
            " the file on another computer (xacro FILE > ROBOT.urdf)"
        ) from None
    if done.returncode:
        reason = " ".join(done.stderr.split())
        raise InputError(f"{file}: xacro failed with status {done.returncode}: {reason}")
    return done.stdout


# The controller with a simulated or real robot


def _elastic_joint(values: Values) -> list[NodeStart]:
    """The controller and, depending on the arguments, the plant and the motion."""
    simulated_time = values.flag("use_sim_time")
    if values["use_sim_time"] == AUTO:
        simulated_time = values["plant"] != "none" and not values["namespace"]
    links, motors, start_there = robot_parameters(values)
    if values["plant"] != "none" and motors.get("elastic_joints_file") == "":
        motors["elastic_joints_file"] = _assumed_drives(links)
    common = NodeStart(
        "flatness_controller_node",
        namespace=values["namespace"],
        parameters=(
            values["parameters"],
            {"autostart": True, "use_sim_time": simulated_time, **links},
        ),
    )

    def node(
        executable: str, own: dict[str, Any], remappings: tuple[tuple[str, str], ...] = ()
    ) -> NodeStart:
        parameters = (*common.parameters, own)
        return replace(common, executable=executable, parameters=parameters, remappings=remappings)

    law = {"law": values["law"]} if values["law"] else {}
    nodes = [node("flatness_controller_node", {**law, **motors})]
    if values["plant"] != "none":
        leads = simulated_time and values["clock"] == "lockstep"
        follows = simulated_time and not leads
        plant = {
            "plant": values["plant"],
            "command_interface": "stamped_motor_torque",
            "use_sim_time": follows,
            "time_source": "clock" if follows else "steady",
            "publish_clock": leads,
            "lockstep": leads,
            **motors,
            **start_there,
        }
        answers = (
            ("motor_torque_stamped", "flatness_controller_node/motor_torque"),
            ("stiffness_command", "flatness_controller_node/stiffness_command"),
        )
        nodes.append(node("elastic_robot_simulator_node", plant, answers))
    if values["motion"] != "none":
        springs = {key: motors[key] for key in ("elastic_joints_file",) if key in motors}
        nodes.append(node("trajectory_node", {"motion": values["motion"], **springs}))
    return nodes


def _assumed_drives(links: Mapping[str, Any]) -> str:
    """The path of a file with motors for a robot of which only the links are known: without rotors,
    directions of an arm that hardly has inertia there could not be controlled. The file is in the
    cache, one for each robot, because nodes that outlive this process may read it again."""
    from ...dynamics.core import ModelWarning, cache_directory
    from ...nodes.base.robot import RobotParameters, load_model
    from ..base.generated_drives import generated_drives

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # in the logs of the nodes
        model = load_model(RobotParameters(**links))
    text = generated_drives(model, are_rigid=True)
    folder = cache_directory() or Path(tempfile.mkdtemp(prefix="multibody_dynamics_"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    file = folder / f"assumed_drives_{digest}.yaml"
    file.write_text(text, encoding="utf-8")
    rule = " ".join(text.partition("\njoints:")[0].partition(": ")[2].split())
    print(f"no --elastic-joints: assumed {rule}; {file}", flush=True)
    return str(file)


# fmt: off
ELASTIC_JOINT = System(
    "controller, simulated robot and motion",
    (
        _parameters("elastic_joint.yaml", "the parameters of the nodes"),
        *ROBOT_ARGUMENTS,
        INITIAL_POSITIONS,
        PLANT,
        Argument("law", "",
            "control law, may be changed at run time; '' uses that of the parameters file",
            ("", *LAWS)),
        MOTION,
        NAMESPACE,
        replace(
            SIMULATED_TIME,
            default=AUTO,
            description="use the time on /clock, published by the plant in lockstep or by another"
            " simulator, see clock; auto: for a simulated robot without a namespace, because in"
            " lockstep a busy computer slows the motion down, but never delays torques",
            choices=(AUTO, *FLAG),
        ),
        Argument("clock", "lockstep",
            "with use_sim_time: whether the plant publishes /clock and waits for the torques"
            " (lockstep), or follows the /clock of another simulator (external), such as that of"
            " the first of several robots", ("lockstep", "external")),
    ),
    _elastic_joint,
)
# fmt: on


# The feedforward of joint motions, and of tool motions


def _one_node(executable: str) -> Callable[[Values], list[NodeStart]]:
    def nodes(values: Values) -> list[NodeStart]:
        """The node and, if a plant is chosen, the simulated robot that it commands."""
        links, motors, start_there = robot_parameters(values)
        chosen = {
            "autostart": values.flag("autostart"),
            "use_sim_time": values.flag("use_sim_time"),
            **{name: values[name] for name in ("tool", "components") if values.get(name)},
        }
        node = NodeStart(
            executable,
            values["name"],
            values["namespace"],
            (values["parameters"], links, motors, chosen),
            log_level=values["log_level"],
        )
        if values.get("plant", "none") == "none":
            return [node]
        plant = {
            **_of_simulator(values["parameters"]),
            **links,
            **motors,
            **start_there,
            "autostart": True,
            "plant": values["plant"],
            "publish_clock": values.flag("use_sim_time"),
            "lockstep": values.flag("use_sim_time"),
        }
        simulator = NodeStart(
            "elastic_robot_simulator_node",
            namespace=values["namespace"],
            parameters=(plant,),
            remappings=(("motor_command", f"{values['name']}/motor_command"),),
        )
        return [simulator, node]

    return nodes


def _of_simulator(file: str) -> dict[str, Any]:
    """The parameters in a file that concern the simulator: those for all nodes also have others."""
    from ...nodes.simulator.simulator_parameters import SimulatorParameters
    from ..base.node_parameters import SIMULATOR, read_parameters

    given = read_parameters(Path(file))
    known = {each.name for each in fields(SimulatorParameters)}
    common = {name: value for name, value in given.get("/**", {}).items() if name in known}
    return common | given.get(SIMULATOR, {})


def _arguments_of_one_node(executable: str) -> tuple[Argument, ...]:
    return (
        NAMESPACE,
        Argument("name", executable, "node name; the names of its private topics begin with it"),
        Argument("autostart", "true",
            "configure and activate at startup; false waits for a lifecycle manager", FLAG),
        SIMULATED_TIME,
        Argument("log_level", "info", "debug, info, warn, error or fatal"),
    )  # fmt: skip


FEEDFORWARD = System(
    "feedforward of joint motions",
    (
        _parameters("feedforward.yaml"),
        *ROBOT_ARGUMENTS,
        replace(PLANT, default="none"),
        INITIAL_POSITIONS,
        *_arguments_of_one_node("feedforward_node"),
    ),
    _one_node("feedforward_node"),
)
# fmt: off
TOOL = Argument("tool", "", "link that follows the paths; '' uses that of the parameters file")
COMPONENTS = Argument("components", "",
    "controlled components: pose, position, direction ..., or some of 'rx ry rz x y z', for"
    " robots with fewer than six joints; '' uses those of the parameters file")
TASK_SPACE = System(
    "motion of a tool",
    (
        _parameters("task_space.yaml"),
        *ROBOT_ARGUMENTS,
        TOOL,
        COMPONENTS,
        replace(PLANT, default="none"),
        INITIAL_POSITIONS,
        *_arguments_of_one_node("task_space_node"),
    ),
    _one_node("task_space_node"),
)
# fmt: on


# Measured torques compared with the model


def _validation(values: Values) -> list[NodeStart]:
    """The node that compares states as they arrive."""
    chosen: dict[str, Any] = {"autostart": True}
    for name, value in (("output", values["output"]), ("robot_file", values["robot"])):
        if value:
            chosen[name] = value
    return [
        NodeStart(
            "validation_node",
            namespace=values["namespace"],
            parameters=(*filter(None, [values["parameters"]]), chosen),
            remappings=(("joint_states", values["joint_states"]),),
            patience=REPORT_TIME,
        )
    ]


# fmt: off
VALIDATION = System(
    "comparison of measured torques with the model while the robot moves",
    (
        replace(
            ROBOT,
            description="URDF file; '' uses the parameters file or the topic robot_description",
        ),
        Argument("output", "",
            "folder of the report; '' uses that of the parameters file, or 'validation'"),
        Argument("parameters", "", "YAML file with the node's parameters"),
        Argument("joint_states", "joint_states", "topic of the states"),
        NAMESPACE,
    ),
    _validation,
)
# fmt: on

SYSTEMS = {
    "elastic-joint": ELASTIC_JOINT,
    "feedforward": FEEDFORWARD,
    "task-space": TASK_SPACE,
    "validate": VALIDATION,
}
"""The systems of the command `loop`, named like their launch files."""
