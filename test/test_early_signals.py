# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Ctrl-C while a node imports its modules ends it without a traceback."""

import os
import signal
import subprocess
import sys

import pytest

from multibody_dynamics.early_signals import is_program_of_a_node

NODE = "multibody_dynamics.nodes.trajectory_node"
# The import hook stops the node where it would otherwise be for a moment only.
PROGRAM = f"""
import importlib.abc, os, runpy, signal, sys

class Hook(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numpy":
            os.kill(os.getpid(), int(sys.argv[1]))

sys.meta_path.insert(0, Hook())
sys.orig_argv[:] = [sys.executable, "-m", "{NODE}"]
runpy.run_module("{NODE}", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_imports_ends_a_node_quietly(number):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(int(number))], capture_output=True, text=True,
        env=os.environ, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["python3", "-m", NODE, "--ros-args"], True),
        (["/usr/bin/python3", "/opt/ros/lib/multibody_dynamics/feedforward_node"], True),
        (["/opt/ros/lib/multibody_dynamics/series_joints_node", "--ros-args"], True),
        (["/usr/bin/python3", "/opt/ros/lib/their_robot/their_driver_node"], False),
        (["python3", "-m", "pytest", "test/nodes"], False),
        (["python3", "-m", "multibody_dynamics.tools.cli", "compose", "feedforward_node"], False),
        (["python3"], False),
    ],
)
def test_only_programs_of_nodes_change_their_signals(words, expected):
    assert is_program_of_a_node(words) is expected
