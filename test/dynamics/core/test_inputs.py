# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Arguments are converted to float64 without loss, or rejected with the reason."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import inputs
from multibody_dynamics.dynamics.core.errors import InputError
from rejections import assert_rejected

JOINTS = ("shoulder", "elbow", "wrist")

ACCEPTED = {
    "list": [1, 2, 3],
    "tuple": (1.0, 2.0, 3.0),
    "int64": np.array([1, 2, 3]),
    "uint8": np.array([1, 2, 3], dtype=np.uint8),
    "float32": np.array([1, 2, 3], dtype=np.float32),
    "float16": np.array([1, 2, 3], dtype=np.float16),
    "big endian": np.array([1, 2, 3], dtype=">f8"),
    "strided": np.array([1.0, 9, 2, 9, 3, 9])[::2],
    "reversed": np.array([3.0, 2.0, 1.0])[::-1],
    "scalars": [np.float64(1), np.int8(2), 3],
    "nothing masked": np.ma.array([1.0, 2.0, 3.0]),
}
REFUSED = {
    "complex": np.array([1, 2, 3j]),
    "object": np.array([1, 2, 3], dtype=object),
    "bool": np.array([True, False, True]),
    "string": ["1", "2", "3"],
    "date": np.array([1, 2, 3], dtype="M8[s]"),
    "ragged": [[1, 2], [3]],
    "none": None,
    "nones": [1, None, 3],
    "mapping": {"shoulder": 1},
    "masked": np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_real_numbers_become_float64(name):
    array = inputs.as_array("q", ACCEPTED[name], (3,))
    assert array.dtype == np.float64
    assert array.dtype.isnative
    np.testing.assert_array_equal(array, [1, 2, 3])


@pytest.mark.parametrize("name", REFUSED)
def test_anything_but_real_numbers_is_rejected_by_name(name):
    assert_rejected((lambda: inputs.as_array("qdd", REFUSED[name], (3,)), "qdd:"))


def test_float64_arrays_are_not_copied():
    q = np.zeros((4, 3))
    assert inputs.as_array("q", q, (3,)) is q


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 5, 3), (0, 3), (2, 0, 3)])
def test_leading_dimensions_are_free(shape):
    assert inputs.as_array("q", np.zeros(shape), (3,)).shape == shape


@pytest.mark.parametrize("shape", [(), (1,), (2,), (4,), (3, 1), (3, 4), (3, 0)])
def test_a_wrong_shape_is_rejected_with_both_shapes_and_the_joints(shape):
    words = f"q: expected shape (..., 3) {shape} shoulder, elbow, wrist"
    assert_rejected((lambda: inputs.as_array("q", np.zeros(shape), (3,), JOINTS), words))


def test_long_lists_of_joints_are_omitted():
    with pytest.raises(InputError) as caught:
        inputs.as_array("q", np.zeros(3), (40,), [f"joint{k}" for k in range(40)])
    assert "joint1" not in str(caught.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("index", [(0,), (2,)])
def test_a_bad_number_is_named_with_its_joint(bad, index):
    q = np.zeros(3)
    q[index] = bad
    words = f"qd[{index[0]}] (joint '{JOINTS[index[0]]}') is {bad}"
    assert_rejected((lambda: inputs.as_array("qd", q, (3,), JOINTS), words))


def test_a_bad_number_in_a_batch_is_named_with_its_joint():
    q, M = np.zeros((4, 5, 3)), np.zeros((2, 3, 6))
    q[2, 4, 1], M[1, 0, 5] = np.nan, np.inf
    assert_rejected(
        (lambda: inputs.as_array("q", q, (3,), JOINTS), "q[2, 4, 1] (joint 'elbow') is nan"),
        (lambda: inputs.as_array("M", M, (3, 6), JOINTS), "M[1, 0, 5] (joint 'shoulder') is inf"),
    )


def test_scalars():
    assert inputs.as_array("mass", 2, ()) == 2
    assert_rejected((lambda: inputs.as_array("mass", np.nan, ()), "mass is nan"))


def test_a_number_too_large_for_float64_is_rejected_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_rejected((lambda: inputs.as_array("q", np.longdouble("1e4000"), ()), "q is inf"))


def test_a_state_is_stacked_and_counted():
    rows = [np.full(3, k + 1.0) for k in range(3)]
    state, shape, given = inputs.as_state(JOINTS, *rows, None, None)
    assert state.shape == (1, 5, 3)
    assert (shape, given) == ((), 3)
    np.testing.assert_array_equal(state[0, :, 1], [1, 2, 3, 0, 0])


@pytest.mark.parametrize(
    ("shapes", "shape"),
    [
        ([(3,), (3,)], ()),
        ([(1, 3), (3,)], (1,)),
        ([(2, 4, 3), (4, 3)], (2, 4)),
        ([(3, 1, 3), (4, 3)], (3, 4)),
        ([(0, 3), (3,)], (0,)),
        ([(0, 3), (1, 3)], (0,)),
    ],
)
def test_rows_broadcast(shapes, shape):
    rng = np.random.default_rng(1)
    rows = [rng.normal(size=s) for s in shapes]
    state, batch, given = inputs.as_state(JOINTS, *rows)
    assert (batch, given) == (shape, 2)
    full = state.reshape(*shape, 5, 3)
    for k, row in enumerate(rows):
        np.testing.assert_array_equal(full[..., k, :], np.broadcast_to(row, (*shape, 3)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("01110", "^q is required: qddd was given without q$"),
        ("10100", "^qdd was given without qd$"),
        ("11001", "qdddd was given without qdd$"),
        ("11101", "qdddd was given without qddd$"),
    ],
)
def test_gaps_are_rejected(given, message):
    rows = [np.zeros(3) if bit == "1" else None for bit in given]
    with pytest.raises(InputError, match=message):
        inputs.as_state(JOINTS, *rows)


def test_incompatible_shapes_are_listed():
    assert_rejected(
        (lambda: inputs.as_state(JOINTS, np.zeros((4, 3)), np.zeros((5, 3))), "q (4,), qd (5,)"),
        (
            lambda: inputs.broadcast_shapes(("a", "b", "c"), [(2,), (), (3,)]),
            "a (2,), b (), c (3,)",
        ),
    )


def test_arguments_are_never_written_to():
    rows = [np.random.default_rng(2).normal(size=(2, 3)) for _ in range(5)]
    before = [row.copy() for row in rows]
    for row in rows:
        row.flags.writeable = False
    state, _, _ = inputs.as_state(JOINTS, *rows)
    state[...] = 7
    for row, old in zip(rows, before, strict=True):
        np.testing.assert_array_equal(row, old)


def test_a_read_only_copy_cannot_change():
    given = np.arange(3)
    copy = inputs.read_only(given)
    given[0] = 7
    np.testing.assert_array_equal(copy, [0.0, 1.0, 2.0])
    assert copy.dtype == np.float64
    assert inputs.read_only(given, dtype=np.intp).dtype == np.intp
    with pytest.raises(ValueError, match="read-only"):
        copy[0] = 1.0


def test_only_arrays_that_compiled_code_would_not_take_are_copied():
    usual = np.ones((2, 3))
    assert inputs.writable(usual) is usual
    for other in (inputs.read_only(usual), usual.T, np.broadcast_to(1.0, (2, 3))):
        found = inputs.writable(other)
        assert found.flags.writeable
        assert found.flags.c_contiguous
        assert not np.shares_memory(found, other)
        np.testing.assert_array_equal(found, other)


def test_a_cached_array_is_computed_once_and_read_only():
    class Thing:
        @inputs.cached_array
        def rows(self):
            """Of a thing."""
            return np.arange(3)

    thing = Thing()
    assert thing.rows is thing.rows
    assert thing.rows.dtype == int
    assert Thing.rows.__doc__ == "Of a thing."
    with pytest.raises(ValueError, match="read-only"):
        thing.rows[0] = 1


def test_paths_mappings_and_choices():
    assert inputs.as_path("a/b") == inputs.as_path(Path("a/b")) == Path("a/b")
    for bad in (None, 3, b"/x", "", ["x"], "robot\0.urdf"):
        with pytest.raises(InputError, match="expected the path of a file, got"):
            inputs.as_path(bad)
    assert inputs.as_mapping("wrenches", None) == {}
    assert inputs.as_mapping("wrenches", {"a": 1}) == {"a": 1}
    for bad in (np.ones(6), [], 3):
        with pytest.raises(InputError, match=r"wrenches: expected a mapping .*, got"):
            inputs.as_mapping("wrenches", bad)
    inputs.check_choice("beyond", "raise", ("raise", "continue"))
    with pytest.raises(InputError, match="beyond 'foo' is not one of raise, continue"):
        inputs.check_choice("beyond", "foo", ("raise", "continue"))


def test_only_the_used_entries_of_a_partial_row_matter():
    used = np.array([True, False, True])
    row = inputs.as_partial("qdd", [[1, np.nan, 2], [3, np.inf, 4]], used, JOINTS)
    np.testing.assert_array_equal(row, [[1, 0, 2], [3, 0, 4]])
    assert_rejected(
        (
            lambda: inputs.as_partial("qdd", [1, 2, np.nan], used, JOINTS),
            "qdd[2] (joint 'wrist') is nan",
        ),
        (lambda: inputs.as_partial("qdd", [1, 2], used, JOINTS), "qdd: expected shape"),
    )
