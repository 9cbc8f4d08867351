# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The frequency above which late dampers excite, against simulated signals."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.control import DerivativeFilter, StateEstimation, lag_limit


def test_without_a_filter_it_is_a_quarter_of_a_period():
    assert lag_limit(None, 2e-3, 1e-3) == pytest.approx(np.pi / (2.0 * 2.5e-3), rel=1e-3)
    assert lag_limit(None, 0.0, 1e-3) == pytest.approx(np.pi / 1e-3)  # never before Nyquist


@pytest.mark.parametrize(("order", "bandwidth"), [(2, 60.0), (3, 100.0), (4, 150.0)])
def test_at_the_limit_the_power_of_a_damper_is_zero(order, bandwidth):
    """Filter a sine, hold its negative velocity after a delay, and integrate the power of that."""
    h, delay = 1e-3, 2e-3
    estimation = StateEstimation("link_and_motor_encoders", bandwidth, order)
    limit = lag_limit(estimation, delay, h)
    powers = [damping_power(estimation, share * limit, h, 2) for share in (0.9, 1.0, 1.1)]
    assert powers[0] > 0.0 > powers[2]
    assert abs(powers[1]) < 0.1 * min(powers[0], -powers[2])


def damping_power(estimation: StateEstimation, w: float, h: float, late: int) -> float:
    """Mean power that a damper of 1 N m s/rad takes out of an oscillation of 1 rad/s."""
    f = DerivativeFilter(("motor",), estimation.order, estimation.bandwidth)
    cycles, settled, fine = 8000, 1000, 20
    sent = []
    for k in range(cycles):
        f.update(k * h, np.array([np.sin(w * k * h) / w]))
        sent.append(float(f.state[1][0]))
    total = 0.0
    for k in range(settled, cycles):
        times = h * (k + (np.arange(fine) + 0.5) / fine)
        total += sent[k - late] * float(np.cos(w * times).mean())
    return total / (cycles - settled)
