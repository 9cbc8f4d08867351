"""The documentation site: `make docs`. The pages are those that GitHub shows, too."""

from __future__ import annotations

import re

import multibody_dynamics

project = "multibody_dynamics"
author = "multibody_dynamics developers"
copyright = author
release = version = multibody_dynamics.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
html_theme = "furo"
html_title = f"multibody_\u200bdynamics {version}"  # where the narrow sidebar may break it
smartquotes = False  # q' is a derivative, not a quotation

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4
suppress_warnings = [
    "myst.header",  # pages that are parts of one begin below the first level
]

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"


def _examples(app, docname, source):
    """Links to files outside of docs/, the examples, download them from the site."""
    source[0] = re.sub(r"\[`?([^]`]+)`?\]\((\.\./[\w./-]+)\)", r"{download}`\1 <\2>`", source[0])


def _as_it_stands(app, what, name, obj, options, lines):
    """Docstrings are written for the terminal, with tables and formulas aligned: so they appear."""
    text = re.sub(r":\w+:`[.~]?([^`]+)`", r"\1", "\n".join(lines)).strip()
    head, _, rest = text.partition("\n\n")
    lines[:] = [re.sub(r"([\\*|`_])", r"\\\1", " ".join(head.split())), ""]
    if rest:
        lines += ["::", "", *(f"   {line}" for line in rest.splitlines()), ""]


def setup(app):
    app.connect("autodoc-process-docstring", _as_it_stands)
    app.connect("source-read", _examples)
