# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The springs of a joint as columns, and the coefficients that multiply them.

Joint torques and loads of the motors (`elastic.actuator_kinds`) are sums of columns, which follow
from the positions, times coefficients, which follow from the parameters:

    kind                joint torque Q                     load of its motors    parameters
    series elastic      s(phi) + D phi'                    the same              those of s; D
    antagonistic        s_a(phi_a) - s_b(phi_b)            s_a(phi_a); -s_b      those of s_a, s_b
    variable stiffness  k g(phi)                           the same              scale of k; h
    with a drive for k  (k_0 + kappa theta_k) g(phi)       the same;             k_0, kappa; h
                                                           kappa G(phi)

with phi = theta - q, phi_a = theta_a - q, phi_b = q - theta_b, g = phi + h phi^3 and its integral
G. The damper D is not part of this module. Where k is an input that no motor sets, it was recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...core import Array, InputError
from ...elastic import (
    Actuator,
    Antagonistic,
    CubicSpring,
    LinearSpring,
    PolynomialSpring,
    SeriesElastic,
    Spring,
    VariableStiffness,
)

STIFFNESS = "stiffness"  # of a variable joint: the recorded input, or its scale


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


def spring_coefficients(spring: Spring | None) -> dict[str, float]:
    """The coefficients of a law by name; a table has one, the scale of its torques."""
    if isinstance(spring, LinearSpring):
        return {"stiffness": spring.K}
    if isinstance(spring, CubicSpring):
        return {"stiffness": spring.K, "cubic_stiffness": spring.K3}
    if isinstance(spring, PolynomialSpring):
        return {f"c{i}": c for i, c in enumerate(spring.coefficients, start=1)}
    return {"scale": 1.0}


def spring_terms(spring: Spring | None, phi: Array) -> Array:
    """Columns (k, p) that the coefficients of a law multiply."""
    if isinstance(spring, LinearSpring):
        return phi[:, None]
    if isinstance(spring, CubicSpring):
        return np.stack([phi, phi**3], axis=1)
    if isinstance(spring, PolynomialSpring):
        return np.stack([phi**i for i in range(1, len(spring.coefficients) + 1)], axis=1)
    assert spring is not None
    return np.asarray(spring.torque(phi, beyond="continue"))[:, None]


def joint_springs(joint: str, actuator: Actuator) -> JointSprings:
    """The springs of a joint that has some. Raises InputError for other kinds of actuators."""
    if isinstance(actuator, SeriesElastic):
        return _series(joint, actuator)
    if isinstance(actuator, Antagonistic):
        return _antagonistic(joint, actuator)
    if isinstance(actuator, VariableStiffness):
        return _variable(joint, actuator)
    raise InputError(f"joint '{joint}': {type(actuator).__name__} cannot be identified")


def _law(spring: Spring) -> tuple[list[str], list[float], list[int]]:
    """Names, values and powers of the coefficients of a law."""
    found = spring_coefficients(spring)
    powers = [{"cubic_stiffness": 3}.get(name, k) for k, name in enumerate(found, start=1)]
    return [*found], [*found.values()], powers


def _series(joint: str, actuator: SeriesElastic) -> JointSprings:
    names, values, powers = _law(actuator.spring)
    count = len(names)

    def columns(at: Positions) -> Array:
        return spring_terms(actuator.spring, at.theta[:, 0] - at.q)

    found = SpringColumns(columns, tuple((i,) for i in range(count)))
    return JointSprings(
        tuple(f"{joint}.{name}" for name in names), np.array(values), tuple(powers), found,
        (found,), np.eye(count)[0], damped=True,
    )  # fmt: skip


def _antagonistic(joint: str, actuator: Antagonistic) -> JointSprings:
    a, b = (_law(spring) for spring in actuator.springs)
    p, r = len(a[0]), len(a[0]) + len(b[0])

    def agonist(at: Positions) -> Array:
        return spring_terms(actuator.agonist_spring, at.theta[:, 0] - at.q)

    def antagonist(at: Positions) -> Array:
        return -spring_terms(actuator.antagonist_spring, at.q - at.theta[:, 1])

    def both(at: Positions) -> Array:
        return np.concatenate([agonist(at), antagonist(at)], axis=1)

    slopes = [_slopes(spring) for spring in actuator.springs]
    owners = [f"{joint}{suffix}" for suffix in actuator.suffixes]
    names = [
        f"{owner}.{name}" for owner, law in zip(owners, (a, b), strict=True) for name in law[0]
    ]
    return JointSprings(
        tuple(names), np.array(a[1] + b[1]), tuple(a[2] + b[2]),
        SpringColumns(both, tuple((i,) for i in range(r))),
        (SpringColumns(agonist, tuple((i,) for i in range(p))),
         SpringColumns(antagonist, tuple((i,) for i in range(p, r)))),
        np.concatenate(slopes),
    )  # fmt: skip


def _slopes(spring: Spring) -> Array:
    """The derivatives (p,) of the terms of a law in the middle of its travel."""
    middle = np.mean(spring.travel)
    step = 1e-6 * max(float(np.ptp(spring.travel)), 1e-6)
    ends = spring_terms(spring, np.array([middle - step, middle + step]))
    return np.asarray((ends[1] - ends[0]) / (2.0 * step))


def _variable(joint: str, actuator: VariableStiffness) -> JointSprings:
    """Q = k g(phi) with the hardening h of g, if it is cubic; other shapes keep theirs."""
    shape = actuator.shape

    def terms(at: Positions) -> Array:
        phi = at.theta[:, 0] - at.q
        if isinstance(shape, CubicSpring):
            return shape.K * np.stack([phi, phi**3], axis=1)
        return np.asarray(shape.torque(phi, beyond="continue"))[:, None]

    def energies(at: Positions) -> Array:
        phi = at.theta[:, 0] - at.q
        if isinstance(shape, CubicSpring):
            return shape.K * np.stack([phi**2 / 2.0, phi**4 / 4.0], axis=1)
        return np.asarray(shape.energy(phi, beyond="continue"))[:, None]

    hardens = isinstance(shape, CubicSpring)
    h = [shape.K3 / shape.K] if isinstance(shape, CubicSpring) else []
    drive = actuator.drive
    if drive is None:

        def scaled(at: Positions) -> Array:
            assert at.stiffness is not None
            return at.stiffness[:, None] * terms(at)

        factors: tuple[tuple[int, ...], ...] = ((0,), (0, 1)) if hardens else ((0,),)
        found = SpringColumns(scaled, factors)
        names, values = ["stiffness_scale"], [1.0]
        loads: tuple[SpringColumns, ...] = (found,)
    else:

        def driven(at: Positions) -> Array:
            own = terms(at)
            return np.concatenate([own, at.theta[:, [1]] * own], axis=1)

        factors = ((0,), (0, 2), (1,), (1, 2)) if hardens else ((0,), (1,))
        found = SpringColumns(driven, factors)
        own = SpringColumns(energies, ((1,), (1, 2)) if hardens else ((1,),))
        names, values = ["stiffness_offset", "stiffness_gain"], [drive.offset, drive.gain]
        loads = (found, own)
    powers = [1] * len(names) + [3] * len(h)
    names += ["hardening"] * len(h)
    weights = np.zeros(found.width)
    weights[0] = 1.0
    if drive is not None:
        middle = (np.mean(actuator.stiffness_range) - drive.offset) / drive.gain
        weights[2 if hardens else 1] = middle
    return JointSprings(
        tuple(f"{joint}.{name}" for name in names), np.array([*values, *h]), tuple(powers), found,
        loads, weights,
    )  # fmt: skip
