# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recursive Newton-Euler (RNEA) inverse dynamics with rates for the control cycle."""

import ctypes
from typing import Any, Protocol

import numpy as np

from ..codegen import Calls, pause
from ..core import STATE_ROWS, Array, BoundCall, CheckedRows, by_robot
from ..lie import Representation, check_representation
from ..model import MultibodyModel, check_model
from ..model.records import BODY_ROW, TWIST, WRENCH
from .kinematics import BaseMotion
from .rnea import CYCLES, dynamic_base_rows, wrench_on_base
from .specialised_kernel import SpecialisedKernel, addresses, table
from .specialising_solver import CHECKED_STATES, TOLERANCE, SpecialisingSolver
from .tracing import MOST_JOINTS


class InverseDynamicsSolver(SpecialisingSolver):
    """Q, Q' and Q'' for the control cycle: compiled, no allocation after construction.

    >>> solver = InverseDynamicsSolver(model, representation="body")
    >>> tau, tau_dot, tau_ddot = solver(q, qd, qdd, qddd, qdddd)

    To avoid all copies, fill `solver.state` (5, n), call `solver.update()` and read `solver.result`
    (3, n). The results are views that the next call overwrites. They do not depend on the
    representation; the body-fixed recursion is the fastest, see docs/benchmark.md.

    state : (5, n) rows q, q', q'', q''', q'''', rad or m and per s^k.
    result : (3, n) rows Q, Q', Q'', N m or N and per s^k.
    applied_wrenches : (N, 3, 6) wrench that the world applies to each body, with two rates, in
        inertial axes about the inertial origin; it keeps its values between calls.
    interbody_wrenches : (N, 3, 6) wrench that each joint transmits, with two rates. Spatial: in
        inertial axes about the inertial origin. Hybrid: in inertial axes about the origin of the
        joint frame. Body and mixed: in the joint frame, where the body has the pose
        `model.body_in_joint`.
    base_wrench : (3, 6) wrench that must act on the base besides the applied ones, with two rates,
        see :func:`.base_wrench`; axes and origin as for `interbody_wrenches`, with the frame of the
        base in place of that of the joint.
    bodies : (N + 1, BODY_ROW) rows of the recursion, see `records`; every update overwrites them.

    The base is at rest in the inertial frame until `set_base`, or `move_base` in every cycle, gives
    it a motion. Use `set_model` to add or remove a payload.

    The constructor compiles and warms up; later processes load the machine code from disk. Use an
    instance from one thread only. `update()` checks nothing: NaN in, NaN out, with a specialised
    kernel only in the results that depend on it.

    With `specialise`, a second kernel, straight-line code for this robot, is compiled in a thread
    or loaded from the cache. It is compared with the general one on random states, and takes over
    between two calls. The default of `specialise` is set by :func:`specialise_solvers`. A moving
    base has code of its own, compiled when the base first moves. The general kernel stays in use
    for robots with more than 64 joints, with wrenches that are not zero, and after the first access
    to `bodies`, `interbody_wrenches` or `base_wrench`, which the specialised kernel does not fill.
    Payloads and gravity can be changed; where they replace zeros of the model, such as the products
    of inertia of a body in the middle of the arm, the general kernel is used, too.
    """

    _temporary = (*SpecialisingSolver._temporary, "_fills_rows")
    _results: tuple[Array, Array, Array]

    def __init__(
        self,
        model: MultibodyModel,
        representation: Representation = "spatial",
        *,
        specialise: bool | None = None,
    ) -> None:
        check_model(model)
        n, N = model.n, model.body_count
        bodies = np.zeros((N + 1, BODY_ROW))
        super().__init__(model, bodies, check_representation(representation))
        self._bodies = bodies
        self.state = np.zeros((5, n))
        self.result: Array = np.zeros((3, n))
        self._results = tuple(self.result)
        specialises = self._is_wanted(specialise) and N <= MOST_JOINTS
        names, is_direct = model.joint_names, Calls.available()
        self._rows = CheckedRows(STATE_ROWS, names, self.state, is_fallback=is_direct)
        self._general = BoundCall(
            CYCLES[representation], *self._constants, 2, self.state,
            self.applied_wrenches.reshape(N, 18), np.empty((2, N)), bodies, self.result,
        )  # fmt: skip
        self._general()
        self.update = self._general
        if specialises:
            self._specialise()
        else:
            self._call_directly()

    def _specialise(self) -> None:
        _, joints, gravity = self._constants
        arrays = table(self.state, joints, gravity, self.result)
        self._fills_rows = False
        self._begin(Calls(self._general, self.state, self._results, arrays, self._wrench_numbers))

    def _new_kernel(self, moving: bool) -> SpecialisedKernel:
        return SpecialisedKernel(self.model, moving=moving)

    def _agrees(self, moving: bool, address: int) -> bool:
        n, N = self.model.n, self.model.body_count
        joints, gravity = self.model.joint_rows, self.model.gravity
        bodies, expected, found = np.zeros((N + 1, BODY_ROW)), np.empty((3, n)), np.empty((3, n))
        bodies[0, :WRENCH] = dynamic_base_rows(self.model, None, self.representation)
        kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
        rng = np.random.default_rng(1)
        for _ in range(CHECKED_STATES):
            state = rng.uniform(-3.0, 3.0, (5, n))
            read = gravity
            if moving:
                base = BaseMotion(None, *rng.uniform(-3.0, 3.0, (4, 6)))
                bodies[0, :WRENCH] = dynamic_base_rows(self.model, base, self.representation)
                read = dynamic_base_rows(self.model, base, "body")[TWIST : TWIST + 24]
            where = addresses(table(state, joints, read, found))
            kernel(where.ctypes.data)
            robot = (self.model.parents, joints, gravity)
            trig, applied = np.empty((2, N)), np.zeros((N, 18))
            self._general.function(*robot, 2, state, applied, trig, bodies, expected)
            size = np.abs(expected).max(axis=1)
            if not (np.abs(found - expected).max(axis=1) <= TOLERANCE * size).all():
                return False
            pause()
        return True

    @property
    def bodies(self) -> Array:
        """(N + 1, BODY_ROW) rows of the recursion."""
        self._fill_rows()
        return self._bodies

    @property
    def interbody_wrenches(self) -> Array:
        """(N, 3, 6) wrench that each joint transmits, with two rates."""
        self._fill_rows()
        return self._bodies[1:, WRENCH:].reshape(-1, 3, 6)

    @property
    def base_wrench(self) -> Array:
        """(3, 6) wrench that must act on the base besides the applied ones, with two rates."""
        self._fill_rows()
        return wrench_on_base(self.model, 2, self._bodies[None], self.representation)[0]

    def _fill_rows(self) -> None:
        """From now on, use the general kernel, which fills the rows of the bodies."""
        if self._calls and not self._fills_rows:
            self.__dict__["_fills_rows"] = True
            self._choose_kernel()
            self._general()

    def __call__(
        self, q: Any, qd: Any, qdd: Any, qddd: Any, qdddd: Any
    ) -> tuple[Array, Array, Array]:
        """Q, Q' and Q'' (n,) as views of `result`; all arguments are (n,).

        Raises InputError for a wrong length, NaN or infinity, and leaves all buffers unchanged.
        """
        if self._call is not None:
            results = self._call(q, qd, qdd, qddd, qdddd)
            if results is not None:
                return results
        self._rows.take((q, qd, qdd, qddd, qdddd))
        self.update()
        return self._results


class InverseSolver(Protocol):
    """What a control cycle uses of an :class:`InverseDynamicsSolver`: q ... q'''' in `state`
    (5, n), Q, Q' and Q'' in `result` (3, n) after `update()`. Where that fails, `problem()` names
    the loop and says why."""

    state: Array
    result: Array
    applied_wrenches: Array

    def update(self) -> Any: ...

    def problem(self) -> str: ...

    def set_base(self, base: BaseMotion | None) -> None: ...

    def move_base(self, pose: Array, rates: Array) -> None: ...

    def set_model(self, model: MultibodyModel) -> None: ...

    def set_pseudo_inertias(self, P: Array) -> None: ...


@by_robot
def inverse_solver(model: MultibodyModel) -> InverseSolver:
    """The solver of the inverse dynamics for a control cycle, for a robot with or without loops."""
    return InverseDynamicsSolver(model, "body")
