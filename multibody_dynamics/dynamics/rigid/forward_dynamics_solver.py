# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Articulated-body (ABA) forward dynamics with rates for the control cycle."""

from functools import partial
from typing import Any

import numpy as np

from ..core import STATE_ROWS, Array, CheckedRows, InputError
from ..model import MultibodyModel, check_model
from ..model.records import WRENCH
from .aba import TORQUE_ROWS, forward_dynamics_cycle, forward_dynamics_scratch
from .articulated_inertia import prescribed_joints, singular
from .solvers import ModelSolver


class ForwardDynamicsSolver(ModelSolver):
    """q'', and with `order` 1 or 2 also q''' and q'''', for the control cycle: compiled.

    >>> solver = ForwardDynamicsSolver(model)
    >>> (qdd,) = solver(q, qd, tau)
    >>> solver = ForwardDynamicsSolver(model, order=1)
    >>> qdd, qddd = solver(q, qd, tau, tau_dot)

    To avoid all copies, fill the rows q, q' of `solver.state` (2, n) and the rows tau, tau', ... of
    `solver.torque` (order + 1, n), call `solver.update()` and read `solver.result` (order + 1, n).
    The results are views that the next call overwrites. `solver.applied_wrenches` (N, 3, 6),
    `set_base` and `set_model` work as in `InverseDynamicsSolver`.

    Use an instance from one thread only. `update()` checks nothing. It returns 1, or 0 if the mass
    matrix is singular; `solver.result` is then invalid.
    """

    def __init__(self, model: MultibodyModel, order: int = 0) -> None:
        check_model(model)
        if order not in (0, 1, 2):
            raise InputError(f"order: expected 0, 1 or 2 derivatives of q'', got {order!r}")
        n, N, bases = model.n, model.body_count, np.zeros((1, WRENCH))
        super().__init__(model, bases)
        self.order = order = int(order)
        motion, torques = np.zeros((5, n)), np.zeros((3, n))
        self.state: Array = motion[:2]
        self.torque: Array = torques[: order + 1]
        self.result: Array = motion[2 : order + 3]
        self._results = tuple(self.result)
        names = (*STATE_ROWS[:2], *TORQUE_ROWS[: order + 1])
        self._given = np.zeros((len(names), n))
        self._rows = CheckedRows(names, model.joint_names, self._given)
        self.update = partial(
            forward_dynamics_cycle, *self._constants, prescribed_joints(model, ()), order, bases,
            motion[None], torques[None], self.applied_wrenches.reshape(1, N, 18),
            *forward_dynamics_scratch(n, N),
        )  # fmt: skip
        self.update()

    def __call__(self, q: Any, qd: Any, *torques: Any) -> tuple[Array, ...]:
        """q'', ... (n,) as views of `result`, for q, q' (n,) and `order` + 1 torque rows (n,).

        Raises InputError for a wrong number or length of rows, NaN or infinity, and leaves all
        buffers unchanged; raises DynamicsError if the mass matrix is singular.
        """
        self._rows.take((q, qd, *torques))
        self.state[:] = self._given[:2]
        self.torque[:] = self._given[2:]
        if not self.update():
            raise singular(self.model, self.state[0])
        return self._results
