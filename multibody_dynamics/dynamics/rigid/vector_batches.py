# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Large batches of states by vector code for one robot, compiled once and cached on disk.

The functions of this package use it for a robot with its base at rest and without applied wrenches
if a batch is so large that the general code would take longer than the compilation.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codegen import BatchKernel, Program, available
from ..core import Array, as_real, broadcast_shapes
from ..model import MultibodyModel, check_model
from ..model.records import MASS
from .tracing import MOST_JOINTS, TracedInputs, constant_columns

LARGE_BATCH = 2**15  # states; from here on functions use vector code
MOST_OPERATIONS = 40_000  # of a program that is compiled without being asked for; about 5 s

SHARED = ("joints", "gravity")  # inputs that are single rows for all states

Shape = tuple[Any, ...]  # of integers, "n" for the number of joints, "N" for that of bodies

_not_compiled: set[str] = set()


class _TooLargeError(Exception):
    """The program has more than MOST_OPERATIONS."""


def vector_batch(
    model: MultibodyModel,
    name: str,
    trace: Callable[..., Program],
    rows: Mapping[str, Any],
    results: Sequence[Shape],
    *,
    large: int = LARGE_BATCH,
    kinematic: bool = False,
    before: int | None = None,
    has_margins: bool = False,
) -> list[Array] | None:
    """The results (..., *shape) of a program for a batch (...) of states, if it is large.

    Parameters
    ----------
    name : of the program, which depends only on it and on the robot.
    trace : makes the program, with the argument `inputs` unless it is kinematic.
    rows : the inputs (..., n), in the order of the program. None for an input that is not given.
    results : the shape of each result of one state; "n" stands for the number of
        joints, "N" for that of bodies.
    large : the smallest number of states for which vector code is used.
    kinematic : the program contains no inertial parameters. Other programs read them in each call,
        so that a payload needs no new code.
    before : the number of rows that the program declares before the numbers of the robot; all of
        them if None.
    has_margins : the program has a last result (n,) that is positive wherever the others are valid.

    Returns None if the batch is not large, does not have the right form, or has a state without a
    valid result; the general function then computes the results, or reports what is wrong. Raises
    InputError if `model` is no model.
    """
    check_model(model)
    n = model.n
    states = (
        _states(rows, n, large)
        if results and model.body_count <= MOST_JOINTS and available()
        else None
    )
    if states is None:
        return None
    batch, inputs = states
    make, key = trace, f"{name}-batch-{geometry_key(model)}"
    if not kinematic:
        make = partial(trace, inputs=adaptable_inputs(model))
        key = f"{name}-batch-{structure_key(model)}"
        place = len(inputs) if before is None else before
        inputs[place:place] = [model.joint_rows, model.gravity]
    shapes = [*results, ("n",)] if has_margins else results
    N = model.body_count
    sizes = [tuple(n if x == "n" else N if x == "N" else x for x in each) for each in shapes]
    outputs = [np.empty((*batch, *size)) for size in sizes]
    kernel = _kernel(key, len(inputs) + len(outputs), make)
    if kernel is None or not kernel.rows([*inputs, *outputs], int(np.prod(batch))):
        return None
    if has_margins and not (outputs.pop() > 0.0).all():
        return None
    return outputs


def _states(
    rows: Mapping[str, Any], n: int, large: int
) -> tuple[tuple[int, ...], list[Array]] | None:
    """The shape of the batch, and its rows as contiguous arrays.

    None unless the batch is large, and the rows are (..., n) without gaps. Raises InputError for
    rows of anything but real numbers.
    """
    given = [row for row in rows.values() if row is not None]
    if not any(isinstance(row, np.ndarray) and row.size >= large * n for row in given):
        return None
    if any(row is None for row in list(rows.values())[: len(given)]):
        return None
    arrays = list(map(as_real, rows, given))
    if not all(x.shape[-1:] == (n,) for x in arrays):
        return None
    batch = broadcast_shapes(tuple(rows)[: len(given)], [x.shape[:-1] for x in arrays])
    full = (np.broadcast_to(x, (*batch, n)) for x in arrays)
    return batch, [np.ascontiguousarray(x) for x in full]


def adaptable_inputs(model: MultibodyModel) -> TracedInputs:
    """The inputs of code that `structure_key` names: a payload needs no new code."""
    return TracedInputs(joints=~constant_columns(model), gravity=model.gravity != 0.0)


def geometry_key(model: MultibodyModel) -> str:
    """A hash of all numbers of a robot except its inertial parameters."""
    shape, placements = model.joint_rows[:, :MASS], model.body_in_joint
    return _digest(model.parents, model.coordinates, shape, model.gravity, placements)


def structure_key(model: MultibodyModel) -> str:
    """A hash of the numbers of a robot that stay constant in code that reads the others."""
    constant = constant_columns(model)
    values, weightless = model.joint_rows[constant], model.gravity == 0.0
    return _digest(model.parents, constant, values, weightless)


def _digest(*arrays: NDArray[Any]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape};".encode() + array.tobytes())
    return digest.hexdigest()


def _kernel(key: str, arrays: int, trace: Callable[[], Program]) -> BatchKernel | None:
    if key in _not_compiled:
        return None

    def small_enough() -> Program:
        program = trace()
        if program.size > MOST_OPERATIONS:
            raise _TooLargeError
        return program

    try:
        return BatchKernel(key, arrays, small_enough, shared=SHARED)
    except (_TooLargeError, ZeroDivisionError):  # the latter if no state has a result
        _not_compiled.add(key)
        return None
