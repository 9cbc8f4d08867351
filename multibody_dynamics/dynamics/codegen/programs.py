# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A recorded computation: the nodes that its results need, in the order of the recursion."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import Array, InputError
from .expressions import Expression, Graph, Node, Operation

ARITHMETIC = (Operation.ADD, Operation.SUBTRACT, Operation.MULTIPLY, Operation.DIVIDE)
TRIGONOMETRY = (Operation.SINE, Operation.COSINE)


class Result(NamedTuple):
    """One number of a result: a node with its sign, or a constant if `node` is None."""

    node: int | None
    sign: int
    constant: float


class Program:
    """Straight-line code for the results of a graph.

    Nodes that no result needs are dropped; the others are renumbered and keep their order, which is
    the order of the recursion, body by body: values are used soon after they are computed, and few
    live at a time.

    inputs : {name: number of entries}, in the order in which they were declared.
    nodes : (operation, argument, argument), arguments before use.
    results : {name: entries}.
    """

    def __init__(self, graph: Graph, results: Mapping[str, Sequence[Any]]) -> None:
        """Raises InputError for a result that is neither an expression of `graph` nor a number."""
        self.pause = graph.pause
        needed = [False] * len(graph.nodes)
        for name, values in results.items():
            for value in values:
                if isinstance(value, Expression):
                    if value.graph is not graph:
                        raise InputError(f"result '{name}' belongs to another graph")
                    needed[value.index] = True
        for k in range(len(graph.nodes) - 1, -1, -1):
            operation, *arguments = graph.nodes[k]
            if needed[k] and operation > Operation.CONSTANT:
                for argument in arguments:
                    if argument is not None:
                        needed[argument] = True
        places = {k: i for i, k in enumerate(k for k, need in enumerate(needed) if need)}
        self.inputs: dict[str, int] = dict(graph.groups)
        self.nodes: list[Node] = []
        for k in places:
            operation, first, second = graph.nodes[k]
            if operation > Operation.CONSTANT:
                first, second = places[first], places.get(second)
            self.nodes.append((operation, first, second))
        self.results: dict[str, list[Result]] = {
            name: [
                Result(places[value.index], value.sign, 0.0)
                if isinstance(value, Expression)
                else Result(None, 1, float(value))
                for value in values
            ]
            for name, values in results.items()
        }

    def counts(self) -> Counter[Operation]:
        """How often each operation occurs."""
        return Counter(operation for operation, _, _ in self.nodes)

    @property
    def size(self) -> int:
        """The number of sums, differences, products and quotients."""
        counts = self.counts()
        return sum(counts[operation] for operation in ARITHMETIC)

    def angles(self) -> list[int]:
        """The nodes whose sine or cosine is needed."""
        return sorted({first for kind, first, _ in self.nodes if kind in TRIGONOMETRY})

    def evaluate(self, **inputs: Any) -> dict[str, Array]:
        """The results as arrays (..., entries), from arrays (..., entries), in NumPy.

        Raises InputError for missing or unknown inputs and for wrong lengths.
        """
        if inputs.keys() != self.inputs.keys():
            raise InputError(f"expected inputs {', '.join(self.inputs)}, got {', '.join(inputs)}")
        groups = [np.asarray(inputs[name], dtype=float) for name in self.inputs]
        for group, (name, count) in zip(groups, self.inputs.items(), strict=True):
            if group.shape[-1:] != (count,):
                raise InputError(f"{name}: expected shape (..., {count}), got {group.shape}")
        values: list[Any] = []
        for operation, first, second in self.nodes:
            values.append(_evaluated(operation, first, second, values, groups))
        shape = np.broadcast_shapes(*(group.shape[:-1] for group in groups))
        found = {}
        for name, entries in self.results.items():
            found[name] = array = np.empty((*shape, len(entries)))
            for k, (node, sign, constant) in enumerate(entries):
                array[..., k] = constant if node is None else sign * values[node]
        return found


def _evaluated(
    operation: Operation, first: Any, second: Any, values: list[Any], groups: list[Array]
) -> Any:
    match operation:
        case Operation.INPUT:
            return groups[first][..., second]
        case Operation.CONSTANT:
            return first
        case Operation.SINE:
            return np.sin(values[first])
        case Operation.COSINE:
            return np.cos(values[first])
        case Operation.ADD:
            return values[first] + values[second]
        case Operation.SUBTRACT:
            return values[first] - values[second]
        case Operation.MULTIPLY:
            return values[first] * values[second]
        case _:
            return values[first] / values[second]
