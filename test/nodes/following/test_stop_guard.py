# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Does an arm come to rest after a stop? Speeds over time are given; a fault or none follows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_dynamics.nodes.following.faults import STOP_FAILED, Fault
from multibody_dynamics.nodes.following.stop_guard import SECOND, StopGuard

MS = 1_000_000
START = 100 * SECOND
NAMES = ("shoulder", "elbow")


def guard(speed: float = 1.0) -> StopGuard:
    """A guard of a stop that begins with the shoulder at `speed` and the elbow at rest."""
    found = StopGuard(NAMES, np.array([2.0, np.inf]))
    found.begin(np.array([speed, 0.0]))
    return found


def run(
    found: StopGuard,
    speeds: Callable[[float], tuple[float, float]],
    seconds: float = 10.0,
    limit: float = 0.0,
    begin: float = 0.0,
) -> tuple[float, Fault] | None:
    """The time and the fault of a motion with these speeds (n,) over time, in cycles of 4 ms."""
    for k in range(round(seconds / 0.004)):
        t = begin + 0.004 * k
        fault = found.check(
            START + round(t * SECOND),
            np.array(speeds(t)),
            limit=limit,
            timeout=5.0,
            rest_speed=0.1,
        )
        if fault is not None:
            return t, fault
    return None


def test_a_stop_that_slows_down_and_holds_is_no_fault():
    assert run(guard(), lambda t: (np.exp(-t), 0.3 * np.exp(-3.0 * t)), seconds=60.0) is None


def test_a_joint_that_becomes_faster_than_the_motion_is_a_fault_with_its_name():
    found = guard()
    np.testing.assert_allclose(found.allowed(0.0), [1.5 * 1.0 + 0.25 * 2.0, 0.25 * 2.0])
    t, fault = run(found, lambda t: (0.5, 0.1 * np.exp(2.0 * t)))
    assert np.log(5.0) / 2.0 < t < np.log(5.0) / 2.0 + 0.06
    assert fault.reason == STOP_FAILED
    assert fault.is_final
    assert fault.text == (
        "'elbow' moves at 0.558, too fast for a stop; allowed: 0.5 (stop_speed_limit)"
    )
    t, _ = run(guard(), lambda t: (0.5, 0.1 * np.exp(2.0 * t)), limit=0.2)
    assert t < np.log(2.0) / 2.0 + 0.06


def test_short_peaks_of_the_estimated_speed_are_no_fault():
    assert run(guard(), lambda t: (0.0, 9.0 if t % 0.5 < 0.04 else 0.0), seconds=8.0) is None


@pytest.mark.parametrize("speed", [lambda t: (0.5, 0.0), lambda t: (abs(np.sin(9.0 * t)), 0.0)])
def test_an_arm_that_keeps_turning_or_swinging_is_a_fault_after_the_timeout(speed):
    t, fault = run(guard(), speed)
    assert 5.0 < t < 5.4
    assert fault.text.startswith("'shoulder' still moves at")
    assert fault.text.endswith("s; allowed: 5 s (stop_timeout)")


def test_an_arm_that_starts_to_move_again_has_the_whole_time_to_come_to_rest():
    def pushed(t: float) -> tuple[float, float]:
        return (0.5 if 20.0 < t < 24.9 else 0.0, 0.0)

    assert run(guard(), pushed, seconds=40.0) is None
    t, _ = run(guard(), lambda t: (0.5 if t > 20.0 else 0.0, 0.0), seconds=40.0)
    assert 25.0 < t < 25.1


def test_time_without_states_counts_unless_the_arm_is_at_rest_afterwards():
    found = guard()
    assert run(found, lambda t: (0.5, 0.0), seconds=1.0) is None
    t, fault = run(found, lambda t: (0.5, 0.0), begin=30.0)
    assert t == 30.0
    assert "after 30 s" in fault.text
    found = guard()
    assert run(found, lambda t: (0.5, 0.0), seconds=1.0) is None
    assert run(found, lambda t: (0.0, 0.0), begin=30.0) is None


def test_stamps_that_jump_start_the_times_again():
    found = guard()
    assert run(found, lambda t: (0.5, 0.0), seconds=4.9) is None
    found.restart()
    assert run(found, lambda t: (0.5, 0.0), seconds=4.9, begin=-50.0) is None


@given(st.lists(st.floats(0.11, 30.0), min_size=2, max_size=2), st.floats(0.0, 20.0))
def test_no_motion_that_goes_on_escapes(speeds, start):
    """Whatever the speeds: the fault comes at the latest with the timeout."""
    found = run(guard(start), lambda t: (speeds[0], speeds[1]))
    assert found is not None
    assert found[0] < 5.02
