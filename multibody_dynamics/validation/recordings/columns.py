# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tables in files: CSV columns below a line of column names, or named NumPy arrays."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...dynamics.core import Array, InputError, computable_rows, reading

EMPTY = re.compile(r"(^|,)\s*(?=,|$)")
LATEST = 9e9  # s: in ns, later times overflow 64 bits
UNIX = 1e6  # s: larger times are those of a clock that began long before the recording
SECOND = 1_000_000_000  # ns


def read_columns(path: Path) -> dict[str, Array]:
    """The columns (k,) of a .csv file, including `t`; empty cells are NaN.

    Raises InputError, naming the file, for anything else.
    """
    with (
        reading(path, "a table"),
        path.open(newline="", encoding="utf-8", errors="replace") as file,
    ):
        head = [name.strip() for name in next(csv.reader(file), [])] or [""]
        lines = [EMPTY.sub(r"\1nan", line.strip()) for line in file if line.strip()]
    head[0] = head[0].lstrip("#\ufeff ")
    if not lines:
        raise InputError(f"{path}: no rows of numbers")
    if "t" not in head or len(set(head)) != len(head):
        raise InputError(
            f"{path}: its first line must name the columns, each once, comma-separated and "
            f"including t; it is {','.join(head)!r:.80}"
        )
    with reading(path, "a table of numbers"):
        table = np.loadtxt(lines, delimiter=",", ndmin=2)
    if len(head) != table.shape[1]:
        raise InputError(f"{path}: its first line must name {table.shape[1]} columns, including t")
    return {
        name: computable_rows(f"{path}: {name}: ", column)
        for name, column in zip(head, table.T, strict=True)
    }


def stacked(path: Path, columns: Mapping[str, Array], names: Sequence[str]) -> Array | None:
    """The columns of these names as (k, n), or None if all are missing.

    Raises InputError if only some are missing.
    """
    missing = [name for name in names if name not in columns]
    if len(missing) == len(names):
        return None
    if missing:
        raise InputError(f"{path}: column '{missing[0]}' is missing")
    return np.stack([columns[name] for name in names], axis=1)


def times_in(path: Path, t: Any) -> Array:
    """The times t (k,), s, checked. Raises InputError, naming the file."""
    found = np.asarray(t)
    if found.ndim != 1 or found.dtype.kind not in "fiu":
        raise InputError(f"{path}: t is {found.shape} of {found.dtype}: expected numbers (k,)")
    finite = np.isfinite(found)
    if not finite.all():
        raise InputError(f"{path}: t has NaN or infinity in row {int(np.argmin(finite))}")
    if np.abs(found).max(initial=0) > LATEST:
        raise InputError(f"{path}: t reaches {np.abs(found).max():.4g}: expected seconds")
    return found.astype(np.float64)


def nanoseconds(t: Array) -> NDArray[np.int64]:
    """Times (k,) s, in ns. Those of a large clock are taken by the decimals that identify them,
    because a float64 of Unix time is up to 0.1 us away from the number that was written."""
    if np.abs(t).max(initial=0.0) < UNIX:
        return np.round(SECOND * t).astype(np.int64)
    exact = (int((SECOND * Decimal(repr(x))).to_integral_value()) for x in t.tolist())
    return np.fromiter(exact, dtype=np.int64, count=len(t))


def from_start(t: Array) -> Array:
    """Times (k,) s, from the first one on if they are Unix times, without loss of digits."""
    if not len(t) or abs(t[0]) < UNIX:
        return t
    at = nanoseconds(t)
    return np.asarray((at - at[0]) / SECOND)


def write_columns(file: Path, columns: Mapping[str, Array]) -> None:
    """A .csv file of columns (k,), with all digits."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def signal_in(
    path: Path, arrays: Mapping[str, np.ndarray], name: str, count: int, owners: Sequence[str]
) -> Array:
    """The array of this name as (count, n), one column for each owner; NaN if it is missing.

    Raises InputError, naming file and array.
    """
    shape = count, len(owners)
    values = arrays.get(name, np.full(shape, np.nan))
    if values.shape != shape or values.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: {name} is {values.shape} of {values.dtype}: expected numbers {shape}, a "
            f"row for each t and a column for each of {', '.join(owners) or '(no names given)'}"
        )
    return computable_rows(f"{path}: {name}: ", np.asarray(values, dtype=np.float64))
