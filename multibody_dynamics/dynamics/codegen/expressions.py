# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Expressions that are recorded while a recursion runs over them.

An expression is plus or minus one node of a graph, so a change of sign is no operation: products by
-1 and negations move outwards to the next sum, which becomes a difference. Equal nodes are stored
once (hash-consing), constants are folded, and sums with zero and products by zero or one vanish.
What remains is what a compiler cannot find in the source of a recursion, because it may not assume
that 0 x = 0 for an infinite x: where the text multiplies an infinite value or NaN by a constant
zero, the recorded expression is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum
from numbers import Real
from typing import Any

from ..core import InputError

PAUSE_AFTER = 50  # nodes; about 0.1 ms


class Operation(IntEnum):
    """What a node computes from its arguments."""

    INPUT = 0  # of the group with this number, the entry with this number
    CONSTANT = 1  # the positive value
    ADD = 2
    SUBTRACT = 3
    MULTIPLY = 4
    DIVIDE = 5
    SINE = 6
    COSINE = 7


Node = tuple[Operation, Any, Any]


class Graph:
    """The nodes of all expressions, in the order in which they were first needed.

    `nodes` holds (operation, argument, argument); arguments of operations are earlier nodes.
    """

    def __init__(self, pause: Callable[[], object] = int) -> None:
        """`pause` is called now and then while expressions are recorded."""
        self.nodes: list[Node] = []
        self.groups: dict[str, int] = {}
        self.pause = pause
        self._known: dict[Node, int] = {}

    def inputs(self, name: str, count: int) -> list[Expression]:
        """New inputs of the compiled function: an array of `count` numbers with this name.

        Raises InputError if the name is taken.
        """
        if name in self.groups:
            raise InputError(f"the graph already has inputs '{name}'")
        group = len(self.groups)
        self.groups[name] = count
        return [Expression(self, 1, self._node(Operation.INPUT, group, k)) for k in range(count)]

    def _node(self, operation: Operation, first: Any, second: Any = None) -> int:
        node = (operation, first, second)
        index = self._known.get(node)
        if index is None:
            index = self._known[node] = len(self.nodes)
            self.nodes.append(node)
            if index % PAUSE_AFTER == 0:
                self.pause()
        return index

    def constant(self, value: float) -> Expression:
        """An expression for a number other than zero."""
        return Expression(
            self, int(math.copysign(1, value)), self._node(Operation.CONSTANT, abs(value))
        )

    def value(self, index: int) -> float | None:
        """The value of a constant node, None for any other node."""
        operation, value, _ = self.nodes[index]
        return value if operation is Operation.CONSTANT else None

    def _check(self, other: Expression) -> None:
        if other.graph is not self:
            raise InputError("the expressions belong to another graph, and cannot be combined")

    def sum(self, a: Expression, b: Expression) -> Expression | float:
        self._check(b)
        i, j = a.index, b.index
        if i == j:
            return a.sign * 2.0 * Expression(self, 1, i) if a.sign == b.sign else 0.0
        if a.sign == b.sign:
            return Expression(self, a.sign, self._node(Operation.ADD, min(i, j), max(i, j)))
        if i < j:
            return Expression(self, a.sign, self._node(Operation.SUBTRACT, i, j))
        return Expression(self, b.sign, self._node(Operation.SUBTRACT, j, i))

    def product(self, a: Expression, b: Expression) -> Expression:
        self._check(b)
        i, j = sorted((a.index, b.index))
        sign = a.sign * b.sign
        for constant, other in ((i, j), (j, i)):
            factor = self.value(constant)
            operation, first, second = self.nodes[other]
            if factor is not None and operation is Operation.MULTIPLY:
                for k, rest in ((first, second), (second, first)):
                    inner = self.value(k)
                    if inner is not None:  # c1 (c2 x) = (c1 c2) x
                        return sign * (factor * inner) * Expression(self, 1, rest)
        return Expression(self, sign, self._node(Operation.MULTIPLY, i, j))

    def quotient(self, a: Expression, b: Expression) -> Expression | float:
        self._check(b)
        if a.index == b.index:
            return float(a.sign * b.sign)
        node = self._node(Operation.DIVIDE, a.index, b.index)
        return Expression(self, a.sign * b.sign, node)


class Expression:
    """Plus or minus a node of a graph; takes the place of a float in a recursion.

    Sums, differences, products and quotients with other expressions of the same graph and with
    real numbers give expressions, or floats where the value is known.
    """

    __slots__ = ("graph", "index", "sign")
    __array_ufunc__ = None  # NumPy scalars leave the operation to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, graph: Graph, sign: int, index: int) -> None:
        self.graph, self.sign, self.index = graph, sign, index

    def __repr__(self) -> str:
        return f"{'-' if self.sign < 0 else ''}node {self.index}"

    def __eq__(self, other: object) -> bool:
        """Whether both are the same node with the same sign; a number is never an expression."""
        return isinstance(other, Expression) and (
            (self.graph, self.sign, self.index) == (other.graph, other.sign, other.index)
        )

    def __bool__(self) -> bool:
        raise TypeError("the value of an expression is not known while it is recorded")

    def __neg__(self) -> Expression:
        return Expression(self.graph, -self.sign, self.index)

    def __pos__(self) -> Expression:
        return self

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Expression):
            return self.graph.sum(self, other)
        if not isinstance(other, Real):
            return NotImplemented
        number = _finite(other)
        return self.graph.sum(self, self.graph.constant(number)) if number else self

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Expression):
            return self.graph.product(self, other)
        if not isinstance(other, Real):
            return NotImplemented
        number = _finite(other)
        if number == 0.0:
            return 0.0
        if abs(number) == 1.0:
            return self if number > 0 else -self
        return self.graph.product(self, self.graph.constant(number))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Expression):
            return self.graph.quotient(self, other)
        if not isinstance(other, Real):
            return NotImplemented
        number = _finite(other)
        if abs(number) == 1.0:
            return self if number > 0 else -self
        if number == 0.0:
            raise ZeroDivisionError("an expression is divided by zero")
        return self.graph.quotient(self, self.graph.constant(number))

    def __rtruediv__(self, other: Any) -> Any:
        if not isinstance(other, Real):
            return NotImplemented
        number = _finite(other)
        return self.graph.quotient(self.graph.constant(number), self) if number else 0.0


def _finite(number: Any) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise InputError(f"expressions take finite numbers only, got {value}")
    return value


def sine(angle: Any) -> Any:
    """The sine of an expression or a number."""
    if not isinstance(angle, Expression):
        return math.sin(angle)
    graph = angle.graph
    return Expression(graph, angle.sign, graph._node(Operation.SINE, angle.index))


def cosine(angle: Any) -> Any:
    """The cosine of an expression or a number."""
    if not isinstance(angle, Expression):
        return math.cos(angle)
    graph = angle.graph
    return Expression(graph, 1, graph._node(Operation.COSINE, angle.index))
