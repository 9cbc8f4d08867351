# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Bumpless transfer between control laws, within the limits of the motors: the torque to send.

    tau = (1 - s) tau_before + s tau_law,    s = x^2 (3 - 2 x),  x = t / duration,

tau_before comes from the previous law, which keeps running until the end of the transfer. On
activation, when a transfer is interrupted, and when the previous law fails, it is the torque that
was sent last. tau does not jump, and where tau_before comes from a law, its rate does not either.
Torques and their rates are then clipped to the limits of the motors.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from ...core import (
    Array,
    BoundCall,
    DynamicsError,
    Field,
    IndependentCopies,
    InputError,
    Integers,
    as_array,
    compiled_exactly,
    inlined_exactly,
    record_fields,
)
from ...elastic import Actuators
from ...motion import JointCommandLimits, LimitEvent
from ..signals.derivative_filter import MAX_STEP
from .controllers import Controller


class Transfer(NamedTuple):
    """The change to the law that acts, from the torques before it."""

    held: Annotated[Array, Field("N m or N, torques from which the law fades in", ("m",))]
    bias: Annotated[Array, Field("N m or N, by which its torques are shifted", ("m",))]
    keeps: Annotated[Integers, Field("whether it has yet to start with torques that are kept")]
    elapsed: Annotated[Array, Field("s, since the change began")]
    share: Annotated[Array, Field("of the law in the torques, 0 to 1")]


@inlined_exactly
def start_transfer(s, torque, duration, keeps):
    """Begin to change from the torques that were sent last to those of another law."""
    for j in range(torque.shape[0]):
        s.held[j] = torque[j]
        s.bias[j] = 0.0
    s.keeps[0] = keeps
    s.elapsed[0] = 0.0
    s.share[0] = 0.0 if duration > 0.0 else 1.0


@inlined_exactly
def transfer_torque(s, kept, wanted, duration, dt):
    """Replace the torques that the law wants by those of the change to it, `dt` after the last
    ones: shifted such that it starts with those `kept`, and faded in."""
    for j in range(wanted.shape[0]):
        if s.keeps[0]:
            s.bias[j] = kept[j] - wanted[j]
        wanted[j] += s.bias[j]
    s.keeps[0] = 0
    if s.share[0] < 1.0:
        s.elapsed[0] += dt
        x = min(s.elapsed[0] / duration, 1.0)
        s.share[0] = x * x * (3.0 - 2.0 * x)
        for j in range(wanted.shape[0]):
            wanted[j] = s.held[j] + s.share[0] * (wanted[j] - s.held[j])


@inlined_exactly
def held_back(wanted, limit, rate, torque):
    """The time, s, until rate limits permit the torques that were wanted, where `torque` was sent:
    by as much the torque is late."""
    longest = 0.0
    for j in range(torque.shape[0]):
        bounded = min(max(wanted[j], -limit[j]), limit[j])
        longest = max(longest, abs(bounded - torque[j]) / rate[j])
    return longest


_START = compiled_exactly(start_transfer)
_TRANSFER = compiled_exactly(transfer_torque)
_HELD_BACK = compiled_exactly(held_back)


class BumplessTransfer(IndependentCopies):
    """Runs one law at a time, and two during a transfer.

    >>> drive = BumplessTransfer(actuators, duration=0.2)
    >>> drive.activate(law, robot.motor_torque)
    >>> torque = drive.update(1e-3, desired, q, qd, theta, thetad)
    >>> drive.switch(other_law)

    Parameters
    ----------
    limits : limits of the m motors, named as in `actuators.motor_names`; default: their torque
        limits.
    duration : duration of a transfer in s; with 0, only the torque rate limits restrict the change.
    max_step : s; a longer time between two torques is treated as this one. The laws know the
        longer time, too, as `elapsed`: observers of disturbances then keep their estimates.

    Attributes: `torque` (m,), the last one sent, overwritten in place; `law`, the running or
    incoming one, None before the first activation; `share` of it, 0 to 1; `events`: the limits that
    the last update hit; `held_back`, s until rate limits permit the torque that it wanted. A change
    of law copies `external_torque` and `stiffness`, which belong to the arm and not to a law, and
    resets integrators and filters of the new law. Every law receives the torque that was sent, by
    :meth:`.Controller.applied`.
    """

    def __init__(
        self,
        actuators: Actuators,
        limits: JointCommandLimits | None = None,
        *,
        duration: float = 0.2,
        max_step: float = MAX_STEP,
    ) -> None:
        names = actuators.motor_names
        limits = limits or JointCommandLimits(names, torque=actuators.torque_limit)
        if limits.joint_names != names:
            raise InputError(
                f"the limits are for {', '.join(limits.joint_names)}, but the motors are "
                f"{', '.join(names)}"
            )
        if not 0.0 <= duration < np.inf:
            raise InputError(f"duration of a transfer is {duration} s: must be zero or greater")
        if not 0.0 < max_step < np.inf:
            raise InputError(f"max_step is {max_step} s: must be positive")
        self.actuators, self.limits, self.duration = actuators, limits, float(duration)
        self.max_step = float(max_step)
        self.torque: Array = np.zeros(len(names))
        self.law: Controller | None = None
        self.events: tuple[LimitEvent, ...] = ()
        self._before: Controller | None = None
        self._kept, self._wanted = np.zeros((2, len(names)))
        self._transfer = record_fields.zeros(Transfer, m=len(names))
        self._begin = BoundCall(_START, self._transfer, self.torque)
        self._take_over = BoundCall(_TRANSFER, self._transfer, self._kept, self._wanted)
        self._is_biased = False
        self._begin(0.0, 0)  # compiles
        self._take_over(0.0, 1.0)  # compiles
        _HELD_BACK(self._wanted, limits.torque, limits.torque_rate, self.torque)
        limits.apply(self._wanted, self.torque, 1.0)  # compiles
        self.held_back = 0.0

    @property
    def share(self) -> float:
        return float(self._transfer.share[0])

    @share.setter
    def share(self, value: float) -> None:
        self._transfer.share[0] = value

    def activate(self, law: Controller, applied: Any = 0.0, kept: Array | None = None) -> None:
        """Start with `law`, from the torque (m,) that acts now; zero if brakes hold the arm.

        kept : (m,), torque that holds the arm at rest, where the law has another one only because
            its model is wrong; all its torques are then shifted, so that it starts with this one.
        """
        names = self.actuators.motor_names
        applied = np.full(len(names), applied) if np.ndim(applied) == 0 else applied
        self.torque[:] = as_array("applied torque", applied, (len(names),), names)
        self._start(law, None, kept)

    def switch(self, law: Controller) -> None:
        """Change over to `law`; during another transfer, from the torque that was sent last.

        Raises InputError before the first activation.
        """
        if self.law is None:
            raise InputError("no law is active yet: call activate first, with the present torque")
        if law is self.law:
            return
        law.external_torque[:] = self.law.external_torque
        law.stiffness[:] = self.law.stiffness
        self._start(law, self.law if self.share == 1.0 else None)

    def _start(self, law: Controller, before: Controller | None, kept: Array | None = None) -> None:
        if law.actuators.motor_names != self.actuators.motor_names:
            raise InputError(
                f"the law is for the motors {', '.join(law.actuators.motor_names)}, but the robot "
                f"has {', '.join(self.actuators.motor_names)}"
            )
        law.reset()
        self.law, self._before = law, before if self.duration else None
        self.held_back = 0.0
        self._is_biased = kept is not None
        if kept is not None:
            self._kept[:] = kept
        self._begin(float(self.duration), int(self._is_biased))

    def update(
        self,
        dt: float,
        *state: Any,
        elapsed: float = 0.0,
        feedback_share: float = 1.0,
        observes: bool = True,
        fallback: Array | None = None,
        **references: Any,
    ) -> Array:
        """Compute `torque`, to be sent `dt` s after the last one. The other arguments are those of
        :meth:`.Controller.update`, which this calls.

        elapsed : s that have actually passed since the last torque, if more than `dt`. Observers of
            disturbances take it into account, but the torque changes only by what `dt` allows.
        feedback_share, observes : see :class:`.Controller`.
        fallback : (m,) N m along the reference, which replaces the rest of the torque where a law
            does not reduce its gains itself.

        Raises the errors of that method for `law`, and InputError before the first activation;
        `torque` is then unchanged.
        """
        law, before = self.law, self._before
        if law is None:
            raise InputError("no law is active yet: call activate first, with the present torque")
        if not 0.0 < dt < np.inf:  # before it reaches an integrator
            raise InputError(f"dt is {dt} s; the time since the last torque must be positive")
        elapsed, dt = max(elapsed, dt), min(dt, self.max_step)
        for each in (law, before):
            if each is not None:
                each.feedback_share, each.observes = feedback_share, observes
                each.elapsed = each.elapsed or (elapsed if elapsed > dt else 0.0)
        law.period = dt
        wanted = law.update(*state, **references)
        if fallback is not None and feedback_share < 1.0 and not law.reduces_gains:
            wanted = feedback_share * wanted + (1.0 - feedback_share) * fallback
        if before is not None:
            before.period = dt
            try:
                self._transfer.held[:] = before.update(*state, **references)
            except DynamicsError:  # this may be why the law is changed: fade from the last torque
                before = self._before = None
                self._begin(float(self.duration), 0)
        self._send(dt, wanted)
        for each in (law, before):
            if each is not None:
                each.applied(self.torque)
        if self.share == 1.0:
            self._before = None
        return self.torque

    def send(self, dt: float, wanted: Array) -> Array:
        """Compute `torque` from one that no law has computed, (m,), `dt` s after the last one: with
        the transfer that `activate` began, and within the limits."""
        self._send(min(dt, self.max_step), wanted)
        return self.torque

    def _send(self, dt: float, wanted: Array) -> None:
        if self._is_biased or self.share < 1.0:
            self._wanted[:] = wanted
            wanted = self._wanted
            self._take_over(float(self.duration), dt)
        self.torque[:], self.events = self.limits.apply(wanted, self.torque, dt)
        self.held_back = 0.0
        if self.events:
            limits = self.limits
            self.held_back = _HELD_BACK(wanted, limits.torque, limits.torque_rate, self.torque)
