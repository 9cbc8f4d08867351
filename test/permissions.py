# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Permissions of processes that tests start: whether they have them, and processes without."""

import ctypes
import os
import resource
import subprocess
import sys

DROP_FROM_BOUNDING_SET = 24  # PR_CAPBSET_DROP
CAP_SYS_NICE, CAP_IPC_LOCK = 23, 14
LIBC = ctypes.CDLL(None)


def without_real_time() -> None:
    """To be called in a new process: no real-time priority, no locked memory, also for root.

    A process without the right to drop capabilities does not have these two either.
    """
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    for capability in (CAP_SYS_NICE, CAP_IPC_LOCK):
        LIBC.prctl(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)


def may_use_real_time(priority: int) -> bool:
    """Whether a process started here may have this real-time priority."""
    code = f"import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param({priority}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True)
    return run.returncode == 0


def threads(process: int) -> list[int]:
    """The threads of a process."""
    return [int(each) for each in os.listdir(f"/proc/{process}/task")]
