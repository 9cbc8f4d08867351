# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Integrals follow their error, but do not grow further beyond a limit."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from multibody_dynamics.dynamics.control.signals.clamped_integral import ClampedIntegral

VALUES = arrays(np.float64, 3, elements=st.floats(-10.0, 10.0))
GAIN = np.array([1.0, 5.0, 20.0])


def test_a_constant_error_is_integrated():
    integral, error = ClampedIntegral(3), np.array([0.1, -0.2, 0.0])
    for _ in range(100):
        integral.add(GAIN, error, 0.01)
    np.testing.assert_allclose(integral.torque, GAIN * error, rtol=1e-12)
    integral.reset()
    assert not integral.torque.any()


@given(before=VALUES, error=VALUES, missing=VALUES)
@example(before=np.zeros(3), error=np.ones(3), missing=np.full(3, 5e-324))  # times a step: 0
def test_only_steps_towards_what_is_missing_are_undone(before, error, missing):
    integral = ClampedIntegral(3)
    integral.add(GAIN, before, 1e-3)
    rest = integral.torque.copy()
    integral.add(GAIN, error, 1e-3)
    grown = integral.torque.copy()
    integral.undo(missing.copy())
    outwards = np.sign(error) * np.sign(missing) > 0.0
    np.testing.assert_allclose(integral.torque[outwards], rest[outwards], atol=1e-15)
    np.testing.assert_array_equal(integral.torque[~outwards], grown[~outwards])


def test_a_step_is_undone_once():
    integral = ClampedIntegral(3)
    integral.add(GAIN, np.ones(3), 1e-3)
    integral.undo(np.ones(3))
    integral.undo(np.ones(3))
    np.testing.assert_allclose(integral.torque, 0.0, atol=1e-18)
