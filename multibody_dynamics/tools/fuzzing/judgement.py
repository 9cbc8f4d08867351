# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""One fuzzed input: written, read, and judged."""

from __future__ import annotations

import contextlib
import io
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from ...dynamics.core import DynamicsError

LONGEST = 2000  # characters of a refusal


@dataclass(frozen=True)
class Finding:
    """An input that was neither read nor properly refused.

    what : what happened, in one line, without the details of this input
    text : everything about it
    """

    what: str
    text: str


def source(kind: str, seed: int, number: int) -> Random:
    """The random numbers of one input, which are always the same."""
    return Random(f"{kind} {seed} {number}")


def attempt(read: Callable[[], object], seconds: float) -> Finding | None:
    """Read the input and judge the outcome; None if it was read, or refused in one line.

    seconds : CPU time that this may take
    """
    begin = time.process_time()
    found: Finding | None = None
    with warnings.catch_warnings(record=True) as caught, _silence():
        warnings.simplefilter("always")
        try:
            read()
        except DynamicsError as error:
            found = _judged_message(error)
        except Exception as error:
            found = Finding(_summary(error), traceback.format_exc())
    taken = time.process_time() - begin
    if found is None:
        for each in caught:
            if issubclass(each.category, RuntimeWarning):  # of NumPy: a meaningless result
                place = "/".join(Path(each.filename).parts[-2:])
                what = f"RuntimeWarning in {place}:{each.lineno}"
                return Finding(what, str(each.message))
    if found is None and taken > seconds:
        found = Finding("too slow", f"took {taken:.1f} s of CPU time; allowed: {seconds:g} s")
    return found


def _judged_message(error: DynamicsError) -> Finding | None:
    text = str(error)
    where = _place(error)
    if len(text.splitlines()) > 1:
        return Finding(f"message of several lines, raised in {where}", text)
    if not text.strip():
        return Finding(f"empty message, raised in {where}", repr(error))
    if len(text) > LONGEST:
        return Finding(f"message of more than {LONGEST} characters, raised in {where}", text)
    return None


def _summary(error: Exception) -> str:
    return f"{type(error).__name__} in {_place(error)}"


def _place(error: BaseException) -> str:
    """The innermost line of this package in a traceback, apart from `attempt` itself."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [f for f in frames if "multibody_dynamics" in Path(f.filename).parts] or frames
    if not own:  # raised by compiled code
        return "the reader"
    parts = Path(own[-1].filename).parts
    return f"{'/'.join(parts[-2:])}:{own[-1].lineno}"


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
