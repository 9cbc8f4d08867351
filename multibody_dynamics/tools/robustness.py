"""Robustness of the control laws for elastic joints, as tables of their tracking errors.

    python -m multibody_dynamics.tools.robustness [--plant mujoco]

The controller of flatness_controller_node runs cycle by cycle against a plant, in one process and
without messages, with the Panda, the springs and the motion of config/controllers_demo.yaml. The
tables in docs/elastic_joints.md are the output of this program.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.control import FlatnessLaw
from ..dynamics.core import DynamicsError
from ..dynamics.elastic import Actuators, LinearSpring, SeriesElastic, load_actuators
from ..dynamics.model import MultibodyModel
from ..dynamics.motion import Reference, hold, splice
from ..dynamics.plant import DelayLine, ElasticRobot, Encoder, Plant
from ..dynamics.rigid import forward_kinematics
from ..nodes.following.flatness_controller_parameters import FlatnessControllerParameters
from ..resources import share_directory
from ..simulation.mujoco_robot import MujocoRobot
from .base.models import load_quietly
from .base.recording import CONTROLLER, TRAJECTORY, read_parameters

PLANTS = ("internal", "mujoco")
SETTLING = 0.3  # s at rest before the motion, while the law takes over
AFTER = 0.3  # s after the motion, included in the errors
LOST = 0.2  # rad, error at which the node stops the arm
HIT_TIME = 0.02  # s


class Law(NamedTuple):
    """A column: a control law of the node and its parameters."""

    title: str
    name: str
    parameters: Mapping[str, Any] = MappingProxyType({})


ALONE = {"disturbance_bandwidth": 0.0}
CLASSIC = {"motor_bandwidth": (40.0,), "variant": "quasi_static", **ALONE}
STATES = {"feedback_bandwidth": (40.0,)}
LAWS = (
    Law("computed torque, 40 rad/s", "computed_torque"),
    Law("motor PD, 40, quasi-static", "motor_pd", CLASSIC),
    Law("linearisation, 80", "feedback_linearization", {"linearization_bandwidth": (80.0,)}),
    Law("state feedback, 40", "state_feedback", STATES | ALONE),
    Law("motor PD, 60", "motor_pd", ALONE),
    Law("state feedback, 40, compensated", "state_feedback", STATES),
    Law("motor PD, 60, compensated", "motor_pd"),
)


@dataclass(frozen=True)
class Case:
    """A row: how the plant differs from the controller's model, and the controller's parameters.

    error : relative error of each parameter of the controller's model, with random signs
    draws : number of runs, each with different random signs
    encoder : rad, resolution of the motor encoders; the link encoders are three times as fine, and
        the noise of each is a third of its resolution
    delay : s between a torque command and its effect
    rate : Hz
    payload : kg, added at the flange after 0.4 s
    hit : N, force on the last link after 0.7 s
    on_mujoco : whether the row is repeated on MuJoCo, which takes longer
    """

    title: str
    error: float = 0.0
    draws: int = 1
    encoder: float = 0.0
    delay: float = 0.0
    rate: float = 1000.0
    payload: float = 0.0
    hit: float = 0.0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    on_mujoco: bool = False


ENCODER = 1.5e-5  # rad: 12 bits on the motor side of a 100:1 gear
OBSERVER = {"observer_gain": 20.0, "observer_feedback": True}
MOTORS_ONLY = {"state_source": "motor_encoders", "observer_bandwidth": 30.0}
CASES = (
    Case("exact model, 1 kHz", on_mujoco=True),
    Case("parameters 10 % off", error=0.1, draws=8, on_mujoco=True),
    Case("parameters 30 % off", error=0.3, draws=8),
    Case("encoders with steps and noise", encoder=ENCODER),
    Case("motor encoders only, exact model", encoder=ENCODER, parameters=MOTORS_ONLY),
    Case("motor encoders only, parameters 10 % off", error=0.1, draws=8, encoder=ENCODER,
         parameters=MOTORS_ONLY),
    Case("delay of 1 ms, not known", delay=1e-3),
    Case("delay of 1 ms, known", delay=1e-3, parameters={"command_delay": 1e-3}),
    Case("delay of 3 ms, not known", delay=3e-3),
    Case("500 Hz", rate=500.0),
    Case("payload of 2 kg appears", payload=2.0, on_mujoco=True),
    Case("payload of 2 kg appears, with observer", payload=2.0, parameters=OBSERVER),
    Case("hit of 100 N for 20 ms", hit=100.0, on_mujoco=True),
)  # fmt: skip


def cases_on(plant: str) -> tuple[Case, ...]:
    """The rows of the table of a plant, one of PLANTS."""
    return tuple(case for case in CASES if plant == "internal" or case.on_mujoco)


class Errors(NamedTuple):
    """Tracking errors of the links, rad: rms and peak, and the mean step of the motor torques from
    cycle to cycle, N m; infinite if the arm was stopped."""

    rms: float
    peak: float
    step: float


STOPPED = Errors(np.inf, np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class Arm:
    """The true robot, and the motion to follow from t = 0."""

    file: Path
    model: MultibodyModel
    actuators: Actuators
    motion: Reference

    def plant(self, name: str) -> Plant:
        """A new plant; `name` is one of PLANTS."""
        if name == "mujoco":
            return MujocoRobot(self.model, self.actuators, self.file.read_bytes())
        return ElasticRobot(self.model, self.actuators)


def demo_arm() -> Arm:
    """The arm and the motion of the demo."""
    share = share_directory()
    parameters = read_parameters(share / "config" / "controllers_demo.yaml")
    files, p = parameters[CONTROLLER], parameters[TRAJECTORY]
    model = load_quietly(share / files["robot_file"])
    springs = load_actuators(share / files["elastic_joints_file"], model.joint_names)
    points = np.reshape(p["waypoints"], (-1, model.n))
    times = p["shortest_approach"] + np.linspace(0.0, p["duration"], len(points))
    motion = splice(hold(model.joint_names, points[0]), 0.0, times, points)
    return Arm(share / files["robot_file"], model, springs, motion)


def mistaken(
    model: MultibodyModel, actuators: Actuators, share: float, rng: np.random.Generator
) -> tuple[MultibodyModel, Actuators]:
    """The robot with each inertia, stiffness and friction off by +-`share`, with random signs."""

    def factor() -> float:
        return float(1.0 + share * rng.choice((-1.0, 1.0)))

    inertias = np.array([factor() * inertia for inertia in model.link_inertias])
    wrong = []
    for actuator in actuators.actuators:
        assert isinstance(actuator, SeriesElastic)
        assert isinstance(actuator.spring, LinearSpring)
        motor = actuator.motor
        motor = replace(
            motor,
            inertia=factor() * motor.inertia,
            viscous=factor() * motor.viscous,
            coulomb=factor() * motor.coulomb,
        )
        wrong.append(
            replace(actuator, motor=motor, spring=LinearSpring(factor() * actuator.spring.K))
        )
    return replace(model, link_inertias=inertias), replace(actuators, actuators=tuple(wrong))


def follow(arm: Arm, plant: Plant, law: Law, case: Case, draw: int = 0) -> Errors:
    """Simulate one run with the random signs and noise of a draw; return its errors."""
    rng = np.random.default_rng([draw, 1])
    model, actuators = arm.model, arm.actuators
    if case.error:
        model, actuators = mistaken(model, actuators, case.error, rng)
    p = FlatnessControllerParameters(law=law.name, **law.parameters, **case.parameters)
    controller = FlatnessLaw(model, actuators, p.settings())
    dt, motion = 1.0 / case.rate, arm.motion
    lead, ahead = controller.reference_lead, p.feedforward_lead * dt + p.command_delay

    plant.set_model(arm.model)
    plant.applied_wrenches[:] = 0.0
    plant.reset(motion(0.0)[0])
    controller.design(plant.q.copy())
    steps = ((plant.q, case.encoder / 3.0), (plant.theta, case.encoder))
    encoders = [
        Encoder(len(row), dt, resolution=step, noise=step / 3.0, seed=[draw, k])
        for k, (row, step) in enumerate(steps)
    ]
    line = DelayLine(case.delay, dt, plant.motor_torque.copy())
    errors, sent = [], []
    first = -round(SETTLING / dt)
    for k in range(first, round((motion.end_time + AFTER) / dt)):
        t = k * dt
        for encoder, row in zip(encoders, (plant.q, plant.theta), strict=True):
            (encoder.restart if k == first else encoder.update)(row, np.zeros_like(row))
        signals = {
            "link_position": encoders[0].position,
            "motor_position": encoders[1].position,
            "motor_torque": plant.motor_torque,
        }
        try:
            controller.measure(t + SETTLING, signals)
            if k == first:
                controller.transfer.torque[:] = controller.holding_torque()
                controller.start(law.name, 0.5 * SETTLING)
            motion.evaluate(t + lead, controller.desired)
            motion.evaluate(t + ahead, controller.ahead)
            if p.observer_feedback and controller.observer is not None:
                controller.external_torque[:] = controller.observer.residual
            controller.update(dt, ahead - lead)
            if case.payload and k == round(0.4 / dt):
                plant.set_model(arm.model.with_payload(arm.model.n - 1, case.payload, (0, 0, 0.1)))
            if case.hit:
                push(plant, case.hit if 0.7 <= t < 0.7 + HIT_TIME - 0.5 * dt else 0.0)
            for duration, torque in line.push(controller.transfer.torque.copy()):
                plant.step(torque, duration)
        except DynamicsError:
            return STOPPED
        if k >= 0:
            sent.append(controller.transfer.torque.copy())
            errors.append(motion(t + dt)[0] - plant.q)
            if not np.abs(errors[-1]).max() < LOST:
                return STOPPED
    error = np.array(errors)
    step = float(np.abs(np.diff(sent, axis=0)).mean())
    return Errors(float(np.sqrt((error**2).mean())), float(np.abs(error).max()), step)


def push(plant: Plant, force: float) -> None:
    """Apply a force (N) along y at the origin of the last link."""
    f = np.array([0.0, force, 0.0])
    at = forward_kinematics(plant.model, plant.q).pose[-1, :3, 3]
    plant.applied_wrenches[-1] = *np.cross(at, f), *f


def rows(arm: Arm, plant: Plant, case: Case, laws: Sequence[Law] = LAWS) -> list[list[str]]:
    """One row of the table, or two for several draws: median and worst."""
    found = {
        law.title: [follow(arm, plant, law, case, k) for k in range(case.draws)] for law in laws
    }
    if case.draws == 1:
        errors = [case.title, *(cell(*each[0][:2]) for each in found.values())]
        if not case.encoder:
            return [errors]
        steps = (f"{each[0].step:.2g} N m" for each in found.values())
        return [errors, [f"{case.title}: step of the torque", *steps]]
    kinds = {"median": np.median, "worst": np.max}
    return [
        [f"{case.title}: {kind} of {case.draws}"]
        + [cell(*(float(of(column)) for column in list(zip(*each, strict=True))[:2]))
           for each in found.values()]
        for kind, of in kinds.items()
    ]  # fmt: skip


def cell(rms: float, peak: float) -> str:
    """rms / peak in mrad."""
    if not np.isfinite(rms + peak):
        return "lost"
    return " / ".join(f"{x:.2g}" if x < 99.5 else f"{x:.0f}" for x in (1e3 * rms, 1e3 * peak))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plant", choices=PLANTS, action="append",
                        help="plant to simulate; may be repeated (both)")  # fmt: skip
    options = parser.parse_args(arguments)
    arm = demo_arm()
    for name in options.plant or PLANTS:
        try:
            plant = arm.plant(name)
        except DynamicsError as error:
            print(error, file=sys.stderr)
            return 2
        head = [name, *(law.title for law in LAWS)]
        print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        for case in cases_on(name):
            print(f"{name}: {case.title}", file=sys.stderr)
            for row in rows(arm, plant, case):
                print("| " + " | ".join(row) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
