# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The low-pass with four equal poles: the differential equation and its rate."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from multibody_dynamics.dynamics.control.signals.low_pass import ORDER, LowPass
from multibody_dynamics.dynamics.core.errors import InputError


def test_output_and_rate_solve_the_differential_equation_at_uneven_steps():
    w, rng = 90.0, np.random.default_rng(0)
    found = LowPass(2, w)
    lags = np.zeros((ORDER, 2))

    def rates(t, z, value):
        z = z.reshape(ORDER, 2)
        return (w * (np.vstack([value, z[:-1]]) - z)).ravel()

    for step in rng.uniform(1e-4, 0.02, 30):
        value = rng.normal(size=2)
        run = solve_ivp(rates, (0.0, step), lags.ravel(), "DOP853", args=(value,), rtol=1e-11,
                        atol=1e-12)  # fmt: skip
        lags = run.y[:, -1].reshape(ORDER, 2)
        np.testing.assert_allclose(found.update(step, value), lags[-1], atol=1e-9)
        np.testing.assert_allclose(found.rate, w * (lags[-2] - lags[-1]), atol=1e-7)
    found.reset()
    assert not found.value.any()
    assert not found.rate.any()


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
def test_a_bandwidth_that_is_not_positive_is_rejected(wrong):
    with pytest.raises(InputError, match=r"bandwidth is .* rad/s: must be positive"):
        LowPass(1, wrong)
