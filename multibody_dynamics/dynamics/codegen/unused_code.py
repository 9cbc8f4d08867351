# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Removal of assignments to variables that are never read, and of loops and branches around them.

The cases that do not occur in a robot leave such assignments behind (:mod:`.c_inference`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from .syntax_trees import copied


def without_unused(body: Sequence[ast.stmt], read: set[str]) -> list[ast.stmt]:
    """The statements without assignments to variables that are never read, and empty loops."""

    def is_unused(target: ast.expr) -> bool:
        return isinstance(target, ast.Name) and target.id not in read

    def cleaned(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for each in statements:
            if isinstance(each, ast.Assign):
                one = _cleaned_assignment(each, is_unused)
                kept += [one] if one is not None else []
            elif isinstance(each, ast.If):
                inner, other = cleaned(each.body), cleaned(each.orelse)
                if inner or other:
                    test = each.test if inner else ast.UnaryOp(ast.Not(), each.test)
                    kept.append(copied(each, test=test, body=inner or other,
                                        orelse=other if inner else []))  # fmt: skip
            elif isinstance(each, ast.For | ast.While):
                if inner := cleaned(each.body):
                    kept.append(copied(each, body=inner))
            else:
                kept.append(each)
        return kept

    return cleaned(body)


def _cleaned_assignment(
    statement: ast.Assign, is_unused: Callable[[ast.expr], bool]
) -> ast.Assign | None:
    targets = [target for target in statement.targets if not is_unused(target)]
    if not targets:
        return None
    first, value = targets[0], statement.value
    if isinstance(first, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = [
            pair for pair in zip(first.elts, value.elts, strict=True) if not is_unused(pair[0])
        ]
        if not pairs:
            return None
        if len(pairs) == 1:
            return copied(statement, targets=[pairs[0][0]], value=pairs[0][1])
        left, right = zip(*pairs, strict=True)
        return copied(
            statement,
            targets=[copied(first, elts=list(left))],
            value=copied(value, elts=list(right)),
        )
    if isinstance(first, ast.Tuple):
        blank = ast.Name("_", ast.Store())
        elements = [blank if is_unused(each) else each for each in first.elts]
        if all(isinstance(each, ast.Name) and each.id == "_" for each in elements):
            return None
        return copied(statement, targets=[copied(first, elts=elements)])
    return copied(statement, targets=targets)
