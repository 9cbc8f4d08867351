# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Children of a killed command end, and nothing else does."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from multibody_dynamics.parent_process import PARENT, child_environment
from multibody_dynamics.tools.base.ros_settings import ros_environment

PATIENCE = 100.0  # s
STARTER = """
import os, sys, time
from pathlib import Path
from multibody_dynamics.tools.base.processes import NodeProcess

node = NodeProcess("trajectory_node", [], log=Path(sys.argv[1]))
print(node.pid, flush=True)
time.sleep(600.0)
"""


@pytest.mark.parametrize("is_running", [False, True])
def test_a_node_ends_with_a_killed_parent(is_running, tmp_path, ros_domain_id):
    log = tmp_path / "log"
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(log)],
        stdout=subprocess.PIPE,
        env=ros_environment(ros_domain_id),
    ) as parent:
        node = os.pidfd_open(int(parent.stdout.readline()))
        deadline = time.monotonic() + PATIENCE
        while is_running and "unconfigured: waiting" not in log.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        parent.kill()
    try:
        assert select.select([node], [], [], PATIENCE)[0], "the node outlived its parent"
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(node, signal.SIGKILL)
        os.close(node)


def test_a_command_that_outlives_its_parent_ends_before_it_does_anything():
    words = [sys.executable, "-m", "multibody_dynamics", "--version"]
    orphan = {**os.environ, PARENT: "0"}  # not the parent of what follows
    done = subprocess.run(words, env=orphan, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    done = subprocess.run(words, env=child_environment(), capture_output=True, text=True)
    assert done.stdout.startswith("multibody_dynamics")


def test_children_of_other_threads_are_not_bound_to_them():
    found = {}
    thread = threading.Thread(target=lambda: found.update(child_environment({"A": "1"})))
    thread.start()
    thread.join()
    assert found == {"A": "1"}
    assert child_environment({"A": "1"}) == {"A": "1", PARENT: str(os.getpid())}
    assert PARENT not in os.environ
