# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""`make benchmark` runs, with few calls and short chains. The times are not judged here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FEW = ("--rounds", "1", "--calls", "2", "--joints", "15")


PARTS = {
    ("inverse_dynamics", "batches", "derivatives"): {"specialised", "orders", "batches"},
    ("control_cycle",): {"control_cycle"},
    ("scaling", "constrained", "integration", "forward_dynamics"): {
        "chains",
        "constrained",
        "integration",
        "forward_dynamics",
    },
}


def test_every_program_can_be_imported():
    """Those that need other machines, or hours, do not run here."""
    names = [file.stem for file in (ROOT / "benchmark").glob("*.py") if file.stem != "__main__"]
    assert {"load", "controller_equality", "validation"} <= set(names)
    command = [sys.executable, "-c", "\n".join(f"import {name}" for name in sorted(names))]
    run = subprocess.run(command, cwd=ROOT / "benchmark", capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(("parts", "tables"), PARTS.items(), ids=map(" ".join, PARTS))
def test_the_parts_run_and_their_results_are_correct(tmp_path, parts, tables):
    """The program compares every result before it is timed, and ends at a wrong one."""
    options = (*FEW, "--only", *parts, "--output", str(tmp_path))
    run = subprocess.run(
        [sys.executable, "benchmark", *options], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert tables <= json.loads((tmp_path / "benchmark.json").read_text())["groups"].keys()
