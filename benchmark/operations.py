# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Multiplications and additions per joint, counted by running the recursions.

The recursions run on numbers that count operations, for chains of 6 and of 7 general joints; the
difference is the cost of one joint. Sines, cosines, changes of sign and additions to a literal zero
are not counted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from multibody_dynamics.dynamics.model.records import BODY_ROW, COORDINATE, JOINT_ROW
from multibody_dynamics.dynamics.recursions import RECURSIONS, body_fixed, passive


class Count(NamedTuple):
    multiplications: int
    additions: int


class Counter:
    """A number without a value that counts the operations in which it takes part."""

    multiplications = additions = 0

    def _multiplied(self, other: Any) -> Counter:
        Counter.multiplications += 1
        return self

    def _added(self, other: Any) -> Counter:
        Counter.additions += not (isinstance(other, int | float) and other == 0)
        return self

    def __neg__(self) -> Counter:
        return self

    __mul__ = __rmul__ = _multiplied
    __add__ = __radd__ = __sub__ = __rsub__ = _added


def count(run: Callable[[int], None]) -> Count:
    """Additional operations of `run(n)` for each additional joint."""
    totals = []
    for n in (6, 7):
        Counter.multiplications = Counter.additions = 0
        run(n)
        totals.append((Counter.multiplications, Counter.additions))
    return Count(*np.subtract(totals[1], totals[0]))


def kinematics(recursion: ModuleType, order: int) -> Count:
    """Poses, twists, accelerations and `order` further derivatives."""

    def run(n: int) -> None:
        parents, joints, _, trig, state, bodies = chain(n)
        recursion.kinematics_recursion(parents, joints, trig, state, order, bodies)

    return count(run)


def inverse_dynamics(recursion: ModuleType, order: int) -> Count:
    """Joint forces and `order` derivatives, given the sines and cosines of the joints."""

    def run(n: int) -> None:
        parents, joints, gravity, trig, state, bodies = chain(n)
        result = filled(order + 1, n)
        recursion.forward_recursion(parents, joints, trig, state, order, bodies)
        recursion.backward_recursion(parents, joints, gravity, state, order, bodies, result)

    return count(run)


def passive_inverse_dynamics(order: int) -> Count:
    """u = M q_r'' + C q_r' + g and `order` derivatives, in the body-fixed recursion."""

    def run(n: int) -> None:
        parents, joints, _, trig, state, bodies = chain(n)
        references, reference = filled(n + 1, passive.REFERENCE_ROW), filled(4, n)
        result = filled(order + 1, n)
        body_fixed.forward_recursion(parents, joints, trig, state, max(order - 1, 0), bodies)
        passive.reference_recursion(parents, joints, state, reference, order, bodies, references)
        passive.backward_recursion(
            parents, joints, state, reference, order, bodies, references, result
        )

    return count(run)


def chain(n: int) -> tuple[Any, ...]:
    """The arguments of the recursions: parents, joints, gravity, trig, state, bodies."""
    shapes = ((n, JOINT_ROW), (3,), (2, n), (5, n), (n + 1, BODY_ROW))
    joints, *others = (filled(*shape) for shape in shapes)
    joints[:, COORDINATE] = range(n)
    return np.arange(-1, n - 1), joints, *others


def filled(*shape: int) -> np.ndarray:
    array = np.empty(shape, dtype=object)
    array.fill(Counter())
    return array


HEAD = "multiplications + additions per joint, counted by running the recursions"
COLUMNS: dict[str, Callable[[ModuleType], Count]] = {
    "V, V'": lambda recursion: kinematics(recursion, 0),
    "V ... V'''": lambda recursion: kinematics(recursion, 2),
    "Q": lambda recursion: inverse_dynamics(recursion, 0),
    "Q, Q'": lambda recursion: inverse_dynamics(recursion, 1),
    "Q, Q', Q''": lambda recursion: inverse_dynamics(recursion, 2),
}


def table() -> str:
    """The counts as a Markdown table."""
    lines = ["| representation | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, recursion in RECURSIONS.items():
        counts = [counted(recursion) for counted in COLUMNS.values()]
        cells = [f"{c.multiplications} + {c.additions}" for c in counts]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"{HEAD}\n")
    print(table())
    counts = [passive_inverse_dynamics(order) for order in range(3)]
    cells = ", ".join(f"{c.multiplications} + {c.additions}" for c in counts)
    print(f"\nbody, with a reference velocity: u; u, u'; u, u', u'': {cells}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
