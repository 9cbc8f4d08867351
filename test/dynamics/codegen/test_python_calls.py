# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Built-in functions that check rows and run a kernel, or Python where there is none."""

import gc
import sys
import weakref

import numpy as np
import pytest

from multibody_dynamics.dynamics.codegen import Calls, compile_module, python_calls
from multibody_dynamics.dynamics.core import IS_COMPILED

pytestmark = pytest.mark.skipif(
    not Calls.available(), reason="machine code needs Numba, which is optional"
)

N = 5
KERNEL = """
define i1 @double_first(ptr %table) {
  %at = getelementptr ptr, ptr %table, i64 1
  %from = load ptr, ptr %table
  %to = load ptr, ptr %at
  %x = load double, ptr %from
  %y = fmul double %x, 2.0
  store double %y, ptr %to
  %small = fcmp olt double %x, 1.0e2
  ret i1 %small
}
"""


def kernel():
    (address,) = compile_module("test-double-first", KERNEL, ["double_first"])
    return address


class Example:
    """The kernel doubles the first number, Python negates it."""

    def __init__(self):
        self.state, self.result = np.zeros((2, N)), np.zeros(1)
        self.guarded = np.zeros(16)
        self.answer = (self.result,)

        def in_python(state=self.state, result=self.result):
            result[0] = -state[0, 0]

        self.calls = Calls(
            in_python, self.state, self.answer, (self.state, self.result), self.guarded
        )


@pytest.fixture
def example():
    return Example()


def test_python_runs_where_the_kernel_fails(example):
    example.calls.kernel = kernel()
    large = ROWS + 100.0
    assert example.calls.call(*large) is example.answer
    assert example.result == -103.0
    assert example.calls.call(*ROWS) is example.answer
    assert example.result == 6.0


def test_an_update_returns_what_it_was_given_for_the_kernel():
    state, table, done = np.ones((1, N)), np.zeros(1), object()
    calls = Calls(lambda: 7, state, (), (state, table), np.zeros(8), done)
    assert calls.update() == 7
    calls.kernel = kernel()
    assert calls.update() is done
    state[0, 0] = 200.0
    assert calls.update() == 7


ROWS = np.arange(2.0 * N).reshape(2, N) + 3.0


def test_python_runs_until_there_is_a_kernel(example):
    calls = example.calls
    assert calls.kernel is None
    assert calls.call(*ROWS) is example.answer
    assert example.result == -3.0
    calls.kernel = kernel()
    assert calls.kernel == kernel()
    assert calls.call(*ROWS) is example.answer
    assert example.result == 6.0
    example.state[0, 0] = 4.0
    assert calls.update() is None
    assert example.result == 8.0
    calls.kernel = None
    calls.update()
    assert example.result == -4.0


@pytest.mark.parametrize("k", [0, 7, 15])
@pytest.mark.parametrize("value", [1.0, -5e-324, np.nan])
def test_a_guarded_number_leaves_the_work_to_python(example, k, value):
    example.calls.kernel = kernel()
    example.guarded[k] = value
    example.calls.call(*ROWS)
    assert example.result == -3.0
    example.guarded[k] = 0.0
    example.calls.call(*ROWS)
    assert example.result == 6.0


class Subclass(np.ndarray):
    """Not exactly an array."""


UNUSUAL = {
    "list": list(ROWS[1]),
    "short": ROWS[1, :-1].copy(),
    "long": np.zeros(N + 1),
    "empty": np.zeros(0),
    "row of a matrix": ROWS[1:],
    "scalar": np.array(1.0),
    "float": 1.0,
    "none": None,
    "float32": ROWS[1].astype(np.float32),
    "integers": ROWS[1].astype(int),
    "other byte order": ROWS[1].astype(">f8"),
    "strided": np.repeat(ROWS[1], 2)[::2],
    "reversed": ROWS[1][::-1],
    "subclass": ROWS[1].view(Subclass),
    "objects": ROWS[1].astype(object),
    "nan": np.array([1, 2, 3, 4, np.nan]),
    "inf": np.array([-np.inf, 2, 3, 4, 5]),
}


@pytest.mark.parametrize("name", UNUSUAL)
@pytest.mark.parametrize("place", [0, 1])
def test_unusual_rows_are_left_to_the_caller(example, name, place):
    example.state[:] = 7.0
    rows = list(ROWS)
    rows[place] = UNUSUAL[name]
    assert example.calls.call(*rows) is None
    assert (example.state == 7.0).all()
    assert example.result == 0.0


def test_another_number_of_rows_is_left_to_the_caller(example):
    assert example.calls.call() is None
    assert example.calls.call(ROWS[0]) is None
    assert example.calls.call(*ROWS, ROWS[0]) is None


def test_each_row_has_its_own_length_and_place():
    short, long, result = np.zeros(2), np.zeros(N), (np.zeros(1),)
    calls = Calls(lambda: None, (short, long), result, (), np.zeros(8))
    assert calls.call(ROWS[0, :2], ROWS[1]) is result
    np.testing.assert_array_equal(short, ROWS[0, :2])
    np.testing.assert_array_equal(long, ROWS[1])
    for refused in ((long, short), (long, long), (short, ROWS[1] * np.nan)):
        assert calls.call(*refused) is None
    np.testing.assert_array_equal(long, ROWS[1])


def test_a_row_may_be_empty():
    row, none, result = np.zeros(N), np.zeros(0), (np.zeros(1),)
    calls = Calls(lambda: None, (none, row), result, (), np.zeros(8))
    assert calls.call(np.full(3, np.nan)[:0], ROWS[1]) is result  # nothing behind it is read
    np.testing.assert_array_equal(row, ROWS[1])


def test_rows_may_be_views_read_only_and_not_aligned(example):
    calls = example.calls
    example.state[:] = ROWS
    assert calls.call(example.state[1], example.state[0]) is example.answer
    np.testing.assert_array_equal(example.state, ROWS[::-1])
    fixed = ROWS.copy()
    fixed.flags.writeable = False
    assert calls.call(*fixed) is example.answer
    unaligned = np.frombuffer(b"?" + ROWS[0].tobytes(), dtype=float, offset=1)
    assert not unaligned.flags.aligned
    assert calls.call(unaligned, ROWS[1]) is example.answer
    np.testing.assert_array_equal(example.state, ROWS)


def test_exceptions_of_python_are_raised(example):
    def fail():
        raise RuntimeError("no")

    calls = Calls(fail, example.state, example.answer, (example.state,), example.guarded)
    for action in (calls.update, lambda: calls.call(*ROWS)):
        with pytest.raises(RuntimeError, match="no"):
            action()


def test_references_are_neither_lost_nor_kept(example):
    calls, rows = example.calls, tuple(ROWS)
    watched = (example.answer, example.result, *rows)
    for address in (None, kernel()):
        calls.kernel = address
        before = [sys.getrefcount(each) for each in watched]
        for _ in range(1000):
            calls.call(*rows)
            calls.update()
            calls.call(1, 2)
        assert [sys.getrefcount(each) for each in watched] == before


def test_functions_keep_their_buffers_and_no_more():
    example = Example()
    update, state = example.calls.update, weakref.ref(example.state)
    del example
    gc.collect()
    assert state() is not None
    assert update() is None
    del update
    gc.collect()
    assert state() is None


def test_buffers_are_checked(example):
    state, answer, guarded = example.state, example.answer, example.guarded
    for bad in (state.astype(np.float32), np.asfortranarray(np.ones((2, 3)))):
        with pytest.raises(ValueError, match="contiguous arrays of float64"):
            Calls(print, bad, answer, (), guarded)
    for count in (0, 7):
        with pytest.raises(ValueError, match="a multiple of 8"):
            Calls(print, state, answer, (), np.zeros(count))


def test_an_unknown_layout_of_arrays_is_noticed(monkeypatch):
    assert python_calls.layout_is_known() is IS_COMPILED
    for name, offset in python_calls.OFFSETS.items():
        moved = python_calls.OFFSETS | {name: offset + 8}
        monkeypatch.setattr(python_calls, "OFFSETS", moved)
        # where the next field has the same value, there is no difference to notice
        assert not python_calls.layout_is_known() or name == "dimensions"
        monkeypatch.undo()
