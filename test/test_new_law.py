# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A control law is one file: a copy of the package with one more law has it everywhere."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest

import multibody_dynamics

TESTS = Path(__file__).parent
CHECKS = (
    "dynamics/control/laws/by_name/test_by_name.py",
    "nodes/following/test_flatness_controller_parameters.py",
)
"""Tests that run over all laws."""
OVER_ALL = "every_law_has_a_row or live_settings or share_a_parameter or no_other_parameter"
"""Those of them that run over all laws at once."""
MODULE = "multibody_dynamics.dynamics.control.laws.by_name.saturated_pd"


def run(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run Python in this folder; in plain Python, because compiling the dynamics with one more law
    would take a minute."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(folder), str(TESTS))),
        "NUMBA_DISABLE_JIT": "1",
    }
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=900,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, the law `saturated_pd`, its row, and the tests over all laws."""
    made = tmp_path_factory.mktemp("new_law")
    package = Path(multibody_dynamics.__file__).parent
    copytree(package, made / package.name, ignore=ignore_patterns("__py*"))
    for each in ("docs", "scripts"):
        copytree(package.parent / each, made / each, ignore=ignore_patterns("images"))
    copy(TESTS / "saturated_pd.py", made / package.name / "dynamics/control/laws/by_name")
    for each in CHECKS:
        copy(TESTS / each, made)
    new = (TESTS / "law_table.py").read_text()
    for before, added in (
        ("\n)\n\n\n@dataclass", f"\n)\nfrom {MODULE} import SaturatedPD\n\n\n@dataclass"),
        ("\n}\n", '\n    "saturated_pd": Expected(SaturatedPD, 1e-4),\n}\n'),
    ):
        assert new.count(before) == 1
        new = new.replace(before, added)
    (made / "law_table.py").write_text(new)
    return made


def test_a_new_law_is_one_file_and_its_row(folder):
    names = [Path(each).name for each in CHECKS]
    found = run(
        folder, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-c", os.devnull,
        "--rootdir", folder, *names, "-k", f"saturated_pd or {OVER_ALL}",
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    passed = {line.split()[0] for line in found.stdout.splitlines() if " PASSED" in line}
    for each in (
        "test_by_name.py::test_laws_follow_a_motion[saturated_pd]",
        "test_by_name.py::test_every_law_is_stable_at_all_poses_once_it_has_been_lowered[saturated_pd]",
        "test_by_name.py::test_what_may_change_while_a_law_runs_is_an_attribute_of_its_controller[saturated_pd]",
        "test_by_name.py::test_live_settings_that_are_not_judged_leave_the_loop_as_it_is",
        "test_flatness_controller_parameters.py::test_no_other_parameter_has_the_name_of_one_of_a_law",
    ):
        assert each in passed, found.stdout


def test_the_tables_the_parameters_and_the_study_have_it(folder):
    found = run(folder, "scripts/reference.py")
    assert found.returncode == 0, found.stderr
    parameters = (folder / "docs" / "flatness_controller_node.md").read_text()
    for row in (
        "| `error_limit` | double | `0.05` | rad or m | 0.001 ... 1 | live | with its law |",
        "| `saturated_pd_bandwidth` | double[] | `[60.0]` | rad/s |",
        "motor_pd, saturated_pd, state_feedback, torque_control | live | yes | control law",
    ):
        assert row in parameters, row
    laws = (folder / "docs" / "control_laws.md").read_text()
    assert "| `damping_factor`, `error_limit` | `SaturatedPD` |" in laws
    found = run(
        folder,
        "-c",
        "from multibody_dynamics.tools.study.studied_laws import chosen_laws;"
        "print(chosen_laws(['saturated_pd'])[-1].key)",
    )
    assert found.stdout == "saturated-pd\n", found.stderr
