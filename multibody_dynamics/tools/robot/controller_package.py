# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C99 of a controller for one robot with elastic joints: library, self-test, example, timing.

The recursions come from the recorded graph (:mod:`.c_package`), the springs and motors from the
scalar source of the flat map, translated (:mod:`.c_actuators`). What
Python and C share of the cycle is printed from its source in Python (:mod:`.printed_cycle`);
the rest are the templates in `controller_templates/`, which read as C with the prefix `robot_`. The
prefix becomes the name of the robot, and `//TABLES//` its numbers.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...dynamics.codegen import Program, c_records, c_source, c_types
from ...dynamics.control import (
    CycleSettings,
    driven_links,
    printed_cycle,
    softest_outputs,
    stiffness_settings,
)
from ...dynamics.elastic import resting_second_outputs
from ...dynamics.plant import ElasticRobot
from ...dynamics.rigid import (
    trace_forward_dynamics,
    trace_gravity_forces,
    trace_inverse_dynamics,
    trace_momentum,
)
from . import c_loops
from .c_actuators import c_actuators
from .c_package import cmake, declaration, joint_lines, prefix
from .controller_plugin import in_tables, in_template, plugin_files
from .generated_design import ControllerDesign, motors_at_rest, start_position
from .generated_notice import with_notice
from .recorded_cycles import record_cycles

TEMPLATES = Path(__file__).parent / "controller_templates"
MARK = "//TABLES//"
TRAVEL = 0.2  # rad or m
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
    texts, memory = _dynamics(design)
    texts["actuators.h"], texts["actuators.c"] = c_actuators(design.actuators)
    settings = CycleSettings(**design.parameters)
    names = c_loops.loop_names(design.model)
    printed = printed_cycle(design.actuators, settings, design.stream_limits, memory, names)
    texts |= printed.files
    forward, simulated = _simulated_dynamics(design)
    loops = "" if memory == c_types.NONE else f"    {memory.name} loops;\n"
    marks = {
        "controller.h": {
            "//MODES//": printed.enumerations,
            "//PARAMETERS//": printed.settings,
            "//OUTPUT//": printed.output,
            "//RECORDS//": printed.records,
        },
        "controller.c": {
            MARK: _robot_tables(design),
            "//PROTOTYPES//": printed.prototypes,
            "//REQUESTS//": printed.requests,
        },
        "ideal_arm.h": {MARK: start_tables(design) + _travel(design)},
        "ros2_control/simulated_arm.h": {"//DYNAMICS//": forward},
        "ros2_control/simulated_arm.c": {MARK: _simulated_arm(design) + simulated},
        "self_test.c": {MARK: _recorded(design)},
    }
    memories = {
        "controller.c": (texts["dynamics.h"] + printed.prototypes, "&c->loops"),
        "ros2_control/simulated_arm.c": (forward, "&arm->loops"),
    }
    head = _head(design, sources) + "\n"
    files = {}
    for file, text in texts.items():  # settings contain names of joints in quotes
        prefixed = (in_tables if file == "settings.c" else in_template)(text, name)
        files[f"{name}_{file}"] = head + _folded_rows(prefixed)
    for file in (*CORE, *PROGRAMS):
        text = (TEMPLATES / file).read_text(encoding="utf-8").replace("//LOOPS//\n", loops)
        if file in memories:
            text = c_loops.with_memory(text, *memories[file])
        text = in_template(text, name)
        for mark, printed_text in marks.get(file, {}).items():
            text = text.replace(mark, in_tables(printed_text, name))
        own = file if file in PROGRAMS else f"{name}_{file}"
        files[own] = head + _folded_rows(text.replace("\n\n\n", "\n\n"))
    compiled = [file for file in files if file.endswith(".c") and file not in PROGRAMS]
    files["CMakeLists.txt"] = cmake(f"{name}_controller", name, compiled, is_controller=True)
    return with_notice(files | plugin_files(design, name, sources))


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
    head = c_loops.prototype(name, program)
    return declaration(program, head, purpose), c_loops.defined(name, program)


def _dynamics(design: ControllerDesign) -> tuple[dict[str, str], Any]:
    """Header and source of the recursions, and the type of the memory of their loops."""
    programs, rates = _programs(design), trace_inverse_dynamics(design.model, 2)
    gravity = programs["robot_gravity_forces"][1]
    declarations, definitions = c_loops.approach(design.model, gravity)
    along, source = c_loops.of_states("robot_torques_along", rates)
    purpose = "Torques Q of the links, with two rates, along q..q'''' of one motion or two"
    heads = [f"#define ROBOT_JOINTS {design.model.n}\n", declarations]
    heads.append(declaration(rates, along, purpose))
    parts = ['#include "robot_dynamics.h"\n\n#include <math.h>\n', source]
    for name, (purpose, program) in programs.items():
        heads.append(declaration(program, c_loops.prototype(name, program), purpose))
        parts.append(c_loops.defined(name, program))
    files = {
        "dynamics.h": c_source.header("ROBOT_DYNAMICS_H", filter(None, heads)),
        "dynamics.c": "\n".join(filter(None, [*parts, definitions])),
    }
    return files, c_loops.memory(gravity)


# Tables of the templates


def _robot_tables(design: ControllerDesign) -> str:
    actuators = design.actuators
    second = np.append(resting_second_outputs(actuators), 0.0)
    softest = np.append(softest_outputs(actuators), 0.0)
    lines = [
        c_types.table_definition("HAS_MEMORY", actuators.has_memory).rstrip(),
        c_source.constant_array("SECOND_AT_REST", second, "double").rstrip(),
        c_source.constant_array("SOFTEST_SECOND", softest, "double").rstrip(),
        c_types.table_definition("STIFFNESS_SETTINGS", stiffness_settings(actuators)).rstrip(),
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
            "",
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


def _travel(design: ControllerDesign) -> str:
    """How far the programs move the first joint: at most half of the way to its farther limit."""
    limits, start = design.model.limits, start_position(design)[0]
    up, down = limits.upper[0] - start, start - limits.lower[0]
    travel = min(TRAVEL, 0.5 * up) if up >= down else -min(TRAVEL, 0.5 * down)
    return f"static const double TRAVEL = {c_source.literal(travel, 'double')}; /* rad or m */\n"


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
