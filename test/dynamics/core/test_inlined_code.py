# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Functions that only compiled code calls: the same results, without machine code of their own."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import IS_COMPILED, compiled, inlined

if not IS_COMPILED:
    pytest.skip("nothing is compiled without Numba, which is optional", allow_module_level=True)

import numba
from numba.core import event
from numba.core.codegen import JITCodeLibrary

from rejections import assert_rejected


@inlined
def rotated(pair, angle):
    """Three results of two types, and a library function."""
    c, s = np.cos(angle), np.sin(angle)
    return (c * pair[0] - s * pair[1], s * pair[0] + c * pair[1]), angle > 0.0


@inlined
def accumulate(rows, k, value):
    """Writes to an array, and returns early."""
    if k >= rows.shape[0]:
        return False
    rows[k, 0] += value[0]
    rows[k, 1] += value[1]
    return True


@inlined
def twice(rows, k, angle):
    """Calls one function twice, another one once, with an integer and a float."""
    pair, _ = rotated((rows[k, 0], rows[k, 1]), angle)
    pair, positive = rotated(pair, 1)
    return accumulate(rows, k + 1, pair) and positive


@inlined
def checked(x):
    if x < 0.0:
        raise ValueError("negative")
    return x**0.5


def walk(rows, angle):
    count = 0
    for k in range(rows.shape[0]):
        count += twice(rows, k, angle)
    return count


def other(rows, angle):
    return twice(rows, 0, angle) + accumulate(rows, 1, (0.5, angle))


def rows():
    return np.random.default_rng(1).normal(size=(5, 2))


@pytest.mark.parametrize("function", [walk, other])
@pytest.mark.parametrize("compiler", [compiled, numba.njit])
def test_results_are_those_of_python(function, compiler):
    expected, found = rows(), rows()
    assert compiler(function)(found, 0.7) == function(expected, 0.7)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert not np.array_equal(found, rows())


def test_the_first_caller_does_not_decide_how_numbers_are_rounded():
    @inlined
    def ratio(a, b, c):
        return (a * b + c) / c

    def first(a, b, c):
        return ratio(a, b, c)

    def second(a, b, c):
        return ratio(a, b, c)

    a, b = 1.0 + 2.0**-30, 1.0 - 2.0**-30  # a b = 1 - 2^-60, which a product rounds to 1
    others, ours = numba.njit(first), compiled(second)
    assert others(a, b, -1.0) == ours(a, b, -1.0)
    assert others(1.0, 1.0, 0.0) == ours(1.0, 1.0, 0.0) == np.inf  # not a ZeroDivisionError


def nested():
    """A new function that calls two inlined ones, of which one also calls the other."""

    @inlined
    def inner(x):
        return x + 1.0

    @inlined
    def outer(x):
        return 2.0 * inner(x)

    def whole(x):
        return outer(x) - inner(x)

    return whole


def test_callers_of_both_kinds_share_a_function():
    with event.install_recorder("numba:compile") as recorder:
        assert compiled(nested())(3.0) == 4.0
    started = [each for _, each in recorder.buffer if each.is_start]
    names = [each.data["dispatcher"].py_func.__name__ for each in started]
    assert sorted(names) == ["inner", "outer", "whole"]


def test_exceptions_are_raised():
    machine_code = compiled(lambda x: checked(x) + 1.0)
    assert machine_code(4.0) == 3.0
    assert_rejected((lambda: machine_code(-1.0), "negative"), error=ValueError)


def test_only_the_function_that_python_calls_has_machine_code(monkeypatch):
    finished, finish = [], JITCodeLibrary._finalize_specific

    def recorded(library):
        finished.append(library.name)
        finish(library)

    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", recorded)
    assert compiled(nested())(3.0) == 4.0
    assert len([name for name in finished if ".whole." in name]) == 1
    assert not [name for name in finished if ".inner" in name or ".outer" in name]
