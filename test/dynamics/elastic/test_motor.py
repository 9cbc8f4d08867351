# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motors and stiffness drives: invalid input."""

import numpy as np

from multibody_dynamics.dynamics.elastic import Motor, StiffnessDrive
from rejections import assert_rejected

MOTOR = Motor(0.3)


def test_an_invalid_motor_or_drive_is_rejected():
    assert_rejected(
        (lambda: Motor(-1.0), "inertia of the motor zero or greater, -1"),
        (lambda: Motor(np.nan), "inertia nan"),
        (lambda: Motor(np.inf), "inertia finite"),
        (lambda: Motor(1.0, gear_ratio=0.0), "gear_ratio greater than zero"),
        (lambda: Motor(1.0, torque_limit=0.0), "torque_limit greater than zero"),
        (lambda: Motor(1.0, viscous=-0.1), "viscous of the motor -0.1"),
        (lambda: Motor(1.0, coulomb_velocity=0.0), "coulomb_velocity of the motor 0"),
        (lambda: Motor([1.0]), "inertia of the motor one number, (1,)"),
        (lambda: StiffnessDrive(MOTOR, gain=0.0), "gain nonzero"),
        (lambda: StiffnessDrive(MOTOR, gain="2"), "gain of the drive real numbers"),
    )
