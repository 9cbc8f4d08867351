# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A pipe that nobody reads does not hold up a node; a pipe that is read loses nothing."""

import os
import pty
import subprocess
import sys

import pytest

from multibody_dynamics.tools.base.ros_settings import ros_environment

MANY = 2000  # lines, more than fit into a pipe
FEW = 300
PROGRAM = """
import sys, warnings
import rclpy.logging
from multibody_dynamics.nodes.base.nonblocking_output import never_block

never_block()
log = rclpy.logging.get_logger("test")
for k in range(int(sys.argv[2])):
    log.warning(f"line {k} " + 60 * "x")
    print(f"printed {k} " + 1000 * "x")
    warnings.warn(f"warned {k}", stacklevel=2)
open(sys.argv[1], "w").write("done")
"""


def started(done, stream, lines=FEW):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(done), str(lines)],
        stdout=stream, stderr=subprocess.STDOUT, env=ros_environment(0),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
def test_a_stream_that_nobody_reads_does_not_block(tmp_path, kind):
    reader, writer = os.pipe() if kind == "pipe" else pty.openpty()
    process = started(tmp_path / "done", writer, MANY)
    try:
        assert process.wait(120) == 0
    finally:
        process.kill()
    assert (tmp_path / "done").read_text() == "done"
    assert os.get_blocking(writer)  # the open file that others share is as it was
    os.set_blocking(reader, False)
    assert b"line 0" in os.read(reader, 4096)
    os.close(reader)
    os.close(writer)


def test_a_stream_that_is_read_loses_nothing(tmp_path):
    process = started(tmp_path / "done", subprocess.PIPE)
    printed = process.communicate(timeout=120)[0].decode()
    assert process.returncode == 0
    assert all(f"line {k} " in printed and f"printed {k} " in printed for k in range(FEW))


def test_a_file_remains_as_it_is(tmp_path):
    with (tmp_path / "log").open("wb") as log:
        assert started(tmp_path / "done", log).wait(120) == 0
    printed = (tmp_path / "log").read_text()
    assert all(f"line {k} " in printed and f"printed {k} " in printed for k in range(FEW))
