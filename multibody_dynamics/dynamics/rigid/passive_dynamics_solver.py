# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Passive inverse dynamics with rates, and the gradient of its power, for the control cycle."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..core import Array, CheckedRows, InputError, compiled
from ..model import MultibodyModel
from ..model.records import BODY_ROW
from ..recursions import passive
from .passive_dynamics import PASSIVE_CYCLE, REFERENCE, STATE
from .solvers import ModelSolver


def _moments(parents, joints, gravity, rates, bodies, references, twists, moments):
    passive.twist_recursion(parents, joints, rates, bodies, twists)
    passive.moment_recursion(parents, bodies, references, twists, moments)


_COMPILED_MOMENTS = compiled(_moments)


class PassiveInverseDynamicsSolver(ModelSolver):
    """u = M q_r'' + C(q, q') q_r' + g, u' and u'' for the control cycle: compiled, no allocation.

    >>> solver = PassiveInverseDynamicsSolver(model)
    >>> u, u_dot, u_ddot = solver((q, qd, qdd, qddd), (qrd, qrdd, qrddd, qrdddd))

    See :func:`.passive_inverse_dynamics`. To avoid all copies, fill `solver.state` and
    `solver.reference`, call `solver.update()` and read `solver.result`.

    state : (4, n) rows q, q', q'', q''', rad or m and per s^k.
    reference : (4, n) rows q_r', q_r'', q_r''', q_r''''.
    result : (3, n) rows u, u', u'', N m or N and per s^k.
    applied_wrenches : (N, 3, 6) as in :class:`.InverseDynamicsSolver`.
    moments : (N, 4, 4) of the last call of `update_moments`.
    direction : (n,) joint rates x for `update_moments`.

    `set_model` and `set_base` exchange the robot and the motion of its base. Use an instance from
    one thread only. `update()` checks nothing: NaN in, NaN out.
    """

    def __init__(self, model: MultibodyModel) -> None:
        n, N = model.n, model.body_count
        bodies, references = np.zeros((N + 1, BODY_ROW)), np.zeros((N + 1, passive.REFERENCE_ROW))
        super().__init__(model, bodies, "body")
        self.state: Array = np.zeros((4, n))
        self.reference: Array = np.zeros((4, n))
        self.result: Array = np.zeros((3, n))
        self.direction: Array = np.zeros(n)
        self.moments: Array = np.zeros((N, 4, 4))
        self._results = tuple(self.result)
        self._state_rows = CheckedRows(STATE, model.joint_names, self.state)
        self._reference_rows = CheckedRows(REFERENCE, model.joint_names, self.reference)
        self._last_state = np.zeros((4, n))
        self.update = partial(
            PASSIVE_CYCLE,
            *self._constants,
            2,
            self.state,
            self.reference,
            self.applied_wrenches.reshape(N, 18),
            np.empty((2, N)),
            bodies,
            references,
            self.result,
        )
        self.update_moments = partial(
            _COMPILED_MOMENTS,
            *self._constants,
            self.direction,
            bodies,
            references,
            np.zeros((N + 1, 6)),
            self.moments,
        )
        self.update()
        self.update_moments()

    def __call__(self, state: Any, reference: Any) -> tuple[Array, Array, Array]:
        """u, u' and u'' (n,) as views of `result`; both arguments are four rows (n,).

        Raises InputError for a wrong length, NaN or infinity, and leaves all buffers unchanged.
        """
        self._last_state[:] = self.state
        self._state_rows.take(tuple(state))
        try:
            self._reference_rows.take(tuple(reference))
        except InputError:
            self.state[:] = self._last_state
            raise
        self.update()
        return self._results

    def power_moments(self, x: Any) -> Array:
        """The matrices L (N, 4, 4) with x . u = sum_i tr(L_i P_i) at the last state, in O(n).

        P_i is the pseudo-inertia [[Sigma, m c], [m c^T, m]] of body i in its joint frame, where
        the body frame has the pose `model.body_in_joint`. For the ten parameters pi of all bodies,
        with u = Y pi, this is Y^T x without Y: the gradient of x . u. Reflected inertias do not
        depend on pi and are left out. The next call overwrites the result. To skip the checks,
        fill `direction` and call `update_moments`.
        """
        row = np.asarray(x, dtype=np.float64)
        if row.shape != self.direction.shape or not np.isfinite(row).all():
            raise InputError(f"x: expected {self.model.n} finite numbers, got {x!r}")
        self.direction[:] = row
        self.update_moments()
        return self.moments
