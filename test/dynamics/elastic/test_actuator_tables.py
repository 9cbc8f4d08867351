# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Friction and torque of motors over scalars."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.elastic import LinearSpring, Motor, friction, smooth_friction
from multibody_dynamics.dynamics.elastic.actuator_tables import (
    BEYOND_TRAVEL,
    MotorArrays,
    drive_spring,
)
from multibody_dynamics.dynamics.elastic.spring_tables import spring_tables

MOTORS = (Motor(0.3, viscous=0.4, coulomb=0.5, coulomb_velocity=0.2), Motor(0.1, viscous=0.2))
TABLE = np.array([motor.row for motor in MOTORS])


@pytest.mark.parametrize("v", [-0.3, 0.0, 2.0])
def test_friction_is_viscous_and_smoothed_coulomb_friction(v):
    for j, motor in enumerate(MOTORS):
        wanted = motor.viscous * v + motor.coulomb * np.tanh(v / motor.coulomb_velocity)
        assert friction(TABLE, j, v, 0.0) == pytest.approx(wanted, rel=1e-15)
        own = motor.viscous, motor.coulomb, motor.coulomb_velocity
        assert smooth_friction(v, *own) == pytest.approx(wanted, rel=1e-15)


def test_a_motor_accelerates_its_rotor_and_carries_its_spring_whose_travel_is_watched():
    laws = spring_tables([LinearSpring(100.0, travel=(-0.1, 0.2))]).laws
    for phi, flag in ((0.15, 0), (0.25, BEYOND_TRAVEL), (-0.15, BEYOND_TRAVEL)):
        outputs = MotorArrays(np.zeros(2), np.zeros(2), np.zeros((4, 2)), np.ones(2, dtype=int))
        drive_spring(TABLE, laws, 1, 0, (1.0, 2.0, 3.0), phi, 100.0 * phi, outputs)
        expected = [1.0, 2.0, 3.0, 0.1 * 3.0 + 100.0 * phi + 0.2 * 2.0]
        np.testing.assert_allclose(outputs.result[:, 1], expected, rtol=1e-15)
        assert (outputs.deflection[1], outputs.load[1], outputs.flags[1]) == (
            phi,
            100.0 * phi,
            flag,
        )
        assert not outputs.result[:, 0].any()
