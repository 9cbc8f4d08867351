# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Straight-line machine code and C source from recorded computations; knows nothing about robots.

A function written over scalars runs over expressions and leaves a graph. What its results need is a
program, of which there are three forms: evaluation by NumPy, machine code, and C99 source.

Recording:

Graph             nodes of a computation, each stored once; declares its inputs
Expression        plus or minus a node: takes the place of a float in a recursion
Operation         the operations of nodes
sine              sine of an expression or number
cosine            cosine of an expression or number
Program           straight-line code for some results; evaluates it with NumPy

Machine code, by the code generator of LLVM:

function_text     a program as a function in LLVM IR, for one state or several side by side
table_text        a function that passes a table of addresses to that of `function_text`
module_text       a complete module
batch_module      a module that evaluates a program for many states, several at a time
BatchKernel       a program for many states, in vector code on all cores
cores             number of processor cores that this process may use
available         whether machine code can be made here
lanes             number of doubles in a vector register of this processor
stored            addresses of functions that are in memory or in the cache on disk
compile_module    addresses of functions of a module, compiled and put into the cache
Calls             built-in functions that check rows of numbers and run a kernel
GUARD_STEP        the number of guarded entries of `Calls` is a multiple of this

C99 source:

c_source          functions, prototypes, constants and comments in C
c_lanes           functions in C for two states at once, which compilers put in vectors
c_translation     C from Python functions over scalars, with their loops and branches
c_records         records of the control cycle: structures, defaults, checks
c_types           types of their arguments: numbers, arrays, tables of constants

Beside a control cycle:

Queue             runs jobs in a thread, one after the other
pause             lets another thread run; ends the work when the program ends
Stopped           exception by which `pause` ends the work
"""

from . import c_lanes, c_records, c_source, c_translation, c_types
from .background import Queue, Stopped, pause
from .batch_kernel import BatchKernel, cores
from .batch_text import batch_module
from .expressions import Expression, Graph, Operation, cosine, sine
from .llvm_text import function_text, module_text, table_text
from .machine_code import available, compile_module, lanes, stored
from .programs import Program
from .python_calls import GUARD_STEP, Calls

__all__ = [
    # recording
    "Graph", "Expression", "Operation", "sine", "cosine", "Program",
    # machine code
    "function_text", "table_text", "module_text", "batch_module", "available", "lanes", "stored",
    "compile_module", "BatchKernel", "cores", "Calls", "GUARD_STEP",
    # C99 source
    "c_lanes", "c_records", "c_source", "c_translation", "c_types",
    # beside a control cycle
    "Queue", "pause", "Stopped",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
