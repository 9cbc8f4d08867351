# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Foundations of the package: errors, checked inputs, quantities with units, compilation.

Every public function checks its arguments with the functions of this package, raises one of its
exceptions if an argument is invalid, and returns float64 arrays. This package also compiles the
recursions.

Errors:

DynamicsError     base class of all exceptions of this package; also a ValueError
InputError        an argument with a wrong shape, type, name or value
ModelError        an invalid robot description
TrajectoryError   a trajectory that cannot be followed; an InputError
RequestError      a request that is refused, with a short reason; an InputError
OverloadError     a position at which springs cannot carry the arm; an InputError
NoSolutionError   a design of gains without a solution
ModelWarning      a robot description that is usable but suspicious
refused_as        context manager that re-raises an InputError as another DynamicsError

Checked inputs:

Array             type of a float64 array
STATE_ROWS        names of q ... q'''' in messages: q, qd, qdd, qddd, qdddd
TWIST_ROWS        names of a twist and its derivatives: twist, acceleration, jerk, jounce
as_array          value as a finite float64 array (..., *tail)
exactly           value as a finite float64 array of one exact shape
as_partial        value as an array (..., n) of which only some entries matter
as_real           value as a float64 array of any shape, NaN and infinity allowed
as_state          q, q', ... broadcast and stacked into one batch of states (N, 5, n)
as_mapping        value as a mapping {name: value}; empty for None
as_path           value as a file path
check_choice      InputError unless a value is one of the choices
check_sequence    InputError unless a value is a sequence other than a string
broadcast_shapes  common batch shape of several arguments
spread            array broadcast to a batch shape, as a contiguous copy (N, *tail)
read_only         read-only copy of an array
locked            the array itself, made read-only
writable          the array itself if compiled code can take it as it is, else a copy
cached_array      cached property that holds a read-only array
IndependentCopies  base of classes with buffers: copies and pickles keep views, and share no memory
NeverCopied        base of classes that refuse to be copied or pickled
rebuilt            copies and pickles a dataclass through its constructor
CheckedRows       rows of numbers from the caller, checked and copied by compiled code every cycle
by_robot          function of a robot that other classes of robots answer in their own way
answers           decorator of such a definition, for a class of robots
setting           a field of a dataclass of settings, with its meaning, unit and range
declared          the declaration of a setting, for a field of another class that means the same
check_setting     InputError for a value that the declaration of a setting excludes

Products and their derivatives:

times             products of matrices (..., m, n) and vectors (..., n)
transposed        matrices (..., m, n) as a view (..., n, m)
product_rule      Leibniz rule for stacks of time derivatives: products and linear systems
leibniz           k-th derivative of a bilinear product
product           stack of derivatives of a matrix product
Series            truncated power series in time that takes the place of a scalar
turning           sine and cosine, as series, of an angle that grows from zero
Baumgarte         rates of Baumgarte's constraint stabilisation, 1/s

Data sheets and files:

quantities        quantities of a data sheet: {value, unit, side of the gear}
SECOND            nanoseconds in a second
read_yaml         the contents of a YAML file
read_yaml_documents  its documents, separated by ---
parse_yaml        the contents of a YAML text
read_arrays       the arrays of a .npz file by name
reading           context manager that turns any exception into an InputError naming the file
file_reader       marks a function whose first argument is the file that it reads
computable        a number of a file, unless it is too large to compute with
computable_rows   the same for an array

Records of the control cycle, declared once for Numba and for C:

record_fields     the fields of a record, records of zeros, values outside their intervals
Field             what a field of a record is: meaning, shape, interval of its values
Integers          type of an array of integers

Computations alongside a control cycle:

BackgroundProcess  a process of lower priority that runs one computation after another
BackgroundThread   a thread that does
worker_processes   processes with one thread each, for many jobs
in_order           results of many jobs, in order

Compilation:

compiled          machine code of a recursion, cached on disk
inlined           marks a small function that compiled code may call
compiled_exactly  as `compiled`, with every operation rounded as in generated C
BoundCall         calls of a compiled function with arrays that stay where they are
inlined_exactly   as `inlined`, for functions that `compiled_exactly` code calls
inlined_with_arrays   the same, for functions with arrays of their own
copy_row          copies a vector in compiled code, without compiling an error message
IS_COMPILED       whether Numba is installed and enabled
when_compiling    context manager that reports once if the code inside must be compiled first
cache_directory     folder of the machine code, None if no folder is writable
load_machine_code   a file of the cache of machine code, None if missing or damaged
store_machine_code  writes a file of the cache of machine code
cached_result       the result of a slow computation, kept on disk for the next process
"""

from . import product_rule, quantities, record_fields
from .background_process import BackgroundProcess, BackgroundThread, in_order, worker_processes
from .batches import times, transposed
from .baumgarte import Baumgarte
from .bound_calls import BoundCall
from .checked_rows import CheckedRows
from .compilation import (
    IS_COMPILED,
    cache_directory,
    compiled,
    compiled_exactly,
    copy_row,
    inlined,
    inlined_exactly,
    inlined_with_arrays,
    load_machine_code,
    store_machine_code,
    when_compiling,
)
from .errors import (
    DynamicsError,
    InputError,
    ModelError,
    ModelWarning,
    NoSolutionError,
    OverloadError,
    RequestError,
    TrajectoryError,
    refused_as,
)
from .file_reading import computable, computable_rows, file_reader, read_arrays, reading
from .independent_copies import IndependentCopies, NeverCopied, rebuilt
from .inputs import (
    STATE_ROWS,
    TWIST_ROWS,
    Array,
    as_array,
    as_mapping,
    as_partial,
    as_path,
    as_real,
    as_state,
    broadcast_shapes,
    cached_array,
    check_choice,
    check_sequence,
    exactly,
    locked,
    read_only,
    spread,
    writable,
)
from .product_rule import leibniz, product
from .quantities import SECOND
from .record_fields import Field, Integers
from .result_cache import cached_result
from .robot_functions import answers, by_robot
from .series import Series, turning
from .settings import check_setting, declared, setting
from .yaml_files import parse_yaml, read_yaml, read_yaml_documents

__all__ = [
    # errors
    "DynamicsError", "InputError", "ModelError", "TrajectoryError", "RequestError", "OverloadError",
    "NoSolutionError", "ModelWarning", "refused_as",
    # checked inputs
    "Array", "STATE_ROWS", "TWIST_ROWS",
    "as_array", "exactly", "as_partial", "as_real", "as_state", "as_mapping", "as_path",
    "check_choice", "check_sequence", "broadcast_shapes", "spread",
    "read_only", "locked", "writable", "cached_array", "CheckedRows",
    "IndependentCopies", "NeverCopied", "rebuilt",
    "by_robot", "answers", "setting", "declared", "check_setting",
    # products and their derivatives
    "times", "transposed", "product_rule", "leibniz", "product", "Series", "turning",
    "Baumgarte",
    # data sheets
    "quantities", "SECOND", "read_yaml", "read_yaml_documents", "parse_yaml", "read_arrays",
    "reading", "file_reader", "computable", "computable_rows",
    "record_fields", "Field", "Integers",
    "BackgroundProcess", "BackgroundThread", "worker_processes", "in_order",
    # compilation
    "compiled", "inlined", "compiled_exactly", "inlined_exactly", "inlined_with_arrays",
    "BoundCall", "copy_row", "IS_COMPILED",
    "when_compiling", "cache_directory", "load_machine_code", "store_machine_code", "cached_result",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
