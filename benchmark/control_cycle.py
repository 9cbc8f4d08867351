# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A whole cycle of an arm with springs: from positions of links and motors to the torque.

`Arm.update` estimates the state, evaluates the desired motion, Q, Q' and Q'', the springs and the
law, and supervises the arm: all that a node does between two messages. The same cycle as generated
C is called from Python, too.
"""

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import harness
import numpy as np
import pinocchio as pin
from harness import Group

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import (
    Arm,
    ArmSettings,
    FlatnessSettings,
    Sample,
    TrajectoryRequest,
)
from multibody_dynamics.simulation.compiled_controller import CompiledController
from multibody_dynamics.tools.robot.c_package import write
from multibody_dynamics.tools.robot.controller_package import controller_package
from multibody_dynamics.tools.robot.generated_design import ControllerOptions, design_controller
from multibody_dynamics.tools.study.conditions import CONDITIONS
from multibody_dynamics.tools.study.drive_terms import with_drive_terms
from multibody_dynamics.tools.study.studied_robots import built_in_robots, load_arm

Model, Springs, Rest = dyn.MultibodyModel, dyn.Actuators, dyn.elastic.MotorMotion
SPRINGS = harness.ROBOT.parents[1] / "elastic_joints" / "panda.yaml"
START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.5])  # rad
PERIOD = 10**6  # ns
LAW = "motor_pd"
FLAT = "the two feedforwards: Q, Q', Q'' and the motors'"


def python(
    model: dyn.MultibodyModel, springs: dyn.Actuators, law: str, rest: dyn.elastic.MotorMotion
):
    """A cycle of `Arm` along a motion so slow that the arm stays where its encoders say it is."""
    arm, times = (
        Arm(model, springs, FlatnessSettings(law=law), ArmSettings()),
        itertools.count(PERIOD, PERIOD),
    )
    arm.design(START)
    signals = {"link_position": START, "motor_position": rest.position}

    def cycle():
        return arm.update(Sample(next(times), signals))

    for _ in range(100):
        cycle()
    arm.activate()
    for _ in range(2000):
        cycle()
    goal = (START + 1e-9)[None]
    arm.motion.follow(TrajectoryRequest(None, np.array([1e5]), goal, None, None), START,
                      tolerance=0.1, lead=0.01)  # fmt: skip
    for _ in range(100):
        command = cycle()
    if not command.mode.is_following:
        raise SystemExit(f"{law}: the arm is {command.mode.name}; not timed")
    harness.require(law, command.torque, rest.torque, 1e-6)
    return cycle


def c(model: Model, springs: Springs, rest: Rest) -> harness.Block:
    """The generated cycle, compiled here."""
    design = design_controller(model, springs, ControllerOptions(law=LAW, position=START))
    with TemporaryDirectory() as folder:
        write(controller_package(design, "panda"), Path(folder))
        controller = CompiledController(folder)
    times = itertools.count(1)

    def cycle():
        controller.update(1e-3 * next(times), START, rest.position)

    for _ in range(100):
        cycle()
    controller.activate(rest.torque)
    for _ in range(2000):
        cycle()
    harness.require("C", controller.torque, rest.torque, 1e-6)
    return cycle


def feedforward(model: Model, springs: Springs, weight: np.ndarray) -> harness.Block:
    """What any law with a feedforward needs at least, without its checks."""
    solver = dyn.InverseDynamicsSolver(model, "body")
    solver.state[:] = 0.0
    solver.state[0] = START
    motors = dyn.elastic.MotorFeedforward(springs, solver.state, solver.result)

    def cycle():
        solver.update()
        motors.update()

    cycle()
    harness.require("Q", solver.result[0], weight)
    return cycle


def with_terms(springs: Springs) -> Iterator[tuple[str, Springs]]:
    """The arm of the study with each term of real drives, in all joints, that a node may know."""
    sheet = load_arm(built_in_robots()["panda"])
    yield "motors along a motion", springs
    for key in ("link-friction", "hysteresis", "backlash", "gear-error", "drives"):
        condition = CONDITIONS[key]
        known = with_drive_terms(springs, sheet.effects(condition.effects))
        yield f"... with {condition.title}", known
        if key == "link-friction":
            bristles = [
                replace(each, link_friction=replace(each.link_friction, presliding=3e-4))
                for each in known.actuators
            ]
            yield (
                f"... with {condition.title} and presliding",
                replace(known, actuators=tuple(bristles)),
            )


def terms(name: str, springs: Springs, motion: list[tuple[np.ndarray, np.ndarray]]) -> harness.Row:
    """The motors along a whole motion, whose first state is at rest."""
    motors, states = dyn.elastic.MotorFeedforward(springs), itertools.cycle(motion)

    def step():
        motors.state[:], motors.torque[:] = next(states)
        motors.update()
        motors.advance(1e-9 * PERIOD)

    step()
    wanted = dyn.elastic.motor_motion(springs, *motion[0])
    harness.require(name, motors.command.torque, wanted.torque)
    return harness.Row(name, harness.loop(step, len(motion)), len(motion))


def motion_of(model: Model) -> list[tuple[np.ndarray, np.ndarray]]:
    """State and torques of a rest and of a period of 1 s of sines, every ms."""
    t, w = 1e-9 * PERIOD * np.arange(1001), 2.0 * np.pi
    phase = w * t[:, None] + np.arange(model.n)
    states = np.array([0.2 * w**k * np.sin(phase + k * np.pi / 2) for k in range(5)])
    states[0] += START
    states[:, 0], states[0, 0] = 0.0, START
    torques = dyn.inverse_dynamics(model, *states)
    return [*zip(states.swapaxes(0, 1), np.stack(torques, axis=1), strict=True)]


def groups(options: argparse.Namespace) -> list[Group]:
    model, robot = harness.robots(harness.ROBOT)
    springs = dyn.load_actuators(SPRINGS, model.joint_names)
    weight = pin.computeGeneralizedGravity(robot, robot.createData(), START)
    state, torque = np.zeros((5, model.n)), np.zeros((3, model.n))
    state[0], torque[0] = START, weight
    deflection = springs.settled_deflection(torque)
    rest = dyn.elastic.motor_motion(springs, state, torque, deflection=deflection)
    calls = {
        FLAT: feedforward(model, springs, weight),
        **{f"`Arm.update`, {law}": python(model, springs, law, rest)
           for law in (LAW, "hold")},
    }  # fmt: skip
    if which("cc"):
        calls[f"generated C, {LAW}, called from Python"] = c(model, springs, rest)
    rows = [harness.called(name, cycle, options) for name, cycle in calls.items()]
    title = f"a cycle of {model.name} with springs, {model.n} joints"
    motion = motion_of(model)
    rows += [terms(name, own, motion) for name, own in with_terms(springs)]
    return [Group("control_cycle", title, rows, FLAT, "cycle")]
