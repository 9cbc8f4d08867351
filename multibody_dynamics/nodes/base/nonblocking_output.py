# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Standard output and error that never block: a stopped terminal or a full pipe must not hold up
the control cycle.

A write to a pipe that nobody reads blocks once the pipe is full (64 KiB on Linux), and so does a
write to a terminal that was stopped with Ctrl-S. rclpy logs in the thread that calls it, so the
cycle would wait. Here, pipes are enlarged to 1 MiB, and whatever does not fit is dropped instead;
diagnostics are not affected.
"""

import fcntl
import io
import os
import stat
import sys
from contextlib import suppress

STANDARD_STREAMS = (1, 2)
PIPE_SIZE = 2**20  # bytes; the largest size that Linux allows by default


class LossyStream(io.FileIO):
    """A raw stream that drops what its descriptor does not accept at once.

    Python's own streams would raise BlockingIOError, in the middle of the node's code.
    """

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        super().write(data)  # None if nothing was written
        return len(data)


def never_block() -> None:
    """Make standard output and error of this process non-blocking if they are pipes or terminals.

    The flag O_NONBLOCK belongs to an open file, which other processes may share. The stream is
    therefore opened a second time, through /proc; where that is impossible (sockets, other
    operating systems), it remains as it is.
    """
    for number in STANDARD_STREAMS:
        try:
            mode = os.fstat(number).st_mode
            if not (stat.S_ISFIFO(mode) or os.isatty(number)):
                continue
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_APPEND
            opened = os.open(f"/proc/self/fd/{number}", flags)
        except OSError:
            continue
        if stat.S_ISFIFO(mode):
            with suppress(OSError):  # the limit on the memory of this user's pipes is reached
                fcntl.fcntl(opened, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
        os.dup2(opened, number)
        os.close(opened)
        name = "stdout" if number == 1 else "stderr"
        setattr(sys, name, _text_stream(number))


def _text_stream(number: int) -> io.TextIOWrapper:
    raw = LossyStream(number, "w", closefd=False)
    return io.TextIOWrapper(
        raw,  # type: ignore[arg-type]  # unbuffered, as with python -u
        encoding=sys.__stdout__.encoding if sys.__stdout__ else "utf-8",
        errors="backslashreplace",
        write_through=True,
    )
