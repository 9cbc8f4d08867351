"""Faults and missing states of the flatness controller: which fault is in force, what ends it, and
which law stops the arm with the states that still arrive.

    motor states   link states   the arm is stopped by
    arriving       arriving      "hold", after any other fault
    arriving       missing       "hold", on the motors alone
    missing        arriving      "link_damping" where that is possible, else nothing: silence
    missing        missing       nothing: silence

The node reports what arrives and what goes wrong, and acts on the answers. Nothing here publishes
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
NOT_FINITE = "no finite torque"

LATE = 100_000_000  # ns of torques that are all late, after which the robot is stopped


class Watch(Protocol):
    """Watches one input, as :class:`.Watchdog` does."""

    @property
    def stale(self) -> bool:
        """Whether the input has been missing for longer than its timeout."""

    def age(self) -> float:
        """Seconds since the last input."""

    def feed(self) -> None:
        """The input has arrived."""


class Fault(NamedTuple):
    """Why the robot is stopped and held. `is_latched`: only ~/enable ends it."""

    reason: str
    text: str
    is_latched: bool

    def __str__(self) -> str:
        return f"{self.reason}: {self.text}"

    @classmethod
    def not_finite(cls, problem: str) -> Fault:
        """A cycle without a torque that may be sent."""
        return cls(NOT_FINITE, problem, is_latched=True)

    @classmethod
    def lost(cls, why: str) -> Fault:
        """A state estimate that must not be used for feedback."""
        return cls(LOST, why, is_latched=False)

    @classmethod
    def tracking(cls, error: Array, joint_names: tuple[str, ...], tolerance: float) -> Fault | None:
        """A joint further than `tolerance` (rad or m, 0: any distance) from the reference, if there
        is one; error: (n,)."""
        distance = np.abs(error)
        k = int(distance.argmax())
        if not (tolerance and distance[k] > tolerance):
            return None
        text = f"'{joint_names[k]}' is {distance[k]:.4g} from the reference; allowed: {tolerance:g}"
        return cls(TRACKING, text, is_latched=True)


class Reaction(Enum):
    """What the node has to do when one side is missing."""

    NONE = auto()  # it is in hand already, or the other watch reports it
    WAIT = auto()  # nothing has been published yet: only say what is missing
    STOP = auto()  # stop the arm with `Faults.stop_law`
    SILENCE = auto()  # publish the torque of rest once, then nothing


class Faults:
    """The fault in force and the sides, "links" and "motors", whose states are missing.

    motors, links : watches of the two inputs; `links` is None where link states are not used. The
        watch of the links is fed by pairs: links that never match the motors count as missing.
    can_stop_on_links : whether the arm can be stopped without motor states.

    Attributes: `fault`, the one in force, or None; `has_begun`: whether a cycle has been completed
    since activation. The node sets it; before, the state of the arm is unknown, and neither side
    can stand in for the other.
    """

    def __init__(self, motors: Watch, links: Watch | None, *, can_stop_on_links: bool) -> None:
        self.motors, self.links = motors, links
        self.can_stop_on_links = can_stop_on_links and links is not None
        self.fault: Fault | None = None
        self.has_begun = False
        self._punctual = 0

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
        """The law that stops the arm with the states at hand."""
        return ON_LINKS if self.lacks_motors else "hold"

    def received(self, side: str, is_pair: bool) -> None:
        """A state of one side has arrived, and perhaps completed a pair."""
        if side == "motors":
            self.motors.feed()
        if self.links is not None and (is_pair or (side == "links" and self._may_lack_motors)):
            self.links.feed()

    def runs_on(self, side: str) -> bool:
        """Whether a state of this side is followed by a cycle without the other."""
        return self.lacks_motors if side == "links" else self.lacks_links

    def has_state(self, has_pair: bool) -> bool:
        """Whether there are states to start a cycle from; has_pair: a pair has been complete."""
        if self.motors.stale:
            return self.lacks_motors
        return has_pair or self.lacks_links

    def links_missing(self, law: str) -> Reaction:
        """No link states within the timeout; law: the one in force."""
        if self.motors.stale:
            return Reaction.SILENCE if law == ON_LINKS else Reaction.NONE
        return Reaction.STOP if self.has_begun else Reaction.WAIT

    def motors_missing(self, has_newer_links: bool) -> Reaction:
        """No motor states within the timeout; has_newer_links: link states are newer than the last
        output. From now on they count without the motors."""
        if not self.has_begun:
            return Reaction.WAIT
        if self._may_lack_motors and has_newer_links:
            assert self.links is not None
            self.links.feed()
        return Reaction.STOP if self.lacks_motors else Reaction.SILENCE

    # Faults

    def no_links(self) -> Fault:
        """The fault of link states that are missing."""
        assert self.links is not None
        text = f"no joint_states that match motor_states for {self.links.age():.3f} s"
        return Fault(NO_LINKS, text, is_latched=False)

    def no_motors(self) -> Fault:
        """The fault of motor states that are missing."""
        text = f"no motor_states for {self.motors.age():.3f} s"
        return Fault(NO_MOTORS, text, is_latched=False)

    def take(self, fault: Fault) -> bool:
        """Put a fault in force; False where the present one stays: it has the same reason, or is
        latched and the new one is not."""
        before = self.fault
        if before is not None and (
            before.reason == fault.reason or before.is_latched > fault.is_latched
        ):
            return False
        self.fault = fault
        return True

    def end(self) -> Fault | None:
        """End the fault in force, and return it."""
        fault, self.fault = self.fault, None
        return fault

    def is_over(self, *, is_settled: bool, speed: float, recovery_speed: float) -> bool:
        """Whether the fault ends without ~/enable: it is not latched, no side is missing, the state
        estimate is settled, and no motor is faster than `recovery_speed`."""
        return (
            self.fault is not None
            and not self.fault.is_latched
            and not (self.lacks_links or self.lacks_motors)
            and is_settled
            and speed <= recovery_speed
        )

    @property
    def is_enable_refused(self) -> bool:
        """Whether ~/enable cannot end the fault, because states are missing."""
        return self.fault is not None and (self.motors.stale or self.lacks_links)

    def follow_punctually_from(self, stamp: int) -> None:
        """Judge delays from this stamp (ns) on."""
        self._punctual = stamp

    def late(self, stamp: int, published: int, allowed: float) -> Fault | None:
        """A fault where every torque of the last 0.1 s was published later than `allowed` (s, 0:
        any) after the stamp of its states. stamp, published: ns, of the newest one."""
        delay = 1e-9 * (published - stamp)
        if not allowed or delay <= allowed:
            self._punctual = stamp
        elif stamp - self._punctual > LATE:
            self._punctual = stamp
            return Fault(
                DELAY,
                f"{1e3 * delay:.3g} ms after their states, and none in time for {1e-9 * LATE:g} s;"
                f" allowed: {1e3 * allowed:g} (latency_tolerance)",
                is_latched=True,
            )
        return None
