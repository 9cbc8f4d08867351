# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The arm on MuJoCo against ElasticRobot: the same masses and motions by independent code."""

import dataclasses
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import urdf_parts
from balls_in_loops import closed, crank_rocker
from kinds import EXAMPLES
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.elastic import (
    Actuator,
    Antagonistic,
    Motor,
    Rigid,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
)
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.springs import CubicSpring, LinearSpring, PolynomialSpring
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.dynamics.plant.motor_drive import MotorDrive
from multibody_dynamics.dynamics.plant.plants import EndStops, Plant
from multibody_dynamics.resources import share_directory
from multibody_dynamics.simulation.mujoco_robot import Floor, MujocoRobot, import_mujoco
from rejections import assert_rejected
from robots import sprung_five_bar
from urdf_parts import joint, link

CONFIG = Path(__file__).resolve().parents[2] / "config"
PANDA = (CONFIG / "robots" / "panda.urdf").read_text()
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


MESH = '<collision><geometry><mesh filename="package://nowhere/link.stl"/></geometry></collision>'
_body = partial(link, inertia="0.04 0.06 0.05 0.002 -0.003 0.001", rpy="0.3 -0.2 0.5", more=MESH)
_joint = partial(joint, rpy="0.4 0.2 -0.7", limit="-1 1 6 400")

# Two branches, a prismatic joint, a massless moving link, fixed links with and without mass.
TREE = urdf_parts.robot(
    "tree",
    link("base"),
    _body("stand", 5.0),
    _joint("bolts", "fixed", "base", "stand", "0 0 0.1", "1 0 0"),
    _joint("waist", "continuous", "stand", "trunk", "0.02 0 0.3", "0.1 0.2 1"),
    _body("trunk", 4.0, "0.01 0.02 0.1"),
    _joint("left_yaw", "revolute", "trunk", "left_cross", "0.1 0.2 0.3", "0 0 1"),
    link("left_cross"),
    _joint("left_pitch", "revolute", "left_cross", "left_arm", "0 0 0", "0 1 0"),
    _body("left_arm", 2.0, "0.2 0 0.01"),
    _joint("grip", "fixed", "left_arm", "tool", "0.3 0.1 0", "1 0 0"),
    _body("tool", 0.7, "0 0.05 0"),
    _joint("right_rail", "prismatic", "trunk", "right_slide", "0.1 -0.2 0.3", "1 0.3 0"),
    _body("right_slide", 3.0, "0.1 0.1 0"),
)

# An arm with all kinds of joints.
KINDS = urdf_parts.robot(
    "kinds",
    link("base"),
    *(
        _joint(f"j{i}", "revolute", parent, f"l{i}", "0.25 0 0.05", axis)
        + _body(f"l{i}", 2.0 - 0.2 * i, "0.12 0.01 0")
        for i, (parent, axis) in enumerate(
            [("base", "0 0 1"), *((f"l{i}", "0 1 0.2") for i in range(5))]
        )
    ),
)
MOTOR = Motor(0.4, viscous=0.5, coulomb=0.3, coulomb_velocity=0.2, torque_limit=60.0)
HARDENING = PolynomialSpring((120.0, 150.0, 80.0), travel=(-0.1, 1.2))
ALL_KINDS: tuple[Actuator, ...] = (
    SeriesElastic(MOTOR, LinearSpring(800.0), damping=3.0),
    SeriesElastic(MOTOR, CubicSpring(300.0, 4000.0)),
    Antagonistic(MOTOR, MOTOR, HARDENING, HARDENING),
    VariableStiffness(MOTOR, (100.0, 500.0)),
    VariableStiffness(
        MOTOR, (100.0, 500.0), CubicSpring(1.0, 3.0), StiffnessDrive(Motor(0.05), 50.0, 100.0)
    ),
    Rigid(Motor(0.2, viscous=0.4)),
)


def panda() -> tuple[dyn.MultibodyModel, Actuators]:
    model = dyn.parse_urdf(PANDA)
    file = CONFIG / "elastic_joints" / "panda.yaml"
    return model, dyn.load_actuators(file, model.joint_names, model.joint_types)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_kind_moves_as_in_the_own_plant(name):
    urdf = (CONFIG / "robots" / "planar_two_link.urdf").read_text()
    model = dyn.parse_urdf(urdf)
    pair = EXAMPLES["linear"].actuator, EXAMPLES[name].actuator
    actuators = Actuators(model.joint_names, pair)
    robots = MujocoRobot(model, actuators, urdf), ElasticRobot(model, actuators)
    for robot in robots:
        robot.reset([0.3, -0.5], [1.0, -2.0])
        torque = robot.motor_torque + np.linspace(2.0, -1.0, len(robot.theta))
        for _ in range(100):
            robot.step(torque, 1e-3)
    found, own = robots
    np.testing.assert_allclose(found.q, own.q, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.theta, own.theta, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.joint_torque, own.joint_torque, rtol=0, atol=2e-3)


def with_friction(urdf: str) -> str:
    """Joint friction in the URDF, which must be ignored: it belongs to the actuators."""
    return urdf.replace("</joint>", '<dynamics damping="3" friction="2"/></joint>')


def rigid(model: dyn.MultibodyModel) -> Actuators:
    return Actuators(model.joint_names, (Rigid(Motor(0.0)),) * model.n)


def close(found: Any, wanted: Any, tolerance: float) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("urdf", [PANDA, TREE, KINDS], ids=["panda", "tree", "kinds"])
def test_mujoco_reads_the_same_masses_and_gravity(urdf):
    gravity = (1.0, -2.0, -9.0)
    model = dyn.parse_urdf(urdf, gravity)
    rotors = 0.1 + 0.05 * np.arange(model.n)
    model = model.with_reflected_inertia(rotors)
    robot = MujocoRobot(model, rigid(model), urdf)
    for q in np.random.default_rng(0).uniform(-2.0, 2.0, size=(10, model.n)):
        close(robot.mass_matrix(q), dyn.mass_matrix(model, q), 1e-9)
        close(robot.gravity_forces(q), dyn.gravity_forces(model, q), 1e-9)


def test_a_payload_can_be_added_and_removed():
    model = dyn.parse_urdf(TREE)
    robot = MujocoRobot(model, rigid(model), TREE)
    q, qd = np.random.default_rng(1).normal(size=(2, model.n))
    robot.reset(q, qd)
    bare = robot.mass_matrix(q)
    loaded = model.with_payload("tool", 1.3, (0.1, -0.2, 0.05), np.diag([0.01, 0.02, 0.025]))
    robot.set_model(loaded.with_gravity((0.0, 3.0, -9.0)))
    close(robot.mass_matrix(q), dyn.mass_matrix(loaded, q), 1e-9)
    close(robot.gravity_forces(q), dyn.gravity_forces(robot.model, q), 1e-9)
    np.testing.assert_array_equal(np.stack([robot.q, robot.qd]), [q, qd])
    robot.set_model(model)
    np.testing.assert_array_equal(robot.mass_matrix(q), bare)


def follow_torques(robot: Plant, home: Any, seconds: float, *, hit: bool) -> np.ndarray:
    """q, theta and Q during a second of torques around equilibrium, with a wrench in its middle."""
    robot.reset(home)
    hold = robot.motor_torque.copy()
    m, rows = len(hold), []
    for k in range(round(1e3 * seconds)):
        robot.applied_wrenches[:] = 0.0
        if hit and 300 <= k < 320:
            robot.applied_wrenches[-1] = [5.0, 0.0, 10.0, 20.0, 30.0, -40.0]
        wave = np.sin(6.0 * np.pi * 1e-3 * k + np.arange(m))
        robot.step(hold + 0.05 * robot.actuators.torque_limit.clip(max=100.0) * wave, 1e-3)
        rows.append(np.concatenate([robot.q, robot.theta, 1e-3 * robot.joint_torque]))
    return np.array(rows)


def test_the_panda_converges_to_elastic_robot_with_order_two():
    model, actuators = panda()
    ours = follow_torques(ElasticRobot(model, actuators), HOME, 1.0, hit=True)
    errors = []
    for h in (0.25e-3, 0.125e-3):
        robot = MujocoRobot(model, actuators, with_friction(PANDA), step=h)
        errors.append(np.abs(follow_torques(robot, HOME, 1.0, hit=True) - ours).max())
    assert np.ptp(ours, axis=0).max() > 0.5
    assert errors[0] < 1e-4
    assert 3.0 < errors[0] / errors[1] < 6.0


def on_a_moving_base(robot: Plant, home: Any, dt: float) -> np.ndarray:
    """q, theta and Q each ms while the base turns by 0.7 rad about an axis far from its origin
    within 0.15 s, with a wrench on the last body, and other gravity from 0.05 s on."""
    robot.reset(home)
    hold, w, rows = robot.motor_torque.copy(), 4.0 * np.pi, []
    screw = np.array([0.6, -0.5, 0.6, 0.3, 0.4, -0.2])
    mounted = dyn.se3.exp([0.0, 0.4, 0.2, 0.1, 0.2, 0.3])
    for k in range(round(0.15 / dt)):
        sine, cosine = np.sin(w * (k + 0.5) * dt), np.cos(w * (k + 0.5) * dt)
        rates = np.array([w * sine, w**2 * cosine, -(w**3) * sine, -(w**4) * cosine])
        pose = dyn.se3.exp(0.5 * (1.0 - cosine) * screw) @ mounted
        robot.move_base(pose, np.outer(0.5 * rates, screw))
        if k * dt == 0.05:
            robot.set_model(robot.model.with_gravity((1.0, 2.0, -3.0)))
        robot.applied_wrenches[-1] = [5.0, 0.0, 1.0, 2.0, 3.0, -4.0] if k * dt < 0.1 else 0.0
        robot.step(hold, dt)
        if k % round(1e-3 / dt) == 0:
            rows.append(np.concatenate([robot.q, robot.theta, 1e-3 * robot.joint_torque]))
    return np.array(rows)


def test_on_a_moving_base_it_converges_to_elastic_robot_with_order_two():
    model, actuators = panda()
    errors = []
    for dt in (0.25e-3, 0.125e-3):
        ours = on_a_moving_base(ElasticRobot(model, actuators), HOME, dt)
        robot = MujocoRobot(model, actuators, step=dt)
        errors.append(np.abs(on_a_moving_base(robot, HOME, dt) - ours).max())
    assert np.ptp(ours, axis=0).max() > 0.1
    assert errors[0] < 1e-5
    assert 3.0 < errors[0] / errors[1] < 6.0


def test_a_delta_robot_moves_as_in_elastic_robot_on_a_moving_base():
    springs = CONFIG / "mechanisms" / "delta.yaml"
    model = dyn.mechanisms.close_loops(springs, dyn.load_urdf(springs.with_suffix(".urdf")))
    actuators = dyn.load_actuators(springs, model.joint_names, model.joint_types)
    robots = MujocoRobot(model, actuators), ElasticRobot(model, actuators)
    found, own = (on_a_moving_base(each, model.home, 0.25e-3) for each in robots)
    assert np.ptp(own, axis=0).max() > 0.1
    np.testing.assert_allclose(found, own, rtol=0, atol=3e-5)  # loops give by as much


@pytest.mark.parametrize(
    "name", ["five_bar", "leg", "delta", "ankle", "stewart", "five_bar, springs"]
)
def test_robots_with_loops_move_as_in_elastic_robot(name, tmp_path):
    """MuJoCo closes the loops by constraints; ElasticRobot integrates the motors' coordinates."""
    urdf = CONFIG / "mechanisms" / f"{name.partition(',')[0]}.urdf"
    springs = sprung_five_bar(tmp_path) if "springs" in name else urdf.with_suffix(".yaml")
    model = dyn.mechanisms.close_loops(springs, dyn.load_urdf(urdf))
    actuators = dyn.load_actuators(springs, model.joint_names, model.joint_types)
    robots = MujocoRobot(model, actuators, urdf.read_bytes()), ElasticRobot(model, actuators)
    close(robots[0].gravity_forces(model.home), dyn.gravity_forces(model, model.home), 1e-12)
    hold = robots[1].motor_torque.copy()
    for robot in robots:
        robot.reset(model.home, np.linspace(0.5, -0.5, model.n))
        for k in range(100):
            robot.applied_wrenches[-1] = [0.1, 0.2, -0.1, 1.0, 2.0, 3.0] if k < 50 else 0.0
            robot.step(hold + np.linspace(1.0, -0.5, model.n), 1e-3)
    found, own = robots
    assert np.abs(own.q - model.home).max() > 0.05
    np.testing.assert_allclose(found.q, own.q, rtol=0, atol=5e-6)
    np.testing.assert_allclose(found.theta, own.theta, rtol=0, atol=5e-6)
    np.testing.assert_allclose(found.joint_torque, own.joint_torque, rtol=0, atol=5e-4)


def test_a_ball_moves_as_in_elastic_robot_until_its_chart_is_nearly_singular():
    system = crank_rocker("universal")
    start = np.array([1.3])
    passive, _ = closed(system).dependent_motion(start, start)
    model = dyn.mechanisms.closed_chain(system, np.concatenate((start, passive)))
    robot, own = MujocoRobot(model, rigid(model)), ElasticRobot(model, rigid(model))
    singular = pytest.raises(dyn.DynamicsError, match=r"joint 'theta' of a ball is at -?1\.\d+ rad")
    for call in (robot.reset, robot.mass_matrix, robot.gravity_forces):
        with singular:
            call(np.zeros(1))
    for each in (robot, own):
        each.reset(start, np.array([-3.0]))
    with singular:
        for _ in range(1000):
            robot.step(np.array([-8.0]), 1e-3)
            own.step(np.array([-8.0]), 1e-3)
            np.testing.assert_allclose(robot.q, own.q, rtol=0, atol=5e-5)
    assert own.q[0] < 0.2


def test_a_cut_joint_that_slides_is_named():
    urdf = CONFIG / "mechanisms" / "five_bar.urdf"
    springs = urdf.with_suffix(".yaml")
    model = dyn.mechanisms.close_loops(springs, dyn.load_urdf(urdf))
    (loop,) = model.loops
    ball = np.vstack((dyn.prismatic(loop.free[0, :3]), dyn.spherical()))
    slides = dataclasses.replace(model, loops=(dataclasses.replace(loop, free=ball),))
    axis, body = (0, 0, 1), dyn.spatial_inertia(1.0, (0, 0, 0), np.eye(3))
    tree = dyn.model_from_screws(
        (-1, -1), [dyn.revolute(axis), dyn.prismatic(axis)], [np.eye(4)] * 2, [body] * 2
    )
    thread = dyn.mechanisms.LoopClosure("tip", "body1", "body2", dyn.helical(axis, (0, 0, 0), 0.01))
    spindle = dyn.mechanisms.ConstrainedModel(tree, [thread], ["joint1"])
    for robot in (slides, dyn.mechanisms.closed_chain(spindle, np.zeros(2))):
        with pytest.raises(dyn.ModelError, match="loop 'tip': its cut joint slides"):
            MujocoRobot(robot, rigid(robot))


def test_all_kinds_of_actuators_move_as_in_elastic_robot():
    model = dyn.parse_urdf(KINDS)
    actuators = Actuators(model.joint_names, ALL_KINDS)
    home = np.array([0.3, 0.2, -0.4, 0.5, 0.3, -0.2])
    robots = (
        ElasticRobot(model, actuators, link_viscous=0.3),
        MujocoRobot(model, actuators, KINDS, link_viscous=0.3),
    )
    ours, theirs = (follow_torques(robot, home, 0.3, hit=False) for robot in robots)
    assert np.ptp(ours[:, :6], axis=0).min() > 1e-3
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-5)
    for name in ("thetad", "qdd", "motor_torque", "stiffness"):
        a, b = (getattr(robot, name) for robot in robots)
        np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-3, err_msg=name)


def test_drives_and_a_changing_stiffness_act_as_in_elastic_robot():
    model = dyn.parse_urdf(KINDS)
    actuators = Actuators(model.joint_names, ALL_KINDS)
    drive = MotorDrive(np.full(8, 400.0), np.full(8, 15.0))
    robots = (
        ElasticRobot(model, actuators, drive=drive),
        MujocoRobot(model, actuators, KINDS, drive=drive),
    )
    for robot in robots:
        robot.reset(np.full(6, 0.2))
        theta, hold = robot.theta.copy(), robot.motor_torque.copy()
        for k in range(100):
            robot.stiffness[1] = 400.0
            rate = 0.5 * np.ones(8)
            robot.follow(theta + 1e-3 * k * rate, rate, hold, 1e-3)
    ours, theirs = robots
    np.testing.assert_allclose(theirs.q, ours.q, rtol=0, atol=1e-5)
    np.testing.assert_allclose(theirs.stiffness, ours.stiffness, rtol=1e-9)


FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
KNEES_INWARDS = [0.0, 0.75, -1.5] * 2 + [0.0, -0.75, 1.5] * 2  # rad


def quadruped(friction: float = 0.6) -> MujocoRobot:
    files = share_directory() / "config" / "mechanisms"
    model = dyn.load_urdf(files / "quadruped.urdf")
    actuators = dyn.load_actuators(files / "quadruped.yaml", model.joint_names)
    robot = MujocoRobot(model, actuators, floor=Floor(FEET, friction, is_base_free=True))
    robot.reset(KNEES_INWARDS)
    return robot


def stand(robot: MujocoRobot, seconds: float) -> None:
    """Hold the motors where they are at first."""
    theta, hold = robot.theta.copy(), robot.motor_torque.copy()
    gains = robot.actuators.motor_inertia * [[250.0**2], [500.0]]
    for _ in range(round(1e3 * seconds)):
        robot.step(hold + gains[0] * (theta - robot.theta) - gains[1] * robot.thetad, 1e-3)


def test_a_free_base_stands_on_its_feet():
    """The floor carries the weight, by forces of least norm; nothing moves. With gravity upwards,
    it leaves the floor."""
    robot = quadruped()
    at = robot.contact_points
    assert at[:, 2].min() == pytest.approx(0.0, abs=1e-12)
    stand(robot, 0.3)
    mass = robot.model.inertias[:, 5, 5].sum() + robot.model.base_inertia[5, 5]
    close(robot.ground_forces.sum(axis=0), [0.0, 0.0, 9.81 * mass], 5e-3)
    close(robot.q, KNEES_INWARDS, 1e-3)
    close(robot.contact_points, at, 1e-4)
    pose, twist, acceleration = robot.base
    close(pose[:3, :3], np.eye(3), 1e-3)
    assert np.abs(twist).max() < 1e-3
    assert np.abs(acceleration).max() < 0.05
    robot.set_model(robot.model.with_gravity((0.0, 0.0, 9.81)))
    stand(robot, 0.1)
    assert not robot.ground_forces.any()
    assert robot.base[1][5] > 0.9


def test_contacts_touch_only_the_ground():
    """The front feet meet above it."""
    robot = quadruped()
    inwards = 0.5957645972487869  # rad
    robot.reset([-inwards, *KNEES_INWARDS[1:3], inwards, *KNEES_INWARDS[4:]])
    left, right = robot.contact_points[:2]
    close(left, right, 1e-9)
    assert left[2] > 0.01
    assert not robot.ground_forces[:2].any()


@pytest.mark.parametrize(("share", "slides"), [(0.4, False), (1.2, True)])
def test_feet_slide_beyond_friction(share: float, slides: bool):
    robot = quadruped(friction=0.4)
    stand(robot, 0.1)
    at, mass = robot.contact_points, robot.ground_forces[:, 2].sum() / 9.81
    robot.set_model(robot.model.with_gravity((9.81 * 0.4 * share, 0.0, -9.81)))
    stand(robot, 0.15)
    moved = np.linalg.norm(robot.contact_points - at, axis=1)
    assert (moved.max() > 2e-3) == slides
    used = np.linalg.norm(robot.ground_forces[:, :2].sum(axis=0)) / robot.ground_forces[:, 2].sum()
    assert used <= 0.4 * 1.02
    assert mass > 1.0


def test_a_tool_that_presses_on_the_floor_feels_its_force():
    """On a fixed base: the torques of the joints are those that gravity and the floor need."""
    model, actuators = panda()
    robot = MujocoRobot(model, actuators, floor=Floor(("panda_link8",), 0.5))
    q = np.array([0.0, 0.9, 0.0, -1.5, 0.0, 2.2, 0.0])
    target = dyn.frame_pose(model, q, "panda_link8")
    target[2, 3] = 1e-4
    q = dyn.tasks.inverse_kinematics(model, target, "panda_link8", initial=q).q
    robot.reset(q)
    theta, hold = robot.theta.copy(), robot.motor_torque.copy()
    J = dyn.jacobian(model, q, "panda_link8", representation="hybrid")
    hold += J.T @ [0.0, 0.0, 0.0, 0.0, 0.0, -20.0]
    damping = 2.0 * np.sqrt(actuators.motor_inertia * 50.0)
    for _ in range(3000):
        robot.step(hold - 0.05 * (robot.theta - theta) - damping * robot.thetad, 1e-3)
    (force,) = robot.ground_forces
    assert force[2] > 5.0
    J = dyn.jacobian(model, robot.q, "panda_link8", representation="hybrid")
    wanted = robot.gravity_forces(robot.q) - J.T @ np.concatenate((np.zeros(3), force))
    close(robot.joint_torque, wanted, 0.02)


def test_what_cannot_touch_the_floor_is_refused():
    model, actuators = panda()
    assert_rejected(
        (lambda: MujocoRobot(model, actuators, floor=Floor(("panda_link0",))), "panda_link0 base"),
        (lambda: MujocoRobot(model, actuators, floor=Floor(("paw",))), "paw"),
        (lambda: quadruped().move_base(np.eye(4), np.zeros((4, 6))), "quadruped free"),
        (
            lambda: MujocoRobot(model, actuators, floor=Floor(("panda_link8",), 0.5, True)),
            "panda_link0 float inertia",
            dyn.ModelError,
        ),
    )


def test_end_stops_hold_the_links():
    model = dyn.parse_urdf(TREE)
    stopped, free = (
        MujocoRobot(model, rigid(model), TREE, end_stops=stops) for stops in (EndStops(1e4), None)
    )
    for robot in (stopped, free):
        robot.reset(np.zeros(model.n))
        for _ in range(600):
            robot.step(np.zeros(model.n), 1e-3)
    limited = np.isfinite(model.limits.upper)
    beyond = np.maximum(free.q - model.limits.upper, model.limits.lower - free.q)[limited].max()
    assert beyond > 0.3
    assert np.maximum(stopped.q - model.limits.upper, model.limits.lower - stopped.q).max() < 0.03


def test_reset_gives_the_requested_state_at_rest():
    model, actuators = panda()
    robot = MujocoRobot(model, actuators, PANDA)
    robot.reset(HOME)
    np.testing.assert_allclose(robot.qdd, 0.0, atol=1e-9)
    np.testing.assert_allclose(robot.joint_torque, dyn.gravity_forces(model, HOME), atol=1e-9)
    views = robot.q, robot.theta
    robot.reset(HOME, 0.1 * HOME, theta=HOME, thetad=-HOME)
    assert views[0] is robot.q
    assert views[1] is robot.theta
    for found, wanted in (
        (robot.q, HOME), (robot.qd, 0.1 * HOME), (robot.theta, HOME), (robot.thetad, -HOME)
    ):  # fmt: skip
        np.testing.assert_array_equal(found, wanted)


def test_invalid_arguments_raise_and_change_nothing(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model, actuators = panda()
    robot = MujocoRobot(model, actuators, PANDA)
    robot.reset(HOME)
    assert_rejected(
        (lambda: robot.step(np.full(7, np.nan), 1e-3), "motor_torque"),
        (lambda: robot.step(np.zeros(6), 1e-3), "motor_torque"),
        (lambda: robot.step(np.zeros(7), 0.0), "dt"),
        (lambda: robot.follow(HOME, HOME, HOME, 1e-3), "drive"),
        (lambda: robot.set_model(dyn.parse_urdf(TREE)), "joints"),
    )
    robot.applied_wrenches[6, 4] = 1e200
    assert_rejected((lambda: robot.step(np.zeros(7), 1e-3), "diverges"), error=dyn.DynamicsError)
    np.testing.assert_array_equal(robot.q, HOME)
    robot.applied_wrenches[:] = 0.0
    robot.step(robot.motor_torque.copy(), 1e-3)
    np.testing.assert_allclose(robot.q, HOME, atol=1e-6)
    assert not list(tmp_path.iterdir())  # MuJoCo writes its warnings to a file

    assert_rejected(
        (lambda: MujocoRobot(dyn.parse_urdf(TREE), actuators, TREE), "joints"),
        (lambda: MujocoRobot(model, actuators, TREE), "panda_joint1", dyn.ModelError),
        (lambda: MujocoRobot(model, actuators, PANDA, step=-1.0), "step"),
        (lambda: MujocoRobot(model, actuators, PANDA, link_viscous=-1.0), "link_viscous"),
    )


def test_the_error_without_mujoco_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(dyn.DynamicsError, match="pip install 'mujoco"):
        MujocoRobot(*panda(), PANDA)


INERTIAL = (
    '<inertial><origin xyz="0.1 0.02 -0.3" rpy="0.3 -0.5 0.7"/><mass value="2"/>'
    '<inertia ixx="0.1" ixy="0.01" ixz="0.02" iyy="0.12" iyz="-0.03" izz="0.15"/></inertial>'
)
GRIPPER = f"""<robot name="gripper"><link name="base"/>
<link name="palm">{INERTIAL}</link><link name="left">{INERTIAL}</link>
<link name="right">{INERTIAL}</link><link name="camera"><inertial><mass value="1e-8"/>
<inertia ixx="1e-8" iyy="1e-8" izz="1e-8" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="wrist" type="continuous"><parent link="base"/><child link="palm"/></joint>
<joint name="finger" type="prismatic"><parent link="palm"/><child link="left"/>
<origin xyz="0.1 0 0.2"/><axis xyz="0 0.6 0.8"/></joint>
<joint name="other" type="revolute"><parent link="palm"/><child link="right"/>
<origin xyz="0 0.1 0.2"/><axis xyz="0 1 0"/><mimic joint="finger" multiplier="-2" offset="0.3"/>
</joint><joint name="mount" type="fixed"><parent link="left"/><child link="camera"/></joint>
</robot>"""


def test_coupled_joints_and_light_frames():
    """MuJoCo's tree, which is not coupled, has G^T M G; in motion it holds the coupling softly."""
    model = dyn.parse_urdf(GRIPPER)
    robot = MujocoRobot(model, rigid(model), GRIPPER)
    for q in np.random.default_rng(0).uniform(-1.0, 1.0, size=(5, 2)):
        close(robot.mass_matrix(q), dyn.mass_matrix(model, q), 1e-9)
        close(robot.gravity_forces(q), dyn.gravity_forces(model, q), 1e-9)
    own = ElasticRobot(model, rigid(model))
    for plant in (robot, own):
        plant.reset([0.3, 0.1])
        for _ in range(100):
            plant.step([0.5, 20.0], 1e-3)
    np.testing.assert_allclose(robot.q, own.q, rtol=0.02)
    assert np.abs(own.q - [0.3, 0.1]).max() > 0.01


@pytest.mark.parametrize(
    ("name", "kind"),
    [("differential_wrist", "elastic"), ("differential_wrist", "rigid"), ("palletiser", "elastic")],
)
def test_motors_that_move_several_joints_together(name, kind):
    """The coordinates are motors and no joints of MuJoCo; dependent joints give way within 5 ms."""
    springs = CONFIG / "elastic_joints" / f"{name}.yaml"
    model = dyn.load_urdf(CONFIG / "robots" / f"{name}.urdf", couplings=springs)
    actuators = dyn.load_actuators(springs, model.joint_names)
    if kind == "rigid":
        motors = (a.motors[0] for a in actuators.actuators)
        actuators = Actuators(model.joint_names, tuple(map(Rigid, motors)))
    robots = MujocoRobot(model, actuators), ElasticRobot(model, actuators)
    found, own = robots
    for q in np.random.default_rng(0).uniform(-1.0, 1.0, size=(5, model.n)):
        rotors = np.diag(actuators.motor_inertia) if kind == "rigid" else 0.0
        close(found.mass_matrix(q), dyn.mass_matrix(model, q) + rotors, 1e-9)
        close(found.gravity_forces(q), dyn.gravity_forces(model, q), 1e-9)
    for robot in robots:
        robot.reset([0.3, -0.2, 0.1])
        push = robot.motor_torque + 0.2 * actuators.torque_limit * [1.0, -1.0, 0.5]
        for _ in range(200):
            robot.step(push, 1e-3)
    moved = np.abs(own.q - [0.3, -0.2, 0.1]).max()
    assert moved > 0.02
    np.testing.assert_allclose(found.q, own.q, rtol=0, atol=0.02 * moved)
    np.testing.assert_allclose(found.theta, own.theta, rtol=0, atol=0.02 * moved)


def test_limits_hold_the_motors_of_a_differential():
    springs = CONFIG / "elastic_joints" / "differential_wrist.yaml"
    model = dyn.load_urdf(CONFIG / "robots" / "differential_wrist.urdf", couplings=springs)
    actuators = dyn.load_actuators(springs, model.joint_names)
    robot = MujocoRobot(model, actuators, end_stops=EndStops(1e3, 10.0))
    free = MujocoRobot(model, actuators)
    for each in (robot, free):
        each.reset(np.zeros(3))
        for _ in range(1500):
            each.step([0.0, 0.0, 3.0], 1e-3)
    upper = model.limits.upper[2]
    assert robot.q[2] < 1.1 * upper < free.q[2]


@pytest.mark.parametrize(("version", "accepted"), [("3.2.7", 0), ("3.3.0", 1), ("4.0.0", 0)])
def test_versions_of_mujoco_that_were_not_tried_are_named(version, accepted, monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", version)
    if accepted:
        assert import_mujoco() is mujoco
        return
    with pytest.raises(dyn.DynamicsError, match=re.escape(f"version {version} is installed")):
        import_mujoco()
