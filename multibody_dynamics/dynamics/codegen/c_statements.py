# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Statements of Python functions over scalars, translated into C in three steps.

1. Types. A variable has the type that holds all values assigned to it. Types may depend on each
   other through loops, so assignments are examined again until no type changes. A branch whose test
   has the same result for every row of a table is decided here; what it alone assigns needs no
   type.
2. The cases that do not occur leave assignments behind that nobody reads. They are removed, with
   the loops and branches around them.
3. Text. A variable is declared where it is first assigned, or before the block inside which that
   happens if it is needed after this block. Assignments of a tuple to a tuple use temporaries where
   a value depends on a variable that has been overwritten.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .c_expressions import Expressions
from .c_types import DOUBLE, INDENT, INT, ArrayType, Variable, fields_of, joined, lengths_of

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
        assigned = _stores(body)
        for _ in range(ROUNDS):
            before = dict(variables)
            for name, kind in self._arguments.items():
                variables.setdefault(name, Variable(kind))
            self.assigned_once = {name for name in assigned if assigned.count(name) == 1}
            found = self._prune(body)
            assigned = _stores(found)
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
                    _copied(
                        statement,
                        body=self._prune(statement.body),
                        orelse=self._prune(statement.orelse),
                    )
                )
            elif isinstance(statement, ast.For | ast.While):
                if isinstance(statement, ast.For):
                    self._learn(statement.target, INT, None)
                kept.append(_copied(statement, body=self._prune(statement.body)))
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
                    value_type = self._expressions.value(value)
                    self._learn(one, value_type.type, value_type.values)
                continue
            value_type = self._expressions.value(statement.value)
            if isinstance(target, ast.Tuple):
                for one, kind in zip(target.elts, value_type.type.items, strict=True):
                    self._learn(one, kind, None)
            else:
                self._learn(target, value_type.type, value_type.values)

    def _learn(self, target: ast.expr, kind: Any, values: frozenset[float] | None) -> None:
        if not isinstance(target, ast.Name):
            return
        known = self._expressions.variables.get(target.id)
        if known is not None and target.id in self._arguments:
            if self._joined(known.type, kind) != known.type:
                raise self._expressions.fail(target, f"the argument becomes a {kind}")
            return
        whole = kind if known is None else self._joined(known.type, kind)
        keeps = target.id in self.assigned_once and isinstance(whole, str)
        self._expressions.variables[target.id] = Variable(whole, values if keeps else None)

    def _joined(self, one: Any, other: Any) -> Any:
        return joined(one, other, self._expressions.function.__name__)


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
                    kept.append(_copied(each, test=test, body=inner or other,
                                        orelse=other if inner else []))  # fmt: skip
            elif isinstance(each, ast.For | ast.While):
                if inner := cleaned(each.body):
                    kept.append(_copied(each, body=inner))
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
            return _copied(statement, targets=[pairs[0][0]], value=pairs[0][1])
        left, right = zip(*pairs, strict=True)
        return _copied(
            statement,
            targets=[_copied(first, elts=list(left))],
            value=_copied(value, elts=list(right)),
        )
    if isinstance(first, ast.Tuple):
        blank = ast.Name("_", ast.Store())
        elements = [blank if is_unused(each) else each for each in first.elts]
        if all(isinstance(each, ast.Name) and each.id == "_" for each in elements):
            return None
        return _copied(statement, targets=[_copied(first, elts=elements)])
    return _copied(statement, targets=targets)


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
            later = {x.id for x in _walk(body[k + 1 :]) if isinstance(x, ast.Name)}
            for name in dict.fromkeys(_stores([statement])):
                is_here = isinstance(statement, ast.Assign) and not _loads([statement]) >= {name}
                if name in self._declared or is_here or isinstance(statement, ast.Assign):
                    continue
                if name in later and name not in _loop_targets(statement):
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
            needs_copies |= bool(overwritten & _loads([ast.Expr(value)]))
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


# Syntax trees


def _copied(node: Any, **changes: Any) -> Any:
    """A node with other fields."""
    fields = {name: getattr(node, name) for name in node._fields} | changes
    return ast.copy_location(type(node)(**fields), node)


def _stores(body: Iterable[ast.AST]) -> list[str]:
    """The names that are assigned, once for each assignment."""
    found = [x.id for x in _walk(body) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)]
    return [name for name in found if name != "_"]


def _loads(body: Iterable[ast.AST]) -> set[str]:
    """The names that are read, also by assignments in place such as x += 1."""
    found = {x.id for x in _walk(body) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)}
    changed = {
        x.target.id
        for x in _walk(body)
        if isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name)
    }
    return found | changed


def _loop_targets(statement: ast.AST) -> set[str]:
    """The variables of the loops in a statement."""
    return {
        x.target.id
        for x in ast.walk(statement)
        if isinstance(x, ast.For) and isinstance(x.target, ast.Name)
    }


def _walk(body: Iterable[ast.AST]) -> Iterable[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)
