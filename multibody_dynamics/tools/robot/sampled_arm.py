# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The :class:`.Arm` of a generated controller: on samples with a clock of their own, and points.

What Python and C share, the samples with their filters and the motion in segments, runs here in the
compiled functions of which the C is printed; laws, modes, transfer and limits are those of the arm.
The self-test of a generated controller is recorded with this class.
"""

from typing import Any

import numpy as np

from ...dynamics.control import (
    BOTH,
    LINKS,
    MOTORS,
    Arm,
    ArmSettings,
    Command,
    CycleCounts,
    CycleSettings,
    CycleTimes,
    FlatnessSettings,
    Implausible,
    JointState,
    Mode,
    Sample,
    actuation,
    cycle_clock,
    frozen_sides,
    modes,
    sampled_input,
    sampled_motion,
    samples,
)
from ...dynamics.core import Array, record_fields
from ...dynamics.elastic import resting_second_outputs
from ...dynamics.motion import JointCommandLimits, StreamLimits
from ...dynamics.motion.segments import MODES, Answer
from .generated_design import ControllerDesign, start_position

EPOCH = 1_000_000_000  # ns, added to times, because an arm takes a stamp of zero for none
MISSING = {(0, 0): "", (1, 0): LINKS, (0, 1): MOTORS, (1, 1): BOTH}  # by what links, motors lack


class FollowedMotion:
    """What the arm follows, with the interface of :class:`.DesiredMotion`.

    The caller sets `now` in s; the times of the arm, rounded to ns, are not used.
    """

    def __init__(
        self, settings: CycleSettings, counts: CycleCounts, n: int, limits: StreamLimits
    ) -> None:
        self.own = sampled_motion.sampled_motion(n, limits)
        self.desired: Array = np.zeros((5, n))
        self.now, self.is_active = 0.0, False
        self._settings, self._counts = settings, counts

    @property
    def mode(self) -> str:
        return MODES[sampled_motion.phase_of_motion(self.own)]

    def hold(self, q: Array, time: int) -> None:
        sampled_motion.hold_motion(self.own, q, self.now)
        self.is_active = True

    def release(self) -> None:
        self.is_active = False
        self.desired[1:] = 0.0

    def evaluate(self, time: int, out: Array) -> None:
        sampled_motion.follow_motion(self._settings, self._counts, self.own, self.now, self.desired)
        out[:] = self.desired

    def look_ahead(self, time: int, out: Array) -> None:
        later = self.now + self._settings.lead
        sampled_motion.evaluate_motion(self.own, later, self.now, out)


class FilteredSamples:
    """The state that filters of samples give, with the interface of :class:`.StateEstimator`; the
    caller updates the filters, and sets the time `now` in s."""

    signals = ("link_position", "motor_position")

    def __init__(self, settings: CycleSettings, n: int, m: int) -> None:
        self.settings = settings
        self.samples = record_fields.zeros(samples.Samples, n=n, m=m)
        samples.compiled_forget(self.samples)
        s, self.now = self.samples, 0.0
        self.state = JointState(s.q, s.qd, s.theta, s.thetad)

    @property
    def is_settled(self) -> bool:
        return bool(samples.compiled_are_settled(self.settings, self.samples))

    @property
    def knows_speed(self) -> bool:
        return bool(samples.compiled_knows_speed(self.settings, self.samples, self.now))

    def design(self, q: Array) -> None:
        """There is nothing to design."""

    def reset(self) -> None:
        """Filters restart with their samples."""

    def update(self, t: float, **signals: Any) -> JointState:
        return self.state


class FixedOutputs:
    """Second outputs that only the caller changes, with the interface of
    :class:`.StiffnessReference`."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows

    def begin(self, *arguments: Any) -> None:
        """They are what they are."""

    def release(self) -> None:
        """They do not depend on time."""

    def evaluate(self, time: int, torque: Array) -> tuple[()]:
        return ()


class SampledArm:
    """An arm with the interface of its generated controller.

    Attributes: `state` and `fault`; `torque` (m,); `desired` (5, n), and `desired_theta` (m,) of
    the motors along it; the estimates `q`, `qd` (n,), `theta`, `thetad` (m,); `external` (n,),
    known torques, N m.
    """

    def __init__(self, design: ControllerDesign) -> None:
        model, actuators, p = design.model, design.actuators, design.parameters
        self.model, self.parameters = model, CycleSettings(**p)
        n, m = model.n, len(actuators.motors)
        self.counts = record_fields.zeros(CycleCounts)
        self.motion = FollowedMotion(self.parameters, self.counts, n, design.stream_limits)
        self.filters = FilteredSamples(self.parameters, n, m)
        laws = {each.law: each for each in (design.law_settings, design.hold_settings)}
        settings = FlatnessSettings(law=design.law_settings.law, controllers=laws)
        timing = ArmSettings(
            transfer_time=p["transfer_time"],
            collision_reaction="off",
            load_tolerance=0.0,
            frozen_distance=0.0,
        )
        motion: Any = self.motion
        self.arm = arm = Arm(
            model, actuators, settings, timing, motion=motion, estimator=self.filters
        )
        arm.design(start_position(design))
        arm.laws.install(settings.law, design.law)
        arm.laws.install("hold", design.hold)
        arm.limit(
            JointCommandLimits(
                actuators.motor_names, torque=p["torque_limit"], torque_rate=p["torque_rate_limit"]
            )
        )
        own = {name: p[name] for name in modes.Rules._fields if name in p}
        arm.supervisor.rules = arm.supervisor.rules._replace(**own)  # `limit` has set its own
        arm.times.expected = CycleTimes(p["period"], p["max_step"])
        arm.transfer.max_step = p["max_step"]
        second: Any = FixedOutputs(np.zeros((3, len(actuators.variable_joints))))
        second.rows[0] = resting_second_outputs(actuators)
        arm.second, self.second = second, second.rows
        self.external = np.zeros(n)
        self.torque, self.desired = arm.transfer.torque, self.motion.desired
        self.q, self.qd, self.theta, self.thetad = self.filters.state
        self.desired_theta: Array = np.zeros(m)
        self._frozen = record_fields.zeros(frozen_sides.FrozenSides, n=n, m=m)
        self._actuation = actuation(actuators)
        self.clock = record_fields.zeros(cycle_clock.CycleClock)
        self.is_active = False

    @property
    def state(self) -> Mode:
        return self.arm.supervisor.mode

    @property
    def fault(self) -> int:
        fault = self.arm.supervisor.fault
        return modes.NONE if fault is None else fault.code

    @property
    def missing(self) -> str:
        """Whose states have timed out."""
        at = self._at()
        return MISSING[samples.compiled_lacks_links(*at), samples.compiled_lacks_motors(*at)]

    def _at(self) -> tuple[CycleSettings, samples.Samples, float]:
        return self.parameters, self.filters.samples, self.motion.now

    # Requests

    def activate(self, torque: Any = None) -> bool:
        """Take over from a torque (m,) with the next cycle, by default from the one that balances
        the springs; whether that is possible."""
        if self.is_active or not self.filters.is_settled or self.implausible():
            return False
        if self.arm.coarse_encoder():
            return False
        self.torque[:] = self.balance() if torque is None else torque
        self.arm.activate(self.torque.copy())
        self.is_active = True
        return True

    def balance(self) -> Array:
        """(m,) motor torques within the limits that balance the springs at rest."""
        limit = self.parameters.torque_limit
        return self.arm.resting.balance(self.q, self.theta, self.second, limit)

    def implausible(self) -> Implausible | None:
        """Why the arm cannot be where it is measured."""
        p = self.parameters
        if np.isinf(p.external_load).all():
            return None
        moves = bool((np.abs(self.thetad) > p.recovery_speed).any())
        return self.arm.resting.judge(self.q, self.theta, p.external_load, moves=moves)

    def deactivate(self) -> None:
        self.arm.deactivate()
        self.is_active = False
        self.torque[:] = 0.0

    def append(self, time: float, state: Array) -> Answer:
        """Continue the motion to `state` (5, n) at `time` in s."""
        return Answer(
            sampled_motion.append_point(
                self.parameters, self.counts, *self._followed, self.desired, time, state
            )
        )

    def follow(
        self, times: Array, positions: Array, velocities: Array, start: float | None = None
    ) -> Answer:
        """Follow the targets (k, n) of a message, due at `times` after `start`, or after their
        arrival; NaN: a velocity that was not sent."""
        return Answer(
            sampled_motion.follow_targets(
                *self._followed, self.desired, start or 0.0, start is not None, times, positions,
                velocities, len(times),
            )
        )  # fmt: skip

    def cut(self, time: float) -> None:
        sampled_motion.cut_motion(*self._followed, time)

    def stop(self) -> None:
        sampled_motion.stop_motion(self.parameters, *self._followed, self.desired)

    @property
    def _followed(self) -> tuple[sampled_motion.SampledMotion, Mode, float]:
        return self.motion.own, self.state, self.motion.now

    def clear_fault(self) -> None:
        samples.compiled_accept_next(self.filters.samples)
        self.arm.clear_fault()

    def note_delay(self, delay: float) -> None:
        """Say how late, in s after its sample, the last torque was sent."""
        self.arm.note_delay(self._stamp + round(1e9 * delay))

    # The cycle

    def update(
        self, time: float, link_time: float, motor_time: float, q: Array, theta: Array
    ) -> Mode:
        """One cycle; times in s, of the cycle and of both samples."""
        p, motion = self.parameters, self.motion
        does = cycle_clock.compiled_advance(p, self.clock, self.counts, time)
        motion.now = self.filters.now = self.clock.time[0]
        if does == cycle_clock.RUNS:
            sampled_input.take_input(
                self._actuation, self.arm.resting, p, self.counts, self.filters.samples,
                self._frozen, self.arm.steps, self.arm.resting.springs, self.is_active,
                time, link_time, motor_time, np.array(q, dtype=float),
                np.array(theta, dtype=float), self.clock.elapsed[0], motion.desired,
                self.arm.reference.motors,
            )  # fmt: skip
            if self.is_active:
                self._run()
        elif does == cycle_clock.SET_BACK:
            self._forget("the clock was set back")
        elif does == cycle_clock.STOPPED and self.state is not Mode.INACTIVE:
            if motion.is_active:
                self._forget("the clock has stopped")
            self._report(self.arm.rest(self._stamp))
        return self.state

    def _forget(self, why: str) -> None:
        samples.compiled_forget(self.filters.samples)
        if self.is_active:
            self.arm.restart(why)

    def _run(self) -> None:
        missing = self.missing
        signals = {"link_position": self.q, "motor_position": self.theta}
        may_begin = bool(self.filters.samples.is_started[0])
        if self.state is Mode.INACTIVE:  # velocities decide how it begins
            may_begin = self.filters.is_settled
        given = Sample(
            self._stamp,
            signals if may_begin else None,
            missing,
            external=self.external,
            interval=samples.compiled_state_interval(*self._at()),
            is_complete=bool(self.filters.samples.is_complete[0]),
        )
        command = self.arm.respond(given)
        if command.torque is None and command.mode is not Mode.INACTIVE:
            command = self.arm.rest(self._stamp)
        self._report(command)

    def _report(self, command: Command) -> None:
        self.desired_theta[:] = command.reference[0]

    @property
    def _stamp(self) -> int:
        return EPOCH + round(1e9 * self.motion.now)
