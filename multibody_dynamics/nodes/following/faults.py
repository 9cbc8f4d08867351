# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Faults and missing states of the flatness controller: which fault is active, what clears it,
and which law stops the arm, given the states that still arrive.

    motor states   link states   the arm is stopped by
    arriving       arriving      "hold", after any other fault
    arriving       missing       "hold", on the motors alone
    missing        arriving      "link_damping" if possible, else nothing: the node falls silent
    missing        missing       nothing: the node falls silent

The node reports what arrives and what goes wrong, and acts on the decisions. Nothing here publishes
messages or computes torques.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple, Protocol

import numpy as np

from ...dynamics.control import ON_LINKS
from ...dynamics.core import Array

NO_LINKS = "link states missing"
NO_MOTORS = "motor states missing"
TRACKING = "tracking error"
DELAY = "torques too late"
LOST = "state estimate lost"
JUMP = "jump in time"
COLLISION = "collision"
NOT_FINITE = "torque not finite"
NO_DESIGN = "no stable gains"
STOP_FAILED = "stop failed"
REPEATED = "interrupted repeatedly"

LATE = 100_000_000  # ns during which every torque is late before the robot is stopped


class Watch(Protocol):
    """Watches one input, as :class:`.Watchdog` does."""

    @property
    def stale(self) -> bool:
        """Whether the input has been missing for longer than its timeout."""

    def age(self) -> float:
        """Seconds since the last input."""

    def feed(self) -> None:
        """Record that the input has arrived."""


class Fault(NamedTuple):
    """Why the robot is stopped and held.

    law : the one that responds to it as long as all states arrive on time: "hold" stops the arm,
        others let it yield.
    is_latched : only ~/enable clears it. is_final : feedback cannot stop the arm; the holding
    torque is sent, then nothing, and the stop is left to the brakes and to the watchdogs of the
    drives.
    """

    reason: str
    text: str
    is_latched: bool
    is_final: bool = False
    law: str = "hold"

    def __str__(self) -> str:
        return f"{self.reason}: {self.text}"

    @classmethod
    def not_finite(cls, problem: str) -> Fault:
        """A cycle without a finite torque, and therefore without anything to send."""
        return cls(NOT_FINITE, problem, is_latched=True)

    @classmethod
    def stop_failed(cls, text: str) -> Fault:
        """A stop that does not end at rest."""
        return cls(STOP_FAILED, text, is_latched=True, is_final=True)

    @classmethod
    def no_design(cls, position: Array, joint_names: tuple[str, ...], problem: str) -> Fault:
        """No law could be designed at the measured `position` (n,): there is nothing to send."""
        where = ", ".join(f"{name} {q:.3g}" for name, q in zip(joint_names, position, strict=True))
        text = f"{problem}; measured position: {where}. Move the arm or set design_position"
        return cls(NO_DESIGN, text, is_latched=True, is_final=True)

    @classmethod
    def lost(cls, why: str) -> Fault:
        """A state estimate that must not be used for feedback."""
        return cls(LOST, why, is_latched=False)

    @classmethod
    def time_jumped(cls, why: str) -> Fault:
        """A jump of the clock or of the stamps: the arm may have kept moving in the meantime."""
        return cls(JUMP, why, is_latched=False)

    @classmethod
    def collision(cls, text: str, law: str) -> Fault:
        """An unexpected contact, to which `law` responds."""
        return cls(COLLISION, text, is_latched=True, law=law)

    @classmethod
    def tracking(cls, error: Array, joint_names: tuple[str, ...], tolerance: float) -> Fault | None:
        """A joint further than `tolerance` (rad or m; 0: no limit) from its reference; None if all
        are closer. error: (n,)."""
        distance = np.abs(error)
        k = int(distance.argmax())
        if not (tolerance and distance[k] > tolerance):
            return None
        text = (
            f"'{joint_names[k]}' is {distance[k]:.4g} from the reference; allowed: {tolerance:g}"
            " (tracking_tolerance)"
        )
        return cls(TRACKING, text, is_latched=True)


class Reaction(Enum):
    """What the node has to do when one side is missing."""

    NONE = auto()  # already handled, or reported by the other watch
    WAIT = auto()  # nothing has been published yet: only report what is missing
    STOP = auto()  # stop the arm with `Faults.stop_law`
    SILENCE = auto()  # publish the holding torque once, then nothing


class Faults:
    """The active fault and the sides, "links" and "motors", whose states are missing.

    motors, links : watches of the two inputs; `links` is None where link states are not used. The
        watch of the links is fed by pairs: links that never match the motors count as missing.
    can_stop_on_links : whether the arm can be stopped without motor states.

    Attributes: `fault`, the active one, or None; `has_begun`, whether a cycle has been completed
    since activation. The node sets it; until then, the state of the arm is unknown, and neither
    side can replace the other.
    """

    def __init__(self, motors: Watch, links: Watch | None, *, can_stop_on_links: bool) -> None:
        self.motors, self.links = motors, links
        self.can_stop_on_links = can_stop_on_links and links is not None
        self.fault: Fault | None = None
        self.has_begun = False
        self._punctual = 0
        self._late_at = 0  # ns, stamp of the last late torque; 0: none
        self._resumed: list[int] = []  # ns, stamps at which following was resumed without ~/enable

    # Missing states

    @property
    def lacks_links(self) -> bool:
        """Whether cycles run on the motors alone."""
        return self.links is not None and self.links.stale and self.has_begun

    @property
    def lacks_motors(self) -> bool:
        """Whether cycles run on the links alone."""
        return self._may_lack_motors and self.links is not None and not self.links.stale

    @property
    def _may_lack_motors(self) -> bool:
        return self.motors.stale and self.can_stop_on_links and self.has_begun

    @property
    def stop_law(self) -> str:
        """The law that stops the arm, or yields, with the available states."""
        if self.lacks_motors:
            return ON_LINKS
        return "hold" if self.fault is None or self.lacks_links else self.fault.law

    @property
    def yields(self) -> bool:
        """Whether the law that responds to the active fault lets the arm yield."""
        return self.fault is not None and self.fault.law != "hold"

    def stop_yielding(self) -> None:
        """Respond to the active fault with a stop from now on."""
        assert self.fault is not None
        self.fault = self.fault._replace(law="hold")

    def received(self, side: str, is_pair: bool) -> None:
        """Record that a state of one side has arrived; is_pair: whether it completed a pair."""
        if side == "motors":
            self.motors.feed()
        if self.links is not None and (is_pair or (side == "links" and self._may_lack_motors)):
            self.links.feed()

    def runs_on(self, side: str) -> bool:
        """Whether a state of this side triggers a cycle without the other side."""
        return self.lacks_motors if side == "links" else self.lacks_links

    def has_state(self, has_pair: bool) -> bool:
        """Whether a cycle has states to start from; has_pair: whether a pair has been completed."""
        if self.motors.stale:
            return self.lacks_motors
        return has_pair or self.lacks_links

    def links_missing(self, law: str) -> Reaction:
        """The reaction to link states that have timed out; law: the active one."""
        if self.motors.stale:
            return Reaction.SILENCE if law == ON_LINKS else Reaction.NONE
        return Reaction.STOP if self.has_begun else Reaction.WAIT

    def motors_missing(self, has_newer_links: bool) -> Reaction:
        """The reaction to motor states that have timed out; has_newer_links: whether link states
        are newer than the last output. From then on, link states need no motor state to match."""
        if not self.has_begun:
            return Reaction.WAIT
        if self._may_lack_motors and has_newer_links:
            assert self.links is not None
            self.links.feed()
        return Reaction.STOP if self.lacks_motors else Reaction.SILENCE

    # Faults

    def no_links(self) -> Fault:
        """The fault of missing link states."""
        assert self.links is not None
        text = f"no joint_states matching motor_states for {self.links.age():.3f} s"
        return Fault(NO_LINKS, text, is_latched=False)

    def no_motors(self) -> Fault:
        """The fault of missing motor states."""
        text = f"no motor_states for {self.motors.age():.3f} s"
        return Fault(NO_MOTORS, text, is_latched=False)

    def take(self, fault: Fault) -> bool:
        """Make a fault active; False if the present one remains because it has the same reason,
        because it is latched and the new one is not, or because it is final."""
        before = self.fault
        if before is not None and (
            before.reason == fault.reason or before.is_latched > fault.is_latched or before.is_final
        ):
            return False
        self.fault = fault
        return True

    def end(self) -> Fault | None:
        """Clear the active fault, and return it."""
        fault, self.fault = self.fault, None
        return fault

    def is_over(self, *, is_settled: bool, speed: float, recovery_speed: float) -> bool:
        """Whether the fault clears without ~/enable: it is not latched, no side is missing, the
        state estimate has settled, and no motor is faster than `recovery_speed`."""
        return (
            self.fault is not None
            and not self.fault.is_latched
            and not (self.lacks_links or self.lacks_motors)
            and is_settled
            and speed <= recovery_speed
        )

    @property
    def is_silent(self) -> bool:
        """Whether nothing may be sent until ~/enable clears the fault."""
        return self.fault is not None and self.fault.is_final

    def resume(self, stamp: int, why: str, *, limit: int, window: float) -> Fault | None:
        """Record that following is about to resume without ~/enable at `stamp` (ns), after an
        interruption, described by `why`.

        Returns a fault instead if it has resumed `limit` times (0: no limit) in the last `window`
        s.
        """
        self._resumed = [each for each in self._resumed if 0 <= stamp - each <= 1e9 * window]
        if limit and len(self._resumed) >= limit:
            text = (
                f"interrupted {limit + 1} times within {window:g} s (recovery_limit,"
                f" recovery_window), the last time by {why}"
            )
            return Fault(REPEATED, text, is_latched=True)
        self._resumed.append(stamp)
        return None

    def forgive(self) -> None:
        """Forget earlier interruptions, because ~/enable was called."""
        self._resumed.clear()

    @property
    def is_enable_refused(self) -> bool:
        """Whether ~/enable cannot clear the fault, because states are missing."""
        return self.fault is not None and (self.motors.stale or self.lacks_links)

    def follow_punctually_from(self, stamp: int) -> None:
        """Judge delays from this stamp (ns) on."""
        self._punctual = stamp

    def was_late(self, stamp: int) -> bool:
        """Whether a torque was late in the 0.1 s before `stamp` (ns)."""
        return 0 <= stamp - self._late_at <= LATE and self._late_at > 0

    def late(self, stamp: int, published: int, allowed: float) -> Fault | None:
        """A fault if every torque of the last 0.1 s was published more than `allowed` (s; 0: no
        limit) after the stamp of its states. stamp, published: ns, of the newest one."""
        delay = 1e-9 * (published - stamp)
        if not allowed or delay <= allowed:
            self._punctual = stamp
            return None
        self._late_at = stamp
        if stamp - self._punctual > LATE:
            self._punctual = stamp
            return Fault(
                DELAY,
                f"{1e3 * delay:.3g} ms after their states, and none on time for {1e-9 * LATE:g} s;"
                f" allowed: {1e3 * allowed:g} ms (latency_tolerance)",
                is_latched=True,
            )
        return None
