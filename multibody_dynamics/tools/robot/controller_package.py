# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C99 of a controller for one robot with elastic joints: library, self-test, example, timing.

The recursions come from the recorded graph (:mod:`.c_package`), the springs and motors from the
scalar source of the flat map, translated (:mod:`.c_actuators`). What
Python and C share of the cycle is printed from its source in Python (:mod:`.printed_cycle`);
the rest are the templates in `controller_templates/`, which read as C with the prefix `robot_`. The
prefix becomes the name of the robot, and `//TABLES//` its numbers.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ... import __version__
from ...dynamics.codegen import Program, c_records, c_source, c_types
from ...dynamics.control import CycleSettings, driven_links, printed_cycle, softest_outputs
from ...dynamics.elastic import resting_second_outputs
from ...dynamics.plant import ElasticRobot
from ...dynamics.rigid import (
    trace_forward_dynamics,
    trace_gravity_forces,
    trace_inverse_dynamics,
    trace_momentum,
)
from .c_actuators import c_actuators
from .c_package import cmake, declaration, joint_lines, prefix
from .controller_plugin import in_tables, in_template, plugin_files
from .generated_design import ControllerDesign, motors_at_rest, start_position
from .generated_notice import with_notice
from .recorded_cycles import record_cycles

TEMPLATES = Path(__file__).parent / "controller_templates"
MARK = "//TABLES//"
CORE = ("controller.h", "controller.c")
PROGRAMS = ("ideal_arm.h", "example.c", "timing.c", "self_test.c",
            "ros2_control/simulated_arm.h", "ros2_control/simulated_arm.c")  # fmt: skip
CMAKE = """
if(UNIX)
  add_executable(ROBOT_timing timing.c)
  target_link_libraries(ROBOT_timing ROBOT_controller)
endif()

include(ros2_control/plugin.cmake)
"""


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
    texts["actuators.h"], texts["actuators.c"] = c_actuators(design.actuators)
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
    files["CMakeLists.txt"] = cmake(f"{name}_controller", name, compiled) + CMAKE.replace(
        "ROBOT", name
    )
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
    return c_source.header("ROBOT_DYNAMICS_H", parts)


def _dynamics(design: ControllerDesign) -> str:
    parts = ['#include "robot_dynamics.h"\n\n#include <math.h>\n']
    parts += (c_source.function(each, name) for name, (_, each) in _programs(design).items())
    return "\n".join(parts)


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
