# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The table of what was identified, with the values before and after."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from .identified_results import Figure

KEPT = "not determined: previous value kept"
SHARED = "not determined on its own, only together with others"
SAME = 1e-9  # relative difference below which a value counts as kept
NOTHING = 1e-9  # a smaller previous value is a zero with rounding errors


class Change(NamedTuple):
    """A number of the table: `before` is None if the files had none."""

    name: str
    quantity: str
    before: float | None
    after: Figure
    remark: str = ""

    @property
    def percent(self) -> float:
        """The change relative to the previous value, in percent; NaN without one."""
        if self.before is None or abs(self.before) < NOTHING:
            return math.nan
        return 100.0 * (self.after.value - self.before) / abs(self.before)


@dataclass
class WrittenBack:
    """The new files, by name, and every identified number with its previous value."""

    files: dict[str, bytes] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def table(self) -> str:
        """All changes as a Markdown table that is also readable as text."""
        rows = [("", "quantity", "data sheet", "identified", "±", "change", "remark")]
        for each in self.changes:
            value, error, determined = each.after
            remarks = [each.remark] if each.remark else []
            if not determined:
                is_kept = each.before is not None and math.isclose(
                    value, each.before, rel_tol=SAME, abs_tol=NOTHING
                )
                remarks.append(KEPT if is_kept else SHARED)
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
