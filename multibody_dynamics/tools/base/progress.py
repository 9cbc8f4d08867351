# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Progress bars for terminals; silent when the output is redirected."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

WIDTH = 40  # characters


class ProgressBar:
    """Number of items done and time remaining; redrawn at most ten times a second."""

    def __init__(self, items: str, stream: Any = None) -> None:
        self._items = items
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._began = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        last = done >= total
        if not self._stream.isatty() or (now - self._shown < 0.1 and not last):
            return
        self._shown = now
        share = done / total if total else 1.0
        left = (now - self._began) * (1.0 - share) / max(share, 1e-9)
        bar = "#" * round(30 * share)
        text = f"[{bar:<30}] {share:4.0%} of {total} {self._items}, {left:.0f} s left"
        print(f"\r{text}", end="\r\033[K" if last else "", file=self._stream, flush=True)


def progress_bar(title: str) -> Callable[[float], None] | None:
    """A bar for progress from 0 to 1, which stays on the screen; None without a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(done: float) -> None:
        filled = round(WIDTH * done)
        end = "\n" if done >= 1.0 else ""
        bar = "#" * filled + "." * (WIDTH - filled)
        print(f"\r{title} [{bar}] {done:4.0%}", end=end, file=sys.stderr, flush=True)

    return show
