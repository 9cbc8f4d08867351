# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What is measured of an arm, and which of it counts: not positions that leap, repeat although the
arm moves, or disagree after a silence.

:func:`.sampled_input.take_input` is the same for controllers whose cycles do not wait for samples.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...core import Array, BoundCall, IndependentCopies, Integers, record_fields
from ...elastic import Actuators
from ...model import MultibodyModel
from ...motion import in_nearest_turn, joint_turns
from ..records.actuation import actuation, motor_turns
from ..signals import encoder_steps, frozen_sides
from ..signals.derivative_filter import MAX_STEP
from .arm_settings import ArmSettings
from .measured_arm import MeasuredArm
from .plausibility import RestingArm
from .position_check import position_checks

LINKS, MOTORS, BOTH = "links", "motors", "links and motors"
POSITIONS = {LINKS: "link_position", MOTORS: "motor_position"}  # signals that are compared


class Sample(NamedTuple):
    """What is measured at `stamp` (ns).

    signals : by name, those of the state estimator; None if no states arrive. missing : whose
    states have timed out, "", LINKS, MOTORS or BOTH, and `why`, for messages. external : (n,) known
    external joint torques in N m. is_late : whether there should be new signals, but are none: the
    arm is taken to follow its reference as closely as before. age : s, from `stamp` to the time at
    which its cycle begins. interval : s, between the last two states of the side that is measured
    less often, or since the last one, if cycles do not wait for states; 0: by the stamps.
    is_complete : whether both sides are new since this was so last.
    """

    stamp: int
    signals: Mapping[str, Array] | None
    missing: str = ""
    why: str = ""
    external: Array | None = None
    is_late: bool = False
    age: float = 0.0
    interval: float = 0.0
    is_complete: bool = True

    def without_sides(self, missing: str, why: str) -> "Sample":
        """The sample, with sides that do not count."""
        signals = None if missing == BOTH else self.signals
        return self._replace(signals=signals, missing=missing, why=why)


class FrozenCycles(NamedTuple):
    """The count of :class:`.CycleCounts` that :mod:`.frozen_sides` advances."""

    frozen_cycles: Integers


class ValidSides(IndependentCopies):
    """The sides, links and motors, whose positions count, judged by those that counted before.

    Attributes, for reading: `leapt`, the sides whose positions no joint can have reached since, ""
    if none; `steps`, the :class:`.EncoderSteps` since the arm was made.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        resting: RestingArm,
        cycle: ArmSettings,
    ) -> None:
        turn = joint_turns(model)
        self._turns = turn, motor_turns(actuators, turn)
        self._has_turns = bool(turn.any())
        self._resting, self._cycle = resting, cycle
        self._actuation = actuation(actuators)
        self._checks = position_checks(model, actuators, cycle.state_speed_factor)
        n, m = model.n, len(actuators.motors)
        self.steps = record_fields.zeros(encoder_steps.EncoderSteps, n=n, m=m)
        self._compare = BoundCall(
            frozen_sides.compiled_notice_frozen,
            self._actuation.joint_of_motor,
            self._actuation.torque_share,
            frozen_sides.spring_bends(actuators, model.limits.effort),
            FrozenCycles(np.zeros(1, dtype=np.int64)),
            record_fields.zeros(frozen_sides.FrozenSides, n=n, m=m),
            self.steps,
        )
        self._compare(0.0, 0.0, np.zeros(n), np.zeros(m), np.zeros(n))  # compiles
        self._note_steps = BoundCall(encoder_steps.compiled_note_encoder_steps, self.steps)
        self._note_steps(0.0, np.full(n, np.nan), np.full(m, np.nan))  # compiles
        self._accepted = {LINKS: np.empty(n), MOTORS: np.empty(m)}
        self.restart()
        self.forget()

    def change(self, cycle: ArmSettings) -> None:
        """Use other settings from the next sample on."""
        self._cycle = cycle
        for check in self._checks.values():
            check.factor = cycle.state_speed_factor

    def restart(self) -> None:
        """Forget in which turns the joints are."""
        self._positions = tuple(np.full(len(turn), np.nan) for turn in self._turns)

    def forget(self) -> None:
        """Forget which positions counted."""
        self._accepted_at = 0  # ns, stamp of the last sample that counted in full; 0: none yet
        self._carried_to = 0  # ns, to which the accepted positions have been moved
        self.leapt = ""
        for row in self._accepted.values():
            row[:] = np.nan

    def accept_next(self) -> None:
        """Believe the next positions, unless springs refuse them."""
        for check in self._checks.values():
            check.accept_next()

    def unwrapped(self, sample: Sample) -> Sample:
        """The sample with the positions of continuous joints in the turn nearest the last ones, at
        first as they are; those of motors at first in the turn nearest their links."""
        if sample.signals is None or not self._has_turns:
            return sample
        signals, link = dict(sample.signals), None
        for side, turn, last in zip(POSITIONS.values(), self._turns, self._positions, strict=True):
            row = signals.get(side)
            if row is None or np.shape(row) != turn.shape:
                continue
            if link is not None:
                last[:] = np.where(np.isnan(last), link[self._actuation.joint_of_motor], last)
            signals[side] = link = in_nearest_turn(turn, last, row)
            last[:] = np.where(np.isfinite(link), link, last)
        return sample._replace(signals=signals)

    def note_steps(self, sample: Sample) -> None:
        """Note how the positions have changed by the time of the sample: a stop interpolates the
        motors between their steps, also without links. A side that is missing has not changed."""
        signals, steps = sample.signals or {}, self.steps  # has the last positions
        q = np.asarray(signals.get(POSITIONS[LINKS], steps.q), dtype=np.float64)
        theta = np.asarray(signals.get(POSITIONS[MOTORS], steps.theta), dtype=np.float64)
        if q.shape == steps.q.shape and theta.shape == steps.theta.shape:
            self._note_steps(1e-9 * sample.stamp, q, theta)

    def of(
        self,
        sample: Sample,
        *,
        missed: str,
        load: Array,
        velocities: tuple[Array, Array],
        compares: bool,
        can_stop_on_links: bool,
    ) -> Sample:
        """The sample, without the sides that do not count.

        missed : what the sample before lacked. load : (n,) N m or N, external torques that are
            believed after a silence. velocities : (n,) and (m,) rad/s or m/s, of links and motors
            along the motion, by which the positions that counted move on while a side leaps.
        compares : whether links and motors are measured independently of each other.
        can_stop_on_links : without the motors; otherwise, both sides are then missing.
        """
        signals = sample.signals
        if signals is None or sample.missing or sample.is_late:
            return sample
        rows = {side: signals[name] for side, name in POSITIONS.items() if name in signals}
        compares = compares and len(rows) == 2
        silence = 1e-9 * (sample.stamp - self._accepted_at) if self._accepted_at else 0.0
        agrees = -1
        if compares and (missed or silence > MAX_STEP):
            agrees = self._resting.agrees(rows[LINKS], rows[MOTORS], load)
        why = "the springs between links and motors do not carry the arm after the silence"
        if agrees == 0:
            self.leapt = self.leapt or BOTH
        elif agrees < 0 or self.leapt == BOTH:  # no side is left with which the other could agree
            self.leapt, why = self.leaping(rows, silence)
        else:
            self.leapt = ""
        if self.leapt:
            if silence <= self._cycle.state_timeout and not missed:
                step = min(1e-9 * (sample.stamp - self._carried_to), MAX_STEP)
                for row, velocity in zip(self._accepted.values(), velocities, strict=True):
                    row += step * velocity
                self._carried_to = sample.stamp
                return sample._replace(is_late=True)
            return sample.without_sides(missed or _lacking(self.leapt, can_stop_on_links), why)
        far, step = float(self._cycle.frozen_distance), min(silence, MAX_STEP)
        if compares and (frozen := self._compare(far, step, *rows.values(), velocities[0])):
            lacks = _lacking((LINKS, MOTORS, BOTH)[frozen - 1], can_stop_on_links)
            why = "the same positions in every sample, although the arm moves"
            return sample.without_sides(lacks, f"{lacks} are frozen: {why}")
        self._accepted_at = self._carried_to = sample.stamp
        for side, row in rows.items():
            self._accepted[side][:] = row
        return sample

    def leaping(self, rows: Mapping[str, Array], silence: float) -> tuple[str, str]:
        """The sides that cannot have reached the positions in `rows`, by their names, since those
        that counted, `silence` s ago, and why."""
        if not self._cycle.state_speed_factor:
            return "", ""
        accepted = self._accepted
        step = {LINKS: self.steps.link_step, MOTORS: self.steps.motor_step}
        found = {
            side: why
            for side, row in rows.items()
            if (why := self._checks[side].fault_of_all(accepted[side], row, silence, step[side]))
        }
        sides = BOTH if len(found) > 1 else "".join(found)
        return sides, "; ".join(found.values())

    def implausible(self, measured: MeasuredArm) -> str:
        """Why the first positions cannot be those of this arm at rest; empty if they can."""
        tolerance = self._cycle.load_tolerance
        if not tolerance or measured.observes_links:
            return ""
        q, _, theta, _ = measured.estimator.state
        moves = bool((measured.speed > self._cycle.recovery_speed).any())
        refusal = self._resting.judge(q, theta, tolerance * self._resting.allowed, moves=moves)
        return str(refusal or self.leaping({LINKS: q, MOTORS: theta}, 0.0)[1])


def _lacking(side: str, can_stop_on_links: bool) -> str:
    """What is missing without this side: both, if the arm cannot be stopped on the other."""
    return side if side == LINKS or can_stop_on_links else BOTH
