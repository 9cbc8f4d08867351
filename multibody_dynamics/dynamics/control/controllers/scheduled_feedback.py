# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Linear feedback with gains of the whole arm that follow the pose.

    tau = tau_ff + G(t) e - sum_i P_i(t) u_(k-i),    e = errors of q, q', theta, theta'

As the desired motion proceeds, gains are designed for its present pose in a separate process
alongside the control cycle (:class:`.BackgroundProcess`), and blended in:

    G(t) = (1 - s) G_before + s G_new,    s = x^2 (3 - 2 x),  x = t / update_time.

The torque does not jump, because the gains do not. If a design fails or takes longer than expected,
the last gains stay in use. u_(k-i) are the feedback torques of past cycles, as they were sent,
including any changes by limits or by a transfer from another law.
"""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

import numpy as np

from ...core import Array, BackgroundProcess, DynamicsError, InputError
from ...elastic import Actuators
from ...model import MultibodyModel
from ..gains.coupled_gains import CoupledGains, coupled_gains, whole_arm_poles
from ..gains.joint_gains import StateFeedbackGains
from ..gains.modal_gains import modal_gains
from .controllers import LinearFeedback

GAIN_DESIGNS = ("joint", "coupled", "modal")
"""Designs of the gains of state feedback: joint by joint for one pose, or for the whole arm and
every pose, by :func:`.coupled_gains` or :func:`.modal_gains`."""

UPDATE_TIME = 0.05
"""s, default time over which new gains are blended in."""

SAME_POSE = 1e-3  # rad or m; gains are kept while no joint has moved further
START = 60.0  # s, longest wait for the start of the process that designs gains

_numbers = count()
_schedules: dict[int, GainSchedule] = {}  # in the design process, by the number of the law


@cache
def _process() -> BackgroundProcess:
    """The process that designs the gains of all laws. Its priority is only slightly lowered,
    because the gains are needed soon."""
    return BackgroundProcess(nice=1)


def _keep(number: int, schedule: GainSchedule) -> None:
    """In the design process: use this schedule for the law of this number from now on."""
    _schedules[number] = schedule


def _design(number: int, q: Array) -> CoupledGains:
    """In the design process: the gains of a law at q (n,)."""
    return _schedules[number].at(q)


@dataclass(frozen=True, eq=False, kw_only=True)
class GainSchedule:
    """The gains of the whole arm at any pose.

    >>> schedule = GainSchedule(model=model, actuators=actuators, bandwidth=60.0)
    >>> gains = schedule.at(q)

    Attributes: `bandwidth` in 1/s, a scalar or (n,); `design`, "coupled" or "modal"; `stiffness`
    (v,), second outputs at rest; `period` and `delay` in s, for which "coupled" is designed.
    """

    model: MultibodyModel
    actuators: Actuators
    bandwidth: Any
    design: str = "coupled"
    stiffness: Any = None
    period: float = 1e-3
    delay: float = 0.0

    def __post_init__(self) -> None:
        if self.design not in GAIN_DESIGNS[1:]:
            raise InputError(
                f"design '{self.design}': expected one of {', '.join(GAIN_DESIGNS[1:])}"
            )

    @property
    def motor_names(self) -> tuple[str, ...]:
        return self.actuators.motor_names

    @property
    def late_cycles(self) -> int:
        """Number of past torques that the gains use."""
        return int(np.ceil(self.delay / self.period - 1e-6)) if self.design == "coupled" else 0

    def at(self, q: Any) -> CoupledGains:
        """The gains at q (n,). Raises InputError where the springs cannot carry the arm, and
        DynamicsError where the design has no solution."""
        robot = self.model, self.actuators, q, self.bandwidth, self.stiffness
        if self.design == "modal":
            return modal_gains(*robot)
        return coupled_gains(*robot, period=self.period, delay=self.delay)

    def checked_at(self, q: Any) -> CoupledGains:
        """The gains at q (n,). Also raises InputError if the whole arm, without sampling and delay,
        would be unstable with them."""
        gains = self.at(q)
        if self.late_cycles:
            return gains  # they also use past torques, which continuous poles ignore
        poles = whole_arm_poles(self.model, self.actuators, gains, q, self.stiffness)
        worst = poles[poles.real.argmax()]
        if worst.real >= 0.0:
            raise InputError(
                f"robot '{self.model.name}': with these gains the whole arm has a pole at "
                f"{worst:.4g} 1/s; use a lower bandwidth"
            )
        return gains


class ScheduledFeedback(LinearFeedback):
    """State feedback of the whole arm, with gains for the present pose.

    Parameters
    ----------
    gains : the schedule; another one may be set between updates, and is then blended in.
    q : (n,) pose of the first gains.
    update_time : s, over which new gains are blended in; 0 keeps the gains of q.
    designs_in_background : design in a separate process, see :meth:`prepare`. Otherwise, the gains
        are designed within the cycle, which takes milliseconds, but always gives the same torques.
    integral : 1/s, as a share of the stiffness that each motor has at q.
    others : see :class:`.LinearFeedback`.

    Attributes: `current` and `past`, the gains in use (see :class:`.CoupledGains`), overwritten in
    place; `pose` (n,) of the last accepted design; `refused`, number of designs that failed, and
    `problem`, why the last one did, empty after a success; `age`, s since the last accepted design
    began.

    Raises InputError and DynamicsError where the gains at q do.
    """

    gains: GainSchedule  # type: ignore[assignment]

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        gains: GainSchedule,
        q: Any,
        *,
        update_time: float = UPDATE_TIME,
        designs_in_background: bool = False,
        integral: float = 0.0,
        **others: Any,
    ) -> None:
        if not 0.0 <= update_time < np.inf:
            raise InputError(f"update_time is {update_time} s: must be zero or greater")
        first = gains.checked_at(q)
        own = first.own(actuators)
        stiffness = np.maximum(own[0] + own[2], 0.0)
        super().__init__(
            model,
            actuators,
            StateFeedbackGains(actuators.motor_names, own),
            integral=np.asarray(integral * stiffness),
            **others,
        )
        n, m = actuators.n, len(actuators.motors)
        self.gains, self._designed = gains, gains
        self.update_time, self.designs_in_background = float(update_time), designs_in_background
        self.current: Array = first.values.copy()
        self.past: Array = first.past.copy()
        self._before, self._next = first, first
        self._share = 1.0
        self.pose: Array = np.array(q, dtype=np.float64)
        self._wanted_pose = self.pose.copy()
        self.refused, self.problem, self.age = 0, "", 0.0
        self._future: Future[CoupledGains] | None = None
        self._number = next(_numbers)
        self._given: GainSchedule | None = None  # the one that the design process has
        self._started_at_age = self._elapsed = 0.0  # s
        self._state = np.zeros(2 * (n + m))
        self._sent = np.zeros((len(first.past), m))
        self._feedback_torque = np.zeros(m)

    @property
    def late_cycles(self) -> int:
        """Number of past feedback torques that the gains use."""
        return len(self.past)

    @property
    def uses_links(self) -> bool:
        return True

    def gains_at(self, q: Array) -> CoupledGains:
        return self.gains.at(q) if self.update_time else self._next

    def problems(self) -> tuple[str, ...]:
        """Problems of the feedforward, and of the last design of gains, if it failed."""
        own = (f"gains: {self.problem}",) if self.problem else ()
        return (*super().problems(), *own)

    def prepare(self) -> None:
        """Start the process that designs the gains, if the law uses one, and wait until it runs.
        Starting it takes seconds, during which the gains would not follow the pose."""
        if self.designs_in_background and self.update_time:
            with suppress(Exception):  # the first design will report it
                self._give_schedule().result(START)

    def _give_schedule(self) -> Future[None]:
        self._given = self.gains
        return _process().submit(_keep, self._number, self.gains)

    def reset(self) -> None:
        """Clear integrators, filters and past torques; the gains stay."""
        super().reset()
        self._sent[:] = self._feedback_torque[:] = 0.0

    def _feed_back(self) -> None:
        self._follow_pose()
        if len(self._sent):
            self._sent[1:] = self._sent[:-1]
            np.subtract(self.applied_torque, self._last_torque, out=self._sent[0])
            self._sent[0] += self._feedback_torque
        n, state = self.actuators.n, self._state
        state[: 2 * n] = (self._desired[:2] - self._links).ravel()
        state[2 * n :] = (self._now.result[:2] - self._motors).ravel()
        np.dot(self.current, self.feedback_share * state, out=self.torque)
        for gain, sent in zip(self.past, self._sent, strict=True):
            self.torque -= gain @ sent
        self._feedback_torque[:] = self.torque

    # Gains

    def _follow_pose(self) -> None:
        """Design gains for the desired pose if it is a new one, and blend in those that are
        ready."""
        if not self.update_time:
            return
        self.age += self.period
        if self._future is not None and self._future.done():
            self._take_design(self._future)
            self._future = None
        if self._share < 1.0:
            self._blend()
        elif self._future is None and self._is_new_pose():
            self._start_design(self._desired[0].copy())

    def _is_new_pose(self) -> bool:
        moved = float(np.abs(self._desired[0] - self._wanted_pose).max())
        return moved > SAME_POSE or self._designed is not self.gains

    def _start_design(self, q: Array) -> None:
        schedule = self._designed = self.gains
        self._wanted_pose[:] = q
        self._started_at_age = self.age
        if self.designs_in_background:
            if self._given is not schedule:
                self._give_schedule()
            self._future = _process().submit(_design, self._number, q)
            return
        future: Future[CoupledGains] = Future()
        try:
            future.set_result(schedule.at(q))
        except (InputError, DynamicsError) as error:
            future.set_exception(error)
        self._take_design(future)

    def _take_design(self, future: Future[CoupledGains]) -> None:
        """Begin to blend in the gains of a finished design; if it failed, keep the present ones."""
        error = future.exception()
        if error is None:
            self._before, self._next, self._share = self._next, future.result(), 0.0
            self.pose[:] = self._wanted_pose
            self.age -= self._started_at_age
            self.problem = ""
        else:  # whatever the error, the arm keeps its present gains
            if not isinstance(error, DynamicsError):
                self._given = None  # the process may have ended, and another one needs the schedule
            self.refused, self.problem = self.refused + 1, str(error) or repr(error)

    def _blend(self) -> None:
        self._elapsed = 0.0 if self._share == 0.0 else self._elapsed
        self._elapsed += self.period
        x = min(self._elapsed / self.update_time, 1.0)
        self._share = x * x * (3.0 - 2.0 * x)
        for now, before, after in (
            (self.current, self._before.values, self._next.values),
            (self.past, self._before.past, self._next.past),
        ):
            np.subtract(after, before, out=now)
            np.multiply(now, self._share, out=now)
            np.add(now, before, out=now)
