# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The rows of a cycle are accepted all together or not at all, whatever their type."""

import sys
import threading
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import checked_rows
from multibody_dynamics.dynamics.core.checked_rows import CheckedRows
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.core.inputs import read_only

NAMES, JOINTS = ("q", "qd", "tau"), ("a", "b")
START = np.arange(6.0).reshape(3, 2)
KINDS = {
    "arrays": np.asarray,
    "lists": np.ndarray.tolist,
    "single precision": lambda x: x.astype(np.float32),
    "foreign byte order": lambda x: x.astype(">f8"),
    "strided": lambda x: np.repeat(x, 2)[::2],
    "read-only": read_only,
    "integers": lambda x: x.astype(int),
    "half precision": lambda x: x.astype(np.float16),
}


def rows():
    values = START.copy()
    return CheckedRows(NAMES, JOINTS, values), values


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_any_kind_are_accepted(kind):
    taken, values = rows()
    wanted = np.array([[3.0, 1.0], [4.0, 1.0], [5.0, 9.0]])
    taken.take(tuple(KINDS[kind](row) for row in wanted))
    np.testing.assert_array_equal(values, wanted)


@pytest.mark.parametrize("kind", ["arrays", "strided", "read-only"])
def test_arrays_take_the_compiled_path(kind, monkeypatch):
    """The other one needs a hundred times as long."""
    taken, values = rows()
    monkeypatch.setattr(checked_rows, "as_array", None)
    taken.take(tuple(KINDS[kind](row) for row in START + 1.0))
    np.testing.assert_array_equal(values, START + 1.0)


def test_rows_of_the_values_may_be_permuted():
    taken, values = rows()
    taken.take((values[2], values[0], values[1]))
    np.testing.assert_array_equal(values, START[[2, 0, 1]])
    taken.take((values[1], values[0], [7.0, 8.0]))  # a list needs the uncompiled path
    np.testing.assert_array_equal(values, [*START[[0, 2]], [7.0, 8.0]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1.0, 2], [3.0, 4]), r"expected 3 rows \(q, qd, tau\), got 2"),
        ((START[0], START[1], [1.0]), r"tau: expected shape \(..., 2\)"),
        ((START[0], START, START[0]), r"qd: expected shape \(2,\), got \(3, 2\)"),
        ((START[0], [1.0, np.nan], START[0]), r"qd\[1\] \(joint 'b'\) is nan"),
        ((START[0], START[1], np.array([np.inf, 1.0])), r"tau\[0\] \(joint 'a'\) is inf"),
        ((START[0], np.ma.masked_less(START[1], 9.0), START[2]), "qd: some numbers are masked"),
    ],
)
def test_rejected_rows_change_nothing(given, message):
    taken, values = rows()
    with pytest.raises(InputError, match=message):
        taken.take(given)
    np.testing.assert_array_equal(values, START)


def test_several_threads_may_construct_the_first_ones(monkeypatch):
    spec = spec_from_file_location(f"{checked_rows.__package__}.as_at_first", checked_rows.__file__)
    fresh = module_from_spec(spec)  # nothing in it is compiled yet
    monkeypatch.setitem(sys.modules, spec.name, fresh)  # where cached machine code looks for it
    spec.loader.exec_module(fresh)
    together, failures = threading.Barrier(8), []

    def make():
        together.wait()
        try:
            fresh.CheckedRows(NAMES, JOINTS, START.copy())
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
