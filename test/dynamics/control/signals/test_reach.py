# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How far a joint can seem to move between two samples: as far as it really can, and no leap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_dynamics.dynamics.control import ArmSettings
from multibody_dynamics.dynamics.control.signals.reach import (
    ASSUMED_STEP,
    MOMENT,
    lasting,
    lasting_speed,
    reach,
)

FACTOR = ArmSettings().state_speed_factor


@given(
    speed=st.floats(0.01, 20.0),
    factor=st.floats(1.0, 100.0),
    share=st.floats(-1.0, 1.0),
    period=st.sampled_from([1e-3, 2e-3, 4e-3, 1e-2]),
    bits=st.integers(6, 24),
    begin=st.floats(-10.0, 10.0),
)
def test_motion_within_the_factor_is_within_reach(speed, factor, share, period, bits, begin):
    """In rad and m alike, with known encoders: at the limit, and at the factor for a ms."""
    step = 2.0 * np.pi / 2**bits
    last = max(1.0, 0.2 * factor)
    moved = begin + share * speed * max(last * period, factor * MOMENT)
    seen = step * (np.round(moved / step) - np.round(begin / step))
    assert abs(seen) <= reach(lasting(factor) * speed, step, period) + 1e-12


@pytest.mark.parametrize("bits", [9, 10, 12, 24])
def test_the_first_steps_of_an_encoder_are_within_reach_of_any_joint(bits):
    assert 2.0 * np.pi / 2**bits <= reach(0.01, 0.0, 1e-3)


@pytest.mark.parametrize("period", [1e-3, 2e-3, 4e-3])
@pytest.mark.parametrize("speed", [0.5, 2.0, 3.0])
def test_a_leap_as_far_as_16_ms_at_the_limit_is_beyond_reach(speed, period):
    """In the worst case, in the direction of a motion at the limit. At 250 Hz, it was 40 ms at the
    limit, and 0.02 rad or m more."""
    assert speed * (0.016 + period) > reach(lasting(FACTOR) * speed, 1e-6, period)


def test_a_joint_without_a_limit_reaches_everything():
    np.testing.assert_array_equal(lasting_speed(np.array([2.0, 0.0, np.inf]), 10.0),
                                  [4.0, np.inf, np.inf])  # fmt: skip
    assert reach(np.inf, 0.0, 0.0) == np.inf


def test_units_do_not_matter_once_the_step_is_known():
    in_m, in_mm = reach(0.5, 1e-5, 4e-3), reach(500.0, 1e-2, 4e-3)
    assert in_mm == pytest.approx(1e3 * in_m)
    assert reach(0.0, 0.0, 0.0) == pytest.approx(2.0 * ASSUMED_STEP)
