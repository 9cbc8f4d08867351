# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Collision detection on simulated contacts: what is found, how fast, and the false alarms.

    python -m studies.collisions [--plant mujoco] [--minutes 30]

The Panda with the springs of the demo moves between random points under the default law of
flatness_controller_node, with 18-bit encoders, in one process and without messages. Every inertia,
stiffness and friction of the controller's model is wrong by 10 %, with random signs. The thresholds
are learned from one minute of such a motion; then the arm moves for a long time without contacts,
along other paths, and is finally hit at random links, points, times and in random directions. The
tables in docs/collisions.md are the output of this program.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control import (
    HIT,
    Arm,
    CollisionThresholds,
    DesiredMotion,
    DetectionSettings,
    LearnedThresholds,
    LowPass,
    RecordedMotion,
    learn_thresholds,
)
from multibody_dynamics.dynamics.core import Array, DynamicsError
from multibody_dynamics.dynamics.model import MultibodyModel, inertia
from multibody_dynamics.dynamics.motion import Reference, interpolate
from multibody_dynamics.dynamics.plant import Encoder
from multibody_dynamics.dynamics.rigid import forward_kinematics, jacobian
from multibody_dynamics.simulation import PLANTS
from multibody_dynamics.tools.study.model_errors import with_model_errors
from multibody_dynamics.tools.study.studied_robots import StudiedArm, built_in_robots, load_arm

PERIOD = 1e-3  # s
START = 1_000_000_000  # ns, stamp of the first cycle
SUBSTEPS = 4  # per cycle; a contact force is held for one of them
RESOLUTION = 2.0 * np.pi / 2**18  # rad, of all encoders; the noise is a third of it
MINUTE = 60.0  # s
PAUSE_SHARE = 0.3  # share of the points at which the arm pauses
BETWEEN = 1.0  # s, shortest time between two contacts
IN_TIME = 0.02  # s
GIVEN_UP = 0.2  # s, after which a hit counts as not found
PUSH_TIME = 2.0  # s, time in which a push rises
SLOWEST = 0.05  # m/s, of a point that runs into a wall
SETTLED = 25  # samples at the beginning that do not count
OFFSET = 0.1  # m, distance of a contact from the centre of mass of its link

Force = Callable[[float, Array, Array], Array]
"""Force (3,) in N at a time since the beginning, from position and velocity (3,) of the point."""


def random_motions(
    model: MultibodyModel, seed: int, *, reach: float = 0.6, speed: float = 0.6
) -> Iterator[Reference]:
    """An endless sequence of motions, with pauses, from the middle of the joint ranges. Each motion
    goes from rest at the last point to rest at a random one, directly or through another random
    point, within the share `reach` of the joint ranges and `speed` of the velocity limits."""
    rng, limits = np.random.default_rng([seed, 7]), model.limits
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * reach * (limits.upper - limits.lower)
    point = middle
    while True:
        if rng.random() < PAUSE_SHARE:
            yield interpolate(model.joint_names, [0.0, rng.uniform(0.2, 1.0)], [point, point])
        points = [point, *(middle + half * rng.uniform(-1.0, 1.0, (rng.integers(1, 3), model.n)))]
        unit = interpolate(model.joint_names, np.arange(float(len(points))), points)
        slower = unit.peak_values()[1] / (limits.velocity * speed * rng.uniform(0.2, 1.0))
        times = max(float(slower.max()), 0.3) * np.arange(len(points))
        motion = interpolate(model.joint_names, times, points)
        q = motion.sample(np.linspace(0.0, motion.end_time, 200))[:, 0]
        if ((q > limits.lower) & (q < limits.upper)).all():
            yield motion
            point = points[-1]


class Impact(NamedTuple):
    """A half-sine pulse. peak : N. duration : s."""

    peak: float
    duration: float = 0.015

    def __str__(self) -> str:
        impulse = 2.0 / np.pi * self.peak * self.duration
        return f"impact of {self.peak:g} N, {1e3 * self.duration:g} ms ({impulse:.2g} N s)"

    def force(self, direction: Array, point: Array, velocity: Array) -> Force:
        def at(t: float, position: Array, velocity: Array) -> Array:
            shape = np.sin(np.pi * t / self.duration) if t < self.duration else 0.0
            return np.asarray(self.peak * shape * direction)

        return at


class Wall(NamedTuple):
    """A wall that the link runs into. stiffness : N/m; damping : s/m, Hunt and Crossley."""

    stiffness: float
    damping: float = 0.5

    def __str__(self) -> str:
        return f"wall of {1e-3 * self.stiffness:g} kN/m"

    def force(self, direction: Array, point: Array, velocity: Array) -> Force:
        normal = -velocity / np.linalg.norm(velocity)

        def at(t: float, position: Array, velocity: Array) -> Array:
            depth = float(normal @ (point - position))
            pressed = 1.0 - self.damping * float(normal @ velocity)
            return max(self.stiffness * depth * pressed, 0.0) * normal

        return at


class Push(NamedTuple):
    """A force that rises steadily. peak : N, after PUSH_TIME."""

    peak: float

    def __str__(self) -> str:
        return f"push that rises by {self.peak / PUSH_TIME:g} N/s"

    def force(self, direction: Array, point: Array, velocity: Array) -> Force:
        def at(t: float, position: Array, velocity: Array) -> Array:
            return np.asarray(min(t / PUSH_TIME, 1.0) * self.peak * direction)

        return at


Contact = Impact | Wall | Push
CONTACTS: tuple[Contact, ...] = (
    Impact(20.0), Impact(50.0), Impact(100.0), Wall(2e3), Wall(2e4), Wall(1e5), Push(100.0)
)  # fmt: skip


class _Motions(DesiredMotion):
    """Random motions, one after the other."""

    def __init__(self, model: MultibodyModel, motions: Iterator[Reference]) -> None:
        super().__init__(model.joint_names, model.limits)
        self._motions, self._begin = motions, START
        self._present = next(motions)
        self.start: Array = self._present(0.0)[0]

    def evaluate(self, time: int, out: Array) -> None:
        if 1e-9 * (time - self._begin) >= self._present.end_time:
            self._present, self._begin = next(self._motions), time
        self.look_ahead(time, out)
        self.desired[:] = out

    def look_ahead(self, time: int, out: Array) -> None:
        self._present.evaluate(1e-9 * (time - self._begin), out)


class Found(NamedTuple):
    """One contact.

    time : s from the first force to the detection; inf if it was not found. force : N, the largest
        until the detection or, if it was not found, until the search ended. torque : N m, the
        largest joint torque that it caused until then.
    speed : m/s of the point when it was touched.
    needed : N, the force against the motion of the point whose torques equalled the threshold of
        `hit` at that time, see :meth:`Simulation.needed_force`.
    """

    time: float
    force: float
    torque: float
    speed: float
    needed: float


@dataclass(frozen=True)
class Sample:
    """A copy of what the robot measures in one cycle."""

    t: float
    q: Array
    theta: Array


class Simulation:
    """The arm under the controller with the wrong model, cycle by cycle.

    arm : the true robot. thresholds : None for no detection. error, draw : relative error of the
        model's parameters, and the random draw of its signs. seed : for motion and noise.
    """

    def __init__(
        self,
        arm: StudiedArm,
        plant: str,
        thresholds: CollisionThresholds | None,
        *,
        error: float,
        draw: int,
        seed: int,
        speed: float = 0.6,
    ) -> None:
        self.arm, self.model = arm, arm.model
        believed = arm.model, arm.actuators
        if error:
            believed = with_model_errors(*believed, error, np.random.default_rng([draw, 1]))
        self.believed = believed
        from multibody_dynamics.nodes.following.flatness_controller_parameters import (
            FlatnessControllerParameters,
        )

        p = replace(
            FlatnessControllerParameters(), collision_reaction="off", tracking_tolerance=0.0,
            transfer_time=0.15,
        )  # fmt: skip
        self.plant = arm.plant(plant)
        motion = _Motions(self.model, random_motions(self.model, seed, speed=speed))
        self.law = Arm(*believed, p.settings(thresholds), p.arm_settings(), motion=motion)
        self.plant.reset(motion.start)
        self.law.design(self.plant.q.copy())
        self.law.activate()
        rows = (self.plant.q, self.plant.theta)
        self._encoders = [
            Encoder(len(row), PERIOD, resolution=RESOLUTION, noise=RESOLUTION / 3.0,
                    seed=[draw, seed, k])
            for k, row in enumerate(rows)
        ]  # fmt: skip
        for encoder, row in zip(self._encoders, rows, strict=True):
            encoder.restart(row, np.zeros_like(row))
        self.cycle = 0

    def step(self, wrench: Callable[[float], tuple[int, Array]] | None = None) -> Sample:
        """One cycle; `wrench` gives the body and the wrench on it (6,) for each substep."""
        law, plant, k = self.law, self.plant, self.cycle
        for encoder, row in zip(self._encoders, (plant.q, plant.theta), strict=True):
            encoder.update(row, np.zeros_like(row))
        q, theta = (encoder.position for encoder in self._encoders)
        signals = {"link_position": q, "motor_position": theta}
        command = law.update(control.Sample(START + round(1e9 * PERIOD * k), signals))
        torque = command.torque
        if torque is None or not command.mode.is_following:
            raise DynamicsError("; ".join(map(str, command.events)))
        if wrench is None:
            plant.step(torque, PERIOD)
        else:
            for i in range(SUBSTEPS):
                body, load = wrench(i * PERIOD / SUBSTEPS)
                plant.applied_wrenches[body] = load
                plant.step(torque, PERIOD / SUBSTEPS)
            plant.applied_wrenches[:] = 0.0
        self.cycle += 1
        return Sample(k * PERIOD, q.copy(), theta.copy())

    def run(self, seconds: float) -> Iterator[Sample]:
        """Cycles without contact."""
        for _ in range(round(seconds / PERIOD)):
            yield self.step()

    def record(self, seconds: float) -> RecordedMotion:
        """A recording of what is measured."""
        samples = list(self.run(seconds))
        t = np.array([sample.t for sample in samples])
        q, theta = (np.array([getattr(each, name) for each in samples]) for name in ("q", "theta"))
        return RecordedMotion(t, q, theta)

    def touch(self, contact: Contact, rng: np.random.Generator) -> Found:
        """Let a contact act on a random point: a wall as soon as the point moves, others now."""
        body = int(rng.integers(1, self.model.n))
        com = inertia.decompose(self.model.inertias[body])[1]
        local = com + OFFSET * _direction(rng)
        direction = _direction(rng)
        position, velocity = self._point(body, local)
        while isinstance(contact, Wall) and not np.linalg.norm(velocity) > SLOWEST:
            self.step()
            position, velocity = self._point(body, local)
        force = contact.force(direction, position, velocity)
        speed, needed = float(np.linalg.norm(velocity)), self._needed(body, position, velocity)
        detector, begin = self.law.measured.detector, self.cycle
        assert detector is not None
        torque = largest = 0.0

        def wrench(later: float) -> tuple[int, Array]:
            nonlocal torque, largest
            position, velocity = self._point(body, local)
            f = force((self.cycle - begin) * PERIOD + later, position, velocity)
            load = np.concatenate((np.cross(position, f), f))
            J = jacobian(self.model, self.plant.q, body, representation="spatial")
            torque = max(torque, float(np.abs(J.T @ load).max()))
            largest = max(largest, float(np.linalg.norm(f)))
            return body, load

        patience = PUSH_TIME if isinstance(contact, Push) else GIVEN_UP
        time = np.inf
        for k in range(round(patience / PERIOD)):
            self.step(wrench)
            if detector.is_contact:
                time = k * PERIOD  # this sample was taken k cycles after the first force
                break
        return Found(time, largest, torque, speed, needed)

    def _point(self, body: int, local: Array) -> tuple[Array, Array]:
        """Position and velocity (3,) of a point of a body."""
        motion = forward_kinematics(self.model, self.plant.q, self.plant.qd)
        pose = motion.pose[body]
        assert motion.twist is not None
        position = pose[:3, :3] @ local + pose[:3, 3]
        omega, v = motion.twist[body, :3], motion.twist[body, 3:]
        return position, v + np.cross(omega, position)

    def needed_force(self, rng: np.random.Generator) -> float:
        """N: the force against the motion of a random point, at this instant, whose joint torques
        equal the threshold of `hit` at one joint and are below it at the others; inf if the point
        does not move. Divided by :func:`ramp_response` at some time, it is the rate of the force in
        N/s (stiffness of a wall times speed of the point) at which the wall is found by then."""
        body = int(rng.integers(1, self.model.n))
        com = inertia.decompose(self.model.inertias[body])[1]
        return self._needed(body, *self._point(body, com + OFFSET * _direction(rng)))

    def _needed(self, body: int, position: Array, velocity: Array) -> float:
        speed = np.linalg.norm(velocity)
        if not speed > SLOWEST:
            return np.inf
        J = jacobian(self.model, self.plant.q, body, representation="spatial")
        load = np.concatenate((np.cross(position, velocity), velocity)) / speed
        detector = self.law.measured.detector
        assert detector is not None
        with np.errstate(divide="ignore"):
            return float((detector.threshold[HIT] / np.abs(J.T @ load)).min())


def _direction(rng: np.random.Generator) -> Array:
    vector = rng.standard_normal(3)
    return np.asarray(vector / np.linalg.norm(vector))


class Alarms(NamedTuple):
    """Motion without contact: duration in s, false alarms, and the largest ratio to a threshold."""

    duration: float
    alarms: int
    largest: float

    def __str__(self) -> str:
        return (
            f"{self.duration / 60.0:.3g} min without contact: {self.alarms} false alarms, largest"
            f" residual {self.largest:.2f} of its threshold"
        )


@dataclass(frozen=True)
class Study:
    """The conditions of the study; thresholds are learned from a separate motion."""

    plant: str
    error: float = 0.1
    draw: int = 0
    arm: StudiedArm | None = None

    def simulation(
        self, thresholds: CollisionThresholds | None, seed: int, speed: float = 0.6
    ) -> Simulation:
        """A new run along another path."""
        arm = self.arm or load_arm(built_in_robots()["panda"])
        return Simulation(
            arm, self.plant, thresholds, error=self.error, draw=self.draw, seed=seed, speed=speed
        )

    def learn(
        self, seconds: float = MINUTE, settings: DetectionSettings | None = None
    ) -> LearnedThresholds:
        """Thresholds for the wrong model, from a motion without contacts."""
        run = self.simulation(None, seed=1)
        return learn_thresholds(*run.believed, run.record(seconds), settings)

    def quiet(
        self,
        thresholds: CollisionThresholds,
        seconds: float,
        speed: float = 0.6,
        progress: Callable[[Alarms], None] | None = None,
    ) -> Alarms:
        """A long motion without contacts; `progress` is called every minute."""
        run = self.simulation(thresholds, seed=2, speed=speed)
        detector, alarms, largest, before = run.law.measured.detector, 0, 0.0, False
        assert detector is not None
        for k, _ in enumerate(run.run(seconds)):
            if progress is not None and k % 60_000 == 59_999:
                progress(Alarms((k + 1) * PERIOD, alarms, largest))
            largest = max(largest, float(detector.share.max()))
            alarms += detector.is_contact and not before
            before = detector.is_contact
        return Alarms(seconds, alarms, largest)

    def needed_forces(
        self, thresholds: CollisionThresholds, seconds: float, seed: int = 4
    ) -> Array:
        """(k,) N of random points of the moving arm, see :meth:`Simulation.needed_force`."""
        run, rng = self.simulation(thresholds, seed), np.random.default_rng([seed, self.draw])
        found = [run.needed_force(rng) for k, _ in enumerate(run.run(seconds)) if k % 20 == 19]
        rates = np.array(found[SETTLED:])
        return np.asarray(rates[np.isfinite(rates)])

    def hits(
        self, thresholds: CollisionThresholds, contact: Contact, count: int, seed: int = 3
    ) -> list[Found]:
        """Contacts of one kind, at random times of a motion."""
        run, found = self.simulation(thresholds, seed), []
        rng = np.random.default_rng([seed, self.draw])
        detector = run.law.measured.detector
        assert detector is not None
        for _ in range(count):
            wait = BETWEEN + rng.exponential(0.5)
            for _ in run.run(wait):
                pass
            while detector.is_contact:
                run.step()
            found.append(run.touch(contact, rng))
        return found


def ramp_response(settings: DetectionSettings, times: Array) -> Array:
    """(k,) s: the residual `hit` at these times (k,) after the beginning of a torque that rises by
    1 N m/s, as that of a wall does at first."""
    step = 1e-4
    smooth, slow, t = LowPass(1, settings.bandwidth), 0.0, 0.0
    count = round(float(np.max(times)) / step)
    values = np.zeros(count + 1)
    for k in range(1, count + 1):
        t += step
        value = float(smooth.update(step, np.full(1, t - 0.5 * step))[0])
        slow -= np.expm1(-settings.high_pass * step) * (value - slow)
        values[k] = value - slow
    return np.asarray(np.interp(times, step * np.arange(count + 1), values))


FRONT_STIFFNESSES = (2e3, 5e3, 1e4, 2e4, 5e4, 1e5)  # N/m
FRONT_SPEEDS = (0.1, 0.2, 0.4, 0.8)  # m/s
LONGEST = 0.2  # s
SOFT = Wall(2e3)
GROUPS = 4  # of contacts with soft walls


def front_rows(needed: Array, settings: DetectionSettings) -> Iterator[str]:
    """The table of times until a wall is found, from :meth:`Study.needed_forces`."""
    yield "| wall | " + " | ".join(f"{v:g} m/s" for v in FRONT_SPEEDS) + " |"
    yield "|" + "---|" * (1 + len(FRONT_SPEEDS))
    times = np.linspace(0.0, LONGEST, 401)
    response = np.maximum.accumulate(ramp_response(settings, times))
    for stiffness in FRONT_STIFFNESSES:
        cells = [f"{1e-3 * stiffness:g} kN/m"]
        for speed in FRONT_SPEEDS:
            ratio = needed / (stiffness * speed)
            found = np.where(ratio < response[-1], np.interp(ratio, response, times), np.inf)
            share = (found <= IN_TIME).mean()
            median = float(np.median(found))
            text = f"{1e3 * median:.0f}" if np.isfinite(median) else "-"
            cells.append(f"{text} ({100.0 * share:.0f} %)")
        yield "| " + " | ".join(cells) + " |"


def compared_rows(wall: Wall, found: Sequence[Found], settings: DetectionSettings) -> Iterator[str]:
    """A table of contacts with a wall in groups of equal size, by the time that
    :func:`ramp_response` gives from the force at the threshold: computed against simulated."""
    heads = ("computed time, median", "within 20 ms", "simulated, median", "within 20 ms")
    yield f"| {wall}, contacts | " + " | ".join(heads) + " |"
    yield "|" + "---|" * 5
    times = np.linspace(0.0, LONGEST, 401)
    response = np.maximum.accumulate(ramp_response(settings, times))
    ratio = np.array([each.needed / (wall.stiffness * each.speed) for each in found])
    computed = np.where(ratio < response[-1], np.interp(ratio, response, times), np.inf)
    simulated = np.array([each.time for each in found])
    for group in np.array_split(np.argsort(computed, kind="stable"), GROUPS):
        cells = [str(len(group))]
        for column in (computed[group], simulated[group]):
            middle = float(np.sort(column)[(len(column) - 1) // 2])
            cells.append(f"{1e3 * middle:.0f} ms" if np.isfinite(middle) else "not found")
            cells.append(f"{(column <= IN_TIME).sum()}")
        yield "| " + " | ".join(cells) + " |"


def row(contact: Contact, found: Sequence[Found]) -> str:
    """A row of the table of contacts."""
    times = np.array([each.time for each in found])
    here, in_time = np.isfinite(times), times <= IN_TIME
    missed = max((each.torque for each in found if each.time > IN_TIME), default=0.0)
    cells = [str(contact), f"{in_time.sum()} of {len(found)}", f"{here.sum()}", "", "", ""]
    if here.any():
        forces = [each.force for each in found if each.time < np.inf]
        cells[3] = f"{1e3 * np.median(times[here]):.0f} / {1e3 * times[here].max():.0f}"
        cells[4] = f"{np.median(forces):.0f}"
    if missed:
        cells[5] = f"{missed:.2g}"
    return "| " + " | ".join(cells) + " |"


def _report(alarms: Alarms) -> None:
    print(alarms, file=sys.stderr, flush=True)


HEAD = (
    "contact", "found within 20 ms", "found", "time, median / longest [ms]",
    "force until found, median [N]", "largest torque of those not found within 20 ms [N m]",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plant", choices=PLANTS, default="internal", help="%(default)s")
    parser.add_argument("--minutes", type=float, default=2.0,
                        help="motion without contacts (%(default)s)")  # fmt: skip
    parser.add_argument("--hits", type=int, default=20,
                        help="contacts of every kind (%(default)s)")  # fmt: skip
    parser.add_argument("--front", type=float, default=0.0,
                        help="s of motion from which the times until walls are found are computed"
                        " (%(default)s)")  # fmt: skip
    parser.add_argument("--walls", type=int, default=0,
                        help=f"contacts with a {SOFT}, against computed times"
                        " (%(default)s)")  # fmt: skip
    parser.add_argument("--error", type=float, default=0.1,
                        help="of every parameter of the model (%(default)s)")  # fmt: skip
    parser.add_argument("--draw", type=int, default=0,
                        help="number of the random draw of its signs (%(default)s)")  # fmt: skip
    parser.add_argument("--quick", action="store_true",
                        help="seconds of motion and one contact of every kind")  # fmt: skip
    options = parser.parse_args(arguments)
    seconds = MINUTE
    if options.quick:
        seconds, options.minutes, options.hits = 6.0, 0.05, 1
    study = Study(options.plant, options.error, options.draw)
    try:
        learned = study.learn(seconds)
    except DynamicsError as error:
        print(error, file=sys.stderr)
        return 2
    np.set_printoptions(precision=3, suppress=True, linewidth=120)
    print(f"{options.plant}, model {options.error:.0%} off, draw {options.draw}")
    print(f"largest ratio of a residual to its threshold, held out\n{learned.held_out}")
    print(f"thresholds at rest [N m]\n{learned.at_rest}\nmedian\n{learned.median}")
    print(
        f"high\n{learned.high}\nsmallest step found within 20 ms\n{learned.smallest_hit}",
        flush=True,
    )
    print("\n| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
    for contact in CONTACTS if options.hits else ():
        print(row(contact, study.hits(learned.thresholds, contact, options.hits)), flush=True)
    if options.front:
        needed = study.needed_forces(learned.thresholds, options.front)
        quantiles = ", ".join(f"{x:.3g}" for x in np.quantile(needed, (0.1, 0.5, 0.9)))
        print(f"\n{len(needed)} points; N at the threshold, 10, 50 and 90 %: {quantiles}\n")
        print("\n".join(front_rows(needed, learned.thresholds.settings)), flush=True)
    if options.walls:
        found = study.hits(learned.thresholds, SOFT, options.walls)
        print("\n" + "\n".join(compared_rows(SOFT, found, learned.thresholds.settings)), flush=True)
    if options.minutes:
        print()
        print(study.quiet(learned.thresholds, 60.0 * options.minutes, progress=_report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
