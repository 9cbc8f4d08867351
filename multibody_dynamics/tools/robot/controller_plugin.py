# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The plugin for ros2_control around a generated controller: C++17, parameters, package files.

The templates in `controller_templates/ros2_control/` read as C++ with the prefix `robot_`, as those
of :mod:`.controller_package` do. The parameters are the fields of `robot_parameters`, by
generate_parameter_library, with the designed values as defaults.
"""

import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from ... import __version__
from ...dynamics.codegen import c_source, c_types
from ...dynamics.control import CycleSettings, StiffnessReference, StreamSettings
from ...dynamics.core import Array, record_fields
from ...dynamics.elastic import resting_second_outputs
from ...dynamics.motion import streams
from ...dynamics.rigid import gravity_forces
from ...reporting.templates import rendered
from .generated_design import ControllerDesign, motors_at_rest, rest_of_motors, start_position

FOLDER = "ros2_control"
TEMPLATES = Path(__file__).parent / "controller_templates" / FOLDER
ROBOT = Path(__file__).parent / "templates" / "robot.urdf"
FROM_TEMPLATES = (
    *(f"{FOLDER}/{file}" for file in ("plugin.hpp", "plugin.cpp", "action.hpp", "action.cpp",
                                      "trajectory.hpp", "trajectory.cpp", "targets.hpp",
                                      "targets.cpp", "stream_input.hpp", "stream_input.cpp",
                                      "rehearsal.cpp", "simulated_arm.cpp",
                                      "plugin.cmake", "plugin.xml", "hardware.xml")),
    "launch/controller.launch.py", "package.xml",
    *(f"test/{file}" for file in ("bench.hpp", "plugin_test.cpp", "plugin_timing.cpp",
                                  "interruptions.h")),
)  # fmt: skip
MOTOR_STATES = "motor_state_broadcaster"
HARDWARE = {"simulated_arm": "SimulatedArm", "mock_hardware": "mock_components/GenericSystem"}
STATE_RATE = 50.0  # Hz
START_TIMEOUT = 0.5  # s
EXTERNAL_TIMEOUT = 0.1  # s
OTHER_STIFFNESS = 1.1  # times that at rest, to which the test of the plugin changes it at most
TOLERANCES = {  # as those of the nodes
    "path_tolerance": (0.0, "rad or m; a goal is aborted, and the arm brakes, if a joint deviates"
                       " from the motion by more than this; 0: no limit"),
    "goal_tolerance": (0.0, "rad or m; a goal is reached when all joints are within this distance"
                       " of its last point; 0: at any distance"),
    "stopped_velocity_tolerance": (0.01, "rad/s or m/s; and when the velocities of all joints are"
                                   " below this; 0: at any velocity"),
    "start_tolerance": (0.1, "rad or m; a stream is refused if the measured position, or its first"
                        " target, is further than this from the present motion"),
    "goal_time_tolerance": (0.0, "s; a goal is aborted if it is not reached within this time after"
                            " its last point; 0: wait forever"),
}  # fmt: skip
STREAM_TOPICS = ("joint_targets", "position_commands", "joint_trajectory")
# Refuses zero in arrays: generate_parameter_library has no strict bounds for elements.
SMALLEST = float(np.finfo(float).tiny)
# Settings that are not parameters of the plugin: the period is that of the controller manager, and
# the law is part of the generated code.
NOT_PARAMETERS = ("period", "follows")
SWITCHES = ("recovers", "stops_on_links")


class Number(NamedTuple):
    """A parameter of the plugin for a setting, or for a row of it.

    name : of the parameter. setting : its name in C. description : with unit. within : interval of
    its values, empty if all are allowed. row : of the table in C; None if it is all of the setting.
    """

    name: str
    setting: str
    description: str
    within: str
    row: int | None = None


def numbers() -> list[Number]:
    """The parameters of the plugin, from the declaration of the settings."""
    found = []
    for name, _, _, field in record_fields.declared_fields(CycleSettings):
        if name in NOT_PARAMETERS:
            continue
        if not field.rows:
            assert isinstance(field.within, str)
            found.append(Number(name, name, field.meaning, field.within))
        for k, (row, meaning) in enumerate(field.rows):
            within = field.within if isinstance(field.within, str) else field.within[k]
            found.append(Number(f"{name}.{row}", name, meaning, within, k))
    return found


def plugin_files(design: ControllerDesign, name: str, sources: Sequence[str]) -> dict[str, str]:
    """The files around the C by path; name : prefix of all names, sources : lines for the heads."""
    templates = {path.name: path.read_text(encoding="utf-8") for path in TEMPLATES.iterdir()}
    templates["package.xml"] = templates["package.xml"].replace("VERSION", __version__)
    texts = {place: _named(templates[Path(place).name], place, name) for place in FROM_TEMPLATES}
    pause = c_source.literal(streams.LONGEST_INTERVAL, "double")  # ends a stream
    position, velocity = _motor_interfaces(design)
    tables = {
        "//PARAMETERS//": "\n".join(_assignments(design)),
        "//TABLES//": _test_tables(design),
        "//INTERFACES//": _limits(design),
        "//MOTOR_STATES//": f'constexpr const char * MOTOR_POSITION = "{position}";\n'
        f'constexpr const char * MOTOR_VELOCITY = "{velocity}";\n',
        "//PAUSE//": f"constexpr double LONGEST_INTERVAL = {pause}; /* s */\n",
    }
    for place, text in texts.items():
        for mark, table in tables.items():
            text = text.replace(mark, in_tables(table, name))
        texts[place] = text
    texts |= {
        f"{FOLDER}/parameters.yaml": _parameters(design, name),
        "config/controllers.yaml": _controllers(design, name),
    } | {f"config/{file}.urdf": _robot_with(file, design, name) for file in HARDWARE}
    origin = [
        f"Controller of the robot {design.model.name}, generated by multibody_dynamics"
        f" {__version__}",
        *(f"from {line}" for line in sources),
    ]
    return {place: _head(place, origin) + text for place, text in texts.items()}


def _named(text: str, place: str, name: str) -> str:
    """The text with the prefix of the robot, which is ROBOT in files that are not C++."""
    if Path(place).suffix not in (".hpp", ".cpp"):
        return text.replace("ROBOT", name)
    return in_template(text, name)


def in_template(text: str, name: str) -> str:
    """A template of C or C++ with the prefix of the robot in place of robot_ and ROBOT_."""
    return re.sub(r"\bROBOT_", f"{name.upper()}_", re.sub(r"\brobot_", f"{name}_", text))


def in_tables(text: str, name: str) -> str:
    """Generated code with this prefix; text in quotes is left alone, as it may name a joint, but
    for names of files."""
    parts = re.split(r'((?<!#include )"(?:[^"\\\n]|\\.)*")', text)
    return "".join(part if k % 2 else in_template(part, name) for k, part in enumerate(parts))


def _head(place: str, lines: Sequence[str]) -> str:
    """The lines as a comment in the language of the file."""
    kind = Path(place).suffix
    if kind in (".h", ".hpp", ".cpp"):
        return c_source.comment(lines) + "\n"
    if kind in (".xml", ".urdf"):
        body = "\n".join(f"  {line}" for line in lines).replace("--", "- -")
        return f'<?xml version="1.0"?>\n<!--\n{body}\n-->\n'
    return "".join(f"# {line}\n" for line in lines) + "\n"


def _value(design: ControllerDesign, number: Number) -> Any:
    value = design.parameters[number.setting]
    return value if number.row is None else value[number.row]


# Parameters


def _assignments(design: ControllerDesign) -> list[str]:
    """C++ that copies the parameters of the plugin into those of the core."""
    lines = []
    for number in numbers():
        field = number.setting if number.row is None else f"{number.setting}[{number.row}]"
        value = _value(design, number)
        if np.ndim(value) > 0:
            lines.append(f"  copy_row(p.{number.name}, c.{field});")
        elif isinstance(value, int):
            lines.append(f"  c.{field} = static_cast<int>(p.{number.name});")
        else:
            lines.append(f"  c.{field} = p.{number.name};")
    return lines


def _definition(kind: str, value: Any, description: str, **rules: Any) -> dict[str, Any]:
    found = {"type": kind, "default_value": value, "description": description}
    if rules:
        found["validation"] = {f"{rule}<>": argument for rule, argument in rules.items()}
    return found


def _number_definition(design: ControllerDesign, number: Number) -> dict[str, Any]:
    value, text = _value(design, number), number.description
    if number.setting in SWITCHES:
        return _definition("bool", bool(value), text)
    low, high, has_low, _ = record_fields.interval(number.within or "[-inf, inf]")
    least = 0.0 if isinstance(low, str) else low  # another setting is checked by the controller
    if isinstance(value, int):
        return _definition("int", value, text, bounds=[int(least), int(high)])
    if np.ndim(value) == 0:
        return _definition("double", float(value), text, **{"gt_eq" if has_low else "gt": [least]})
    row = [float(x) for x in value]
    rules: dict[str, Any] = {"fixed_size": [len(row)]}
    if np.isfinite(least):
        least = least if has_low else SMALLEST
        if not isinstance(high, str) and np.isfinite(high):
            rules["element_bounds"] = [least, high]
        else:
            rules["lower_element_bounds"] = [least]
    return _definition("double_array", row, text, **rules)


def _stream_parameters() -> dict[str, Any]:
    """How streams are followed, as by the nodes."""
    topics = _definition(
        "string_array", [], "topics that bring streams of targets: joint_targets"
        " (sensor_msgs/JointState), position_commands (std_msgs/Float64MultiArray, in the order of"
        " links), joint_trajectory, each of whose messages is a trajectory otherwise",
        subset_of=[list(STREAM_TOPICS)], unique=None,
    )  # fmt: skip
    found = {"stream_topics": topics}
    for each in fields(StreamSettings):
        text = f"{each.metadata['unit']}; {each.metadata['description']}"
        if bounds := each.metadata["bounds"]:
            found[each.name] = _definition("double", each.default, text, bounds=list(bounds))
        else:
            found[each.name] = _definition(
                "double_array", list(each.default), text, lower_element_bounds=[SMALLEST]
            )
    return found


def _motor_interfaces(design: ControllerDesign) -> tuple[str, str]:
    """Position and velocity. Links and motors have different interfaces if they share a name in
    ros2_control."""
    shared = set(design.model.joint_names) & set(design.actuators.motor_names)
    return ("motor_position", "motor_velocity") if shared else ("position", "velocity")


def _parameters(design: ControllerDesign, name: str) -> str:
    """The definition for generate_parameter_library."""
    links, motors = list(design.model.joint_names), list(design.actuators.motor_names)

    def names(each: list[str], text: str) -> dict[str, Any]:
        definition = _definition("string_array", each, text, fixed_size=[len(each)], unique=None)
        return definition | {"read_only": True}

    def interface(value: str, text: str) -> dict[str, Any]:
        return _definition("string", value, text, not_empty=None) | {"read_only": True}

    found: dict[str, Any] = {
        "links": names(links, "names of the joints in ros2_control that measure the links, and in"
                       " trajectories, in the order of the core"),
        "motors": names(motors, "names of the joints in ros2_control that measure and drive the"
                        " motors, in the order of the core"),
        "link_interface": interface("position", "state interface with the position of a link, rad"
                                    " or m"),
        "motor_interface": interface(_motor_interfaces(design)[0], "state interface with the"
                                     " position of a motor, on the link side of its gear, rad or"
                                     " m"),
        "command_interface": interface("effort", "command interface of a motor, on the link side of"
                                       " its gear, N m or N"),
        "state_rate": _definition("double", STATE_RATE, "Hz, of the published state", gt=[0.0]),
        "start_timeout": _definition("double", START_TIMEOUT, "s after activation within which"
                                     " there must be valid states", gt=[0.0]),
        "external_torque_timeout": _definition("double", EXTERNAL_TIMEOUT, "s after which an"
                                               " external torque that is not renewed ends",
                                               gt=[0.0]),
        **{key: _definition("double", value, text, gt_eq=[0.0])
           for key, (value, text) in TOLERANCES.items()},
        **_stream_parameters(),
    }  # fmt: skip
    for number in numbers():
        group, _, last = number.name.rpartition(".")
        place = found.setdefault(group, {}) if group else found
        place[last] = _number_definition(design, number)
    return _yaml({f"{name}_ros2_control_parameters": found})


def _yaml(tree: dict[str, Any]) -> str:
    text = yaml.safe_dump(tree, sort_keys=False, width=96, default_flow_style=None)
    return str(text)


# Examples


def _controllers(design: ControllerDesign, name: str) -> str:
    rate = round(1.0 / design.options.period)
    parameters = {
        "links": list(design.model.joint_names),
        "motors": list(design.actuators.motor_names),
        "link_interface": "position",
        "motor_interface": _motor_interfaces(design)[0],
        "command_interface": "effort",
    }
    position, velocity = _motor_interfaces(design)
    broadcaster = {"type": "joint_state_broadcaster/JointStateBroadcaster"}
    own = {
        "joint_state_broadcaster": broadcaster
        | {"joints": list(design.model.joint_names), "interfaces": ["position", "velocity"]},
        MOTOR_STATES: broadcaster
        | {
            "joints": list(design.actuators.motor_names),
            "interfaces": [position, velocity],
            "map_interface_to_joint_state": {"position": position, "velocity": velocity},
            "use_local_topics": True,
        },
        f"{name}_controller": {"type": f"{name}_controller/ElasticJointController"} | parameters,
    }
    # The type is read here if this file is given to the controller manager, below by the spawner.
    manager = {"update_rate": rate} | {each: {"type": own[each]["type"]} for each in own}
    sections = {"controller_manager": manager} | own
    return _yaml({f"/**/{each}": {"ros__parameters": row} for each, row in sections.items()})


def _robot_with(hardware: str, design: ControllerDesign, name: str) -> str:
    """A robot without geometry, with simulated hardware or with one that does not move."""
    motors, q = design.actuators.motor_names, start_position(design)
    states: dict[str, dict[str, float]] = {}
    for joints, at, interfaces in (
        (design.model.joint_names, q, ("position", "velocity")),
        (motors, motors_at_rest(design, q), _motor_interfaces(design)),
    ):
        for joint, x in zip(joints, at, strict=True):
            states.setdefault(joint, {}).update(zip(interfaces, (float(x), 0.0), strict=True))
    own = hardware == "simulated_arm"
    plugin = f"{name}_controller/{HARDWARE[hardware]}" if own else HARDWARE[hardware]
    return rendered(
        ROBOT, name=name, hardware=hardware, plugin=plugin, states=states, motors=motors
    )


def _limits(design: ControllerDesign) -> str:
    """What requests are checked against: torques of the joints, ranges of second outputs."""
    model, actuators = design.model, design.actuators
    least, largest = StiffnessReference(actuators).bounds(np.zeros(model.n))
    tables = {
        "LARGEST_EXTERNAL_TORQUE": actuators.joint_torque_limit_within(model.limits.effort),
        "LEAST_SECOND": np.append(least, 0.0),
        "LARGEST_SECOND": np.append(largest, 0.0),
        "VARIABLE_JOINT": _variable_joints(design),
    }
    return "".join(c_types.table_definition(name, np.array(row)) for name, row in tables.items())


def _test_tables(design: ControllerDesign) -> str:
    """Where the ideal arm of the test is, the torques that hold it there, and where its motors are
    with other stiffnesses."""
    q, actuators = start_position(design), design.actuators
    motors = rest_of_motors(design, q)
    _, largest = StiffnessReference(actuators).bounds(gravity_forces(design.model, q))
    second = np.minimum(OTHER_STIFFNESS * resting_second_outputs(actuators), largest)
    tables = (
        ("START", q), ("START_MOTORS", motors.position), ("WEIGHT", motors.torque),
        ("OTHER_SECOND", np.append(second, 0.0)),
        ("OTHER_MOTORS", rest_of_motors(design, q, second).position),
    )  # fmt: skip
    return "".join(c_source.constant_array(name, row, "double") for name, row in tables) + (
        c_types.table_definition("VARIABLE_JOINT", _variable_joints(design))
    )


def _variable_joints(design: ControllerDesign) -> Array:
    """Their places among the joints, and one more number."""
    joints, variable = design.model.joint_names, design.actuators.variable_joints
    return np.array([*map(joints.index, variable), 0])
