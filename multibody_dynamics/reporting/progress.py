# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Progress bars for terminals; silent when the output is redirected."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm


class ProgressBar:
    """A bar that is told how many `items` are done, of how many in total.

    stays : whether the full bar stays on the screen.
    """

    def __init__(self, items: str, stream: Any = None, *, stays: bool = False) -> None:
        self._options = {"desc": items, "file": stream, "leave": stays, "disable": None}
        self._bar: Any = None

    def __call__(self, done: float, total: float = 1.0) -> None:
        if self._bar is None:
            form = "{desc}: {percentage:3.0f}%|{bar:30}| {remaining} left"
            self._bar = tqdm(total=total, bar_format=form, **self._options)
        self._bar.update(done - self._bar.n)
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
