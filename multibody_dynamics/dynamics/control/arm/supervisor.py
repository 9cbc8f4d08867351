# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The mode and the fault of an arm, with their texts: :mod:`modes` for a Python cycle."""

from typing import Any, NamedTuple, get_type_hints

from ...core import Array, BoundCall, IndependentCopies
from ..signals.encoder_steps import coarse_encoder
from . import modes
from .modes import FAULTS, LATE, SETTLING, STOP_FAILED, TRACKING, Fault, Mode, Rules

MODES = tuple(Mode)
MOVING = "the arm moves"
CLEARED = "cleared, following again"
REQUESTED = "cleared, following again once the arm is at rest"


class Event(NamedTuple):
    """A change to report: `fault` has become active or, with `is_over`, was cleared."""

    fault: Fault
    text: str
    is_over: bool = False

    def __str__(self) -> str:
        return f"{self.fault.text}: {self.text}"


class Supervisor(IndependentCopies):
    """Applies the rules of :mod:`modes` in every cycle, and says what has changed.

    found : what a cycle finds, written by the caller.

    Attributes: `rules`, may be replaced at any time; `text`, the reason of the present fault, for
    messages; `is_new`, whether the acting law has changed and must be started, fading over
    `duration` s: the caller resets it.
    """

    def __init__(self, joint_names: tuple[str, ...], rules: Rules, found: modes.Situation) -> None:
        self.joint_names, self._found = joint_names, found
        self._memory = modes.memory(len(joint_names), len(rules.joint_of_motor))
        self.rules = rules
        self._supervise(0.0)  # compiles: nothing acts yet
        self.text = ""

    @property
    def rules(self) -> Rules:
        return self._rules

    @rules.setter
    def rules(self, rules: Rules) -> None:
        kinds = get_type_hints(Rules).values()
        own: list[Any] = [
            kind(x) if kind in (int, float) else x for kind, x in zip(kinds, rules, strict=True)
        ]
        self._rules = rules = Rules(*own)  # compiled once, whatever numbers are given
        self._supervise = BoundCall(modes.compiled_supervise, rules, self._memory, ..., self._found)

    @property
    def mode(self) -> Mode:
        """What acts on the arm."""
        return MODES[self._memory.mode[0]]

    @property
    def fault(self) -> Fault | None:
        """Why the arm is stopped; None if it is not."""
        code = self._memory.fault[0]
        return FAULTS[code] if code else None

    @property
    def joint(self) -> str:
        """The joint at which the fault was found; empty if it is not about one."""
        i = modes.joint_of_fault(self._memory)
        return self.joint_names[i] if i >= 0 else ""

    @property
    def is_final(self) -> bool:
        """Whether only a cleared fault ends LOST."""
        return bool(modes.is_final(self._memory))

    @property
    def on_links(self) -> bool:
        """Whether the stop runs on link states alone."""
        return bool(self._memory.on_links[0])

    @property
    def tolerates_delay(self) -> bool:
        """Whether the stop is the one for late torques."""
        return bool(self._memory.tolerates_delay[0])

    @property
    def kept_torque(self) -> Array | None:
        """(m,) with which a law that does not follow starts; None: with its own."""
        return self._memory.held if modes.keeps_torque(self._memory) else None

    @property
    def is_new(self) -> bool:
        return bool(self._memory.is_new[0])

    @is_new.setter
    def is_new(self, value: bool) -> None:
        self._memory.is_new[0] = value

    @property
    def duration(self) -> float:
        """s, in which the new law fades in."""
        return float(self._memory.duration[0])

    def activate(self, now: float, qd: Array, thetad: Array, knows_speed: bool) -> None:
        """Start at `now` (s), at these velocities of links (n,) and motors (m,), if known."""
        modes.activate(self.rules, self._memory, now, qd, thetad, int(knows_speed))
        self.text = MOVING if self.fault is not None else ""

    def deactivate(self) -> None:
        """Nothing acts on the arm, and there is no fault."""
        modes.deactivate(self._memory)
        self.text = ""

    def restart(self, now: float) -> None:
        """Forget all times, because the clock jumped; `now` (s) is the new time."""
        modes.restart(self.rules, self._memory, now)

    def update(self, now: float, missing: str = "") -> Event | None:
        """Apply the rules at `now` (s); `missing` describes states that have timed out."""
        before = self.fault
        self._supervise(now)
        return self._changed(before, missing)

    def fail(self, fault: int, now: float, qd: Array, thetad: Array, text: str) -> Event | None:
        """Make a fault active for a reason outside the rules."""
        before = self.fault
        modes.fail(self.rules, self._memory, now, fault, FAULTS[fault].mode, qd, thetad)
        return self._changed(before, text)

    def note_delay(self, now: float, delay: float, qd: Array, thetad: Array) -> Event | None:
        """Judge how late, in s after its sample at `now`, a torque was sent."""
        before = self.fault
        modes.note_delay(self.rules, self._memory, now, delay, qd, thetad)
        return self._changed(before, "")

    def damping_share(self, now: float) -> float:
        """The share of the damping after a stop that has failed."""
        return float(modes.damping_share(self._memory, now))

    def note_motion(self, motion: int) -> None:
        """Note what the motion that is followed does now, as :mod:`modes` numbers it."""
        modes.note_motion(self._memory, motion)

    def clear(self, qd: Array, thetad: Array) -> Event | None:
        """End the fault on request; the arm follows again once it is at rest."""
        before = self.fault
        modes.clear_fault(self.rules, self._memory, qd, thetad)
        self.text = "the arm still moves"
        return None if before is None else Event(before, REQUESTED, is_over=True)

    def _changed(self, before: Fault | None, text: str) -> Event | None:
        fault = self.fault
        if fault is before:
            return None
        if fault is None:
            assert before is not None
            self.text = ""
            is_told = before.code == SETTLING
            return None if is_told else Event(before, CLEARED, is_over=True)
        self.text = self._describe(fault.code) or text
        return Event(fault, self.text)

    def _describe(self, fault: int) -> str:
        """The numbers of a fault that the rules have found; empty for others."""
        s, rules = self._memory, self.rules
        name, value, allowed = self.joint_names[s.joint[0]], s.value[0], s.allowed[0]
        if fault == TRACKING:
            return (
                f"'{name}' is {value:.4g} from the reference; allowed: {allowed:g}"
                " (tracking_tolerance)"
            )
        if fault == LATE:
            return (
                f"{1e3 * value:.3g} ms after their states, and none on time for"
                f" {modes.LATE_FOR:g} s; allowed: {1e3 * allowed:g} ms (latency_tolerance)"
            )
        if fault == STOP_FAILED:
            return (
                f"'{name}' "
                + (
                    f"moves at {value:.3g}, too fast for a stop; allowed: {allowed:.3g}"
                    " (stop_speed_limit)",
                    f"still moves at {value:.3g} after more than {allowed:g} s (stop_timeout)",
                    f"speeds up to {value:.3g}, by its positions; allowed: {allowed:.3g}",
                    f"has moved by {value:.3g} in a stop; forecast: at most {allowed:.3g}",
                )[s.how[0]]
            )
        if fault == modes.OVERLOAD:
            return (
                f"the spring of '{name}' carries {value:.4g} (N m or N), more than gravity and"
                f" motors explain; allowed: {allowed:.4g}, {modes.EXPLAINED:g} times what is"
                " believed at rest (load_tolerance)"
            )
        if fault == SETTLING:
            return MOVING
        if fault == modes.OVERSPEED:
            return (
                f"'{name}' moves at {value:.3g}; allowed: {allowed:.3g},"
                f" {modes.OVERSPEED_FACTOR:g} times its velocity limit"
            )
        if fault == modes.CHATTER:
            return (
                f"the torque of '{name}' jumps back and forth by {value:.3g}; its limit:"
                f" {allowed:.3g}. Lower the bandwidths, or use finer encoders"
            )
        if fault == modes.COARSE:
            return coarse_encoder(name, value, allowed)
        if fault == modes.REPEATED:
            return (
                f"interrupted {rules.recovery_limit + 1} times within {rules.recovery_window:g} s"
                " (recovery_limit, recovery_window)"
            )
        return ""
