"""Products and linear systems that are differentiated in time, order by order.

A *stack* is a list [x, x', x'', ...] of the derivatives of one quantity. The Leibniz rule with the
binomial coefficients C(k, j) makes the stack of a product, and solved for its last term that of the
solution of a linear system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batches import times, transposed

Stack = Sequence[NDArray[Any]] | NDArray[Any]


def leibniz(k: int, multiply: Callable[..., Any], a: Stack, b: Stack) -> NDArray[Any]:
    """The k-th derivative of multiply(a, b): sum_j C(k, j) multiply(a^(j), b^(k-j))."""
    return np.asarray(sum(comb(k, j) * multiply(a[j], b[k - j]) for j in range(k + 1)))


def product(a: Stack, b: Stack) -> list[NDArray[Any]]:
    """The stack of the matrix product a b, as far as both are known."""
    return [leibniz(k, np.matmul, a, b) for k in range(min(len(a), len(b)))]


def apply(a: Stack, x: Stack) -> list[NDArray[Any]]:
    """The same for matrices (..., r, c) and vectors (..., c)."""
    return [leibniz(k, times, a, x) for k in range(min(len(a), len(x)))]


def solve(inverse: NDArray[Any], a: Stack, b: Stack) -> list[NDArray[Any]]:
    """The stack x of the solution of a x = b, for vectors b (..., r).

    x^(k) = a^-1 (b^(k) - sum_{j > 0} C(k, j) a^(j) x^(k-j)). `inverse` is that of a[0].
    """
    x: list[NDArray[Any]] = []
    for k in range(min(len(a), len(b))):
        rest = b[k] - sum(comb(k, j) * times(a[j], x[k - j]) for j in range(1, k + 1))
        x.append(times(inverse, rest))
    return x


def transpose(a: Stack) -> list[NDArray[Any]]:
    return [transposed(x) for x in a]
