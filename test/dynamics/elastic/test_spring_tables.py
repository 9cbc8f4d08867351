# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Spring laws over scalars, against polynomials of NumPy and splines of SciPy."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic import spring_tables as tables
from multibody_dynamics.dynamics.elastic.springs import (
    CubicSpring,
    LinearSpring,
    PiecewisePolynomial,
    PolynomialSpring,
    Spring,
    TableSpring,
)

POINTS = np.linspace(0.0, 0.3, 7)
SPRINGS: dict[str, Spring] = {
    "linear": LinearSpring(350.0, travel=(-0.4, 0.4)),
    "linear, free": LinearSpring(350.0),
    "cubic": CubicSpring(150.0, 4e3, travel=(-0.3, 0.5)),
    "cubic, free": CubicSpring(150.0, 4e4),
    "nearly linear": CubicSpring(150.0, 0.1, travel=(-0.3, 0.5)),
    "cubic, half free": CubicSpring(150.0, 4e3, travel=(0.1, np.inf)),
    "polynomial": PolynomialSpring((200.0, 150.0, 3e3, -500.0), travel=(-0.2, 0.4)),
    "straight polynomial": PolynomialSpring((200.0,), travel=(-0.2, 0.4)),
    "one-sided": PolynomialSpring((5.0, 900.0), travel=(0.0, 0.6)),
    "high degree": PolynomialSpring((30.0, 0.0, 5.0, 0.0, 1.0, 0.0, 40.0), travel=(-0.9, 0.9)),
    "table": TableSpring((-0.2, -0.05, 0.1, 0.15, 0.4), (-50.0, -10.0, 8.0, 20.0, 300.0)),
    "short table": TableSpring((-0.2, 0.0, 0.4), (-20.0, 0.0, 80.0), travel=(-0.1, 0.3)),
    "symmetric table": TableSpring(POINTS, 200.0 * POINTS + 3e3 * POINTS**3, symmetric=True),
}
TABLES = tables.spring_tables(list(SPRINGS.values()))
each_law = pytest.mark.parametrize(("k", "spring"), list(enumerate(SPRINGS.values())), ids=SPRINGS)


def deflections(spring: Spring) -> np.ndarray:
    """The travel with its ends, extended by its own length on both sides."""
    lower, upper = (np.clip(end, -2.0, 2.0) for end in spring.travel)
    width = upper - lower
    return np.concatenate((np.linspace(lower - width, upper + width, 200), [lower, upper]))


def exact_law(spring: Spring, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s to s''' (4, k) and the energy (k,), continued along the tangents."""
    if isinstance(spring, TableSpring):
        law = spring.spline
        rows = [law, *(law.derivative(order) for order in (1, 2, 3)), law.antiderivative()]
    else:
        if isinstance(spring, LinearSpring):
            coefficients: tuple[float, ...] = (spring.K,)
        elif isinstance(spring, CubicSpring):
            coefficients = (spring.K, 0.0, spring.K3)
        else:
            assert isinstance(spring, PolynomialSpring)
            coefficients = spring.coefficients
        law = Polynomial([0.0, *coefficients])
        rows = [law, *(law.deriv(order) for order in (1, 2, 3)), law.integ()]
    inside = np.clip(phi, *spring.travel)
    s, slope, second, third, energy = (np.asarray(row(inside)) for row in rows)
    excess = phi - inside
    on_travel = excess == 0.0
    found = np.array([s + slope * excess, slope, second * on_travel, third * on_travel])
    return found, energy + (s + 0.5 * slope * excess) * excess


@each_law
def test_the_law_is_that_of_the_spring_on_its_travel_and_beyond(k, spring):
    phi = deflections(spring)
    found = np.array([tables.spring_law(*TABLES, k, x) for x in phi]).T
    wanted, _ = exact_law(spring, phi)
    scale = np.abs(wanted).max(axis=1, keepdims=True).clip(1e-300)
    # s''' of a quintic spline loses digits to its degree
    digits = np.array([[1e-14], [1e-14], [1e-13], [1e-12]])
    assert (np.abs(found - wanted) <= digits * scale).all()
    batch = spring.derivatives(phi, beyond="continue")  # compiled, which may fuse operations
    assert (np.abs(batch - wanted) <= digits * scale).all()


@each_law
def test_at_the_ends_of_the_travel_the_law_is_the_inner_one(k, spring):
    for end in filter(np.isfinite, spring.travel):
        inner = tables.law_on_travel(*TABLES, k, end)
        assert tables.spring_law(*TABLES, k, end) == inner
        outside = end + np.copysign(1.0, end - 0.5 * sum(np.clip(spring.travel, -1, 1)))
        assert tables.law_on_travel(*TABLES, k, outside) == inner


@each_law
def test_the_energy_is_that_of_the_spring(k, spring):
    phi = deflections(spring)
    _, wanted = exact_law(spring, phi)
    digits = {"rtol": 1e-13, "atol": 1e-14 * np.abs(wanted).max()}
    found = [tables.spring_energy(*TABLES, k, x) for x in phi]
    np.testing.assert_allclose(found, wanted, **digits)
    np.testing.assert_allclose(spring.energy(phi, beyond="continue"), wanted, **digits)


@each_law
@pytest.mark.parametrize("guess", [0.0, 0.2, -7.0, np.nan])
def test_the_inverse_does_not_depend_on_the_guess(k, spring, guess):
    phi = deflections(spring)
    torque = exact_law(spring, phi)[0][0]
    found = [tables.spring_deflection(*TABLES, k, Q, guess) for Q in torque]
    np.testing.assert_allclose(found, phi, rtol=1e-13, atol=1e-15)
    batch = spring.deflection(torque, beyond="continue")
    np.testing.assert_allclose(batch, phi, rtol=1e-13, atol=1e-15)


@each_law
def test_the_motion_of_the_deflection_is_that_of_the_spring(k, spring):
    rng = np.random.default_rng(k)
    phi = deflections(spring)[:-2]
    (torque, s1, s2, _), _ = exact_law(spring, phi)
    rates = rng.normal(size=(2, len(torque)))
    wanted = phi, rates[0] / s1, (rates[1] - s2 * (rates[0] / s1) ** 2) / s1
    found = np.array(
        [
            tables.spring_deflection_motion(*TABLES, k, each, 0.1)
            for each in zip(torque, *rates, strict=True)
        ]
    ).T
    batch = spring.deflection_motion(torque, *rates, beyond="continue")
    for row, each, want in zip(found, batch, wanted, strict=True):
        digits = {"rtol": 1e-11, "atol": 1e-13 * np.abs(want).max()}
        np.testing.assert_allclose(row, want, **digits)
        np.testing.assert_allclose(each, want, **digits)


def test_each_law_has_its_own_pieces():
    laws, pieces, own = TABLES
    counts = laws[:, tables.LAST] - laws[:, tables.FIRST] + 1
    assert counts.sum() == len(pieces)
    assert (laws[1:, tables.FIRST] == laws[:-1, tables.LAST] + 1).all()
    assert counts[list(SPRINGS).index("symmetric table")] == 48  # 12 intervals, 4 pieces each
    assert laws[list(SPRINGS).index("straight polynomial"), tables.DEGREE] == 1
    assert own is None


def test_no_springs_and_a_changed_spring():
    laws, pieces, _ = tables.spring_tables([])
    assert laws.shape[0] == pieces.shape[0] == 0
    stiffer = replace(SPRINGS["linear"], K=351.0)  # type: ignore[type-var]
    assert tables.spring_law(*tables.spring_tables([stiffer]), 0, 0.1)[:2] == (35.1, 351.0)


class TwoSlopes(PiecewisePolynomial):
    """A soft and a stiff line that meet at 0.2, and reach zero torque at 0.1."""

    def polynomials(self):
        return np.array([-1.0, 0.2]), np.array([[-110.0, 100.0], [10.0, 300.0]])


def test_lines_that_do_not_pass_the_origin_and_several_lines():
    table = tables.spring_tables([TwoSlopes(travel=(-1.0, 1.0))])
    for phi in (-0.9, 0.0, 0.1, 0.19, 0.3, 0.9):
        wanted = 100.0 * (phi - 0.1) if phi < 0.2 else 10.0 + 300.0 * (phi - 0.2)
        s, slope, *rest = tables.spring_law(*table, 0, phi)
        assert s == pytest.approx(wanted, abs=1e-12)
        assert (slope, *rest) == (100.0 if phi < 0.2 else 300.0, 0.0, 0.0)
        assert tables.spring_deflection(*table, 0, s, 0.5) == pytest.approx(phi, abs=1e-12)


class OneLine(PiecewisePolynomial):
    """A line that reaches zero torque at -1, where its piece starts."""

    def polynomials(self):
        return np.array([-1.0]), np.array([[0.0, 50.0]])


def test_a_line_from_a_start_that_is_not_zero():
    table = tables.spring_tables([OneLine(travel=(-1.0, 1.0))])
    for phi in (-0.9, 0.0, 0.4):
        wanted = 50.0 * (phi + 1.0)
        assert tables.spring_law(*table, 0, phi)[0] == pytest.approx(wanted, abs=1e-12)
        assert tables.spring_deflection(*table, 0, wanted, 0.5) == pytest.approx(phi, abs=1e-12)


@pytest.mark.parametrize("law", [TwoSlopes, OneLine])
def test_a_law_that_is_relaxed_elsewhere_needs_a_finite_travel(law):
    """Its inverse begins from the tangent at zero deflection."""
    with pytest.raises(InputError, match=f"{law.__name__}: .* must begin .* at zero deflection"):
        tables.spring_tables([law(travel=(-1.0, np.inf))])


class Quintic(PiecewisePolynomial):
    """A law as a user may write it, which does not check its constants."""

    def __init__(self, *coefficients, travel=(-np.inf, np.inf)):
        super().__init__(travel=travel)
        object.__setattr__(self, "coefficients", coefficients)

    def polynomials(self):
        return np.zeros(1), np.array([[0.0, *self.coefficients]])


def test_a_law_whose_torque_does_not_increase_is_refused_before_anything_is_computed():
    for law, says in (
        (
            Quintic(300.0, 0.0, 0.0, 0.0, -2e5),
            "must increase .* at -?3.08 its stiffness is -8.999e",
        ),
        (Quintic(300.0, 0.0, 0.0, 0.0, np.nan), "its stiffness is nan"),
        (Quintic(-300.0, travel=(-0.1, 0.1)), "its stiffness is -300"),
        (Quintic(300.0, 0.0, -30.0, 0.0, 3.0), "infinite travel must not soften, as it does at"),
    ):
        with pytest.raises(InputError, match=f"^Quintic: .*{says}"):
            law.deflection(1.0)
        with pytest.raises(InputError, match=f"^Quintic: .*{says}"):
            tables.spring_tables([law])
    softening = Quintic(300.0, 0.0, -30.0, 0.0, 3.0, travel=(-1.0, 1.0))
    assert softening.torque(softening.deflection(200.0)) == pytest.approx(200.0, rel=1e-12)


def test_an_unknown_law_is_rejected():
    class Strange(Spring):
        law = potential = None  # type: ignore[assignment]

    with pytest.raises(InputError, match="Strange"):
        tables.spring_tables([Strange()])
