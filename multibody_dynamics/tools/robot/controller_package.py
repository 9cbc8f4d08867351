# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C99 of a controller for one robot with elastic joints: library, self-test, example, timing.

The recursions come from the recorded graph (:mod:`.c_package`), the springs and motors from the
scalar source of the flat map, translated (:mod:`.codegen.c_translation`). What
Python and C share of the cycle is printed from its source in Python (:mod:`.printed_cycle`);
the rest are the templates in `controller_templates/`, which read as C with the prefix `robot_`. The
prefix becomes the name of the robot, and `//TABLES//` its numbers.
"""

import hashlib
from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import __version__
from ...dynamics.codegen import Program, c_records, c_source, c_translation, c_types
from ...dynamics.control import CycleSettings, driven_links, printed_cycle, softest_outputs
from ...dynamics.elastic import (
    actuator_rows,
    add_slip,
    advance_bristles,
    advance_filters,
    flat_map,
    friction,
    link_friction,
    resting_second_outputs,
)
from ...dynamics.plant import ElasticRobot
from ...dynamics.rigid import (
    trace_forward_dynamics,
    trace_gravity_forces,
    trace_inverse_dynamics,
    trace_momentum,
)
from .c_package import cmake, declaration, header, joint_lines, prefix
from .controller_plugin import in_tables, in_template, plugin_files
from .generated_design import ControllerDesign, motors_at_rest, start_position
from .generated_notice import with_notice
from .recorded_cycles import record_cycles

TEMPLATES = Path(__file__).parent / "controller_templates"
MARK = "//TABLES//"
CORE = ("controller.h", "controller.c")
PROGRAMS = ("ideal_arm.h", "example.c", "timing.c", "self_test.c",
            "ros2_control/simulated_arm.h", "ros2_control/simulated_arm.c")  # fmt: skip


def controller_package(
    design: ControllerDesign, name: str = "", sources: Sequence[str] = ()
) -> dict[str, str]:
    """The files of the controller by name.

    name : beginning of all names in C; that of the robot if empty. sources : lines about the files
    that describe the robot, for the head of every file. Raises InputError for a name that is not
    an identifier, and for actuators that cannot be translated into C.
    """
    name = prefix(name or design.model.name, is_given=bool(name))
    texts = {
        "dynamics.h": _dynamics_header(design),
        "dynamics.c": _dynamics(design),
        "actuators.h": "",
        "actuators.c": "",
    }
    texts["actuators.h"], texts["actuators.c"] = _actuators(design)
    printed = printed_cycle(
        design.actuators, CycleSettings(**design.parameters), design.stream_limits
    )
    texts |= printed.files
    marks = {
        "controller.h": {
            "//MODES//": printed.enumerations,
            "//PARAMETERS//": printed.settings,
            "//COUNTS//": printed.counts,
            "//RECORDS//": printed.records,
        },
        "controller.c": {MARK: _robot_tables(design), "//PROTOTYPES//": printed.prototypes},
        "ideal_arm.h": {MARK: start_tables(design)},
        "ros2_control/simulated_arm.h": {"//DYNAMICS//": _simulated_dynamics(design)[0]},
        "ros2_control/simulated_arm.c": {MARK: _simulated_arm(design)},
        "self_test.c": {MARK: _recorded(design)},
    }
    head = _head(design, sources) + "\n"
    files = {}
    for file, text in texts.items():  # settings contain names of joints in quotes
        prefixed = (in_tables if file == "settings.c" else in_template)(text, name)
        files[f"{name}_{file}"] = head + _folded_rows(prefixed)
    for file in (*CORE, *PROGRAMS):
        text = in_template((TEMPLATES / file).read_text(encoding="utf-8"), name)
        for mark, printed_text in marks.get(file, {}).items():
            text = text.replace(mark, in_tables(printed_text, name))
        own = file if file in PROGRAMS else f"{name}_{file}"
        files[own] = head + _folded_rows(text.replace("\n\n\n", "\n\n"))
    compiled = [file for file in files if file.endswith(".c") and file not in PROGRAMS]
    files["CMakeLists.txt"] = cmake(f"{name}_controller", name, compiled, is_controller=True)
    return with_notice(files | plugin_files(design, name, sources))


def source_of(path: Path) -> str:
    """A file by its name and content, for the head of generated files."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{path.name}, SHA-256 {digest[:32]}"


def _folded_rows(text: str) -> str:
    """The text with rows of tables in lines that are not too long."""
    lines = text.splitlines()
    folded = (
        c_records.folded_row(line) if line.lstrip().startswith("{") else [line] for line in lines
    )
    return "\n".join(part for each in folded for part in each) + "\n"


def _head(design: ControllerDesign, sources: Sequence[str]) -> str:
    model, actuators = design.model, design.actuators
    motors = [f"    {j:2}  {motor}" for j, motor in enumerate(actuators.motor_names)]
    return c_source.comment(
        [
            f"Controller of the robot {model.name}, generated by multibody_dynamics {__version__}",
            *(f"from {line}" for line in sources),
            f"Law: {design.options.law}. Change the source and generate again instead of editing.",
            "",
            "Rows of joints:",
            *joint_lines(model),
            "Rows of motors, on the link side of the gear:",
            *motors,
            "",
            "SI units. The code needs math.h alone. It allocates nothing, has no global state, and",
            "calls neither the system nor anything that waits.",
        ]
    )


# The recursions


def _programs(design: ControllerDesign) -> dict[str, tuple[str, Program]]:
    links = driven_links(design.model, design.actuators, has_sensors=False).model
    return {
        "robot_inverse_dynamics_2": (
            "Torques Q of the links, with two rates, along q..q''''",
            trace_inverse_dynamics(design.model, 2),
        ),
        "robot_gravity_forces": (
            "Torques that hold the links at rest",
            trace_gravity_forces(design.model),
        ),
        "robot_momentum": (
            "Momentum p and beta = g - dT/dq, with p' = Q - beta",
            trace_momentum(links),
        ),
    }


def _simulated_dynamics(design: ControllerDesign) -> tuple[str, str]:
    """Declaration and definition of the forward dynamics, with the rotors of rigid joints."""
    links = driven_links(design.model, design.actuators, has_sensors=False).model
    program, name = trace_forward_dynamics(links), "robot_forward_dynamics"
    purpose = "Accelerations of the links under the torques of springs and rigid joints"
    return declaration(program, name, purpose), c_source.function(program, name)


def _dynamics_header(design: ControllerDesign) -> str:
    parts = [f"#define ROBOT_JOINTS {design.model.n}\n"]
    for name, (purpose, program) in _programs(design).items():
        parts.append(declaration(program, name, purpose))
    return header("ROBOT_DYNAMICS_H", parts)


def _dynamics(design: ControllerDesign) -> str:
    parts = ['#include "robot_dynamics.h"\n\n#include <math.h>\n']
    parts += (c_source.function(each, name) for name, (_, each) in _programs(design).items())
    return "\n".join(parts)


# Springs and motors


class Entry(NamedTuple):
    """A translated function: its name in C, in Python, types of its arguments, purpose."""

    name: str
    function: Any
    types: dict[str, Any]
    purpose: str


def _entries(design: ControllerDesign, tables: Mapping[str, Any]) -> list[Entry]:
    actuators = design.actuators
    n, m, v = actuators.n, len(actuators.motors), len(actuators.variable_joints)

    def row(*shape: int, kind: str = "double") -> c_types.ArrayType:
        return c_types.ArrayType(kind, shape)

    states = row(actuators.state_count)
    common = {"own": c_types.NONE, "second": row(3, v)} | dict(tables)
    return [  # friction first: the feedforward then calls it by its public name
        Entry("robot_motor_friction", friction, common | {
            "j": "int", "velocity": "double", "load": "double",
        }, "Friction torque of motor j."),
        Entry("robot_link_friction", link_friction, common | {
            "i": "int", "velocity": "double", "torque": "double",
        }, "Friction torque of link i, under the torque of its springs."),
        Entry("robot_motor_feedforward", flat_map.feedforward_cycle, common | {
            "state": row(5, n), "torque": row(3, n), "carried": row(3, n), "filtered": states,
            "deflection": row(m),
            "load": row(m), "result": row(4, m), "flags": row(m, kind="int"),
        }, "Motors along a motion of the links: result = theta, theta', theta'', tau."),
        Entry("robot_spring_torques", flat_map.springs_recursion, common | {
            "q": row(n), "qd": row(n), "theta": row(m), "thetad": row(m), "torque": row(n),
            "rate": row(n), "K": row(n), "load": row(m), "deflection": row(m),
        }, "Torques of the springs at a measured state, their stiffness, and loads of the motors."),
        Entry("robot_advance_springs", advance_filters, common | {
            "torque": row(3, n), "filtered": states, "dt": "double",
        }, "Deflections of damped springs, dt later, and of slip elements."),
        Entry("robot_advance_bristles", advance_bristles, common | {
            "state": row(5, n), "filtered": states, "dt": "double",
        }, "Bristles of links along a motion, dt later."),
        Entry("robot_add_slip", add_slip, common | {
            "filtered": states, "torque": row(n), "load": row(m),
        }, "Torques of slip elements, added to those of springs and to loads of motors."),
    ]  # fmt: skip


def _actuators(design: ControllerDesign) -> tuple[str, str]:
    """Header and source, translated from the scalar functions of the flat map."""
    actuators = design.actuators
    rows = actuator_rows(actuators)
    numbers = {
        "ACTUATORS": rows.joints,
        "MOTORS": rows.motors,
        "LAWS": rows.laws,
        "PIECES": rows.pieces,
        "VARIANT": np.ones(2),
    }
    names = ("joints", "motors", "laws", "pieces", "variant")
    tables = {
        name: c_types.table(key, numbers[key]) for name, key in zip(names, numbers, strict=True)
    }
    module, declared = c_translation.Module(), []
    for name, function, types, purpose in _entries(design, tables):
        arguments = signature(getattr(function, "py_func", function)).parameters
        chosen = {each: types[each] for each in arguments}
        declared.append(c_source.comment([purpose]) + module.add(name, function, chosen) + ";\n")
    v = len(actuators.variable_joints)
    sizes = {"MOTORS": len(actuators.motors), "VARIABLE": v, "SECOND": max(v, 1)}
    sizes["STATES"] = actuators.state_count
    parts = [
        "".join(f"#define ROBOT_{key} {value}\n" for key, value in sizes.items()),
        c_source.comment(
            [
                "ROBOT_VARIABLE joints have a second output, stiffness or pretension; arrays of",
                "second outputs have ROBOT_SECOND columns, at least one. ROBOT_STATES are the",
                "deflections of all joints, the torques of slip elements, and bristles of links.",
            ]
        ),
        *declared,
    ]
    source = '#include "robot_actuators.h"\n\n#include <math.h>\n\n' + module.text(numbers)
    return header("ROBOT_ACTUATORS_H", parts), source


# Tables of the templates


def _robot_tables(design: ControllerDesign) -> str:
    actuators = design.actuators
    second = np.append(resting_second_outputs(actuators), 0.0)
    softest = np.append(softest_outputs(actuators), 0.0)
    lines = [
        c_types.table_definition("HAS_MEMORY", actuators.has_memory).rstrip(),
        c_source.constant_array("SECOND_AT_REST", second, "double").rstrip(),
        c_source.constant_array("SOFTEST_SECOND", softest, "double").rstrip(),
    ]
    return "\n".join(lines)


def _simulated_arm(design: ControllerDesign) -> str:
    actuators = design.actuators
    second = np.append(resting_second_outputs(actuators), 0.0)
    step = ElasticRobot(design.model, actuators).step_size
    tables = {"INERTIA": actuators.motor_inertia, "TORQUE_LIMIT": actuators.torque_limit,
              "SECOND_AT_REST": second, "FIRST_MOTOR": actuators.first_motor,
              "IS_RIGID": actuators.is_rigid}  # fmt: skip
    return "\n".join(
        [
            f"static const double STEP = {c_source.literal(step, 'double')}; /* s */",
            *(c_types.table_definition(name, row).rstrip() for name, row in tables.items()),
            start_tables(design),
            _simulated_dynamics(design)[1],
        ]
    )


def start_tables(design: ControllerDesign) -> str:
    """A position in the middle of the joint ranges, and the motors that hold it."""
    q = start_position(design)
    theta = motors_at_rest(design, q)
    return (
        "/* A position, and the motors that hold the arm there. */\n"
        + c_source.constant_array("START", q, "double")
        + c_source.constant_array("START_MOTORS", theta, "double")
    )


def _recorded(design: ControllerDesign) -> str:
    run = record_cycles(design, start_position(design))
    goal = np.vstack([run.goal, np.zeros((4, len(run.goal)))])
    inputs = zip(run.time, run.link_time, run.time, run.q, run.theta, strict=True)
    tables = {"STATE": run.state, "TORQUE": run.torque}
    lines = [
        f"#define CYCLES {len(run.time)}",
        f"#define ACTIVATED {run.activated}",
        f"#define APPENDED {run.appended}",
        f"#define GOAL_TIME {c_source.literal(run.goal_time, 'double')}\n",
        c_types.table_definition("GOAL", goal).replace("const ", ""),
        "static const robot_input INPUT[CYCLES] = {",
        *(f"    {c_records.initialiser(each, c_types.DOUBLE)}," for each in inputs),
        "};\n",
    ]
    lines += (c_types.table_definition(name, rows) for name, rows in tables.items())
    return "\n".join(lines)
