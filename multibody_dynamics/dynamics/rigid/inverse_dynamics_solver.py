# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recursive Newton-Euler (RNEA) inverse dynamics with rates for the control cycle."""

import ctypes
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np

from ..codegen import Calls, Queue, pause
from ..core import STATE_ROWS, Array, CheckedRows, by_robot
from ..lie import Representation, check_representation
from ..model import MultibodyModel
from ..model.records import BODY_ROW, TWIST, WRENCH
from .base_rates import compiled_body_rates
from .kinematics import BaseMotion
from .rnea import CYCLES, dynamic_base_rows, wrench_on_base
from .solvers import ModelSolver
from .specialised_kernel import BASE, SpecialisedKernel, addresses, table
from .tracing import MOST_JOINTS

CHECKED_STATES = 5  # random states on which a specialised kernel must agree with the general one
TOLERANCE = 1e-9  # of the largest component; both round differently

_queue = Queue("compilation of inverse dynamics")
_is_default = False


def specialise_solvers(wanted: bool = True) -> None:
    """Make every :class:`InverseDynamicsSolver` that this process creates from now on specialise.

    For programs with a control cycle; the nodes call it. Without it, results are reproducible bit
    by bit: the specialised kernel rounds differently, and takes over when it is ready.
    """
    global _is_default
    _is_default = wanted


class InverseDynamicsSolver(ModelSolver):
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

    _calls: Calls | None = None  # of the specialised kernel, if there is to be one
    _call: Callable[..., Any] | None = None
    _ended: threading.Event  # set when the newest kernel is ready, or cannot be had

    def __init__(
        self,
        model: MultibodyModel,
        representation: Representation = "spatial",
        *,
        specialise: bool | None = None,
    ) -> None:
        n, N = model.n, model.body_count
        bodies = np.zeros((N + 1, BODY_ROW))
        super().__init__(model, bodies, check_representation(representation))
        self._bodies = bodies
        self.state: Array = np.zeros((5, n))
        self.result: Array = np.zeros((3, n))
        self._results = tuple(self.result)
        wanted = _is_default if specialise is None else specialise
        specialises = wanted and N <= MOST_JOINTS and Calls.available()
        names = model.joint_names
        self._rows = CheckedRows(STATE_ROWS, names, self.state, is_fallback=specialises)
        self._general = partial(
            CYCLES[representation], *self._constants, 2, self.state,
            self.applied_wrenches.reshape(N, 18), np.empty((2, N)), bodies, self.result,
        )  # fmt: skip
        self._general()
        self.update = self._general
        if specialises:
            self._specialise()

    def _specialise(self) -> None:
        """Put the specialised kernel in place: now, if it is in the cache, else from a thread."""
        _, joints, gravity = self._constants
        arrays = table(self.state, joints, gravity, self.result)
        calls = Calls(self._general, self.state, self._results, arrays, self._wrench_numbers)
        self.__dict__.update(_calls=calls, _call=calls.call, update=calls.update)
        self._lock = threading.Lock()  # guards the choice of the kernel
        self._kernels: dict[bool, SpecialisedKernel] = {}  # by whether the base moves
        self._addresses: dict[bool, int] = {}
        self._fills_rows = False
        self._base_rates = np.zeros((4, 6))
        self._prepare(moving=False)
        self._renew_base()

    def _prepare(self, *, moving: bool) -> None:
        """Get a kernel from the cache, or compile it."""
        self._kernels[moving] = kernel = SpecialisedKernel(self.model, moving=moving)
        address = kernel.ready()
        if address is None:
            self.__dict__["_ended"] = _queue.add(partial(self._compile, moving))
        else:
            self.__dict__["_ended"] = threading.Event()
            self._ended.set()
            self._adopt(moving, address)

    def __getstate__(self) -> dict[str, Any]:
        """Without the specialised kernel, which is bound to these buffers."""
        state = super().__getstate__()
        if self._calls is not None:
            for name in (
                "_calls",
                "_call",
                "_lock",
                "_kernels",
                "_addresses",
                "_base_rates",
                "_ended",
                "_fills_rows",
                "update",
            ):
                del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "update" not in self.__dict__:
            self.update = self._general
            self._specialise()

    def _compile(self, moving: bool) -> None:
        """Runs in the thread."""
        try:
            address = self._kernels[moving].compile(pause)
        except Exception as error:
            warnings.warn(
                f"the inverse dynamics of robot '{self.model.name}' cannot be specialised, and "
                f"remain general: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
        else:
            self._adopt(moving, address)

    def _adopt(self, moving: bool, address: int) -> None:
        """Use a kernel from the next call on if it agrees with the general one."""
        if self._agrees(moving, address):
            self._addresses[moving] = address
            self._choose_kernel()
        else:
            warnings.warn(
                f"the specialised inverse dynamics of robot '{self.model.name}' differ from the "
                f"general ones, and are not used; please report this",
                RuntimeWarning,
                stacklevel=2,
            )

    def _agrees(self, moving: bool, address: int) -> bool:
        """Compare on random states, in buffers of its own: the solver may be at work."""
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
            self._general.func(*robot, 2, state, applied, trig, bodies, expected)
            size = np.abs(expected).max(axis=1)
            if not (np.abs(found - expected).max(axis=1) <= TOLERANCE * size).all():
                return False
            pause()
        return True

    def _choose_kernel(self) -> None:
        """Use the specialised kernel if it computes all that is asked for."""
        if self._calls is None:
            return
        with self._lock:
            _, joints, gravity = self._constants
            moving = self._base is not None
            usable = moving in self._addresses and not self._fills_rows
            usable = usable and self._kernels[moving].fits(joints, gravity)
            self._calls.replace(BASE, self._base_rates if moving else gravity)
            self._calls.kernel = self._addresses[moving] if usable else None

    @property
    def kernel(self) -> Literal["general", "specialised"]:
        """The kernel in use; any applied wrench that is not zero requires the general one."""
        return "specialised" if self._calls is not None and self._calls.kernel else "general"

    def wait(self, timeout: float | None = None) -> Literal["general", "specialised"]:
        """Wait until the specialised kernel has been compiled, at most `timeout` s; see `kernel`.

        Returns at once if the solver does not specialise.
        """
        if self._calls is not None:
            self._ended.wait(timeout)
        return self.kernel

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
        if self._calls is not None and not self._fills_rows:
            self.__dict__["_fills_rows"] = True
            self._choose_kernel()
            self._general()

    def set_base(self, base: BaseMotion | None) -> None:
        super().set_base(base)
        if self._calls is not None and base is not None:
            row = dynamic_base_rows(self.model, base, "body")
            self._base_rates[:] = row[TWIST : TWIST + 24].reshape(4, 6)
        self._choose_for(base)

    def move_base(self, pose: Array, rates: Array) -> None:
        was_moving = self._base is not None
        super().move_base(pose, rates)
        if self._calls is not None:
            compiled_body_rates(pose, rates, self._gravity, self._base_rates)
            if not was_moving:
                self._choose_for(self._base)

    def _choose_for(self, base: Any) -> None:
        if self._calls is not None and base is not None and True not in self._kernels:
            self._prepare(moving=True)
        self._choose_kernel()

    def set_model(self, model: MultibodyModel) -> None:
        super().set_model(model)
        self._choose_kernel()

    def set_pseudo_inertias(self, P: Array) -> None:
        super().set_pseudo_inertias(P)
        self._choose_kernel()

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
    (5, n), Q, Q' and Q'' in `result` (3, n) after `update()`."""

    state: Array
    result: Array
    applied_wrenches: Array

    def update(self) -> Any: ...

    def set_base(self, base: BaseMotion | None) -> None: ...

    def move_base(self, pose: Array, rates: Array) -> None: ...

    def set_model(self, model: MultibodyModel) -> None: ...

    def set_pseudo_inertias(self, P: Array) -> None: ...


@by_robot
def inverse_solver(model: MultibodyModel) -> InverseSolver:
    """The solver of the inverse dynamics for a control cycle, for a robot with or without loops."""
    return InverseDynamicsSolver(model, "body")
