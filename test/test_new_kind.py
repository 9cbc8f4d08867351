# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A kind of actuator is one file: a copy of the package with one more kind passes all laws."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import multibody_dynamics
from multibody_dynamics.resources import share_directory

TESTS = Path(__file__).parent
LAWS = (
    "dynamics/elastic/test_actuator.py", "dynamics/codegen/test_c_translation.py",
    "dynamics/control/observers/test_state_estimation.py",
    "dynamics/control/observers/test_motor_side_observer.py",
    "dynamics/plant/test_elastic_robot.py", "simulation/test_mujoco_robot.py",
    "dynamics/control/gains/test_joint_gains.py",
    "dynamics/control/observers/test_state_predictor.py",
    "dynamics/control/laws/by_name/test_by_name.py", "parallel_checks.py",
)  # fmt: skip
"""Tests that run over the examples of all kinds."""


def test_a_new_kind_is_one_file_and_its_line_in_the_registry(tmp_path):
    """In plain Python: compiling the dynamics with one more kind would take a minute."""
    package = tmp_path / "multibody_dynamics"
    copytree(Path(multibody_dynamics.__file__).parent, package, ignore=ignore_patterns("__py*"))
    kinds = package / "dynamics" / "elastic" / "kinds"
    (kinds / "parallel.py").write_text((TESTS / "parallel_kind.py").read_text())
    registry = (kinds / "__init__.py").read_text()
    new = registry.replace(
        "from .rigid import", "from .parallel import ParallelElastic\nfrom .rigid import"
    ).replace("\n}\n", '\n    "parallel elastic": ParallelElastic,\n}\n')
    assert new.count("ParallelElastic") == 2
    (kinds / "__init__.py").write_text(new)
    for each in ("config", "launch", "package.xml"):  # a package finds its files beside itself
        (tmp_path / each).symlink_to(share_directory() / each)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(tmp_path), str(TESTS))),
        "NUMBA_DISABLE_JIT": "1",
        "MULTIBODY_DYNAMICS_TEST_KIND": "parallel_row",
    }
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-c", os.devnull,
         "--rootdir", tmp_path, *(TESTS / each for each in LAWS),
         "-k", "parallel or examples or ParallelElastic"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("[parallel] PASSED") == 15
    assert run.stdout.count("arm_of_ParallelElastic] PASSED") == 15
    assert run.stdout.count("[examples] PASSED") == 1  # in C
