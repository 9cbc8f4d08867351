# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Names that statements of a Python function read and assign, from their syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any


def copied(node: Any, **changes: Any) -> Any:
    """A node with other fields."""
    fields = {name: getattr(node, name) for name in node._fields} | changes
    return ast.copy_location(type(node)(**fields), node)


def stores(body: Iterable[ast.AST]) -> list[str]:
    """The names that are assigned, once for each assignment."""
    found = [x.id for x in _walk(body) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)]
    return [name for name in found if name != "_"]


def loads(body: Iterable[ast.AST]) -> set[str]:
    """The names that are read, also by assignments in place such as x += 1."""
    found = {x.id for x in _walk(body) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)}
    changed = {
        x.target.id
        for x in _walk(body)
        if isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name)
    }
    return found | changed


def names(body: Iterable[ast.AST]) -> set[str]:
    """The names that occur."""
    return {x.id for x in _walk(body) if isinstance(x, ast.Name)}


def loop_targets(statement: ast.AST) -> set[str]:
    """The variables of the loops in a statement."""
    return {
        x.target.id
        for x in ast.walk(statement)
        if isinstance(x, ast.For) and isinstance(x.target, ast.Name)
    }


def _walk(body: Iterable[ast.AST]) -> Iterable[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)
