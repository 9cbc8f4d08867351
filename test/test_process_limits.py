# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Nodes and commands under a limit with which they cannot work end in one line."""

import resource
import subprocess
import sys

import pytest

from little_memory import no_more_memory
from multibody_dynamics.process_limits import THREADS, insufficient_limit

MEMORY = resource.RLIMIT_AS, 10**9, "address space of this process is limited to 1000 MB"
FILE_SIZE = resource.RLIMIT_FSIZE, 0, "size of its files is limited to 0 MB (ulimit -f)"
OPEN_FILES = resource.RLIMIT_NOFILE, 16, "number of its open files is limited to 16 (ulimit -n)"


@pytest.mark.parametrize(  # all begin with the same check: each node, each limit, and commands
    ("module", "words", "limit", "value", "expected", "program"),
    [
        ("nodes.feedforward_node", "--ros-args", *MEMORY, "node"),
        ("nodes.flatness_controller_node", "", *FILE_SIZE, "node"),
        ("nodes.elastic_robot_simulator_node", "", *OPEN_FILES, "node"),
        ("nodes.trajectory_node", "", *MEMORY, "node"),
        ("tools.cli", "compose trajectory_node", *MEMORY, "node"),
        ("tools.cli", "inspect a.urdf", MEMORY[0], 3 * 10**8, "limited to 300 MB", "command"),
        ("tools.cli", "validate a.csv --urdf a.urdf", *OPEN_FILES, "command"),
    ],
)
def test_the_limit_with_which_a_process_cannot_work_is_named(
    module, words, limit, value, expected, program
):
    done = subprocess.run(
        [sys.executable, "-m", f"multibody_dynamics.{module}", *words.split()],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(limit, (value, value)),
    )
    assert done.returncode == 1
    (line,) = (done.stdout + done.stderr).splitlines()
    assert line.startswith("multibody_dynamics: ")
    assert expected in line
    assert f"a {program} needs at least" in line


def test_threads_that_cannot_be_started_are_counted():
    assert insufficient_limit() == ""
    with no_more_memory():
        found = insufficient_limit()
    if "threads" in found:  # with a lower limit on memory, that one is named
        assert f"only 0 of {THREADS['node']} threads can be started" in found
    else:
        assert "ulimit -v" in found
