# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Types of the variables of a Python function over scalars, and the branches that are never taken.

A variable has the type that holds all values assigned to it. Types may depend on each other through
loops, so assignments are examined again until no type changes. A branch whose test has the same
result for every row of a table is decided here; what it alone assigns needs no type.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from .c_expressions import Expressions
from .c_types import INT, Variable, joined
from .syntax_trees import copied, stores

ROUNDS = 5  # after which types must have settled


class Inference:
    """Infers the types of all variables of a function.

    Attributes: `result`, the type of the result, None if there is none; `assigned_once`, the names
    with a single assignment, whose values may be known.
    """

    def __init__(self, expressions: Expressions, arguments: dict[str, Any]) -> None:
        self._expressions, self._arguments = expressions, arguments
        self.result: Any = None
        self.assigned_once: set[str] = set()

    def reachable(self, tree: ast.FunctionDef, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements without branches that cannot be taken; fills `expressions.variables`.

        Raises InputError if a variable has values of types that do not fit together.
        """
        variables = self._expressions.variables
        assigned = stores(body)
        for _ in range(ROUNDS):
            before = dict(variables)
            for name, kind in self._arguments.items():
                variables.setdefault(name, Variable(kind))
            self.assigned_once = {name for name in assigned if assigned.count(name) == 1}
            found = self._prune(body)
            assigned = stores(found)
            if before == variables:
                return found
        raise self._expressions.fail(tree, "types of variables do not settle")

    def _prune(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.If):
                test = self._expressions.known(statement.test)
                if test is not None:
                    chosen = self._prune(statement.body if test else statement.orelse)
                    kept += chosen
                    if chosen and isinstance(chosen[-1], ast.Return | ast.Continue | ast.Break):
                        return kept
                    continue
                kept.append(
                    copied(
                        statement,
                        body=self._prune(statement.body),
                        orelse=self._prune(statement.orelse),
                    )
                )
            elif isinstance(statement, ast.For | ast.While):
                if isinstance(statement, ast.For):
                    self._learn(statement.target, INT, None)
                kept.append(copied(statement, body=self._prune(statement.body)))
            elif isinstance(statement, ast.Assign):
                self._assign_types(statement)
                kept.append(statement)
            else:
                if isinstance(statement, ast.Return) and statement.value is not None:
                    self.result = self._joined(
                        self.result, self._expressions.value(statement.value).type
                    )
                kept.append(statement)
        return kept

    def _assign_types(self, statement: ast.Assign) -> None:
        for target in statement.targets:
            if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                for one, value in zip(target.elts, statement.value.elts, strict=True):
                    found = self._expressions.value(value)
                    self._learn(one, found.type, found.values)
                continue
            found = self._expressions.value(statement.value)
            if isinstance(target, ast.Tuple):
                for one, kind in zip(target.elts, found.type.items, strict=True):
                    self._learn(one, kind, None)
            else:
                self._learn(target, found.type, found.values)

    def _learn(self, target: ast.expr, kind: Any, values: frozenset[float] | None) -> None:
        if not isinstance(target, ast.Name):
            return
        known = self._expressions.variables.get(target.id)
        if known is not None and target.id in self._arguments:
            if self._joined(known.type, kind) != known.type:
                raise self._expressions.fail(target, f"the argument becomes a {kind}")
            return
        joined = kind if known is None else self._joined(known.type, kind)
        keeps = target.id in self.assigned_once and isinstance(joined, str)
        self._expressions.variables[target.id] = Variable(joined, values if keeps else None)

    def _joined(self, one: Any, other: Any) -> Any:
        return joined(one, other, self._expressions.function.__name__)
