"""The table of what was identified, with the values of before and of after."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from .identified_results import Figure

KEPT = "not determined: value of before kept"


class Change(NamedTuple):
    """A number of the table: `before` is None if the files had none."""

    name: str
    quantity: str
    before: float | None
    after: Figure
    remark: str = ""

    @property
    def percent(self) -> float:
        """The change relative to the value of before, in percent; NaN without one."""
        if not self.before:
            return math.nan
        return 100.0 * (self.after.value - self.before) / abs(self.before)


@dataclass
class WrittenBack:
    """The new files, by name, and every identified number with its value of before."""

    files: dict[str, bytes] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def table(self) -> str:
        """All changes as a Markdown table that is also readable as text."""
        rows = [("", "quantity", "data sheet", "identified", "±", "change", "remark")]
        for each in self.changes:
            value, error, determined = each.after
            remarks = [each.remark] if each.remark else []
            remarks += [] if determined else [KEPT]
            percent = each.percent
            rows.append(
                (
                    each.name,
                    each.quantity,
                    "-" if each.before is None else f"{each.before:.6g}",
                    f"{value:.6g}",
                    f"{error:.2g}" if math.isfinite(error) else "-",
                    f"{percent:+.1f} %" if math.isfinite(percent) else "-",
                    "; ".join(remarks),
                )
            )
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = [
            "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
            for row in rows
        ]
        return "\n".join(
            [lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]]
        )
