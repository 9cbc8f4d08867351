# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A signal ends a process that computes, in Python or in compiled code, and only there."""

import signal
import subprocess
import sys

import pytest

from multibody_dynamics.nodes.base.leave_flag import PATIENCE, LeaveFlag, LeavingDuringCallback

BEGIN = """
import ctypes, signal, time
from multibody_dynamics.nodes.base.leave_flag import PATIENCE, LeaveFlag, LeavingDuringCallback
leave = LeaveFlag(ends_process=True)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, leave.on_signal)
"""
COMPILED = """
lock = ctypes.CDLL(None).pthread_mutex_lock  # waits in C, as for LLVM, and no signal wakes it up
mutex = ctypes.create_string_buffer(64)
lock(mutex)
with leave.interrupting():
    try:
        print("computing", flush=True)
        lock(mutex)
    except LeavingDuringCallback:  # the signal came before that
        lock(mutex)
"""
PYTHON = """
try:
    with leave.interrupting():
        print("computing", flush=True)
        time.sleep(60.0)
except LeavingDuringCallback:
    time.sleep(3.0 * PATIENCE)
    print("left in order", signal.set_wakeup_fd(-1))
"""


def ended(program, number):
    """Status and output of a program that receives a signal once it computes."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "computing\n"
    process.send_signal(number)
    output, _ = process.communicate(timeout=20.0)
    return process.returncode, output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_in_compiled_code_ends(number):
    assert ended(COMPILED, number) == (0, "stopped while compiling\n")


def test_python_code_is_interrupted_and_leaves_in_order():
    assert ended(PYTHON, signal.SIGINT) == (0, "left in order -1\n")


def test_only_the_first_signal_raises_and_only_inside():
    leave = LeaveFlag()
    leave.on_signal(signal.SIGINT, None)
    assert leave.is_set()
    with pytest.raises(LeavingDuringCallback), leave.interrupting():
        leave.on_signal(signal.SIGINT, None)
    with leave.interrupting(), pytest.raises(LeavingDuringCallback):
        leave.on_signal(signal.SIGINT, None)
    assert PATIENCE <= 0.5  # so that a node ends within a second
