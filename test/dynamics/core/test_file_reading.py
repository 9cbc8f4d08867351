# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Whatever goes wrong while a file is read, the error is one line that names the file."""

import json
import zipfile
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
    read_arrays,
    reading,
)
from rejections import assert_rejected


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
    for error, where, message in (
        (ModelError("no links"), "a.urdf", "a.urdf: no links"),
        (InputError("in a.urdf: no links"), "a.urdf", "in a.urdf: no links"),
        (InputError("wrong"), {"a": 1}, "wrong"),
        (KeyboardInterrupt(""), "a.urdf", ""),
    ):
        with pytest.raises(type(error)) as caught, reading(where):
            raise error
        assert str(caught.value) == message


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
    assert_rejected((lambda: parse_yaml("{1: a, '1': b}"), "key '1' is given twice"))


# NumPy archives


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_that_are_written_are_read(tmp_path, save):
    file = tmp_path / "arrays.npz"
    save(file, t=np.arange(3.0), names=np.array(["a", "b"]), number=7)
    found = read_arrays(file)
    assert list(found) == ["t", "names", "number"]
    np.testing.assert_array_equal(found["t"], [0.0, 1.0, 2.0])
    assert found["names"].tolist() == ["a", "b"]
    assert found["number"] == 7


def damaged(path, what):
    """An archive that is damaged in one way."""
    np.savez(path, t=np.arange(100.0))
    data = path.read_bytes()
    if what == "an object":
        np.savez(path, t=np.array([{}], dtype=object))
    elif what == "a single array":
        path.write_bytes(b"")
        with path.open("wb") as file:
            np.save(file, np.arange(3.0))
    elif what == "no archive":
        path.write_text("t,q\n0,1\n")
    elif what == "empty":
        path.write_bytes(b"")
    elif what == "cut":
        path.write_bytes(data[:-30])
    elif what == "a wrong checksum":
        at = data.index(np.arange(100.0)[50:].tobytes())
        path.write_bytes(data[:at] + b"x" + data[at + 1 :])
    elif what == "another member":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("notes.npy", "none")
    else:  # a header
        with zipfile.ZipFile(path) as archive:
            member = archive.read("t.npy")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("t.npy", member.replace(b"(100,)", what.encode().ljust(6), 1))


@pytest.mark.parametrize(
    "what",
    ["an object", "a single array", "no archive", "empty", "cut", "a wrong checksum",
     "another member", "(9**99,", "(-1,)", "(", "(1e3,)"],
)  # fmt: skip
def test_damaged_archives_are_refused_in_one_line(tmp_path, what):
    file = tmp_path / "arrays.npz"
    damaged(file, what)
    if what == "another member":  # a file among the arrays that is not one is left as bytes
        assert read_arrays(file)["notes"].dtype.kind == "S"
        return
    with pytest.raises(InputError) as caught:
        read_arrays(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: not a NumPy archive of numbers: ")
    assert "\n" not in message


def test_an_array_of_objects_is_named(tmp_path):
    """As names are, if they come from pandas."""
    file = tmp_path / "arrays.npz"
    np.savez(file, t=np.arange(3.0), joint_names=np.array(["a", "b"], dtype=object))
    assert_rejected(
        (
            lambda: read_arrays(file),
            "array joint_names: Object arrays cannot be loaded; save text with dtype=str",
        )
    )


def test_an_array_that_is_too_large_for_the_memory_is_refused(tmp_path):
    file = tmp_path / "arrays.npz"
    np.savez(file, t=np.arange(100.0))
    with zipfile.ZipFile(file) as archive:
        member = archive.read("t.npy")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("t.npy", member.replace(b"(100,), }          ", b"(9999999999999,), }"))
    assert_rejected((lambda: read_arrays(file), "Unable to allocate"))


def test_archives_that_are_missing_are_named(tmp_path):
    assert_rejected(
        (lambda: read_arrays(tmp_path / "none.npz"), "none.npz: No such file"),
        (lambda: read_arrays(tmp_path), "Is a directory"),
    )
