# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The watchdog raises one alarm per silence, and none while simulated time is paused."""

import threading

from multibody_dynamics.nodes.base.watchdog import Watchdog

LIMIT = 10.0  # s; fails rather than hangs


def test_it_raises_one_alarm_per_silence():
    barks, ages = threading.Semaphore(0), []

    def bark(age: float) -> None:
        ages.append(age)
        barks.release()

    watchdog = Watchdog(lambda: 0.02, bark)
    watchdog.start()
    assert barks.acquire(timeout=LIMIT)
    assert not barks.acquire(timeout=0.2)  # still silent: no second alarm
    assert watchdog.stale
    watchdog.feed()
    assert barks.acquire(timeout=LIMIT)
    watchdog.stop()
    assert len(ages) == 2
    assert min(ages) > 0.02


def test_stop_ends_the_thread_and_start_restarts_it():
    barked = threading.Event()
    watchdog = Watchdog(lambda: 0.02, lambda age: barked.set())
    for _ in range(5):
        watchdog.start()
        assert barked.wait(LIMIT)
        watchdog.stop()
        barked.clear()
        assert "watchdog" not in {thread.name for thread in threading.enumerate()}
        watchdog.feed()


def test_it_may_be_stopped_from_its_own_thread_and_without_a_start():
    stopped = threading.Event()
    watchdog = Watchdog(lambda: 0.02, lambda age: (watchdog.stop(), stopped.set()))
    watchdog.stop()
    watchdog.start()
    assert stopped.wait(LIMIT)


def test_a_paused_simulation_does_not_count_as_silence():
    barked = threading.Event()
    clock = [5_000_000_000]
    watchdog = Watchdog(lambda: 0.02, lambda age: barked.set(), simulated_time=lambda: clock[0])
    watchdog.start()
    assert not barked.wait(0.3)  # steady time passes, simulated time does not
    assert watchdog.age() == 0.0
    clock[0] += 1_000_000_000
    assert barked.wait(LIMIT)
    watchdog.stop()


def test_fast_simulated_time_alone_does_not_count_as_silence():
    clock = [0]
    watchdog = Watchdog(lambda: 5.0, lambda age: None, simulated_time=lambda: clock[0])
    watchdog.feed()
    clock[0] += 3600 * 1_000_000_000
    assert not watchdog.stale
    clock[0] = -1  # nor does a clock that jumped back
    assert not watchdog.stale
