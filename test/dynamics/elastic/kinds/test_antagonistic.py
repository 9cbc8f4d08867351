# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Antagonistic joints: closed forms, and the range of stiffness and pretension."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic import (
    Actuator,
    Antagonistic,
    LinearSpring,
    Motor,
    PolynomialSpring,
)
from rejections import assert_rejected

MOTOR = Motor(0.3, 100.0, viscous=0.4, coulomb=0.5, coulomb_velocity=0.2)
QUADRATIC = PolynomialSpring((40.0, 900.0), travel=(0.0, 0.6))
STRONG = PolynomialSpring((60.0, 700.0, 500.0), travel=(0.0, 0.5))
UNLIKE = Antagonistic(MOTOR, MOTOR, QUADRATIC, STRONG)


@given(st.floats(-0.9, 0.9), st.floats(0.02, 0.98))
@settings(max_examples=25, deadline=None)
def test_every_stiffness_in_the_range_is_feasible_and_none_beyond(where, part):
    actuator = UNLIKE
    Q = np.array(where * 300.0)
    low, high = actuator.second_output_range(Q)
    rows = [np.array(0.0)] * 3
    sigma = low + part * (high - low)
    motors = actuator.motor_rows(rows, [Q, *rows[1:]], [sigma, *rows[1:]], None, "raise")
    theta = [row.position for row in motors]
    found = actuator.spring_rows(*rows[:2], theta, rows[:2], (), "continue")
    np.testing.assert_allclose((found.torque, found.stiffness), (Q, sigma), rtol=1e-11, atol=1e-10)
    for outside in (low - 1.0, high + 1.0):
        with pytest.raises(
            InputError, match=r"stiffness of .* is infeasible at a joint torque .*N/m"
        ):
            actuator.motor_rows(rows, [Q, *rows[1:]], [outside, *rows[1:]], None, "raise")


def test_an_invalid_antagonistic_joint_is_rejected():
    def made(agonist, *options):
        return lambda: Antagonistic(MOTOR, MOTOR, agonist, QUADRATIC, *options)

    linear = LinearSpring(1.0, travel=(0, 1))
    rows = [np.array(x) for x in (1e3, 0.0, 0.0)]
    assert_rejected(
        (made(3.0), "expected a Spring"),
        (made(LinearSpring(1.0)), "finite travel"),
        (made(linear), "must harden"),
        (made(QUADRATIC, "speed"), "pretension 'speed'"),
        (  # beyond both springs
            lambda: made(QUADRATIC)().motor_rows(rows, rows, rows, None, "raise"),
            "torque of 1000 N m (N for a infeasible",
        ),
    )


def limited(limit: float) -> Motor:
    return Motor(0.3, torque_limit=limit)


TIGHT: dict[str, Actuator] = {
    "stiffness": Antagonistic(limited(60.0), limited(80.0), QUADRATIC, STRONG),
    "pretension": Antagonistic(limited(60.0), limited(80.0), QUADRATIC, STRONG, "pretension"),
}


@pytest.mark.parametrize("output", TIGHT)
@pytest.mark.parametrize("Q", [-40.0, 0.0, 25.0])
def test_motors_hold_exactly_the_range_that_their_limits_leave(output, Q):
    """At the bound set by the limits, one motor delivers its share, and none delivers more."""
    actuator = TIGHT[output]
    none, share = np.array(0.0), 0.9
    low, high = actuator.second_output_range(none + Q, share)
    least, greatest = actuator.second_output_range(none + Q)
    assert low == least
    assert high != greatest
    torque, second = [none + Q, none, none], [high, none, none]
    rows = actuator.motor_rows([none] * 3, torque, second, None, "raise")
    pairs = zip(rows, actuator.motors, strict=True)
    used = [abs(row.load) / motor.torque_limit for row, motor in pairs]
    assert max(used) == pytest.approx(share, rel=1e-9)
