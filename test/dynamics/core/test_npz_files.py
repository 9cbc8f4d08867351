# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""NumPy archives: what is written is read, and whatever is wrong is said in one line."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.core.npz_files import read_arrays


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_is_written_is_read(tmp_path, save):
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
def test_anything_else_is_refused_in_one_line(tmp_path, what):
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


def test_an_array_that_is_too_large_for_the_memory_is_refused(tmp_path):
    file = tmp_path / "arrays.npz"
    np.savez(file, t=np.arange(100.0))
    with zipfile.ZipFile(file) as archive:
        member = archive.read("t.npy")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("t.npy", member.replace(b"(100,), }          ", b"(9999999999999,), }"))
    with pytest.raises(InputError, match="Unable to allocate"):
        read_arrays(file)


def test_files_that_are_missing_are_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.npz: .*No such file"):
        read_arrays(tmp_path / "none.npz")
    with pytest.raises(InputError, match="Is a directory"):
        read_arrays(tmp_path)
