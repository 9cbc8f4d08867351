# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""HTML reports: a single page with embedded pictures, which needs no other files."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

STYLE = (
    "body{font:16px/1.45 system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 0;font-size:.85em}td,th{padding:.25em .7em;"
    "text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
    "img{max-width:100%}.no{color:#b00}.yes{color:#060}caption{text-align:left;color:#555}"
)
MARKS = {"met": "yes", "not met": "no", "lost": "no", "missing": "no"}
"""Cells that are coloured."""
PNG = "data:image/png;base64,"


def write_page(file: Path, title: str, parts: Iterable[str]) -> Path:
    """Write a page that consists of the parts, which are HTML; returns its path."""
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
    body = "\n".join([f"<h1>{html.escape(title)}</h1>", *parts])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n',
        encoding="utf-8",
    )
    return file


def heading(text: str) -> str:
    """A heading."""
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{html.escape(text)}</p>"


def listing(lines: Iterable[str]) -> str:
    """A list."""
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"


def preformatted(text: str) -> str:
    """Text of a file or for a terminal, line by line."""
    return f"<pre>{html.escape(text)}</pre>"


def picture(drawing: Any, alt: str) -> str:
    """A figure of Matplotlib, or the path of a PNG file."""
    source = _embedded_file(drawing) if isinstance(drawing, Path) else embedded(drawing)
    return f'<p><img alt="{html.escape(alt)}" src="{source}"></p>'


def embedded(figure: Any) -> str:
    """The figure as the source of an HTML image; frees its memory."""
    from matplotlib import pyplot

    file = BytesIO()
    figure.savefig(file, format="png", dpi=100)
    pyplot.close(figure)
    return PNG + base64.b64encode(file.getvalue()).decode()


def _embedded_file(file: Path) -> str:
    return PNG + base64.b64encode(file.read_bytes()).decode()


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """A table; cells in MARKS are coloured."""
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heads)
    lines = []
    for row in rows:
        cells = (
            f'<td class="{MARKS[cell]}">{cell}</td>'
            if cell in MARKS
            else f"<td>{html.escape(cell)}</td>"
            for cell in row
        )
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return f"<table>{title}<tr>{head}</tr>" + "\n".join(lines) + "</table>"
