# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Records: named tuples of numbers and arrays, declared once for Numba and for C.

A record is a named tuple whose annotations say what each field means, its shape, and its range:

    class Clock(NamedTuple):
        time: Annotated[Array, Field("s, of this cycle")]
        last: Annotated[Array, Field("rad or m", shape=("n",))]

Compiled functions take it as it is. Of a record of constants, a field without a shape is a number.
Of a record of memory, every field is an array: a number that changes is an array of length one. The
letters of a shape are lengths that differ from robot to robot.

In C, the declaration becomes a structure with embedded arrays, in which arrays of length one are
numbers (:mod:`.codegen.c_records`).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .inputs import Array

Integers = NDArray[np.int64]
Record = TypeVar("Record")
Length = int | str


class Field(NamedTuple):
    """What a field is.

    meaning : a phrase that begins with the unit, if there is one. shape : of its array; empty for a
    number. within : the interval of its values, such as "(0, inf]" or "[0, period)", whose ends are
    numbers or other fields; one for each row if there are several. section : heading of this field
    and those that follow. rows : name and meaning of each row, if the rows are settings of their
    own. counts : whether it only grows: "unsigned long" in C.
    """

    meaning: str
    shape: tuple[Length, ...] = ()
    within: str | tuple[str, ...] = ""
    section: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    counts: bool = False


class Declared(NamedTuple):
    """A field by its name; `kind` is "double", "int", "unsigned long" or a record."""

    name: str
    kind: Any
    is_array: bool
    field: Field


def declared_fields(record: Any) -> list[Declared]:
    """The fields of a record, in their order."""
    fields = []
    for name, hint in get_type_hints(record, include_extras=True).items():
        annotated = get_args(hint)
        kind, field = annotated if annotated and isinstance(annotated[-1], Field) else (hint, None)
        if field is None:
            raise InputError(f"{record.__name__}.{name} has no Field that says what it is")
        if hasattr(kind, "_fields"):
            fields.append(Declared(name, kind, False, field))
        else:
            is_whole = kind is int or kind == Integers
            own = "unsigned long" if field.counts else "int" if is_whole else "double"
            fields.append(Declared(name, own, kind in (Array, Integers), field))
    return fields


def shape_of(field: Field, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a field, with the lengths of a robot in place of letters and of their sums."""
    return tuple(
        sum(sizes[own] for own in each.split(" + ")) if isinstance(each, str) else each
        for each in field.shape
    )


def zeros(record: type[Record], **sizes: int) -> Record:
    """A record of memory with all numbers zero; `sizes` are the lengths of its letters."""
    values: list[Any] = []
    for each in declared_fields(record):
        if not isinstance(each.kind, str):
            values.append(zeros(each.kind, **sizes))
            continue
        kind = np.float64 if each.kind == "double" else np.int64
        values.append(np.zeros(shape_of(each.field, sizes) or 1, dtype=kind))
    return record(*values)


def copied(record: Record) -> Record:
    """A copy of a record of memory, whose fields are arrays."""
    arrays: Any = record
    return type(record)(*(each.copy() for each in arrays))


def outside(record: Any) -> str:
    """The name of the first field of a record of constants with a value outside its interval; empty
    if there is none. NaN is in no interval."""
    for each in declared_fields(type(record)):
        value = np.asarray(getattr(record, each.name), dtype=np.float64)
        within, rows = each.field.within, [value]
        if not isinstance(within, str):
            rows = list(value)
        for text, row in zip((within,) if isinstance(within, str) else within, rows, strict=True):
            if text and not _contains(text, row, record):
                return each.name
    return ""


class Interval(NamedTuple):
    """Ends of an interval, numbers or names of fields, and whether they belong to it."""

    low: float | str
    high: float | str
    has_low: bool
    has_high: bool


def interval(text: str) -> Interval:
    """The interval that a text such as "(0, inf]" means."""
    low, high = (_end(part.strip()) for part in text[1:-1].split(","))
    return Interval(low, high, text[0] == "[", text[-1] == "]")


def _end(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _contains(text: str, row: Array, record: Any) -> bool:
    low, high, has_low, has_high = interval(text)
    least, greatest = (
        getattr(record, each) if isinstance(each, str) else each for each in (low, high)
    )
    is_above = row >= least if has_low else row > least
    is_below = row <= greatest if has_high else row < greatest
    return bool((is_above & is_below).all())
