# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Springs behind a gear with backlash: the law, its derivatives, and its ends."""

import mpmath
import numpy as np
import pytest

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic.backlash import BacklashSpring
from multibody_dynamics.dynamics.elastic.springs import (
    CubicSpring,
    LinearSpring,
    PolynomialSpring,
    TableSpring,
)

BASES = (
    LinearSpring(400.0),
    LinearSpring(400.0, travel=(-0.002, 0.3)),
    CubicSpring(300.0, 2e4, travel=(-0.2, 0.2)),
    PolynomialSpring((100.0, 20.0, 900.0), travel=(-0.3, 0.3)),
    TableSpring((0.0, 0.05, 0.1), (0.0, 20.0, 50.0), True),
)
GAP = 2e-3


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_the_gap_adds_to_the_deflection_of_the_spring(base):
    spring = BacklashSpring(base, GAP)
    lower, upper = np.clip(base.travel, -0.1, 0.1)
    psi = np.concatenate([np.linspace(lower, upper, 101), np.linspace(-3e-3, 3e-3, 41)])
    psi = psi[(psi >= lower) & (psi <= upper)]
    Q = base.torque(psi)
    contact = float(base.stiffness(0.0)) * GAP / 2
    phi = psi + GAP / 2 * np.tanh(Q / contact)
    found = spring.torque(phi, beyond="continue")
    np.testing.assert_allclose(found, Q, atol=2e-6 * np.abs(Q).max())
    assert spring.stiffness(0.0) == pytest.approx(float(base.stiffness(0.0)) / 2, rel=1e-5)
    np.testing.assert_allclose(
        spring.travel, np.clip(base.travel, -np.pi, np.pi) + GAP / 2 * np.array([-1.0, 1.0])
    )
    np.testing.assert_allclose(BacklashSpring(base, GAP).deflection(found, beyond="continue"), phi,
                               atol=1e-7)  # fmt: skip


def test_the_derivatives_are_those_of_the_law():
    spring = BacklashSpring(LinearSpring(400.0), GAP)
    for Q in (-3.0, -0.2, 0.1, 0.7, 5.0):
        with mpmath.workdps(40):

            def phi(Q):
                return Q / 400 + mpmath.mpf(GAP) / 2 * mpmath.tanh(Q / (400 * mpmath.mpf(GAP) / 2))

            p1, p2, p3 = (mpmath.diff(phi, Q, k) for k in (1, 2, 3))
            wanted = [1 / p1, -p2 / p1**3, (3 * p2**2 - p1 * p3) / p1**5]
            place = float(phi(Q))
        found = spring.derivatives(place)[1:]
        scale = 400.0 / np.array([1.0, GAP, GAP**2])
        assert (np.abs(found - np.array(wanted, dtype=float)) < 1e-3 * scale).all()


def test_three_derivatives_are_continuous_where_pieces_meet():
    spring = BacklashSpring(CubicSpring(300.0, 2e4), GAP)
    starts = spring.polynomials()[0][1:]
    below, above = (spring.derivatives(starts + side * 1e-12) for side in (-1.0, 1.0))
    scale = np.abs(spring.derivatives(np.linspace(-0.01, 0.01, 101))).max(axis=1)
    assert (np.abs(above - below).max(axis=1) < 1e-5 * scale).all()


@pytest.mark.parametrize("gap", [0.0, -1.0])
def test_a_wrong_gap_is_named(gap):
    with pytest.raises(InputError, match="backlash of the spring must be greater than zero, got"):
        BacklashSpring(BASES[0], gap)
