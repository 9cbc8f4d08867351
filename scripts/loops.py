#!/usr/bin/env python3
# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Closes the loop of published robots and keeps the results in docs/robots.md.

For each FILE, `multibody_dynamics loop --urdf FILE` runs until the demo motion is over; its row in
the page is added or replaced.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import NamedTuple, TextIO

PAGE = Path(__file__).resolve().parents[1] / "docs" / "robots.md"
HEADING = "\n## Closed loops\n"
HEAD = f"""{HEADING}
What `multibody_dynamics loop --urdf FILE` does without further options: motors are assumed, and the
simulated robot begins at zero, or close to it where its effort limits hold the links there, and
follows the demo motion. "n" are the joints that move; joints without range, speed or the effort to
hold their links are held. "Off" is the largest error of a joint, in rad or m, at the end of the
motion. Written by `python scripts/loops.py FILE ...`.

| robot | file | n | held | off |
|---|---|---|---|---|
"""
SMALL = 1e-3  # rad or m
PATIENCE = 600.0  # s of real time
MOTORS = re.compile(r"flatness_controller_node\]: configured for ([^:]*): (.*)")
HELD = re.compile(r"the effort to hold their links: (.*)")
OVER = re.compile(r"motion 1 of 1 is over: joint '[^']*' is (\S+) rad or m from its goal")
LOST = re.compile(
    r"\[(?:ERROR|FATAL)\] \[[0-9.]*\] \[\w+\]: (.*)"
    r"|^multibody_dynamics: (?!warning|compiling)(.*)"
)


class Row(NamedTuple):
    """The loop of one robot: joints that move and that are held, and how it ended."""

    robot: str
    file: str
    n: int
    held: int
    off: float | None
    error: str = ""

    def line(self) -> str:
        """The row of the table."""
        shown = self.error.replace("|", "/").partition("; ")[0][:160]
        if self.off is not None and not shown:
            shown = "< 1e-3" if self.off < SMALL else f"**{self.off:.2g}**"
        return f"| {self.robot} | `{self.file}` | {self.n} | {self.held} | {shown} |"


def closed_loop(path: Path, log: TextIO | None = None) -> Row:
    """The row of the robot in a URDF file; the output of the loop goes to `log`."""
    command = [sys.executable, "-m", "multibody_dynamics", "loop", "--urdf", str(path)]
    robot, n, held, off, error = path.stem, 0, 0, None, ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as loop:
        assert loop.stdout is not None
        limit = Timer(PATIENCE, loop.send_signal, (signal.SIGINT,))
        limit.start()
        for line in loop.stdout:
            if log is not None:
                log.write(line)
            if found := MOTORS.search(line):
                robot, n = found[1], len(found[2].split(", "))
            elif found := HELD.search(line):
                held = len(found[1].split(", "))
            elif found := OVER.search(line):
                off = float(found[1])
                loop.send_signal(signal.SIGINT)
            elif (found := LOST.search(line)) and "WRONG in the robot" not in line:
                error = error or found[1] or found[2]
        limit.cancel()
    error = error or ("" if off is not None else "did not end")
    return Row(robot, path.name, n, held, off, error)


def rows_of(page: str) -> dict[str, str]:
    """The rows of the table in the page, by file."""
    table = page.partition(HEADING)[2]
    return {found[1]: found[0] for found in re.finditer(r"^\| [^|]* \| `(.*?)` .*$", table, re.M)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+")
    parser.add_argument("--logs", metavar="FOLDER", type=Path, help="keep the output of the nodes")
    options = parser.parse_args()
    for file in options.files:
        with open(options.logs / f"{file.stem}.log" if options.logs else os.devnull, "w") as log:
            row = closed_loop(file, log)
        print(row.line(), flush=True)
        text = PAGE.read_text(encoding="utf-8")
        rows = rows_of(text) | {row.file: row.line()}
        lines = "\n".join(sorted(rows.values(), key=str.lower))
        PAGE.write_text(text.partition(HEADING)[0] + HEAD + lines + "\n", encoding="utf-8")
