# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""SIGINT and SIGTERM while the program of a node is still importing its modules.

The imports take one or two seconds. Until the node installs its own handlers (nodes/base/runtime),
Python's would end the process with a traceback from the middle of an import and the status -2.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import FrameType

from .resources import NAME

NODES = f"{NAME}.nodes."


def exit_silently_on_signals(words: Sequence[str] = tuple(sys.orig_argv)) -> None:
    """In the program of a node, let SIGINT and SIGTERM end the process at once with status 0.

    Nothing has been published yet, so there is nothing to bring to a safe end. words : the command
    line of this process; in any program but that of a node, nothing changes.
    """
    if is_program_of_a_node(words) and threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _leave)


def is_program_of_a_node(words: Sequence[str] = tuple(sys.orig_argv)) -> bool:
    """Whether a command line is PYTHON -m multibody_dynamics.nodes.NODE or [PYTHON] .../NODE.

    NODE is one of this package: a node of another one that imports it keeps its own handling.
    """
    module = any(a == "-m" and b.startswith(NODES) for a, b in pairwise(words))
    return module or any(Path(word).name in _nodes() for word in words[:2])


def _nodes() -> set[str]:
    return {file.stem for file in (Path(__file__).parent / "nodes").glob("*_node.py")}


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(0)  # an exception could be swallowed by the module that is being imported
