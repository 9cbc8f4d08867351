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


@pytest.mark.parametrize("make", [linear_arm, antagonistic_arm, mixed_panda])
@pytest.mark.parametrize(
    "settings", [{}, {"integral": 50.0, "disturbance_bandwidth": 0.0}], ids=["observer", "integral"]
)
@pytest.mark.parametrize("law", ["motor_pd", "state_feedback"])
def test_the_loop_by_differences_is_the_one_of_the_closed_form(make, law, settings, monkeypatch):
    """Also of what the law remembers: estimates of disturbances, integrals."""
    arm = without_coulomb(make())
    made = law_of(arm, law, **settings)
    closed = control.sampled_loop(made, arm.rest).multipliers
    # Take it for any other law, which is judged by its update.
    monkeypatch.setattr(loop_sampling, "LinearFeedback", control.HoldController)
    found = control.sampled_loop(made, arm.rest).multipliers
    powers = np.arange(1, 40)[:, None]  # their sums are smooth where several poles coincide
    wanted, sums = (np.sum(each**powers, axis=1) for each in (closed, found))
    # Estimates of motors without springs rest; in the closed form, they decay.
    unused = 4 * np.count_nonzero(arm.actuators.is_rigid[arm.actuators.joint_of_motor])
    decay = np.exp(-made.disturbance_bandwidth * made.period)
    wanted += unused * (1.0 - decay ** powers[:, 0]) if made.disturbance_bandwidth else 0.0
    np.testing.assert_allclose(sums, wanted, rtol=1e-6)


def test_a_column_does_not_depend_on_those_before_it():
    arm = linear_arm()
    rest = control.at_rest(arm.model, arm.actuators, arm.rest)
    first = control.law_gradient(law_of(arm, "motor_pd"), arm.rest, rest, 1).torque
    law = law_of(arm, "motor_pd")
    for _ in range(2):
        np.testing.assert_array_equal(
            control.law_gradient(law, arm.rest, rest).torque[:, :1], first
        )
