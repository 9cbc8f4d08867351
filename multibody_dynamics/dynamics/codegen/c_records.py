# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Records (:mod:`.core.record_fields`) in C: structures, their comments, defaults and checks."""

import textwrap
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ..core import record_fields
from ..core.record_fields import Declared, Interval
from . import c_source
from .c_types import DOUBLE, INDENT, INT, ArrayType, RecordType

Names = Mapping[Any, str]
"""Names in C: of structures by their records, and of lengths by their letters."""


def record_type(
    record: Any, names: Names, sizes: Mapping[str, int], shown: Collection[str] = ()
) -> RecordType:
    """The type of a record in C, with the lengths of one robot; those that are `shown` stand in the
    text by their names."""
    fields: list[tuple[str, Any]] = []
    for each in record_fields.declared_fields(record):
        if not isinstance(each.kind, str):
            fields.append((each.name, record_type(each.kind, names, sizes, shown)))
        elif shape := record_fields.shape_of(each.field, sizes):
            own = tuple(names[length] if length in shown else "" for length in each.field.shape)
            named = own if any(own) else ()
            fields.append((each.name, ArrayType(each.kind, shape, names=named)))
        else:
            number = ArrayType(each.kind, (1,), is_number=True) if each.is_array else each.kind
            fields.append((each.name, number))
    return RecordType(names[record], tuple(fields))


def structure(record: Any, names: Names) -> str:
    """The definition of a record, with its docstring and the meanings of its fields."""
    lines: list[str] = []
    for each in record_fields.declared_fields(record):
        if each.field.section:
            lines += ["", *_comment(each.field.section)]
        size = "".join(f"[{names.get(length, length)}]" for length in each.field.shape)
        own = f"{INDENT}{names.get(each.kind, each.kind)} {each.name}{size};"
        if len(whole := f"{own} /* {each.field.meaning} */") <= c_source.WIDTH:
            lines.append(whole)
        else:
            lines += [*_comment(each.field.meaning), own]
    head = c_source.comment(textwrap.wrap(" ".join(record.__doc__.split()), c_source.WIDTH - 3))
    body = "\n".join(lines).lstrip("\n")
    return f"{head}typedef struct {{\n{body}\n}} {names[record]};\n"


def _comment(text: str) -> list[str]:
    lines = textwrap.wrap(text, c_source.WIDTH - 10)
    starts = ["/* ", *["   "] * (len(lines) - 1)]
    lines = [f"{INDENT}{start}{line}" for start, line in zip(starts, lines, strict=True)]
    return [*lines[:-1], f"{lines[-1]} */"]


def defaults(values: Any, name: str) -> str:
    """A compound literal of the structure `name` with the values of a record of constants."""
    lines = [
        f"{INDENT * 2}.{each.name} = {initialiser(getattr(values, each.name), each.kind)},"
        for each in record_fields.declared_fields(type(values))
    ]
    body = "\n".join(part for line in lines for part in folded_row(line))
    return f"({name}){{\n{body}\n{INDENT}}}"


def initialiser(value: Any, kind: str) -> str:
    """A number in C, or a list of such in braces."""
    if isinstance(value, tuple) or np.ndim(value):
        return f"{{{', '.join(initialiser(each, kind) for each in value)}}}"
    if kind == INT:
        return str(int(value))
    if np.isinf(value):
        return "HUGE_VAL" if value > 0 else "-HUGE_VAL"
    return c_source.literal(value, "double")


def folded_row(line: str) -> list[str]:
    """A row of numbers, in lines that are not too long."""
    if len(line) <= c_source.WIDTH:
        return [line]
    place = line.rfind(", ", 0, c_source.WIDTH)
    return [line[: place + 1], *folded_row(INDENT * 3 + line[place + 2 :])]


def checks(record: Any, variable: str, names: Names) -> str:
    """Statements that return the name of the first field outside its interval; NaN is in none."""
    lines: list[str] = []
    for each in record_fields.declared_fields(record):
        within = each.field.within
        if isinstance(within, str):
            lines += _check(each, within, variable, "", names) if within else []
            continue
        for k, text in enumerate(within):
            lines += _check(each, text, variable, str(k), names)
    return "\n".join(lines)


def _check(each: Declared, text: str, variable: str, row: str, names: Names) -> list[str]:
    lengths = [str(names.get(length, length)) for length in each.field.shape]
    indices = [f"[{row}]"] if row else []
    pad, lines = INDENT, []
    for k, length in enumerate(lengths[len(indices) :]):
        index = "kij"[k + 3 - len(lengths)] if len(lengths) > 1 else "i"
        lines.append(f"{pad}for (int {index} = 0; {index} < {length}; ++{index}) {{")
        indices.append(f"[{index}]")
        pad += INDENT
    at = "".join(indices)
    test = _test(record_fields.interval(text), f"{variable}->{each.name}{at}", variable, at)
    lines += [f"{pad}if (!({test})) {{", f'{pad}{INDENT}return "{each.name}";', f"{pad}}}"]
    closing = [INDENT * depth + "}" for depth in range(len(pad) // len(INDENT) - 1, 0, -1)]
    return lines + closing


def _test(interval: Interval, value: str, variable: str, at: str) -> str:
    low, high, has_low, has_high = interval
    texts = [
        f"{variable}->{each}{at}" if isinstance(each, str) else initialiser(each, DOUBLE)
        for each in (low, high)
    ]
    parts = [f"{value} {'>=' if has_low else '>'} {texts[0]}"]
    if high != np.inf or not has_high:
        parts.append(f"{value} {'<=' if has_high else '<'} {texts[1]}")
    if low == -np.inf and has_low and len(parts) > 1:
        del parts[0]
    return " && ".join(parts)
