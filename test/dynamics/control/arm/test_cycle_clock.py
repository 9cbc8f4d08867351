# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The clock of a cycle: it runs, waits, stands still, or was set back."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.control.arm import cycle_clock
from multibody_dynamics.dynamics.control.arm.cycle_clock import RUNS, SET_BACK, STOPPED, WAITS
from multibody_dynamics.dynamics.control.arm.cycle_settings import CycleSettings
from multibody_dynamics.dynamics.control.records.cycle_counts import CycleCounts
from multibody_dynamics.dynamics.core import record_fields

SETTINGS = CycleSettings(**dict.fromkeys(CycleSettings._fields, 0.0) | {
    "period": 1e-3, "max_step": 0.05,
})  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.record = record_fields.zeros(cycle_clock.CycleClock)
        self.counts = record_fields.zeros(CycleCounts)

    def at(self, time: float) -> int:
        return cycle_clock.compiled_advance(SETTINGS, self.record, self.counts, time)


def test_a_clock_that_runs_tells_the_time_and_the_step():
    clock = Clock()
    assert clock.at(7.0) == RUNS
    assert clock.record.elapsed[0] == 1e-3  # of the first cycle
    assert clock.at(7.5) == RUNS
    assert (clock.record.time[0], clock.record.elapsed[0]) == (7.5, 0.5)
    assert clock.counts.cycles[0] == 2


@pytest.mark.parametrize("time", [1.0, 0.96, np.nan, np.inf, -np.inf])
def test_a_clock_that_does_not_run_waits_and_has_then_stopped(time):
    clock = Clock()
    clock.at(1.0)
    assert [clock.at(time) for _ in range(12)] == [WAITS] * 10 + [STOPPED] * 2
    assert clock.record.time[0] == 1.0
    assert clock.counts.stalled_cycles[0] == 12
    assert clock.at(1.001) == RUNS
    assert clock.record.stalled[0] == 0


def test_a_clock_that_was_set_back_runs_on_from_there():
    clock = Clock()
    clock.at(1.0)
    assert clock.at(0.9) == SET_BACK
    assert clock.at(0.901) == RUNS
    assert clock.record.elapsed[0] == pytest.approx(1e-3)
    assert (clock.counts.time_jumps[0], clock.counts.stalled_cycles[0]) == (1, 0)
