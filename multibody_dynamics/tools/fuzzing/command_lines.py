# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Command lines with wrong words and damaged files, and the program that has to refuse them.

Only commands that read files and end by themselves are run: those that start nodes, or compute for
minutes if everything is right, are not.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from . import examples
from .mutations import number, word

PROGRAM = "multibody_dynamics"
RUN = (
    "inspect robot.urdf --no-timing",
    "inspect robot.urdf --no-timing --elastic-joints springs.yaml --rate 500 --tables",
    "plot robot.urdf -o out.png --configuration 0.1,0.2",
    "torque-report robot.urdf --elastic-joints springs.yaml --bandwidth 20 --position 0,0.5",
    "gazebo robot.urdf --elastic-joints springs.yaml --initial 0,0 --prefix left_ -o out",
    "generate robot.urdf -o out --order 1 --payload forearm --name arm --gravity 9.81",
    "trajectory robot.urdf --trajectory rest_to_rest --duration 3 --csv out.csv",
    "trajectory robot.urdf --duration 5",
    "scale-time trajectory.csv --urdf robot.urdf --elastic-joints springs.yaml -o out",
    "scale-time trajectory.yaml --urdf robot.urdf --springs springs.yaml --limit joint_speed=1",
    "validate motion.csv --urdf robot.urdf --data data.yaml -o out --cutoff 10 --max-nrms 0.5",
    "validate motion.csv --urdf robot.urdf --identify friction --train 0.5 -o out",
    "identify-springs motion.csv --urdf robot.urdf --elastic-joints springs.yaml --window 0.05",
    "identify-springs motion.csv --law cubic --rate 50 --robust -o out",
    "write-back springs.yaml --urdf robot.urdf --elastic-joints springs.yaml -o out",
    "report out",
)  # fmt: skip
OTHERS = ("--help", "--version", "--gravity", "--prefix", "--hold", "-o", "--urdf", "--nonsense")
USAGE = re.compile(r"^usage: .*?(?=^\S+.*?: error: )", re.DOTALL | re.MULTILINE)


class RefusalError(Exception):
    """A command that does not end as promised; the text says how."""


def prepare(
    random: Random, folder: Path, damage: Callable[[Random, Path], None]
) -> Callable[[], object]:
    """Write the files of a command line into a folder, and its words into words.json."""
    robot = examples.config("robots", "planar_two_link.urdf")
    springs = examples.config("elastic_joints", "planar_two_link.yaml")
    for name, data in {
        "robot.urdf": robot.read_bytes(),
        "springs.yaml": springs.read_bytes(),
        "data.yaml": examples.data_file(),
        "motion.csv": examples.table(),
        "trajectory.csv": examples.trajectory_table(),
        "trajectory.yaml": examples.ROWS.encode(),
    }.items():
        (folder / name).write_bytes(data)
    words = random.choice(RUN).split()
    how = random.random()
    if how < 0.7:
        words = _damaged(random, words)
    if how > 0.5:
        damage(random, folder)
    (folder / "words.json").write_text(json.dumps(words))
    return lambda: run(words, folder)


def _damaged(random: Random, words: list[str]) -> list[str]:
    found = list(words)
    for _ in range(random.randint(1, 2)):
        at = random.randint(1, len(found) - 1) if len(found) > 1 else 0
        what = random.randrange(7)
        if what <= 2 and at:
            new = number(random) if random.random() < 0.6 else word(random)
            found[at] = new.replace("\x00", "")  # cannot be passed to a program
        elif what == 3 and at:
            del found[at]
        elif what == 4 and at:
            found[at] = random.choice(found)
        elif what == 5:
            found[at + 1 : at + 1] = [random.choice(OTHERS), number(random)]
        elif at:
            texts = random.choice(("0,{0}", "{0},{0}", "x={0}", "elbow={0}", "../{0}", "-{0}"))
            found[at] = texts.format(number(random))
    return found


def run(words: list[str], folder: Path) -> None:
    """Run the program in a folder. Raises RefusalError if it ends otherwise than documented.

    Exit status 0 or 1, or 2 and one line on standard error, after the usage if the arguments
    cannot be parsed.
    """
    error = io.StringIO()
    status = 0
    sys.modules.pop(f"{PROGRAM}.__main__", None)  # runpy would warn about it
    with (
        _started_in(folder, [PROGRAM, *words]),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(error),
    ):
        try:
            runpy.run_module(PROGRAM, run_name="__main__")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    text = USAGE.sub("", error.getvalue())
    notes = (f"{PROGRAM}: warning: ", f"{PROGRAM}: compil")
    lines = [line for line in text.splitlines() if not line.startswith(notes)]
    if status == 2 and len(lines) != 1:
        raise RefusalError(f"exit status 2 with {len(lines)} lines on standard error: {text}")
    if status not in (0, 1, 2):
        raise RefusalError(f"exit status {status}: {text}")


@contextlib.contextmanager
def _started_in(folder: Path, arguments: list[str]) -> Iterator[None]:
    before = Path.cwd(), sys.argv
    os.chdir(folder)
    sys.argv = arguments
    try:
        yield
    finally:
        os.chdir(before[0])
        sys.argv = before[1]
