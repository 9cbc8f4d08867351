# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Springs between the errors of links and virtual motors: deflections and rates of their loads."""

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, damped_arm, linear_arm, nonlinear_arm, variable_arm
from multibody_dynamics.dynamics.control import VirtualSprings
from multibody_dynamics.dynamics.elastic import Antagonistic, VariableStiffness, motor_motion

H = 1e-4  # s, of the central differences


def load(actuators, i, actuator, motors, x, rows):
    """F of one spring at x with the second output and its rates `rows` (3,), in closed form."""
    if isinstance(actuator, VariableStiffness):
        return rows[0] * actuator.shape.torque(x)
    if isinstance(actuator, Antagonistic):
        n = actuators.n
        second = np.zeros((3, len(actuators.variable_joints)))
        second[0] = rows[0]
        found = motor_motion(actuators, np.zeros((3, n)), np.zeros((3, n)), second)
        a, b = found.position[list(motors)] * (1.0, -1.0)
        return actuator.agonist_spring.torque(a + x) - actuator.antagonist_spring.torque(b - x)
    return actuator.springs[0].torque(x)


@pytest.mark.parametrize("make", [linear_arm, nonlinear_arm, antagonistic_arm, variable_arm])
def test_deflections_and_rates_of_a_load_that_moves(make):
    """x(t) and second outputs are given; F and F' by differences lead back to x, x' and F''."""
    arm = make()
    actuators, n = arm.actuators, arm.model.n
    springs = VirtualSprings(actuators)
    start = springs.stiffness[0].copy()
    v = len(start)

    def second(t):
        return np.array(
            [start * (1.0 + 0.1 * np.sin(3.0 * t)), 0.3 * start * np.cos(3.0 * t),
             -0.9 * start * np.sin(3.0 * t)]
        )  # fmt: skip

    def x(t):
        return 0.1 + 0.05 * np.sin(4.0 * t + np.arange(n))

    def F(t):
        rows = second(t)
        return np.array(
            [
                load(actuators, i, actuator, motors, x(t)[i], rows[:, min(j, v - 1)] if v else None)
                for i, actuator, motors, j in actuators.each()
            ]
        )

    for t in (0.1, 0.7):
        springs.stiffness[:] = springs.present[:] = second(t)
        ahead, now, behind = F(t + H), F(t), F(t - H)
        springs.force[0], springs.force[1] = now, (ahead - behind) / (2.0 * H)
        springs.update()
        phase = 4.0 * t + np.arange(n)
        np.testing.assert_allclose(springs.x, x(t), rtol=1e-9)
        np.testing.assert_allclose(springs.rate, 0.2 * np.cos(phase), atol=1e-5)
        second_rate = springs.slope * -0.8 * np.sin(phase) + springs.rest
        np.testing.assert_allclose(
            second_rate, (ahead - 2.0 * now + behind) / H**2, rtol=1e-4, atol=1e-3
        )


def test_a_damped_spring_relaxes_under_a_constant_load():
    """d x' = F - K x, in closed form; the rows of other joints are not touched by `advance`."""
    arm = damped_arm()
    springs = VirtualSprings(arm.actuators)
    springs.force[0] = 20.0, 15.0
    springs.update()  # settles
    np.testing.assert_allclose(springs.x[0], 20.0 / 400.0)
    springs.force[0, 0] = 60.0
    other = springs.x[1]
    for _ in range(10):
        springs.update()
        np.testing.assert_allclose(springs.rate[0], (60.0 - 400.0 * springs.x[0]) / 6.0)
        springs.advance(1e-3)
    left = (0.15 - 0.05) * np.exp(-400.0 / 6.0 * 0.01)
    np.testing.assert_allclose(springs.x[0], 0.15 - left, rtol=1e-12)
    assert springs.x[1] == other
