# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The ramp of the torques begins and ends without a jump in value or slope."""

import numpy as np
import pytest

from multibody_dynamics.nodes.base.messages import SECOND
from multibody_dynamics.nodes.following.torque_ramp import TorqueRamp

START = 1_700_000_000 * SECOND
LAST, WANTED = np.array([1.0, -2.0]), np.array([5.0, 4.0])


def blended(ramp: TorqueRamp, time: float) -> np.ndarray:
    return ramp.apply(WANTED, START + round(SECOND * time), 0.5)


def test_it_leads_from_the_last_torques_to_those_of_the_law_with_continuous_slope():
    ramp = TorqueRamp(2)
    ramp.begin(START, LAST)
    rows = np.array([blended(ramp, t) for t in np.linspace(0.0, 0.5, 501)])
    np.testing.assert_array_equal(rows[0], LAST)
    np.testing.assert_allclose(rows[250], 0.5 * (LAST + WANTED), rtol=1e-12)
    np.testing.assert_array_equal(rows[-1], WANTED)
    slope = np.gradient(rows, 1e-3, axis=0)
    assert np.abs(slope[[0, -1]]).max() < 0.1
    np.testing.assert_allclose(slope[250], 1.5 * (WANTED - LAST) / 0.5, rtol=1e-4)
    np.testing.assert_array_equal(blended(ramp, 0.1), WANTED)  # it is over, whatever the stamp


@pytest.mark.parametrize("how", ["never begun", "ended", "without duration"])
def test_without_a_ramp_torques_pass_unchanged(how):
    ramp = TorqueRamp(2)
    if how != "never begun":
        ramp.begin(START, LAST)
    if how == "ended":
        ramp.end()
    duration = 0.0 if how == "without duration" else 0.5
    assert ramp.gain == 0.0
    assert ramp.apply(WANTED, START, duration) is WANTED
    assert ramp.gain == 1.0
