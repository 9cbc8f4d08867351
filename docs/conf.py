"""The documentation site: `make docs`. The pages are those that GitHub shows, too."""

from __future__ import annotations

import re
from pathlib import Path

import multibody_dynamics

ROOT = Path(__file__).parents[1]
SOURCES = "https://github.com/example/multibody_dynamics/blob/main/"

project = "multibody_dynamics"
author = "multibody_dynamics developers"
copyright = author
release = version = multibody_dynamics.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
html_theme = "furo"
html_title = f"multibody_dynamics {version}"

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4
suppress_warnings = [
    "myst.header",  # pages that are parts of one begin below the first level
]

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"


def _in_the_repository(app, docname, source):
    """Links to files outside of docs/ lead to the repository, on the site."""
    source[0] = re.sub(r"\]\(\.\./([\w./-]+)(#[\w-]+)?\)", rf"]({SOURCES}\1\2)", source[0])


def _as_it_stands(app, what, name, obj, options, lines):
    """Docstrings are written for the terminal, with tables and formulas aligned: so they appear."""
    text = re.sub(r":\w+:`[.~]?([^`]+)`", r"\1", "\n".join(lines)).strip()
    head, _, rest = text.partition("\n\n")
    lines[:] = [re.sub(r"([\\*|`_])", r"\\\1", " ".join(head.split())), ""]
    if rest:
        lines += ["::", "", *(f"   {line}" for line in rest.splitlines()), ""]


def setup(app):
    app.connect("autodoc-process-docstring", _as_it_stands)
    app.connect("source-read", _in_the_repository)
