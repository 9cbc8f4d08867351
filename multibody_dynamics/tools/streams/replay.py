# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The replay of a recorded stream against a simulated robot, and its report."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics.control import Arm, ArmSettings, FlatnessSettings, Sample
from ...dynamics.core import SECOND, Array, RequestError
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import JointCommandLimits, StreamLimits, streams
from ...dynamics.plant import ElasticRobot
from ...dynamics.rigid import inverse_dynamics
from ...reporting.figures import new_figure
from ...reporting.page import Page
from ...simulation.mujoco_robot import MujocoRobot
from ..view.viewed_motion import RATE, ViewedMotion
from .stream_files import RecordedStream

PERIOD = 1e-3  # s
BEFORE = 1.0  # s at rest before the first message
AFTER = 1.5  # s after the last target
LONGEST_PAUSE = 5.0  # s that are worth replaying: the arm rests
ORDERS = ("q", "q'", "q''", "q'''", "q''''")


@dataclass(frozen=True, eq=False)
class Replay:
    """What happened in k cycles, PERIOD apart: times (k,) s; desired (k, 5, n); q (k, n) of the
    links; theta (k, m) and torque (k, m) of the motors; delay (k,) s, as the stream reported it.
    stops : what stopped the arm, with its time, at which the replay ends. cost : s, median duration
    of `Arm.update`."""

    joint_names: tuple[str, ...]
    times: Array
    desired: Array
    q: Array
    theta: Array
    torque: Array
    delay: Array
    limits: StreamLimits
    motors: JointCommandLimits
    stops: tuple[str, ...]
    refused: tuple[str, ...]
    cost: float

    @property
    def error_rms(self) -> float:
        """rad or m, of the links against the desired motion."""
        return float(np.sqrt(np.mean((self.desired[:, 0] - self.q) ** 2)))

    @property
    def torque_rate(self) -> Array:
        """(m,) N m/s, the largest ones."""
        return np.asarray(np.abs(np.diff(self.torque, axis=0)).max(axis=0) / PERIOD)


def replay(
    model: MultibodyModel,
    actuators: Actuators,
    stream: RecordedStream,
    *,
    plant: str = "internal",
    torque_rate: float = 1000.0,
    is_stamped: bool = True,
    motion: Any = None,
    variant: str = "full",
    on_progress: Callable[[float], object] = lambda share: None,
) -> Replay:
    """Let an arm follow a stream.

    torque_rate : N m/s, limit of the rates of the motor torques. is_stamped : whether messages say
    when their points are due; otherwise they count from the arrival. motion : of the arm; by
    default one that follows streams as the nodes do. variant : of the feedforward of `motor_pd`.
    Raises InputError for other joints.
    """
    stream = stream.ordered(model.joint_names)
    kind = ElasticRobot if plant == "internal" else MujocoRobot
    robot = kind(model, actuators)
    start = np.clip(stream.messages[0].positions[0], model.limits.lower, model.limits.upper)
    robot.reset(start)
    settings = FlatnessSettings(law="motor_pd")
    law = replace(settings.controllers["motor_pd"], variant=variant)
    settings = replace(settings, controllers={**settings.controllers, "motor_pd": law})
    arm = Arm(model, actuators, settings, ArmSettings(latency_tolerance=0.0), motion=motion)
    arm.design(start)
    motors = JointCommandLimits(
        actuators.motor_names,
        torque=actuators.torque_limit_within(model.limits.effort),
        torque_rate=np.full(len(actuators.motors), torque_rate),
        motor_speed=actuators.speed_limit,
    )
    arm.limit(motors)
    limits = arm.stream_limits
    arm.activate()
    first = stream.messages[0].arrival
    end = max(each.times[-1] for each in stream.messages) - first + BEFORE + AFTER
    count = round(end / PERIOD)
    desired, q = np.empty((count, 5, model.n)), np.empty((count, model.n))
    (theta, torque), delay = np.empty((2, count, len(actuators.motors))), np.zeros(count)
    stops, refused, costs = [], [], []
    waiting = list(reversed(stream.messages))
    origin = SECOND  # ns, of the first cycle
    for k in range(count):
        t = k * PERIOD
        now = origin + round(SECOND * t)
        while waiting and waiting[-1].arrival - first + BEFORE <= t:
            message = waiting.pop()
            due = message.times - first + BEFORE
            begin = origin if is_stamped else None
            times = due if is_stamped else message.times - message.arrival
            try:
                arm.stream(message.positions, times, message.velocities, start=begin)
            except RequestError as error:
                refused.append(f"{t:.3f} s: {error}")
        begun = time.perf_counter()
        command = arm.update(
            Sample(now, {"link_position": robot.q.copy(), "motor_position": robot.theta.copy()})
        )
        costs.append(time.perf_counter() - begun)
        stops += [f"{t:.3f} s: {event}" for event in command.events if not event.is_over]
        if command.torque is None or not command.mode.is_following:
            count = k
            break
        desired[k], q[k], theta[k] = command.desired, robot.q, robot.theta
        torque[k] = command.torque
        streamed = arm.motion.streamed
        delay[k] = 0.0 if streamed is None else streamed.delay
        robot.step(command.torque, PERIOD)
        if k % 1000 == 0:
            on_progress(k / count)
    times = PERIOD * np.arange(count) - BEFORE + first
    rows = (each[:count] for each in (desired, q, theta, torque, delay))
    return Replay(
        model.joint_names, times, *rows, limits, motors, tuple(stops), tuple(refused),
        float(np.median(costs)),
    )  # fmt: skip


def viewed(run: Replay, model: MultibodyModel, actuators: Actuators, name: str) -> ViewedMotion:
    """Links and motors as simulated, with Q, Q' and Q'' of the smoothed target."""
    every = round(1.0 / (PERIOD * RATE))
    state, q = run.desired[::every], run.q[::every]
    torque = np.stack(inverse_dynamics(model, *np.moveaxis(state, 1, 0)), axis=1)
    motor = run.theta[::every] @ actuators.link_of_motors
    t = run.times[::every]
    nothing = np.full_like(q, np.nan)
    return ViewedMotion(name, t - t[0], q, motor, torque, state[:, 0] - q, nothing)


def report(run: Replay, stream: RecordedStream, title: str) -> Page:
    """Delay, smoothness, limits and errors, with a figure of the joint that moved most."""
    p, page = run.limits, Page(title)
    peaks = np.abs(run.desired).max(axis=0)
    bounds = np.stack([
        np.maximum(np.abs(p.lower), np.abs(p.upper)), p.velocity, p.acceleration,
        streams.JERK_FACTOR * p.acceleration / p.smoothing,
        streams.JOUNCE_FACTOR * p.acceleration / p.smoothing**2,
    ])  # fmt: skip
    share = run.torque_rate / run.motors.torque_rate
    use = np.abs(run.torque).max(axis=0) / run.motors.torque
    page.text(
        f"{len(stream.messages)} messages, averaged over {p.smoothing:.3g} s. Delay of the points:"
        f" {1e3 * np.median(run.delay[len(run.delay) // 4 :]):.1f} ms (median),"
        f" {1e3 * run.delay.max():.1f} ms (largest). Links against the smoothed target:"
        f" {1e3 * run.error_rms:.3g} mrad (rms)."
        f" A control cycle takes {1e6 * run.cost:.0f} us."
    )
    page.problems(f"the arm was stopped: {text}" for text in run.stops)
    page.problems(f"refused: {text}" for text in run.refused)
    page.table(
        ("joint", "error rms [mrad]", "error peak [mrad]", *(f"{order}, share of its bound"
         for order in ORDERS[1:])),
        [
            (name, 1e3 * float(np.sqrt(np.mean(e**2))), 1e3 * float(np.abs(e).max()),
             *map(float, peaks[1:, j] / bounds[1:, j]))
            for j, name in enumerate(run.joint_names)
            for e in [run.desired[:, 0, j] - run.q[:, j]]
        ],
        "Errors of the links, and smoothness of the smoothed target.", 3,
    )  # fmt: skip
    page.table(
        ("motor", "torque, share of its limit", "torque rate [N m/s]", "share of its limit"),
        [
            (name, float(use[j]), float(run.torque_rate[j]), float(share[j]))
            for j, name in enumerate(run.motors.joint_names)
        ],
        "Torques that were sent.", 3,
    )  # fmt: skip
    page.figure(draw(run, stream), "targets, smoothed target, links, error and torque rate")
    return page


def draw(run: Replay, stream: RecordedStream) -> Any:
    """The joint that moved most: targets, smoothed target and link; below, error and jounce."""
    j = int(np.ptp(run.desired[:, 0], axis=0).argmax())
    figure, axes = new_figure(3, 1, (9.0, 7.0), sharex=True)
    for k, message in enumerate(stream.ordered(run.joint_names).messages):
        label = "targets" if k == 0 else None
        axes[0].plot(message.times, message.positions[:, j], ".-", color="0.75", ms=3, lw=0.5,
                     label=label)  # fmt: skip
    axes[0].plot(run.times, run.desired[:, 0, j], lw=1.2, label="smoothed target")
    axes[0].plot(run.times, run.q[:, j], lw=0.8, label="link")
    axes[0].set_ylabel(f"{run.joint_names[j]}  [rad]")
    axes[0].legend(fontsize=8)
    axes[1].plot(run.times, 1e3 * (run.desired[:, 0, j] - run.q[:, j]), lw=0.8)
    axes[1].set_ylabel("error  [mrad]")
    axes[2].plot(run.times, run.desired[:, 4, j], lw=0.8)
    axes[2].set_ylabel("q''''  [rad/s^4]")
    axes[2].set_xlabel("time  [s]")
    return figure


def write_report(run: Replay, stream: RecordedStream, title: str, folder: Path) -> Path:
    """Write report.html; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    return report(run, stream, title).write_html(folder / "report.html")
