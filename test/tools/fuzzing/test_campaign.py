# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Campaigns: their order, their reports, and what is written about a failure."""

from __future__ import annotations

import pytest

import fuzzed_failures as failures
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.tools.fuzzing.campaign import BATCH, REPORT, chosen, run, write
from multibody_dynamics.tools.fuzzing.judgement import Finding
from multibody_dynamics.tools.fuzzing.kinds import ALL
from multibody_dynamics.tools.fuzzing.worker_process import Worker


def test_kinds_take_turns_and_each_failure_is_written_once(tmp_path):
    seen = []
    kinds = ("csv", "springs")
    result = run(
        kinds, 7, tmp_path, more=lambda count: count < BATCH + 4, first=failures.GOOD,
        progress=lambda result: seen.append(result.total), worker=_TwoFailures(),
    )  # fmt: skip
    assert result.tried == {"csv": BATCH, "springs": 4}
    assert seen == list(range(1, BATCH + 5))
    assert result.findings == {("csv", "KeyError"): 2, ("springs", "KeyError"): 2}
    assert sorted(folder.name for folder in tmp_path.iterdir()) == [
        "csv_7_1_KeyError",
        "springs_7_1_KeyError",
    ]
    assert {file.name for file in (tmp_path / "csv_7_1_KeyError").iterdir()} == {
        "motion.csv",
        REPORT,
    }
    text = (tmp_path / "csv_7_1_KeyError" / REPORT).read_text()
    assert "multibody_dynamics fuzz --what csv --seed 7 --first 1 --count 1" in text


class _TwoFailures(Worker):
    """Inputs 1 and 3 fail."""

    def attempt(self, kind: str, seed: int, number: int) -> Finding | None:
        return Finding("KeyError", "details") if number in (1, 3) else None


def test_what_is_written_is_what_was_read(tmp_path):
    """The same seed and number give the same bytes."""
    for kind in ("urdf", "springs", "npz", "csv", "command-line"):
        one, other = (
            write(tmp_path / name, kind, 3, 5, Finding(kind, "")) for name in ("one", "other")
        )
        files = sorted(file.name for file in one.iterdir())
        assert REPORT in files
        assert len(files) > 1
        for name in files:
            assert (one / name).read_bytes() == (other / name).read_bytes()


def test_kinds_are_chosen_by_name():
    assert chosen([]) == tuple(ALL)
    assert chosen(["npz", "csv", "npz"]) == ("npz", "csv")
    with pytest.raises(InputError, match="--what yaml: expected some of urdf, springs"):
        chosen(["yaml"])
