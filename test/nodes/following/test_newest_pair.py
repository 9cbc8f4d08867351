# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Which pairs have a cycle: all that come one by one, the newest of those that queue up."""

import queue

from multibody_dynamics.nodes.following.newest_pair import NewestPair

TIMEOUT = 0.05  # s
MS = 1_000_000  # ns
STEP = 2 * MS  # between two stamps


class Bench:
    def __init__(self) -> None:
        self.deferred: queue.Queue = queue.Queue()
        self.cycles: list[int] = []
        self.stamps: list[int] = []
        self.pairs = NewestPair(self.deferred.put, self.run, lambda: self.now)
        self.stamp = self.now = 0
        self.busy = 0.0  # ms that a cycle takes

    def run(self, stamp: int, arrival: int) -> None:
        self.cycles.append(arrival)
        self.stamps.append(stamp)
        self.now += round(MS * self.busy)

    def arrive(self, *arrivals: float) -> None:
        """Pairs that arrive at these times, in ms."""
        for arrival in arrivals:
            self.stamp += STEP
            self.now = round(MS * arrival)
            self.pairs.take(round(MS * arrival), self.stamp, TIMEOUT)


def test_each_pair_has_its_cycle_at_once_if_none_is_queued():
    bench = Bench()
    bench.arrive(1, 3, 4.9, 7)
    assert bench.cycles == [MS, 3 * MS, 4_900_000, 7 * MS]
    assert bench.deferred.empty()
    assert bench.pairs.skipped == 0


def test_the_newest_of_several_queued_pairs_is_used_once_all_have_been_read():
    bench = Bench()
    bench.arrive(1, 1.1, 1.2, 1.3)
    assert bench.cycles == [MS]
    assert bench.pairs.is_due
    bench.deferred.get_nowait()()
    assert bench.deferred.empty()
    assert not bench.pairs.is_due
    assert bench.cycles == [MS, 1_300_000]
    assert bench.stamps == [STEP, 4 * STEP]
    assert bench.pairs.skipped == 2


def test_a_pair_that_waited_while_a_long_cycle_ran_is_queued():
    bench = Bench()
    bench.busy = 1.9
    bench.arrive(1, 3.1)
    assert bench.cycles == [MS]
    bench.arrive(3.3)
    bench.deferred.get_nowait()()
    assert bench.cycles == [MS, 3_300_000]
    bench.busy = 0.5
    bench.arrive(6, 8)
    assert bench.cycles[2:] == [6 * MS, 8 * MS]


def test_after_a_silence_the_cycle_waits_for_pairs_that_are_still_arriving():
    bench = Bench()
    bench.arrive(1, 100)
    # an executor without further messages would run a deferred cycle now
    assert bench.deferred.empty()
    bench.arrive(101)
    bench.deferred.get(timeout=10.0)()
    assert bench.cycles == [MS, 101 * MS]
    bench.arrive(103)
    assert bench.cycles[-1] == 103 * MS


def test_a_cancelled_pair_has_no_cycle():
    bench = Bench()
    bench.arrive(1, 1.1)
    bench.pairs.cancel()
    bench.deferred.get_nowait()()
    assert bench.cycles == [MS]
    bench.arrive(3)
    assert bench.cycles == [MS, 3 * MS]
