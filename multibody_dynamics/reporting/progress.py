# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Progress bars for terminals, and lines now and then where the output is redirected."""

import sys
import time
from typing import Any, TextIO

from tqdm import tqdm

FORM = "{desc}: {percentage:3.0f}%|{bar:30}| {remaining} left"
LOGGED = 10.0  # s between two lines


class ProgressBar:
    """A bar that is told how many `items` are done, of how many in total. Where there is no
    terminal, a line every LOGGED s, and at the beginning if it is told of that.

    stays : whether the full bar stays on the screen.
    """

    def __init__(self, items: str, stream: TextIO | None = None, *, stays: bool = False) -> None:
        self._items, self._stream, self._stays = items, stream, stays
        self._bar: Any = None

    def __call__(self, done: float, total: float = 1.0) -> None:
        now = time.monotonic()
        if self._bar is None:
            self._bar = tqdm(total=total, desc=self._items, file=self._stream, leave=self._stays,
                             disable=None, bar_format=FORM)  # fmt: skip
            self._next = now + (LOGGED if done else 0.0)
        self._bar.update(done - self._bar.n)
        if self._bar.disable and now >= self._next:
            self._next = now + LOGGED
            print(f"{self._items}: {done / total:.0%}", file=self._stream or sys.stderr, flush=True)
        if done >= total:
            self._bar.close()
            self._bar = None


class StatusLine:
    """A line that is rewritten in place on a terminal; redirected output gets only what stays."""

    def __init__(self) -> None:
        self.is_live = sys.stdout.isatty()

    def show(self, text: str, *, stays: bool = False) -> None:
        """Rewrite the line; with `stays`, go on below it."""
        if self.is_live:
            print(f"\r{text}\x1b[K", end="\n" if stays else "", flush=True)
        elif stays:
            print(text, flush=True)
