# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The door of everything that is read from a file: a one-line InputError that names the file, and
numbers with which one can compute."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from os import PathLike
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from .errors import DynamicsError, InputError, ModelError
from .inputs import Array, as_path

LARGEST = 1e30  # powers and products of a few larger numbers overflow
SMALLEST = 1e-30  # quotients of smaller ones do; they are zero

Rest = ParamSpec("Rest")
Result = TypeVar("Result")
Source = TypeVar("Source")


@contextmanager
def reading(path: object, what: str = "a valid file") -> Iterator[None]:
    """Turns every exception of the block into an InputError (a ModelError remains one) that begins
    with the path. path : of a file; anything else, such as a mapping, is not named."""
    where = f"{path}: " if isinstance(path, str | PathLike) else ""
    try:
        yield
    except DynamicsError as error:
        if str(path) in str(error):
            raise
        kind = ModelError if isinstance(error, ModelError) else InputError
        raise kind(f"{where}{error}") from None
    except Exception as error:  # of any library, for contents that it does not expect
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(f"{where}cannot be read: {error.strerror}") from None
        text = "nested too deeply" if isinstance(error, RecursionError) else _described(error)
        raise InputError(f"{where}not {what}: {text}") from None


def _described(error: Exception) -> str:
    """The message, which for some exceptions says little without their name."""
    text = " ".join(str(error).split())
    text = text.replace(" when allow_pickle=False", "; save text with dtype=str")  # NumPy's advice
    if isinstance(error, KeyError):
        return f"{text} is missing"
    named = isinstance(error, LookupError | ArithmeticError | MemoryError) or not text
    return f"{type(error).__name__} {text}".strip() if named else text


def file_reader(
    read: Callable[Concatenate[Source, Rest], Result],
) -> Callable[Concatenate[Source, Rest], Result]:
    """Marks a function whose first argument is the path of the file that it reads."""

    @wraps(read)
    def guarded(path: Source, *arguments: Rest.args, **options: Rest.kwargs) -> Result:
        with reading(path):
            return read(path, *arguments, **options)

    return guarded


def computable(where: str, value: float) -> float:
    """A number of a file, zero if it is tiny. Raises InputError for one that is finite but too
    large."""
    if LARGEST < abs(value) < np.inf:
        raise InputError(f"{where}{value:g} is too large to compute with")
    return value if abs(value) >= SMALLEST or value != value else 0.0


def computable_rows(where: str, rows: Array) -> Array:
    """:func:`computable` for an array."""
    size = np.abs(rows)
    large = (size > LARGEST) & np.isfinite(rows)
    if large.any():
        raise InputError(f"{where}{rows[large].flat[0]:g} is too large to compute with")
    return np.where(size < SMALLEST, 0.0, rows) if (size < SMALLEST).any() else rows


def read_arrays(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a .npz file by name, of any type except Python objects.

    Raises InputError, naming the file, for anything else.
    """
    with reading(path, "a NumPy archive of numbers"):
        archive = np.load(as_path(path), allow_pickle=False)
        if isinstance(archive, NpzFile):
            with archive:
                return {name: _array(archive, name) for name in archive.files}
        raise ValueError(
            "it contains a single unnamed array (numpy.save), not named arrays (numpy.savez)"
        )


def _array(archive: NpzFile, name: str) -> NDArray[Any]:
    try:
        return np.asarray(archive[name])
    except ValueError as error:
        raise ValueError(f"array {name}: {error}") from None
