# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Whatever goes wrong while a file is read, the error is one line that names the file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import (
    InputError,
    ModelError,
    computable,
    computable_rows,
    file_reader,
    parse_yaml,
    reading,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("mass"), "not a valid file: 'mass' is missing"),
        (IndexError("axis 1"), "not a valid file: IndexError axis 1"),
        (ValueError("two\nlines"), "not a valid file: two lines"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError division by zero"),
        (OverflowError(), "not a valid file: OverflowError"),
        (np.linalg.LinAlgError("SVD did not converge"), "not a valid file: SVD did not"),
        (RecursionError("deep"), "nested too deeply"),
        (MemoryError(), "MemoryError"),
        (FileNotFoundError(2, "No such file or directory"), "cannot be read: No such file"),
        (OSError("of NumPy"), "not a valid file: of NumPy"),
        (InputError("joint 'a': wrong"), "joint 'a': wrong"),
    ],
)
def test_every_exception_becomes_one_that_names_the_file(error, text):
    with pytest.raises(InputError) as caught, reading(Path("robots/a.yaml")):
        raise error
    message = str(caught.value)
    assert message.startswith("robots/a.yaml: ")
    assert text in message
    assert "\n" not in message


def test_the_file_is_named_once_and_a_model_error_remains_one():
    with pytest.raises(ModelError, match=r"^a\.urdf: no links$"), reading("a.urdf"):
        raise ModelError("no links")
    with pytest.raises(InputError, match=r"^in a\.urdf: no links$"), reading("a.urdf"):
        raise InputError("in a.urdf: no links")
    with pytest.raises(InputError, match=r"^wrong$"), reading({"a": 1}):
        raise InputError("wrong")
    with pytest.raises(KeyboardInterrupt), reading("a.urdf"):
        raise KeyboardInterrupt


def test_a_reader_of_files():
    @file_reader
    def read(path, *keys, parse=json.loads):
        """Docs."""
        return [parse(path.read_text())[key] for key in keys]

    assert read.__doc__ == "Docs."
    with pytest.raises(InputError, match=r"^absent\.json: cannot be read: No such file"):
        read(Path("absent.json"), "a")


def test_numbers_with_which_one_can_compute():
    assert computable("", 1e29) == 1e29
    assert computable("", 5e-324) == 0.0
    assert computable("", -1e-31) == 0.0
    assert computable("", -np.inf) == -np.inf
    assert np.isnan(computable("", np.nan))
    with pytest.raises(InputError, match=r"^mass: -1e\+308 is too large to compute with"):
        computable("mass: ", -1e308)
    rows = computable_rows("", np.array([1.0, 5e-324, np.nan, np.inf, -3.0]))
    np.testing.assert_array_equal(rows, [1.0, 0.0, np.nan, np.inf, -3.0])
    with pytest.raises(InputError, match=r"^q: 1e\+308 is too large"):
        computable_rows("q: ", np.array([[1.0, 1e308]]))


def test_keys_in_yaml_are_text():
    tree = parse_yaml("joints: {1: a, 02: b, on: c, 1.5: d, ~: e, '3': f}\nnames: [1, on]")
    assert list(tree["joints"]) == ["1", "02", "on", "1.5", "~", "3"]
    assert tree["names"] == [1, True]
    with pytest.raises(InputError, match="key '1' is given twice"):
        parse_yaml("{1: a, '1': b}")
