# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The disturbance observer of torque control: its discretisation, its filter, its stability and
passivity."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad_vec
from scipy.linalg import expm

from multibody_dynamics.dynamics.control import TorqueObserver, passive_share
from multibody_dynamics.dynamics.control.torque.torque_observer import discretised
from multibody_dynamics.dynamics.core import InputError

PERIOD = 1e-3
positive = st.floats(0.01, 100.0)
share = st.floats(0.0, 1.0)


@pytest.mark.parametrize("w", [0.0, 3.0, 400.0])
def test_the_discretisation_is_that_of_the_matrix_exponential(w):
    A = np.array([[-2.0 * w, 1.0], [-(w**2), 0.0]])
    held = quad_vec(lambda s: expm(A * s), 0.0, PERIOD, epsabs=1e-15)[0]
    ramp = quad_vec(lambda s: expm(A * s) * s / PERIOD, 0.0, PERIOD, epsabs=1e-15)[0]
    for found, expected in zip(discretised(w, PERIOD), (expm(A * PERIOD), held, ramp), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * max(w, 1.0) ** 2)


def test_a_constant_disturbance_is_found_through_the_filter():
    """M phi'' + load = tau - d with a step of d: d (1 - (1 + w t) exp(-w t))."""
    M, w, d = np.array([0.5, 0.2]), np.array([80.0, 150.0]), np.array([3.0, -2.0])
    observer = TorqueObserver(M, w, period=1e-4)
    acceleration = -d / M
    tau = np.array([1.0, 1.0])
    for k in range(600):
        t = 1e-4 * k  # short steps: phi is a parabola, which the filter replaces by its chords
        phi = 0.5 * acceleration * t**2
        found = observer.update(phi, tau, tau)
        x = w * t
        exact = d * (1.0 - (1.0 + x) * np.exp(-x))
        np.testing.assert_allclose(found, exact, atol=2e-4 * np.abs(d).max())


def test_a_load_that_the_motor_balances_is_no_disturbance():
    observer = TorqueObserver(np.array([0.5]), np.array([100.0]))
    for k in range(100):
        load = np.array([2.0 + 0.5 * np.sin(0.05 * k)])
        found = observer.update(np.array([0.1]), load, load)
    assert abs(found[0]) < 0.05  # from half a sample of the load's rate
    observer.reset()
    assert observer.update(np.array([0.3]), load, load) == 0.0


def test_motors_without_bandwidth_need_no_values():
    observer = TorqueObserver(np.array([0.5, 0.5]), np.array([0.0, 50.0]))
    missing = np.array([np.nan, 1.0])
    for _ in range(3):
        found = observer.update(missing, missing, missing)
    np.testing.assert_array_equal(found, 0.0)
    with pytest.raises(InputError, match="bandwidth is"):
        TorqueObserver(np.array([0.5]), np.array([-1.0]))


def test_the_period_may_change():
    """Steps of unequal length sample the same continuous filter."""
    rng = np.random.default_rng(2)
    fine = TorqueObserver(np.array([0.5]), np.array([90.0]), period=1e-4)
    coarse = TorqueObserver(np.array([0.5]), np.array([90.0]), period=1e-3)
    tau, t = np.array([1.0]), 0.0
    phi = rng.normal(size=3) * 1e-3

    def load(t: float) -> np.ndarray:
        return np.array([2.0 * t])  # linear, as between samples

    fine.update(phi[:1], load(0.0), tau)
    coarse.update(phi[:1], load(0.0), tau)
    for steps in (10, 25, 7):
        for _ in range(steps):
            t += 1e-4
            a = fine.update(phi[:1], load(t), tau)
        coarse.set_period(steps * 1e-4)
        b = coarse.update(phi[:1], load(t), tau)
        np.testing.assert_allclose(a, b, rtol=1e-9)


@given(M=positive, K=positive, D=positive, P=st.floats(0.0, 100.0), m=positive, w=positive, a=share)
def test_the_observer_is_stable_with_every_link(M, K, D, P, m, w, a):
    c = 1.0 + M / m
    loop = np.polymul([M, D, P + c * K], [1.0, 2.0 * w, w**2])
    loop[-1] -= a * (c - 1.0) * K * w**2
    assert np.roots(loop).real.max() < 1e-9 * np.abs(np.roots(loop)).max()


def impedance(s, M, K, D, P, w, a):
    return K * M * s * (1.0 - a * w**2 / (s + w) ** 2) / (M * s**2 + D * s + P + K)


@given(M=positive, K=positive, D=positive, P=st.floats(0.0, 100.0), w=positive)
def test_the_passive_share_is_the_largest(M, K, D, P, w):
    a = float(passive_share(D, P + K, w))
    scale = max(w, np.sqrt((P + K) / M))
    s = 1j * scale * np.logspace(-5, 3, 400)
    Z = impedance(s, M, K, D, P, w, a)
    assert (Z.real >= -1e-9 * np.abs(Z)).all()
    slow = 1j * 1e-3 * min(w, (P + K) / D, np.sqrt((P + K) / M))
    assert impedance(slow, M, K, D, P, w, min(1.01 * a + 1e-6, 1.0)).real < 0.0
