# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The springs of a joint as columns, and the coefficients that multiply them, for identification.

Joint torques and loads of the motors are sums of columns, which follow from the positions, times
coefficients, which follow from the parameters:

    kind                joint torque Q                     load of its motors    parameters
    series elastic      s(phi) + D phi'                    the same              those of s; D
    antagonistic        s_a(phi_a) - s_b(phi_b)            s_a(phi_a); -s_b      those of s_a, s_b
    variable stiffness  k g(phi)                           the same              scale of k; h
    with a drive for k  (k_0 + kappa theta_k) g(phi)       the same;             k_0, kappa; h
                                                           kappa G(phi)

with phi = theta - q, phi_a = theta_a - q, phi_b = q - theta_b, g = phi + h phi^3 and its integral
G. The damper D is not part of this module. Where k is an input that no motor sets, it was recorded.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core import Array
from .springs import Spring


class Positions(NamedTuple):
    """Link q (k,), motors theta (k, m) of one joint, and its stiffness (k,) if that is an input."""

    q: Array
    theta: Array
    stiffness: Array | None = None


Columns = Callable[[Positions], Array]
"""Columns (k, p) of positions."""


class SpringColumns(NamedTuple):
    """Columns (k, p), their coefficients as products of parameters, and their signs.

    factors : for each column, the indices of the parameters whose product is its coefficient.
    """

    columns: Columns
    factors: tuple[tuple[int, ...], ...]

    @property
    def width(self) -> int:
        return len(self.factors)

    def coefficients(self, values: Array) -> tuple[Array, Array]:
        """Coefficients (p,) for parameters (r,), and their derivative (p, r)."""
        found = np.ones(self.width)
        slope = np.zeros((self.width, len(values)))
        for i, factor in enumerate(self.factors):
            found[i] = np.prod(values[list(factor)])
            for r in factor:
                others = [s for s in factor if s != r]
                slope[i, r] = np.prod(values[others])
        return found, slope


class JointSprings(NamedTuple):
    """The springs of one joint.

    names : of the parameters, "OWNER.PARAMETER", where the owner is the joint, or the motor of an
        antagonistic joint. values : (r,) before identification. powers : of the deflection in the
        torque that a parameter scales, (r,). torque : Q. loads : of the motors.
    weights : (p,) a stiffness of the joint is weights . coefficients of Q.
    """

    names: tuple[str, ...]
    values: Array
    powers: tuple[int, ...]
    torque: SpringColumns
    loads: tuple[SpringColumns, ...]
    weights: Array
    damped: bool = False

    @property
    def needs_stiffness(self) -> bool:
        """Whether the stiffness is an input that must be recorded."""
        return self.names[0].endswith(".stiffness_scale")


def middle_slopes(spring: Spring) -> Array:
    """The derivatives (p,) of the terms of a law in the middle of its travel."""
    middle = np.mean(spring.travel)
    step = 1e-6 * max(float(np.ptp(spring.travel)), 1e-6)
    ends = spring.terms(np.array([middle - step, middle + step]))
    return np.asarray((ends[1] - ends[0]) / (2.0 * step))
