# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A process that hangs, crashes or takes too much memory is reported and replaced."""

from __future__ import annotations

import fuzzed_failures as failures
from multibody_dynamics.tools.fuzzing.worker_process import Limits, Worker


def test_every_failure_is_reported_and_the_next_input_is_tried():
    worker = Worker(Limits(memory=2**28), failures.fail)
    try:
        attempt = lambda number: worker.attempt("csv", 0, number)  # noqa: E731
        assert attempt(failures.GOOD) is None
        assert attempt(failures.FOREIGN).what.startswith("KeyError in ")
        assert attempt(failures.MEMORY).what.startswith("MemoryError in ")
        assert attempt(failures.CRASH).what == "the process ended with status 9"
        assert attempt(failures.GOOD) is None
    finally:
        worker.close()


def test_a_process_that_hangs_is_killed_however_long_it_takes_to_start():
    worker = Worker(Limits(answer=1.0), failures.fail)
    try:
        assert worker.attempt("csv", 0, failures.GOOD) is None
        assert worker.attempt("csv", 0, failures.HANG).what == "hangs"
        assert worker.attempt("csv", 0, failures.GOOD) is None
    finally:
        worker.close()
