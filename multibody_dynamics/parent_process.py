# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Nodes and viewers that a command starts end with it, whatever ends it.

A command stops its children in order; if it is killed, the kernel sends them SIGTERM (prctl(2)).
"""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Mapping

PARENT = "MULTIBODY_DYNAMICS_PARENT"  # the id of the process that a child must not outlive
PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


def child_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment `environ`, by default that of this process, for a child that is to end with
    it. Children of another thread than the main one are not bound: the kernel watches the thread,
    which may end first."""
    child = dict(os.environ if environ is None else environ)
    if sys.platform == "linux" and threading.current_thread() is threading.main_thread():
        child[PARENT] = str(os.getpid())
    return child


def end_with_parent() -> None:
    """Get SIGTERM when the parent that has set PARENT ends; without it, nothing changes."""
    if parent := os.environ.pop(PARENT, ""):  # not for the children of this process
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if str(os.getppid()) != parent:  # it ended before
            os._exit(0)
