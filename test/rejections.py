# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tables of bad input: calls that must raise, and the words that their messages must contain."""

from collections.abc import Callable

import pytest

from multibody_dynamics.dynamics.core import InputError

Row = tuple[Callable[[], object], str] | tuple[Callable[[], object], str, type[Exception]]


def assert_rejected(*rows: Row, error: type[Exception] = InputError) -> None:
    """Each row is a call, words separated by blanks, and its own class of error if it has one: the
    call raises that or `error`, and the message names the words. All rows that fail are reported
    together."""
    failures = []
    for number, (call, words, *own) in enumerate(rows, 1):
        kind = own[0] if own else error
        try:
            result = call()
        except kind as found:
            missing = [word for word in words.split() if word not in str(found)]
            if missing:
                failures.append(f"row {number}: {missing} is not in the message: {found}")
        else:
            failures.append(f"row {number} ({words}) is accepted: {result!r}")
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)
