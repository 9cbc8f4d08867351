# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Limits on a process (`ulimit`) with which no node and no command can work.

The middleware and the compiler end a process that runs into them with an abort, hang, or fill the
terminal; nodes and commands say in one line which limit it is, before they import anything.
"""

import sys
import threading

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

MEMORY = {  # MB of address space: libraries, machine code, stacks of threads
    "node": 2000,  # 1740 once active
    "command": 800,
}
FILE_SIZE = {"node": 1, "command": 0}  # MB: logs, and the middleware's shared memory
FILES = 32  # open files, 16 once configured: libraries, sockets
THREADS = {"node": 24, "command": 1}  # of the middleware, and their own


def refuse_insufficient_limits() -> None:
    """End the process with status 1 and one line if one of its limits is too low."""
    if problem := insufficient_limit():
        print(f"multibody_dynamics: {problem}", file=sys.stderr)
        raise SystemExit(1)


def insufficient_limit(program: str = "node") -> str:
    """Which limit is too low, how low, and how much a "node" or a "command" needs; empty if there
    is none."""
    for name, least, unit, what, option in (
        ("RLIMIT_AS", MEMORY[program], " MB", "the address space of this process", "-v"),
        ("RLIMIT_FSIZE", FILE_SIZE[program], " MB", "the size of its files", "-f"),
        ("RLIMIT_NOFILE", FILES, "", "the number of its open files", "-n"),
    ):
        allowed = resource.getrlimit(getattr(resource, name))[0] if resource else -1
        size = 10**6 if unit else 1
        if 0 <= allowed < least * size:
            return (
                f"{what} is limited to {allowed / size:g}{unit} (ulimit {option}); a {program}"
                f" needs at least {least}{unit}"
            )
    wanted = THREADS[program]
    started = started_threads(wanted)
    if started < wanted:
        return (
            f"only {started} of {wanted} threads can be started: raise the limit on threads"
            " (ulimit -u, or pids of the container) or on memory (ulimit -v)"
        )
    return ""


def started_threads(wanted: int) -> int:
    """How many threads can exist at once, up to `wanted`."""
    over = threading.Event()
    threads: list[threading.Thread] = []
    try:
        for _ in range(wanted):
            thread = threading.Thread(target=over.wait, daemon=True)
            thread.start()
            threads.append(thread)
    except RuntimeError:  # can't start new thread
        pass
    finally:
        over.set()
        for thread in threads:
            thread.join()
    return len(threads)
