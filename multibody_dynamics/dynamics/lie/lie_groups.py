# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""State spaces of the integrators: products of SE(3), SO(3) x R^3, SO(3) and R^n.

[MT13] sections 2 and 3. An element of a product is a tuple with one array per factor; an element of
its Lie algebra is one flat vector x. A group provides what a Munthe-Kaas integrator needs: product,
exp and dexp^-1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Protocol

import numpy as np

from ..core import Array, InputError, as_array
from . import se3, so3

Element = tuple[Array, ...]


class Factor(Protocol):
    """A group whose elements are arrays and whose Lie algebra has `dimension` coordinates."""

    @property
    def dimension(self) -> int: ...

    def check(self, name: str, value: Any) -> Array:
        """`value` as an element; InputError if it is not one."""
        ...

    def product(self, X: Array, Y: Array) -> Array:
        """The product X Y of two elements."""
        ...

    def exp(self, x: Array) -> Array:
        """The element exp(x) of a vector x (dimension,)."""
        ...

    def dexp_inv(self, x: Array, y: Array) -> Array:
        """dexp_x^-1 y, the inverse of the right-trivialised differential."""
        ...


@dataclass(frozen=True)
class SE3:
    """Poses (4, 4) under C_1 C_2; the left-trivialised velocity is the body-fixed twist."""

    dimension: ClassVar[int] = 6

    def check(self, name: str, value: Any) -> Array:
        return se3.as_pose(name, value)

    def product(self, X: Array, Y: Array) -> Array:
        return np.asarray(X @ Y)

    def exp(self, x: Array) -> Array:
        return se3.exp(x)

    def dexp_inv(self, x: Array, y: Array) -> Array:
        return np.asarray(se3.dexp_inv(x) @ y)


@dataclass(frozen=True)
class SO3xR3:
    """Poses (4, 4) under (R_1 R_2, r_1 + r_2), [MT13] (16); velocities (omega body, r')."""

    dimension: ClassVar[int] = 6

    def check(self, name: str, value: Any) -> Array:
        return se3.as_pose(name, value)

    def product(self, X: Array, Y: Array) -> Array:
        return se3.from_rotation_translation(X[:3, :3] @ Y[:3, :3], X[:3, 3] + Y[:3, 3])

    def exp(self, x: Array) -> Array:
        return se3.from_rotation_translation(so3.exp(x[:3]), x[3:])

    def dexp_inv(self, x: Array, y: Array) -> Array:
        return np.concatenate([so3.dexp_inv(x[:3]) @ y[:3], y[3:]])


@dataclass(frozen=True)
class SO3:
    """Rotations (3, 3); the left-trivialised velocity is body-fixed."""

    dimension: ClassVar[int] = 3

    def check(self, name: str, value: Any) -> Array:
        return so3.as_rotation(name, value)

    def product(self, X: Array, Y: Array) -> Array:
        return np.asarray(X @ Y)

    def exp(self, x: Array) -> Array:
        return so3.exp(x)

    def dexp_inv(self, x: Array, y: Array) -> Array:
        return np.asarray(so3.dexp_inv(x) @ y)


@dataclass(frozen=True)
class R:
    """Vectors (n,) under addition."""

    n: int

    @property
    def dimension(self) -> int:
        return self.n

    def check(self, name: str, value: Any) -> Array:
        return as_array(name, value, (self.n,))

    def product(self, X: Array, Y: Array) -> Array:
        return X + Y

    def exp(self, x: Array) -> Array:
        return x

    def dexp_inv(self, x: Array, y: Array) -> Array:
        return y


@dataclass(frozen=True)
class ProductGroup:
    """The product of `factors`, multiplied entry by entry.

    The state space of a rigid body in absolute coordinates is ProductGroup([SE3(), R(6)]), [MT13]
    (12), or ProductGroup([SO3xR3(), R(6)]), (21).
    """

    factors: Sequence[Factor]

    @property
    def dimension(self) -> int:
        return sum(factor.dimension for factor in self.factors)

    def split(self, x: Array) -> list[Array]:
        """Views of the parts of an algebra vector (dimension,) that belong to each factor."""
        return [x[a:b] for a, b in self._bounds]

    @cached_property
    def _bounds(self) -> list[tuple[int, int]]:
        return list(pairwise(accumulate((f.dimension for f in self.factors), initial=0)))

    def check(self, name: str, value: Any) -> Element:
        """`value` as an element; InputError if the number or type of its entries is wrong."""
        entries = tuple(value)
        if len(entries) != len(self.factors):
            raise InputError(
                f"{name}: expected {len(self.factors)} entries, one per factor of the group, got "
                f"{len(entries)}"
            )
        return tuple(
            factor.check(f"{name}[{k}] in {type(factor).__name__}", entry)
            for k, (factor, entry) in enumerate(zip(self.factors, entries, strict=True))
        )

    def product(self, X: Element, Y: Element) -> Element:
        return tuple(f.product(x, y) for f, x, y in zip(self.factors, X, Y, strict=True))

    def exp(self, x: Array) -> Element:
        """[MT13] (28), (33)."""
        return tuple(f.exp(part) for f, part in zip(self.factors, self.split(x), strict=True))

    def dexp_inv(self, x: Array, y: Array) -> Array:
        """dexp_x^-1 y (dimension,), the inverse of [MT13] (29), (34)."""
        parts = zip(self.factors, self.split(x), self.split(y), strict=True)
        return np.concatenate([factor.dexp_inv(a, b) for factor, a, b in parts])
