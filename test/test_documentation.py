"""What README and docs say is true: code runs, tables are the code's own, links lead somewhere."""

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from multibody_dynamics.tools import reference

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / "README.md", ROOT / "examples" / "README.md"),
    *sorted((ROOT / "docs").glob("*.md")),
]


def page_id(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_the_python_of_a_page_runs_from_top_to_bottom(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    namespace = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)
    assert blocks or page != ROOT / "README.md"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_generated_tables_are_those_of_the_code(page):
    text = page.read_text()
    assert reference.updated(text) == text, "run: python -m multibody_dynamics.tools.reference"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_files_and_make_targets_that_are_named_exist(page):
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


def test_every_yaml_example_of_a_node_names_parameters_that_exist():
    for node, table in reference.NODES.items():
        module = import_module(f"multibody_dynamics.nodes.{node}")
        known = {field.name for field in fields(getattr(module, table))}
        text = (ROOT / "docs" / f"{node}.md").read_text()
        examples = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
        assert examples, f"docs/{node}.md has no example"
        for example in examples:
            for entry in yaml.safe_load(example).values():
                assert set(entry["ros__parameters"]) <= known | {"use_sim_time"}
