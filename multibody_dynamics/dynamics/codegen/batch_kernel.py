# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Vector code of a program for many states, on all cores, without the interpreter's lock."""

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..core import Array, NeverCopied
from .batch_text import batch_module
from .machine_code import compile_module, lanes, stored
from .programs import Program

FUNCTION = "evaluate"
CHUNK = 2**14  # states that a thread evaluates at a time; a multiple of the number of lanes


class BatchKernel(NeverCopied):
    """Evaluates a program for many states, several at a time, side by side in vector registers.

    Threads take chunks of `CHUNK` states each, so the workspace besides the arrays is bounded, and
    the results do not depend on the number of threads. Loading the code from the cache on disk
    takes milliseconds, compiling it about 0.1 ms for each operation of the program.
    """

    def __init__(
        self, key: str, arrays: int, trace: Callable[[], Program], shared: Sequence[str] = ()
    ) -> None:
        """Parameters
        ----------
        key : equal keys stand for equal programs.
        arrays : the number of inputs and results.
        trace : makes the program; called if it is not in the cache.
        shared : inputs that are single rows for all states.
        """
        self.lanes = lanes()
        key, names = f"{key}-{self.lanes}", [f"{FUNCTION}.batch", f"{FUNCTION}.columns"]
        addresses = stored(key, names)
        if addresses is None:
            addresses = compile_module(
                key, batch_module(trace(), FUNCTION, self.lanes, shared), names
            )
        pointers, number = [ctypes.c_void_p] * arrays, ctypes.c_int64
        self._rows = ctypes.CFUNCTYPE(number, *pointers, number, number)(addresses[0])
        self._columns = ctypes.CFUNCTYPE(number, *pointers, number, number, number)(addresses[1])

    def rows(self, arrays: Sequence[Array], count: int, threads: int | None = None) -> bool:
        """Evaluate `count` states, one in each row of the arrays (count, entries), which are
        contiguous; False if an input is NaN or infinite. At most `threads` threads."""
        addresses = [array.ctypes.data for array in arrays]
        return _run(lambda first, end: self._rows(*addresses, first, end), count, threads)

    def columns(self, arrays: Sequence[Array], count: int, threads: int | None = None) -> bool:
        """The same for states in the columns of the arrays (entries, count): nothing is transposed.

        There are at least `lanes` states, and no result overlaps an input.
        """
        addresses = [array.ctypes.data for array in arrays]
        return _run(
            lambda first, end: self._columns(*addresses, first, end, count),
            count,
            threads,
            self.lanes,
        )


def _run(
    evaluate: Callable[[int, int], Any], count: int, threads: int | None, least: int = 0
) -> bool:
    """Call `evaluate` for chunks of at least `least` states; whether all return 0."""
    starts = list(range(0, count, CHUNK))
    if len(starts) > 1 and count - starts[-1] < least:
        starts.pop()
    chunks = list(zip(starts, [*starts[1:], count], strict=False))
    workers = min(threads or cores(), len(chunks))
    if workers <= 1:
        return not any([evaluate(*chunk) for chunk in chunks])
    with ThreadPoolExecutor(workers) as pool:
        return not any(list(pool.map(lambda chunk: evaluate(*chunk), chunks)))


def cores() -> int:
    """The number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
