# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Cycle statistics and event counts."""

import tracemalloc

import numpy as np
import pytest

from multibody_dynamics.nodes.base.diagnostics import (
    WARN,
    CycleStatistics,
    EventCounter,
    Status,
    status_message,
)

MS = 1_000_000  # ns


def filled(periods_ms, steps_ms=None, compute_us=100, latency_us=300) -> CycleStatistics:
    statistics = CycleStatistics()
    begin = stamp = 10**18
    statistics.record(begin, begin, stamp, stamp)
    for period, step in zip(periods_ms, steps_ms or periods_ms, strict=True):
        begin, stamp = begin + int(period * MS), stamp + int(step * MS)
        statistics.record(begin, begin + 1000 * compute_us, stamp, stamp + 1000 * latency_us)
    return statistics


def test_figures():
    periods = list(np.random.default_rng(1).uniform(0.5, 1.5, 1000))
    statistics = filled(periods)
    figures = statistics.report()
    assert figures["cycles"] == 1000
    assert statistics.total == 1001
    exact = 1e3 * np.array(periods)
    assert figures["period mean [us]"] == pytest.approx(exact.mean(), abs=0.01)
    for p in (50, 90, 99):
        assert figures[f"period p{p} [us]"] == pytest.approx(np.percentile(exact, p), abs=0.01)
    assert figures["period max [us]"] == pytest.approx(exact.max(), abs=0.01)
    latencies = figures["latency p99 [us]"] - figures["latency p50 [us]"]
    assert figures["spread of the latency (p99 - p50) [us]"] == latencies
    assert figures["jitter (standard deviation of period) [us]"] == pytest.approx(
        exact.std(), abs=0.01
    )
    assert figures["compute p50 [us]"] == 100
    assert figures["latency p99 [us]"] == 300


def test_a_report_forgets():
    statistics = filled([1.0] * 10)
    assert statistics.report()["cycles"] == 10
    assert statistics.report() == {"cycles": 0}


def test_missed_cycles_are_counted_by_stamps_not_by_arrival():
    # Two stamps are missing; ten messages that arrive late and all at once are not.
    steps = [1.0] * 50 + [3.0] + [1.0] * 49
    arrivals = [1.0] * 50 + [11.0] + [0.01] * 10 + [1.0] * 39
    assert filled(arrivals, steps).report()["missed cycles"] == 2
    assert filled(arrivals, steps).report(expected_period=0.0005)["missed cycles"] == 99 + 5


def test_no_period_spans_a_restart():
    statistics = filled([1.0] * 5)
    statistics.restart()
    statistics.record(1, 2, 3, 4)  # a clock that was set back by decades
    statistics.record(1 + MS, 2 + MS, 3 + MS, 4 + MS)
    figures = statistics.report()
    assert figures["cycles"] == 6
    assert figures["period max [us]"] == 1000


def test_more_cycles_than_the_buffer_holds():
    statistics = CycleStatistics(window=100)
    for k in range(1000):
        statistics.record(k * MS + 1, k * MS + 1, k * MS + 1, k * MS + 1)
    assert statistics.report()["cycles"] == 100


def test_recording_retains_no_memory():
    statistics = CycleStatistics()
    statistics.record(1, 2, 3, 4)

    def growth(first):
        before = tracemalloc.get_traced_memory()[0]
        for k in range(first, first + 20000):
            statistics.record(k, k + 1, k, k)
        return tracemalloc.get_traced_memory()[0] - before

    tracemalloc.start()
    grown = [growth(2 + 20000 * k) for k in range(4)]
    tracemalloc.stop()
    assert min(grown) < 2000, grown  # other threads of the process allocate now and then


def test_events_are_counted_by_reason_with_the_last_detail():
    events = EventCounter()
    assert events.report() == (0, {})
    assert events.add("not finite", "position of 'elbow' is nan") == 1
    assert events.add("stale") == 1
    assert events.add("not finite", "position of 'wrist' is inf") == 2
    recent, values = events.report()
    assert recent == 3
    assert values == {"not finite": 2, "stale": 1, "last": "position of 'wrist' is inf"}
    assert events.report()[0] == 0


def test_status_values_are_text():
    message = status_message(
        Status("cycle", WARN, "2 cycles missed", {"a": 1.23456789, "b": 3}), "node", "arm"
    )
    assert [(item.key, item.value) for item in message.values] == [("a", "1.23457"), ("b", "3")]
    assert message.level == WARN
    assert message.hardware_id == "arm"
