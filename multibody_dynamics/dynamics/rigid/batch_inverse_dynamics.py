"""Inverse dynamics of many states of one robot, by vector code on all cores."""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..codegen import available, batch_module, compile_module, lanes, stored
from ..core import STATE_ROWS, Array, InputError, as_array, broadcast_shapes
from ..model import MultibodyModel, check_model
from .rnea import InverseDynamics, inverse_dynamics
from .traced_dynamics import RESULTS, trace_inverse_dynamics

FUNCTION = "inverse_dynamics"
CHUNK = 2**14  # states that a thread evaluates at a time; a multiple of the number of lanes


class BatchInverseDynamics:
    """Q and its first `order` time derivatives for many states of one robot.

    >>> evaluate = BatchInverseDynamics(model)
    >>> tau, tau_dot, tau_ddot = evaluate(q, qd, qdd, qddd, qdddd)

    The same as :func:`.inverse_dynamics` with a base at rest and without applied wrenches, but for
    large batches: straight-line code for this robot evaluates several states at a time, side by
    side in vector registers, on all cores. The constructor compiles, which takes a second for an
    arm, or loads the code from the cache. Without Numba, it calls `inverse_dynamics`.
    """

    def __init__(self, model: MultibodyModel, order: int = 2) -> None:
        """Raises InputError for an order other than 0, 1 and 2."""
        check_model(model)
        if order not in (0, 1, 2):
            raise InputError(f"order: expected 0, 1 or 2, got {order!r}")
        self.model, self.order = model, order
        self._function = _compiled(model, order) if available() else None

    # wide: the state is spelled out, one argument for each derivative of q
    def __call__(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        qddd: Any | None = None,
        qdddd: Any | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> InverseDynamics:
        """Q, Q' and Q'', each (..., n), or None above `order`.

        Parameters
        ----------
        q, qd, qdd, qddd, qdddd : (..., n), rad or m and per s^k, as many as `order` needs; leading
            dimensions broadcast. Contiguous float64 arrays of one shape are read in place.
        out : (order + 1, ..., n) contiguous float64 array for the results, which are then views of
            it; this saves the allocation of new memory for each batch.
        threads : largest number of threads; default: one per available core. The results do not
            depend on it.

        Raises InputError for missing or surplus rows, wrong shapes, NaN or infinity; the contents
        of `out` are then undefined.
        """
        names = STATE_ROWS[: self.order + 3]
        for name, row in zip(STATE_ROWS, (q, qd, qdd, qddd, qdddd), strict=True):
            if (row is None) is (name in names):
                raise InputError(
                    f"{name}: order {self.order} takes {', '.join(names)}; "
                    f"{name} is {'missing' if row is None else 'surplus'}"
                )
        if threads is not None and threads < 1:
            raise InputError(f"threads: expected at least 1, got {threads}")
        given = (q, qd, qdd, qddd, qdddd)[: self.order + 3]
        rows = self._contiguous(given)
        results = self._results((self.order + 1, *rows[0].shape), out)
        if self._function is None:
            results[:] = inverse_dynamics(self.model, *given)[: self.order + 1]
        elif self._run(rows, results, threads):
            self._checked(given)  # raises
        return InverseDynamics(*results, *(None,) * (2 - self.order))

    def _run(self, rows: Sequence[Array], results: Array, threads: int | None) -> bool:
        """Evaluate all states; return whether any input is not finite."""
        count = rows[0].size // self.model.n
        addresses = [array.ctypes.data for array in (*rows, *results)]

        def chunk(first: int) -> int:
            end = min(first + CHUNK, count)
            found: int = self._function(*addresses, first, end)  # type: ignore[misc]
            return found

        starts = range(0, count, CHUNK)
        workers = min(threads or _cores(), len(starts))
        if workers <= 1:
            return any([chunk(first) for first in starts])
        with ThreadPoolExecutor(workers) as pool:
            return any(list(pool.map(chunk, starts)))

    @staticmethod
    def _results(shape: tuple[int, ...], out: Array | None) -> Array:
        if out is None:
            return np.empty(shape)
        if not (
            isinstance(out, np.ndarray)
            and (out.shape, out.dtype) == (shape, np.float64)
            and out.flags.c_contiguous
            and out.flags.behaved
        ):
            raise InputError(f"out: expected a contiguous, writeable float64 array {shape}")
        return out

    def _contiguous(self, given: Sequence[Any]) -> list[Array]:
        """The rows as contiguous float64 arrays of one shape (..., n)."""
        first = given[0]
        if all(
            isinstance(row, np.ndarray)
            and row.dtype == np.float64
            and row.flags.c_contiguous
            and row.flags.aligned
            and row.shape == first.shape
            for row in given
        ) and first.shape[-1:] == (self.model.n,):
            return list(given)
        rows = self._checked(given)
        shape = broadcast_shapes(STATE_ROWS[: len(rows)], [row.shape for row in rows])
        return [np.ascontiguousarray(np.broadcast_to(row, shape)) for row in rows]

    def _checked(self, given: Sequence[Any]) -> list[Array]:
        return [
            as_array(name, row, (self.model.n,), self.model.joint_names)
            for name, row in zip(STATE_ROWS, given, strict=False)
        ]


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _compiled(model: MultibodyModel, order: int) -> Any:
    """The function of :func:`.batch_module` for this robot; calls release the interpreter lock."""
    width = lanes()
    digest = hashlib.sha256(f"{order} {width}".encode())
    for array in (model.parents, model.joint_rows, model.gravity):
        digest.update(f"{array.dtype} {array.shape};".encode() + array.tobytes())
    key, names = f"{FUNCTION}-batch-{digest.hexdigest()}", [f"{FUNCTION}.batch"]
    found = stored(key, names)
    if found is None:
        program = trace_inverse_dynamics(model, order)
        found = compile_module(key, batch_module(program, FUNCTION, width), names)
    arrays = [ctypes.c_void_p] * (order + 3 + len(RESULTS[: order + 1]))
    return ctypes.CFUNCTYPE(ctypes.c_int64, *arrays, ctypes.c_int64, ctypes.c_int64)(found[0])
