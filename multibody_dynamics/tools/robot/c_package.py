# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C99 source of the dynamics of one robot: a library, a self-test and an example.

With springs and motors, the library has the feedforward of the motors, too.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ... import __version__
from ...dynamics import MultibodyModel, forward_dynamics, inverse_dynamics
from ...dynamics.codegen import Program, c_source, c_types
from ...dynamics.core import STATE_ROWS, Array, InputError
from ...dynamics.elastic import Actuators, MotorFeedforward
from ...dynamics.mechanisms import (
    STRIDE,
    ClosedChainModel,
    trace_constrained_inverse_dynamics,
)
from ...dynamics.rigid import (
    TracedInputs,
    inverse_solver,
    trace_forward_dynamics,
    trace_inverse_dynamics,
)
from .c_actuators import c_actuators
from .controller_plugin import in_template
from .generated_notice import with_notice

# of the largest component, in the self-test: of inverse dynamics and of forward dynamics, whose
# errors grow with the condition of the mass matrix
TOLERANCES = {"double": (1e-12, 1e-9), "float": (1e-4, 1e-2)}
RECORDED = 10  # states of the self-test
LARGEST_RATE = 2.0  # of recorded states, in rad or m and per s^k; also the range of free joints
AROUND_HOME = 0.3  # rad or m, of recorded states of a robot with loops
IN_A_CYCLE = 5e-3  # rad or m, from the last configuration


class Options(NamedTuple):
    """What to generate.

    name : the prefix of all names in C, an identifier; that of the robot if empty.
    order : highest derivative of the torques, 0 to 2.
    precision : "double" or "float".
    payload : link that carries a payload, which is then an input of every call; none if empty.
    wrenches : links on which the world exerts wrenches, which are then inputs of every call.
    gravity : whether the gravity vector is an input of every call.
    """

    name: str = ""
    order: int = 2
    precision: c_source.Precision = "double"
    payload: str = ""
    wrenches: tuple[str, ...] = ()
    gravity: bool = False


class Function(NamedTuple):
    """A function in C, and states with its results from the general recursions."""

    name: str
    purpose: str
    program: Program
    values: dict[str, Array]  # (RECORDED, entries) of each input and result


DEFAULTS = Options()


def c_package(
    model: MultibodyModel, options: Options = DEFAULTS, actuators: Actuators | None = None
) -> dict[str, str]:
    """The files of the package by name.

    actuators : springs and motors, whose feedforward is then a part of the library.

    Raises InputError for unknown links, for a name that is not an identifier, and for single
    precision or an order below 2 where springs, motors or loops do not permit them.
    """
    name = prefix(options.name or model.name, is_given=bool(options.name))
    if options.precision not in TOLERANCES:
        raise InputError(f"precision: expected double or float, got {options.precision}")
    if options.precision == "float" and (actuators or isinstance(model, ClosedChainModel)):
        raise InputError("precision: loops, springs and motors need double, got float")
    if options.order < 2 and actuators:
        raise InputError(f"order: the feedforward of motors needs Q' and Q'', got {options.order}")
    functions = _functions(model, name, options)
    library = f"{name}_dynamics"
    files = {
        f"{library}.h": _header(model, name, functions, options),
        f"{library}.c": _source(library, functions, options),
        "self_test.c": _self_test(library, functions, options),
        "example.c": _example(model, name, functions[options.order], options),
        "CMakeLists.txt": cmake(library, library, [f"{library}.c"]),
    }
    if actuators:
        _add_actuators(files, name, actuators, functions[2])
    return with_notice(files)


def _add_actuators(
    files: dict[str, str], name: str, actuators: Actuators, dynamics: Function
) -> None:
    """The flat map of the motors, and its comparison with this package at the recorded states."""
    texts = zip(("h", "c"), c_actuators(actuators), strict=True)
    sources = {f"{name}_actuators.{kind}": in_template(text, name) for kind, text in texts}
    files |= sources
    files["CMakeLists.txt"] = files["CMakeLists.txt"].replace(
        f"  {name}_dynamics.c", f"  {name}_dynamics.c\n  {name}_actuators.c"
    )
    flat = MotorFeedforward(actuators)
    given, expected = np.empty((RECORDED, 8, actuators.n)), []
    for k in range(RECORDED):
        for row, key in enumerate((*STATE_ROWS, "tau", "tau_dot", "tau_ddot")):
            given[k, row] = dynamics.values[key][k]
        flat.state[:], flat.torque[:] = given[k, :5], given[k, 5:]
        flat.settle()
        flat.update()
        expected.append(flat.result.copy())
    flat.settle()
    second = flat.stiffness if actuators.variable_joints else np.zeros((3, 1))
    tables = [
        c_types.table_definition("MOTION", given.reshape(RECORDED, -1)),
        c_types.table_definition("MOTORS", np.array(expected).reshape(RECORDED, -1)),
        c_types.table_definition("SECOND", second).replace("const ", ""),
        c_types.table_definition("SETTLED", flat.states),
    ]
    test = in_template("\n".join([*tables, MOTOR_TEST]), name)
    includes = f'#include "{name}_actuators.h"\n', f'#include "{name}_dynamics.h"\n'
    start = "int main(void)\n{\n    int failures = "
    for old, new in (
        (includes[1], "".join(includes)),
        ("#include <stdlib.h>\n", "#include <stdlib.h>\n#include <string.h>\n"),
        (f"{start}0;", f"{test}\n{start}test_motor_feedforward();"),
    ):
        files["self_test.c"] = files["self_test.c"].replace(old, new)


def prefix(name: str, *, is_given: bool) -> str:
    """The beginning of all names in C. Raises InputError for a given name that is not one."""
    found = c_source.identifier(name)
    if is_given and found != name:
        raise InputError(f"name: '{name}' is not a lower-case C identifier; try '{found}'")
    return found


def declaration(
    program: Program, name: str, purpose: str, precision: c_source.Precision = "double"
) -> str:
    """The declaration of the function of a program, with a comment."""
    size = f"{program.size} sums, products and quotients."
    text = c_source.prototype(program, name, precision)
    return f"{c_source.comment([f'{purpose}; {size}'])}{text};\n"


def joint_lines(model: MultibodyModel) -> list[str]:
    """The joints with their numbers and units, for a comment."""
    return [
        f"    {i:2}  {joint}: {'rad, N m' if model.joint_types[i] != 'prismatic' else 'm, N'}"
        for i, joint in enumerate(model.joint_names)
    ]


def cmake(library: str, name: str, sources: Iterable[str]) -> str:
    """CMakeLists.txt of a library in C, its example and its self-test, `name`_self_test."""
    text = CMAKE.replace("SOURCES", "\n  ".join(sources))
    return re.sub(r"\bNAME_", f"{name}_", text.replace("LIBRARY", library))


def write(files: Mapping[str, str], folder: Path) -> None:
    """Write the files; the folder is created if necessary. Raises OSError if that fails."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _functions(model: MultibodyModel, name: str, options: Options) -> list[Function]:
    inputs = TracedInputs(
        gravity=np.ones(3, dtype=bool) if options.gravity else None,
        payload=options.payload or None,
        wrenches=options.wrenches,
    )
    given, robot = _recorded(model, options)
    loads = [f"wrench {k}" for k in range(len(options.wrenches))]
    wrenches = {link: given[name] for link, name in zip(options.wrenches, loads, strict=True)}

    def others(order: int) -> dict[str, Array]:
        """The inputs other than the state, (RECORDED, entries)."""
        functions = {key: given[key] for key in ("gravity", "payload") if key in given}
        return functions | {key: given[key][:, : order + 1].reshape(RECORDED, -1) for key in loads}

    functions = []
    for order in range(options.order + 1):
        rows = {row: given[row] for row in STATE_ROWS[: order + 3]}
        torques = inverse_dynamics(robot, **rows, wrenches=wrenches)[: order + 1]
        results = dict(zip(("tau", "tau_dot", "tau_ddot"), torques, strict=False))
        if isinstance(model, ClosedChainModel):
            program = trace_constrained_inverse_dynamics(inverse_solver(model), order, inputs)
            motion = np.stack(model.tree_motion(*rows.values()), axis=1)
            results |= {"last": given["last"], "motion": motion.reshape(RECORDED, -1)}
        else:
            program = trace_inverse_dynamics(model, order, inputs=inputs)
        functions.append(
            Function(
                f"{name}_inverse_dynamics" + (f"_{order}" if order else ""),
                "Joint torques" + ("", " and their rates", " with two rates")[order],
                program,
                rows | others(order) | results,
            )
        )
    if isinstance(model, ClosedChainModel):
        return functions
    rows = {"q": given["q"], "qd": given["qd"], "tau": functions[0].values["tau"]}
    now = {link: W[:, 0] for link, W in wrenches.items()}
    accelerations = {"qdd": forward_dynamics(robot, **rows, wrenches=now)}
    functions.append(
        Function(
            f"{name}_forward_dynamics",
            "Joint accelerations",
            trace_forward_dynamics(model, inputs),
            rows | others(0) | accelerations,
        )
    )
    return functions


def _recorded(model: MultibodyModel, options: Options) -> tuple[dict[str, Array], MultibodyModel]:
    """Random values of all inputs within the joint ranges, and the robot that they describe."""
    rng, n = np.random.default_rng(1), model.n
    lower = np.where(np.isfinite(model.limits.lower), model.limits.lower, -LARGEST_RATE)
    upper = np.where(np.isfinite(model.limits.upper), model.limits.upper, LARGEST_RATE)
    given = {"q": rng.uniform(lower, upper, (RECORDED, n))}
    if isinstance(model, ClosedChainModel):
        given |= _closed_positions(model, rng, lower, upper)
    for row in STATE_ROWS[1:]:
        given[row] = rng.uniform(-LARGEST_RATE, LARGEST_RATE, (RECORDED, n))
    robot = model
    if options.gravity:
        given["gravity"] = np.tile(rng.uniform(-9.81, 9.81, 3), (RECORDED, 1))
        robot = robot.with_gravity(given["gravity"][0])
    if options.payload:
        mass, com = 1.5, rng.uniform(-0.1, 0.1, 3)
        about_com = np.diag([0.01, 0.02, 0.025]) + 0.002 * (1 - np.eye(3))
        robot = robot.with_payload(options.payload, mass, com, about_com, name="recorded payload")
        numbers = [mass, *com, *about_com[np.triu_indices(3)]]
        given["payload"] = np.tile(numbers, (RECORDED, 1))
    for k in range(len(options.wrenches)):
        given[f"wrench {k}"] = rng.uniform(-5.0, 5.0, (RECORDED, 3, 6))
    return given, robot


def _closed_positions(
    model: ClosedChainModel, rng: np.random.Generator, lower: Array, upper: Array
) -> dict[str, Array]:
    """Positions around the assembled one that the loops allow, and all joints a cycle before.

    Raises InputError if there are none."""
    steps = rng.uniform(-AROUND_HOME, AROUND_HOME, (10 * RECORDED, model.n))
    q = np.clip(model.home + steps, lower, upper)
    q = q[model.reaches(q)][:RECORDED]
    if len(q) < RECORDED:
        raise InputError(
            f"robot '{model.name}' reaches too few positions within {AROUND_HOME} rad or m of "
            f"`assembled` to record a self-test: choose another configuration"
        )
    last = model.configuration(q + rng.uniform(-IN_A_CYCLE, IN_A_CYCLE, q.shape))
    return {"q": q, "last": last}


def _header(model: MultibodyModel, name: str, functions: list[Function], options: Options) -> str:
    parts = [f"#define {name.upper()}_JOINTS {model.n}\n"]
    parts += (
        declaration(each.program, each.name, each.purpose, options.precision) for each in functions
    )
    text = c_source.header(f"{name.upper()}_DYNAMICS_H", parts)
    return f"{c_source.comment(_conventions(model, options))}\n{text}"


def _conventions(model: MultibodyModel, options: Options) -> list[str]:
    lines = [
        f"Dynamics of the robot {model.name}, generated by multibody_dynamics {__version__}.",
        "",
        "Every array has one entry per joint, in this order, in SI units:",
        "",
        *joint_lines(model),
        "",
        "q, qd, qdd, qddd, qdddd are the joint positions and their time derivatives; tau, tau_dot,",
        "tau_ddot the torques of the joints, or forces, and their time derivatives. The base is at",
        "rest. Arguments must not overlap. The functions allocate nothing, keep nothing between",
        "calls, and check nothing: an infinite input or NaN gives meaningless results.",
    ]
    if not options.gravity:
        lines += ["", f"Gravity: ({', '.join(f'{x:g}' for x in model.gravity)}) m/s^2."]
    else:
        lines += ["", "gravity: acceleration (3) of free fall in the base frame, m/s^2."]
    if options.payload:
        lines += [
            "",
            f"payload, on the link {options.payload} and in its frame: mass in kg; centre of mass",
            "(x, y, z) in m; inertia about it (xx, xy, xz, yy, yz, zz) in kg m^2. All zero: none.",
        ]
    if isinstance(model, ClosedChainModel):
        names = ", ".join(f"'{loop.name}'" for loop in model.loops)
        lines += [
            "",
            f"Loops: {names}. They determine the other joints. last: q of all joints in the last",
            "cycle, at first those below, in their order; the next one is the beginning of motion,",
            "which holds q, qd, ... of all joints. If an entry of closure is not within -1 and 1,",
            "NaN included, all results are invalid and last must be kept: the motors are farther",
            f"than {STRIDE:g} rad or m from last, or the pose is singular or out of reach.",
            "",
            *(
                f"    {i:2}  {joint}: {x:.17g}"
                for i, (joint, x) in enumerate(
                    zip(model.tree_joint_names, model.assembled, strict=True)
                )
            ),
        ]
    for k, link in enumerate(options.wrenches):
        lines += [
            "",
            f"wrench_{k}: what the world exerts on the link {link}: moment (3) in N m and force",
            "(3) in N, in the axes of the base frame and about its origin; then their rates.",
        ]
    return lines


def _source(library: str, functions: list[Function], options: Options) -> str:
    parts = [f'#include "{library}.h"\n', "#include <math.h>\n"]
    parts += (
        c_source.function(function.program, function.name, options.precision)
        for function in functions
    )
    return "\n".join(parts)


def _self_test(library: str, functions: list[Function], options: Options) -> str:
    precision = options.precision
    parts = [
        c_source.comment(
            [
                f"Compares the functions of {library} with {RECORDED} recorded states; the exit",
                "status is 0 if all results agree.",
            ]
        ),
        f'#include "{library}.h"\n\n#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n',
        f"#define STATES {RECORDED}\n",
        COMPARE.replace("REAL", precision),
    ]
    if any("closure" in function.program.results for function in functions):
        parts.append(INVALID)
    for function in functions:
        parts.append(_test_of(function, precision))
    calls = "\n".join(f"    failures += test_{function.name}();" for function in functions)
    parts.append(
        "int main(void)\n{\n    int failures = 0;\n"
        f"{calls}\n    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;\n}}\n"
    )
    return "\n".join(parts)


def _test_of(function: Function, precision: c_source.Precision) -> str:
    arguments = c_source.arguments(function.program)
    names = [*function.program.inputs, *function.program.results]
    lines, call, results = [], [], []
    for argument, name in zip(arguments, names, strict=True):
        if name == "closure":
            call.append(name)
            continue
        recorded = f"{function.name}_{argument.name}"
        values = function.values[name].ravel().tolist()
        lines.append(c_source.constant_array(recorded, values, precision))
        size = argument.entries
        call.append(f"&{recorded}[k * {size}]" if argument.is_input else argument.name)
        if not argument.is_input:
            results.append((argument.name, recorded, size))
    body = [f"static int test_{function.name}(void)", "{", "    double error = 0.0;", "    int k;"]
    body += (f"    {precision} {name}[{size}];" for name, _, size in results)
    closes = len(function.program.results.get("closure", ()))
    body += [f"    {precision} closure[{closes}];"] * bool(closes)
    body += ["    for (k = 0; k < STATES; ++k) {", f"        {function.name}("]
    body += [
        f"            {text}{',' if i < len(call) - 1 else ');'}" for i, text in enumerate(call)
    ]
    body += (
        f"        error = fmax(error, difference({name}, &{recorded}[k * {size}], {size}));"
        for name, recorded, size in results
    )
    if closes:
        body.append(f"        error = fmax(error, invalid(closure, {closes}));")
    tolerance = TOLERANCES[precision]["qdd" in function.program.results]
    body += ["    }", f'    return report("{function.name}", error, {tolerance:g});', "}", ""]
    return "\n".join([*lines, *body])


def _example(model: MultibodyModel, name: str, function: Function, options: Options) -> str:
    """Torques at rest in the middle of the joint ranges, without loads."""
    start = {"q": model.limits.middle, "gravity": model.gravity}
    if isinstance(model, ClosedChainModel):
        start |= {"q": model.home, "last": model.assembled}
    precision = options.precision
    lines = []
    for argument in c_source.arguments(function.program):
        values = start.get(argument.name)
        if not argument.is_input or values is None:
            lines.append(f"    {precision} {argument.name}[{argument.entries}] = {{0}};")
        else:
            texts = ", ".join(c_source.literal(x, precision) for x in values)
            lines.append(
                f"    const {precision} {argument.name}[{argument.entries}] = {{{texts}}};"
            )
    names = ", ".join(argument.name for argument in c_source.arguments(function.program))
    joints = ",\n".join(f"    {c_source.string(joint)}" for joint in model.joint_names)
    return "\n".join([
        c_source.comment(["Torques that hold the robot still in the middle of its joint ranges."]),
        f'#include "{name}_dynamics.h"\n\n#include <stdio.h>\n',
        f"static const char *const joints[{name.upper()}_JOINTS] = {{\n{joints}\n}};\n",
        "int main(void)\n{",
        *lines,
        "    int i;",
        f"    {function.name}({names});",
        f"    for (i = 0; i < {name.upper()}_JOINTS; ++i) {{",
        '        printf("%-24s %12.6f\\n", joints[i], (double)tau[i]);',
        "    }",
        "    return 0;",
        "}",
        "",
    ])  # fmt: skip


INVALID = """\
/* Zero if all entries are within -1 and 1. */
static double invalid(const double *closure, int count)
{
    int i;
    for (i = 0; i < count; ++i) {
        if (!(fabs(closure[i]) <= 1.0)) {
            return HUGE_VAL;
        }
    }
    return 0.0;
}
"""

MOTOR_TEST = """\
static int test_motor_feedforward(void)
{
    double error = 0.0;
    int k;
    for (k = 0; k < STATES; ++k) {
        double state[5][ROBOT_JOINTS];
        double torque[3][ROBOT_JOINTS];
        double carried[3][ROBOT_JOINTS];
        double filtered[ROBOT_STATES];
        double deflection[ROBOT_MOTORS];
        double load[ROBOT_MOTORS];
        double result[4][ROBOT_MOTORS];
        int flags[ROBOT_MOTORS];
        memcpy(state, MOTION[k], sizeof(state));
        memcpy(torque, &MOTION[k][5 * ROBOT_JOINTS], sizeof(torque));
        memcpy(filtered, SETTLED, sizeof(filtered));
        robot_motor_feedforward(state, torque, carried, SECOND, filtered, deflection, load, result,
                                flags);
        error = fmax(error, difference(result[0], MOTORS[k], ROBOT_MOTORS));
        error = fmax(error, difference(result[1], &MOTORS[k][ROBOT_MOTORS], ROBOT_MOTORS));
        error = fmax(error, difference(result[2], &MOTORS[k][2 * ROBOT_MOTORS], ROBOT_MOTORS));
        error = fmax(error, difference(result[3], &MOTORS[k][3 * ROBOT_MOTORS], ROBOT_MOTORS));
    }
    return report("robot_motor_feedforward", error, 1e-12);
}
"""

COMPARE = """\
/* The largest difference, relative to the largest component. */
static double difference(const REAL *found, const REAL *expected, int count)
{
    double error = 0.0;
    double size = 0.0;
    int i;
    for (i = 0; i < count; ++i) {
        const double d = fabs((double)found[i] - (double)expected[i]);
        if (!(d < HUGE_VAL)) { /* NaN or infinite */
            return HUGE_VAL;
        }
        error = fmax(error, d);
        size = fmax(size, fabs((double)expected[i]));
    }
    return size > 0.0 ? error / size : error;
}

static int report(const char *name, double error, double tolerance)
{
    const int failed = !(error <= tolerance);
    printf("%s: largest error %.1e of the largest component%s\\n", name, error,
           failed ? ": WRONG" : "");
    return failed;
}
"""

CMAKE = """\
cmake_minimum_required(VERSION 3.10)
project(LIBRARY C)

set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(LIBRARY
  SOURCES)
target_include_directories(LIBRARY PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
if(UNIX)
  target_link_libraries(LIBRARY PUBLIC m)
endif()

add_executable(NAME_example example.c)
target_link_libraries(NAME_example LIBRARY)

enable_testing()
add_executable(NAME_self_test self_test.c)
target_link_libraries(NAME_self_test LIBRARY)
add_test(NAME NAME_self_test COMMAND NAME_self_test)
"""
