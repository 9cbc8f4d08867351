# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What an arm answers does not depend on what happens later."""

import numpy as np

from elastic_arms import START, at_rest_under, at_start, linear_arm, sample_of
from multibody_dynamics.dynamics.control.arm.command import Command
from multibody_dynamics.dynamics.core import SECOND

PERIOD = 2e-3


def rows_of(command: Command) -> list[np.ndarray]:
    return [row for row in command if isinstance(row, np.ndarray)] + list(command.estimated)


def test_a_command_is_a_value_that_later_cycles_do_not_change():
    arm = linear_arm()
    made = at_rest_under(arm)
    (q, _, theta, _), _, _ = at_start(arm)
    first = made.update(sample_of(made, 0.0, q, theta))
    before = [row.copy() for row in rows_of(first)]
    for k in range(1, 20):
        made.update(sample_of(made, k * PERIOD, q + 1e-3 * k, theta - 1e-3 * k))
    made.rest(START + SECOND, PERIOD)
    assert len(before) == 10
    for row, value in zip(rows_of(first), before, strict=True):
        np.testing.assert_array_equal(row, value)
