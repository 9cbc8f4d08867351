# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tables of bad input: calls that must raise, and the words that their messages must contain."""

from collections.abc import Callable

import pytest

from multibody_dynamics.dynamics.core import InputError


def assert_rejected(
    *rows: tuple[Callable[[], object], str], error: type[Exception] = InputError
) -> None:
    """Each row is a call and words, separated by blanks: the call raises `error`, and the message
    names the words. All rows that fail are reported together."""
    failures = []
    for number, (call, words) in enumerate(rows, 1):
        try:
            result = call()
        except error as found:
            missing = [word for word in words.split() if word not in str(found)]
            if missing:
                failures.append(f"row {number}: {missing} is not in the message: {found}")
        else:
            failures.append(f"row {number} ({words}) is accepted: {result!r}")
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)
