# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Arguments as finite float64 arrays, or an InputError that says what is wrong with them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, wraps
from math import isfinite, prod
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .errors import InputError

Array = NDArray[np.float64]
SomeArray = TypeVar("SomeArray", bound=NDArray[Any])

STATE_ROWS = ("q", "qd", "qdd", "qddd", "qdddd")
TWIST_ROWS = ("twist", "acceleration", "jerk", "jounce")
FEW = 32  # numbers that are checked faster one by one than as an array


def as_real(name: str, value: Any) -> Array:
    """`value` as a float64 array of any shape; copied only if it has to be converted."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    try:
        raw = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: not an array of numbers ({error})") from None
    if raw.dtype.kind not in "fiu" or _has_booleans(value):
        found = f"an array of {raw.dtype}" if raw.ndim else repr(value)
        found = "true or false" if _has_booleans(value) else found
        raise InputError(f"{name}: expected real numbers, got {found}")
    if np.ma.is_masked(value):
        raise InputError(f"{name}: some numbers are masked, and have no value")
    with np.errstate(over="ignore"):  # a large long double becomes inf; callers check
        return np.asarray(raw, dtype=np.float64)


def _has_booleans(value: Any) -> bool:
    """Whether there are booleans in lists, which NumPy would take for 0 and 1 beside numbers."""
    is_list = isinstance(value, list | tuple)
    return any(map(_has_booleans, value)) if is_list else isinstance(value, bool)


def read_only(value: Any, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """A read-only copy, for immutable objects."""
    return locked(np.array(value, dtype=dtype))


def locked(array: SomeArray) -> SomeArray:
    """`array` itself, made read-only."""
    array.flags.writeable = False
    return array


def writable(array: Array) -> Array:
    """`array` itself if it is C-contiguous and can be written, otherwise such a copy.

    Numba would compile a function once more for read-only arrays, which takes seconds.
    """
    return array if array.flags.carray else np.array(array, order="C")


def cached_array(function: Callable[[Any], SomeArray]) -> cached_property[SomeArray]:
    """A cached property of an immutable object, whose array is made read-only."""
    return cached_property(wraps(function)(lambda self: locked(function(self))))


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """InputError that lists the choices unless `value` is one of them."""
    if value not in choices:
        raise InputError(f"{name} {value!r} is not one of {', '.join(choices)}")


def check_sequence(name: str, value: Any, of: str) -> None:
    """InputError unless `value` is a sequence; a string does not count as one."""
    if isinstance(value, str):
        raise InputError(f"{name}: expected a sequence of {of}, got the string '{value}'")
    if not isinstance(value, Iterable):
        raise InputError(f"{name}: expected a sequence of {of}, got {value!r}")


def as_mapping(name: str, value: Any) -> Mapping[str, Any]:
    """`value` as a mapping, empty for None; InputError for anything else."""
    if not isinstance(value, Mapping | None):
        raise InputError(f"{name}: expected a mapping {{name: value}}, got {type(value).__name__}")
    return value or {}


def as_path(value: Any) -> Path:
    """`value` as a path; InputError if it cannot be one."""
    if not isinstance(value, str | PathLike) or not str(value) or "\0" in str(value):
        raise InputError(f"expected the path of a file, got {value!r}")
    return Path(value)


def as_array(
    name: str, value: Any, tail: tuple[int, ...], labels: Sequence[str] | None = None
) -> Array:
    """`value` as a float64 array (..., *tail); copied only if it has to be converted.

    `labels` name the entries of the last axis of that length; with them, messages name the joint of
    a bad number. Raises InputError for anything but finite real numbers.
    """
    array = as_real(name, value)
    if array.ndim < len(tail) or array.shape[array.ndim - len(tail) :] != tail:
        wanted = ", ".join(("...", *map(str, tail)))
        joints = f" (joints {', '.join(labels)})" if labels and len(labels) <= 12 else ""
        raise InputError(f"{name}: expected shape ({wanted}){joints}, got {array.shape}")
    if array.ndim == 1 and len(array) < FEW and isfinite(sum(array.tolist())):  # fastest
        return array
    if np.count_nonzero(np.isfinite(array)) < array.size:  # faster than all() for a few numbers
        index = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        where = f"[{', '.join(map(str, index))}]" if index else ""
        if labels is not None:
            axis = array.ndim - 1 - tail[::-1].index(len(labels))
            where += f" (joint '{labels[index[axis]]}')"
        raise InputError(f"{name}{where} is {array[index]}; every number must be finite")
    return array


def exactly(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """`value` as an array of exactly this shape, without batch dimensions; otherwise InputError."""
    array = as_array(name, value, shape)
    if array.shape != shape:
        raise InputError(f"{name}: expected shape {shape}, got {array.shape}")
    return array


def as_partial(
    name: str, value: Any, used: NDArray[np.bool_], labels: Sequence[str] | None = None
) -> Array:
    """:func:`as_array` (..., n) in which only the entries `used` (n,) matter.

    The others may be any number, including NaN; they are returned as zeros.
    """
    row = as_real(name, value)
    if row.shape[-1:] == used.shape:
        row = np.where(used, row, 0.0)
    return as_array(name, row, used.shape, labels)


def as_state(
    labels: Sequence[str], *rows: Any, names: Sequence[str] = STATE_ROWS
) -> tuple[Array, tuple[int, ...], int]:
    """Broadcast q, q', ... (..., n) of n joints and stack them into one batch.

    Returns the states (N, 5, n), the batch shape (...) with N its product, and the number of rows
    given. A gap, such as qdddd without qddd, raises InputError.
    """
    n = len(labels)
    given = [k for k, row in enumerate(rows) if row is not None]
    count = len(given)
    if given != list(range(count)):
        missing = next(k for k in range(len(rows)) if k not in given)
        required = "" if missing else f"{names[0]} is required: "
        raise InputError(f"{required}{names[given[-1]]} was given without {names[missing]}")
    arrays = [as_array(names[k], rows[k], (n,), labels) for k in given]
    shape = broadcast_shapes(names[:count], [a.shape[:-1] for a in arrays])
    state = np.zeros((*shape, 5, n))
    for k, array in enumerate(arrays):
        state[..., k, :] = array
    return state.reshape(-1, 5, n), shape, count


def spread(array: Array, shape: tuple[int, ...], tail: tuple[int, ...]) -> Array:
    """`array` (..., *tail) broadcast to the batch `shape`, as a copy (N, *tail).

    All batches then have the same memory layout, and the same machine code serves them.
    """
    copy = np.empty((*shape, *tail))
    copy[...] = array  # for one state, five times faster than np.broadcast_to
    return copy.reshape(prod(shape), *tail)


def broadcast_shapes(names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Common batch shape of several arguments; InputError that lists them if there is none."""
    if len(set(shapes)) == 1:  # the usual case, in which NumPy is thirty times slower
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in zip(names, shapes, strict=True))
        raise InputError(f"batch dimensions do not broadcast: {listed}") from None
