# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Statements of Python functions over scalars, translated into C.

A variable is declared where it is first assigned, or before the block inside which that happens if
it is needed after this block. Assignments of a tuple to a tuple use temporaries where a value
depends on a variable that has been overwritten.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from .c_expressions import Expressions
from .c_types import DOUBLE, INDENT, INT, ArrayType, fields_of, lengths_of
from .syntax_trees import loads, loop_targets, names, stores


class Statements:
    """The statements of one function.

    expressions : of the function, with the types of all variables. declared : names that the text
    need not declare. assigned_once : names that become constants. result : type of the result.
    """

    def __init__(
        self, expressions: Expressions, declared: set[str], assigned_once: set[str], result: Any
    ) -> None:
        self._expressions, self._structures = expressions, expressions.unit.structures
        self._declared, self._assigned_once = set(declared), assigned_once
        self._result = result
        self._temporaries = 0

    def block(self, body: Sequence[ast.stmt], level: int) -> list[str]:
        """The lines of a block, with declarations of variables that are assigned deeper inside."""
        lines: list[str] = []
        for k, statement in enumerate(body):
            later = names(body[k + 1 :])
            for name in dict.fromkeys(stores([statement])):
                is_here = isinstance(statement, ast.Assign) and not loads([statement]) >= {name}
                if name in self._declared or is_here or isinstance(statement, ast.Assign):
                    continue
                if name in later and name not in loop_targets(statement):
                    kind = self._expressions.variables[name].type
                    lines.append(INDENT * level + self._structures.declared(kind, name) + ";")
                    self._declared.add(name)
            lines += self._statement(statement, level)
        return lines

    def _inner(self, body: Sequence[ast.stmt], level: int) -> list[str]:
        known = set(self._declared)
        lines = self.block(body, level)
        self._declared = known
        return lines

    def _statement(self, statement: ast.stmt, level: int) -> list[str]:
        pad = INDENT * level
        match statement:
            case ast.Assign():
                return [pad + line for line in self._assignment(statement)]
            case ast.AugAssign():
                self._expressions.write(statement.target)
                target, value = (
                    self._expressions.value(statement.target),
                    self._expressions.value(statement.value),
                )
                symbol, _ = self._expressions.operator(statement, statement.op, target, value)
                if symbol == "/" and target.type == INT and isinstance(statement.op, ast.Div):
                    raise self._expressions.fail(
                        statement, "an integer would become a floating-point number"
                    )
                return [f"{pad}{target.text} {symbol}= {value.text};"]
            case ast.Return(value=None):
                return [f"{pad}return;"]
            case ast.Return(value=value):
                assert value is not None
                return [f"{pad}return {self._expressions.typed(value, self._result)};"]
            case ast.Break():
                return [f"{pad}break;"]
            case ast.Continue():
                return [f"{pad}continue;"]
            case ast.If():
                return self._if(statement, level)
            case ast.While():
                body = self._inner(statement.body, level + 1)
                return [
                    f"{pad}while ({self._expressions.value(statement.test).text}) {{",
                    *body,
                    f"{pad}}}",
                ]
            case ast.For():
                return self._for(statement, level)
            case ast.Expr():
                return [f"{pad}{self._expressions.value(statement.value).text};"]
            case _:
                raise self._expressions.fail(statement, "not in the subset that is translated")

    def _if(self, statement: ast.If, level: int) -> list[str]:
        pad = INDENT * level
        lines = [f"{pad}if ({self._expressions.value(statement.test).text}) {{"]
        lines += self._inner(statement.body, level + 1)
        rest = statement.orelse
        if len(rest) == 1 and isinstance(rest[0], ast.If):
            first, *others = self._if(rest[0], level)
            return [*lines, f"{pad}}} else {first.strip()}", *others]
        if rest:
            lines += [f"{pad}}} else {{", *self._inner(rest, level + 1)]
        return [*lines, f"{pad}}}"]

    def _for(self, statement: ast.For, level: int) -> list[str]:
        call, target = statement.iter, statement.target
        is_range = isinstance(call, ast.Call) and getattr(call.func, "id", "") == "range"
        if not is_range or not isinstance(target, ast.Name):
            raise self._expressions.fail(statement, "only loops over a range are translated")
        assert isinstance(call, ast.Call)
        bounds = [self._expressions.value(each).text for each in call.args]
        start, end = ("0", bounds[0]) if len(bounds) == 1 else bounds[:2]
        is_down = len(bounds) == 3 and bounds[2].startswith("-")
        name = target.id if target.id != "_" else f"loop_{level}"
        step = ("--" if is_down else "++") + name
        if len(bounds) == 3 and bounds[2] not in ("1", "-1"):
            raise self._expressions.fail(statement, "only ranges with a step of one are translated")
        known = set(self._declared)
        self._declared.add(target.id)
        body = self.block(statement.body, level + 1)
        self._declared = known
        pad = INDENT * level
        head = f"for (int {name} = {start}; {name} {'>' if is_down else '<'} {end}; {step}) {{"
        return [pad + head, *body, f"{pad}}}"]

    def _assignment(self, statement: ast.Assign) -> list[str]:
        lines: list[str] = []
        value = statement.value
        first = statement.targets[0]
        if isinstance(first, ast.Name) and (array := self._expressions.new_array(value)):
            self._declared.add(first.id)
            return [f"{array.kind} {first.id}{lengths_of(array.shape)} = {{0}};"]
        if isinstance(first, ast.Tuple) and isinstance(value, ast.Tuple):
            return self._parallel(first.elts, value.elts)
        if isinstance(first, ast.Tuple):
            found = self._expressions.value(value)
            if isinstance(value, ast.Name | ast.Attribute):
                name = found.text
            else:
                self._temporaries += 1
                name = f"found_{self._temporaries}"
                lines.append(f"const {self._structures.name(found.type)} {name} = {found.text};")
            fields = fields_of(found.type)
            for target, field in zip(first.elts, fields, strict=True):
                if not (isinstance(target, ast.Name) and target.id == "_"):
                    lines.append(self._stored(target, f"{name}.{field}"))
            return lines
        previous = None
        for target in reversed(statement.targets):
            kind = (
                self._expressions.variables[target.id].type
                if isinstance(target, ast.Name)
                else DOUBLE
            )
            text = self._expressions.typed(value, kind) if previous is None else previous
            lines.append(self._stored(target, text))
            with self._expressions.unread():
                previous = self._expressions.value(target).text
        return lines

    def _parallel(self, targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> list[str]:
        """Assignments of a tuple to a tuple, with temporaries where a value needs an old one."""
        lines: list[str] = []
        overwritten: set[str] = set()
        needs_copies = False
        for target, value in zip(targets, values, strict=True):
            needs_copies |= bool(overwritten & loads([ast.Expr(value)]))
            overwritten |= {x.id for x in ast.walk(target) if isinstance(x, ast.Name)}
        texts = []
        for target, value in zip(targets, values, strict=True):
            kind = (
                self._expressions.variables[target.id].type
                if isinstance(target, ast.Name)
                else DOUBLE
            )
            text = self._expressions.typed(value, kind)
            if needs_copies:
                self._temporaries += 1
                copy = f"copy_{self._temporaries}"
                lines.append(f"const {self._structures.declared(kind, copy)} = {text};")
                text = copy
            texts.append(text)
        pairs = zip(targets, texts, strict=True)
        return lines + [self._stored(target, text) for target, text in pairs]

    def _stored(self, target: ast.expr, text: str) -> str:
        if isinstance(target, ast.Name):
            if target.id not in self._declared:
                self._declared.add(target.id)
                kind = self._expressions.variables[target.id].type
                is_constant = target.id in self._assigned_once and not isinstance(kind, ArrayType)
                start = "const " if is_constant else ""
                return f"{start}{self._structures.declared(kind, target.id)} = {text};"
            return f"{target.id} = {text};"
        self._expressions.write(target)
        return f"{self._expressions.value(target).text} = {text};"
