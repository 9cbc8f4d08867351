# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What counts as a failure of a reader."""

from __future__ import annotations

import warnings

import pytest

from multibody_dynamics.dynamics.core import DynamicsError, InputError
from multibody_dynamics.tools.fuzzing import judgement
from multibody_dynamics.tools.fuzzing.judgement import attempt, source


class RawError(InputError):
    """An error whose message is printed as it is, unlike those of this package."""

    def __str__(self) -> str:
        return str(self.args[0])


def raising(error: Exception):
    def read() -> None:
        raise error

    return read


def test_results_and_refusals_in_one_line_are_right():
    assert attempt(lambda: None, 5.0) is None
    assert attempt(raising(InputError("a.yaml: key 'b' is missing")), 5.0) is None


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (KeyError("b"), "KeyError in "),
        (RecursionError(), "RecursionError in "),
        (MemoryError(), "MemoryError in "),
        (RawError("two\nlines"), "message of several lines"),
        (RawError(" "), "empty message"),
        (RawError(3000 * "a"), "message of more than 2000 characters"),
    ],
)
def test_anything_else_is_a_failure(error, what):
    found = attempt(raising(error), 5.0)
    assert found is not None
    assert found.what.startswith(what)
    assert "test_judgement.py:" in found.what


def test_a_numerical_warning_is_a_failure_and_the_package_s_own_is_not():
    def read() -> None:
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)

    found = attempt(read, 5.0)
    assert found is not None
    assert "RuntimeWarning in fuzzing/test_judgement.py" in found.what
    assert attempt(lambda: warnings.warn("ignored a tag", UserWarning, stacklevel=1), 5.0) is None


def test_time_is_that_of_the_processor(monkeypatch):
    times = iter([10.0, 16.0])
    monkeypatch.setattr(judgement.time, "process_time", lambda: next(times))
    found = attempt(lambda: None, 5.0)
    assert found is not None
    assert found.text == "took 6.0 s of CPU time; allowed: 5 s"


def test_every_input_has_its_own_random_numbers():
    assert source("csv", 1, 2).random() == source("csv", 1, 2).random()
    others = {source(*key).random() for key in (("csv", 1, 2), ("csv", 2, 1), ("npz", 1, 2))}
    assert len(others) == 3


def test_errors_of_the_package_are_always_one_short_line():
    for kind in (DynamicsError, InputError):
        assert str(kind("a.yaml:\n  bad\x0b\nvalue\n")) == "a.yaml: bad value"
        assert len(str(kind("a" * 5000))) < 1000
        assert str(kind("a  b")) == "a  b"
