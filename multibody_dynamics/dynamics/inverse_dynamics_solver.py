"""Q, Q' and Q'' in the control cycle."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .checked_rows import CheckedRows
from .conventions import Representation, check_representation
from .errors import InputError
from .inputs import STATE_ROWS, Array
from .inverse_dynamics import CYCLES, dynamic_base_rows
from .kinematics import BaseMotion
from .model import MultibodyModel
from .records import BODY_ROW, WRENCH


class InverseDynamicsSolver:
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
        self.model = model
        self.representation = check_representation(representation)
        n = model.n
        self.state: Array = np.zeros((5, n))
        self.result: Array = np.zeros((3, n))
        self.applied_wrenches: Array = np.zeros((n, 3, 6))
        bodies = np.zeros((n + 1, BODY_ROW))
        self._base_row = bodies[0, :WRENCH]
        self._base: BaseMotion | None = None
        self._joints = np.array(model.joint_rows)
        self._gravity = np.array(model.gravity)
        self.set_base(None)
        self.interbody_wrenches: Array = bodies[1:, WRENCH:].reshape(n, 3, 6)
        self._results = tuple(self.result)
        self._rows = CheckedRows(STATE_ROWS, model.joint_names, self.state)
        self.update = partial(
            CYCLES[representation],
            model.parents,
            self._joints,
            self._gravity,
            2,
            self.state,
            self.applied_wrenches.reshape(n, 18),
            np.empty((2, n)),
            bodies,
            self.result,
        )
        self.update()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:  # the recursion would go on with the old buffer
            raise AttributeError(f"{name} is fixed; write into it: solver.{name}[:] = ...")
        super().__setattr__(name, value)

    def set_base(self, base: BaseMotion | None) -> None:
        """The motion of the base from the next call on, until it is set again; None: at rest.

        Raises InputError for a batch and for what is no motion; nothing has changed then. Unlike
        the calls, it allocates.
        """
        row = dynamic_base_rows(self.model, base, self.representation)
        if row.ndim != 1:
            raise InputError(f"base: expected a single motion, got a batch {row.shape[:-1]}")
        self._base_row[:] = row
        self.__dict__["_base"] = base

    def set_model(self, model: MultibodyModel) -> None:
        """The robot from the next call on: with a payload taken up, or under another gravity.

        >>> solver.set_model(model.with_payload("hand", 1.5, (0, 0, 0.1), np.eye(3) * 0.01))

        Raises InputError if it has not the same joints in the same places; nothing has changed
        then. Unlike the calls, it allocates.
        """
        if model.joint_names != self.model.joint_names or not (
            np.array_equal(model.parents, self.model.parents)
            and np.array_equal(model.screws, self.model.screws)
        ):
            raise InputError(
                f"robot '{model.name}' has other joints than '{self.model.name}'; "
                "make a new InverseDynamicsSolver for it"
            )
        self.__dict__["model"] = model
        self._joints[:] = model.joint_rows
        self._gravity[:] = model.gravity
        self.set_base(self._base)

    def __call__(
        self, q: Any, qd: Any, qdd: Any, qddd: Any, qdddd: Any
    ) -> tuple[Array, Array, Array]:
        """Q, Q', Q'' (n,) each, as views of `result`, for a state of five (n,) arrays.

        Raises InputError for a wrong length, NaN or infinity; nothing has changed then.
        """
        self._rows.take((q, qd, qdd, qddd, qdddd))
        self.update()
        return self._results
