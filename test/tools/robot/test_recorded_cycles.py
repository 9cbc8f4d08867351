# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The cycles that a generated controller repeats."""

import numpy as np
import pytest

from elastic_arms import linear_arm
from generated_controllers import designed
from multibody_dynamics.dynamics.control.arm.modes import Mode
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.tools.robot.recorded_cycles import record_cycles


@pytest.mark.parametrize("period", [2.5e-4, 1e-3, 1e-2])
def test_the_recorded_run_follows_stops_and_resumes(period):
    arm = linear_arm()
    run = record_cycles(designed(arm, period=period), arm.rest)
    np.testing.assert_allclose(np.diff(run.time), period, rtol=1e-9)
    states = [Mode(int(x)) for x in run.state]
    assert states[run.activated - 1] is Mode.INACTIVE
    assert states[run.activated] is Mode.HOLDING
    assert {Mode.FOLLOWING, Mode.STOPPING} <= set(states)
    assert states[-1] is Mode.HOLDING
    assert np.isfinite(run.torque).all()
    assert not run.torque[: run.activated].any()


def test_settings_that_allow_no_recorded_motion_are_refused():
    arm = linear_arm()
    with pytest.raises(InputError, match="is never following in the"):
        record_cycles(designed(arm, recovery_speed=1e-9), arm.rest)
