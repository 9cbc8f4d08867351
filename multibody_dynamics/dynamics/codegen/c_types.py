# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Types of translated Python functions: numbers, arrays, tuples, and what is known of their values.

Every array has a known shape. A table of constants carries the values that occur in each of its
columns; comparisons with them may be decided during the translation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import InputError
from .c_source import literal

DOUBLE, INT, BOOL = "double", "int", "bool"
NONE = "None"
INDENT = "    "


class ArrayType(NamedTuple):
    """An array in C.

    kind : "double" or "int". shape : one or two lengths. table : name of the global constant; empty
    for an argument. columns : the values that occur in each column of a table.
    """

    kind: str
    shape: tuple[int, ...]
    table: str = ""
    columns: tuple[frozenset[float], ...] = ()


class TupleType(NamedTuple):
    """A tuple, a structure in C; `record` is the named tuple, if it is one."""

    items: tuple[Any, ...]
    record: Any = None


class Value(NamedTuple):
    """A translated expression: text, type, precedence; all values that it can have, if known."""

    text: str
    type: Any
    rank: int = 9
    values: frozenset[float] | None = None


class Variable(NamedTuple):
    """A local variable; `values` as in `Value`."""

    type: Any
    values: frozenset[float] | None = None


def table(name: str, numbers: NDArray[Any]) -> ArrayType:
    """The type of a global constant (rows, columns) or (entries,) of doubles."""
    numbers = np.asarray(numbers, dtype=np.float64)
    columns = numbers.T if numbers.ndim == 2 else [numbers]
    values = tuple(frozenset(column.ravel().tolist()) for column in columns)
    return ArrayType(DOUBLE, numbers.shape, name, values)


def table_definition(name: str, numbers: NDArray[Any]) -> str:
    """The definition of a table in C; an empty table gets one row of zeros, which is never read."""
    rows = np.asarray(numbers, dtype=np.float64)
    if rows.size == 0:
        rows = np.zeros([max(length, 1) for length in rows.shape])
    if rows.ndim == 1:
        return f"static const double {name}[{len(rows)}] = {{{_numbers(rows)}}};\n"
    lines = ",\n".join(f"{INDENT}{{{_numbers(row)}}}" for row in rows)
    return f"static const double {name}[{rows.shape[0]}][{rows.shape[1]}] = {{\n{lines}\n}};\n"


def _numbers(row: Iterable[float]) -> str:
    texts = [
        ("-" if x < 0 else "") + "HUGE_VAL" if math.isinf(x) else literal(x, "double") for x in row
    ]
    return ", ".join(texts)


class Translated(NamedTuple):
    """A translated function: its name in C, text, prototype, type of the result, and which of its
    arguments it takes in C."""

    name: str
    text: str
    prototype: str
    result: Any
    used: tuple[bool, ...]


def joined(one: Any, other: Any, function: str) -> Any:
    """The type of a variable of `function` that has values of both types. Raises InputError if
    there is none."""
    if one is None or one == other:
        return other
    if {one, other} <= {DOUBLE, INT, BOOL}:
        return DOUBLE if DOUBLE in (one, other) else INT
    if isinstance(one, TupleType) and isinstance(other, TupleType):
        pairs = zip(one.items, other.items, strict=True)
        return TupleType(tuple(joined(a, b, function) for a, b in pairs), one.record)
    raise InputError(f"{function}: one variable is a {one} and a {other}")


def fields_of(kind: TupleType) -> Sequence[str]:
    """The names of the items of a tuple in C."""
    return kind.record._fields if kind.record else [f"x{k}" for k in range(len(kind.items))]


class Structures:
    """The structures of C that stand for tuples, in the order of their first use."""

    def __init__(self) -> None:
        self._names: dict[TupleType, str] = {}

    def declared(self, kind: Any, name: str) -> str:
        """The declaration of a variable or argument in C."""
        if isinstance(kind, TupleType):
            return f"{self.name(kind)} {name}"
        if isinstance(kind, ArrayType):
            if len(kind.shape) == 1:
                return f"{kind.kind} *{name}"
            return f"{kind.kind} (*{name})[{max(kind.shape[1], 1)}]"
        return f"{'int' if kind == BOOL else kind} {name}"

    def name(self, kind: TupleType) -> str:
        """The name of the structure of a tuple."""
        if kind not in self._names:
            for item in kind.items:
                if isinstance(item, TupleType):
                    self.name(item)
            if kind.record:
                name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.record.__name__).lower() + "_tuple"
            elif set(kind.items) == {DOUBLE}:
                name = f"doubles_{len(kind.items)}"
            else:
                name = f"tuple_{len(self._names) + 1}"
            self._names[kind] = name
        return self._names[kind]

    def definitions(self) -> list[str]:
        """The definitions of all structures."""
        return [self._definition(kind, name) for kind, name in self._names.items()]

    def _definition(self, kind: TupleType, name: str) -> str:
        lines = [
            f"{INDENT}{self.declared(each, field)};"
            for field, each in zip(fields_of(kind), kind.items, strict=True)
        ]
        return "typedef struct {\n" + "\n".join(lines) + f"\n}} {name};\n"
