# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Slopes of control laws at rest, against gains that are known."""

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, law_of, linear_arm, mixed_panda, without_coulomb
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.stability import loop_sampling
from multibody_dynamics.dynamics.control.stability.law_gradient import memory_size


@pytest.mark.parametrize("make", [linear_arm, antagonistic_arm, mixed_panda])
def test_the_slopes_of_linear_feedback_are_its_gains(make):
    arm = without_coulomb(make())
    law = law_of(arm, "state_feedback", disturbance_bandwidth=0.0)
    found = control.law_gradient(law, arm.rest, control.at_rest(arm.model, arm.actuators, arm.rest))
    n, m, joint = arm.model.n, len(arm.actuators.motors), arm.actuators.joint_of_motor
    g_q, g_qd, g_theta, g_thetad = law.gains.values
    wanted = np.zeros((m, 2 * (n + m) + m))
    rows = np.arange(m)
    wanted[rows, joint] = -g_q
    wanted[rows, n + rows] = -g_theta
    wanted[rows, n + m + joint] = -g_qd
    wanted[rows, 2 * n + m + rows] = -g_thetad
    np.testing.assert_allclose(found.torque, wanted, atol=1e-5 * np.abs(wanted).max())
    assert memory_size(law) == 0


def test_both_routes_to_a_loop_agree(monkeypatch):
    """Motor PD has a closed form; without it, its slopes give the same multipliers."""
    arm = without_coulomb(linear_arm())
    law = law_of(arm, disturbance_bandwidth=0.0)
    wanted = control.sampled_loop(law, arm.rest, delay=1.4e-3)
    monkeypatch.setattr(loop_sampling, "LinearFeedback", type(None))
    found = control.sampled_loop(law, arm.rest, delay=1.4e-3)
    np.testing.assert_allclose(
        np.sort(np.abs(found.multipliers)), np.sort(np.abs(wanted.multipliers)), atol=1e-7
    )
