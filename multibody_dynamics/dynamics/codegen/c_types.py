# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Types of translated Python functions: numbers, arrays, tuples, and what is known of their values.

Every array has a known shape. A table of constants carries the values that occur in each of its
columns; comparisons with them may be decided during the translation.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import InputError
from .c_source import literal, wrapped

DOUBLE, INT, BOOL = "double", "int", "bool"
NONE = "None"
INDENT = "    "


class ArrayType(NamedTuple):
    """An array in C.

    kind : "double" or "int". shape : its lengths. table : name of the global constant; empty for
    an argument. columns : the values that occur in each column of a table. is_number : an array of
    length one in Python that is a number in C. names : of lengths that the text shows by name.
    """

    kind: str
    shape: tuple[int, ...]
    table: str = ""
    columns: tuple[frozenset[float], ...] = ()
    is_number: bool = False
    names: tuple[str, ...] = ()


class TupleType(NamedTuple):
    """A tuple, a structure in C; `record` is the named tuple, if it is one."""

    items: tuple[Any, ...]
    record: Any = None


class RecordType(NamedTuple):
    """A record, a structure of C that is passed by its address.

    name : of the structure. fields : names and types. is_member : a record within another one.
    """

    name: str
    fields: tuple[tuple[str, Any], ...]
    is_member: bool = False

    def field(self, name: str) -> Any:
        """The type of a field; None if there is no such field."""
        return dict(self.fields).get(name)


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
    """The type of a global constant (rows, columns) or of another shape; integers stay integers."""
    rows = np.asarray(numbers)
    columns = rows.T if rows.ndim == 2 else [rows] if rows.ndim == 1 else []
    values = tuple(frozenset(map(float, column.ravel().tolist())) for column in columns)
    return ArrayType(_kind(rows), rows.shape, name, values)


def table_definition(name: str, numbers: NDArray[Any]) -> str:
    """The definition of a table in C; an empty table gets one row of zeros, which is never read."""
    rows = np.asarray(numbers)
    if rows.size == 0:
        rows = np.zeros([max(length, 1) for length in rows.shape], dtype=rows.dtype)
    lengths = "".join(f"[{length}]" for length in rows.shape)
    start = f"static const {_kind(rows)} {name}{lengths} = "
    if rows.ndim == 1:
        return wrapped(f"{start}{{", _texts(rows), "};") + "\n"
    return f"{start}{_nested(rows, '')};\n"


def _kind(numbers: NDArray[Any]) -> str:
    return INT if numbers.dtype.kind in "biu" else DOUBLE


def _nested(rows: NDArray[Any], pad: str) -> str:
    if rows.ndim == 1:
        return f"{{{', '.join(_texts(rows))}}}"
    inner = pad + INDENT
    lines = ",\n".join(inner + _nested(row, inner) for row in rows)
    return f"{{\n{lines}\n{pad}}}"


def _texts(row: NDArray[Any]) -> list[str]:
    if _kind(row) == INT:
        return [str(int(x)) for x in row]
    return [
        ("-" if x < 0 else "") + "HUGE_VAL" if math.isinf(x) else literal(x, "double") for x in row
    ]


class Translated(NamedTuple):
    """A translated function: its name in C, text, prototype, type of the result, which of its
    arguments it takes in C, and which arrays and records among them it only reads."""

    name: str
    text: str
    prototype: str
    result: Any
    used: tuple[bool, ...]
    constant: tuple[bool, ...] = ()


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


def may_be_constant(kind: Any) -> bool:
    """Whether an argument may be `const`: C99 does not convert arrays of arrays to that."""
    is_row = isinstance(kind, ArrayType) and len(kind.shape) == 1
    return is_row or isinstance(kind, RecordType)


def lengths_of(shape: Sequence[int]) -> str:
    """The lengths of an array in C, which has no empty arrays."""
    return "".join(f"[{max(length, 1)}]" for length in shape)


class Structures:
    """The structures of C that stand for tuples, in the order of their first use."""

    def __init__(self) -> None:
        self._names: dict[TupleType, str] = {}

    def argument(self, kind: Any, name: str, is_constant: bool) -> str:
        """The declaration of an argument, which may be `const`."""
        return ("const " if is_constant else "") + self.declared(kind, name)

    def declared(self, kind: Any, name: str) -> str:
        """The declaration of a variable or argument in C."""
        if isinstance(kind, TupleType):
            return f"{self.name(kind)} {name}"
        if isinstance(kind, RecordType):
            return f"{kind.name} *{name}"
        if isinstance(kind, ArrayType):
            if len(kind.shape) == 1:
                return f"{kind.kind} *{name}"
            return f"{kind.kind} (*{name}){lengths_of(kind.shape[1:])}"
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
