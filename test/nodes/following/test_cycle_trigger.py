# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""When a controller runs a cycle: on pairs, on one side alone, by a timer, and without states."""

import queue
from types import SimpleNamespace

import pytest

from multibody_dynamics.dynamics.control import CycleTimes, TorqueTimes
from multibody_dynamics.dynamics.control.arm.torque_steps import LATE
from multibody_dynamics.nodes.following.cycle_trigger import CycleTrigger

MS = 1_000_000  # ns
TIMEOUT = 0.2  # s
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
