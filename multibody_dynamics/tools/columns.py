"""Tables in files: a first line with names, and columns of numbers."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..dynamics.errors import InputError
from ..dynamics.inputs import Array

EMPTY = re.compile(r"(^|,)\s*(?=,|$)")


def read_columns(path: Path) -> dict[str, Array]:
    """The columns (k,) of a .csv file, `t` among them; empty cells are NaN.

    Raises InputError that names the file for what is no such table.
    """
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        head = [name.strip() for name in next(csv.reader(file), [""])]
        lines = [EMPTY.sub(r"\1nan", line.strip()) for line in file if line.strip()]
    head[0] = head[0].lstrip("#\ufeff ")
    if not lines:
        raise InputError(f"{path}: has no rows")
    try:
        table = np.loadtxt(lines, delimiter=",", ndmin=2)
    except ValueError as error:
        raise InputError(f"{path}: not a table of numbers: {error}") from None
    if len(set(head)) != len(head) or len(head) != table.shape[1] or "t" not in head:
        raise InputError(f"{path}: its first line must name {table.shape[1]} columns, t among them")
    return dict(zip(head, table.T, strict=True))


def stacked(path: Path, columns: dict[str, Array], names: Sequence[str]) -> Array | None:
    """The columns of these names as (k, n); None if there is none of them.

    Raises InputError that names the one that is missing.
    """
    missing = [name for name in names if name not in columns]
    if len(missing) == len(names):
        return None
    if missing:
        raise InputError(f"{path}: column '{missing[0]}' is missing")
    return np.stack([columns[name] for name in names], axis=1)
