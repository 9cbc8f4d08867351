# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""User-defined spring laws as piecewise polynomials, for compiled code.

Planning evaluates any law in plain Python. The control cycle and the compiled plant need a table;
:func:`piecewise` makes one from the law's own s, s', s'', s''' at the nodes: a Hermite interpolant
of degree 7 on each piece, with three continuous derivatives and an error of order 8 in the length
of the piece. Pieces are halved until torque and stiffness meet the tolerance between the nodes,
so they are short only where the curvature of the law is large.

P. Davis, Interpolation and Approximation, Dover 1975, sections 2.2 (Hermite) and 3.1 (remainder).
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..core import Array, InputError
from .springs import PiecewisePolynomial, Spring

TOLERANCE = 1e-6
MAX_PIECES = 2000
_PLACES = np.array([0.02, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.98])  # of a piece, checked

# x^k and its derivatives at the ends of [0, 1]; the inverse turns end values into coefficients.
_CONDITIONS = np.zeros((8, 8))
for _k in range(8):
    _slope = np.polynomial.Polynomial.basis(_k)
    for _r in range(4):
        _CONDITIONS[_r, _k], _CONDITIONS[4 + _r, _k] = _slope(0.0), _slope(1.0)
        _slope = _slope.deriv()
_HERMITE = np.linalg.inv(_CONDITIONS)


class SamplingErrors(NamedTuple):
    """Largest differences between a sampled law and the law itself: of s' as a share of s' at the
    same deflection, of s, s'' and s''' as a share of their largest magnitude on the travel."""

    torque: float
    stiffness: float
    second: float
    third: float

    def __str__(self) -> str:
        return (
            f"errors of the sampled law: torque {self.torque:.1e}, stiffness {self.stiffness:.1e}, "
            f"s'' {self.second:.1e}, s''' {self.third:.1e}"
        )


@dataclass(frozen=True)
class SampledSpring(PiecewisePolynomial):
    """A user-defined law as a table of polynomials of degree 7.

    >>> table = SampledSpring(spring)
    >>> print(table.errors)

    Parameters
    ----------
    original : a spring with a finite travel, which becomes the travel of this one.
    tolerance : largest error of the torque, as a share of its largest magnitude, and of the
        stiffness, as a share of the stiffness at the same deflection. The torque is exact at the
        nodes, so small torques are not less accurate.

    Attributes
    ----------
    starts : (p,) rad, the nodes at which the pieces begin.
    errors : a :class:`SamplingErrors`, measured between the nodes.

    Raises InputError if the travel is infinite, if s, s', s'' or s''' is not finite or s' is not
    positive somewhere, and if the tolerance is not met with MAX_PIECES pieces, which happens where
    s jumps or where s', s'' or s''' are not its derivatives.
    """

    original: Spring
    tolerance: float = TOLERANCE
    starts: Array = field(init=False, repr=False, compare=False)
    coefficients: Array = field(init=False, repr=False, compare=False)
    errors: SamplingErrors = field(init=False, compare=False)

    def __post_init__(self) -> None:
        name, travel = type(self.original).__name__, self.original.travel
        if not np.isfinite(travel).all():
            raise InputError(
                f"{name}: the travel is {travel[0]:g} to {travel[1]:g}; compiled code samples the "
                f"law over its travel, which must be finite"
            )
        if not 1e-12 <= self.tolerance < 1.0:
            raise InputError(
                f"tolerance of the sampled spring is {self.tolerance:g}: must be from 1e-12 to 1"
            )
        object.__setattr__(self, "travel", travel)
        super().__post_init__()
        nodes, coefficients, errors = _sampled(self.original, name, self.tolerance)
        object.__setattr__(self, "starts", nodes[:-1])
        object.__setattr__(self, "coefficients", coefficients)
        object.__setattr__(self, "errors", errors)

    def polynomials(self) -> tuple[Array, Array]:
        return self.starts, self.coefficients


def piecewise(spring: Spring) -> Spring:
    """The spring itself if its law is a piecewise polynomial, otherwise its SampledSpring."""
    return spring if spring.polynomials() is not None else SampledSpring(spring)


def _sampled(spring: Spring, name: str, tolerance: float) -> tuple[Array, Array, SamplingErrors]:
    """Nodes (p + 1,), coefficients (p, 8) in powers of phi - node, and the errors."""
    nodes = np.linspace(*spring.travel, 9)
    while True:
        at_nodes = _checked_law(spring, name, nodes)
        lengths: Array = np.diff(nodes)
        units = lengths ** np.arange(4)[:, None]  # derivatives in phi to those in 0 <= x <= 1
        ends = np.concatenate((at_nodes[:, :-1] * units, at_nodes[:, 1:] * units))
        scaled = _HERMITE @ ends
        places = nodes[:-1, None] + lengths[:, None] * _PLACES
        wanted = _checked_law(spring, name, places.ravel()).reshape(4, *places.shape)
        found = _evaluated(scaled) / units[:, :, None]
        largest = np.maximum(np.abs(at_nodes).max(axis=1), np.abs(wanted).max(axis=(1, 2)))
        scale = np.broadcast_to(np.where(largest > 0.0, largest, 1.0)[:, None, None], wanted.shape)
        share: Array = np.abs(found - wanted) / np.concatenate((scale[:1], wanted[1:2], scale[2:]))
        bad = (share[:2].max(axis=(0, 2)) > tolerance) | (found[1].min(axis=1) <= 0.0)
        if not bad.any():
            powers = lengths ** np.arange(8)[:, None]
            return nodes, (scaled / powers).T, SamplingErrors(*share.max(axis=(1, 2)).tolist())
        middles = nodes[:-1][bad] + 0.5 * lengths[bad]
        if len(nodes) + len(middles) > MAX_PIECES:
            k = int(np.argmax(share[:2].max(axis=(0, 2))))
            raise InputError(
                f"{name}: the law cannot be sampled to within {tolerance:g} of torque and "
                f"stiffness near the deflection {nodes[k]:.6g}; it must be smooth, and the rows of "
                f"law() must be s and its first three derivatives"
            )
        nodes = np.sort(np.concatenate((nodes, middles)))


def _evaluated(scaled: Array) -> Array:
    """(4, p, places): value and three derivatives at _PLACES of polynomials (8, p) on [0, 1]."""
    rows = []
    for _ in range(4):
        rows.append(np.polynomial.polynomial.polyval(_PLACES, scaled))
        scaled = np.polynomial.polynomial.polyder(scaled)  # type: ignore[assignment]
    return np.array(rows)


def _checked_law(spring: Spring, name: str, phi: Array) -> Array:
    """(4, N): s .. s''' at phi (N,), finite and with a positive stiffness."""
    rows = spring.law(phi)
    if len(rows) != 4:
        raise InputError(f"{name}: law() must return s, s', s'', s''', got {len(rows)} rows")
    law = np.array([np.broadcast_to(row, phi.shape) for row in rows], dtype=np.float64)
    finite = np.isfinite(law).all(axis=0)
    if not finite.all():
        place = phi[np.argmin(finite)]
        raise InputError(f"{name}: the law is not finite at the deflection {place:.6g}")
    k = int(np.argmin(law[1]))
    if law[1, k] <= 0.0:
        raise InputError(
            f"{name}: the torque of a spring must increase with its deflection, but at "
            f"{phi[k]:.6g} its stiffness is {law[1, k]:.6g}"
        )
    return law
