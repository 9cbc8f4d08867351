# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Every source file names its copyright holder and its licence."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "multibody_dynamics", "launch", "scripts", "test", "benchmark", "examples", "studies", "docs"
)  # fmt: skip
NOTICE = ("Copyright 2026 multibody_dynamics developers", "SPDX-License-Identifier: Apache-2.0")
COMMENTS = {
    (".py", ".sh", ".cmake", ".txt", "Makefile", "run"): "# {}\n# {}\n",
    (".cpp", ".hpp"): "// {}\n// {}\n",
    (".c", ".h"): "/*\n * {}\n * {}\n */\n",
    ("templates",): "{{# {}\n   {} #}}",
}
HEADS = {kind: text.format(*NOTICE) for kinds, text in COMMENTS.items() for kind in kinds}


def source_files() -> Iterator[Path]:
    found = [f for folder in FOLDERS for f in (ROOT / folder).rglob("*")]
    for file in (*found, ROOT / "setup.py", ROOT / "Makefile", ROOT / ".ci" / "run"):
        if "__pycache__" not in file.parts and kind(file) in HEADS and file.is_file():
            yield file


def kind(file: Path) -> str:
    return "templates" if file.parent.name == "templates" else file.suffix or file.name


def lacks_notice(file: Path, text: str) -> bool:
    """Whether the text does not begin with the notice, after a line that names the interpreter."""
    if text.startswith("#!"):
        text = text.partition("\n")[2]
    return bool(text) and not text.startswith(HEADS[kind(file)] + "\n")


def test_every_source_file_begins_with_the_notice():
    files = list(source_files())
    assert len(files) > 900
    assert {kind(file) for file in files} == HEADS.keys()
    assert [str(f.relative_to(ROOT)) for f in files if lacks_notice(f, f.read_text())] == []


def test_the_notice_does_not_hide_docstrings():
    modules = [f for f in source_files() if f.suffix == ".py" and f.read_text()]
    begins = re.compile(rf'(#!.*\n)?{re.escape(HEADS[".py"])}\nr?"""')
    assert [f for f in modules if not begins.match(f.read_text())] == []


def test_the_licence_is_that_of_the_package():
    manifest = ET.parse(ROOT / "package.xml")
    assert NOTICE[1].endswith(f" {manifest.findtext('license')}")
    assert manifest.findtext("maintainer") in NOTICE[0]
