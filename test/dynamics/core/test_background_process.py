# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Functions called in a process of lower priority."""

from __future__ import annotations

import math
import os
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from little_memory import no_more_memory
from multibody_dynamics.dynamics.core import BackgroundProcess, background_process
from multibody_dynamics.dynamics.core.background_process import NICE, leave_processors_of


@pytest.fixture
def process():
    made = BackgroundProcess()
    yield made
    made.close()


def test_results_and_exceptions_come_back(process):
    assert process.submit(math.hypot, 3.0, 4.0).result(timeout=120.0) == 5.0
    with pytest.raises(ZeroDivisionError):
        process.submit(divmod, 1, 0).result(timeout=120.0)
    other = process.submit(os.getpid).result(timeout=120.0)
    assert other != os.getpid()
    assert process.submit(os.getpid).result(timeout=120.0) == other  # still the same one
    assert process.submit(os.nice, 0).result(timeout=120.0) == min(os.nice(0) + NICE, 19)


def test_another_process_replaces_one_that_was_killed(process):
    first = process.submit(os.getpid).result(timeout=120.0)
    waiting = process.submit(time.sleep, 1000.0)
    os.kill(first, signal.SIGKILL)
    with pytest.raises(BrokenProcessPool):
        waiting.result(timeout=120.0)
    assert process.submit(os.getpid).result(timeout=120.0) != first


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="limits the memory of Linux")
def test_a_process_that_cannot_start_fails_the_request_and_not_the_caller(process):
    with no_more_memory():
        failed = process.submit(os.getpid)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        failed.result(timeout=1.0)
    assert process.submit(math.hypot, 3.0, 4.0).result(timeout=120.0) == 5.0


def test_it_ends_at_once_when_closed(process):
    running = process.submit(time.sleep, 1000.0)
    (worker,) = process._pool._processes.values()
    process.close()
    end = time.monotonic() + 60.0
    while worker.exitcode is None:  # the pool's own thread may be the one that learns of it first
        assert time.monotonic() < end
        time.sleep(0.01)
    assert running.done() or running.cancelled() or running.exception(timeout=60.0)
    with pytest.raises(RuntimeError, match="closed"):
        process.submit(os.getpid)
    process.close()  # again


@pytest.mark.parametrize("policy", [os.SCHED_FIFO, os.SCHED_RR | os.SCHED_RESET_ON_FORK])
def test_a_real_time_priority_is_given_up(monkeypatch, policy):
    found = []
    monkeypatch.setattr(os, "sched_getscheduler", lambda pid: policy)
    monkeypatch.setattr(os, "sched_setscheduler", lambda *given: found.append(given[:2]))
    BackgroundProcess.give_way()
    assert found == [(0, os.SCHED_OTHER)]
    monkeypatch.setattr(os, "sched_getscheduler", lambda pid: os.SCHED_IDLE)
    BackgroundProcess.give_way()
    assert len(found) == 1


@pytest.mark.parametrize(
    ("available", "bound", "isolated", "left"),
    [
        ({0, 1, 2, 3}, {3}, "", {0, 1, 2}),  # the controller has a processor of its own
        ({0, 1, 2, 3}, {2, 3}, "1-2", {0}),
        ({0, 1, 2, 3}, {3}, "1,2-3", {0}),
        ({0, 1, 2, 3}, {0, 1, 2, 3}, "", {0, 1, 2, 3}),  # it is not bound
        ({0}, {0}, "", {0}),  # there is no other
        ({0, 1}, {0}, "1", {0}),
    ],
)
def test_it_leaves_the_processors_of_the_controller(
    monkeypatch, tmp_path, available, bound, isolated, left
):
    masks = {17: set(bound), 0: set(bound)}  # a new process inherits the mask of its parent

    def bind(process, chosen):
        masks[process] = set(chosen) & available

    file = tmp_path / "isolated"
    file.write_text(isolated + "\n")
    monkeypatch.setattr(background_process, "ISOLATED", file)
    monkeypatch.setattr(os, "sysconf", lambda name: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(masks[process]))
    monkeypatch.setattr(os, "sched_setaffinity", bind)
    leave_processors_of(17)
    assert masks[0] == left
