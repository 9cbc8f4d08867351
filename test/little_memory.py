# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A process that may not have more memory than it has."""

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SPARE = 2**20  # bytes; less than the stack of a thread


@contextmanager
def no_more_memory() -> Iterator[None]:
    """No thread can be started inside: there is no address space for its stack."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    over = threading.Event()
    resource.setrlimit(resource.RLIMIT_AS, (size + SPARE, before[1]))
    try:
        with suppress(RuntimeError):  # they take the stacks that ended threads have left
            while True:
                threading.Thread(target=over.wait, daemon=True).start()
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        over.set()
