# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The program is run as a user would, and its exit status and messages are judged."""

from __future__ import annotations

import sys
from random import Random

import pytest

from multibody_dynamics.tools.fuzzing import command_lines
from multibody_dynamics.tools.fuzzing.command_lines import RefusalError, prepare, run


@pytest.fixture
def folder(tmp_path):
    prepare(Random(0), tmp_path, lambda random, place: None)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "plot robot.urdf -o out.png",  # status 0
        "validate motion.csv --urdf robot.urdf -o out --max-nrms 1e-9",  # 1
        "plot nothing.urdf",  # 2, in one line
        "plot robot.urdf --configuration 1,two",  # 2, after the usage
        "inspect",
        "magic",
        "--help",
    ],
)
def test_these_end_as_promised(folder, words):
    run(words.split(), folder)


def test_a_word_that_breaks_a_line_is_printed_in_one(folder):
    run(["plot", "no\nsuch\nfile.urdf"], folder)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("raise SystemExit(3)", "exit status 3"),
        (
            "print('a', file=sys.stderr); print('b', file=sys.stderr); raise SystemExit(2)",
            "2 lines",
        ),
        ("raise SystemExit(2)", "0 lines"),
    ],
)
def test_other_ends_are_failures(folder, monkeypatch, program, says):
    def instead(name: str, run_name: str) -> None:
        assert (name, run_name) == ("multibody_dynamics", "__main__")
        exec(program, {"sys": sys})

    monkeypatch.setattr(command_lines.runpy, "run_module", instead)
    with pytest.raises(RefusalError, match=says):
        run(["plot"], folder)
