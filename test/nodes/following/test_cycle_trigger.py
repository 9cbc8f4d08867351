# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""When a controller runs a cycle: on pairs, on one side alone, by a timer, and without states; on
all pairs that come one by one, and on the newest of those that queue up."""

import queue
from types import SimpleNamespace

import pytest

from multibody_dynamics.dynamics.control import CycleTimes, TorqueTimes
from multibody_dynamics.dynamics.control.arm.torque_steps import LATE
from multibody_dynamics.nodes.following.cycle_trigger import CycleTrigger, NewestPair

MS = 1_000_000  # ns
TIMEOUT = 0.2  # s
PAIR_TIMEOUT = 0.05  # s
STEP = 2 * MS  # between the stamps of two pairs
SIDES = ("links", "motors")


class Bench:
    """Two sides whose states arrive when they are told; the clock reads ms."""

    def __init__(self, *, has_timer: bool = False) -> None:
        self.ms, self.cycles, self.rejected, self.logged = 1000.0, [], [], []
        self.arrived, self.alone, self.handlers, self.ticks = {}, None, {}, []
        parameters = SimpleNamespace(
            period=1e-3, state_queue_depth=1, pair_tolerance=0.0, state_timeout=TIMEOUT
        )
        log = SimpleNamespace(warning=lambda text, **_: self.logged.append(text))
        self.deferred: queue.Queue = queue.Queue()
        node = SimpleNamespace(
            parameters=parameters,
            defer=self.deferred.put,
            get_logger=lambda: log,
            activation=SimpleNamespace(
                timer=lambda _, tick: self.ticks.append(tick), callback=lambda *_: None
            ),
        )
        inputs = SimpleNamespace(
            listen=lambda _, topic, handle, quality: self.handlers.update({topic: handle})
        )
        self.supervisor = SimpleNamespace(
            has_timer=has_timer, last_stamp=0, now=lambda: round(MS * self.ms),
            take=lambda topic, states, message: True, reject_if_late=self.reject_if_late,
        )  # fmt: skip
        self.states = SimpleNamespace(
            topics={side: side for side in SIDES},
            sides={side: SimpleNamespace(stamp=0) for side in SIDES},
            stamp=0, add=self.add, read=lambda: None, runs_on=lambda side: side == self.alone,
        )  # fmt: skip
        self.mode = SimpleNamespace(is_following=True)
        times = TorqueTimes(CycleTimes(period=1e-3, max_step=0.05))
        times.note_period(1e-3)
        arm = SimpleNamespace(supervisor=SimpleNamespace(mode=self.mode), times=times)
        self.trigger = CycleTrigger(node, inputs, self.supervisor, self.states, arm, self.run)

    def add(self, side: str, tolerance: float) -> bool:
        stamps = {each.stamp for each in self.states.sides.values()}
        if len(stamps) > 1:
            return False
        (self.states.stamp,) = stamps
        return True

    def reject_if_late(self, topic: str, stamp: int) -> bool:
        self.rejected += [stamp / MS] if stamp <= self.supervisor.last_stamp else []
        return stamp <= self.supervisor.last_stamp

    def run(self, stamp: int, begin: int, *, is_late: bool = False) -> None:
        self.cycles.append((stamp / MS, is_late))
        self.supervisor.last_stamp = stamp
        if not is_late:
            self.trigger.note_torque(self.supervisor.now())

    def arrive(self, ms: float, *sides: str) -> None:
        """States with this stamp; a pair without `sides`."""
        for side in sides or SIDES:
            self.states.sides[side].stamp = round(MS * ms)
            self.handlers[side](None)
        while not self.deferred.empty():  # pairs arrive within less than a period here
            self.deferred.get_nowait()()

    def tick(self, ms: float) -> None:
        self.ms = ms
        for tick in self.ticks:
            tick()


def test_each_pair_has_a_cycle_and_a_side_alone_only_while_the_other_is_missing():
    bench = Bench()
    bench.arrive(1000)
    bench.arrive(1001, "links")
    assert bench.cycles == [(1000, False)]
    bench.alone = "links"
    bench.arrive(1002, "links")
    assert bench.cycles == [(1000, False), (1002, False)]


def test_while_pairs_are_late_a_following_arm_runs_cycles_under_the_time_that_passed():
    bench = Bench()
    bench.tick(1000)
    assert bench.cycles == []  # nothing was ever sent
    bench.arrive(1000)
    bench.tick(1000 + LATE)
    assert len(bench.cycles) == 1
    bench.tick(1004)
    bench.tick(1012)
    assert bench.cycles[1:] == [(1004, True), (1012, True)]
    assert bench.logged == ["no matching states for 0.012 s: the torque follows the reference"]
    bench.mode.is_following = False
    bench.tick(1016)
    bench.mode.is_following = True
    bench.tick(1001 + 1e3 * TIMEOUT)
    assert len(bench.cycles) == 3
    assert bench.trigger.counts == {"pairs skipped": 0, "cycles without a pair": 2}


def test_states_whose_time_a_late_cycle_has_answered_are_skipped_and_older_ones_rejected():
    bench = Bench()
    bench.arrive(1000)
    bench.tick(1008)
    bench.arrive(1005)
    assert bench.cycles[-1] == (1008, True)
    assert bench.trigger.counts["pairs skipped"] == 1
    bench.trigger.restart()
    bench.arrive(1006)
    assert bench.rejected == [1006]


@pytest.mark.parametrize("state_first", [True, False])
def test_a_timer_uses_each_state_once_with_its_stamp_or_waits_for_the_next(state_first):
    bench = Bench(has_timer=True)
    assert bench.ticks == []
    assert bench.trigger.wait == MS
    if state_first:
        bench.arrive(1000)
        assert bench.cycles == []
        bench.trigger.on_timer(0)
    else:
        bench.trigger.on_timer(0)
        bench.arrive(1000)
    assert bench.cycles == [(1000, False)]
    bench.trigger.on_timer(0)
    assert len(bench.cycles) == 1
    bench.arrive(1001)
    assert bench.cycles[1:] == [(1001, False)]


class Pairs:
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
            self.pairs.take(round(MS * arrival), self.stamp, PAIR_TIMEOUT)


def test_each_pair_has_its_cycle_at_once_if_none_is_queued():
    bench = Pairs()
    bench.arrive(1, 3, 4.9, 7)
    assert bench.cycles == [MS, 3 * MS, 4_900_000, 7 * MS]
    assert bench.deferred.empty()
    assert bench.pairs.skipped == 0


def test_the_newest_of_several_queued_pairs_is_used_once_all_have_been_read():
    bench = Pairs()
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
    bench = Pairs()
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
    bench = Pairs()
    bench.arrive(1, 100)
    # an executor without further messages would run a deferred cycle now
    assert bench.deferred.empty()
    bench.arrive(101)
    bench.deferred.get(timeout=10.0)()
    assert bench.cycles == [MS, 101 * MS]
    bench.arrive(103)
    assert bench.cycles[-1] == 103 * MS


def test_a_cancelled_pair_has_no_cycle():
    bench = Pairs()
    bench.arrive(1, 1.1)
    bench.pairs.cancel()
    bench.deferred.get_nowait()()
    assert bench.cycles == [MS]
    bench.arrive(3)
    assert bench.cycles == [MS, 3 * MS]
