# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The documentation site is complete and builds without a warning."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from page_scripts import reference

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_every_page_is_in_a_table_of_contents():
    text = (DOCS / "index.md").read_text()
    named = re.findall(r"^([\w*?]+)$", text, re.MULTILINE)
    found = [{page.stem for page in DOCS.glob(f"{name}.*")} for name in named]
    assert all(found)
    notebooks = re.findall(r"^notebooks/(\w+)$", text, re.MULTILINE)
    assert notebooks == sorted(file.stem for file in (DOCS / "notebooks").glob("*.ipynb"))
    assert set().union(*found) >= {page.stem for page in DOCS.glob("*.md")} - {"index"}


def test_the_reference_has_a_section_for_every_package():
    text = (DOCS / "api.rst").read_text()
    sections = re.findall(r"^(dyn\.\w+)\n-+\n\n\.\. automodule:: (\S+)\n", text, re.MULTILINE)
    assert sections == [
        (f"dyn.{name}", f"multibody_dynamics.dynamics.{name}") for name in reference.packages()
    ]


def loaded_from_elsewhere(site):
    """Scripts, styles, fonts and images that a browser would fetch from another computer."""
    tags = re.compile(r"<(?:script|link|img|iframe|source|audio|video)\b[^>]*", re.IGNORECASE)
    for file in site.rglob("*.html"):
        for tag in tags.findall(file.read_text(encoding="utf-8")):
            if re.search(r"""(?:src|href)\s*=\s*["'](?:https?:)?//""", tag):
                yield f"{file.name}: {tag}"
    for file in site.rglob("*.css"):
        for place in re.findall(
            r"(?:@import|url\()[\s\"']*((?:https?:)?//[^)\"']+)", file.read_text()
        ):
            yield f"{file.name}: {place}"


def build_without_a_warning(tmp_path):
    """Build all pages except the API reference, for which `make docs` takes half a minute."""
    pages = tmp_path / "docs"
    pages.mkdir()
    for file in (*DOCS.glob("*.md"), *DOCS.glob("*.csv"), DOCS / "conf.py"):
        (pages / file.name).write_text(file.read_text())
    for folder in ("images", "notebooks"):
        (pages / folder).symlink_to(DOCS / folder)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    index = (pages / "index.md").read_text()
    (pages / "index.md").write_text(re.sub(r"^api\n", "", index, flags=re.MULTILINE))
    # test_notebooks.py runs the notebooks.
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-D", "nb_execution_mode=off"]
    command += ["-b", "html", str(pages)]
    run = subprocess.run(
        [*command, str(tmp_path / "site")], capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 0, run.stderr
    page = (tmp_path / "site" / "concepts.html").read_text()
    assert '<div class="math"><math' in page
    assert "$$" not in page
    assert not list(loaded_from_elsewhere(tmp_path / "site"))
    assert (tmp_path / "site" / "_images" / "demo.png").is_file()


# The tools that build the site come with scripts/environment.sh, not with rosdep.
if all(map(find_spec, ("furo", "latex2mathml", "myst_nb", "sphinx"))):

    def test_the_pages_build_without_a_warning(tmp_path):
        build_without_a_warning(tmp_path)
