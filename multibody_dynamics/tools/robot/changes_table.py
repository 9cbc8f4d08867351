# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The table of what was identified, with the values before and after."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...reporting.tables import Table
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

    @property
    def remarks(self) -> str:
        """The remark, and whether a number that was not determined is the previous one."""
        remarks = [self.remark] if self.remark else []
        if not self.after.determined:
            is_kept = self.before is not None and math.isclose(
                self.after.value, self.before, rel_tol=SAME, abs_tol=NOTHING
            )
            remarks.append(KEPT if is_kept else SHARED)
        return "; ".join(remarks)


@dataclass
class WrittenBack:
    """The new files, by name, and every identified number with its previous value."""

    files: dict[str, bytes] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def table(self) -> str:
        """All changes as a Markdown table that is also readable as text."""
        heads = ("", "quantity", "data sheet", "identified", "±", "change", "remark")
        return Table.of(heads, map(_row, self.changes), digits=6).markdown()


def _row(change: Change) -> tuple[Any, ...]:
    value, error, _ = change.after
    spread = f"{error:.2g}" if math.isfinite(error) else None
    percent = f"{change.percent:+.1f} %" if math.isfinite(change.percent) else None
    return change.name, change.quantity, change.before, value, spread, percent, change.remarks
