# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Spring laws: inverses, rates, travel and tables; test_spring_tables.py compares the laws."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from scipy.integrate import quad
from scipy.interpolate import make_interp_spline

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.core.quantities import Gear, quantity
from multibody_dynamics.dynamics.elastic import Actuators, SpringSolver, load_actuators, springs
from multibody_dynamics.dynamics.elastic.springs import (
    CubicSpring,
    LinearSpring,
    PolynomialSpring,
    Spring,
    TableSpring,
    solve_increasing,
)
from rejections import assert_rejected

POINTS = np.linspace(0.0, 0.3, 7)
SPRINGS: dict[str, Spring] = {
    "linear": LinearSpring(350.0, travel=(-0.4, 0.4)),
    "cubic": CubicSpring(150.0, 4e3, travel=(-0.3, 0.5)),
    "nearly linear": CubicSpring(150.0, 0.1, travel=(-0.3, 0.5)),
    "polynomial": PolynomialSpring((200.0, 150.0, 3e3, -500.0), travel=(-0.2, 0.4)),
    "one-sided": PolynomialSpring((5.0, 900.0), travel=(0.0, 0.6)),
    "table": TableSpring((-0.2, -0.05, 0.1, 0.15, 0.4), (-50.0, -10.0, 8.0, 20.0, 300.0)),
    "symmetric table": TableSpring(POINTS, 200.0 * POINTS + 3e3 * POINTS**3, symmetric=True),
}
each_spring = pytest.mark.parametrize("spring", SPRINGS.values(), ids=SPRINGS)


def inside(spring: Spring, count: int = 41) -> np.ndarray:
    return np.linspace(*spring.travel, count + 2)[1:-1]


@each_spring
def test_the_law_increases_and_is_inverted(spring):
    phi = np.linspace(*spring.travel, 1001)
    torque = spring.torque(phi)
    assert (np.diff(torque) > 0.0).all()
    np.testing.assert_allclose(spring.deflection(torque), phi, rtol=0, atol=1e-13)
    assert spring.torque_range == (torque[0], torque[-1])


@each_spring
@given(st.floats(0.05, 0.95), st.floats(-40, 40), st.floats(-500, 500))
@settings(max_examples=20, deadline=None)
def test_rates_of_the_deflection_return_those_of_the_torque(spring, where, rate, acceleration):
    low, high = spring.torque_range
    given_torque = (low + where * (high - low), rate, acceleration)
    found = spring.torque_motion(*spring.deflection_motion(*given_torque))
    np.testing.assert_allclose(found, given_torque, rtol=1e-12, atol=1e-11)


def test_a_table_is_a_spline_with_four_continuous_derivatives_through_its_points():
    spring = SPRINGS["table"]
    np.testing.assert_allclose(spring.torque(spring.deflections), spring.torques, atol=1e-6 * 350)
    law = spring.spline
    fourth = law.derivative(4)
    for knot in np.unique(law.t)[1:-1]:
        before, after = fourth(knot - 1e-9), fourth(knot + 1e-9)
        assert abs(after - before) < 1e-4 * np.abs(fourth(np.unique(law.t))).max()


def test_a_table_of_few_bends_is_the_natural_quintic_spline():
    phi = np.linspace(-0.2, 0.3, 8)
    torque = 90.0 * np.sinh(4.0 * phi)
    ends = ([(3, 0.0), (4, 0.0)],) * 2
    natural = make_interp_spline(phi, torque, k=5, bc_type=ends)
    x = np.linspace(*phi[[0, -1]], 201)
    found = TableSpring(phi, torque).torque(x)
    np.testing.assert_allclose(found, natural(x), rtol=0, atol=1e-8 * np.ptp(torque))


def test_a_table_of_a_straight_line_is_straight():
    spring = TableSpring((0.0, 0.1, 0.15, 0.5), (0.0, 30.0, 45.0, 150.0))
    np.testing.assert_allclose(spring.stiffness(inside(spring)), 300.0, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_table_with_sharp_bends_still_increases(seed):
    rng = np.random.default_rng(seed)
    phi = np.cumsum(rng.uniform(0.02, 0.1, 9))
    torque = np.cumsum(rng.uniform(0.1, 1.0, 9) ** 2 * 30)
    interpolated = make_interp_spline(phi, torque, k=5)
    x = np.linspace(phi[0], phi[-1], 4001)
    spring = TableSpring(phi, torque)
    assert spring.stiffness(x).min() > 0.0
    np.testing.assert_allclose(spring.torque(phi), torque, atol=1e-6 * np.ptp(torque))
    if seed == 0:  # plain interpolation fails here
        assert interpolated(x, 1).min() < 0.0


def test_beyond_its_travel_a_spring_raises_or_follows_its_tangent():
    spring = CubicSpring(150.0, 4e3, travel=(-0.2, 0.3))
    assert_rejected(
        (lambda: spring.torque([0.1, 0.4]), "deflection of 0.4 beyond the travel -0.2 to 0.3"),
        (lambda: spring.deflection(-100.0), "torque of -100 beyond the travel -62 to 153"),
        (lambda: spring.torque(0.1, beyond="foo"), "beyond 'foo' raise, continue"),
    )
    s, slope, _, _ = spring.derivatives(0.3)
    np.testing.assert_allclose(
        spring.derivatives(0.4, beyond="continue"), [s + 0.1 * slope, slope, 0.0, 0.0]
    )
    torque = np.array([-100.0, 20.0, 400.0])
    phi = spring.deflection(torque, beyond="continue")
    np.testing.assert_allclose(spring.torque(phi, beyond="continue"), torque, rtol=1e-14)
    work = quad(lambda x: float(spring.torque(x, beyond="continue")), 0.0, 0.4, points=[0.3])[0]
    assert spring.energy(0.4, beyond="continue") == pytest.approx(work)


def test_invalid_springs_are_rejected():
    Linear, Polynomial, Table = LinearSpring, PolynomialSpring, TableSpring
    assert_rejected(
        (lambda: Linear(0.0), "stiffness greater than zero, 0"),
        (lambda: Linear(np.nan), "stiffness nan finite"),
        (lambda: Linear(1.0, travel=(0.2, 0.1)), "travel 0.2 less than 0.1"),
        (lambda: Linear(1.0, travel=(0.0, 0.1, 0.2)), "travel two ends"),
        (lambda: Linear(1.0, travel=None), "travel of the spring real numbers"),
        (lambda: Linear([1.0]), "stiffness shape () (1,)"),
        (lambda: CubicSpring(1.0, -2.0), "cubic stiffness zero or greater, -2"),
        (lambda: Polynomial((1.0,)), "finite travel"),
        (lambda: Polynomial((), travel=(0.0, 1.0)), "coefficients"),
        (lambda: Polynomial((3.0, -2.0), travel=(-1.0, 1.0)), "increase at 1 stiffness -1"),
        (lambda: Polynomial((1.0, -3.0, 2.0), travel=(-1.0, 1.0)), "increase at 0.5 -0.5"),
        (lambda: Polynomial(3.0, travel=(0, 1)), "one or more finite numbers, got 3"),
        (lambda: Polynomial("12", travel=(0, 1)), "coefficients real numbers"),
        (lambda: Table((0.0, 0.1), (0.0, 1.0, 2.0)), "2 deflections, but 3 torques"),
        (lambda: Table((0.0,), (0.0,)), "two points"),
        (lambda: Table((0.0, 0.2, 0.1), (0, 1, 2)), "deflections point 2 0.1 after 0.2"),
        (lambda: Table((0.0, 0.1, 0.2), (0, 1, 1)), "torques point 2 1 after 1"),
        (lambda: Table((0.1, 0.2), (1, 2), symmetric=True), "must start at deflection 0"),
        (lambda: Table((0.0, 0.2), (0, 2), travel=(0.0, 0.3)), "of the points, 0 to 0.2"),
        (lambda: Table((0.0, 0.2), (0, 2), travel=0.1), "two ends 0.1"),
    )


@given(
    st.lists(st.floats(0.01, 5.0), min_size=4, max_size=4),
    st.lists(st.floats(-0.2, 1.2), min_size=3, max_size=3),
)
@settings(max_examples=25, deadline=None)
def test_increasing_functions_are_inverted_wherever_their_slope_varies(slopes, wanted):
    law = Polynomial([0.3, *slopes])
    target = law(np.array(wanted).clip(0.0, 1.0))
    target = np.where(np.array(wanted) > 1.0, law(1.0) + 1.0, target)  # out of reach
    x = solve_increasing(lambda x: (law(x), law.deriv()(x)), target, 0.0, 1.0)
    np.testing.assert_allclose(x, np.array(wanted).clip(0.0, 1.0), rtol=0, atol=1e-12)


# Scaled axes


class Sine(Spring):
    """A law of the user's own."""

    def law(self, phi):
        s, c = 50.0 * np.sin(phi), 50.0 * np.cos(phi)
        return s, c, -s, -c

    def potential(self, phi):
        return 50.0 * (1.0 - np.cos(phi))


SCALED = {
    "linear": LinearSpring(300.0, travel=(-0.2, 0.3)),
    "cubic": CubicSpring(200.0, 5e3, travel=(-0.5, 0.5)),
    "polynomial": PolynomialSpring((10.0, 45.0, 20.0), travel=(0.0, 0.9)),
    "table": TableSpring((0.0, 0.1, 0.2, 0.3), (0.0, 8.0, 20.0, 40.0), symmetric=True),
    "own": Sine(travel=(-1.0, 1.0)),
}
factors = st.floats(0.3, 4.0)


@pytest.mark.parametrize("name", SCALED)
@given(torque=factors, deflection=factors, at=st.floats(0.02, 0.98))
def test_law_energy_and_inverse_are_those_of_the_scaled_axes(name, torque, deflection, at):
    base = SCALED[name]
    spring = base.scaled(torque=torque, deflection=deflection)
    lower, upper = base.travel
    x = lower + at * (upper - lower)
    orders = torque * deflection ** np.arange(4.0)
    expected = orders * base.derivatives(x)
    found = spring.derivatives(x / deflection)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-6 * np.abs(expected).max())
    difference = base.energy(x) - base.energy(lower)
    own = spring.energy(x / deflection) - spring.energy(lower / deflection)
    assert own == pytest.approx(torque / deflection * difference, rel=1e-6, abs=1e-9)
    assert spring.deflection(torque * base.torque(x)) == pytest.approx(x / deflection, abs=1e-7)
    assert np.allclose(spring.travel, (lower / deflection, upper / deflection))


def test_a_factor_of_one_changes_nothing():
    spring = SCALED["cubic"]
    assert spring.scaled() is spring


LAW_IN_ITS_OWN_FILE = """
from dataclasses import dataclass

import numpy as np

from multibody_dynamics.dynamics.core.quantities import Powers, quantity
from multibody_dynamics.dynamics.elastic.springs import PiecewisePolynomial, read_travel


@dataclass(frozen=True)
class QuinticSpring(PiecewisePolynomial):
    K: float
    K5: float

    law_name = "quintic"
    required_keys = ("stiffness", "quintic")

    @classmethod
    def read(cls, entry, where, gear):
        K = quantity(entry["stiffness"], f"{where}.stiffness", "stiffness", gear)
        K5 = quantity(entry["quintic"], f"{where}.quintic", Powers(1, -5), gear)
        return cls(K, K5, travel=read_travel(entry, where, gear))

    def polynomials(self):
        return np.zeros(1), np.array([[0.0, self.K, 0.0, 0.0, 0.0, self.K5]])
"""


def test_a_law_in_a_file_of_its_own_is_read_and_used(tmp_path, monkeypatch):
    (tmp_path / "quintic_spring.py").write_text(LAW_IN_ITS_OWN_FILE)
    monkeypatch.syspath_prepend(tmp_path)
    QuinticSpring = importlib.import_module("quintic_spring").QuinticSpring
    try:
        entry = {
            "motor": {"inertia": {"value": 1e-4, "unit": "kg m^2", "side": "motor"}}
            | {"gear_ratio": 100},
            "spring": {
                "law": "quintic",
                "stiffness": {"value": 300.0, "unit": "N m/rad", "side": "link"},
                "quintic": {"value": 2e-7, "unit": "N m/rad^5", "side": "motor"},
            },
        }
        (joint,) = load_actuators({"joints": {"elbow": entry}}, ["elbow"]).actuators
        assert joint.spring == QuinticSpring(300.0, pytest.approx(2e5))  # 100^6 times as much
        torque = 300.0 * 0.1 + 2e5 * 0.1**5
        assert joint.spring.torque(0.1) == pytest.approx(torque, rel=1e-12)
        assert joint.spring.parameters.keys() == {"scale"}  # identified, unless it has others
        identified = joint.spring.with_parameters([1.3])
        assert identified.torque(0.1) == pytest.approx(1.3 * torque, rel=1e-12)
        solver = SpringSolver(Actuators(("elbow",), (joint,)))
        solver.theta[:] = 0.1
        solver.update()
        assert solver.torque[0] == pytest.approx(torque, rel=1e-12)

        entry["spring"]["quintic"]["unit"] = "N m/deg"
        with pytest.raises(InputError, match=r"quintic: unit 'N m/deg' is not one of N m/rad\^5"):
            load_actuators({"joints": {"elbow": entry}}, ["elbow"])
    finally:
        del springs.LAWS["quintic"]


def test_an_unknown_dimension_is_named_with_what_would_do():
    with pytest.raises(ValueError, match=r"'quintic stiffness'; known are stiffness, .*Powers\(1"):
        quantity(
            {"value": 1.0, "unit": "N m/rad^5", "side": "link"},
            "file",
            "quintic stiffness",
            Gear(1.0, {"motor": "revolute", "link": "revolute"}),
        )
