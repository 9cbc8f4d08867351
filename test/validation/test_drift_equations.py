# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The equations explain what a payload, friction and springs do to the residuals."""

from __future__ import annotations

import numpy as np
import pytest

from drifting_arm import Arm, robot
from multibody_dynamics.validation.drift_equations import spring_sums
from multibody_dynamics.validation.drift_statistics import Layout, solved


@pytest.mark.parametrize(
    ("fault", "unknown", "value"),
    [
        ({"payload": 0.7}, 0, 0.7),
        ({"payload": 0.7}, 1, 0.07),  # its first moment: 0.1 m along x
        ({"friction": np.array([1.0, 1.4])}, Layout(2).joint(1)[0], 0.4),
        ({"friction": np.array([1.2, 1.0])}, Layout(2).joint(0)[1], 0.1),
        ({"stiffness": np.array([0.9, 1.0])}, Layout(2).spring(0)[0], -0.1),
    ],
)
def test_faults_are_the_solution_of_the_equations(fault, unknown, value):
    arm = Arm(np.random.default_rng(1), noise=1e-3, **fault)
    moves = [arm.move()[1] for _ in range(30)]
    sums = sum(moves[1:], moves[0])
    x = solved(*sums.weighted(np.ones(4)))
    assert x[unknown] == pytest.approx(value, abs=5e-3)


def test_joints_at_rest_give_no_equation():
    _, sums = Arm(np.random.default_rng(2)).move(20.0)
    assert np.all(sums.count[:2] < 20.0 * 40.0)  # around the reversals
    assert np.all(sums.count[:2] > 0.9 * 20.0 * 40.0)


def test_springs_that_were_not_measured():
    known = robot()
    q = np.zeros((5, 2))
    theta, torque = q + 0.01, np.full((5, 2), 4.0)
    theta[:, 1] = np.nan
    torque[0, 0] = np.nan
    sums = spring_sums(known.actuators, q, theta, torque)
    assert sums.count.tolist() == [0.0, 0.0, 4.0, 0.0]
    assert sums.normal[2, 0, 0] == pytest.approx(4 * 5.0**2)  # 500 N m/rad
    assert sums.right[2, 0] == pytest.approx(4 * 5.0 * -1.0)
