# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Leibniz rule: time derivatives of products and of solutions of linear systems, to any order.

A *stack* is a list [x, x', x'', ...] of a quantity and its time derivatives. The Leibniz rule, with
the binomial coefficients C(k, j), gives the stack of a product; solved for its last term, it gives
the stack of the solution of a linear system. Functions whose names would collide with others are
called through the module: ``product_rule.apply``, ``product_rule.solve``.
"""

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batches import times, transposed

Stack = Sequence[NDArray[Any]] | NDArray[Any]


def leibniz(k: int, multiply: Callable[..., Any], a: Stack, b: Stack) -> NDArray[Any]:
    """The k-th derivative of a bilinear product: sum_j C(k, j) multiply(a^(j), b^(k-j))."""
    return np.asarray(sum(comb(k, j) * multiply(a[j], b[k - j]) for j in range(k + 1)))


def product(a: Stack, b: Stack) -> list[NDArray[Any]]:
    """The stack of the matrix product a b, to the order to which both are known."""
    return [leibniz(k, np.matmul, a, b) for k in range(min(len(a), len(b)))]


def apply(a: Stack, x: Stack) -> list[NDArray[Any]]:
    """The stack of the product a x of matrices (..., r, c) and vectors (..., c)."""
    return [leibniz(k, times, a, x) for k in range(min(len(a), len(x)))]


def solve(inverse: NDArray[Any], a: Stack, b: Stack) -> list[NDArray[Any]]:
    """The stack of the solution x of a x = b, for vectors b (..., r).

    x^(k) = a^-1 (b^(k) - sum_{j > 0} C(k, j) a^(j) x^(k-j)), where `inverse` is a[0]^-1.
    """
    x: list[NDArray[Any]] = []
    for k in range(min(len(a), len(b))):
        rest = b[k] - sum(comb(k, j) * times(a[j], x[k - j]) for j in range(1, k + 1))
        x.append(times(inverse, rest))
    return x


def transpose(a: Stack) -> list[NDArray[Any]]:
    """The stack of the transposed matrices, as views."""
    return [transposed(x) for x in a]
