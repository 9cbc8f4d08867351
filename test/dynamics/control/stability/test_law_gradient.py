# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Slopes of control laws at rest, against gains that are known."""

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, law_of, linear_arm, mixed_panda, without_coulomb
from multibody_dynamics.dynamics import control
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
