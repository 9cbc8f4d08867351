# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A recording from the command line: its progress, its end, and what was lost."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from ...reporting.progress import StatusLine
from ..base.processes import signals_call
from ..base.ros_settings import ros_node
from .topic_recorder import DEFAULT, TopicRecorder

PAUSE = 0.01  # s between two polls of the queues
DISCOVERY = 1.0  # s between two searches for new topics
LIVE, LOGGED = 0.5, 10.0  # s between two progress reports: on a terminal, in a file


def record(
    folder: Path,
    topics: Sequence[str],
    *,
    everything: bool = False,
    namespace: str = "",
    duration: float | None = None,
    timeout: float = 10.0,
) -> int:
    """Record until `duration` (s) is over, a signal arrives or the disk fails; returns the status.

    It is 1 if anything was lost, a named topic was not published, or nothing was recorded. See
    :class:`.TopicRecorder` for topics; none: DEFAULT. timeout : s without any message, from the
    start, after which the recording ends.
    """
    wanted = None if everything else (topics or DEFAULT)
    leave = threading.Event()  # a further signal does not interrupt the completion of the bag
    with signals_call(lambda number: leave.set()), ros_node("recorder", namespace) as node:
        recorder = TopicRecorder(node, folder, wanted, optional=not topics)
        progress = _Progress(recorder)
        try:
            start = next_look = time.monotonic()
            while not leave.is_set() and not recorder.failure:
                now = time.monotonic()
                if now >= next_look:
                    next_look = now + DISCOVERY
                    for name in recorder.look():
                        progress.say(f"recording {name}")
                recorder.poll()
                progress.update(now)
                if progress.began is None and now - start > timeout:
                    break
                if duration and progress.began is not None and now - progress.began >= duration:
                    break
                leave.wait(PAUSE)
        finally:
            recorder.close()
    progress.end()
    return summary(recorder, folder, progress.seconds)


def summary(recorder: TopicRecorder, folder: Path, seconds: float) -> int:
    """Print what was recorded and what was lost; returns the exit status."""
    results = recorder.results()
    width = max([len(each.name) for each in results], default=0)
    for each in results:
        step = f"   longest step {1e3 * each.longest_step:.1f} ms" if each.longest_step else ""
        lost_by = {"received": each.unreceived, "written": each.unwritten}
        losses = ", ".join(f"{count} not {how}" for how, count in lost_by.items() if count)
        losses = f"LOST: {losses}" if losses else "none lost"
        print(f"{each.name:<{width}}   {each.recorded:>9} messages   {losses}{step}")
    problems = [recorder.failure] if recorder.failure else []
    problems += [f"{name}: {reason}" for name, reason in recorder.unsupported.items()]
    problems += [f"{name}: no publisher" for name in recorder.missing()]
    total, lost = (sum(getattr(each, key) for each in results) for key in ("recorded", "lost"))
    if not total:
        problems.append("no message was recorded")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{folder}: {total} messages in {seconds:.1f} s, {lost or 'none'} lost")
    return 1 if problems or lost else 0


class _Progress:
    """Prints messages, rate and losses: in one line on a terminal, otherwise every LOGGED s.

    `began` : monotonic s of the first message, or None.
    """

    def __init__(self, recorder: TopicRecorder) -> None:
        self._recorder = recorder
        self._line = StatusLine()
        self._next = 0.0
        self._last = (0.0, 0)
        self.began: float | None = None
        self.seconds = 0.0

    def say(self, text: str) -> None:
        """Print a line of its own."""
        self._line.show(text, stays=True)

    def update(self, now: float) -> None:
        """Print the progress if it is due."""
        if self.began is not None:
            self.seconds = now - self.began
        if now < self._next and self.began is not None:
            return
        results = self._recorder.results()
        total, lost = sum(each.recorded for each in results), sum(each.lost for each in results)
        if self.began is None:
            if not total:
                return
            self.began = now
        self._next = now + (LIVE if self._line.is_live else LOGGED)
        rate = (total - self._last[1]) / max(now - self._last[0], 1e-3) if self._last[1] else 0.0
        self._last = (now, total)
        self._line.show(
            f"{self.seconds:8.1f} s   {total} messages, {rate:.0f}/s, {lost or 'none'} lost,"
            f" {1e-6 * self._recorder.waiting:.1f} MB waiting for the disk",
            stays=not self._line.is_live,
        )

    def end(self) -> None:
        """End the progress line of the terminal."""
        if self._line.is_live:
            print()
