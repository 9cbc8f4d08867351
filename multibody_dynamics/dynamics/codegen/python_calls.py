# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Built-in functions that check the rows of a state and run a kernel, all in machine code.

A call through ctypes or Numba takes longer than the dynamics of a robot arm. `Calls.update` and
`Calls.call` are built-in functions of CPython instead, like those of an extension module. An array
of float64 is read where the headers of NumPy place its fields; `call` leaves anything else to its
caller.

While there is no kernel, both functions call a Python function in its place; also where the kernel
returns that its results are not valid. A kernel is put in place, or taken away, between two calls:
this stores one address.
"""

import ctypes
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..core import IS_COMPILED, Array, DynamicsError, NeverCopied
from .machine_code import available, compile_module, stored

if IS_COMPILED:
    from llvmlite import binding as llvm

FIELDS = (  # of a context: 64-bit numbers and addresses
    "kernel", "table", "guarded", "guarded_count", "python", "rows", "lengths", "state", "scratch",
    "result", "array_type", "float64", "none", "done",
)  # fmt: skip
GUARD_STEP = 8  # the number of guarded entries is a multiple of this

# offsets in PyObject and in PyArrayObject_fields of numpy/ndarraytypes.h
OFFSETS = {"type": 8, "data": 16, "dimensions": 24, "sizes": 32, "strides": 40, "element": 56}

EXPONENT = 0x7FF0000000000000  # these bits are all set in NaN and in infinity
METH_FASTCALL, METH_NOARGS = 0x0080, 0x0004
FUNCTIONS = (
    "PyTuple_GetItem", "PyCapsule_GetPointer", "PyObject_CallObject", "Py_IncRef", "Py_DecRef",
)  # fmt: skip


def _field(name: str, kind: str = "ptr") -> str:
    """Load a field of the context."""
    return f"""
  %at.{name} = getelementptr i64, ptr %context, i64 {FIELDS.index(name)}
  %{name} = load {kind}, ptr %at.{name}"""


def _member(name: str, kind: str = "ptr") -> str:
    """Load a field of the object %row."""
    return f"""
  %of.{name} = getelementptr i8, ptr %row, i64 {OFFSETS[name]}
  %row.{name} = load {kind}, ptr %of.{name}"""


DECLARATIONS = """
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare ptr @PyObject_CallObject(ptr, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare i64 @llvm.vector.reduce.or.v8i64(<8 x i64>)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

# The context of a bound function, whose `self` is a tuple that begins with a capsule.
CONTEXT = """
define internal ptr @context(ptr %self) alwaysinline {
  %capsule = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %context = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  ret ptr %context
}
"""

# Run the kernel, or Python if there is none, if a bit is set in a guarded number, or if it fails.
RUN = f"""
define internal ptr @run(ptr %context) {{
start: {_field("kernel")}
  %absent = icmp eq ptr %kernel, null
  br i1 %absent, label %in_python, label %guard
guard: {_field("guarded")} {_field("guarded_count", "i64")}
  br label %look
look:
  %k = phi i64 [0, %guard], [%k.next, %look]
  %seen = phi <8 x i64> [zeroinitializer, %guard], [%seen.next, %look]
  %at.numbers = getelementptr i64, ptr %guarded, i64 %k
  %numbers = load <8 x i64>, ptr %at.numbers, align 8
  %seen.next = or <8 x i64> %seen, %numbers
  %k.next = add i64 %k, {GUARD_STEP}
  %k.more = icmp ult i64 %k.next, %guarded_count
  br i1 %k.more, label %look, label %judge
judge:
  %bits = call i64 @llvm.vector.reduce.or.v8i64(<8 x i64> %seen.next)
  %raised = icmp ne i64 %bits, 0
  br i1 %raised, label %in_python, label %in_kernel
in_kernel: {_field("table")}
  %valid = call i1 %kernel(ptr %table)
  br i1 %valid, label %succeed, label %in_python
succeed: {_field("done")}
  call void @Py_IncRef(ptr %done)
  ret ptr %done
in_python: {_field("python")}
  %answer = call ptr @PyObject_CallObject(ptr %python, ptr null)
  ret ptr %answer
}}
"""

UPDATE = """
define ptr @update(ptr %self, ptr %unused) {
  %context = call ptr @context(ptr %self)
  %answer = call ptr @run(ptr %context)
  ret ptr %answer
}
"""

# Check all rows while copying them to the scratch, since they may be views of the state; then move
# them to the state and run. None if a row is not an array as expected, or not finite.
CALL = f"""
define ptr @call(ptr %self, ptr %arguments, i64 %given) {{
start:
  %context = call ptr @context(ptr %self)
  {_field("rows", "i64")} {_field("lengths")} {_field("scratch")}
  {_field("array_type")} {_field("float64")} {_field("none")}
  %complete = icmp eq i64 %rows, %given
  br i1 %complete, label %each_row, label %refuse
each_row:
  %r = phi i64 [0, %start], [%r.next, %row_is_finite]
  %target = phi ptr [%scratch, %start], [%target.next, %row_is_finite]
  %at.length = getelementptr i64, ptr %lengths, i64 %r
  %length = load i64, ptr %at.length
  %at.row = getelementptr ptr, ptr %arguments, i64 %r
  %row = load ptr, ptr %at.row {_member("type")}
  %is_array = icmp eq ptr %row.type, %array_type
  br i1 %is_array, label %array, label %refuse
array: {_member("dimensions", "i32")} {_member("element")}
  %is_row = icmp eq i32 %row.dimensions, 1
  %is_float = icmp eq ptr %row.element, %float64
  %is_usual = and i1 %is_row, %is_float
  br i1 %is_usual, label %sized, label %refuse
sized: {_member("sizes")} {_member("strides")} {_member("data")}
  %size = load i64, ptr %row.sizes
  %stride = load i64, ptr %row.strides
  %has_length = icmp eq i64 %size, %length
  %is_dense = icmp eq i64 %stride, 8
  %fits = and i1 %has_length, %is_dense
  br i1 %fits, label %fitting, label %refuse
fitting:
  %is_empty = icmp eq i64 %length, 0
  br i1 %is_empty, label %row_is_finite, label %each_number
each_number:
  %k = phi i64 [0, %fitting], [%k.next, %each_number]
  %infinite = phi i1 [false, %fitting], [%infinite.next, %each_number]
  %from = getelementptr i64, ptr %row.data, i64 %k
  %to = getelementptr i64, ptr %target, i64 %k
  %number = load i64, ptr %from, align 1
  store i64 %number, ptr %to, align 8
  %exponent = and i64 %number, {EXPONENT}
  %not_finite = icmp eq i64 %exponent, {EXPONENT}
  %infinite.next = or i1 %infinite, %not_finite
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %length
  br i1 %k.more, label %each_number, label %row_is_copied
row_is_copied:
  br i1 %infinite.next, label %refuse, label %row_is_finite
row_is_finite:
  %target.next = getelementptr i64, ptr %target, i64 %length
  %r.next = add i64 %r, 1
  %r.more = icmp ult i64 %r.next, %rows
  br i1 %r.more, label %each_row, label %take
take: {_field("state")} {_field("result")}
  br label %move
move:
  %m = phi i64 [0, %take], [%m.next, %move]
  %source = phi ptr [%scratch, %take], [%source.next, %move]
  %at.target = getelementptr ptr, ptr %state, i64 %m
  %state.row = load ptr, ptr %at.target
  %at.count = getelementptr i64, ptr %lengths, i64 %m
  %count = load i64, ptr %at.count
  %bytes = mul i64 %count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %state.row, ptr %source, i64 %bytes, i1 false)
  %source.next = getelementptr i64, ptr %source, i64 %count
  %m.next = add i64 %m, 1
  %m.more = icmp ult i64 %m.next, %rows
  br i1 %m.more, label %move, label %run
run:
  %answer = call ptr @run(ptr %context)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %fail, label %succeed
succeed:
  call void @Py_DecRef(ptr %answer)
  call void @Py_IncRef(ptr %result)
  ret ptr %result
fail:
  ret ptr null
refuse:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}}
"""


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def layout_is_known() -> bool:
    """Whether this interpreter and this NumPy keep the fields of an array where `call` expects
    them: checked on an array, in CPython with a global interpreter lock, on 64 bits."""
    if (
        sys.implementation.name != "cpython"
        or sysconfig.get_config_var("Py_GIL_DISABLED")
        or (ctypes.sizeof(ctypes.c_void_p), sys.byteorder) != (8, "little")
    ):
        return False
    sample = np.arange(7.0)[2:]
    offsets = {
        name: ctypes.c_int64.from_address(id(sample) + offset).value
        for name, offset in OFFSETS.items()
    }
    if offsets["type"] != id(np.ndarray) or offsets["element"] != id(np.dtype(np.float64)):
        return False
    if offsets["data"] != sample.ctypes.data or offsets["dimensions"] & 0xFFFFFFFF != 1:
        return False
    shape = (ctypes.c_int64.from_address(offsets[name]).value for name in ("sizes", "strides"))
    return tuple(shape) == (5, 8)


@cache
def _methods() -> tuple[_Method, _Method] | None:
    """The definitions of the two functions; None if this interpreter cannot have them."""
    if not available() or not layout_is_known():
        return None
    for name in FUNCTIONS:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        llvm.add_symbol(name, address)
    key, names = "python_calls", ("update", "call")
    addresses = stored(key, names) or compile_module(
        key, "".join((DECLARATIONS, CONTEXT, RUN, UPDATE, CALL)), names
    )
    return (
        _Method(b"update", addresses[0], METH_NOARGS, b"Compute the result from the state."),
        _Method(b"call", addresses[1], METH_FASTCALL, b"Check, take and evaluate rows."),
    )


def _function(definition: _Method, owner: tuple[Any, ...]) -> Callable[..., Any]:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    new.restype = ctypes.py_object
    made: Callable[..., Any] = new(ctypes.addressof(definition), owner, None)
    return made


class Calls(NeverCopied):
    """Built-in functions on fixed buffers; they keep the buffers alive.

    Parameters
    ----------
    python : called without arguments while there is no kernel, or while a guarded number is set.
    state : rows, each of its own length, which `call` fills.
    result : what `call` returns.
    table : the arrays whose addresses the kernel receives, in this order.
    guarded : entries that must be zero for the kernel; their number is a multiple of GUARD_STEP.
    done : what `update` returns after the kernel; otherwise, what `python` returns.

    update : `update()` evaluates the state.
    call : `call(row, ...)` takes the rows and evaluates; None, with the state unchanged, if they
        are not contiguous arrays of float64 of these lengths, without NaN and infinity.
    """

    def __init__(
        self,
        python: Callable[[], Any],
        state: Array | Sequence[Array],
        result: tuple[Any, ...],
        table: Sequence[Array],
        guarded: Array,
        done: object = None,
    ) -> None:
        """Raises DynamicsError where `available` is False."""
        methods = _methods()
        if methods is None:
            raise DynamicsError("this Python has no direct calls of machine code")
        for array in (*state, guarded, *table):
            if array.dtype != np.float64 or not array.flags.c_contiguous:
                raise ValueError("expected contiguous arrays of float64")
        if not guarded.size or guarded.size % GUARD_STEP:
            raise ValueError(f"expected a multiple of {GUARD_STEP} guarded numbers")
        lengths = np.array([len(row) for row in state])
        scratch = np.empty(lengths.sum())
        addresses, places = (np.array([a.ctypes.data for a in each]) for each in (table, state))
        self._context, self._addresses = np.zeros(len(FIELDS), dtype=np.int64), addresses
        values = {
            "table": addresses.ctypes.data,
            "guarded": guarded.ctypes.data, "guarded_count": guarded.size,
            "python": id(python),
            "rows": len(state), "lengths": lengths.ctypes.data,
            "state": places.ctypes.data, "scratch": scratch.ctypes.data,
            "result": id(result),
            "array_type": id(np.ndarray), "float64": id(np.dtype(np.float64)), "none": id(None),
            "done": id(done),
        }  # fmt: skip
        for name, value in values.items():
            self._context[FIELDS.index(name)] = value
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        capsule.restype = ctypes.py_object
        owner = (
            capsule(self._context.ctypes.data, None, None),
            (
                self._context,
                addresses,
                places,
                lengths,
                scratch,
                python,
                state,
                result,
                table,
                guarded,
                done,
            ),
        )
        self.update = _function(methods[0], owner)
        self.call = _function(methods[1], owner)

    @staticmethod
    def available() -> bool:
        """Whether this interpreter can have such functions."""
        return _methods() is not None

    @property
    def kernel(self) -> int | None:
        """The address of the kernel in force, a function of one table of addresses, see
        :func:`.table_text`."""
        return int(self._context[0]) or None

    @kernel.setter
    def kernel(self, address: int | None) -> None:
        self._context[0] = address or 0

    def replace(self, k: int, array: Array) -> None:
        """Put another array, which the caller keeps alive, in the k-th place of the table; there
        is no kernel until the next one is assigned."""
        self.kernel = None
        self._addresses[k] = array.ctypes.data
