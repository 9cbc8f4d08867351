# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C99 of the recorded functions of one robot, with the prefix `robot_`.

With loops, a function takes first the memory of where they were closed last, `robot_loops`, in
place of "last", and hides "motion" and "closure": NaN is the answer where they cannot be closed
(:mod:`.loop_memory`).
"""

import re
from collections.abc import Sequence
from inspect import getdoc, signature
from typing import Any

import numpy as np

from ...dynamics import MultibodyModel
from ...dynamics.codegen import Program, c_lanes, c_records, c_source, c_translation, c_types
from ...dynamics.mechanisms import ClosedChainModel, LoopMemory, loop_memory

MEMORY = "robot_loops"
NAMES: c_records.Names = {
    LoopMemory: MEMORY,
    "N": "ROBOT_TREE_JOINTS",
    "n": "ROBOT_JOINTS",
    "closure": "ROBOT_CLOSURE",
}
HIDDEN = ("last", "motion", "closure")


def defined(name: str, program: Program) -> str:
    """The definition of the function of a program."""
    if "closure" not in program.results:
        return c_source.function(program, name)
    near = f"{name.removeprefix('robot_')}_near"
    body = _closing(near, program, [each.name for each in _shown(program)])
    head = f"static {c_source.function(program, near)}\n{prototype(name, program)}\n{{"
    return "\n".join([head, *body, "}\n"])


def of_states(name: str, program: Program) -> tuple[str, str]:
    """Declaration and definition of the function of a program for two states at once, see
    :mod:`c_lanes`; in turn with loops, each of which is closed from the last one."""
    n = program.inputs["q"]
    if "closure" not in program.results:
        return c_lanes.prototype(name, n), c_lanes.function(program, name)
    near = f"{name.removeprefix('robot_')}_near"
    head = c_lanes.prototype(name, n, f"{MEMORY} *loops")
    inputs = [each.is_input for each in _shown(program)]
    rows = [f"inputs[k][{row}]" for row in range(inputs.count(True))]
    rows += [f"results[k][{row}]" for row in range(inputs.count(False))]
    body = [f"    {line}" for line in _closing(near, program, rows)]
    loop = ["    for (int k = 0; k < count; ++k) {", *body, "    }\n}\n"]
    return head, "\n".join([f"static {c_source.function(program, near)}\n{head}\n{{", *loop])


def _shown(program: Program) -> list[c_source.Argument]:
    return [each for each in c_source.arguments(program) if each.name not in HIDDEN]


def _closing(near: str, program: Program, given: Sequence[str]) -> list[str]:
    """Statements that call a function from where loops were closed last, with the arguments that it
    does not hide, q first; once more if they could not be closed from there."""
    names = {"last": "loops->last"}
    names |= {each.name: text for each, text in zip(_shown(program), given, strict=True)}
    own = c_source.arguments(program)
    call = f"{near}({', '.join(names.get(each.name, each.name) for each in own)});"
    return [
        *(f"    double {each.name}[{each.entries}];" for each in own
          if each.name in HIDDEN and not each.is_input),
        *c_source.folded(f"    {call}"),
        "    if (!robot_take_closed(loops, motion, closure)) {",
        f"        robot_approach_loops(loops, {given[0]});",
        *c_source.folded(f"        {call}"),
        "    }",
    ]  # fmt: skip


def prototype(name: str, program: Program) -> str:
    """Its declaration, without the semicolon."""
    if "closure" not in program.results:
        return c_source.prototype(program, name)
    texts = [
        f"{'const ' if each.is_input else ''}double {each.name}[{each.entries}]"
        for each in _shown(program)
    ]
    return c_source.wrapped(f"void {name}(", [f"{MEMORY} *loops", *texts], ")")


def memory(gravity: Program) -> Any:
    """The type of the memory of the loops, by the program of the gravity torques."""
    if "closure" not in gravity.results:
        return c_types.NONE
    return c_records.record_type(LoopMemory, NAMES, _sizes(gravity))


def _sizes(gravity: Program) -> dict[str, int]:
    return {
        "N": gravity.inputs["last"],
        "n": gravity.inputs["q"],
        "closure": len(gravity.results["closure"]),
    }


def approach(model: MultibodyModel, gravity: Program) -> tuple[str, str]:
    """What the functions of a robot with loops need: the record of their memory and prototypes for
    the header, and definitions behind that of the gravity torques; nothing for a tree."""
    if not isinstance(model, ClosedChainModel):
        return "", ""
    sizes = _sizes(gravity)
    rows = {name: c_types.ArrayType(c_types.DOUBLE, (size,)) for name, size in sizes.items()}
    tables = {
        "ASSEMBLED": model.assembled,
        "OWN": model.first_bodies,
        "STRIDES": model.strides,
        "ROWS": np.arange(len(loop_names(model))) + 1,
    }
    types = {
        "recorded": c_types.NONE,
        **{name.lower(): c_types.table(name, table) for name, table in tables.items()},
        "balls": c_types.NONE,
        "s": memory(gravity),
        "q": rows["n"],
        "motion": rows["N"],
        "closure": rows["closure"],
    }
    if len(model.system.balls):
        tables["BALLS"] = model.system.balls
        types["balls"] = c_types.table("BALLS", model.system.balls)
    module, heads = c_translation.Module(), []
    module.defined_elsewhere("gravity_forces_near", loop_memory.weigh, "-rrwww")
    for function in (loop_memory.take_closed, loop_memory.approach_loops):
        chosen = {each: types[each] for each in signature(function).parameters}
        purpose = (getdoc(function) or "").replace("`", "").splitlines()
        head = module.add(f"robot_{function.__name__}", function, chosen)
        heads.append(f"{c_source.comment(purpose)}{head};\n")
    lengths = "".join(
        f"#define {NAMES[name]} {size}\n" for name, size in sizes.items() if name != "n"
    )
    record = c_records.structure(LoopMemory, NAMES)
    return "\n".join([lengths, record, *heads]), module.text(tables)


def loop_names(model: MultibodyModel) -> tuple[str, ...]:
    """What may be open, in the order of :attr:`.LoopMemory.open`, which counts from 1."""
    if not isinstance(model, ClosedChainModel):
        return ()
    return *model.equations, "a position too far from the assembled one"


def with_memory(text: str, declarations: str, memory: str) -> str:
    """A text in which the functions that are declared to take the memory of the loops take it."""
    taking = re.findall(rf"(\w+)\(\s*{MEMORY} \*", declarations)
    if not taking:
        return text
    calls = re.sub(rf"\b({'|'.join(taking)})\(", rf"\1({memory}, ", text)
    return "\n".join(part for line in calls.split("\n") for part in c_source.folded(line))
