# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C99 source of the dynamics of one robot: a library, a self-test and an example.

With springs and motors, the library has the feedforward of the motors, too.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import __version__
from ...dynamics import MultibodyModel, inverse_dynamics
from ...dynamics.codegen import Program, c_source, c_translation, c_types
from ...dynamics.core import STATE_ROWS, Array, InputError
from ...dynamics.elastic import Actuators, MotorFeedforward
from ...dynamics.mechanisms import ClosedChainModel, renew_charts
from ...dynamics.rigid import (
    TracedInputs,
    trace_forward_dynamics,
    trace_inverse_dynamics,
)
from ...reporting.templates import rendered
from .c_actuators import c_actuators
from .controller_plugin import in_template
from .generated_notice import with_notice

TEMPLATES = Path(__file__).parent / "templates"

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

    def recorded(self) -> list[tuple[c_source.Argument, list[float]]]:
        """The arguments with their recorded values; there are none of "closure"."""
        names = (*self.program.inputs, *self.program.results)
        values = (self.values.get(name, np.empty(0)).ravel().tolist() for name in names)
        return list(zip(c_source.arguments(self.program), values, strict=True))

    @property
    def closes(self) -> int:
        """The number of entries of "closure"."""
        return len(self.program.results.get("closure", ()))

    def tolerance(self, precision: c_source.Precision) -> float:
        """Of the largest component, in the self-test."""
        return TOLERANCES[precision]["qdd" in self.program.results]


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
    held = functions[options.order]
    start = {"q": model.limits.middle, "gravity": model.gravity}
    loops: dict[str, Any] = {"loops": ()}
    if isinstance(model, ClosedChainModel):
        start |= {"q": model.home, "last": model.assembled}
        loops = {"loops": model.loops, "stride": model.strides.min()}
    sources = {} if actuators is None else _actuator_sources(name, actuators)
    declared, defined = _charts(model, name)
    values = {
        "name": name, "library": library, "model": model, "options": options, "c": c_source,
        "real": options.precision, "states": RECORDED, "functions": functions, "function": held,
        "arguments": c_source.arguments(held.program), "joints": joint_lines(model),
        "start": start, "version": __version__, "has_balls": bool(declared),
        "motor_test": actuators and _motor_test(name, actuators, functions[2]), **loops,
    }  # fmt: skip
    conventions = rendered(TEMPLATES / "conventions.txt", **values).splitlines()
    files = {
        f"{library}.h": _header(model, name, functions, options, conventions, declared),
        f"{library}.c": _source(library, functions, options, defined),
        "self_test.c": rendered(TEMPLATES / "self_test.c", **values),
        "example.c": rendered(TEMPLATES / "example.c", **values),
    }
    compiled = [f"{library}.c", *(file for file in sources if file.endswith(".c"))]
    return with_notice(files | sources | {"CMakeLists.txt": cmake(library, library, compiled)})


def _actuator_sources(name: str, actuators: Actuators) -> dict[str, str]:
    texts = zip(("h", "c"), c_actuators(actuators), strict=True)
    return {f"{name}_actuators.{kind}": in_template(text, name) for kind, text in texts}


def _motor_test(name: str, actuators: Actuators, dynamics: Function) -> str:
    """The comparison of the flat map of the motors with this package at the recorded states."""
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
    return in_template(rendered(TEMPLATES / "motor_test.c", tables=tables), name)


def prefix(name: str, *, is_given: bool) -> str:
    """The beginning of all names in C. Raises InputError for a given name that is not one."""
    found = c_source.identifier(name)
    if is_given and found != name:
        raise InputError(f"name: '{name}' is not a lower-case C identifier; try '{found}'")
    return found


def declaration(program: Program, prototype: str, purpose: str) -> str:
    """The declaration of the function of a program, with a comment."""
    size = f"{program.size} sums, products and quotients."
    return f"{c_source.comment([f'{purpose}; {size}'])}{prototype};\n"


def joint_lines(model: MultibodyModel) -> list[str]:
    """The joints with their numbers and units, for a comment."""
    return [
        f"    {i:2}  {joint}: {'rad, N m' if model.joint_types[i] != 'prismatic' else 'm, N'}"
        for i, joint in enumerate(model.joint_names)
    ]


def cmake(library: str, name: str, sources: Iterable[str], *, is_controller: bool = False) -> str:
    """CMakeLists.txt of a library in C, its example and its self-test, `name`_self_test; that of a
    controller also has a timing and the plugin."""
    file = TEMPLATES / "CMakeLists.txt"
    return rendered(
        file, library=library, name=name, sources=list(sources), is_controller=is_controller
    )


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

    def loops(rows: dict[str, Array]) -> dict[str, Array]:
        """What only functions of a robot with loops take and return, along rows of the state."""
        if not isinstance(model, ClosedChainModel):
            return {}
        motion = np.stack(model.tree_motion(*rows.values()), axis=1)
        return {"last": given["last"], "motion": motion.reshape(RECORDED, -1)}

    functions = []
    for order in range(options.order + 1):
        rows = {row: given[row] for row in STATE_ROWS[: order + 3]}
        torques = inverse_dynamics(robot, **rows, wrenches=wrenches)[: order + 1]
        results = dict(zip(("tau", "tau_dot", "tau_ddot"), torques, strict=False))
        functions.append(
            Function(
                f"{name}_inverse_dynamics" + (f"_{order}" if order else ""),
                "Joint torques" + ("", " and their rates", " with two rates")[order],
                trace_inverse_dynamics(model, order, inputs=inputs),
                rows | others(order) | results | loops(rows),
            )
        )
    rows = {"q": given["q"], "qd": given["qd"], "tau": functions[0].values["tau"]}
    accelerations = {"qdd": given["qdd"]}
    functions.append(
        Function(
            f"{name}_forward_dynamics",
            "Joint accelerations",
            trace_forward_dynamics(model, inputs),
            rows | others(0) | accelerations | loops({key: rows[key] for key in ("q", "qd")}),
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


def _header(
    model: MultibodyModel,
    name: str,
    functions: list[Function],
    options: Options,
    conventions: list[str],
    charts: list[str],
) -> str:
    parts = [f"#define {name.upper()}_JOINTS {model.n}\n"]
    for each in functions:
        head = c_source.prototype(each.program, each.name, options.precision)
        parts.append(declaration(each.program, head, each.purpose))
    parts += charts
    text = c_source.header(f"{name.upper()}_DYNAMICS_H", parts)
    return f"{c_source.comment(conventions)}\n{text}"


def _charts(model: MultibodyModel, name: str) -> tuple[list[str], list[str]]:
    """The declaration and the definition of the function that keeps balls in loops away from
    singular angles, if there are any."""
    if not isinstance(model, ClosedChainModel) or not model.charts:
        return [], []
    balls, module = model.system.balls, c_translation.Module()
    q = c_types.ArrayType(c_types.DOUBLE, (model.body_count,))
    types = {"q": q, "balls": c_types.table("BALLS", balls)}
    head = module.add(f"{name}_renew_charts", renew_charts, types)
    purpose = (
        "Passes to other angles of the same pose where those of a ball come close to singular."
    )
    return [f"{c_source.comment([purpose])}{head};\n"], [module.text({"BALLS": balls})]


def _source(library: str, functions: list[Function], options: Options, charts: list[str]) -> str:
    parts = [f'#include "{library}.h"\n', "#include <math.h>\n"]
    parts += (
        c_source.function(function.program, function.name, options.precision)
        for function in functions
    )
    parts += charts
    return "\n".join(parts)
