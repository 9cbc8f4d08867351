# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Pages of headings, paragraphs, lists, tables and figures, written as HTML or Markdown.

An HTML page contains its figures and its style and needs no other file.
"""

import base64
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from .figures import save
from .tables import Table
from .templates import rendered

TEMPLATES = Path(__file__).parent / "templates"


class Block(NamedTuple):
    """A part of a page; the templates say how each kind is shown."""

    kind: str
    content: Any


class Figure(NamedTuple):
    """A drawing of Matplotlib, or a PNG file; `alt` is what it shows."""

    drawing: Any
    alt: str
    file: Path | None

    @property
    def source(self) -> str:
        """The picture itself as the source of an HTML image."""
        if isinstance(self.drawing, Path):
            data = self.drawing.read_bytes()
        else:
            buffer = BytesIO()
            self.drawing.savefig(buffer, format="png", dpi=110)
            data = buffer.getvalue()
        return f"data:image/png;base64,{base64.b64encode(data).decode()}"


class Page:
    """Filled from top to bottom. Lists and tables without rows are left out."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.blocks: list[Block] = []

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._add("heading", text)

    def text(self, *paragraphs: str) -> None:
        """Add paragraphs."""
        for paragraph in paragraphs:
            self._add("text", paragraph)

    def items(self, lines: Iterable[str], heading: str = "") -> None:
        """Add a list, with a heading if it has one."""
        if found := list(lines):
            if heading:
                self.heading(heading)
            self._add("items", found)

    def problems(self, lines: Iterable[str]) -> None:
        """Add paragraphs that must not be overlooked."""
        for line in lines:
            self._add("problem", line)

    def code(self, text: str) -> None:
        """Add the text of a file."""
        self._add("code", text)

    def table(
        self,
        heads: Sequence[str],
        rows: Iterable[Sequence[Any]],
        caption: str = "",
        digits: int = 4,
    ) -> None:
        """Add a table of text and numbers, see :mod:`.tables`; it has no empty columns, and columns
        of a single value are written below it."""
        self._add_table(Table.of(heads, rows, caption, digits))

    def records(
        self, records: Iterable[Mapping[str, Any]], caption: str = "", digits: int = 4
    ) -> None:
        """The same for rows that are mappings from heads to cells."""
        self._add_table(Table.of_records(records, caption, digits))

    def figure(self, drawing: Any, alt: str, file: Path | None = None) -> None:
        """Add a drawing or a PNG file; a drawing is also written to `file`, if given, to which
        Markdown refers."""
        if file is not None:
            save(drawing, file)
        self._add("figure", Figure(file or drawing, alt, file))

    def write_html(self, file: Path) -> Path:
        """Write the page as HTML; returns its path."""
        return self._write(file, "page.html")

    def write_markdown(self, file: Path) -> Path:
        """Write the page as Markdown; returns its path."""
        return self._write(file, "page.md")

    def _add_table(self, table: Table) -> None:
        if table.rows:
            self._add("table", table.condensed())

    def _add(self, kind: str, content: Any) -> None:
        self.blocks.append(Block(kind, content))

    def _write(self, file: Path, template: str) -> Path:
        text = rendered(TEMPLATES / template, page=self)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file


def finite(value: Any) -> Any:
    """Numbers, lists and dictionaries for JSON; None for what is not finite."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(content: Any, file: Path) -> None:
    """Write numbers, lists and dictionaries; what is not finite becomes null."""
    text = json.dumps(finite(content), indent=1, ensure_ascii=False, allow_nan=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n", encoding="utf-8")
