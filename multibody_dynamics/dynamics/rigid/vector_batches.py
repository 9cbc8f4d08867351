"""Large batches of states by vector code for one robot, compiled once and cached on disk.

The functions of this room take this way for a robot with its base at rest and without applied
wrenches if a batch is so large that the general code would need longer than the compilation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..codegen import BatchKernel, Program, available
from ..core import Array, broadcast_shapes
from ..model import MultibodyModel

LARGE_BATCH = 2**15  # states, from which on functions use vector code
MOST_JOINTS = 64  # beyond it, the code exceeds the caches
MOST_OPERATIONS = 40_000  # of a program that is compiled without being asked for; about 5 s

_not_compiled: set[str] = set()


class _TooLargeError(Exception):
    """The program has more than MOST_OPERATIONS."""


def vector_batch(
    model: MultibodyModel,
    name: str,
    trace: Callable[[], Program],
    rows: Mapping[str, Any],
    results: Sequence[int],
    large: int = LARGE_BATCH,
) -> tuple[tuple[int, ...], list[Array]] | None:
    """The shape (...) of a batch, and results (N, entries) for its N states, if it is large.

    Parameters
    ----------
    name : of the program, which depends only on it and on the robot.
    rows : the inputs (..., n), in the order of the program. None for an input that is not given.
    results : the number of entries of each result.
    large : the number of states from which on vector code is used.

    None if the batch is not large, or does not have the right form; the general function then
    computes, or reports what is wrong.
    """
    if not isinstance(model, MultibodyModel):
        return None
    given = {key: row for key, row in rows.items() if row is not None}
    n = model.n
    if not (
        any(isinstance(row, np.ndarray) and row.size >= large * n for row in given.values())
        and n <= MOST_JOINTS
        and available()
    ):
        return None
    arrays = [np.asarray(row) for row in given.values()]
    if not all(x.dtype.kind in "fiu" and x.shape[-1:] == (n,) for x in arrays):
        return None
    shape = broadcast_shapes(tuple(given), [x.shape[:-1] for x in arrays])
    kernel = _kernel(model, name, len(arrays) + len(results), trace)
    if kernel is None:
        return None
    count = int(np.prod(shape))
    inputs = [
        np.ascontiguousarray(np.broadcast_to(x, (*shape, n)), dtype=np.float64) for x in arrays
    ]
    found = [np.empty((count, size)) for size in results]
    return (shape, found) if kernel.rows([*inputs, *found], count) else None


def model_key(model: MultibodyModel) -> str:
    """Stands for all numbers of a robot on which a program can depend."""
    digest = hashlib.sha256()
    for array in (model.parents, model.joint_rows, model.gravity, model.body_in_joint):
        digest.update(f"{array.dtype} {array.shape};".encode() + array.tobytes())
    return digest.hexdigest()


def _kernel(
    model: MultibodyModel, name: str, arrays: int, trace: Callable[[], Program]
) -> BatchKernel | None:
    key = f"{name}-batch-{model_key(model)}"
    if key in _not_compiled:
        return None

    def small_enough() -> Program:
        program = trace()
        if program.size > MOST_OPERATIONS:
            raise _TooLargeError
        return program

    try:
        return BatchKernel(key, arrays, small_enough)
    except (_TooLargeError, ZeroDivisionError):  # the latter if no state has a result
        _not_compiled.add(key)
        return None
