# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Every part of `make benchmark` runs, with few calls. The times are not judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = (
    "inverse_dynamics",
    "batches",
    "forward_dynamics",
    "derivatives",
    "scaling",
    "constrained",
    "integration",
)


@pytest.mark.parametrize("part", PARTS)
def test_the_part_runs_and_its_results_are_correct(tmp_path, part):
    """The program compares every result before it is timed, and ends at a wrong one."""
    options = ("--rounds", "1", "--calls", "2", "--only", part, "--output", str(tmp_path))
    run = subprocess.run(
        [sys.executable, "benchmark", *options], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert json.loads((tmp_path / "benchmark.json").read_text())["groups"]
