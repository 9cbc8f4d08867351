# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""One cycle for several queued pairs, and the pause after a silence."""

from __future__ import annotations

import queue

from multibody_dynamics.nodes.following.queued_cycles import QueuedCycles

TIMEOUT = 0.05  # s
MS = 1_000_000  # ns


def make() -> tuple[QueuedCycles, queue.Queue, list[int]]:
    deferred: queue.Queue = queue.Queue()
    cycles: list[int] = []
    return QueuedCycles(deferred.put, cycles.append), deferred, cycles


def test_each_pair_has_its_cycle_if_none_is_queued():
    queued, deferred, cycles = make()
    for arrival in (1 * MS, 2 * MS, 3 * MS):
        queued.request(arrival, TIMEOUT)
        assert queued.is_due
        deferred.get_nowait()()
        assert not queued.is_due
    assert cycles == [1 * MS, 2 * MS, 3 * MS]
    assert queued.skipped == 0


def test_the_newest_of_several_queued_pairs_is_used():
    queued, deferred, cycles = make()
    for arrival in (1 * MS, 2 * MS, 3 * MS):
        queued.request(arrival, TIMEOUT)
    deferred.get_nowait()()
    assert deferred.empty()
    assert cycles == [3 * MS]
    assert queued.skipped == 2


def test_after_a_silence_the_cycle_waits_for_pairs_that_are_still_arriving():
    queued, deferred, cycles = make()
    queued.request(1 * MS, TIMEOUT)
    deferred.get_nowait()()
    queued.request(100 * MS, TIMEOUT)
    assert deferred.empty()  # an executor without further messages would run a deferred cycle now
    queued.request(101 * MS, TIMEOUT)
    deferred.get(timeout=10.0)()
    assert cycles == [1 * MS, 101 * MS]
    queued.request(102 * MS, TIMEOUT)
    deferred.get_nowait()()
    assert cycles[-1] == 102 * MS


def test_a_cancelled_pair_has_no_cycle():
    queued, deferred, cycles = make()
    queued.request(1 * MS, TIMEOUT)
    queued.cancel()
    deferred.get_nowait()()
    assert not cycles
    queued.request(2 * MS, TIMEOUT)
    deferred.get_nowait()()
    assert cycles == [2 * MS]
