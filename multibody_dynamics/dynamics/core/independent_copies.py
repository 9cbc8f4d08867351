# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Copies and pickles of objects whose arrays are views of each other.

NumPy copies and pickles a view as an array of its own, and compiled code bound to a buffer keeps
the old one: a solver copied like that computes wrong results without an error. Here a view is
described by its place in the array that owns the memory, which is copied once however many objects
of the same copy or pickle refer to it.
"""

from collections import deque
from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

import numpy as np

from .compilation import MACHINE_CODE

Self = TypeVar("Self", bound="IndependentCopies")


class IndependentCopies:
    """Base of classes with buffers: `copy`, `deepcopy` and `pickle` give objects that continue
    where the original is, share no memory with it, and have the same views among their arrays.

    Arrays of the caller to which an object is bound are copied, too; copy both at once, in a tuple
    for example, if they belong together.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {name: described(value) for name, value in self.__dict__.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update((name, restored(value)) for name, value in state.items())

    def __copy__(self: Self) -> Self:
        return deepcopy(self)


def rebuilt(record: Any) -> tuple[Any, tuple[()]]:
    """The `__reduce__` of a dataclass that is copied and pickled through its constructor, since a
    mapping proxy cannot be pickled."""
    values = {item.name: getattr(record, item.name) for item in fields(record)}
    proxies = {key: dict(x) for key, x in values.items() if isinstance(x, MappingProxyType)}
    constructor: Callable[..., Any] = type(record)
    return partial(constructor, **(values | proxies)), ()


class NeverCopied:
    """Base of classes that own a process, a thread or memory outside Python."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} objects cannot be copied or pickled; construct one where it is "
            f"used, in each process"
        )


class _View:
    """An array, by its place in the memory of `owner`."""

    def __init__(self, array: np.ndarray[Any, Any], owner: np.ndarray[Any, Any]) -> None:
        self.owner = owner
        self.offset = array.ctypes.data - owner.ctypes.data
        self.layout = array.shape, array.strides, array.dtype
        self.is_writable = array.flags.writeable

    def restored(self) -> np.ndarray[Any, Any]:
        shape, strides, dtype = self.layout
        memory = self.owner.ravel(order="K")  # a view: the owner is contiguous in some order
        array: np.ndarray[Any, Any] = np.ndarray(shape, dtype, memory, self.offset, strides)
        array.flags.writeable = self.is_writable
        return array


class _Partial:
    """A function with arguments, of which some are views."""

    def __init__(self, bound: partial[Any]) -> None:
        self.function = described(bound.func)
        self.arguments = described(bound.args), described(bound.keywords)

    def restored(self) -> partial[Any]:
        arguments, keywords = map(restored, self.arguments)
        return partial(restored(self.function), *arguments, **keywords)


class _MachineCode:
    """A compiled function, by its name: unpickling Numba's object would compile it again."""

    def __init__(self, name: tuple[str, str]) -> None:
        self.name = name

    def restored(self) -> Any:
        import_module(self.name[0])
        return MACHINE_CODE[self.name]


def described(value: Any) -> Any:
    """The value, or in its place what a copy or pickle keeps as it is."""
    if isinstance(value, np.ndarray):
        return _described_array(value)
    if type(value) is partial:
        return _Partial(value)
    name = str(getattr(value, "__module__", "")), str(getattr(value, "__qualname__", ""))
    if name in MACHINE_CODE and MACHINE_CODE[name] is value:
        return _MachineCode(name)
    return _mapped(described, value)


def restored(value: Any) -> Any:
    if isinstance(value, _View | _Partial | _MachineCode):
        return value.restored()
    return _mapped(restored, value)


def _described_array(array: np.ndarray[Any, Any]) -> Any:
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if (owner is array and array.flags.writeable) or not (array.size and owner.flags.forc):
        return array
    return _View(array, owner)


def _mapped(change: Any, value: Any) -> Any:
    """A container with changed contents; itself if nothing in it changes, to keep its identity."""
    kind = type(value)
    if kind is dict:
        contents = {key: change(entry) for key, entry in value.items()}
        same = all(contents[key] is value[key] for key in value)
        return value if same else contents
    if kind not in (list, tuple, deque) and not (
        isinstance(value, tuple) and hasattr(value, "_fields")
    ):
        return value
    items = [change(entry) for entry in value]
    if all(new is old for new, old in zip(items, value, strict=True)):
        return value
    if kind is deque:
        return deque(items, value.maxlen)
    return kind(*items) if hasattr(value, "_fields") else kind(items)
