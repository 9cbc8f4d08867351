# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C99 source of a program: a function of straight-line code on arrays.

It allocates nothing, has no state, and needs only sine and cosine. Statements are in the order of
the program, which is that of the recursion.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ..core import InputError
from .expressions import Operation
from .programs import Program

Precision = Literal["double", "float"]
SIGNS = {
    Operation.ADD: "+",
    Operation.SUBTRACT: "-",
    Operation.MULTIPLY: "*",
    Operation.DIVIDE: "/",
}
FUNCTIONS = {Operation.SINE: "sin", Operation.COSINE: "cos"}
WIDTH = 100  # of a line
RESERVED = re.compile(  # keywords, and the functions that are called
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if"
    "|inline|int|long|main|register|restrict|return|short|signed|sizeof|static|struct|switch"
    "|typedef|union|unsigned|void|volatile|while|sinf?|cosf?|v[0-9]+"
)


class Argument(NamedTuple):
    """An array that the function takes: `entries` numbers, read-only if `is_input`."""

    name: str
    entries: int
    is_input: bool


def identifier(text: str) -> str:
    """A name in lower case that C accepts, made from any text.

    >>> identifier("UR10e arm"), identifier("7dof")
    ('ur10e_arm', 'robot_7dof')
    """
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not name or name[0].isdigit() or RESERVED.fullmatch(name):
        name = f"robot_{name}".rstrip("_")
    return name


def literal(value: float, precision: Precision) -> str:
    """A constant that reads back exactly, in single precision after rounding to it."""
    text = repr(float(value)) if precision == "double" else str(np.float32(value))
    if not re.search(r"[.e]", text):
        text += ".0"
    return text if precision == "double" else f"{text}f"


def arguments(program: Program) -> list[Argument]:
    """The arguments of the function of a program, in its order: inputs, then results."""
    inputs = [Argument(identifier(name), size, True) for name, size in program.inputs.items()]
    results = [Argument(identifier(name), len(v), False) for name, v in program.results.items()]
    names = [argument.name for argument in (*inputs, *results)]
    if len(set(names)) < len(names):
        raise InputError(f"two arguments have the same name in C: {', '.join(names)}")
    return inputs + results


def prototype(program: Program, name: str, precision: Precision = "double") -> str:
    """The declaration of the function, without the semicolon."""
    texts = [
        f"{'const ' if argument.is_input else ''}{precision} {argument.name}[{argument.entries}]"
        for argument in arguments(program)
    ]
    return wrapped(f"void {name}(", texts, ")")


def function(program: Program, name: str, precision: Precision = "double") -> str:
    """The definition of the function."""
    lines = [f"{prototype(program, name, precision)}\n{{"]
    lines += (f"    {line}" for line in statements(program, precision))
    lines += (f"    (void)({name});" for name in unused_inputs(program))
    return "\n".join([*lines, "}", ""])


def unused_inputs(program: Program) -> list[str]:
    """The names of the inputs that the function does not need."""
    used = {first for operation, first, _ in program.nodes if operation is Operation.INPUT}
    inputs = arguments(program)[: len(program.inputs)]
    return [each.name for k, each in enumerate(inputs) if k not in used]


def statements(
    program: Program, precision: Precision = "double", lane: str = ""
) -> Iterator[str]:  # fmt: skip
    """What the function does. lane : the last index of its arrays, and of sines and cosines, which
    are arrays then, too, for :mod:`c_lanes`."""
    given = arguments(program)
    inputs = [each.name for each in given[: len(program.inputs)]]
    suffix = "" if precision == "double" else "f"

    def operand(node: int) -> str:
        operation, first, second = program.nodes[node]
        if operation is Operation.INPUT:
            return f"{inputs[first]}[{second}]{lane}"
        if operation is Operation.CONSTANT:
            return literal(first, precision)
        return f"v{node}{lane}" if operation in FUNCTIONS else f"v{node}"

    for k, (operation, first, second) in enumerate(program.nodes):
        if operation in SIGNS:
            a, b = operand(first), operand(second)
            yield f"const {precision} v{k} = {a} {SIGNS[operation]} {b};"
        elif operation in FUNCTIONS:
            kind = "" if lane else f"const {precision} "
            yield f"{kind}v{k}{lane} = {FUNCTIONS[operation]}{suffix}({operand(first)});"
    for argument, entries in zip(given[len(inputs) :], program.results.values(), strict=True):
        for k, (node, sign, constant) in enumerate(entries):
            value = literal(constant, precision) if node is None else operand(node)
            minus = "-" if node is not None and sign < 0 else ""
            yield f"{argument.name}[{k}]{lane} = {minus}{value};"


def comment(lines: Sequence[str]) -> str:
    """A C comment."""
    safe = [line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?") for line in lines]
    if len(safe) == 1 and len(safe[0]) <= WIDTH - 6:
        return f"/* {safe[0]} */\n"
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in safe), " */", ""])


def header(guard: str, parts: Iterable[str]) -> str:
    """A header file that C++ accepts, too."""
    return "\n".join([
        f"#ifndef {guard}\n#define {guard}\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *parts,
        "#ifdef __cplusplus\n}\n#endif\n",
        "#endif\n",
    ])  # fmt: skip


def constant_array(name: str, values: Sequence[float], precision: Precision) -> str:
    """The definition of a constant array."""
    texts = [literal(value, precision) for value in values]
    return wrapped(f"static const {precision} {name}[{len(texts)}] = {{", texts, "};") + "\n"


def string(text: str) -> str:
    """A C string literal."""
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{plain}"'


def wrapped(start: str, items: Sequence[str], end: str) -> str:
    """Items separated by commas, in lines that are not too long."""
    whole = start + ", ".join(items) + end
    if len(whole) <= WIDTH:
        return whole
    lines, line = [start], "   "
    for k, item in enumerate(items):
        text = item + ("," if k < len(items) - 1 else end)
        if len(line) + len(text) + 1 > WIDTH and line.strip():
            lines.append(line)
            line = "   "
        line += f" {text}"
    return "\n".join([*lines, line])


def folded(line: str) -> list[str]:
    """A statement, in lines that are not too long, broken after commas or before operators."""
    if len(line) <= WIDTH:
        return [line]
    pad = " " * (len(line) - len(line.lstrip()))
    places = [m.start() for m in re.finditer(r"(?<=,) | (?=[-+*/?:] )| (?=&& )|(?<==) ", line)]
    fitting = [k for k in places if len(pad) < k <= WIDTH]
    if not fitting:
        return [line]
    best = min(fitting, key=lambda k: (*_looseness(line, k), -k))
    start, rest = line[:best], line[best + 1 :]
    return [start, *folded(pad + "    " + rest)]


def _looseness(line: str, place: int) -> tuple[int, int]:
    """How tightly the parts bind between which a line is broken: depth in parentheses, rank."""
    before = line[:place]
    depth = sum(before.count(each) for each in "([{") - sum(before.count(each) for each in ")]}")
    sign = line[place + 1]
    rank = 2 if sign in "*/" else 1 if sign in "+-" else 0
    return depth, rank
