# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C99 of a program for two states at once.

Compilers put a loop over both states in vectors, and compute them in the time of one, if the loop
calls nothing and its arrays have the numbers of both side by side. Sines and cosines of inputs
therefore come before it. Each state has the same operations as in :func:`.c_source.function`, and
the same results, bit for bit.
"""

import re

from . import c_source
from .programs import Program

STATES = 2
BOTH = f"for (int k = 0; k < {STATES}; ++k) {{"
FIRST = re.compile(r"v\d+\[k\] = \w+\((?!v)")  # sines and cosines of inputs
CALL = re.compile(r"(v\d+)\[k\] = ")


def prototype(name: str, length: int, memory: str = "") -> str:
    """The declaration, without the semicolon: of `count` states, one or two, the inputs and the
    results of a program in rows of this length. memory : an argument before these."""
    rows = (f"double (*const {name}[])[{length}]" for name in ("inputs", "results"))
    return c_source.wrapped(f"void {name}(", [*filter(None, [memory]), "int count", *rows], ")")


def function(program: Program, name: str) -> str:
    """The definition of the function of a program whose inputs and results have one length."""
    (length,) = {each.entries for each in c_source.arguments(program)}
    given = [each.name for each in c_source.arguments(program)]
    inputs, results = given[: len(program.inputs)], given[len(program.inputs) :]
    lines = list(c_source.statements(program, lane="[k]"))
    unused = c_source.unused_inputs(program)
    arrays = [f"{each}[{length}][{STATES}]" for each in given if each not in unused]
    arrays += [f"{match[1]}[{STATES}]" for line in lines if (match := CALL.match(line))]
    entries = f"for (int i = 0; i < {length}; ++i) {{"
    return "\n".join([
        f"{prototype(name, length)}\n{{",
        *c_source.folded(f"    double {', '.join(arrays)};"),
        f"    {BOTH}",
        f"        double (*const own)[{length}] = inputs[k < count ? k : 0];",
        f"        {entries}",
        *(f"            {each}[i][k] = own[{row}][i];" for row, each in enumerate(inputs)
          if each not in unused),
        "        }",
        *(f"        {line}" for line in lines if FIRST.match(line)),
        f"    }}\n    {BOTH}",
        *(f"        {line}" for line in lines if not FIRST.match(line)),
        "    }\n    for (int k = 0; k < count; ++k) {",
        f"        {entries}",
        *(f"            results[k][{row}][i] = {each}[i][k];" for row, each in enumerate(results)),
        "        }\n    }\n}\n",
    ])  # fmt: skip
