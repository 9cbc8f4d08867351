# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Solvers whose general kernel gives way to code for one robot, compiled beside the cycle."""

import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from ..codegen import GUARD_STEP, Calls, Queue, pause
from ..core import Array
from ..model import MultibodyModel
from ..model.records import TWIST
from .base_rates import compiled_body_rates
from .kinematics import BaseMotion
from .rnea import dynamic_base_rows
from .solvers import ModelSolver
from .specialised_kernel import BASE, SpecialisedKernel

CHECKED_STATES = 5  # random states on which a specialised kernel must agree with the general one
TOLERANCE = 1e-9  # of the largest component; both round differently

_queue = Queue("compilation of code for one robot")
_is_default = False


def specialise_solvers(wanted: bool = True) -> None:
    """Make every solver of inverse dynamics, and of derivatives, that this process creates from now
    on specialise.

    For programs with a control cycle; the nodes call it. Without it, results are reproducible bit
    by bit: the specialised kernel rounds differently, and takes over when it is ready.
    """
    global _is_default
    _is_default = wanted


class SpecialisingSolver(ModelSolver):
    """Base of these solvers. A subclass makes kernels, compares and chooses them.

    A kernel is compiled in a thread or loaded from the cache, is compared with the general one on
    random states, and takes over between two calls.
    """

    _what = "inverse dynamics"  # for warnings
    _has_moving_kernel = True  # whether there is code of its own for a base that moves
    state: Array
    _results: tuple[Array, ...]  # of a call
    _general: Any = None  # updates by the general kernel
    _fills_rows = False  # whether rows that only the general kernel fills have been asked for
    _calls: tuple[Calls, ...] = ()  # of the specialised kernel, if there is to be one
    _call: Callable[..., Any] | None = None
    _ended: threading.Event  # set when the newest kernel is ready, or cannot be had
    _temporary: tuple[str, ...] = (
        "_calls", "_call", "_lock", "_kernels", "_addresses", "_ended", "_base_rates", "update",
    )  # fmt: skip
    """What a copy makes anew, because it is bound to these buffers."""
    _specialise: Callable[[], None]
    """Put the specialised kernel in place: now, if it is in the cache, else from a thread."""
    _new_kernel: Callable[[bool], SpecialisedKernel]  # for a base that moves, or at rest
    _agrees: Callable[[bool, int], bool]
    """Compare the kernel at this address on random states, in buffers of its own: the solver may be
    at work."""

    @staticmethod
    def _is_wanted(specialise: bool | None) -> bool:
        return (_is_default if specialise is None else specialise) and Calls.available()

    def _choose_kernel(self) -> None:
        """Use the specialised kernel if it computes all that is asked for."""
        if self._calls:
            with self._lock:
                _, joints, gravity = self._constants
                moving = self._base is not None
                usable = moving in self._addresses and not self._fills_rows
                usable = usable and self._kernels[moving].fits(joints, gravity)
                for calls in self._calls:
                    if self._has_moving_kernel:
                        calls.replace(BASE, self._base_rates if moving else gravity)
                    calls.kernel = self._addresses[moving] if usable else None

    def _begin(self, *calls: Calls) -> None:
        """Call through the last of `calls`, update through the first, and get the kernel."""
        self.__dict__.update(_calls=calls, _call=calls[-1].call, update=calls[0].update)
        self._lock = threading.Lock()  # guards the choice of the kernel
        self._kernels: dict[bool, SpecialisedKernel] = {}  # by whether the base moves
        self._addresses: dict[bool, int] = {}
        self._base_rates = np.zeros((4, 6))  # as the code for a moving base reads them
        self._prepare(moving=False)
        self._renew_base()

    def _prepare(self, *, moving: bool) -> None:
        """Get a kernel from the cache, or compile it."""
        self._kernels[moving] = kernel = self._new_kernel(moving)
        address = kernel.ready()
        if address is None:
            self.__dict__["_ended"] = _queue.add(partial(self._compile, moving))
        else:
            self.__dict__["_ended"] = threading.Event()
            self._ended.set()
            self._adopt(moving, address)

    def _run(self) -> None:
        """Update. Raises DynamicsError if that fails."""
        self.update()

    def _rows_taken(self) -> tuple[Array, ...]:
        """The buffers of the rows with which the solver is called."""
        return tuple(self.state)

    def _call_directly(self) -> None:
        """Let a built-in function check the rows of a call, without a kernel for this robot."""
        if Calls.available():
            unguarded = np.zeros(GUARD_STEP)
            calls = Calls(self._run, self._rows_taken(), self._results, (), unguarded)
            self.__dict__["_call"] = calls.call

    def __getstate__(self) -> dict[str, Any]:
        """Without the specialised kernel and built-in functions, bound to these buffers."""
        state = super().__getstate__()
        for name in self._temporary if self._calls else ():
            del state[name]
        if "_call" in state:
            state["_call"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._general and "update" not in self.__dict__:
            self.update = self._general
            self._specialise()
        elif "_call" in self.__dict__:
            self._call_directly()

    def _compile(self, moving: bool) -> None:
        """Runs in the thread."""
        try:
            address = self._kernels[moving].compile(pause)
        except Exception as error:
            warnings.warn(
                f"the {self._what} of robot '{self.model.name}' cannot be specialised, and remain "
                f"general: {error}",
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
                f"the specialised {self._what} of robot '{self.model.name}' differ from the "
                f"general ones, and are not used; please report this",
                RuntimeWarning,
                stacklevel=2,
            )

    @property
    def kernel(self) -> Literal["general", "specialised"]:
        """The kernel in use; any applied wrench that is not zero requires the general one."""
        return "specialised" if self._calls and self._calls[0].kernel else "general"

    def wait(self, timeout: float | None = None) -> Literal["general", "specialised"]:
        """Wait until the specialised kernel has been compiled, at most `timeout` s; see `kernel`.

        Returns at once if the solver does not specialise.
        """
        if self._calls:
            self._ended.wait(timeout)
        return self.kernel

    def set_base(self, base: BaseMotion | None) -> None:
        if base is not None:
            self._prepare_moving()
        super().set_base(base)
        if self._calls and base is not None:
            row = dynamic_base_rows(self.model, base, "body")
            self._base_rates[:] = row[TWIST : TWIST + 24].reshape(4, 6)
        self._choose_kernel()

    def move_base(self, pose: Array, rates: Array) -> None:
        self._prepare_moving()
        was_moving = self._base is not None
        super().move_base(pose, rates)
        if self._calls:
            compiled_body_rates(pose, rates, self._gravity, self._base_rates)
        if not was_moving:
            self._choose_kernel()

    def _prepare_moving(self) -> None:
        if self._calls and self._has_moving_kernel and True not in self._kernels:
            self._prepare(moving=True)

    def set_model(self, model: MultibodyModel) -> None:
        super().set_model(model)
        self._choose_kernel()

    def set_pseudo_inertias(self, P: Array) -> None:
        super().set_pseudo_inertias(P)
        self._choose_kernel()
