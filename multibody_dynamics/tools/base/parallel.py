# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Jobs on all cores, with their results in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

from ...reporting.progress import ProgressBar

MANY = 200  # with more jobs than this, several are sent to a process at once
Result = TypeVar("Result")


@contextmanager
def processes(workers: int) -> Iterator[Executor | None]:
    """Processes with one thread each; None to work in the present process."""
    if workers <= 1:
        yield None
        return
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    executor = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def results_of(
    executor: Executor | None,
    function: Callable[[Any], Result],
    jobs: Sequence[Any],
    items: str,
) -> list[Result]:
    """The results in the order of the jobs, with a progress bar."""
    bar = ProgressBar(items)
    results: list[Result] = []
    if executor is None:
        found: Iterable[Result] = map(function, jobs)
    else:
        found = executor.map(function, jobs, chunksize=2 if len(jobs) > MANY else 1)
    for result in found:
        results.append(result)
        bar(len(results), len(jobs))
    return results
