# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""One run of the study: a law follows the motion of a robot, cycle by cycle, under a condition."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...dynamics.control import Arm, ArmSettings, Command, DesiredMotion, Sample
from ...dynamics.core import Array, DynamicsError
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel
from ...dynamics.plant import DelayLine, Encoder, Plant
from ...dynamics.rigid import forward_kinematics
from .conditions import HIT_AT, PAYLOAD_AT, PUSHED_FOR, Condition
from .drive_terms import with_drive_terms
from .model_errors import with_model_errors
from .studied_laws import StudiedLaw
from .studied_robots import LEVER, StudiedArm, motion_rows

START = 1.0  # s, stamp of the first cycle
FILTERING = 0.2  # s at rest before, in which the filters settle
SETTLING = 0.3  # s at rest before the motion, while the law takes over
AFTER = 0.3  # s after the motion, included in the errors
LOST = 0.2  # rad, error at which the node stops the arm
LEAD = 0.5  # cycles, of the feedforward
ENDING = 0.2  # s, at the end of a run, in which links must not oscillate
SWING = 2e-3  # rad, rms of an oscillation about its trend
CHECKED = 1.0  # s of further rest after such an oscillation, not included in the errors
STEADY = 0.95  # rms in the second half of CHECKED over that in the first; above it, nothing decays


class Outcome(NamedTuple):
    """Result of one run: rms and peak of the links' errors in rad (m), and `step`, the mean step of
    the motor torques from cycle to cycle in N m (N). For a lost run, only `lost`, the reason, is
    valid."""

    rms: float = np.nan
    peak: float = np.nan
    step: float = np.nan
    lost: str = ""


class _Times(NamedTuple):
    """Starts of the cycles in s, the motion beginning at `cycles[first]` = 0, and their lengths.
    The run ends before cycle `end`; those from there on are run only after an oscillation."""

    cycles: Array
    lengths: Array
    first: int
    end: int


@lru_cache(maxsize=8)
def plant_of(arm: StudiedArm, name: str, effects: tuple[tuple[str, float], ...] = ()) -> Plant:
    """The plant of the arm, created once in each process."""
    return arm.plant(name, effects)


def simulate(
    arm: StudiedArm,
    law: StudiedLaw,
    condition: Condition,
    *,
    plant: Plant | str = "internal",
    assumed: tuple[MultibodyModel, Actuators] | None = None,
    seed: int = 0,
    draw: int = 0,
    until: float = np.inf,
) -> Outcome:
    """Run the law under a condition, with the random numbers of a draw, until the time `until` in s
    or, by default, AFTER s after the motion. The same arguments give the same result.

    plant : one of PLANTS, or another plant that moves like the arm.
    assumed : the robot as the law knows it; by default the true one, `arm`."""
    if isinstance(plant, str):
        plant = plant_of(arm, plant, condition.effects)
    model, actuators = assumed or (arm.model, arm.actuators)
    if condition.error:
        rng = np.random.default_rng([draw, 1, seed])
        model, actuators = with_model_errors(
            model, actuators, condition.error, rng, condition.parts
        )
    if condition.has_terms:
        actuators = with_drive_terms(actuators, arm.effects(condition.effects))
    times = _times(arm, condition, until, [draw, 2, seed])
    errors: Array = np.zeros((len(times.cycles), arm.model.n))
    torques: Array = np.zeros((len(times.cycles), len(actuators.motors)))
    try:
        settings = law.flatness_settings(arm, condition)
        _reset(arm, plant)
        motion = _GivenMotion(arm)
        controller = Arm(model, actuators, settings, _cycle(arm, condition), motion=motion)
        controller.design(plant.q.copy())
    except DynamicsError as error:
        return Outcome(lost=f"no design: {error}")
    cycle = _Cycle(arm, plant, controller, condition, times, [draw, 0, seed])
    k, end = 0, times.end
    try:
        for k in range(len(times.cycles)):
            if k == end and _swing(errors[k - round(ENDING / condition.period) : k]) < SWING:
                break
            torques[k], lost = cycle.run(k)
            errors[k] = cycle.error
            if k >= times.first and not np.abs(cycle.error).max() < LOST:
                lost = lost or f"further than {LOST:g} rad from the reference"
            if lost:
                return Outcome(lost=lost)
        else:
            k = len(times.cycles)
    except DynamicsError as error:
        return Outcome(lost=str(error))
    return _outcome(errors[times.first : end], torques[times.first : end], errors[end:k])


def _outcome(errors: Array, torques: Array, after: Array) -> Outcome:
    """The result of a run; `after`: errors during the further rest, if it was needed."""
    half = len(after) // 2
    if half and _swing(after[half:]) > max(STEADY * _swing(after[:half]), 0.5 * SWING):
        swing = 1e3 * _swing(after[half:])
        return Outcome(lost=f"unstable: a sustained oscillation of {swing:.1f} mrad rms at rest")
    return Outcome(
        float(np.sqrt((errors**2).mean())),
        float(np.abs(errors).max()),
        float(np.abs(np.diff(torques, axis=0)).mean()),
    )


def _swing(errors: Array) -> float:
    """The largest rms of a joint about its linear trend."""
    t = np.linspace(-1.0, 1.0, len(errors))
    rest = errors - errors.mean(axis=0)
    rest = rest - np.outer(t, t @ rest) / (t @ t)
    return float(np.sqrt((rest**2).mean(axis=0)).max())


def _times(arm: StudiedArm, condition: Condition, until: float, seed: list[int]) -> _Times:
    dt = condition.period
    first = round(SETTLING / dt)
    end = min(arm.motion.end_time * condition.slower + AFTER, until)
    last = first + round(end / dt)
    count = last + (round(CHECKED / dt) if until == np.inf else 0)
    if not condition.jitter:
        lengths = np.full(count, dt)
        return _Times(dt * (np.arange(count) - first), lengths, first, last)
    spread = np.random.default_rng(seed).uniform(-1.0, 1.0, count)
    lengths = dt * (1.0 + condition.jitter * spread)
    starts = np.concatenate(([0.0], np.cumsum(lengths)[:-1]))
    return _Times(starts - starts[first], lengths, first, last)


def _reset(arm: StudiedArm, plant: Plant) -> None:
    """Put the plant at rest at the start of the motion."""
    plant.set_model(arm.model)
    plant.applied_wrenches[:] = 0.0
    plant.stiffness[0], plant.stiffness[1] = arm.outputs, 0.0
    plant.reset(arm.start)


def _cycle(arm: StudiedArm, condition: Condition) -> ArmSettings:
    """The settings of the cycle; the study itself judges tracking errors and delays."""
    return ArmSettings(
        feedforward_lead=LEAD,
        transfer_time=0.5 * SETTLING,
        initial_stiffness=tuple(arm.outputs.tolist()),
        observer_feedback=bool(condition.observer_gain),
        tracking_tolerance=0.0,
        latency_tolerance=0.0,
    )


class _GivenMotion(DesiredMotion):
    """A motion that has been evaluated for each cycle, `now` and `ahead` (5, n)."""

    def __init__(self, arm: StudiedArm) -> None:
        super().__init__(arm.model.joint_names, arm.model.limits)
        self.now, self.ahead = np.zeros((2, 5, arm.model.n))

    def evaluate(self, time: int, out: Array) -> None:
        out[:] = self.desired[:] = self.now

    def look_ahead(self, time: int, out: Array) -> None:
        out[:] = self.ahead


class _Cycle:
    """The cycle of the node: sensors, law, transmission, robot."""

    def __init__(
        self,
        arm: StudiedArm,
        plant: Plant,
        controller: Arm,
        condition: Condition,
        times: _Times,
        seed: list[int],
    ) -> None:
        self.arm, self.plant, self.controller = arm, plant, controller
        self.condition, self.times = condition, times
        dt, step = condition.period, condition.resolution
        self.encoders = [
            Encoder(len(row), dt, resolution=step, noise=step / 3.0, seed=[*seed, k])
            for k, row in enumerate((plant.q, plant.theta))
        ]
        self.line = DelayLine(condition.delay, dt, plant.motor_torque.copy())
        self.lead = controller.feedback.lead
        self.ahead = LEAD * dt + condition.known_delay
        self.error: Array = np.zeros(arm.model.n)
        self.signals: dict[str, Any] = {
            "link_position": self.encoders[0].position,
            "motor_position": self.encoders[1].position,
            "motor_torque": plant.motor_torque,
        }
        end = arm.motion.end_time * condition.slower
        self.payload_at = PAYLOAD_AT * end if condition.has_payload else np.inf
        self.hit_at = HIT_AT * end if condition.has_hit else np.inf
        self._rows = [self._motion(shift) for shift in (self.lead, self.ahead, None)]
        for encoder, row in zip(self.encoders, (plant.q, plant.theta), strict=True):
            encoder.restart(row, np.zeros_like(row))
        for k in range(round(FILTERING / dt), 0, -1):
            self._measure(times.cycles[0] - k * dt)
        controller.activate()

    def _measure(self, t: float) -> Command:
        """Read the encoders at a time in s, and let the controller answer."""
        for encoder, row in zip(self.encoders, (self.plant.q, self.plant.theta), strict=True):
            encoder.update(row, np.zeros_like(row))
        return self.controller.update(Sample(round(1e9 * (t + SETTLING + START)), self.signals))

    def _motion(self, shift: float | None) -> NDArray[np.float64]:
        """(k, 5, n) the motion at each cycle, `shift` s later; None: at the ends of the cycles."""
        t, slower = self.times.cycles, self.condition.slower
        if not self.condition.jitter:
            dt = self.condition.period
            later = dt if shift is None else shift
            return motion_rows(self.arm, slower, float(t[0]) + later, dt, len(t))
        later_row = self.times.lengths if shift is None else shift
        return self.arm.slower(slower).sample(t + later_row)

    def run(self, k: int) -> tuple[Array, str]:
        """Cycle k, and the motion of the robot until the next one; returns the torque, and why the
        controller has stopped the arm."""
        controller, plant = self.controller, self.plant
        t, length = float(self.times.cycles[k]), float(self.times.lengths[k])
        motion = controller.motion
        assert isinstance(motion, _GivenMotion)
        motion.now, motion.ahead = self._rows[0][k], self._rows[1][k]
        command = self._measure(t)
        torque = command.torque
        if torque is None or not command.mode.is_following:
            return np.zeros(len(self.plant.theta)), "; ".join(map(str, command.events))
        self._disturb(t)
        if self.condition.jitter:
            plant.step(torque, length)
        else:
            for duration, late in self.line.push(torque):
                plant.step(late, duration)
        self.error[:] = self._rows[2][k, 0] - plant.q
        return torque, ""

    def _disturb(self, t: float) -> None:
        """Change the payload of the plant and push it."""
        arm, plant = self.arm, self.plant
        if t + 1e-9 >= self.payload_at:
            self.payload_at = np.inf
            last = arm.model.n - 1
            plant.set_model(arm.model.with_payload(last, arm.payload, (0.0, 0.0, LEVER)))
        if self.condition.has_hit:
            is_hit = self.hit_at <= t + 1e-9 < self.hit_at + PUSHED_FOR
            push(plant, arm.hit if is_hit else 0.0)


def push(plant: Plant, force: float) -> None:
    """Apply a force (N) along y, or along z to a planar arm in the x-z plane, at the origin of the
    last link."""
    poses = forward_kinematics(plant.model, plant.q).pose
    at = poses[-1, :3, 3]
    f = np.array([0.0, 0.0, force]) if is_vertical(plant) else np.array([0.0, force, 0.0])
    plant.applied_wrenches[-1] = *np.cross(at, f), *f


@lru_cache(maxsize=8)
def is_vertical(plant: Plant) -> bool:
    """Whether no joint lets the last link move along y, as in a planar arm."""
    from ...dynamics.rigid import jacobian

    model = plant.model
    J = jacobian(model, plant.q, model.body_names[-1], representation="hybrid")
    return bool(np.abs(J[4]).max() < 1e-9)
