# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark of the generated core in real time: causes of missed cycles, and its C program."""

import runpy
import subprocess
import sys
from pathlib import Path
from shutil import which

import numpy as np
import pytest

BENCHMARK = Path(__file__).parents[1] / "benchmark" / "realtime_core.py"
WARNINGS = ("-O0", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow")
US = 1000  # ns


@pytest.fixture(scope="module")
def benchmark():
    return runpy.run_path(str(BENCHMARK))


def records(benchmark, count):
    found = np.zeros(count, benchmark["RECORD"])
    found["late"], found["core"], found["control"] = 30 * US, 5 * US, 3 * US
    return found


def test_missed_cycles_have_one_cause_each(benchmark):
    rows = records(benchmark, 10_000)
    late, interrupted, longer, slow, long = rows[1:6]
    late["late"], late["skipped"] = 2500 * US, 2
    interrupted["core"], interrupted["is_interrupted"] = 1200 * US, 1
    longer["core"], longer["is_interrupted"], longer["skipped"] = 1500 * US, 1, 1
    slow["core"] = 1100 * US
    long["core"] = 20 * US
    found = benchmark["summary"](rows)
    assert found["missed"] == {"woken up late": 3, "core interrupted": 3, "core": 1}
    assert found["cycles"] == 10_003
    assert found["cores above 10 us"] == {"interrupted": 2, "not interrupted": 2}
    assert found["core, not interrupted"][-1] == 1100.0
    lines = benchmark["table"]({"sleeping": found}).splitlines()
    assert lines[2].startswith("| sleeping | 10,003 | 30.0, 30.0, 30.0, 2,500 | 5.0, ")
    assert lines[2].endswith("| 3, 3, 1 |")
    assert len({line.count("|") for line in lines}) == 1


@pytest.mark.skipif(which("cc") is None, reason="needs a C compiler")
@pytest.mark.skipif(sys.platform != "linux", reason="needs the clocks and the scheduler of Linux")
def test_the_program_runs_the_core_with_and_without_sleeping(benchmark, tmp_path):
    """With or without the permission for real-time priority."""
    path = benchmark["program"](benchmark["designed"]("panda"), tmp_path, "cc", WARNINGS)
    for mode in ("hot", "sleeping", "rehearsed"):
        file = tmp_path / "records"
        command = [str(path), str(file), mode, "300", "0", "1"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert len(printed.split()) == 4
        rows = np.fromfile(file, benchmark["RECORD"])
        assert len(rows) == 300
        assert (rows["core"] > 0).all()
        assert set(rows["is_interrupted"]) <= {0, 1}
        assert (rows["control"] > 0).all()
        assert (np.diff(rows["scheduled"]) > 0).all()


@pytest.mark.parametrize("robot", ["panda", "variable", "antagonistic"])
def test_every_robot_has_a_design(benchmark, robot):
    design = benchmark["designed"](robot)
    assert design.model.n == 7
    assert len(design.actuators.motors) == (7 if robot == "panda" else 14)
