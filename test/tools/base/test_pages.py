# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""HTML reports are complete pages: text is escaped, pictures are inside."""

from html.parser import HTMLParser

from multibody_dynamics.tools.base import pages
from multibody_dynamics.tools.base.figures import new_figure, save


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
        elif tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_a_page_holds_its_text_and_pictures(tmp_path):
    figure, _ = new_figure(1, 1, (2.0, 2.0))
    file = tmp_path / "picture.png"
    save(figure, file)
    drawing, _ = new_figure(1, 1, (2.0, 2.0))
    parts = [
        pages.heading("a < b"),
        pages.paragraph("x & y"),
        pages.listing(["one", "two"]),
        pages.preformatted("a:\n  b: 1"),
        pages.picture(file, "from a file"),
        pages.picture(drawing, "drawn"),
        pages.table(("law", "<em>"), [("pd", "met"), ("sf", "missing"), ("<b>", "1")], "caption"),
    ]
    page = pages.write_page(tmp_path / "new" / "report.html", "Q' & Q''", parts)
    text = page.read_text(encoding="utf-8")
    found = Checked(text)
    assert found.open == []
    for each in ("a < b", "x & y", "one", "a:\n  b: 1", "caption", "<em>", "<b>", "Q' & Q''"):
        assert each in found.texts
    assert len(found.sources) == 2
    assert all(source.startswith(pages.PNG) for source in found.sources)
    assert '<td class="yes">met</td>' in text
    assert '<td class="no">missing</td>' in text
