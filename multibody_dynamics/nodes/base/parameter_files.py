# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sections of parameter files: those that are meant for a node and do not reach it."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ...dynamics.core import read_yaml

PARAMETERS = "ros__parameters"
OPTION = "--params-file"


def parameter_files(arguments: Sequence[str]) -> list[Path]:
    """The parameter files among the arguments of a process."""
    return [Path(file) for option, file in pairwise(arguments) if option == OPTION]


def missed_sections(file: Path, node: str) -> list[str]:
    """The sections for a node with the name of `node`, a full name such as '/left/arm', but in
    another namespace; none if another section with this name is for `node` itself.

    rcl ignores them in silence. Raises InputError for a file that is not valid, or gives a key
    twice.
    """
    sections = list(_sections(read_yaml(file), ""))
    name = node.rpartition("/")[2]
    named = [section for section in sections if section.rpartition("/")[2] == name]
    return [] if any(_is_for(section, node) for section in named) else named


def _sections(tree: Any, above: str) -> Iterator[str]:
    """The full names of all sections; namespaces may be keys of their own."""
    if not isinstance(tree, dict):
        return
    for key, below in tree.items():
        if key == PARAMETERS:
            yield above
        else:
            yield from _sections(below, f"{above}/{str(key).strip('/')}")


def _is_for(section: str, node: str) -> bool:
    """Whether a section, in which * is any name and ** any number of names, is for this node."""
    parts = {"*": "/[^/]+", "**": "(/[^/]+)*"}
    names = section.strip("/").split("/")
    pattern = "".join(parts.get(each, "/" + re.escape(each)) for each in names)
    return re.fullmatch(pattern, node) is not None
