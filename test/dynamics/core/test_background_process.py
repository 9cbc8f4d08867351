# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Functions called in a process of lower priority, in a thread, and in many processes."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from queue import Queue

import pytest

from little_memory import no_more_memory
from multibody_dynamics.dynamics.core import (
    BackgroundProcess,
    BackgroundThread,
    DynamicsError,
    background_process,
    in_order,
    worker_processes,
)
from multibody_dynamics.dynamics.core.background_process import NICE, leave_processors_of
from rejections import assert_rejected


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
    assert_rejected((lambda: process.submit(os.getpid), "closed"), error=RuntimeError)
    process.close()  # again


@pytest.fixture(params=["process", "thread"])
def deferred(request):
    """A background of both kinds, and a queue of what its owner is to call."""
    waiting: Queue = Queue()
    made = (
        BackgroundProcess(defer=waiting.put)
        if request.param == "process"
        else BackgroundThread("test", lambda: None, defer=waiting.put)
    )
    yield made, lambda: waiting.get(timeout=120.0)()
    made.close()


def test_results_are_delivered_in_the_thread_of_the_owner(deferred):
    background, take = deferred
    seen = []
    for k in (4.0, 9.0):
        background.deliver(lambda done: seen.append(done.result()), math.sqrt, k)
    take()
    take()
    assert seen == [2.0, 3.0]


def test_only_the_newest_request_is_answered(deferred):
    """Whether the others are running, waiting, or done but not yet taken."""
    background, take = deferred
    seen = []

    def ask(number, function=abs, *arguments):
        background.replace(lambda done: seen.append(number), function, *(arguments or (number,)))

    ask(1)
    take()
    assert (seen, background.is_busy) == ([1], False)
    ask(2)
    ask(3, time.sleep, 0.2)
    ask(4)
    ask(5)
    assert background.is_busy
    for _ in range(4):  # a cancelled request is taken, too
        take()
    assert (seen, background.is_busy) == ([1, 5], False)
    ask(6)
    assert background.drop()
    assert not background.drop()
    take()
    assert seen == [1, 5]


def test_a_failure_is_delivered(deferred):
    background, take = deferred
    seen = []
    background.replace(lambda done: seen.append(done.exception()), divmod, 1, 0)
    take()
    assert isinstance(seen[0], ZeroDivisionError)
    assert not background.is_busy


def test_a_thread_is_prepared_and_waits_or_forgets_at_its_end():
    seen = []
    thread = BackgroundThread("test", lambda: seen.append("prepared"))
    gate = threading.Event()
    thread.submit(gate.wait)
    forgotten = thread.submit(seen.append, "forgotten")
    thread.close()
    gate.set()
    assert forgotten.cancelled()
    assert seen == ["prepared"]
    thread = BackgroundThread("test", lambda: None)
    thread.submit(time.sleep, 0.1)
    thread.submit(seen.append, "waited for")
    thread.close(wait=True)
    assert seen == ["prepared", "waited for"]
    with pytest.raises(RuntimeError):
        thread.submit(abs, 1)


@pytest.mark.parametrize("policy", [os.SCHED_FIFO, os.SCHED_RR | os.SCHED_RESET_ON_FORK])
def test_a_real_time_priority_is_given_up(monkeypatch, policy):
    found = []
    monkeypatch.setattr(os, "sched_getscheduler", lambda pid: policy)
    monkeypatch.setattr(os, "sched_setscheduler", lambda *given: found.append(given[:2]))
    BackgroundProcess.drop_realtime_priority()
    assert found == [(0, os.SCHED_OTHER)]
    monkeypatch.setattr(os, "sched_getscheduler", lambda pid: os.SCHED_IDLE)
    BackgroundProcess.drop_realtime_priority()
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


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_in_the_order_of_the_jobs(workers):
    seen = []
    with worker_processes(workers) as executor:
        assert (executor is None) == (workers == 1)
        found = in_order(executor, abs, range(-20, 5), lambda *count: seen.append(count))
    assert found == [abs(x) for x in range(-20, 5)]
    assert seen == [(k, 25) for k in range(26)]


def slept(seconds):
    time.sleep(seconds)
    return seconds


def test_ctrl_c_keeps_the_results_and_waits_for_nothing():
    done, interrupted = [], []

    def interrupt(count, total):
        if count == 2:
            interrupted.append(time.monotonic())
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), worker_processes(2) as executor:
        in_order(executor, slept, [0.0, 0.1, 600.0, 600.0], interrupt, done)
    assert time.monotonic() - interrupted[0] < 1.0
    assert done == [0.0, 0.1]


def test_a_killed_process_is_reported_in_one_line():
    refused = pytest.raises(DynamicsError, match="one of 2 processes ended early")
    with refused, worker_processes(2) as executor:
        in_order(executor, os._exit, [9])


def test_processes_have_one_thread_and_are_prepared():
    with worker_processes(2, os.putenv, "PREPARED", "1") as executor:
        assert in_order(executor, os.getenv, ["OMP_NUM_THREADS"]) == ["1"]
        assert in_order(executor, os.system, ['test "$PREPARED" = 1']) == [0]


def test_the_environment_is_restored(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with worker_processes(2):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in os.environ


MANY = """
import time
from multibody_dynamics.dynamics.core.background_process import worker_processes
with worker_processes(2) as executor:
    executor.submit(int).result()
    print(*executor._processes, flush=True)
    executor.submit(time.sleep, 600.0).result()
"""


def runs(process: Path) -> bool:
    """Whether a process, a folder in /proc, has not ended; a zombie only waits to be noticed."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_processes_end_with_a_parent_that_is_killed():
    parent = subprocess.Popen([sys.executable, "-c", MANY], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [Path(f"/proc/{number}") for number in parent.stdout.readline().split()]
    assert len(workers) == 2
    assert all(map(runs, workers))
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 20.0
    while any(map(runs, workers)):
        assert time.monotonic() < deadline, "processes are left behind"
        time.sleep(0.02)
