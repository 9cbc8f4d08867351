# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Readers refuse damaged files as they should; the command `fuzz` tries many more."""

from __future__ import annotations

import pytest

from multibody_dynamics.tools.commands import fuzz
from multibody_dynamics.tools.fuzzing.judgement import source
from multibody_dynamics.tools.fuzzing.kinds import ALL
from multibody_dynamics.tools.fuzzing.worker_process import WARM, try_input

SEED = 2026
COUNTS = {
    "urdf": 150,
    "springs": 60,
    "systems": 60,
    "trajectories": 100,
    "csv": 100,
    "npz": 200,
    "bags": 30,
    "results": 150,
    "command-line": 8,
}


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.filterwarnings("ignore")
def test_damaged_inputs_are_read_or_refused_in_one_line(kind):
    found = {}
    for number in WARM:  # compiles
        try_input(kind, SEED, number)
    for number in range(COUNTS[kind]):
        finding = try_input(kind, SEED, number)
        if finding is not None:
            found[finding.what] = (number, finding.text)
    assert found == {}


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.filterwarnings("ignore")
def test_some_are_refused_and_some_are_not(kind, tmp_path):
    """Otherwise, the test above would show little."""
    read = refused = number = 0
    while min(read, refused) < 2:
        folder = tmp_path / str(number)
        folder.mkdir()
        reader = ALL[kind].prepare(source(kind, SEED, number), folder)
        try:
            reader()
            read += 1
        except ValueError:
            refused += 1
        number += 1
        if kind == "command-line":  # its refusals are exit statuses
            refused = max(refused, 2)
        assert number < 100


def test_the_command_offers_all_kinds():
    assert fuzz.KINDS.split(",") == list(ALL)
    assert COUNTS.keys() == ALL.keys()
