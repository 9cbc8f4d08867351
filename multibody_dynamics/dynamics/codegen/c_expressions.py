# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Expressions of Python functions over scalars, translated into C.

Every expression has a type (:mod:`.c_types`) and, where known, the set of values that it can have.
A comparison with the same result for all of them is decided during the translation.
"""

import ast
import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core import InputError
from .c_source import literal
from .c_types import (
    BOOL,
    DOUBLE,
    INT,
    NONE,
    ArrayType,
    RecordType,
    Structures,
    Translated,
    TupleType,
    Value,
    Variable,
    fields_of,
    joined,
)

Function = Callable[..., Any]
_CALLS = {  # name: its name in C; arguments and result are double
    "abs": "fabs", "expm1": "expm1", "exp": "exp", "tanh": "tanh", "sqrt": "sqrt", "floor": "floor",
    "ceil": "ceil", "asin": "asin", "atan2": "atan2",
    "sin": "sin", "cos": "cos", "copysign": "copysign", "fmin": "fmin", "fmax": "fmax",
}  # fmt: skip
_TESTS = ("isnan", "isfinite")
_OPERATORS: dict[type, tuple[str, int]] = {
    ast.Add: ("+", 6), ast.Sub: ("-", 6), ast.Mult: ("*", 7), ast.Div: ("/", 7),
    ast.FloorDiv: ("/", 7), ast.Mod: ("%", 7), ast.BitOr: ("|", 2), ast.BitAnd: ("&", 3),
}  # fmt: skip
_COMPARISONS: dict[type, tuple[str, Callable[[float, float], bool]]] = {
    ast.Eq: ("==", lambda a, b: a == b), ast.NotEq: ("!=", lambda a, b: a != b),
    ast.Lt: ("<", lambda a, b: a < b), ast.LtE: ("<=", lambda a, b: a <= b),
    ast.Gt: (">", lambda a, b: a > b), ast.GtE: (">=", lambda a, b: a >= b),
}  # fmt: skip


class Unit(Protocol):
    """What expressions need of their translation unit, :class:`.c_translation.Module`."""

    structures: Structures

    def translate(self, function: Function, types: tuple[Any, ...]) -> Translated:
        """A function for arguments of these types, translated when it is first used."""

    def constant(self, name: str, value: float) -> str:
        """The name in C of a constant of a Python module."""

    def table(self, name: str, numbers: NDArray[Any]) -> ArrayType:
        """The type of a table of a Python module."""


class Expressions:
    """The expressions of one function.

    Attributes: `variables` by name, filled while types are inferred; `read`, the names that occur
    in the text so far; `written`, those of arrays and records in which it stores.
    """

    def __init__(self, unit: Unit, function: Function) -> None:
        self.unit, self.function = unit, function
        self._globals = function.__globals__
        self.variables: dict[str, Variable] = {}
        self.read: set[str] = set()
        self.written: set[str] = set()

    def write(self, node: ast.expr) -> None:
        """Note that the array or record of an expression is written."""
        while isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        if isinstance(node, ast.Name):
            self.written.add(node.id)

    def fail(self, node: ast.AST, why: str) -> InputError:
        """The error that names the line of a statement or expression."""
        line = getattr(node, "lineno", 0)
        return InputError(f"{self.function.__name__}, line {line}: {why}: {ast.unparse(node)}")

    # Results that are known

    def known(self, test: ast.expr) -> bool | None:
        """The result of a test if it is the same for all values, None otherwise."""
        with self.unread():
            return self._decided(test)

    @contextmanager
    def unread(self) -> Iterator[None]:
        """Expressions are only examined, and not written: what they name is not read."""
        before = set(self.read)
        yield
        self.read = before

    def _decided(self, test: ast.expr) -> bool | None:
        if isinstance(test, ast.BoolOp):
            is_and = isinstance(test.op, ast.And)
            found = []
            for each in test.values:
                found.append(self._decided(each))
                if found[-1] is (not is_and):  # later operands need not even have a type
                    return not is_and
            return is_and if all(each is is_and for each in found) else None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._decided(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.Constant) and isinstance(test.value, bool):
            return test.value
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compared(test)
        if isinstance(test, ast.Subscript | ast.Name):  # flags
            truths = {bool(x) for x in self.value(test).values or ()}
            return truths.pop() if len(truths) == 1 else None
        return None

    def _compared(self, test: ast.Compare) -> bool | None:
        operation, right = test.ops[0], test.comparators[0]
        if isinstance(operation, ast.Is | ast.IsNot):
            is_none = self.value(test.left).type == NONE
            return is_none is isinstance(operation, ast.Is)
        left_values, right_values = self.value(test.left).values, self.value(right).values
        if left_values is None or right_values is None:
            return None
        compare = self._operator(test, operation)[1]
        results = {compare(a, b) for a in left_values for b in right_values}
        return results.pop() if len(results) == 1 else None

    def _operator(self, node: ast.Compare, operation: ast.cmpop) -> tuple[str, Any]:
        """A comparison in C, and as a function of Python."""
        found = _COMPARISONS.get(type(operation))
        if found is None:
            raise self.fail(node, f"'{type(operation).__name__}' is not in the subset")
        return found

    # Text

    def typed(self, node: ast.expr, kind: Any) -> str:
        """The text of an expression of a given type; tuples become compound literals."""
        if isinstance(node, ast.Tuple):
            items = [self.typed(x, each) for x, each in zip(node.elts, kind.items, strict=True)]
            return f"({self.unit.structures.name(kind)}){{{', '.join(items)}}}"
        return self.value(node).text

    def value(self, node: ast.expr) -> Value:
        """An expression in C."""
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name():
                return self._name(node)
            case ast.Tuple():
                kind = TupleType(tuple(self.value(each).type for each in node.elts))
                return Value(self.typed(node, kind), kind)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.BoolOp():
                return self._boolean(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Call():
                return self._call(node)
            case _:
                raise self.fail(node, "not in the subset that is translated")

    def _constant(self, node: ast.Constant) -> Value:
        value = node.value
        if value is None:
            return Value("0", NONE)
        if isinstance(value, bool):
            return Value("1" if value else "0", BOOL, values=frozenset({float(value)}))
        if isinstance(value, int):
            return Value(str(value), INT, values=frozenset({float(value)}))
        return Value(literal(value, "double"), DOUBLE, values=frozenset({value}))  # type: ignore[arg-type]

    def _name(self, node: ast.Name) -> Value:
        known = self.variables.get(node.id)
        if known is not None:
            kind = known.type
            text = kind.table if isinstance(kind, ArrayType) and kind.table else node.id
            self.read.add(node.id)
            return Value(text, kind, values=known.values)
        return self._global(node, node.id, self._globals.get(node.id))

    def _global(self, node: ast.expr, name: str, value: Any) -> Value:
        """A constant or a table of a Python module."""
        if isinstance(value, np.ndarray):
            table = self.unit.table(name, value)
            return Value(table.table, table)
        if isinstance(value, float) and not math.isfinite(value):
            return _infinite(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            text = self.unit.constant(name, value)
            kind = INT if isinstance(value, int) else DOUBLE
            return Value(text, kind, values=frozenset({float(value)}))
        raise self.fail(node, "unknown name")

    def _attribute(self, node: ast.Attribute) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id not in self.variables:
            return self._member(node, self._globals.get(node.value.id))
        with self.unread():
            inner = self.value(node.value)
        if isinstance(inner.type, RecordType) and (kind := inner.type.field(node.attr)) is not None:
            if isinstance(kind, ArrayType) and kind.table:  # the record itself is not read
                return Value(kind.table, kind)
            inner = self.value(node.value)
            text = f"{inner.text}{'.' if inner.type.is_member else '->'}{node.attr}"
            if isinstance(kind, RecordType):
                kind = kind._replace(is_member=True)
            return Value(text, kind)
        inner = self.value(node.value)
        if isinstance(inner.type, TupleType) and inner.type.record:
            k = inner.type.record._fields.index(node.attr)
            return Value(f"{inner.text}.{node.attr}", inner.type.items[k])
        raise self.fail(node, "not the field of a named tuple")

    def _member(self, node: ast.Attribute, found: Any) -> Value:
        """A member of an enumeration, such as State.HOLDING, or of a module, such as math.inf."""
        if inspect.ismodule(found):
            return self._global(node, node.attr, getattr(found, node.attr, None))
        if isinstance(found, type) and issubclass(found, IntEnum):
            number = int(found[node.attr])
            text = self.unit.constant(node.attr, number)
            return Value(text, INT, values=frozenset({float(number)}))
        raise self.fail(node, "neither a variable nor an enumeration")

    def _subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            with self.unread():
                kind = self.value(node.value.value).type
            assert isinstance(node.slice, ast.Constant)
            length = kind.shape[node.slice.value]
            if kind.names and kind.names[node.slice.value]:  # a compiler option may change it
                return Value(kind.names[node.slice.value], INT)
            return Value(str(length), INT, values=frozenset({float(length)}))
        array = self.value(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        entries = [self.value(each) for each in indices]
        if isinstance(array.type, TupleType):
            (values,) = (entries[0].values,)
            if values is None or len(entries) != 1:
                raise self.fail(node, "the index of a tuple must be a constant")
            k = int(next(iter(values)))
            return Value(f"{array.text}.{fields_of(array.type)[k]}", array.type.items[k])
        if not isinstance(array.type, ArrayType) or len(entries) > len(array.type.shape):
            raise self.fail(node, "an array is indexed entry by entry")
        if any(each.type not in (INT, BOOL) for each in entries):
            raise self.fail(node, "an index is an integer")
        if array.type.is_number:
            return Value(array.text, array.type.kind)
        if len(entries) < len(array.type.shape):  # a row
            if array.type.table:
                raise self.fail(node, "a table is indexed entry by entry")
            text = array.text + "".join(f"[{each.text}]" for each in entries)
            return Value(text, ArrayType(array.type.kind, array.type.shape[len(entries) :]))
        text = array.text + "".join(f"[{each.text}]" for each in entries)
        values, columns = None, array.type.columns
        if len(entries) == 2 and columns and entries[1].values and len(entries[1].values) == 1:
            values = columns[int(next(iter(entries[1].values)))]
        elif len(entries) == 1 and columns:
            values = columns[0]
        return Value(text, array.type.kind, values=values)

    def _unary(self, node: ast.UnaryOp) -> Value:
        inner = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Value(f"!{_operand(inner, 8)}", BOOL, 8)
        if isinstance(node.op, ast.USub):
            values = None if inner.values is None else frozenset(-x for x in inner.values)
            return Value(f"-{_operand(inner, 9)}", inner.type, 8, values)  # 9: -(-x), not --x
        raise self.fail(node, "not in the subset that is translated")

    def _binary(self, node: ast.BinOp) -> Value:
        if isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                with self.unread():
                    is_one = self.value(one).values == {1.0} and self.value(other).type == DOUBLE
                if is_one:
                    return self.value(other)
        left, right = self.value(node.left), self.value(node.right)
        symbol, rank = self.operator(node, node.op, left, right)
        kind = DOUBLE if DOUBLE in (left.type, right.type) else INT
        if isinstance(node.op, ast.Div) and kind == INT:
            left = _as_double(left)
            kind = DOUBLE
        text = f"{_operand(left, rank)} {symbol} {_operand(right, rank + 1)}"
        if isinstance(node.op, ast.Mod) and not _is_never_negative(node.left):
            count = _operand(right, rank + 1)  # in C, the remainder has the sign of the dividend
            text = f"({text} + {count}) % {count}"
        return Value(text, kind, rank)

    def operator(
        self, node: ast.AST, operation: ast.operator, left: Value, right: Value
    ) -> tuple[str, int]:
        """Symbol and rank; floor division only of integers, which must not be negative."""
        if type(operation) not in _OPERATORS:
            raise self.fail(node, "not in the subset that is translated")
        if isinstance(operation, ast.FloorDiv | ast.Mod) and DOUBLE in (left.type, right.type):
            raise self.fail(node, "floor division is translated for integers only")
        return _OPERATORS[type(operation)]

    def _boolean(self, node: ast.BoolOp) -> Value:
        result = self.known(node)
        if result is not None:
            return Value(str(int(result)), BOOL, values=frozenset({float(result)}))
        is_and = isinstance(node.op, ast.And)
        kept = [each for each in node.values if self.known(each) is not is_and]
        if len(kept) == 1:
            return self.value(kept[0])
        symbol = " && " if is_and else " || "
        return Value(symbol.join(_operand(self.value(each), 4) for each in kept), BOOL, 1)

    def _comparison(self, node: ast.Compare) -> Value:
        operands = [node.left, *node.comparators]
        values = [self.value(each) for each in operands]
        for each in operands[1:-1]:
            if any(isinstance(x, ast.Call) for x in ast.walk(each)):
                raise self.fail(node, "a call in a chain of comparisons would run twice")
        texts = [
            f"{_operand(a, 5)} {self._operator(node, op)[0]} {_operand(b, 5)}"
            for a, b, op in zip(values, values[1:], node.ops, strict=False)
        ]
        return Value(" && ".join(texts), BOOL, 4 if len(texts) == 1 else 1)

    def _choice(self, node: ast.IfExp) -> Value:
        known = self.known(node.test)
        if known is not None:
            return self.value(node.body if known else node.orelse)
        one, other = self.value(node.body), self.value(node.orelse)
        text = f"{_operand(self.value(node.test), 1)} ? {_operand(one, 1)} : {_operand(other, 1)}"
        return Value(text, joined(one.type, other.type, self.function.__name__), 0)

    def _call(self, node: ast.Call) -> Value:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id  # type: ignore[attr-defined]
        if (kind := self.new_array(node)) is not None:
            return Value("", kind)
        function = self._globals.get(name)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            function = getattr(self._globals.get(node.func.value.id), name, None)  # of a module
        if inspect.isfunction(getattr(function, "py_func", function)):
            return self._own_call(node, function)
        values = [self.value(each) for each in node.args]
        texts = ", ".join(each.text for each in values)
        if name in ("min", "max") and len(values) == 2 and {x.type for x in values} == {INT}:
            one, other = (_operand(each, 6) for each in values)
            text = f"{other} {'<' if name == 'min' else '>'} {one} ? {other} : {one}"
            return Value(text, INT, 0)
        if name in ("min", "max", "minimum", "maximum") and len(values) >= 2:
            call = "smaller_of" if name.startswith("min") else "larger_of"
            text = values[0].text
            for each in values[1:]:
                text = f"{call}({text}, {each.text})"
            return Value(text, DOUBLE)
        if name in _CALLS:
            return Value(f"{_CALLS[name]}({texts})", DOUBLE)
        if name in _TESTS:
            return Value(f"{name}({texts})", BOOL)
        if name == "int":
            known = values[0].values
            whole = None if known is None else frozenset(float(int(x)) for x in known)
            return Value(f"(int){_operand(values[0], 8)}", INT, 8, whole)
        if name in ("float", "float64"):
            return values[0] if values[0].type == DOUBLE else _as_double(values[0])
        if isinstance(function, type) and hasattr(function, "_fields"):
            for argument, each in zip(node.args, values, strict=True):
                if isinstance(each.type, ArrayType | RecordType):
                    self.write(argument)  # whoever has the tuple may
            record = TupleType(tuple(each.type for each in values), function)
            return Value(f"({self.unit.structures.name(record)}){{{texts}}}", record)
        raise self.fail(node, "unknown function")

    def new_array(self, node: ast.expr) -> ArrayType | None:
        """The type of an array of zeros(shape), which has to have a known shape."""
        if not isinstance(node, ast.Call) or ast.unparse(node.func) not in ("zeros", "np.zeros"):
            return None
        given = node.args[0]
        lengths = given.elts if isinstance(given, ast.Tuple) else [given]
        with self.unread():
            values = [self.value(each).values for each in lengths]
        if any(each is None or len(each) != 1 for each in values):
            raise self.fail(node, "the shape of a new array must be known")
        return ArrayType(DOUBLE, tuple(int(next(iter(each or ()))) for each in values))

    def _own_call(self, node: ast.Call, function: Any) -> Value:
        """A call of another function in the subset, with those arguments that it needs in C."""
        with self.unread():
            types = tuple(_passed(self.value(each)).type for each in node.args)
        translated = self.unit.translate(function, types)
        for k, (argument, kind) in enumerate(zip(node.args, types, strict=True)):
            is_read = k < len(translated.constant) and translated.constant[k]
            if isinstance(kind, ArrayType | RecordType) and translated.used[k] and not is_read:
                self.write(argument)
        pairs = zip(node.args, translated.used, strict=True)
        texts = [_passed(self.value(x)).text for x, used in pairs if used]
        return Value(f"{translated.name}({', '.join(texts)})", translated.result)


# Operands


def _infinite(value: float) -> Value:
    """A number that is not finite."""
    text = "NAN" if math.isnan(value) else "HUGE_VAL" if value > 0.0 else "-HUGE_VAL"
    return Value(text, DOUBLE, 9 if text[0] != "-" else 8, frozenset({value}))


def _is_never_negative(node: ast.expr) -> bool:
    """Whether an integer is a sum of things that count."""
    return not any(isinstance(x, ast.Sub | ast.USub) for x in ast.walk(node))


def _passed(value: Value) -> Value:
    """An argument: members of records by their addresses."""
    kind = value.type
    if isinstance(kind, RecordType) and kind.is_member:
        return Value(f"&{value.text}", kind._replace(is_member=False))
    if isinstance(kind, ArrayType) and kind.is_number:
        return Value(f"&{value.text}", kind._replace(is_number=False))
    return value


def _as_double(value: Value) -> Value:
    """Integers divide with a remainder in C, so a cast is needed."""
    return Value(f"(double){_operand(value, 8)}", DOUBLE, 8)


def _operand(value: Value, rank: int) -> str:
    """The text of an operand, in parentheses if it binds less tightly than `rank`."""
    return f"({value.text})" if value.rank < rank else value.text
