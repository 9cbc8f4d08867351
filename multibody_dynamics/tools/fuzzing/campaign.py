# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A campaign: tries inputs of several kinds in turn, and reports those that fail."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...dynamics.core import InputError
from ...validation.recordings.bag_library import require_bags
from .judgement import Finding, source
from .kinds import ALL
from .worker_process import Worker

BATCH = 20  # inputs of one kind before those of the next
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
REPORT = "report.txt"


@dataclass
class Result:
    """What a campaign has found. tried : inputs by kind. findings : how often, by kind and what."""

    tried: dict[str, int] = field(default_factory=dict)
    findings: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.tried.values())


def run(
    kinds: Sequence[str],
    seed: int,
    output: Path,
    *,
    more: Callable[[int], bool],
    first: int = 0,
    progress: Callable[[Result], None] = lambda result: None,
    worker: Worker | None = None,
) -> Result:
    """Try inputs while `more`, called with the number tried so far, is true.

    first : number of the first input of each kind. The first input of each finding is written into
    a folder of its own in `output`, with a report that says how to repeat it.
    """
    result = Result(dict.fromkeys(kinds, 0))
    worker = worker or Worker()
    try:
        for kind, number in _order(kinds, first):
            if not more(result.total):
                break
            found = worker.attempt(kind, seed, number)
            result.tried[kind] += 1
            if found is not None:
                key = kind, found.what
                result.findings[key] = result.findings.get(key, 0) + 1
                if result.findings[key] == 1:
                    write(output, kind, seed, number, found)
            progress(result)
    finally:
        worker.close()
    return result


def until(minutes: float) -> Callable[[int], bool]:
    """An argument `more` of `run` that is true for so many minutes from now."""
    end = time.monotonic() + 60.0 * minutes
    return lambda count: time.monotonic() < end


def _order(kinds: Sequence[str], first: int) -> Iterator[tuple[str, int]]:
    start = first
    while True:
        for kind in kinds:
            for number in range(start, start + BATCH):
                yield kind, number
        start += BATCH


def write(output: Path, kind: str, seed: int, number: int, found: Finding) -> Path:
    """Write the files of an input, and a report of its failure, into a folder in `output`."""
    name = NOT_IN_NAMES.sub("_", f"{kind} {seed} {number} {found.what}").strip("_")[:100]
    folder = output / name
    folder.mkdir(parents=True, exist_ok=True)
    ALL[kind].prepare(source(kind, seed, number), folder)
    repeat = f"multibody_dynamics fuzz --what {kind} --seed {seed} --first {number} --count 1"
    text = f"{found.what}\n\nTo repeat it: {repeat}\n\n{found.text}\n"
    (folder / REPORT).write_text(text, encoding="utf-8", errors="backslashreplace")
    return folder


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The kinds with these names; all kinds if no names are given. Raises InputError for an unknown
    name, or if bags are among the kinds and rosbags is missing."""
    for name in names:
        if name not in ALL:
            raise InputError(f"--what {name}: expected some of {', '.join(ALL)}")
    found = tuple(dict.fromkeys(names)) or tuple(ALL)
    if "bags" in found:
        require_bags()
    return found
