# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The programs of this package do linear algebra on one thread."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from multibody_dynamics.linear_algebra import VARIABLES, use_one_thread

NODE = "multibody_dynamics.nodes.flatness_controller_node"
COUNT = "import numpy, scipy.linalg, os; print('threads', len(os.listdir('/proc/self/task')))"
AS_NODE = f"""
import sys
sys.orig_argv[:] = {{words}}
import multibody_dynamics.nodes
{COUNT}
"""


def threads(program: str) -> int:
    environment = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
    )
    assert "threads" in done.stdout, done.stderr
    return int(done.stdout.split()[-1])


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads in /proc")
@pytest.mark.skipif(os.cpu_count() == 1, reason="there is one thread in any case")
def test_a_node_has_no_threads_for_linear_algebra_but_a_program_that_imports_nodes_may():
    assert threads(AS_NODE.format(words=[sys.executable, "-m", NODE])) == 1
    assert threads(AS_NODE.format(words=[sys.executable, "their_program.py"])) == threads(COUNT)


def test_the_environment_is_respected(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    monkeypatch.delenv("OMP_NUM_THREADS")
    use_one_thread()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
    assert os.environ["OMP_NUM_THREADS"] == "1"
