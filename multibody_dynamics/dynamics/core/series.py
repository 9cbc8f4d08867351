# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Truncated power series in time, as scalars.

A series holds the coefficients x, x', x''/2, ... x^(k)/k! of a quantity at one time. A recursion
that runs over series gives its results with k time derivatives: the Leibniz rule for products
becomes a plain convolution of coefficients, without binomials. The coefficients may be floats,
NumPy arrays, complex or mpmath numbers, or expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any


class Series:
    """sum_k terms[k] t^k, up to the power to which it is known.

    Sums, differences and products with other series are known up to the lower of the two powers;
    any other operand counts as a constant.
    """

    __slots__ = ("terms",)
    __array_ufunc__ = None  # NumPy scalars leave the operation to this class

    def __init__(self, terms: Sequence[Any]) -> None:
        self.terms = tuple(terms)

    @classmethod
    def of(cls, derivatives: Sequence[Any]) -> Series:
        """The series of a quantity with these derivatives x, x', x'', ..."""
        return cls([x if k < 2 else x * (1.0 / factorial(k)) for k, x in enumerate(derivatives)])

    def derivatives(self) -> list[Any]:
        """x, x', x'', ..."""
        return [x if k < 2 else x * float(factorial(k)) for k, x in enumerate(self.terms)]

    def rate(self) -> Series:
        """x', known to one power less."""
        return Series([x if k == 1 else x * float(k) for k, x in enumerate(self.terms)][1:])

    def __repr__(self) -> str:
        return f"Series({list(self.terms)})"

    def __neg__(self) -> Series:
        return Series([-x for x in self.terms])

    def __add__(self, other: Any) -> Series:
        if isinstance(other, Series):
            return Series([a + b for a, b in zip(self.terms, other.terms, strict=False)])
        return Series((self.terms[0] + other, *self.terms[1:]))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Series:
        return self + (-other)

    def __rsub__(self, other: Any) -> Series:
        return (-self) + other

    def __mul__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series([x * other for x in self.terms])
        count = min(len(self.terms), len(other.terms))
        return Series([_convolved(self.terms, other.terms, k) for k in range(count)])

    __rmul__ = __mul__


def _convolved(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
    """The coefficient of t^k in the product."""
    total = a[0] * b[k]
    for j in range(1, k + 1):
        total = total + a[j] * b[k - j]
    return total


def turning(rate: Series) -> tuple[Series, Series]:
    """Sine and cosine of an angle that is zero now and grows with `rate`, to one power more.

    From s' = c rate and c' = -s rate.
    """
    s, c = [0.0], [1.0]
    for k in range(len(rate.terms)):
        s_next, c_next = _convolved(rate.terms, c, k), _convolved(rate.terms, s, k)
        share = 1.0 / (k + 1)
        s.append(s_next * share)
        c.append(c_next * -share)
    return Series(s), Series(c)
