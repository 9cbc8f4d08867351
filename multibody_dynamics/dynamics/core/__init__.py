"""What every room stands on: errors, checked inputs, quantities with units, and the compiler.

quantities        Quantities as a data sheet has them, {value, unit, side of the gear}
DynamicsError     Anything that this package refuses.
InputError        An argument of the wrong shape, kind, name or value
ModelError        A robot description that cannot be right; names the joint, link or tag.
ModelWarning      A robot description that is usable but suspicious
TrajectoryError   A trajectory that cannot be followed; names the point and the joint.
refused_as        An InputError from within is one of this `kind`, and begins with `where`.
Array             ?? Array = NDArray[np.float64]
as_array          `value` as a float64 array (..., *tail); never a copy where none is needed.
broadcast_shapes  The common batch shape of several arguments, or an InputError that lists them.
check_choice      InputError that lists the choices, for what is none of them.
as_state          Stack q, q', ... of n joints into one batch.
cached_array      A cached property of an object that does not change: nor can the array.
check_sequence    InputError for what is no sequence, and for a string, which is one of letters.
exactly           `value` as an array of that shape, not of a batch; InputError.
read_only         A copy that nobody can write to, for objects that do not change.
as_path           The path of a file; InputError for what can be none.
as_real           `value` as a float64 array of any shape; never a copy where none is needed.
TWIST_ROWS        ?? TWIST_ROWS = ("twist", "acceleration", "jerk", "jounce")
spread            `array` (..., *tail) broadcast to the batch `shape`, as a copy (N, *tail).
as_mapping        What is given by name, nothing for None
STATE_ROWS        ?? STATE_ROWS = ("q", "qd", "qdd", "qddd", "qdddd")
as_partial        as_array (..., n) of which only the entries `used` (n,) matter.
locked            `array` itself, which nobody can write to from now on.
times             The products (..., m) of matrices (..., m, n) and vectors (..., n)
transposed        Matrices (..., m, n) as a view (..., n, m).
leibniz           The k-th derivative of multiply(a, b): sum_j C(k, j) multiply(a^(j), b^(k-j)).
product           The stack of the matrix product a b, as far as both are known.
inlined           `function` itself, which compiled code may call from now on.
compiled          The machine code of a recursion
IS_COMPILED       ??
when_compiling    Have `tell` say, once, that something inside must be compiled first
CheckedRows       `values` (k, n), filled by take with k <= 5 rows of n numbers
Baumgarte  Baumgarte's stabilisation: the rates at which violated constraints decay
product_rule  the Leibniz rule for stacks of derivatives
"""

from . import product_rule, quantities
from .batches import times, transposed
from .baumgarte import Baumgarte
from .checked_rows import CheckedRows
from .compilation import IS_COMPILED, compiled, inlined, when_compiling
from .errors import DynamicsError, InputError, ModelError, ModelWarning, TrajectoryError, refused_as
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
)
from .product_rule import leibniz, product

__all__ = [
    "quantities", "product_rule", "DynamicsError", "InputError", "ModelError", "ModelWarning",
    "TrajectoryError", "refused_as", "Array", "as_array", "broadcast_shapes", "check_choice",
    "as_state", "cached_array", "check_sequence", "exactly", "read_only", "as_path", "as_real",
    "TWIST_ROWS", "spread", "as_mapping", "STATE_ROWS", "as_partial", "locked", "times",
    "transposed", "leibniz", "product", "inlined", "compiled", "IS_COMPILED", "when_compiling",
    "CheckedRows",
    "Baumgarte",
]  # fmt: skip
