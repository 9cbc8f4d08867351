# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse dynamics of many states of one robot, by vector code on all cores."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from ..codegen import BatchKernel, available
from ..core import STATE_ROWS, Array, InputError, as_array, as_real, broadcast_shapes
from ..model import MultibodyModel, check_model
from .rnea import InverseDynamics, inverse_dynamics
from .traced_dynamics import trace_inverse_dynamics
from .tracing import MOST_JOINTS
from .vector_batches import SHARED, adaptable_inputs, structure_key


class BatchInverseDynamics:
    """Q and its first `order` time derivatives for many states of one robot.

    >>> evaluate = BatchInverseDynamics(model)
    >>> tau, tau_dot, tau_ddot = evaluate(q, qd, qdd, qddd, qdddd)

    The same as :func:`.inverse_dynamics` with a base at rest and without applied wrenches, but for
    large batches: straight-line code for this robot evaluates several states at a time, side by
    side in vector registers, on all cores. The constructor compiles, which takes a second for an
    arm, or loads the code from the cache; a robot that differs only by a payload or by gravity uses
    the same code. Without Numba, and for robots with more than 64 joints, it calls
    `inverse_dynamics`.

    `evaluate` takes arrays (..., n) with the joints of a state side by side, and transposes them in
    blocks that fit into the first cache. `evaluate.columns` takes arrays (n, ...) with the states
    of a joint side by side, as the vector registers hold them, and transposes nothing.
    """

    def __init__(self, model: MultibodyModel, order: int = 2) -> None:
        """Raises InputError for an order other than 0, 1 and 2."""
        check_model(model)
        if order not in (0, 1, 2):
            raise InputError(f"order: expected 0, 1 or 2, got {order!r}")
        self.model, self.order = model, order
        self._kernel: BatchKernel | None = None
        if available() and model.body_count <= MOST_JOINTS:
            self._kernel = BatchKernel(
                f"inverse_dynamics-{order}-batch-{structure_key(model)}",
                (order + 3) + len(SHARED) + (order + 1),
                lambda: trace_inverse_dynamics(model, order, inputs=adaptable_inputs(model)),
                SHARED,
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles load the machine code anew."""
        return type(self), (self.model, self.order)

    def __call__(
        self, q: Any, qd: Any, qdd: Any, qddd: Any | None = None, qdddd: Any | None = None, *,
        out: Array | None = None, threads: int | None = None,
    ) -> InverseDynamics:  # fmt: skip
        """Q, Q' and Q'', each (..., n), or None above `order`.

        Parameters
        ----------
        q, qd, qdd, qddd, qdddd : (..., n), rad or m and per s^k, as many as `order` needs; leading
            dimensions broadcast. Contiguous float64 arrays of one shape are read in place.
        out : (order + 1, ..., n) contiguous float64 array for the results, which are then views of
            it; this saves the allocation of new memory for each batch. It must not overlap an
            input.
        threads : largest number of threads; default: one per available core. The results do not
            depend on it.

        Raises InputError for missing or surplus rows, wrong shapes, NaN or infinity; the contents
        of `out` are then undefined.
        """
        return self._evaluate((q, qd, qdd, qddd, qdddd), out, threads, -1)

    def columns(
        self, *state: Any, out: Array | None = None, threads: int | None = None
    ) -> InverseDynamics:
        """Q, Q' and Q'' as (n, ...) from `state`, q and its derivatives (n, ...).

        `out` is (order + 1, n, ...). All else as in a call.
        """
        return self._evaluate(state, out, threads, 0)

    def _evaluate(
        self, given: Sequence[Any], out: Array | None, threads: int | None, joints: int
    ) -> InverseDynamics:
        """`joints` is the axis of the joints: -1, or 0 for states in columns."""
        names, n = STATE_ROWS[: self.order + 3], self.model.n
        if len(given) > len(STATE_ROWS):
            raise InputError(f"expected at most {', '.join(STATE_ROWS)}, got {len(given)} rows")
        for name, row in zip_longest(STATE_ROWS, given):
            if (row is None) is (name in names):
                raise InputError(
                    f"{name}: order {self.order} takes {', '.join(names)}; "
                    f"{name} is {'missing' if row is None else 'surplus'}"
                )
        if not (threads is None or (isinstance(threads, int | np.integer) and threads >= 1)):
            raise InputError(f"threads: expected at least 1, got {threads!r}")
        given = given[: self.order + 3]
        rows = self._contiguous(given, joints)
        results = self._results((self.order + 1, *rows[0].shape), out)
        count = rows[0].size // n
        if any(np.may_share_memory(row, results) for row in rows):
            raise InputError("out: expected an array that does not overlap the inputs")
        if joints == 0 and (self._kernel is None or count < self._kernel.lanes):
            turned = self._evaluate([np.moveaxis(row, 0, -1) for row in rows], None, threads, -1)
            for result, torque in zip(results, turned, strict=False):
                result[...] = np.moveaxis(np.asarray(torque), -1, 0)
        elif self._kernel is None:
            for result, torque in zip(results, inverse_dynamics(self.model, *rows), strict=False):
                result[...] = torque
        elif joints == 0:
            arrays = [array.reshape(n, count) for array in (*rows, *results)]
            if not self._kernel.columns(self._with_robot(arrays), count, threads):
                self._checked(given, joints)  # raises
        elif not self._kernel.rows(self._with_robot([*rows, *results]), count, threads):
            self._checked(given, joints)  # raises
        return InverseDynamics(*results, *(None,) * (2 - self.order))

    def _with_robot(self, arrays: list[Array]) -> list[Array]:
        """The arrays of the kernel: the numbers of the robot follow the state."""
        rows = self.order + 3
        return [*arrays[:rows], self.model.joint_rows, self.model.gravity, *arrays[rows:]]

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

    def _contiguous(self, given: Sequence[Any], joints: int) -> list[Array]:
        """The rows as contiguous float64 arrays of one shape."""
        first = given[0]
        if (
            all(
                type(row) is np.ndarray  # not a masked one
                and row.dtype == np.float64
                and row.flags.c_contiguous
                and row.flags.aligned
                and row.shape == first.shape
                for row in given
            )
            and first.ndim
            and first.shape[joints] == self.model.n
        ):
            return list(given)
        rows = self._checked(given, joints)
        shape = broadcast_shapes(STATE_ROWS[: len(rows)], [row.shape for row in rows])
        full = (np.moveaxis(np.broadcast_to(row, shape), -1, joints) for row in rows)
        return [np.ascontiguousarray(row) for row in full]

    def _checked(self, given: Sequence[Any], joints: int) -> list[Array]:
        """The rows (..., n), with the joints last."""
        n, named = self.model.n, zip(STATE_ROWS, given, strict=False)
        if joints != 0:
            return [as_array(name, row, (n,), self.model.joint_names) for name, row in named]
        rows = []
        for name, given_row in named:
            row = as_real(name, given_row)
            if not row.ndim or len(row) != n:
                raise InputError(f"{name}: expected shape ({n}, ...), got {row.shape}")
            rows.append(as_array(name, np.moveaxis(row, 0, -1), (n,), self.model.joint_names))
        return rows
