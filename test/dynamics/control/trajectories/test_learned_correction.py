# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Learned corrections against SciPy's splines, and their transitions against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BSpline

from multibody_dynamics.dynamics.control import FadingCorrection, LearnedCorrection
from rejections import assert_rejected

N = 3
RNG = np.random.default_rng(4)
SOME = LearnedCorrection(1.4, RNG.normal(size=(25, N)))
OTHER = LearnedCorrection(0.9, RNG.normal(size=(11, N)))


def test_value_and_derivatives_are_those_of_the_spline():
    c = SOME.coefficients
    every = np.concatenate((np.repeat(c[:1], 4, axis=0), c, np.repeat(c[-1:], 4, axis=0)))
    inner = np.linspace(0.0, 1.4, SOME.pieces + 1)
    spline = BSpline(np.concatenate((np.zeros(5), inner, np.full(5, 1.4))), every, 5)
    for t in [0.0, *RNG.uniform(0.0, 1.4, 50), *(inner[1:-1] + 1e-9)]:
        wanted = [spline(t), *(spline.derivative(k)(t) for k in range(1, 5))]
        scale = SOME.pieces ** np.arange(5)[:, None]
        np.testing.assert_allclose(SOME(t) / scale, wanted / scale, atol=1e-9)


def test_it_is_constant_outside_with_four_continuous_derivatives_everywhere():
    for t, k in ((-0.3, 0), (1.4, -1), (9.0, -1)):
        np.testing.assert_array_equal(SOME(t)[0], SOME.coefficients[k])
        assert not SOME(t)[1:].any()
    scale = float(SOME.pieces) ** np.arange(5)[:, None]
    for t in np.linspace(0.0, 1.4, SOME.pieces + 1):
        jump = (SOME(t + 1e-11) - SOME(t - 1e-11)) / scale
        assert np.abs(jump).max() < 1e-7


def test_a_correction_of_its_own_kind_is_recovered_from_irregular_samples():
    times = np.sort(RNG.uniform(0.0, 1.4, 400))
    values = np.array([SOME(t)[0] for t in times])
    found = LearnedCorrection.zero(1.4, 1.4 / SOME.pieces, N).fitted(times, values)
    assert found.pieces == SOME.pieces
    np.testing.assert_allclose(found.coefficients, SOME.coefficients, atol=1e-8)


@pytest.mark.parametrize(("frequency", "least", "most"), [(2.0, 0.98, 1.02), (40.0, 0.0, 0.05)])
def test_the_fit_passes_slow_signals_without_phase_and_blocks_fast_ones(frequency, least, most):
    times = np.arange(0.0, 4.0, 1e-3)
    fit = LearnedCorrection.zero(4.0, 0.5 / 10.0, 1)  # 10 Hz
    inside = (times > 0.6) & (times < 3.4)
    parts = []
    for shape in (np.sin, np.cos):
        wave = shape(2.0 * np.pi * frequency * times)
        found = fit.fitted(times, wave[:, None])
        parts.append(np.array([found(t)[0, 0] for t in times])[inside])
    s, c = (f(2.0 * np.pi * frequency * times[inside]) for f in (np.sin, np.cos))
    gain = parts[0] @ s / (s @ s)
    quadrature = parts[0] @ c / (c @ c)
    assert least <= abs(gain) <= most
    assert abs(quadrature) < 0.01


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(-5.0, 5.0), min_size=N, max_size=8 * N))
def test_the_coefficients_bound_the_correction_at_all_times(values):
    coefficients = np.array(values[: len(values) // N * N]).reshape(-1, N)
    correction = LearnedCorrection(1.0, coefficients)
    found = np.array([correction(t)[0] for t in np.linspace(-0.1, 1.1, 100)])
    assert np.abs(found).max() <= np.abs(coefficients).max() * (1.0 + 1e-12)


def test_a_transition_has_four_continuous_derivatives_and_ends_at_the_next_correction():
    fading = FadingCorrection(N)
    assert fading.is_zero
    fading.change(None, origin=0.0, now=0.0, duration=1.0)
    assert fading.is_zero
    fading.change(SOME, origin=10.2, now=10.0, duration=0.5)
    fading.change(OTHER, origin=10.7, now=10.4, duration=0.6)  # before the first has ended
    rows, one = [], np.empty((5, N))
    times = np.arange(9.9, 11.9, 1e-4)
    for t in times:
        fading.evaluate(t, one)
        rows.append(one.copy())
    found = np.array(rows)
    assert not found[times <= 10.0].any()
    late = times >= 11.001
    wanted = np.array([OTHER(t - 10.7) for t in times[late]])
    np.testing.assert_allclose(found[late], wanted, rtol=1e-9, atol=1e-9)
    for k in range(4):  # each row is the derivative of the one before
        slope = (found[2:, k] - found[:-2, k]) / 2e-4
        scale = np.abs(found[:, k + 1]).max()
        assert np.abs(slope - found[1:-1, k + 1]).max() < 2e-3 * scale
    assert np.abs(np.diff(found[:, 4], axis=0)).max() < 0.02 * np.abs(found[:, 4]).max()


def test_a_correction_that_starts_later_is_complete_from_its_start():
    fading, found = FadingCorrection(N), np.empty((5, N))
    fading.change(OTHER, origin=-5.0, now=-5.0, duration=0.5)
    fading.change(SOME, origin=0.1, now=0.0, duration=0.5)
    offset = OTHER.coefficients[-1] - SOME.coefficients[0]
    for t in (0.05, 0.2, 0.3, 0.45):
        u = t / 0.5
        left = 1.0 - u**5 * (126.0 + u * (-420.0 + u * (540.0 + u * (-315.0 + 70.0 * u))))
        fading.evaluate(t, found)
        np.testing.assert_allclose(found[0], SOME(t - 0.1)[0] + left * offset, atol=1e-12)
    fading.evaluate(0.5, found)
    np.testing.assert_array_equal(found, SOME(0.4))


def test_a_correction_fades_out_and_old_ones_are_forgotten():
    fading, motion = FadingCorrection(N), np.zeros((5, N))
    for k in range(50):
        fading.change(SOME, origin=3.0 * k, now=3.0 * k, duration=0.5)
    assert len(fading._layers) == 2
    fading.change(None, origin=0.0, now=160.0, duration=0.2)
    fading.add_to(160.0, motion)
    np.testing.assert_array_equal(motion[0], SOME.coefficients[-1])
    motion[:] = 0.0
    fading.add_to(160.3, motion)
    assert not motion.any()
    fading.change(SOME, origin=0.0, now=170.0, duration=0.0)
    fading.reset()
    assert fading.is_zero


def test_invalid_arguments_are_rejected():
    good = np.zeros((5, N))
    for rows in (np.zeros(5), np.zeros((0, N)), np.full((5, N), np.nan)):
        assert_rejected((lambda rows=rows: LearnedCorrection(1.0, rows), "coefficients"))
    for duration in (0.0, np.inf, np.nan):
        assert_rejected((lambda T=duration: LearnedCorrection(T, good), "duration"))
