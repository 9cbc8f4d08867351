"""The derivatives of inverse and forward dynamics in the control cycle."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..core import Array, CheckedRows, compiled
from ..model import MultibodyModel
from .aba import forward_dynamics_scratch, plain_forward_dynamics_cycle
from .articulated_inertia import singular, solution_recursion
from .derivatives import SUBTREE_ROW, inverse_dynamics_derivatives_cycle
from .solvers import ModelSolver

_inverse_cycle = compiled(inverse_dynamics_derivatives_cycle)


def _forward(
    parents, joints, gravity, state, applied, prescribed, motion, tau,
    trig, bodies, rows, bias, force, subtrees, torque, result,
):  # fmt: skip
    """dq''/dq, dq''/dq', M^-1 into `result` for q, q', tau in `state`; False if M is singular.

    q'' goes into `motion[2]`, the derivatives of Q into `torque` (3, n, n). From `motion` (5, n) to
    `force` the arguments are those of the forward dynamics, no joint being prescribed.
    """
    n = parents.shape[0]
    for i in range(n):
        motion[0, i] = state[0, i]
        motion[1, i] = state[1, i]
        tau[0, i] = state[2, i]
    if not plain_forward_dynamics_cycle(
        parents, joints, gravity, prescribed, 0, motion, tau, applied,
        trig, bodies, rows, bias, force,
    ):  # fmt: skip
        return False
    for j in range(n):
        for i in range(n):
            force[i] = 0.0
        force[j] = 1.0
        solution_recursion(parents, prescribed, bodies, rows, force, result[2, j])
    inverse_dynamics_derivatives_cycle(
        parents, joints, gravity, motion, applied, trig, bodies, subtrees, torque
    )
    for k in range(2):
        for i in range(n):
            for j in range(n):
                result[k, i, j] = 0.0
            for r in range(n):
                inverse = result[2, i, r]
                for j in range(n):
                    result[k, i, j] -= inverse * torque[k, r, j]
    return True


_forward_cycle = compiled(_forward)


class _DerivativesSolver(ModelSolver):
    """What the two solvers share: three rows in, three matrices out."""

    def __init__(
        self, model: MultibodyModel, bodies: Array, names: tuple[str, ...], state: Array
    ) -> None:
        super().__init__(model, bodies)
        self.state: Array = state
        self.result: Array = np.zeros((3, model.n, model.n))
        self._results = (self.result[0], self.result[1], self.result[2])
        self._rows = CheckedRows(names, model.joint_names, self.state)


class InverseDynamicsDerivativesSolver(_DerivativesSolver):
    """dQ/dq, dQ/dq' and dQ/dq'' = M in the control cycle: own buffers, compiled, no allocation.

    >>> solver = InverseDynamicsDerivativesSolver(model)
    >>> dtau_dq, dtau_dqd, dtau_dqdd = solver(q, qd, qdd)

    or, without any copy: fill the rows q, q', q'' of `solver.state` (3, n), call `solver.update()`,
    read `solver.result` (3, n, n). The results are views that the next call overwrites.
    `solver.applied_wrenches` (n, 3, 6), `set_base` and `set_model` are as of
    `InverseDynamicsSolver`; the rates of the wrenches are not used.

    An instance is for one thread. `update()` checks nothing: NaN in, NaN out.
    """

    def __init__(self, model: MultibodyModel) -> None:
        n = model.n
        motion = np.zeros((5, n))
        trig, bodies, *_ = forward_dynamics_scratch(n)
        super().__init__(model, bodies, ("q", "qd", "qdd"), motion[:3])
        self.update = partial(
            _inverse_cycle,
            *self._constants,
            motion,
            self.applied_wrenches.reshape(n, 18),
            trig,
            bodies,
            np.empty((n + 1, SUBTREE_ROW)),
            self.result,
        )
        self.update()

    def __call__(self, q: Any, qd: Any, qdd: Any) -> tuple[Array, Array, Array]:
        """dQ/dq, dQ/dq', M (n, n) each, as views of `result`, for a state of three (n,) arrays.

        Raises InputError for a wrong length, NaN or infinity; nothing has changed then.
        """
        self._rows.take((q, qd, qdd))
        self.update()
        return self._results


class ForwardDynamicsDerivativesSolver(_DerivativesSolver):
    """dq''/dq, dq''/dq' and dq''/dtau = M^-1 in the control cycle, and q'' (n,) in `solver.qdd`.

    >>> solver = ForwardDynamicsDerivativesSolver(model)
    >>> dqdd_dq, dqdd_dqd, dqdd_dtau = solver(q, qd, tau)

    The rows of `solver.state` are q, q', tau. All else is as of `InverseDynamicsDerivativesSolver`,
    but `update()` returns False where the mass matrix is singular, the result then being worthless.
    """

    def __init__(self, model: MultibodyModel) -> None:
        n = model.n
        motion, scratch = np.zeros((5, n)), forward_dynamics_scratch(n)
        super().__init__(model, scratch.bodies, ("q", "qd", "tau"), np.zeros((3, n)))
        self.qdd: Array = motion[2]
        self.update = partial(
            _forward_cycle,
            *self._constants,
            self.state,
            self.applied_wrenches.reshape(n, 18),
            np.zeros(n, dtype=bool),
            motion,
            np.zeros((3, n)),
            *scratch,
            np.empty((n + 1, SUBTREE_ROW)),
            np.empty((3, n, n)),
            self.result,
        )
        self.update()

    def __call__(self, q: Any, qd: Any, tau: Any) -> tuple[Array, Array, Array]:
        """dq''/dq, dq''/dq', M^-1 (n, n) each, as views of `result`, for three (n,) arrays.

        Raises InputError for a wrong length, NaN or infinity, nothing has changed then; and
        DynamicsError where the mass matrix is singular.
        """
        self._rows.take((q, qd, tau))
        if not self.update():
            raise singular(self.model, self.state[0])
        return self._results
