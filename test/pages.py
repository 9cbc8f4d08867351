# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""README and the pages of docs/, which several tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / "README.md", ROOT / "examples" / "README.md"),
    *sorted((ROOT / "docs").glob("*.md")),
]


def page_id(page):
    return str(page.relative_to(ROOT))
