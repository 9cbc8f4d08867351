# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joints of variable stiffness: the range of the stiffness, with and without a drive."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.elastic import (
    CubicSpring,
    Motor,
    StiffnessDrive,
    VariableStiffness,
)
from rejections import assert_rejected

MOTOR = Motor(0.3, 100.0, viscous=0.4, coulomb=0.5, coulomb_velocity=0.2)
DRIVEN = VariableStiffness(
    MOTOR,
    (100.0, 900.0),
    CubicSpring(1.0, 20.0),
    StiffnessDrive(Motor(0.3, torque_limit=3.0), offset=50.0, gain=400.0),
)


def test_an_invalid_joint_of_variable_stiffness_is_rejected():
    rows = [np.array(0.0)] * 3

    def bent(k):
        joint, second = VariableStiffness(MOTOR, (100.0, 900.0)), [np.array(k), *rows[1:]]
        return lambda: joint.motor_rows(rows, rows, second, None, "raise")

    assert_rejected(
        (bent(99.0), "from 100 to 900 N m/rad N/m 99"),
        (bent(901.0), "from 100 to 900 N m/rad N/m 901"),
        (lambda: VariableStiffness(MOTOR, (1.0, 2.0), 3.0), "expected a Spring"),
        (lambda: VariableStiffness(MOTOR, (0.0, 1.0)), "stiffness_range positive"),
        (lambda: VariableStiffness(MOTOR, 5.0), "stiffness_range: expected shape"),
        (lambda: VariableStiffness(MOTOR, (1.0, np.inf)), "stiffness_range[1] inf"),
        (lambda: VariableStiffness(MOTOR, (1, 2), drive=MOTOR), "drive StiffnessDrive"),
    )


@pytest.mark.parametrize("Q", [-40.0, 0.0, 25.0])
def test_a_drive_holds_exactly_the_range_that_its_limit_leaves(Q):
    """At the bound set by the limit, the drive delivers its share, and no motor more."""
    none, share = np.array(0.0), 0.9
    low, high = DRIVEN.second_output_range(none + Q, share)
    least, greatest = DRIVEN.second_output_range(none + Q)
    assert high == greatest
    assert (low != least) == (Q != 0.0)
    rows = DRIVEN.motor_rows([none] * 3, [none + Q, none, none], [low, none, none], None, "raise")
    pairs = zip(rows, DRIVEN.motors, strict=True)
    used = [abs(row.load) / motor.torque_limit for row, motor in pairs]
    assert max(used) == pytest.approx(share, rel=1e-9) if Q else max(used) < share
