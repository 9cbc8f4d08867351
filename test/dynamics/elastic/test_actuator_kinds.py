# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Kinds of actuators: the flat relations, their inverses, rates and filters; invalid input."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic import (
    Actuator,
    Antagonistic,
    Motor,
    Rigid,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
)
from multibody_dynamics.dynamics.elastic.springs import CubicSpring, LinearSpring, PolynomialSpring

MOTOR = Motor(0.3, 100.0, viscous=0.4, coulomb=0.5, coulomb_velocity=0.2)
DRIVE = StiffnessDrive(Motor(1e-4), offset=50.0, gain=400.0)
QUADRATIC = PolynomialSpring((40.0, 900.0), travel=(0.0, 0.6))
STRONG = PolynomialSpring((60.0, 700.0, 500.0), travel=(0.0, 0.5))
ACTUATORS: dict[str, Actuator] = {
    "linear": SeriesElastic(MOTOR, LinearSpring(300.0)),
    "cubic": SeriesElastic(MOTOR, CubicSpring(200.0, 3e3)),
    "variable": VariableStiffness(MOTOR, (100.0, 900.0)),
    "variable, hardening": VariableStiffness(MOTOR, (100.0, 900.0), CubicSpring(1.0, 20.0)),
    "variable with drive": VariableStiffness(
        MOTOR, (100.0, 900.0), CubicSpring(1.0, 20.0), drive=DRIVE
    ),
    "antagonistic": Antagonistic(MOTOR, MOTOR, QUADRATIC, QUADRATIC),
    "unlike antagonists": Antagonistic(MOTOR, MOTOR, QUADRATIC, STRONG),
    "pretension": Antagonistic(MOTOR, MOTOR, QUADRATIC, STRONG, "pretension"),
}


def rows_at(actuator: Actuator, t: np.ndarray) -> tuple[list[np.ndarray], ...]:
    """q, Q and the second output with two derivatives at the times t."""

    def wave(mean: float, swing: float, w: float) -> list[np.ndarray]:
        return [
            (mean if k == 0 else 0.0) + swing * w**k * np.sin(w * t + k * np.pi / 2)
            for k in range(3)
        ]

    mean = 60.0 if actuator.second_output == "pretension" else 550.0
    return wave(0.2, 0.5, 2.0), wave(5.0, 20.0, 3.0), wave(mean, 0.2 * mean, 2.5)


def test_antagonists_of_quadratic_springs_have_a_closed_form():
    """s = c phi^2: sigma = 2 c (phi_a + phi_b), Q = c (phi_a + phi_b)(phi_a - phi_b)."""
    c = 900.0
    spring = PolynomialSpring((0.0, c), travel=(0.01, 0.6))
    actuator = Antagonistic(MOTOR, MOTOR, spring, spring)
    Q, sigma = np.array([-30.0, 0.0, 45.0]), np.array([400.0, 600.0, 900.0])
    none = np.zeros(3)
    a, b = actuator.motor_rows([none] * 3, [Q, none, none], [sigma, none, none], None, "raise")
    total, difference = sigma / (2 * c), 2 * Q / sigma
    np.testing.assert_allclose(a.position, (total + difference) / 2, rtol=1e-13)
    np.testing.assert_allclose(b.position, -(total - difference) / 2, rtol=1e-13)


@given(st.floats(-0.9, 0.9), st.floats(0.02, 0.98))
@settings(max_examples=25, deadline=None)
def test_every_stiffness_in_the_range_is_feasible_and_none_beyond(where, part):
    actuator = ACTUATORS["unlike antagonists"]
    Q = np.array(where * 300.0)
    low, high = actuator.second_output_range(Q)
    rows = [np.array(0.0)] * 3
    sigma = low + part * (high - low)
    motors = actuator.motor_rows(rows, [Q, *rows[1:]], [sigma, *rows[1:]], None, "raise")
    theta = [row.position for row in motors]
    found = actuator.spring_rows(*rows[:2], theta, rows[:2], (), "continue")
    np.testing.assert_allclose((found.torque, found.stiffness), (Q, sigma), rtol=1e-11, atol=1e-10)
    for outside in (low - 1.0, high + 1.0):
        with pytest.raises(
            InputError, match=r"stiffness of .* is infeasible at a joint torque .*N/m"
        ):
            actuator.motor_rows(rows, [Q, *rows[1:]], [outside, *rows[1:]], None, "raise")


def test_a_joint_torque_beyond_both_springs_is_rejected():
    rows = [np.array(x) for x in (1e3, 0.0, 0.0)]
    with pytest.raises(InputError, match=r"torque of 1000 N m \(N for a .* joint\) is infeasible"):
        ACTUATORS["antagonistic"].motor_rows(rows, rows, rows, None, "raise")


@pytest.mark.parametrize("kind", ["linear", "variable", "unlike antagonists"])
def test_the_range_of_a_plain_number_is_that_of_an_array(kind):
    """An integer joint torque, with and without the motors' limits."""
    for actuator in (ACTUATORS[kind], *TIGHT.values()):
        for share in (np.inf, 0.8):
            found = actuator.second_output_range(10, share)
            np.testing.assert_array_equal(found, actuator.second_output_range(10.0, share))
            rows = actuator.second_output_range(np.array([10.0]), share)
            np.testing.assert_allclose(found, np.ravel(rows), rtol=1e-12)


def limited(limit: float) -> Motor:
    return Motor(0.3, torque_limit=limit)


TIGHT: dict[str, Actuator] = {
    "antagonistic": Antagonistic(limited(60.0), limited(80.0), QUADRATIC, STRONG),
    "pretension": Antagonistic(limited(60.0), limited(80.0), QUADRATIC, STRONG, "pretension"),
    "variable with drive": VariableStiffness(
        MOTOR,
        (100.0, 900.0),
        CubicSpring(1.0, 20.0),
        StiffnessDrive(limited(3.0), offset=50.0, gain=400.0),
    ),
}


@pytest.mark.parametrize("kind", TIGHT)
@pytest.mark.parametrize("Q", [-40.0, 0.0, 25.0])
def test_motors_hold_exactly_the_range_that_their_limits_leave(kind, Q):
    """At the bound set by the limits, one motor delivers its share, and none delivers more."""
    actuator = TIGHT[kind]
    none, share = np.array(0.0), 0.9
    low, high = actuator.second_output_range(none + Q, share)
    widest = actuator.second_output_range(none + Q)
    if kind == "variable with drive":
        moved, bound = low != widest[0], low
        assert high == widest[1]
        assert moved == (Q != 0.0)
    else:
        moved, bound = high != widest[1], high
        assert low == widest[0]
        assert moved
    torque, second = [none + Q, none, none], [bound, none, none]
    rows = actuator.motor_rows([none] * 3, torque, second, None, "raise")
    pairs = zip(rows, actuator.motors, strict=True)
    used = [abs(row.load) / motor.torque_limit for row, motor in pairs]
    assert max(used) == pytest.approx(share, rel=1e-9) if moved else max(used) < share


def exact_filter(K: float, d: float, phi0: float, Q: tuple[float, ...], t: float) -> float:
    """phi' = (Q(t) - K phi) / d in 40 digits, by variation of constants."""
    with mpmath.workdps(40):
        rate = mpmath.mpf(K) / d

        def integrand(x):
            return mpmath.exp(-rate * (t - x)) * (Q[0] + Q[1] * x + Q[2] * x**2 / 2) / d

        cuts = [mpmath.mpf(t) * i / 8 for i in range(9)]
        return float(phi0 * mpmath.exp(-rate * t) + mpmath.quad(integrand, cuts))


@pytest.mark.parametrize("damping", [1e-2, 0.3, 10.0, 1e4])
def test_the_filter_of_a_linear_damped_spring_is_exact(damping):
    actuator = SeriesElastic(MOTOR, LinearSpring(300.0), damping)
    Q = (20.0, -150.0, 4e3)
    rows = [np.array(x) for x in Q]
    for dt in (1e-4, 1e-3, 2e-2):
        found = actuator.deflection_after(np.array(0.05), rows, dt)
        assert found == pytest.approx(exact_filter(300.0, damping, 0.05, Q, dt), rel=1e-13)


def test_the_filter_of_a_nonlinear_damped_spring_converges():
    actuator = SeriesElastic(MOTOR, CubicSpring(200.0, 5e3), 4.0)
    Q = (20.0, -150.0, 4e3)
    start, end = 0.05, 0.04

    def slope(t, phi):
        return (Q[0] + Q[1] * t + Q[2] * t**2 / 2 - actuator.spring.torque(phi)) / 4.0

    exact = solve_ivp(slope, (0.0, end), [start], method="DOP853", rtol=1e-13, atol=1e-15).y[0, -1]
    errors = []
    for count in (4, 8, 16):
        phi, dt = np.array(start), end / count
        for k in range(count):
            t = k * dt
            rows = (Q[0] + Q[1] * t + Q[2] * t**2 / 2, Q[1] + Q[2] * t, Q[2])
            phi = actuator.deflection_after(phi, [np.array(x) for x in rows], dt)
        errors.append(abs(phi - exact))
    assert errors[0] < 2e-5
    assert errors[0] / errors[1] > 7.0  # third order
    assert errors[1] / errors[2] > 7.0


def test_the_filter_forgets_its_start_and_settles():
    for law in (LinearSpring(300.0), CubicSpring(300.0, 2e3)):
        actuator = SeriesElastic(MOTOR, law, 3.0)
        phi, t, dt = np.array([-0.1, 0.3]), 0.0, 1e-3
        while t < 0.5:  # 50 time constants
            phi = actuator.deflection_after(
                phi, [np.full(2, x) for x in (5 + 40 * t, 40.0, 0.0)], dt
            )
            t += dt
        assert phi[0] == pytest.approx(phi[1], rel=1e-13)
        settled = actuator.settled_deflection([np.array(x) for x in (5 + 40 * t, 40.0, 0.0)])
        assert phi[0] == pytest.approx(
            settled, rel=1e-12 if isinstance(law, LinearSpring) else 1e-4
        )


def test_a_damped_spring_needs_its_deflection():
    actuator = SeriesElastic(MOTOR, LinearSpring(300.0), 2.0)
    rows = [np.array(0.1)] * 3
    with pytest.raises(InputError, match="deflection of a damped spring is a state"):
        actuator.motor_rows(rows, rows, (), None, "raise")
    row = actuator.motor_rows(rows, rows, (), np.array(0.01), "raise")[0]
    assert row.velocity == pytest.approx(0.1 + (0.1 - 3.0) / 2.0)
    assert row.acceleration == pytest.approx(0.1 + (0.1 - 300.0 * (0.1 - 3.0) / 2.0) / 2.0)


def test_a_rigid_joint_is_its_motor():
    q, Q, second = rows_at(ACTUATORS["linear"], np.linspace(0, 1, 4))
    (row,) = Rigid(Motor(0.0)).motor_rows(q, Q, second, None, "raise")
    np.testing.assert_array_equal(row[:4], [*q, Q[0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Motor(-1.0), "inertia of the motor must be zero or greater, got -1"),
        (lambda: Motor(np.nan), "inertia.*nan"),
        (lambda: Motor(np.inf), "inertia.*finite"),
        (lambda: Motor(1.0, gear_ratio=0.0), "gear_ratio.*greater than zero"),
        (lambda: Motor(1.0, torque_limit=0.0), "torque_limit.*greater than zero"),
        (lambda: Motor(1.0, viscous=-0.1), "viscous of the motor must be .*, got -0.1"),
        (lambda: Motor(1.0, coulomb_velocity=0.0), "coulomb_velocity of the motor must.* 0"),
        (lambda: SeriesElastic(Motor(0.0), LinearSpring(1.0)), "inertia of a motor behind.*got 0"),
        (lambda: SeriesElastic(MOTOR, LinearSpring(1.0), -1.0), "damping.*zero or greater.*-1"),
        (lambda: SeriesElastic(MOTOR, 3.0), r"expected a Spring, such as .*, got 3\.0"),
        (lambda: VariableStiffness(MOTOR, (1.0, 2.0), 3.0), "expected a Spring"),
        (lambda: Antagonistic(MOTOR, MOTOR, 3.0, QUADRATIC), "expected a Spring"),
        (lambda: VariableStiffness(MOTOR, (0.0, 1.0)), "stiffness_range.*positive"),
        (lambda: StiffnessDrive(MOTOR, gain=0.0), "gain nonzero"),
        (lambda: Antagonistic(MOTOR, MOTOR, LinearSpring(1.0), QUADRATIC), "finite travel"),
        (
            lambda: Antagonistic(MOTOR, MOTOR, LinearSpring(1.0, travel=(0, 1)), QUADRATIC),
            "must harden",
        ),
        (lambda: Antagonistic(MOTOR, MOTOR, QUADRATIC, QUADRATIC, "speed"), "pretension.*'speed'"),
        (lambda: Motor([1.0]), r"inertia of the motor: expected one number, .* shape \(1,\)"),
        (lambda: Rigid(None), "expected a Motor, such as .*, got None"),
        (lambda: SeriesElastic(0.1, LinearSpring(1.0)), r"expected a Motor, .*, got 0\.1"),
        (lambda: SeriesElastic(MOTOR, LinearSpring(1.0), "2"), "damping of the spring: expected"),
        (lambda: StiffnessDrive(MOTOR, gain="2"), "gain of the drive: expected real numbers"),
        (lambda: VariableStiffness(MOTOR, 5.0), "stiffness_range: expected shape"),
        (lambda: VariableStiffness(MOTOR, (1.0, np.inf)), r"stiffness_range\[1\] is inf"),
        (lambda: VariableStiffness(MOTOR, (1, 2), drive=MOTOR), "drive: expected a StiffnessDrive"),
    ],
)  # fmt: skip
def test_invalid_actuators_are_rejected(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_stiffness_beyond_its_bounds_is_rejected():
    q, Q, second = rows_at(ACTUATORS["variable"], np.array(0.0))
    for k in (99.0, 901.0):
        with pytest.raises(
            InputError, match=rf"must be from 100 to 900 N m/rad \(N/m for a .*\), got {k:g}$"
        ):
            ACTUATORS["variable"].motor_rows(q, Q, [np.array(k), *second[1:]], None, "raise")
