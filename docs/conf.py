# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The documentation site, built by `make docs` from the same pages that GitHub shows."""

from __future__ import annotations

import re
from pathlib import Path

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

import multibody_dynamics

project = "multibody_dynamics"
author = "multibody_dynamics developers"
copyright = author
release = version = multibody_dynamics.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc"]
nb_execution_mode = "cache"  # in build/, and again after a change
nb_execution_timeout = 300  # s
nb_execution_raise_on_error = True
nb_execution_cache_path = str(Path(__file__).parents[1] / "build" / "notebooks")
html_theme = "furo"
html_math_renderer = "mathml"  # drawn by the browser: the site works without a network
html_title = f"multibody_\u200bdynamics {version}"  # the narrow sidebar may break the line here
smartquotes = False  # q' is a derivative, not a quotation

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4
suppress_warnings = [
    "myst.header",  # some pages begin below the first level
]

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"


def _outside_links(app, docname, source):
    """Links out of docs/: the site offers examples for download, and names other pages."""
    text = re.sub(r"\[(`[^`]+`)\]\(\.\./[\w/-]+\.md(?:#[\w-]+)?\)", r"\1", source[0])
    source[0] = re.sub(r"\[`?([^]`]+)`?\]\((\.\./[\w./-]+)\)", r"{download}`\1 <\2>`", text)


def _verbatim(app, what, name, obj, options, lines):
    """Docstrings are written for the terminal, with aligned tables and formulas: keep them so."""
    text = re.sub(r":\w+:`[.~]?([^`]+)`", r"\1", "\n".join(lines)).strip()
    head, _, rest = text.partition("\n\n")
    lines[:] = [re.sub(r"([\\*|`_])", r"\\\1", " ".join(head.split())), ""]
    if rest:
        lines += ["::", "", *(f"   {line}" for line in rest.splitlines()), ""]


def _formula(translator, node):
    """TeX as MathML; raises RuntimeError for a command that the converter does not know."""
    is_block = node.tagname == "math_block"
    found = convert(node.astext(), display="block" if is_block else "inline")
    if "\\" in found:
        raise RuntimeError(f"no MathML for {node.astext()}")
    translator.body.append(f'<div class="math">{found}</div>' if is_block else found)
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
    app.connect("autodoc-process-docstring", _verbatim)
    app.connect("source-read", _outside_links)
