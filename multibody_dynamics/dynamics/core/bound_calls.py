# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Calls of compiled functions with arrays that stay where they are.

A call looks at every array among its arguments, also within records, which takes about 0.1 us each:
with two records of a control cycle, several times as long as the function itself. Arrays that are
the same in every cycle are looked at once here; calls hand over a table of their addresses.
"""

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .compilation import IS_COMPILED, MACHINE_CODE, compiled_exactly
from .independent_copies import IndependentCopies, described, restored

if IS_COMPILED:
    import numba
    from numba import types
    from numba.extending import intrinsic

    def _pointer_to(kind: Any) -> Any:
        def pointer(context: Any, address: Any) -> Any:
            def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                return builder.inttoptr(arguments[0], target.get_value_type(signature.return_type))

            return types.CPointer(kind)(types.int64), generate

        return intrinsic(pointer)

    POINTERS = {"f": _pointer_to(types.float64), "i": _pointer_to(types.int64)}


class _Table:
    """The arguments of a call as source, and the numbers to which it refers."""

    def __init__(self) -> None:
        self.entries: list[int] = [0]  # addresses, lengths, integers; the first for `numbers`
        self.numbers: list[float] = []
        self.records: dict[str, Any] = {}
        self.left: list[str] = []  # names of the arguments that calls hand over
        self.is_complete = True

    def expression(self, value: Any) -> str:
        """The source that yields an argument."""
        if value is None:
            return "None"
        if value is ...:
            self.left.append(f"left_{len(self.left)}")
            return self.left[-1]
        if hasattr(value, "_fields"):
            name = type(value).__name__
            if any(each is ... for each in value):
                raise TypeError(f"record {name}: `...` stands for arguments, not for fields")
            self.records[name] = type(value)
            return f"{name}({', '.join(map(self.expression, value))})"
        if isinstance(value, np.ndarray):
            kind = {"float64": "f", "int64": "i"}.get(value.dtype.name, "")
            self.is_complete &= bool(kind) and value.flags.c_contiguous
            at = len(self.entries)
            self.entries += [value.ctypes.data, *value.shape]
            shape = "".join(f"table[{at + 1 + k}], " for k in range(value.ndim))
            return f"carray({kind}(table[{at}]), ({shape}))"
        if isinstance(value, int | np.integer):
            self.entries.append(int(value))
            return f"table[{len(self.entries) - 1}]"
        self.numbers.append(float(value))
        return f"numbers[{len(self.numbers) - 1}]"


class BoundCall(partial[Any], IndependentCopies):
    """`function` with its first arguments given, like functools.partial: `bound(*others)`.

    function : compiled, does not keep or return arrays. arguments : arrays, which must stay where
    they are, numbers, which are fixed, None, records of these, and `...`, outside of records, for
    each of those that calls hand over first, before the others. With an array that is not
    contiguous, or neither of float64 nor of int64, calls are as fast as those of the function.

    Raises TypeError for `...` within a record, and when called with too few arguments.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    _numbers: Any  # to which the table refers

    def __new__(cls, function: Callable[..., Any], *arguments: Any) -> "BoundCall":
        own = _Table()
        given = ", ".join(map(own.expression, arguments))
        numbers = np.array(own.numbers, dtype=np.float64)
        own.entries[0] = numbers.ctypes.data
        if IS_COMPILED and own.is_complete:
            call = _compiled(function, given, own)
            made = super().__new__(cls, call, np.array(own.entries, dtype=np.int64))
        else:
            made = super().__new__(cls, _unbound, function, arguments)
        made.function, made.arguments, made._numbers = function, arguments, numbers
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """A table of addresses holds only in this process, and for these arrays."""
        return _restored, described((self.function, self.arguments))


def _restored(*described: Any) -> BoundCall:
    function, arguments = restored(described)
    return BoundCall(function, *arguments)


def _unbound(function: Callable[..., Any], arguments: tuple[Any, ...], *others: Any) -> Any:
    left = iter(others)
    try:
        given = [next(left) if each is ... else each for each in arguments]
    except StopIteration:
        least = sum(each is ... for each in arguments)
        raise TypeError(
            f"{function.__name__}: expected at least {least} arguments, got {len(others)}"
        ) from None
    return function(*given, *left)


def _compiled(function: Callable[..., Any], given: str, own: _Table) -> Callable[..., Any]:
    """The function of the table and the other arguments, from the cache if it is there."""
    module, name = function.__module__, function.__qualname__
    scope = {"carray": numba.carray, "function": function, **POINTERS, **own.records}
    source = (
        f"def bound({', '.join(['table', *own.left, '*others'])}):\n"
        f"    numbers = carray(f(table[0]), ({len(own.numbers)},))\n"
        f"    return function({given}, *others)\n"
    )
    key = f"{name}.bound.{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    if (module, key) in MACHINE_CODE:
        return MACHINE_CODE[module, key]
    exec(source, scope)
    made: Any = scope["bound"]
    made.__module__, made.__qualname__ = module, key
    return compiled_exactly(made)
