"""Recursive Newton-Euler (RNEA) inverse dynamics with rates for the control cycle."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..core import STATE_ROWS, Array, CheckedRows
from ..lie import Representation, check_representation
from ..model import MultibodyModel
from ..model.records import BODY_ROW, WRENCH
from .rnea import CYCLES
from .solvers import ModelSolver


class InverseDynamicsSolver(ModelSolver):
    """Q, Q' and Q'' for the control cycle: compiled, no allocation after construction.

    >>> solver = InverseDynamicsSolver(model, representation="body")
    >>> tau, tau_dot, tau_ddot = solver(q, qd, qdd, qddd, qdddd)

    To avoid all copies, fill `solver.state` (5, n), call `solver.update()` and read `solver.result`
    (3, n). The results are views that the next call overwrites. They do not depend on the
    representation; the body-fixed recursion is the fastest, see docs/benchmark.md.

    state : (5, n) rows q, q', q'', q''', q'''', rad or m and per s^k.
    result : (3, n) rows Q, Q', Q'', N m or N and per s^k.
    applied_wrenches : (n, 3, 6) wrench that the world applies to each body, with two rates, in
        inertial axes about the inertial origin; it keeps its values between calls.
    interbody_wrenches : (n, 3, 6) wrench that each joint transmits, with two rates. Spatial: in
        inertial axes about the inertial origin. Hybrid: in inertial axes about the origin of the
        joint frame. Body and mixed: in the joint frame, where the body has the pose
        `model.body_in_joint`.
    bodies : (n + 1, BODY_ROW) rows of the recursion, see `records`; every update overwrites them.

    The base is at rest in the inertial frame until `set_base` gives it a motion. Use `set_model` to
    add or remove a payload.

    The constructor compiles and warms up; later processes load the machine code from disk. Use an
    instance from one thread only. `update()` checks nothing: NaN in, NaN out.
    """

    def __init__(self, model: MultibodyModel, representation: Representation = "spatial") -> None:
        n = model.n
        bodies = np.zeros((n + 1, BODY_ROW))
        super().__init__(model, bodies, check_representation(representation))
        self.bodies: Array = bodies
        self.state: Array = np.zeros((5, n))
        self.result: Array = np.zeros((3, n))
        self.interbody_wrenches: Array = bodies[1:, WRENCH:].reshape(n, 3, 6)
        self._results = tuple(self.result)
        self._rows = CheckedRows(STATE_ROWS, model.joint_names, self.state)
        self.update = partial(
            CYCLES[representation],
            *self._constants,
            2,
            self.state,
            self.applied_wrenches.reshape(n, 18),
            np.empty((2, n)),
            bodies,
            self.result,
        )
        self.update()

    def __call__(
        self, q: Any, qd: Any, qdd: Any, qddd: Any, qdddd: Any
    ) -> tuple[Array, Array, Array]:
        """Q, Q' and Q'' (n,) as views of `result`; all arguments are (n,).

        Raises InputError for a wrong length, NaN or infinity, and leaves all buffers unchanged.
        """
        self._rows.take((q, qd, qdd, qddd, qdddd))
        self.update()
        return self._results
