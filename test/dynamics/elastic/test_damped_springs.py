# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Damped springs: their deflection, filtered from the torque."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from multibody_dynamics.dynamics.elastic import CubicSpring, LinearSpring, Motor, SeriesElastic

MOTOR = Motor(0.3, 100.0, viscous=0.4, coulomb=0.5, coulomb_velocity=0.2)


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
