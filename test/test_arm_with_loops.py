# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control cycle and the plant of robots with loops, with springs at their motors."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.arm.modes import NOT_FINITE
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.resources import share_directory

FILES = share_directory() / "config" / "mechanisms"
START, STEP = 10**9, 10**6  # ns
GOALS = {
    "five_bar": [2.2, 0.8],
    "delta": [0.4, 0.0, -0.25],
    "stewart": [0.02, -0.015, 0.03, 0.0, -0.02, 0.01],
}


def robot(name):
    file = FILES / f"{name}.yaml"
    model = dyn.mechanisms.close_loops(file, dyn.load_urdf(FILES / f"{name}.urdf"))
    return model, dyn.load_actuators(file, model.joint_names, model.joint_types)


def run(plant, arm, first, last):
    """The commands of the cycles of 1 ms from `first` to `last`."""
    commands = []
    for k in range(first, last):
        signals = {"link_position": plant.q.copy(), "motor_position": plant.theta.copy()}
        commands.append(arm.update(control.Sample(START + k * STEP, signals)))
        if commands[-1].torque is not None:
            plant.step(commands[-1].torque, 1e-3)
    return commands


@pytest.mark.parametrize("name", GOALS)
def test_a_robot_with_loops_follows_its_motion(name):
    model, actuators = robot(name)
    plant, arm = ElasticRobot(model, actuators), control.Arm(model, actuators)
    arm.design(plant.q)
    arm.activate()
    run(plant, arm, 0, 600)  # until the law has taken over from the torque at rest
    arm.motion.go(np.array(GOALS[name]), 0.8)
    commands = run(plant, arm, 600, 1600)
    assert all(command.mode.is_following for command in commands)
    assert np.abs([command.error[0] for command in commands]).max() < 5e-5
    np.testing.assert_allclose(plant.q, GOALS[name], atol=2e-5)


@pytest.mark.parametrize("name", [*GOALS, "ankle", "leg"])
def test_nodes_accept_the_default_law_of_every_mechanism(name):
    """The hip of the leg turns about the origin of its base, which needs an inertia of its own."""
    model, actuators = robot(name)
    arm = control.Arm(model, actuators)
    middle = control.middle_of_range(model)
    arm.design(middle)
    judgement = arm.laws.judge(arm.chosen, middle, model_error=0.1, delay=1e-3)
    assert judgement is not None
    assert not judgement.unstable_share, str(judgement)


def test_a_motion_under_constant_torques_balances_the_energy_of_the_plant():
    model, actuators = robot("five_bar")
    plant = ElasticRobot(model, actuators, step=1e-4)
    hold = plant.motor_torque.copy()
    plant.reset(model.home, np.array([0.6, -0.4]))
    before, theta = plant.energy(), plant.theta.copy()
    for _ in range(100):
        plant.step(hold, 1e-3)
    gained = sum(plant.energy()) - hold @ (plant.theta - theta)
    assert gained == pytest.approx(sum(before), abs=1e-8)
    assert abs(plant.energy().kinetic - before.kinetic) > 1e-3


def test_a_plant_that_is_pushed_to_where_its_loops_do_not_close_names_them():
    plant = ElasticRobot(*robot("five_bar"))

    def push():
        for _ in range(1000):
            plant.step([-30.0, 30.0], 1e-3)

    with pytest.raises(dyn.DynamicsError, match=r"the motion diverges .*; loop 'tip': "):
        push()


def test_a_feedforward_names_the_loop_that_it_cannot_close():
    model, actuators = robot("five_bar")
    law = control.FeedforwardLaw(model, actuators)
    law.hold(np.array([3.4, -0.3]))
    assert not law.is_finite()
    assert law.failure().startswith("loop 'tip': translation along ")
    law.hold(model.home)
    assert law.is_finite()


def test_a_motion_to_where_the_loops_do_not_close_is_a_fault():
    """No number of such a pose is sent, and the arm is held where it is."""
    model, actuators = robot("five_bar")
    cycle = control.ArmSettings(tracking_tolerance=0.0)
    plant, arm = ElasticRobot(model, actuators), control.Arm(model, actuators, cycle=cycle)
    arm.design(plant.q)
    arm.activate()
    run(plant, arm, 0, 50)
    before = plant.q.copy()
    arm.motion.hold(np.array([3.4, -0.3]), START + 50 * STEP)  # the arms do not meet there
    commands = run(plant, arm, 50, 80)
    faults = [event.fault.code for command in commands for event in command.events]
    assert NOT_FINITE in faults
    assert arm.supervisor.text.startswith("loop 'tip': translation along ")
    for command in commands:
        assert command.torque is None or np.isfinite(command.torque).all()
    assert np.abs(plant.q - before).max() < 1e-3
