# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The cycle of generated controllers in Python: its motion, and the recorded run."""

from __future__ import annotations

import numpy as np
import pytest

from elastic_arms import linear_arm
from generated_controllers import designed
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.motion.trajectories import interpolate
from multibody_dynamics.tools.robot.controller_cycle import Motion, State, record_cycles

NAMES = ("a", "b")


def test_segments_are_a_trajectory():
    whole = interpolate(NAMES, [1.0, 1.5, 2.5], [[0.0, 1.0], [0.5, 0.2], [1.0, 0.0]])
    motion = Motion(NAMES)
    motion.hold(whole.states[0, 0], 1.0)
    for time, state in zip(whole.knots[1:], whole.states[1:], strict=True):
        motion.append(float(time), state)
    for time in np.linspace(0.5, 3.0, 60):
        np.testing.assert_array_equal(motion.evaluate(time), whole(time))
    assert motion.rests
    motion.cut(1.7)
    assert not motion.rests
    np.testing.assert_array_equal(motion.last, whole(1.7))
    motion.brake(np.array([2.0, 2.0]))
    assert motion.rests
    np.testing.assert_allclose(motion.evaluate(1.7 + 1e-10), whole(1.7), atol=1e-6)


@pytest.mark.parametrize("period", [2.5e-4, 1e-3, 1e-2])
def test_the_recorded_run_follows_stops_and_resumes(period):
    arm = linear_arm()
    run = record_cycles(designed(arm, period=period), arm.rest)
    np.testing.assert_allclose(np.diff(run.time), period, rtol=1e-9)
    states = [State(int(x)) for x in run.state]
    assert states[run.activated - 1] is State.INACTIVE
    assert states[run.activated] is State.HOLDING
    assert {State.FOLLOWING, State.STOPPING} <= set(states)
    assert states[-1] is State.HOLDING
    assert np.isfinite(run.torque).all()
    assert not run.torque[: run.activated].any()


def test_settings_that_allow_no_recorded_motion_are_refused():
    arm = linear_arm()
    with pytest.raises(InputError, match="is never following in the"):
        record_cycles(designed(arm, recovery_speed=1e-9), arm.rest)
