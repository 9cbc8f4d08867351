# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tables for pages and for the terminal.

Cells are text or numbers. A float gets the digits of its table; None and what is not finite are
"-". Columns of numbers are aligned to the right, all others to the left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

NUMBER = re.compile(r"[-+±]?[\d.]|-?$|all$|lost|stopped|rigid|not determined")
"""The beginning of a cell in a column of numbers."""
SAME = 3  # rows from which a column of a single value is written below the table instead


@dataclass(frozen=True)
class Table:
    """Cells as text, below `heads`; `caption` above, `note` below."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    note: str = ""

    @classmethod
    def of(
        cls, heads: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "", digits: int = 4
    ) -> Table:
        """Convert the cells to text."""
        lines = tuple(tuple(cell(each, digits) for each in row) for row in rows)
        return cls(tuple(heads), lines, caption)

    @classmethod
    def of_records(
        cls, records: Iterable[Mapping[str, Any]], caption: str = "", digits: int = 4
    ) -> Table:
        """A row per record, a column per key of any of them."""
        rows = list(records)
        heads = list(dict.fromkeys(head for row in rows for head in row))
        return cls.of(
            heads, ([row.get(head, "") for head in heads] for row in rows), caption, digits
        )

    @property
    def is_number(self) -> list[bool]:
        """Which columns contain numbers."""
        columns = zip(self.heads, *self.rows, strict=True)
        return [bool(self.rows) and all(map(NUMBER.match, c[1:])) for c in columns]

    def condensed(self) -> Table:
        """Without empty columns; a minority of columns of a single value moves into the note."""
        columns = [{*column} for column in zip(*self.rows, strict=True)]
        full = [k for k, cells in enumerate(columns) if k == 0 or cells - {"", "-"}]
        same = [k for k in full[1:] if len(columns[k]) == 1 and self.heads[k]]
        if len(self.rows) < SAME or 2 * len(same) > len(full):
            same = []
        lines = ([row[k] for k in full if k not in same] for row in (self.heads, *self.rows))
        heads, *rows = map(tuple, lines)
        facts = (f"{self.heads[k]} {self.rows[0][k]}" for k in same)
        note = f"In every row: {'; '.join(facts)}." if same else ""
        return Table(heads, tuple(rows), self.caption, note)

    def padded(self, least: int = 0) -> list[list[str]]:
        """The lines, heads first, with cells as wide as their columns, and as `least`."""
        lines = [self.heads, *self.rows]
        widths = [max(least, *map(len, column)) for column in zip(*lines, strict=True)]
        pads = [str.rjust if is_number else str.ljust for is_number in self.is_number]
        return [[p(c, w) for p, c, w in zip(pads, line, widths, strict=True)] for line in lines]

    def text(self, indent: str = "  ") -> list[str]:
        """The lines for a terminal."""
        return [indent + "  ".join(line).rstrip() for line in self.padded()]

    def markdown(self) -> str:
        """The table in Markdown, which is also readable as text."""
        lines = [tuple(c.replace("|", r"\|") for c in line) for line in (self.heads, *self.rows)]
        heads, *rows = Table(lines[0], tuple(lines[1:])).padded(4)
        rules = ["-" * len(c) for c in heads]
        rules = [r[:-1] + ":" if n else r for r, n in zip(rules, self.is_number, strict=True)]
        return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rules, *rows))


def cell(value: Any, digits: int = 4) -> str:
    """The text of a cell; a float has so many significant digits."""
    if value is None or (isinstance(value, Real) and not np.isfinite(value)):
        return "-"
    if isinstance(value, Real) and not isinstance(value, Integral | bool):
        return f"{value:.{digits}g}"
    return str(value)


def text_table(
    heads: Sequence[str], rows: Iterable[Sequence[Any]], digits: int = 4, indent: str = "  "
) -> list[str]:
    """The lines of a table for a terminal, of text and numbers; none without rows."""
    table = Table.of(heads, rows, digits=digits)
    return table.text(indent) if table.rows else []
