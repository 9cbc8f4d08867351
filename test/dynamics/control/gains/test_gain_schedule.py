# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Gains as a function of the pose."""

from __future__ import annotations

import numpy as np
import pytest

from elastic_arms import elastic_panda, exciting, linear_arm, series
from multibody_dynamics.dynamics.control import GainSchedule, coupled_gains, modal_gains
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import Actuators


def schedule(arm, **settings):
    return GainSchedule(model=arm.model, actuators=arm.actuators, bandwidth=40.0, **settings)


def test_it_is_the_design_at_that_pose():
    arm = elastic_panda()
    q = arm.rest + 0.3
    found = schedule(arm, delay=1e-3).at(q)
    np.testing.assert_array_equal(
        found.values, coupled_gains(arm.model, arm.actuators, q, 40.0, delay=1e-3).values
    )
    found = schedule(arm, design="modal").at(q)
    wanted = modal_gains(arm.model, arm.actuators, q, 40.0).values
    np.testing.assert_array_equal(found.values, wanted)
    assert schedule(arm, delay=2.5e-3).late_cycles == len(schedule(arm, delay=2.5e-3).at(q).past)
    assert schedule(arm, design="modal", delay=1e-3).late_cycles == 0


@pytest.mark.parametrize("design", ["coupled", "modal"])
def test_gains_are_continuous_along_a_motion(design):
    """Half the step, half the change."""
    arm = elastic_panda()
    motion, found = exciting(arm, 1.0), schedule(arm, design=design)
    for t in np.linspace(0.1, 1.9, 5):
        gains = [found.at(motion(t + dt)[0]).values for dt in (0.0, 1e-3, 2e-3)]
        scale = np.abs(gains[0]).max(axis=0) + 1e-9
        small, large = (np.abs((each - gains[0]) / scale).max() for each in gains[1:])
        assert 1.5 * small < large < 2.5 * small
        assert small < 0.02


def test_a_design_that_is_unstable_without_sampling_is_refused():
    arm = linear_arm()
    heavy = arm.model.with_payload(1, 40.0, (0.3, 0.0, 0.0))
    soft = Actuators(arm.actuators.joint_names, (series(4000.0), series(900.0)))
    upright = np.array([-np.pi / 2, 0.0])
    found = GainSchedule(model=heavy, actuators=soft, bandwidth=2.0, design="modal")
    with pytest.raises(InputError, match="the whole arm has a pole at"):
        found.checked_at(upright)
    assert np.isfinite(found.at(upright).values).all()
    assert np.isfinite(schedule(arm).checked_at(arm.rest).values).all()


def test_an_unknown_design_is_rejected():
    with pytest.raises(InputError, match="design 'joint': expected one of coupled, modal"):
        schedule(linear_arm(), design="joint")
