# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""README and docs agree with the code: blocks run, tables are generated from it, links resolve."""

import re
import runpy
from importlib import import_module
from inspect import ismodule
from pkgutil import walk_packages

import pytest

from multibody_dynamics import dynamics as dyn
from page_scripts import reference
from pages import PAGES, ROOT, page_id

PAPERS = sorted((ROOT / "docs").glob("*_20??*.md"))


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_the_python_blocks_of_a_page_run_in_order(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    namespace = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)
    assert blocks or page != ROOT / "README.md"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_generated_tables_are_up_to_date(page):
    text = page.read_text()
    assert reference.updated(text) == text, "run: python scripts/reference.py"


def headings(page):
    """The anchors of a page: its headings, as GitHub and the documentation site name them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_to_existing_files_and_headings(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)[^)]*\)", page.read_text()):
        if "://" in target:
            continue
        linked = page.parent / target if target else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor and linked.suffix == ".md":
            assert anchor in headings(linked), f"{page.name} links to {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_quoted_files_and_make_targets_exist(page):
    text = page.read_text()
    for name in re.findall(r"\b((?:config|launch|docs|test|benchmark|examples)/[\w./-]+\w)", text):
        assert (ROOT / name).exists(), f"{page.name} names {name}"
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for target in re.findall(r"(?:^    |`)make ([a-z][\w-]*)", text, re.MULTILINE):
        assert target in targets, f"{page.name}: make {target}"


def test_every_node_has_a_page_with_its_parameters():
    for node in reference.NODES:
        text = (ROOT / "docs" / f"{node}.md").read_text()
        assert f"<!-- begin {node} parameters -->" in text
        for heading in ("## Interfaces", "## Example", "## Parameters"):
            assert heading in text, f"docs/{node}.md has no '{heading}'"


def test_the_names_for_everyday_use_are_those_of_dynamics():
    text = (ROOT / "docs" / "names.md").read_text()
    table = text[text.index("| subject |") : text.index("## Packages")]
    names = re.findall(r"`(\w+)`", table.split("\n", 2)[2])
    assert sorted(names) == sorted(set(dyn.__all__) - set(reference.packages()))


# The pages of the papers


def rows_of_equations(page):
    """The cells of the table rows that list equations and their names in the code."""
    for table in re.findall(r"(?:^\|.*\n)+", page.read_text(), re.MULTILINE):
        head, _, *rows = (
            [cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()
        )
        if head[1] == "in the code":
            yield from rows


def exists(name):
    """Whether `name` is a name or module of a package, or an attribute of such a name or module."""
    first, _, rest = name.partition(".")
    packages = [getattr(dyn, each) for each in dyn.__all__ if ismodule(getattr(dyn, each))]
    owners = [getattr(each, first) for each in packages if first in getattr(each, "__all__", ())]
    owners += [
        import_module(module.name)
        for package in packages
        if hasattr(package, "__path__")
        for module in walk_packages(package.__path__, f"{package.__name__}.")
        if module.name.endswith(f".{first}")
    ]
    if not rest:
        return bool(owners)
    attributes = ({*dir(x), *getattr(x, "__dataclass_fields__", ())} for x in owners)
    return not rest.startswith("_") and any(rest in names for names in attributes)


@pytest.mark.parametrize("page", PAPERS, ids=page_id)
def test_code_named_beside_an_equation_exists(page):
    rows = list(rows_of_equations(page))
    assert len(rows) > 10
    for equation, code, *_ in rows:
        for name in re.findall(r"`([^`]+)`", code):
            found = (ROOT / name).is_file() if "/" in name else exists(name)
            assert found, f"{page.name}, {equation}: {name}"


@pytest.mark.parametrize(("page", "last"), [("mueller_2018_dynamics", 120), ("kim_2012", 92)])
def test_every_equation_of_a_paper_is_listed_once(page, last):
    numbers = []
    for equation, *_ in rows_of_equations(ROOT / "docs" / f"{page}.md"):
        for start, end in re.findall(r"\((\d+)\)(?: \.\.\. \((\d+)\))?", equation):
            numbers += range(int(start), int(end or start) + 1)
    assert sorted(numbers) == list(range(1, last + 1))


def test_symbols_name_existing_attributes():
    names = [name for symbol in dyn.lie.SYMBOLS for name in symbol.name.split(", ") if "." in name]
    for name in names:
        owner, _, attribute = name.rpartition(".")
        assert exists(f"{'MultibodyModel' if owner == 'model' else owner}.{attribute}"), name


def test_the_table_of_operation_counts_is_up_to_date():
    operations = runpy.run_path(str(ROOT / "benchmark" / "operations.py"))
    assert operations["table"]() in (ROOT / "docs" / "benchmark.md").read_text()
