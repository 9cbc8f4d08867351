# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Combines link and motor states, which arrive on two topics, into measured signals, and notices
when one side is missing."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ...dynamics.control import BOTH, LINKS, MOTORS, PositionCheck
from ...dynamics.core import Array
from ...dynamics.elastic import Actuators
from ...dynamics.model import Transmission
from ..base.messages import SECOND, JointStates, MessageError

ALONE = 50  # consecutive unpaired states after which further ones are rejected

# The signals of the state estimator as fields of joint_states (LINKS) and motor_states (MOTORS)
SIGNALS = {
    "link_position": (LINKS, "position"),
    "joint_torque": (LINKS, "effort"),
    "motor_position": (MOTORS, "position"),
    "motor_torque": (MOTORS, "effort"),
}


class Watch(Protocol):
    """Watches one input, as :class:`.Watchdog` does."""

    @property
    def stale(self) -> bool:
        """Whether the input has been missing for longer than its timeout."""

    def age(self) -> float:
        """Seconds since the last input."""

    def feed(self) -> None:
        """Record that the input has arrived."""


class StateInputs:
    """The states of links and motors that a controller receives: pairs of them, their signals, and
    which side is missing.

    names : the signals that are needed, keys of SIGNALS. checks : of the positions of LINKS and
    MOTORS. can_stop_on_links : whether links alone can stop the arm. transmissions : of which the
    states of the links may name the joints.

    Attributes: `sides`, the JointStates by side; `topics`, of the sides that are read; `signals` by
    name, set by :meth:`read`, because the states may already be half of the next pair when the
    cycle runs; `has_begun`, whether a cycle has been completed, which the caller sets: until then,
    the state of the arm is unknown, and neither side can replace the other.
    """

    def __init__(
        self,
        actuators: Actuators,
        names: Sequence[str],
        checks: Mapping[str, PositionCheck],
        *,
        can_stop_on_links: bool,
        transmissions: Sequence[Transmission] = (),
    ) -> None:
        fields: dict[str, list[str]] = {LINKS: [], MOTORS: []}
        for side, field in map(SIGNALS.__getitem__, names):
            fields[side].append(field)
        of_sides = {LINKS: actuators.joint_names, MOTORS: actuators.motor_names}
        self.sides = {
            side: JointStates(
                each,
                fields[side],
                check=checks.get(side),
                transmissions=transmissions if side == LINKS else (),
            )
            for side, each in of_sides.items()
        }
        self._pairs = StatePairs(
            self.sides[LINKS], self.sides[MOTORS], needs_links=bool(fields[LINKS])
        )
        self.topics = {MOTORS: "motor_states"} | ({LINKS: "joint_states"} if fields[LINKS] else {})
        self._can_stop_on_links = can_stop_on_links and bool(fields[LINKS])
        self._names = tuple(names)
        self.read()
        self._watches: dict[str, Watch] = {}
        self.has_begun = False

    def watch(self, side: str, watch: Watch) -> None:
        """Let a watch notice when a side is missing. That of the links is fed by pairs: links that
        never match the motors count as missing."""
        self._watches[side] = watch

    def restart(self) -> None:
        """Forget all states, because time jumped."""
        self._pairs.restart()

    @property
    def stamp(self) -> int:
        """ns, of the last pair; 0 before the first."""
        return self._pairs.stamp

    def add(self, side: str, tolerance: float) -> bool:
        """Record that a side has a new state; True if that completes a pair. Raises MessageError,
        see :meth:`StatePairs.add`."""
        is_pair = False
        try:
            is_pair = self._pairs.add(self.sides[side], tolerance)
        finally:
            if side == MOTORS:
                self._watches[MOTORS].feed()
            if LINKS in self._watches and (is_pair or (side == LINKS and self._lacks_motors)):
                self._watches[LINKS].feed()
        return is_pair

    def read(self) -> None:
        """Set `signals` to the newest ones."""
        self.signals: dict[str, Array] = {}
        for name in self._names:
            side, field = SIGNALS[name]
            self.signals[name] = getattr(self.sides[side], field)

    # Missing states

    @property
    def missing(self) -> str:
        """The sides that have timed out: "", LINKS, MOTORS or BOTH, as an :class:`.Arm` takes it;
        MOTORS only if links alone can stop the arm."""
        if not self.has_begun:
            return ""
        if self._watches[MOTORS].stale:
            return MOTORS if self._lacks_motors and not self._watches[LINKS].stale else BOTH
        return LINKS if LINKS in self._watches and self._watches[LINKS].stale else ""

    @property
    def _lacks_motors(self) -> bool:
        return self._can_stop_on_links and self.has_begun and self._watches[MOTORS].stale

    @property
    def why(self) -> str:
        """What is missing, for messages."""
        if self._watches[MOTORS].stale:
            return f"no motor_states for {self._watches[MOTORS].age():.3f} s"
        if self.missing:
            return f"no joint_states matching motor_states for {self._watches[LINKS].age():.3f} s"
        return ""

    def runs_on(self, side: str) -> bool:
        """Whether a state of this side triggers a cycle without the other side."""
        return self.missing == (MOTORS if side == LINKS else LINKS)

    @property
    def has_state(self) -> bool:
        """Whether a cycle that is driven by a timer has states to start from."""
        if self._watches[MOTORS].stale:
            return self.missing == MOTORS
        return bool(self.stamp) or self.missing == LINKS

    def note_stale(self, side: str, last_stamp: int) -> None:
        """Note that a side has timed out; last_stamp: ns, of the last torque. From then on, newer
        link states need no motor state to match."""
        if side == MOTORS and self._lacks_motors and self.sides[LINKS].stamp > last_stamp:
            self._watches[LINKS].feed()

    def waiting_for(self, side: str) -> str:
        """Why there has been no cycle yet, as a warning."""
        if side == MOTORS:
            return f"no motor_states for {self._watches[side].age():.3f} s: nothing to publish yet"
        missing = missing_of([self.sides[side]])
        why = missing or ("no stamp matches the motors" if self._pairs.alone else "they have ended")
        return f"no link states yet: {why}"

    # Diagnostics

    @property
    def awaited(self) -> str:
        """Joints and motors without a message since the last complete state."""
        return missing_of([self.sides[side] for side in self.topics])

    @property
    def ages(self) -> dict[str, float]:
        """Time since the last state of each side."""
        return {
            f"age of the {side.removesuffix('s')} state [s]": watch.age()
            for side, watch in self._watches.items()
        }

    @property
    def counts(self) -> dict[str, object]:
        """The numbers of states that were not used."""
        foreign = {
            f"{topic}: messages without our joints": self.sides[side].foreign
            for side, topic in self.topics.items()
        }
        return {**foreign, "unpaired states": self._pairs.alone}


class StatePairs:
    """Pairs of the newest link state and the newest motor state, each used once.

    A robot samples both simultaneously with one stamp, so with tolerance 0 (s) the stamps must be
    equal. If they differ, `tolerance` allows for the difference, which must stay below half a
    period.
    `stamp`: ns, of the pair; the newer one of the two.

    On a busy computer, several states of one side may be read before those of the other, and a
    message may get lost. A state older than the newest one of the other side is therefore skipped
    and counted in `alone`.

    links, motors: referenced, not copied; pairs are read from them. With `needs_links` False, every
    motor state counts as a pair.
    """

    def __init__(self, links: JointStates, motors: JointStates, *, needs_links: bool) -> None:
        self.links, self.motors, self.needs_links = links, motors, needs_links
        self.alone = 0
        self.restart()

    def restart(self) -> None:
        """Forget everything but the count, because time jumped."""
        self.links.restart()
        self.motors.restart()
        self.stamp = 0
        self._fresh: set[JointStates] = set()
        self._in_a_row = 0

    def add(self, states: JointStates, tolerance: float) -> bool:
        """Record that `states`, links or motors, has a new state; True if that completes a pair.

        If both are new but their stamps do not match, the newer one waits for its counterpart.
        Raises MessageError if this happens ALONE times in a row.
        """
        self._fresh.add(states)
        links, motors = self.links, self.motors
        if not self.needs_links:
            self.stamp = motors.stamp
            return states is motors
        if len(self._fresh) < 2:
            return False
        apart = links.stamp - motors.stamp
        if abs(apart) <= int(SECOND * tolerance):
            self._fresh.clear()
            self._in_a_row = 0
            self.stamp = max(links.stamp, motors.stamp)
            return True
        self._fresh.discard(motors if apart > 0 else links)
        self.alone += 1
        self._in_a_row += 1
        if self._in_a_row < ALONE:
            return False
        older = "motor" if apart > 0 else "link"
        raise MessageError(
            "out of step",
            f"the {older} state is {1e-9 * abs(apart):.6f} s older than its counterpart;"
            f" allowed: {tolerance:g} s (pair_tolerance)",
        )


def missing_of(states: Sequence[JointStates]) -> str:
    """Names of the joints and motors without a message since the last complete state, for log
    messages."""
    return ", ".join(name for each in states for name in each.missing)
