# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The plugin for ros2_control around a generated controller: C++17, parameters, package files.

The templates in `controller_templates/ros2_control/` read as C++ with the prefix `robot_`, as those
of :mod:`.controller_package` do. The parameters are the fields of `robot_parameters`, by
generate_parameter_library, with the designed values as defaults.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np
import yaml

from ... import __version__
from ...dynamics.codegen import c_source
from .generated_design import ControllerDesign, motors_at_rest, rest_of_motors, start_position

FOLDER = "ros2_control"
TEMPLATES = Path(__file__).parent / "controller_templates" / FOLDER
FROM_TEMPLATES = (
    *(f"{FOLDER}/{file}" for file in ("plugin.hpp", "plugin.cpp", "trajectory.hpp",
                                      "trajectory.cpp", "rehearsal.cpp", "plugin.cmake",
                                      "plugin.xml", "rehearsal.xml")),
    "launch/controller.launch.py", "package.xml",
    *(f"test/{file}" for file in ("bench.hpp", "plugin_test.cpp", "plugin_timing.cpp",
                                  "interruptions.h")),
)  # fmt: skip
PARAMETERS_MARK = "//PARAMETERS//"
TABLES_MARK = "//TABLES//"
STATE_RATE = 50.0  # Hz
START_TIMEOUT = 0.5  # s
# Refuses zero in arrays: generate_parameter_library has no strict bounds for elements.
SMALLEST = float(np.finfo(float).tiny)


class Number(NamedTuple):
    """A parameter of the plugin for a field of `robot_parameters`.

    name : of the parameter. field : in C, without index for rows of a table. description : with
    unit. is_positive : whether zero is refused, too; None: every number is allowed. row : of the
    table in C; None if the field is not a table. largest : allowed value.
    """

    name: str
    field: str
    description: str
    is_positive: bool | None = True
    row: int | None = None
    largest: float = np.inf


NUMBERS = (
    Number("gains.link_position", "gains", "N m/rad or N/m, of each motor on the position error of"
           " its link", None, 0),
    Number("gains.link_velocity", "gains", "N m s/rad or N s/m, of each motor on the velocity error"
           " of its link", None, 1),
    Number("gains.motor_position", "gains", "N m/rad or N/m, of each motor on its position error",
           None, 2),
    Number("gains.motor_velocity", "gains", "N m s/rad or N s/m, of each motor on its velocity"
           " error", None, 3),
    Number("friction", "friction", "share of the friction of each motor that is compensated",
           False, largest=1.0),
    Number("lead", "lead", "s, by which the feedforward leads: half a cycle and the delay of the"
           " drives", False),
    Number("disturbance_bandwidth", "disturbance_bandwidth", "rad/s, of the compensation of"
           " disturbances; 0: none", False),
    Number("link_disturbance_limit", "link_disturbance_limit", "N m or N, largest disturbance of"
           " each link that is compensated", False),
    Number("motor_disturbance_limit", "motor_disturbance_limit", "N m or N, largest disturbance of"
           " each motor that is compensated", False),
    Number("hold_gains.position", "hold_gains", "N m/rad or N/m, of each motor in the stop", True,
           0),
    Number("hold_gains.velocity", "hold_gains", "N m s/rad or N s/m, of each motor in the stop",
           None, 1),
    Number("hold_lower", "hold_lower", "rad or m, lower end of the range of the link that each"
           " motor drives, kept in the stop", None),
    Number("hold_upper", "hold_upper", "rad or m, upper end of that range", None),
    Number("stop_time", "stop_time", "s, in which the motors slow down by a factor of e in the"
           " stop"),
    Number("stop_acceleration", "stop_acceleration", "rad/s^2 or m/s^2, of each joint on the path"
           " to rest"),
    Number("filter_order", "filter_order", "of the filters of measured positions: 2, 3 or 4"),
    Number("filter_bandwidth", "filter_bandwidth", "Hz, of the filters of measured positions"),
    Number("settling_time", "settling_time", "s, in which these filters settle"),
    Number("max_step", "max_step", "s; after a longer gap between samples the filters start again"),
    Number("torque_limit", "torque_limit", "N m or N, of each motor"),
    Number("torque_rate_limit", "torque_rate_limit", "N m/s or N/s, of each motor"),
    Number("lower", "lower", "rad or m, lower position limit of each joint for references", None),
    Number("upper", "upper", "rad or m, upper position limit of each joint for references", None),
    Number("velocity", "velocity", "rad/s or m/s, velocity limit of each joint for references"),
    Number("link_timeout", "link_timeout", "s without valid states of the links until the arm is"
           " stopped"),
    Number("motor_timeout", "motor_timeout", "s without valid states of the motors until the"
           " controller is lost"),
    Number("link_speed", "link_speed", "rad/s or m/s, fastest motion of each joint between two"
           " samples that is accepted"),
    Number("motor_speed", "motor_speed", "rad/s or m/s, fastest motion of each motor between two"
           " samples that is accepted"),
    Number("tracking_tolerance", "tracking_tolerance", "rad or m, largest distance of a link from"
           " its reference; 0: any", False),
    Number("recovery_speed", "recovery_speed", "rad/s or m/s, of the motors, below which following"
           " may resume after a stop"),
    Number("recovers", "recovers", "whether following resumes on its own after missing states"),
    Number("transfer_time", "transfer_time", "s, in which the law takes over the torque", False),
    Number("stop_transfer_time", "stop_transfer_time", "s, in which the stop takes over the torque",
           False),
)  # fmt: skip
# Fields of robot_parameters that are not parameters of the plugin: the period is that of the
# controller manager, and the law is part of the generated code.
NOT_PARAMETERS = ("period", "follows")


def plugin_files(design: ControllerDesign, name: str, sources: Sequence[str]) -> dict[str, str]:
    """The files around the C by path; name : prefix of all names, sources : lines for the heads."""
    templates = {path.name: path.read_text(encoding="utf-8") for path in TEMPLATES.iterdir()}
    templates["package.xml"] = templates["package.xml"].replace("VERSION", __version__)
    texts = {place: _named(templates[Path(place).name], place, name) for place in FROM_TEMPLATES}
    tables = {PARAMETERS_MARK: "\n".join(_assignments(design)), TABLES_MARK: _test_tables(design)}
    for place, text in texts.items():
        for mark, table in tables.items():
            text = text.replace(mark, in_tables(table, name))
        texts[place] = text
    texts |= {
        f"{FOLDER}/parameters.yaml": _parameters(design, name),
        "config/controllers.yaml": _controllers(design, name),
        "config/mock_hardware.urdf": _mock_hardware(design, name),
    }
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
    value = design.parameters[number.field]
    return value if number.row is None else value[number.row]


# Parameters


def _assignments(design: ControllerDesign) -> list[str]:
    """C++ that copies the parameters of the plugin into those of the core."""
    lines = []
    for number in NUMBERS:
        field = number.field if number.row is None else f"{number.field}[{number.row}]"
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
    if number.name == "recovers":
        return _definition("bool", bool(value), text)
    if number.name == "filter_order":
        return _definition("int", int(value), text, bounds=[2, 4])
    if np.ndim(value) == 0:
        rule = "gt" if number.is_positive else "gt_eq"
        return _definition("double", float(value), text, **{rule: [0.0]})
    row = [float(x) for x in value]
    rules: dict[str, Any] = {"fixed_size": [len(row)]}
    if number.is_positive is not None:
        least = SMALLEST if number.is_positive else 0.0
        if np.isfinite(number.largest):
            rules["element_bounds"] = [least, number.largest]
        else:
            rules["lower_element_bounds"] = [least]
    return _definition("double_array", row, text, **rules)


def _motor_interface(design: ControllerDesign) -> str:
    """Links and motors have different interfaces if they are the same joints in ros2_control."""
    shared = set(design.model.joint_names) & set(design.actuators.motor_names)
    return "motor_position" if shared else "position"


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
        "motor_interface": interface(_motor_interface(design), "state interface with the position"
                                     " of a motor, on"
                                     " the link side of its gear, rad or m"),
        "command_interface": interface("effort", "command interface of a motor, on the link side of"
                                       " its gear, N m or N"),
        "state_rate": _definition("double", STATE_RATE, "Hz, of the published state", gt=[0.0]),
        "start_timeout": _definition("double", START_TIMEOUT, "s after activation within which"
                                     " there must be valid states", gt=[0.0]),
    }  # fmt: skip
    for number in NUMBERS:
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
        "motor_interface": _motor_interface(design),
        "command_interface": "effort",
    }
    kinds = {
        "joint_state_broadcaster": {"type": "joint_state_broadcaster/JointStateBroadcaster"},
        f"{name}_controller": {"type": f"{name}_controller/ElasticJointController"},
    }
    own = {each: {"ros__parameters": dict(kind)} for each, kind in kinds.items()}
    own[f"{name}_controller"]["ros__parameters"] |= parameters
    # The type is read here if this file is given to the controller manager, below by the spawner.
    return _yaml({"controller_manager": {"ros__parameters": {"update_rate": rate, **kinds}}} | own)


def _mock_hardware(design: ControllerDesign, name: str) -> str:
    """A robot without geometry whose links and motors stay where they are."""
    q = start_position(design)
    own = _motor_interface(design)
    found: dict[str, list[str]] = {}
    for joint, position in zip(design.model.joint_names, q, strict=True):
        found.setdefault(joint, []).append(_state_interface("position", position))
    theta = motors_at_rest(design, q)
    for motor, position in zip(design.actuators.motor_names, theta, strict=True):
        rows = ['      <command_interface name="effort"/>', _state_interface(own, position)]
        found.setdefault(motor, []).extend(rows)
    lines = [f"<robot name={quoteattr(name)}>", '  <link name="base"/>']
    for joint in found:
        lines += [
            f"  <link name={quoteattr('link_of_' + joint)}/>",
            f'  <joint name={quoteattr(joint)} type="continuous">',
            f'    <parent link="base"/><child link={quoteattr("link_of_" + joint)}/>',
            '    <axis xyz="0 0 1"/>',
            "  </joint>",
        ]
    lines += [
        f'  <ros2_control name="{name}_rehearsal" type="actuator">',
        f"    <hardware><plugin>{name}_controller/Rehearsal</plugin></hardware>",
        "  </ros2_control>",
        '  <ros2_control name="mock_hardware" type="system">',
        "    <hardware>",
        "      <plugin>mock_components/GenericSystem</plugin>",
        "    </hardware>",
    ]
    for joint, rows in found.items():
        lines += [f"    <joint name={quoteattr(joint)}>", *sorted(rows), "    </joint>"]
    return "\n".join([*lines, "  </ros2_control>", "</robot>", ""])


def _state_interface(name: str, value: float) -> str:
    return (
        f'      <state_interface name="{name}"><param name="initial_value">{float(value)!r}</param>'
        "</state_interface>"
    )


def _test_tables(design: ControllerDesign) -> str:
    """Where the ideal arm of the test is, and the torques that hold it there."""
    q = start_position(design)
    motors = rest_of_motors(design, q)
    tables = (("START", q), ("START_MOTORS", motors.position), ("WEIGHT", motors.torque))
    return "".join(c_source.constant_array(name, row, "double") for name, row in tables)
