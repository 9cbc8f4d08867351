# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Resonances, sag and use of the motors, compared with closed forms."""

import re

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, pretensioned_arm, variable_arm
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    Antagonistic,
    LinearSpring,
    Motor,
    PolynomialSpring,
    Rigid,
    SeriesElastic,
)
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.robot.spring_figures import lines, resonances, spring_figures
from robots import PANDA
from urdf_parts import joint, link, robot

MASS, LENGTH, K, ROTOR = 2.0, 0.5, 300.0, 0.4
PENDULUM = robot(
    "pendulum",
    link("stand"),
    joint("hinge", "revolute", "stand", "rod", axis="0 1 0", limit="-3 3 4 50"),
    link("rod", MASS, f"0 0 {LENGTH}"),
)
INERTIA = 0.1 + MASS * LENGTH**2
WEIGHT = MASS * 9.81 * LENGTH  # N m, with the rod horizontal


@pytest.fixture
def pendulum():
    return dyn.model.parse_urdf(PENDULUM)


def arm(**limits: float) -> Actuators:
    return Actuators(("hinge",), (SeriesElastic(Motor(ROTOR, **limits), LinearSpring(K)),))


def test_figures_of_a_pendulum(pendulum):
    found = spring_figures(pendulum, arm(torque_limit=40.0, speed_limit=8.0))
    np.testing.assert_allclose(found.stiffness, K)
    np.testing.assert_allclose(found.motor_frequency, np.sqrt(K / ROTOR))
    np.testing.assert_allclose(found.link_frequency, np.sqrt(K / INERTIA) / (2 * np.pi))
    assert 0.9 * WEIGHT / K < found.sag[0] <= WEIGHT / K * (1.0 + 1e-12)  # random postures
    # the motion of `inspect` moves at up to half of the joint's 4 rad/s; the motor adds Q'/K
    assert 0.5 * 4.0 / 8.0 * 0.9 < found.speed_used[0] < 0.5 * 4.0 / 8.0 * 1.5
    assert 0.5 * WEIGHT / 40.0 < found.torque_used[0] < 2.0 * WEIGHT / 40.0
    assert np.isnan(spring_figures(pendulum, arm()).torque_used).all()


@pytest.mark.parametrize("q", [0.0, np.pi / 2, np.pi])
def test_resonances_of_a_pendulum_with_free_and_held_motors(pendulum, q):
    """The gravity stiffness is -m g l cos(q) for a rod that stands upright at q = 0."""
    gravity = -WEIGHT * np.cos(q)
    free, held = resonances(pendulum, arm(), np.array([q]))
    np.testing.assert_allclose(held, np.sqrt((K + gravity) / INERTIA) / (2 * np.pi), rtol=1e-9)
    M, S = np.diag([INERTIA, ROTOR]), np.array([[K + gravity, -K], [-K, K]])
    squares = np.linalg.eigvals(np.linalg.solve(M, S)).real
    np.testing.assert_allclose(free, np.sqrt(squares.max()) / (2 * np.pi), rtol=1e-9)


def test_rigid_joints_have_no_resonance(pendulum, capsys):
    rigid = Actuators(("hinge",), (Rigid(Motor(ROTOR)),))
    found = spring_figures(pendulum, rigid)
    assert not len(found.free)
    assert found.sag == [0.0]
    assert "rigid" in lines(pendulum, rigid)[1]


def test_the_second_motor_of_a_joint_has_no_stiffness_of_its_own(pendulum):
    tendon = PolynomialSpring((20.0, 900.0), travel=(0.0, 0.6))
    actuators = Actuators(("hinge",), (Antagonistic(Motor(0.2), Motor(0.2), tendon, tendon),))
    rows = lines(pendulum, actuators)[1:3]
    assert rows[1].split()[:4] == [actuators.motor_names[1], "-", "-", "-"]
    assert "-" not in rows[0].split()[1:4]
    found = spring_figures(pendulum, actuators)
    assert (found.sag > 0.0).all()
    assert len(found.free) == 2


def test_springs_that_cannot_carry_the_arm_are_named(pendulum):
    weak = PolynomialSpring((20.0,), travel=(-0.1, 0.1))  # up to 2 N m
    (line,) = lines(pendulum, Actuators(("hinge",), (SeriesElastic(Motor(ROTOR), weak),)))
    assert line.startswith("WRONG: ")
    assert "hinge" in line


def test_inspect_prints_a_row_for_every_motor(capsys):
    words = ["inspect", str(PANDA), "--no-timing", "--elastic-joints"]
    springs = share_directory() / "config" / "elastic_joints" / "panda.yaml"
    assert cli.main([*words, str(springs)]) == 0
    printed = capsys.readouterr().out.split("Springs and motors")[1].splitlines()
    assert sum(line.startswith("panda_joint") for line in printed) == 7
    assert sum(line.startswith("resonances in the middle") for line in printed) == 2


@pytest.mark.parametrize("make", [antagonistic_arm, pretensioned_arm, variable_arm])
def test_what_a_joint_of_two_motors_is_set_to_is_said(make):
    """Its figures hold for this stiffness or pretension alone."""
    model, actuators, _ = make()
    said = [line for line in lines(model, actuators) if "in the middle of its range" in line]
    assert len(said) == len(actuators.variable_joints)
    for line, name in zip(said, actuators.variable_joints, strict=True):
        actuator = actuators.actuators[actuators.joint_names.index(name)]
        low, high = map(float, actuator.second_output_range(np.zeros(())))
        kind, value = re.match(rf"{name} has a (stiffness|pretension) of (\S+) N m", line).groups()
        assert kind == actuator.second_output
        assert float(value) == pytest.approx((low + high) / 2, rel=1e-3)
