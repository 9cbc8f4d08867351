# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motor efforts of joints whose motors the links do not determine, by the positions of the motors;
the recordings follow the flat map."""

import csv
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from bag_files import messages_of, write_bag
from kinds import EXAMPLES
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.validation.comparison import validate
from multibody_dynamics.validation.identify import identify
from multibody_dynamics.validation.settings import Robot, Settings
from multibody_dynamics.validation.state_stream import StateStream
from recorded_arm import ARM, MODEL, NAMES, RATE
from rejections import assert_rejected

COUNT = 3000
LATER = 0.0031  # s, of the motors' samples after those of the links
SETTINGS = Settings(ARM, effort="motor", cutoff=10.0)
NONE = dyn.identification.JointFriction.none(2)
SECOND = {"stiffness": (350.0, 60.0), "pretension": (60.0, 20.0)}  # middle and amplitude
KINDS = [
    name for name, each in EXAMPLES.items() if each.actuator.second_output is not None
]  # fmt: skip


def loaded(actuator):
    """The actuator with motors whose friction depends on their load."""
    return actuator.with_motors([replace(each, load_friction=0.05) for each in actuator.motors])


def arm(kind):
    """A series elastic shoulder and an elbow of this kind."""
    rows = (EXAMPLES["linear"].actuator, loaded(EXAMPLES[kind].actuator))
    return dyn.elastic.Actuators(NAMES, rows)


def wave(middle, amplitude, w, t):
    """A sine with its derivatives, (5, k)."""
    return np.stack(
        [middle * (k == 0) + amplitude * w**k * np.sin(w * t + k * np.pi / 2) for k in range(5)]
    )


class Moved(NamedTuple):
    """Links (5, k, 2) and the motion of the motors (k, m) at times (k,)."""

    t: np.ndarray
    links: np.ndarray
    motors: dyn.elastic.MotorMotion


def moved(actuators, t):
    links = np.stack([wave(0.2, 0.5, 2.1, t), wave(0.4, 0.4, 3.3, t)], axis=-1)
    torques = np.stack(dyn.inverse_dynamics(MODEL, *links), axis=1)
    middle, amplitude = SECOND[actuators.actuators[1].second_output]
    second = wave(middle, amplitude, 1.3, t)[:3].T[..., None]
    motors = dyn.elastic.motor_motion(actuators, links.swapaxes(0, 1), torques, second)
    return Moved(t, links, motors)


def recorded(path, actuators, wrong=()):
    """A bag of joint_states, and of motor_states at other times without the motors `wrong`."""
    t = np.arange(COUNT) / RATE
    states, later = moved(actuators, t), moved(actuators, t + LATER)
    links = np.full((COUNT, 3, 2), np.nan)
    links[:, :2] = states.links[:2].swapaxes(0, 1)
    kept = [j for j, name in enumerate(actuators.motor_names) if name not in wrong]
    names = [actuators.motor_names[j] for j in kept]
    motors = [later.motors.position, later.motors.velocity, later.motors.torque]
    rows = np.stack(motors, axis=1)[..., kept].copy()
    messages = messages_of(t, links, NAMES) + messages_of(later.t, rows, names, "/motor_states")
    messages += messages_of(t, links, NAMES, "/feedforward_node/torque")  # an output, not used
    return write_bag(path, sorted(messages, key=lambda message: message[1]))


@pytest.mark.parametrize("kind", KINDS)
def test_the_efforts_of_all_motors_of_a_joint_are_those_of_its_link(tmp_path, kind):
    """Stiffness and pretension vary. Without its rotors or its friction, the model is wrong."""
    actuators = arm(kind)
    bag = recorded(tmp_path / "bag", actuators)
    found = validate(bag, SETTINGS, robot=Robot(MODEL, NONE, actuators))
    assert found.joint_names == NAMES
    assert found.residuals[0].normalized.max() < 3e-3
    for change in ({"inertia": 1e-9}, {"viscous": 0.0}):
        motors = [replace(each, **change) for each in actuators.actuators[1].motors]
        other = (actuators.actuators[0], actuators.actuators[1].with_motors(motors))
        robot = Robot(MODEL, NONE, dyn.elastic.Actuators(NAMES, other))
        worse = validate(bag, SETTINGS, robot=robot).residuals[0].normalized
        assert worse[0] < 3e-3 < 0.01 < worse[1]


def test_a_table_with_motor_positions_is_read_like_a_bag(tmp_path):
    actuators = arm("antagonistic")
    states = moved(actuators, np.arange(COUNT) / RATE)
    columns = {"t": states.t}
    for signal, values, names in (
        ("q", states.links[0], NAMES),
        ("theta", states.motors.position, actuators.motor_names),
        ("tau", states.motors.torque, actuators.motor_names),
    ):
        columns |= {f"{signal} {name}": values[:, j] for j, name in enumerate(names)}
    table = tmp_path / "table.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(np.stack(list(columns.values()), axis=1).tolist())
    found = validate(table, SETTINGS, robot=Robot(MODEL, NONE, actuators))
    assert found.residuals[0].normalized.max() < 3e-3


def test_the_friction_of_the_motors_is_identified(tmp_path):
    """Motors of which nothing is known but their inertia."""
    actuators = arm("antagonistic")
    pair = actuators.actuators[1]
    smooth = [replace(each, viscous=0.0, coulomb=0.0, load_friction=0.0) for each in pair.motors]
    true = [replace(each, viscous=0.5, coulomb=0.0, load_friction=0.0) for each in pair.motors]
    bag = recorded(
        tmp_path / "bag",
        dyn.elastic.Actuators(NAMES, (actuators.actuators[0], pair.with_motors(true))),
    )
    known = dyn.elastic.Actuators(NAMES, (actuators.actuators[0], pair.with_motors(smooth)))
    robot, settings = Robot(MODEL, NONE, known), replace(SETTINGS, identify=("friction",))
    found = identify(validate(bag, settings, robot=robot), robot, settings)
    assert found.after.normalized.max() < 0.01 < found.before.normalized.max()
    for name in actuators.motor_names[1:]:
        assert found.estimates[f"motor {name}.viscous"].value == pytest.approx(0.5, rel=0.05)


def test_a_held_joint_needs_no_motors(tmp_path):
    actuators = arm("antagonistic")
    bag = recorded(tmp_path / "bag", actuators, wrong=("shoulder",))
    robot = Robot(MODEL, NONE, actuators)
    t = np.arange(COUNT) / RATE
    mean = float(np.mean(wave(0.2, 0.5, 2.1, t)[0]))
    found = validate(bag, replace(SETTINGS, held={"shoulder": mean}), robot=robot)
    assert found.joint_names == ("elbow",)
    other = recorded(tmp_path / "other", actuators, wrong=actuators.motor_names[1:])
    found = validate(other, replace(SETTINGS, held={"elbow": 0.4}), robot=robot)
    assert found.joint_names == ("shoulder",)
    assert_rejected(
        (lambda: validate(bag, SETTINGS, robot=robot), "/motor_states: shoulder"),
    )


def test_what_is_missing_is_named(tmp_path):
    actuators = arm("antagonistic")
    robot = Robot(MODEL, NONE, actuators)
    bag = recorded(tmp_path / "bag", actuators, wrong=("elbow_antagonist",))
    alone = replace(SETTINGS, topics=("/joint_states",))
    assert_rejected(
        (lambda: validate(bag, SETTINGS, robot=robot), "/motor_states: elbow_antagonist"),
        (lambda: validate(bag, alone, robot=robot), "elbow_antagonist are needed beside"),
        (lambda: validate(bag, SETTINGS, robot=Robot(MODEL, NONE)), "--elastic-joints"),
        (lambda: StateStream(robot, SETTINGS, velocity=True), "does not contain the positions"),
    )
