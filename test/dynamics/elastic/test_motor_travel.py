# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Where motors can be within the limits of links and springs."""

import numpy as np
import pytest

from kinds import EXAMPLES
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    LinearSpring,
    Motor,
    Rigid,
    SeriesElastic,
    motor_range,
)

LOW, HIGH, LOAD = -0.5, 0.7, 8.0


def one(actuator, low=LOW, high=HIGH, load=LOAD) -> np.ndarray:
    rows = (np.array([x]) for x in (low, high, load))
    return motor_range(Actuators(("joint",), (actuator,)), *rows)


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_rest_within_the_limits_leaves_the_range_and_its_ends_are_reached(name):
    actuator = EXAMPLES[name].actuator
    found = one(actuator)
    assert found.shape == (len(actuator.motors), 2)
    seconds = [0.0]
    if actuator.second_output is not None:
        low, high = actuator.second_output_range(np.zeros(()))
        seconds = np.linspace(float(low), float(high), 5)
    seen = []
    for q in (LOW, 0.1, HIGH):
        for Q in np.linspace(-LOAD, LOAD, 7):
            for second in seconds:
                rows = [[np.array(x), np.zeros(()), np.zeros(())] for x in (q, Q, second)]
                bent = actuator.settled_deflection(rows[1]) if actuator.damping else None
                motors = actuator.motor_rows(*rows, bent, "continue")
                seen.append([float(each.position) for each in motors])
    assert (np.min(seen, axis=0) >= found[:, 0] - 1e-9).all()
    assert (np.max(seen, axis=0) <= found[:, 1] + 1e-9).all()
    np.testing.assert_allclose([np.min(seen, 0), np.max(seen, 0)], found.T, atol=1e-9)


def test_by_hand():
    motor = Motor(0.1)
    np.testing.assert_allclose(one(SeriesElastic(motor, LinearSpring(80.0))), [[-0.6, 0.8]])
    short = LinearSpring(80.0, travel=(-0.05, 0.02))
    np.testing.assert_allclose(one(SeriesElastic(motor, short)), [[-0.55, 0.72]])
    np.testing.assert_allclose(one(SeriesElastic(motor, short), load=np.inf), [[-0.55, 0.72]])
    np.testing.assert_allclose(one(Rigid(motor), load=np.inf), [[LOW, HIGH]])


def test_without_limits_there_is_no_range():
    motor = Motor(0.1)
    unlimited = [[-np.inf, np.inf]]
    np.testing.assert_array_equal(
        one(SeriesElastic(motor, LinearSpring(80.0)), load=np.inf), unlimited
    )
    np.testing.assert_array_equal(one(Rigid(motor), -np.inf, np.inf), unlimited)
