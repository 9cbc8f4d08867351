# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Jobs beside a cycle run one after the other, and end with the program."""

import subprocess
import sys
import threading

from multibody_dynamics.dynamics.codegen import Queue, pause


def test_jobs_run_in_order_in_one_thread():
    queue, seen = Queue("test"), []
    gate = threading.Event()
    queue.add(gate.wait)
    ended = [queue.add(lambda k=k: seen.append((k, threading.get_ident()))) for k in range(20)]
    assert not seen
    gate.set()
    for event in ended:
        assert event.wait(60)
    assert [k for k, _ in seen] == list(range(20))
    assert {thread for _, thread in seen} != {threading.get_ident()}
    again = queue.add(lambda: seen.clear())  # after the thread has ended, or before
    assert again.wait(60)
    assert not seen


def test_a_failing_job_does_not_stop_the_others(capfd):
    queue, seen = Queue("test"), []
    first = queue.add(lambda: 1 / 0)
    second = queue.add(lambda: seen.append(1))
    assert first.wait(60)
    assert second.wait(60)
    assert seen == [1]
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_work_ends_with_the_program():
    program = (
        "from multibody_dynamics.dynamics.codegen import Queue, pause\n"
        "def work():\n    while True: pause()\n"
        "queue = Queue('endless')\nfor _ in range(3): queue.add(work)\nprint('done')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True
    )
    assert ended.stdout == "done\n"
    assert not ended.stderr


def test_pause_returns_in_a_running_program():
    for _ in range(100):
        pause()
