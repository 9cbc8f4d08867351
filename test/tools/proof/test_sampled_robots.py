# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Drawn robots have the drawn parameters, and are possible robots."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from identified_arms import JOINTS, planar_arm, truth
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools.proof import predicted_control
from multibody_dynamics.tools.proof.known_robots import driven, load_known
from multibody_dynamics.tools.proof.sampled_robots import RobotDistribution
from multibody_dynamics.validation.settings import Robot
from robots import CONFIG

idn, elastic = dyn.identification, dyn.elastic


@cache
def distribution():
    return load_known(planar_arm().files).distribution


def base_values(model):
    return idn.base_parameters(model).values(idn.inertial_parameters(model))


def test_a_drawn_robot_has_the_drawn_parameters():
    known = distribution().known
    for row in known.draws(5, seed=1):
        robot = distribution().robot(row)
        values = dict(zip(known.names, row, strict=True))
        away = (base_values(robot.model) - row[: known.links]) / known.errors[: known.links]
        assert np.abs(away).max() < 0.02
        bodies = idn.inertial_parameters(robot.model).reshape(-1, 10)
        assert idn.is_physically_consistent(bodies).all()
        for joint, actuator in zip(JOINTS, robot.actuators.actuators, strict=True):
            assert values[f"{joint}.stiffness"] == actuator.spring.K
            for name in ("inertia", "viscous", "coulomb", "coulomb_velocity"):
                assert getattr(actuator.motor, name) == values[f"motor {joint}.{name}"]
            assert actuator.damping == 0.0  # the laws know the robot as undamped
            viscous = max(values[f"{joint}.viscous"], 0.0)
            assert actuator.link_friction.viscous == viscous


def test_the_mean_is_the_identified_robot_itself():
    known = distribution().known
    robot = distribution().robot(known.values)
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 20, 2))
    expected = dyn.inverse_dynamics(distribution().model, q, qd, qdd).tau
    found = dyn.inverse_dynamics(robot.model, q, qd, qdd).tau
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_torques_of_drawn_robots_scatter_as_the_covariance_says():
    """Var(Y beta) = Y cov Y^T, by the regressor and by 60 drawn models."""
    known, model = distribution().known, distribution().model
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, 4, 2))
    base = idn.base_parameters(model)
    Y = base.reduce(idn.inverse_dynamics_regressor(model, q, qd, qdd).Y).reshape(-1, base.rank)
    C = known.covariance[: known.links, : known.links]
    expected = np.sqrt(np.einsum("kp,pq,kq->k", Y, C, Y))
    robots = distribution().draws(60, seed=5)
    taus = np.array([dyn.inverse_dynamics(each.model, q, qd, qdd).tau.ravel() for each in robots])
    np.testing.assert_allclose(taus.std(axis=0), expected, rtol=0.4)


def test_the_truth_is_among_what_may_be():
    known = distribution().known
    errors = dict(zip(known.names, known.errors, strict=True))
    values = dict(zip(known.names, known.values, strict=True))
    for name, true in truth(planar_arm()).items():
        assert abs(values[name] - true) < 4.0 * errors[name], name


def test_every_law_of_springs_is_drawn():
    model, names = distribution().model, []
    motor = elastic.Motor(0.1)
    laws = [
        elastic.CubicSpring(300.0, 1e4),
        elastic.PolynomialSpring((300.0, 0.0, 2e3), travel=(-0.2, 0.2)),
        elastic.TableSpring((0.0, 0.1, 0.2), (0.0, 30.0, 70.0), symmetric=True),
    ]
    rows = {
        "shoulder.stiffness": 310.0, "shoulder.cubic_stiffness": 2e4,
        "elbow.c1": 290.0, "elbow.c2": 1.0, "elbow.c3": 1e3, "elbow.scale": 1.1,
    }  # fmt: skip
    names = tuple(rows)
    known = idn.IdentifiedCovariance(names, np.array([*rows.values()]), np.eye(6), 0)
    for first, second in ((laws[0], laws[1]), (laws[0], laws[2])):
        arm = dyn.Actuators(
            model.joint_names,
            (elastic.SeriesElastic(motor, first), elastic.SeriesElastic(motor, second)),
        )
        means = known.values.copy()
        means[-1] = 1.0
        drawn = RobotDistribution(model, arm, replace(known, values=means)).robot(known.values)
        a, b = (each.spring for each in drawn.actuators.actuators)
        assert (a.K, a.K3) == (310.0, 2e4)
        phi = 0.07
        if second is laws[1]:
            assert b.torque(phi) == pytest.approx(290.0 * phi + phi**2 + 1e3 * phi**3)
        else:
            assert b.torque(phi) == pytest.approx(1.1 * second.torque(phi))


def test_friction_of_links_is_drawn_once_with_the_terms_of_the_identified_robot():
    model = distribution().model
    friction = elastic.Friction(viscous=0.3, coulomb=0.5, coulomb_velocity=0.05, offset=-0.1)
    spring, motor = elastic.LinearSpring(300.0), elastic.Motor(0.1)
    arm = dyn.Actuators(
        model.joint_names,
        (
            elastic.SeriesElastic(motor, spring, link_friction=friction),
            elastic.SeriesElastic(motor, spring),
        ),
    )
    terms = {"viscous": 0.4, "coulomb": -0.2, "coulomb_velocity": 0.06, "offset": -0.3}
    rows = {f"{joint}.{name}": x for joint in model.joint_names for name, x in terms.items()}
    known = idn.IdentifiedCovariance(tuple(rows), np.array([*rows.values()]), np.eye(8), 0)
    drawn = RobotDistribution(model, arm, known).robot(known.values)
    shoulder, elbow = (each.link_friction for each in drawn.actuators.actuators)
    assert shoulder == elastic.Friction(0.4, 0.0, 0.06, offset=-0.3)
    assert (elbow.viscous, elbow.coulomb, elbow.offset) == (0.4, 0.0, 0.0)
    files = predicted_control.Proof(planar_arm().files)
    plant = predicted_control._plant(files, drawn)
    qd = np.array([0.5, -0.4])
    plant.reset(np.zeros(2))
    plant.qd[:] = plant.thetad[:] = qd
    lost = 0.4 * qd @ qd - 0.3 * qd[0]
    assert plant.dissipation() == pytest.approx(lost)


def test_a_rigid_robot_has_motors_made_of_rotors_and_friction():
    model = dyn.load_urdf(CONFIG / "robots" / "planar_two_link.urdf")
    friction = idn.JointFriction.smooth_coulomb([0.3, 0.2], [0.5, 0.4], [0.0, 0.0], 0.05)
    geared = model.with_reflected_inertia(np.array([0.1, 0.2]))
    bare, actuators = driven(Robot(geared, friction))
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 10, 2))
    expected = dyn.inverse_dynamics(geared, q, qd, qdd).tau + friction.torque(qd)
    found = dyn.inverse_dynamics(bare, q, qd, qdd).tau + actuators.motor_inertia * qdd
    found += actuators.friction(qd)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    _, smooth = driven(Robot(geared, idn.JointFriction.none(2)))
    assert not smooth.friction(qd).any()
    names = ("motor shoulder.inertia", "shoulder.viscous", "shoulder.coulomb")
    known = idn.IdentifiedCovariance(names, np.array([0.1, 0.3, 0.5]), np.eye(3), 0)
    drawn = RobotDistribution(bare, actuators, known).robot(np.array([0.15, 0.35, -1.0]))
    motor = drawn.actuators.actuators[0].motor
    assert (motor.inertia, motor.viscous, motor.coulomb) == (0.15, 0.35, 0.0)
    assert drawn.actuators.actuators[0].link_friction.is_zero  # it is counted once


def test_a_covariance_of_another_robot_is_refused():
    panda = dyn.load_urdf(CONFIG / "robots" / "panda.urdf")
    springs = dyn.load_actuators(CONFIG / "elastic_joints" / "panda.yaml", panda.joint_names)
    with pytest.raises(dyn.InputError, match="other base parameters than those of robot 'panda'"):
        RobotDistribution(panda, springs, distribution().known)
