# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of sampled positions: poles, polynomials, phase and noise as documented."""

from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from multibody_dynamics.dynamics.control.signals.derivative_filter import (
    ORDERS,
    DerivativeFilter,
    discretised,
)
from multibody_dynamics.dynamics.core.errors import InputError

STEP = 1e-3


def make_filter(order: int, bandwidth: float = 20.0, n: int = 1, **options) -> DerivativeFilter:
    return DerivativeFilter([f"joint{j}" for j in range(n)], order, bandwidth, **options)


def polynomial(coefficients: np.ndarray, t: float, count: int) -> np.ndarray:
    """(count, n): derivatives 0, 1, ... of sum_k c_k t^k / k!, for coefficients (k, n)."""
    degree = len(coefficients)
    return np.array(
        [
            sum(coefficients[k] * t ** (k - i) / factorial(k - i) for k in range(i, degree))
            for i in range(count)
        ]
    )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("step", [1e-4, 1e-3, 1e-2])
def test_the_poles_are_those_that_were_placed(order, step):
    w = 2 * np.pi * 20.0
    transition, gain = discretised(order, w, step)
    chain = np.diag(np.ones(order - 1), 1)
    np.testing.assert_allclose(transition, expm(chain * step), rtol=1e-14)
    units = step ** np.arange(order)
    F = (transition - np.outer(gain, transition[0])) * units[:, None] / units
    poles = np.poly([np.exp(-w * step)] * order)
    np.testing.assert_allclose(np.poly(F), poles, rtol=0, atol=1e-13)


@given(st.integers(0, 2**32 - 1), st.sampled_from(ORDERS))
@settings(max_examples=15, deadline=None)
def test_polynomials_below_the_order_are_exact_at_any_steps(seed, order):
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=(order, 3)) * 2.0 ** np.arange(order)[:, None]
    estimator = make_filter(order, n=3)
    t = rng.uniform(-1.0, 1.0)
    end = t + 0.6
    while t < end:
        state = estimator.update(t, polynomial(coefficients, t, 1)[0])
        before, t = t, t + rng.uniform(1e-4, 8e-3)
    true = polynomial(coefficients, before, order)
    scale = 1e-9 * (2 * np.pi * 20.0) ** np.arange(order)[:, None]
    np.testing.assert_array_less(np.abs(state - true), np.broadcast_to(scale, true.shape))


@pytest.mark.parametrize("order", ORDERS)
def test_one_degree_more_shows_the_documented_delay_and_no_other(order):
    """On t^m / m! the highest derivative, t, lags by the delay; the next lower lags by no
    more than the second-order term, which a pure delay lacks."""
    estimator = make_filter(order)
    coefficients = np.eye(order + 1)[-1:].T
    for k in range(1001):
        state = estimator.update(k * STEP, polynomial(coefficients, k * STEP, 1)[0])
    true = polynomial(coefficients, k * STEP, order)
    delay = estimator.delay(STEP)
    assert (true - state)[-1, 0] == pytest.approx(delay[-1], rel=1e-6)
    assert not delay[:-1].any()
    assert delay[-1] == pytest.approx(order / (2 * np.pi * 20.0) - STEP / 2, rel=2e-2)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("frequency", [0.5, 4.0, 20.0])
def test_measured_phase_and_amplitude_match_the_documented_response(order, frequency):
    estimator = make_filter(order)
    omega = 2 * np.pi * frequency
    times = np.arange(0.0, 1.0 + 4.0 / frequency, STEP)
    states = np.array([estimator.update(t, [np.sin(omega * t)])[:, 0].copy() for t in times])
    late = times > times[-1] - 2.0 / frequency
    waves = np.stack([np.sin(omega * times[late]), np.cos(omega * times[late])], axis=1)
    fit = np.linalg.lstsq(waves, states[late], rcond=None)[0]
    phasor = (fit[0] + 1j * fit[1]) / (1j * omega) ** np.arange(order)
    stated = estimator.response(frequency, STEP)
    np.testing.assert_allclose(phasor, stated, rtol=0, atol=1e-6)
    slow = estimator.response(np.array([0.01]), STEP)
    np.testing.assert_allclose(
        -np.angle(slow[0]) / (2 * np.pi * 0.01), estimator.delay(STEP), rtol=1e-3, atol=2e-7
    )


@pytest.mark.parametrize("order", ORDERS)
def test_measured_noise_matches_the_documented_gain(order):
    noise = np.random.default_rng(0).normal(size=(4000, 40))
    estimator = make_filter(order, bandwidth=50.0, n=40)
    states = np.array([estimator.update(k * STEP, y).copy() for k, y in enumerate(noise)])
    measured = states[500:].std(axis=(0, 2))
    np.testing.assert_allclose(measured, estimator.noise_gain(STEP), rtol=0.03)
    rough = {2: (1.12, 0.50), 3: (1.44, 1.32, 0.43), 4: (1.70, 2.40, 1.59, 0.40)}[order]
    slow = make_filter(order, bandwidth=0.1)
    w = 2 * np.pi * 0.1
    stated = np.array(rough) * w ** np.arange(order) * np.sqrt(w * STEP)
    np.testing.assert_allclose(slow.noise_gain(STEP), stated, rtol=0.015)


@pytest.mark.parametrize("order", ORDERS)
def test_encoder_quantization_is_white_noise_during_motion(order):
    resolution = 2 * np.pi / 2**14
    estimator = make_filter(order, bandwidth=30.0)
    errors = []
    for k in range(6000):
        t = k * STEP
        q = np.sin(2.0 * t) + 0.4 * t
        true = np.array([q, 2 * np.cos(2 * t) + 0.4, -4 * np.sin(2 * t), -8 * np.cos(2 * t)])[
            :order
        ]
        measured = np.round(q / resolution) * resolution
        ideal = estimator.response(2.0 / (2 * np.pi), STEP)
        errors.append(estimator.update(t, [measured])[:, 0] - true)
    errors = np.array(errors)[1000:]
    stated = estimator.noise_gain(STEP) * resolution / np.sqrt(12)
    lag = np.abs(ideal - 1.0) * np.array([1.0, 2.0, 4.0, 8.0])[:order]
    rms = np.sqrt((errors**2).mean(axis=0))
    assert (rms < 1.3 * np.hypot(stated, lag / np.sqrt(2)) + 1e-12).all()
    assert rms[1] > 0.5 * stated[1]


@pytest.mark.parametrize("order", ORDERS)
def test_a_start_in_motion_has_settled_after_the_settling_time(order):
    """The filter starts at rest; the error of the highest derivative decays from 3 to 1 % of it."""
    estimator = make_filter(order)
    coefficients = 3.0 * np.eye(order)[-1:].T
    k = 0
    estimator.update(0.0, coefficients[0])
    while not estimator.is_settled:
        k += 1
        state = estimator.update(k * STEP, polynomial(coefficients, k * STEP, 1)[0])
    assert k * STEP == pytest.approx(estimator.settling_time, abs=1.01 * STEP)
    assert 3.0 - state[-1, 0] == pytest.approx(0.03, rel=0.12)
    wt = estimator.settling_time * 2 * np.pi * 20.0
    left = np.exp(-wt) * sum(wt**i / factorial(i) for i in range(order))
    assert left == pytest.approx(0.01, rel=1e-9)


def test_the_filter_handles_time_jumps_gaps_and_repeats():
    estimator = make_filter(3, max_step=0.02)
    for t in (0.0, 0.01, 0.02):
        estimator.update(t, [t])
    before = estimator.state.copy()
    np.testing.assert_array_equal(estimator.update(0.02, [9.0]), before)
    assert estimator.starts == 1
    np.testing.assert_array_equal(estimator.update(0.02 - 1e-6, [9.0]), before)
    bridged = estimator.update(0.05, [2.0])  # at the mean velocity during the gap
    np.testing.assert_allclose(bridged, [[2.0], [(2.0 - before[0, 0]) / 0.03], [0.0]], rtol=1e-12)
    np.testing.assert_array_equal(estimator.update(0.14, [2.5]), [[2.5], [0.0], [0.0]])
    estimator.update(0.15, [2.1])
    np.testing.assert_array_equal(estimator.update(0.01, [3.0]), [[3.0], [0.0], [0.0]])
    assert estimator.starts == 4
    estimator.reset()
    assert not estimator.state.any()
    assert not estimator.is_settled
    np.testing.assert_array_equal(estimator.update(0.011, [4.0]), [[4.0], [0.0], [0.0]])


@pytest.mark.parametrize("gap", [30, 250])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_a_filter_that_is_carried_along_its_reference_keeps_its_errors_and_knows_the_gap(
    order, gap
):
    """The next sample counts for the whole gap: one where the velocity leads changes little. After
    more than 0.2 s, it was taken for a start at rest."""
    rng = np.random.default_rng(order)
    step = 1e-3
    motion = np.polynomial.Polynomial(rng.normal(size=order))
    carried = DerivativeFilter(["a"], order, 60.0)
    for k in range(200):
        carried.update(k * step, [motion(k * step)])
    velocity, acceleration = rng.normal(size=(2, 1))
    before = carried.state.copy()
    for k in range(200, 200 + gap):
        carried.coast(k * step, velocity + (k - 200) * step * acceleration, acceleration)
    moved = gap * step * velocity + 0.5 * (gap * step) ** 2 * acceleration
    np.testing.assert_allclose(carried.state[0], before[0] + moved, atol=1e-12)
    np.testing.assert_allclose(carried.state[1], before[1] + gap * step * acceleration, atol=1e-12)
    end = (200 + gap) * step
    followed, passed = carried.state.copy(), gap * step
    led = before[0] + passed * before[1] + 0.5 * passed**2 * acceleration
    carried.update(end, led + step * followed[1])  # just where its own velocity leads
    changed = np.abs(carried.state[1] - followed[1]).max()
    assert changed <= np.abs(followed[2:]).sum() * gap * step + 1e-12
    assert carried.starts == 1


@pytest.mark.parametrize("gap", [2, 10, 30])
def test_a_joint_that_is_faster_than_its_reference_is_not_found_faster_still_after_a_gap(gap):
    """The velocity was 2.5 times its difference from the reference too large; every further gap
    multiplied that, and the torque slammed."""
    step, speed, reference = 1e-3, 0.7, np.array([0.4])
    carried = DerivativeFilter(["a"], 3, 100.0)
    for k in range(1000):
        if k < 200 or k % gap == 0:
            carried.update(k * step, [k * step * speed])
            assert k < 100 or carried.state[1, 0] == pytest.approx(speed, abs=1e-9)
        else:
            carried.coast(k * step, reference, 0.0 * reference)


def test_the_filter_rejects_bad_inputs():
    for arguments, says in (
        ((5, 20.0), "order of the filter is 5"),
        ((3, 0.0), "bandwidth is 0.0 Hz"),
        ((3, np.nan), "bandwidth"),
    ):
        with pytest.raises(InputError, match=says):
            make_filter(*arguments)
    with pytest.raises(InputError, match="max_step"):
        make_filter(3, max_step=-1.0)
    estimator = make_filter(3, n=2)
    estimator.update(0.0, [1.0, 2.0])
    before = estimator.state.copy()
    with pytest.raises(InputError, match="joint1"):
        estimator.update(0.1, [1.0, np.nan])
    with pytest.raises(InputError, match="t is inf"):
        estimator.update(np.inf, [1.0, 2.0])
    with pytest.raises(InputError, match="expected shape"):
        estimator.update(0.1, [1.0])
    np.testing.assert_array_equal(estimator.state, before)
