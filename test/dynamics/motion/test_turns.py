# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Continuous joints whose drivers report positions modulo one turn."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elastic_arms import Arm, series
from generated_controllers import PERIOD, designed, generated, library, needs_compiler
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.arm.desired_motion import TrajectoryRequest
from multibody_dynamics.dynamics.control.arm.valid_sides import Sample
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.motion.turns import (
    TURN,
    compiled_unwrap,
    in_nearest_turn,
    joint_turns,
)
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.dynamics.rigid import forward_kinematics
from multibody_dynamics.simulation.compiled_controller import CompiledController
from multibody_dynamics.tools.robot.sampled_arm import SampledArm
from robots import random_tree, two_link_planar

START = 1_000_000_000  # ns
REST = np.array([3.0, -0.4])  # 0.14 rad before the crossing


def turning_arm() -> Arm:
    """Two links; the first joint is continuous."""
    model = replace(two_link_planar(0.4, 0.3), joint_types=("continuous", "revolute"))
    return Arm(model, Actuators(model.joint_names, (series(4000.0), series(4000.0))), REST)


def test_no_cycle_compiles_the_unwrapping_of_positions():
    """A controller that compiles in its first cycles is late, and stops."""
    turns = joint_turns(turning_arm().model)
    signatures = list(compiled_unwrap.signatures)
    fixed = np.array([3.0, 0.0])
    fixed.flags.writeable = False
    for near, position in ((fixed, [-3.0, 0.1]), (fixed.copy(), fixed), (fixed[::-1], fixed)):
        in_nearest_turn(turns, near, position)
    assert compiled_unwrap.signatures == signatures


def wrapped(angle):
    """As a driver reports it, in -pi .. pi."""
    return np.remainder(np.asarray(angle) + np.pi, TURN) - np.pi


@pytest.mark.parametrize(
    ("kind", "factor", "turn"),
    [
        ("revolute", -2.0, TURN),
        ("revolute", 0.5, 0.0),  # half a turn away after a turn of the first joint
        ("prismatic", 2.0, 0.0),  # a lead screw
    ],
)
def test_a_joint_that_follows_repeats_or_there_is_no_turn(kind, factor, turn):
    tree = random_tree(2, 1, ("revolute",), branching=0.0)
    screws = tree.screws.copy()
    if kind == "prismatic":
        screws[1, :3] = 0.0
    tree = replace(tree, joint_types=("continuous", kind), screws=screws)
    model = tree.with_couplings({"joint2": ({"joint1": factor}, 0.3)})
    assert joint_turns(model).tolist() == [turn]
    poses = forward_kinematics(model, [[0.2], [0.2 + TURN]]).pose
    assert np.allclose(*poses, atol=1e-9) == (turn > 0.0)


@given(st.floats(-40.0, 40.0), st.integers(-6, 6), st.floats(-3.14, 3.14))
def test_the_nearest_turn(near, turns, apart):
    turn = np.array([TURN, 0.0])
    position = np.array([near + apart + TURN * turns, near + TURN * turns])
    found = in_nearest_turn(turn, np.full(2, near), position)
    assert found[0] == pytest.approx(near + apart, abs=1e-12)
    assert found[1] == position[1]  # not continuous
    assert (in_nearest_turn(turn, np.full(2, np.nan), position) == position).all()


def followed(arm: Arm, report) -> tuple[np.ndarray, np.ndarray, list]:
    """Positions of the links and torques while the arm turns by 9 rad, 3 rad at a time, with states
    as the driver reports them and goals as a planner sends them, both in the driver's angles."""
    plant = ElasticRobot(arm.model, arm.actuators)
    plant.reset(REST)
    cycle = control.Arm(arm.model, arm.actuators)
    cycle.design(REST)
    cycle.activate()
    places, torques, faults, goal = [], [], [], REST.copy()
    for k in range(3500):
        now = START + k * 1_000_000
        signals = {"link_position": report(plant.q), "motor_position": report(plant.theta)}
        command = cycle.update(Sample(now, signals))
        faults += [event for event in command.events if event.fault is not None]
        torque = np.zeros(2) if command.torque is None else command.torque
        plant.step(torque, 1e-3)
        if k % 1000 == 200 and k < 3000:
            goal = goal + np.array([3.0, 0.0])
            request = TrajectoryRequest(None, np.array([0.9]), report(goal)[None], None, None)
            cycle.motion.follow(request, command.estimated[0], tolerance=0.1, lead=0.01)
        places.append(plant.q.copy())
        torques.append(torque)
    return np.array(places), np.array(torques), faults


def test_an_arm_crosses_the_turn_as_if_nothing_were_there():
    arm = turning_arm()
    turn = joint_turns(arm.model)

    def by_driver(row):
        return np.where(turn > 0.0, wrapped(row), row)

    plain, torque, _ = followed(arm, np.copy)
    places, sent, faults = followed(arm, by_driver)
    assert not faults
    np.testing.assert_allclose(places, plain, atol=1e-9)
    np.testing.assert_allclose(sent, torque, atol=1e-6 * np.abs(torque).max())
    np.testing.assert_allclose(places[-1], REST + np.array([9.0, 0.0]), atol=1e-3)


@needs_compiler
def test_generated_c_crosses_it_too(tmp_path):
    """Bit for bit as its twin in Python."""
    arm = turning_arm()
    design = designed(arm)
    turn = joint_turns(arm.model)
    c = CompiledController(library(generated(design, tmp_path)))
    python, plant = SampledArm(design), ElasticRobot(arm.model, arm.actuators)
    plant.reset(REST)
    goal = np.zeros((5, 2))
    goal[0] = REST + np.array([6.5, 0.0])
    for k in range(2500):
        t = 1.0 + PERIOD * k
        q, theta = (np.where(turn > 0.0, wrapped(x), x) for x in (plant.q, plant.theta))
        c.update(t, q, theta)
        python.update(t, t, t, q, theta)
        np.testing.assert_array_equal(c.q, python.q)
        np.testing.assert_allclose(c.torque, python.torque, rtol=1e-12, atol=1e-9)
        if k == 200:
            c.activate()
            assert python.activate()
        if k == 400:
            for each in (c, python):
                assert each.append(t + 1.9, goal) in ("", 0)
        if k > 200:  # until then, brakes hold the arm
            plant.step(c.torque.copy(), PERIOD)
    np.testing.assert_allclose(plant.q, goal[0], atol=2e-3)
