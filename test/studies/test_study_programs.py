# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The programs of studies/: each has help and a quick version, and is in the list."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from studies import bandwidths

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    file.stem for file in (ROOT / "studies").glob("*.py") if "\ndef main(" in file.read_text()
)


def test_the_list_has_every_program():
    listed = re.findall(r"^\| `studies\.(\w+)`", (ROOT / "studies" / "README.md").read_text(), re.M)
    assert sorted(listed) == PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_has_a_quick_version(name):
    command = [sys.executable, "-m", f"studies.{name}", "--help"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "--quick" in run.stdout


def test_compensation_divides_the_error_of_a_wrong_model(monkeypatch):
    monkeypatch.setattr(bandwidths, "SHOWN", ("all-10",))
    monkeypatch.setattr(bandwidths, "JUDGED", ())
    compensation, _ = bandwidths.jobs("antagonistic", 1, 3)
    without, default = (
        [float(cell) for cell in bandwidths.cells(compensation[k]._replace(has_equal_noise=False))]
        for k in (0, 4)
    )
    assert default[0] == 1.0
    assert without[1] > 3.0 * default[1]
