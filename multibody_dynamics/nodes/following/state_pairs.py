# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Combines link and motor states, which arrive on two topics, into measured signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...dynamics.core import Array
from ..base.messages import SECOND, JointStates, MessageError
from ..base.position_check import PositionCheck

ALONE = 50  # consecutive unpaired states after which further ones are rejected

# The signals of the state estimator as fields of joint_states ("links") and motor_states ("motors")
SIGNALS = {
    "link_position": ("links", "position"),
    "joint_torque": ("links", "effort"),
    "motor_position": ("motors", "position"),
    "motor_torque": ("motors", "effort"),
}


class MeasuredSignals:
    """The signals that an estimator needs, read from the newest pair of states.

    joints, motors: their names. names: the signals, keys of SIGNALS. checks: of the positions of
    "links" and "motors".

    Attributes: `sides`, the JointStates of "links" and "motors"; `pairs`; `values`, a copy of each
    signal by name. `read` makes the copy, because the states may already be half of the next pair
    when the cycle runs.
    """

    def __init__(
        self,
        joints: Sequence[str],
        motors: Sequence[str],
        names: Sequence[str],
        checks: Mapping[str, PositionCheck] | None = None,
    ) -> None:
        checks = checks or {}
        fields: dict[str, list[str]] = {"links": [], "motors": []}
        for side, field in map(SIGNALS.__getitem__, names):
            fields[side].append(field)
        self.sides = {
            "links": JointStates(joints, fields["links"], check=checks.get("links")),
            "motors": JointStates(motors, fields["motors"], check=checks.get("motors")),
        }
        self.pairs = StatePairs(**self.sides, needs_links=bool(fields["links"]))
        self._incoming: dict[str, Array] = {
            name: getattr(self.sides[side], field)
            for name, (side, field) in SIGNALS.items()
            if name in names
        }
        self.values = {name: row.copy() for name, row in self._incoming.items()}

    @property
    def used(self) -> dict[str, JointStates]:
        """The sides that are read, by topic."""
        topics = {"joint_states": self.sides["links"], "motor_states": self.sides["motors"]}
        if not self.pairs.needs_links:
            del topics["joint_states"]
        return topics

    @property
    def missing(self) -> str:
        """Joints and motors without a message since the last complete state."""
        return missing_of(list(self.used.values()))

    def read(self) -> None:
        """Copy the newest signals to `values`."""
        for name, row in self._incoming.items():
            self.values[name][:] = row


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
