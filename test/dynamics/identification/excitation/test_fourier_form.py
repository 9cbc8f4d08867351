# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The basis of Fourier motions: linear, C4, and at rest at both ends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.dynamics.core import InputError

FORM = idn.FourierForm(period=4.0, harmonics=3, repetitions=2.0, ramp=0.5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_the_motion_is_the_basis_times_the_coefficients(seed):
    c = np.random.default_rng(seed).normal(size=(FORM.size, 2))
    times = np.linspace(0.0, FORM.duration, 41)
    expected = FORM.reference(("a", "b"), c).sample(times).swapaxes(0, 1)
    np.testing.assert_allclose(FORM.basis(times) @ c, expected, rtol=0, atol=1e-9)


def test_it_starts_and_ends_at_rest_and_repeats_in_between():
    c = np.random.default_rng(1).normal(size=(FORM.size, 2))
    motion = FORM.reference(("a", "b"), c)
    for t in (motion.start_time, motion.end_time):
        assert not motion(t)[1:].any()
    for t in (0.7, 2.0, 3.9):
        np.testing.assert_allclose(motion(t), motion(t + FORM.period), rtol=0, atol=1e-9)


def test_it_is_continuous_to_the_fourth_derivative():
    """Across the ends and the ends of the ramps, differences vanish with the step."""
    c = np.random.default_rng(2).normal(size=(FORM.size, 1))
    motion = FORM.reference(("a",), c)
    for t in (0.0, FORM.ramp, FORM.duration - FORM.ramp, FORM.duration):
        jumps = [np.abs(motion(t + h) - motion(t - h)).max() for h in (1e-3, 1e-4)]
        assert jumps[1] < 0.2 * jumps[0]


def test_the_times_are_as_dense_as_wanted():
    times = FORM.times(per_wave=10, per_ramp=5)
    step = np.diff(times)
    np.testing.assert_allclose(step, step[0])
    assert step[0] <= min(4.0 / 3.0 / 10.0, 0.1)
    assert (times[0], times[-1]) == (0.0, FORM.duration)


@pytest.mark.parametrize(
    "wrong", [{"period": 0.0}, {"harmonics": -1}, {"ramp": np.nan}, {"harmonics": 2.5}]
)
def test_other_numbers_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        idn.FourierForm(**wrong)
