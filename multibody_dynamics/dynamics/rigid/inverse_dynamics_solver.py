"""Q, Q' and Q'' in the control cycle."""

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
    """Q, Q' and Q'' in the control cycle: own buffers, compiled, no allocation after construction.

    >>> solver = InverseDynamicsSolver(model, representation="body")
    >>> tau, tau_dot, tau_ddot = solver(q, qd, qdd, qddd, qdddd)

    or, without any copy: fill `solver.state` (5, n), call `solver.update()`, read `solver.result`
    (3, n). The results are views that the next call overwrites. They do not depend on the
    representation; the body-fixed recursion is the fastest, see docs/benchmark.md.

    `solver.applied_wrenches` (n, 3, 6) is what the world applies to each body, with rates, in
    inertial axes about the inertial origin; it stays as it was set. `solver.interbody_wrenches`
    (n, 3, 6) is what each joint transmits: spatial in inertial axes about the inertial origin,
    hybrid in inertial axes about the origin of the joint frame, body and mixed in the joint frame
    (in which `model.body_in_joint` has the body).

    The base is at rest in the inertial frame until `set_base` gives it a motion; `set_model` takes
    a payload on or puts it down.

    The constructor compiles and warms up; from the second start on, the machine code comes from the
    disk. An instance is for one thread. `update()` checks nothing: NaN in, NaN out.
    """

    def __init__(self, model: MultibodyModel, representation: Representation = "spatial") -> None:
        n = model.n
        bodies = np.zeros((n + 1, BODY_ROW))
        super().__init__(model, bodies, check_representation(representation))
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
        """Q, Q', Q'' (n,) each, as views of `result`, for a state of five (n,) arrays.

        Raises InputError for a wrong length, NaN or infinity; nothing has changed then.
        """
        self._rows.take((q, qd, qdd, qddd, qdddd))
        self.update()
        return self._results
