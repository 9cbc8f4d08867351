# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Series elastic joints: damped springs need their deflection; invalid input."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic import LinearSpring, Motor, SeriesElastic
from rejections import assert_rejected

MOTOR = Motor(0.3, 100.0, viscous=0.4, coulomb=0.5, coulomb_velocity=0.2)


def test_a_damped_spring_needs_its_deflection():
    actuator = SeriesElastic(MOTOR, LinearSpring(300.0), 2.0)
    rows = [np.array(0.1)] * 3
    with pytest.raises(InputError, match="deflection of a damped spring is a state"):
        actuator.motor_rows(rows, rows, (), None, "raise")
    row = actuator.motor_rows(rows, rows, (), np.array(0.01), "raise")[0]
    assert row.velocity == pytest.approx(0.1 + (0.1 - 3.0) / 2.0)
    assert row.acceleration == pytest.approx(0.1 + (0.1 - 300.0 * (0.1 - 3.0) / 2.0) / 2.0)


def test_an_invalid_series_elastic_joint_is_rejected():
    spring = LinearSpring(1.0)
    assert_rejected(
        (lambda: SeriesElastic(Motor(0.0), spring), "inertia of a motor behind got 0"),
        (lambda: SeriesElastic(MOTOR, spring, -1.0), "damping zero or greater -1"),
        (lambda: SeriesElastic(MOTOR, spring, "2"), "damping of the spring"),
        (lambda: SeriesElastic(MOTOR, 3.0), "expected a Spring, 3.0"),
        (lambda: SeriesElastic(0.1, spring), "expected a Motor, 0.1"),
    )
