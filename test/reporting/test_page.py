# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Pages are complete: text is escaped, pictures are inside."""

import base64
import json
from html.parser import HTMLParser

import numpy as np
import pytest

from multibody_dynamics.reporting.figures import new_figure, save
from multibody_dynamics.reporting.page import Page, write_json


class Checked(HTMLParser):
    """Counts tags, and collects text and image sources; every opened tag must be closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.texts, self.sources = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag == "img":
            self.sources.append(dict(attrs)["src"])
        elif tag not in ("meta", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def filled(tmp_path):
    figure, _ = new_figure(1, 1, (2.0, 2.0))
    save(figure, tmp_path / "old.png")
    page = Page("Q' & Q''")
    page.heading("a < b")
    page.text("x & y", "z")
    page.problems(["too late"])
    page.items(["one", "two"], "List")
    page.items([], "no heading without items")
    page.code("a:\n  b: 1")
    page.figure(tmp_path / "old.png", "from a file")
    page.figure(figure, "drawn", tmp_path / "new.png")
    rows = [("pd", "met", None, 0.25), ("sf", "missing", "", np.inf), ("<b>", "x.html", "-", 2)]
    page.table(("law", "<em>", "empty", "|e|"), rows, "caption", digits=1)
    page.table(("nothing",), [])
    return page


def test_an_html_page_is_complete(tmp_path):
    text = filled(tmp_path).write_html(tmp_path / "new" / "report.html").read_text("utf-8")
    found = Checked(text)
    assert found.open == []
    for each in ("a < b", "x & y", "one", "a:\n  b: 1", "caption", "<em>", "<b>", "Q' & Q''",
                 "Problem: too late", "List"):  # fmt: skip
        assert each in found.texts
    for absent in ("no heading without items", "empty", "nothing"):
        assert absent not in found.texts
    assert len(found.sources) == 2
    for source in found.sources:
        data = base64.b64decode(source.removeprefix("data:image/png;base64,"), validate=True)
        assert data.startswith(b"\x89PNG")
    assert '<td class="yes">met</td>' in text
    assert '<td class="no">missing</td>' in text
    assert '<td class="number">0.2</td>' in text
    assert '<a href="x.html">x.html</a>' in text


def test_markdown_has_the_same_content(tmp_path):
    text = filled(tmp_path).write_markdown(tmp_path / "report.md").read_text("utf-8")
    blocks = [block.strip("\n") for block in text.split("\n\n") if block.strip()]
    assert blocks == [
        "# Q' & Q''",
        "## a < b",
        "x & y",
        "z",
        "**Problem: too late**",
        "## List",
        "- one\n- two",
        "```\na:\n  b: 1\n```",
        "![drawn](new.png)",
        "caption",
        r"| law  | <em>    | \|e\| |"
        "\n"
        "| ---- | ------- | ----: |\n"
        "| pd   | met     |   0.2 |\n"
        "| sf   | missing |     - |\n"
        "| <b>  | x.html  |     2 |",
    ]  # the old file has no name relative to this page
    assert (tmp_path / "new.png").stat().st_size > 1000


def test_json_has_null_for_what_is_not_finite(tmp_path):
    content = {"a": [1.0, np.float64("nan")], "b": {"c": (float("inf"), "µ")}}
    write_json(content, tmp_path / "new" / "x.json")
    text = (tmp_path / "new" / "x.json").read_text("utf-8")
    assert json.loads(text, parse_constant=pytest.fail) == {
        "a": [1.0, None],
        "b": {"c": [None, "µ"]},
    }
    assert "µ" in text
