# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Analytical derivatives of inverse and forward dynamics for the control cycle."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ..codegen import Calls, Program, pause
from ..core import Array, BoundCall, CheckedRows, compiled, copy_row
from ..model import MultibodyModel
from ..recursions import store_trig
from ..recursions.spatial import forward_recursion
from .aba import forward_dynamics_scratch
from .articulated_inertia import ROUNDING, singular
from .crba import cancelled_terms, fill_mass_matrix
from .derivatives import (
    SUBTREE_ROW,
    accelerate,
    add_torques,
    derivatives_recursion,
    inverse_dynamics_derivatives_cycle,
    subtree_recursion,
    trace_inverse_dynamics_derivatives,
    trace_solved_derivatives,
)
from .mass_matrix_factors import factorise, invert, negative_product
from .specialised_kernel import SpecialisedKernel, addresses
from .specialising_solver import CHECKED_STATES, TOLERANCE, SpecialisingSolver
from .tracing import Pause, TracedInputs

MOST_BODIES = 12  # of robots with code of their own: for more, it takes 5 s to compile
LEAST_SIZE = 1e-3  # of the largest matrix: below this share, one may be nothing but rounding errors
Trace = Callable[[MultibodyModel, TracedInputs, Pause], Program]

_inverse_cycle = compiled(inverse_dynamics_derivatives_cycle)


# Plain arrays; a named tuple would add 0.2 us per field to every call from Python
def _forward(
    parents, joints, gravity, state, applied, free, motion, trig, bodies, subtrees, M, changes,
    result,
):  # fmt: skip
    """Write dq''/dq, dq''/dq' and M^-1 to `result` (3, n, n); return False if M is singular.

    `state` (3, n) holds q, q' and tau; `free` (n,) is 0 throughout. `motion` (8, n) receives q'' in
    row 2. M (n, n) and `changes` (2, n, n) are scratch.
    """
    n = state.shape[1]
    copy_row(motion[0], state[0])
    copy_row(motion[1], state[1])
    qdd, torque, pivots, bounds = motion[2], motion[5], motion[6], motion[7]
    copy_row(torque, state[2])
    for i in range(n):
        qdd[i] = 0.0
    store_trig(joints, motion, trig)
    forward_recursion(parents, joints, trig, motion, 0, bodies)
    subtree_recursion(parents, joints, gravity, applied, bodies, subtrees)
    add_torques(joints, bodies, subtrees, -1.0, torque)
    fill_mass_matrix(parents, joints, bodies, subtrees, M)
    cancelled_terms(joints, bodies, subtrees, bounds)
    factorise(M, free, pivots)
    for i in range(n):
        if not pivots[i] > ROUNDING * bounds[i]:
            return False
    invert(M, pivots, result[2])
    for k in range(n):
        for i in range(n):
            qdd[i] += torque[k] * result[2, k, i]
    accelerate(parents, joints, qdd, bodies, subtrees)
    derivatives_recursion(parents, joints, gravity, bodies, subtrees, changes)
    for k in range(2):
        negative_product(result[2], changes[k], result[k])
    return True


_forward_cycle = compiled(_forward)


class DerivativesKernel(SpecialisedKernel):
    """The derivatives of one robot with a base at rest, by a program of `trace`."""

    def __init__(self, model: MultibodyModel, trace: Trace, name: str, condition: str) -> None:
        self._trace_robot, self.name, self.condition = trace, name, condition
        super().__init__(model)

    def _trace(self, inputs: TracedInputs, pause: Pause) -> Program:
        return self._trace_robot(self._model, inputs, pause)


class _DerivativesSolver(SpecialisingSolver):
    """Base of both solvers: three rows (n,) in, three matrices (n, n) out."""

    _what = "derivatives"
    _has_moving_kernel = False
    _results: tuple[Array, Array, Array]
    _table: Callable[[], list[Array]]  # the arrays of the program, in its order

    def __init__(
        self,
        model: MultibodyModel,
        bodies: Array,
        names: tuple[str, ...],
        state: Array,
        specialise: bool | None,
    ) -> None:
        super().__init__(model, bodies)
        self.state = state
        self.result: Array = np.zeros((3, model.n, model.n))
        self._results = (self.result[0], self.result[1], self.result[2])
        self._specialises = self._is_wanted(specialise) and model.body_count <= MOST_BODIES
        is_direct = Calls.available()
        self._rows = CheckedRows(names, model.joint_names, state, is_fallback=is_direct)

    def _start(self, general: Callable[[], Any]) -> None:
        """Compile and warm up the general kernel; get the specialised one."""
        self._general, self.update = general, general
        self._general()
        if self._specialises:
            self._specialise()
        else:
            self._call_directly()

    def _run(self) -> None:
        self._general()

    def _specialise(self) -> None:
        given = self.state, self._results, self._table(), self._wrench_numbers, self._general()
        self._begin(Calls(self._general, *given), Calls(self._run, *given))

    def _agrees(self, moving: bool, address: int) -> bool:
        make: Any = type(self)
        general, found = (make(self.model, specialise=False) for _ in range(2))
        kernel, where = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(address), found._table()
        places, rng, compared = addresses(where), np.random.default_rng(1), 0
        for _ in range(CHECKED_STATES):
            found.state[:] = general.state[:] = rng.uniform(-3.0, 3.0, general.state.shape)
            if kernel(places.ctypes.data) and general.update() is not False:
                size = np.abs(general.result).max(axis=(1, 2), initial=0.0)
                size = np.maximum(size, LEAST_SIZE * size.max())
                differences = np.abs(found.result - general.result).max(axis=(1, 2), initial=0.0)
                if not (differences <= TOLERANCE * size).all():
                    return False
                compared += 1
            pause()
        return compared > 0


class InverseDynamicsDerivativesSolver(_DerivativesSolver):
    """dQ/dq, dQ/dq' and dQ/dq'' = M for the control cycle: compiled, no allocation per call.

    >>> solver = InverseDynamicsDerivativesSolver(model)
    >>> dtau_dq, dtau_dqd, dtau_dqdd = solver(q, qd, qdd)

    To avoid all copies, fill the rows q, q', q'' of `solver.state` (3, n), call `solver.update()`
    and read `solver.result` (3, n, n). The results are views that the next call overwrites.
    `solver.applied_wrenches` (N, 3, 6), `set_base` and `set_model` work as in
    `InverseDynamicsSolver`, and so do `specialise`, for robots with up to 12 bodies, `kernel` and
    `wait`; the rates of the wrenches are not used.

    Use an instance from one thread only. `update()` checks nothing: NaN in, NaN out.
    """

    def __init__(self, model: MultibodyModel, *, specialise: bool | None = None) -> None:
        n, N = model.n, model.body_count
        motion = np.zeros((5, n))
        trig, bodies, *_ = forward_dynamics_scratch(n, N)
        super().__init__(model, bodies, ("q", "qd", "qdd"), motion[:3], specialise)
        self._start(BoundCall(
            _inverse_cycle, *self._constants, motion, self.applied_wrenches.reshape(N, 18), trig,
            bodies, np.empty((N + 1, SUBTREE_ROW)), self.result,
        ))  # fmt: skip

    def _new_kernel(self, moving: bool) -> DerivativesKernel:
        trace = trace_inverse_dynamics_derivatives
        return DerivativesKernel(self.model, trace, "inverse_dynamics_derivatives", "")

    def _table(self) -> list[Array]:
        return [*self.state, *self._constants[1:], *self._results]

    def __call__(self, q: Any, qd: Any, qdd: Any) -> tuple[Array, Array, Array]:
        """dQ/dq, dQ/dq' and M (n, n) as views of `result`; q, qd and qdd are (n,).

        Raises InputError for a wrong length, NaN or infinity, and leaves all buffers unchanged.
        """
        if self._call is None or self._call(q, qd, qdd) is None:
            self._rows.take((q, qd, qdd))
            self.update()
        return self._results


class ForwardDynamicsDerivativesSolver(_DerivativesSolver):
    """dq''/dq, dq''/dq' and dq''/dtau = M^-1 for the control cycle; q'' (n,) is `solver.qdd`.

    >>> solver = ForwardDynamicsDerivativesSolver(model)
    >>> dqdd_dq, dqdd_dqd, dqdd_dtau = solver(q, qd, tau)

    The rows of `solver.state` are q, q', tau. Otherwise it works like
    `InverseDynamicsDerivativesSolver`, except that `update()` returns False if the mass matrix is
    singular; `solver.result` is then invalid.
    """

    def __init__(self, model: MultibodyModel, *, specialise: bool | None = None) -> None:
        n, N = model.n, model.body_count
        motion = np.zeros((8, n))
        trig, bodies, *_ = forward_dynamics_scratch(n, N)
        names = "q", "qd", "tau"
        super().__init__(model, bodies, names, np.zeros((3, n)), specialise)
        self.qdd: Array = motion[2]
        self._validity = np.zeros(n)
        self._start(BoundCall(
            _forward_cycle, *self._constants, self.state, self.applied_wrenches.reshape(N, 18),
            np.zeros(n, dtype=np.int64), motion, trig, bodies, np.empty((N + 1, SUBTREE_ROW)),
            np.empty((n, n)), np.empty((2, n, n)), self.result,
        ))  # fmt: skip

    def _new_kernel(self, moving: bool) -> DerivativesKernel:
        name = "forward_dynamics_derivatives"
        return DerivativesKernel(self.model, trace_solved_derivatives, name, "validity")

    def _table(self) -> list[Array]:
        q, qd, tau = self.state
        return [q, qd, *self._constants[1:], tau, *self._results, self.qdd, self._validity]

    def _run(self) -> None:
        if not self._general():
            raise singular(self.model, self.state[0])

    def __call__(self, q: Any, qd: Any, tau: Any) -> tuple[Array, Array, Array]:
        """dq''/dq, dq''/dq' and M^-1 (n, n) as views of `result`; q, qd and tau are (n,).

        Raises InputError for a wrong length, NaN or infinity, and leaves all buffers unchanged;
        raises DynamicsError if the mass matrix is singular.
        """
        if self._call is None or self._call(q, qd, tau) is None:
            self._rows.take((q, qd, tau))
            if not self.update():
                raise singular(self.model, self.state[0])
        return self._results
