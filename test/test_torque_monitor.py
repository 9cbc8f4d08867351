# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The monitor of published torques finds every broken promise, and nothing else."""

import math

import pytest

from torque_monitor import SECOND, Judge

MS = SECOND // 1000


def judge() -> Judge:
    """After ten good cycles of 1 ms."""
    found = Judge([50.0, 20.0], [1000.0, 1000.0], 0.05)
    for k in range(1, 11):
        found.state(k * MS)
        found.torque(k * MS, [1.0, -1.0])
    assert not found.conclude().violations
    return found


@pytest.mark.parametrize(
    ("kind", "stamp", "efforts"),
    [
        ("finite", 11, [math.nan, 0.0]),
        ("finite", 11, [0.5, math.inf]),
        ("torque limit", 30, [1.0, -20.1]),
        ("torque rate", 11, [2.1, -1.0]),
        ("rising stamps", 10, [1.0, -1.0]),
        ("rising stamps", 9, [1.0, -1.0]),
        ("length", 11, [1.0]),
    ],
)
def test_a_broken_promise_is_found(kind, stamp, efforts):
    found = judge()
    found.state(stamp * MS)
    found.torque(stamp * MS, efforts)
    assert next(iter(found.conclude().violations)) == kind


def test_what_is_promised_is_no_violation():
    found = judge()
    found.state(11 * MS)
    found.torque(11 * MS, [2.0, -2.0])  # exactly the rate
    found.torque(15 * MS, [2.0, -2.0])  # on the reference
    for k in (65, 66):
        found.torque(k * MS, [2.0, -2.0])  # a safe output in two steps, stamped now
    found.state(70 * MS)
    found.torque(70 * MS, [2.0, -2.0])
    found.torque(125 * MS, [2.0, -2.0])  # the next silence
    assert not found.conclude().violations
    assert found.conclude().safe_outputs == [65 * MS, 125 * MS]
    assert found.conclude().on_reference == [15 * MS]
    assert found.conclude().restarts == 0


def test_an_answer_to_an_old_state_is_found():
    found = judge()
    for k in (11, 12, 13):
        found.state(k * 30 * MS)
    found.torque(12 * 30 * MS, [1.0, -1.0])  # 30 ms older than the newest one
    assert found.conclude().old_answers == 0
    found.state(500 * MS)
    found.torque(13 * 30 * MS, [1.0, -1.0])  # 110 ms
    assert found.conclude().old_answers == 1
    assert not found.conclude().violations


def test_a_clock_that_was_set_back_and_a_new_controller_begin_again():
    found = judge()
    found.state(-2 * SECOND)
    found.torque(-2 * SECOND, [40.0, 10.0])
    found.restart()
    found.state(-3 * SECOND)
    found.torque(-3 * SECOND, [-40.0, 10.0])
    assert not found.conclude().violations
    assert found.conclude().restarts == 2


def test_a_torque_that_overtakes_its_state_is_no_safe_output():
    """Topics have no common order."""
    found = judge()
    found.torque(11 * MS, [1.0, -1.0])
    found.state(11 * MS)
    assert found.conclude().safe_outputs == []
