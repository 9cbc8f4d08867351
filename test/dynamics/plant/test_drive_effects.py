# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Effects of real drives: energy laws, and independent formulas integrated by scipy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from elastic_arms import EVERY_ARM, MOTOR, elastic_panda, series
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    Antagonistic,
    Motor,
    PolynomialSpring,
    Rigid,
)
from multibody_dynamics.dynamics.elastic_arm import DIRECTIONS
from multibody_dynamics.dynamics.model import model_from_screws, spatial_inertia
from multibody_dynamics.dynamics.plant import DriveEffects, Eccentricity, ElasticRobot, load_effects
from rejections import assert_rejected

INERTIA, MASS, LENGTH, K = 0.8, 3.0, 0.4, 500.0
FREE_MOTOR = Motor(0.5)


def one_link(actuator, *, gravity=(0.0, 0.0, 0.0)) -> tuple:
    """A link that turns about the y axis of the base; its mass is at LENGTH along x at q = 0."""
    about_com = np.diag([0.1, INERTIA - MASS * LENGTH**2, 0.3])
    model = model_from_screws(
        [-1], [[0, 1, 0, 0, 0, 0]], [np.eye(4)],
        [spatial_inertia(MASS, (LENGTH, 0, 0), about_com)], gravity=gravity,
    )  # fmt: skip
    return model, Actuators(model.joint_names, (actuator,))


def push(t: float) -> float:
    return 4.0 * np.sin(3.0 * t) + 2.0 * np.sin(11.0 * t)


def moved(robot: ElasticRobot, duration: float, torque=push) -> list:
    """The robot after each millisecond, under a torque given at all stages."""
    rows = []
    for k in range(round(1e3 * duration)):
        count = robot.inner_steps(1e-3)
        times = 1e-3 * (k + np.arange(2 * count + 1) / (2 * count))
        robot.step(np.array([[torque(t)] for t in times]), 1e-3)
        rows.append(np.concatenate((robot.q, robot.theta, robot.joint_torque)))
    return rows


def test_friction_of_links_and_motors_is_that_of_lugre():
    link = {"coulomb": 1.5, "static": 2.0, "v_s": 0.1, "bristle": 1e-3}
    effects = DriveEffects(
        link_coulomb=1.5, link_static=2.0, motor_coulomb=0.7, stribeck_velocity=0.1, bristle=1e-3
    )
    robot = ElasticRobot(*one_link(series(K, FREE_MOTOR)), effects=effects, step=5e-5)

    def lugre(v, z, coulomb, static, v_s, bristle):
        stiffness = static / bristle
        g = coulomb + (static - coulomb) * np.exp(-((v / v_s) ** 2))
        rate = v - stiffness * abs(v) * z / g
        return rate, stiffness * z + coulomb / v_s * np.exp(-((v / v_s) ** 2)) * rate

    def rates(t, x):
        q, v, theta, w, z_link, z_motor = x
        Q = K * (theta - q)
        z_link_rate, on_link = lugre(v, z_link, **link)
        z_motor_rate, on_motor = lugre(w, z_motor, 0.7, 0.7, 0.1, 1e-3)
        acceleration = (Q - on_link) / INERTIA
        return [v, acceleration, w, (push(t) - Q - on_motor) / 0.5, z_link_rate, z_motor_rate]

    times = np.linspace(1e-3, 1.0, 1000)
    run = solve_ivp(rates, (0, 1), np.zeros(6), "LSODA", times, rtol=1e-9, atol=1e-12)
    found = np.array(moved(robot, 1.0))
    assert np.ptp(run.y[0]) > 0.05
    assert np.abs(found[:, 0] - run.y[0]).max() < 1e-4 * np.ptp(run.y[0])
    assert np.abs(found[:, 1] - run.y[2]).max() < 1e-4 * np.ptp(run.y[2])


def test_load_raises_friction_in_proportion_to_the_torque_of_the_joint():
    model, actuators = one_link(series(K, FREE_MOTOR))
    effects = DriveEffects(link_load=0.2)
    robot = ElasticRobot(model, actuators, effects=effects)
    robot.reset([0.0], [1.0], theta=[0.1], thetad=[1.0])  # Q = 50 N m
    slide = [robot.qdd[0]]
    for _ in range(3):  # bristles deflect; then the friction is 10 N m of about 50
        robot.step([50.0], 1e-3)
        slide.append(robot.qdd[0])
    Q = K * (robot.theta[0] - robot.q[0])
    assert robot.qdd[0] * INERTIA == pytest.approx(0.8 * Q, rel=2e-3)


def test_hysteresis_is_a_sum_of_stop_operators():
    total, reach = 2.0, 8e-3
    effects = DriveEffects(hysteresis=total, hysteresis_deflection=reach)
    robot = ElasticRobot(*one_link(series(K, FREE_MOTOR)), effects=effects, step=2.5e-5)
    rows = np.array(moved(robot, 2.0, lambda t: 5.0 * push(t)))
    bend = np.concatenate(([0.0], rows[:, 1] - rows[:, 0]))
    assert np.ptp(bend) > 2.0 * reach
    ends = 0.5 * reach * np.array([0.25, 0.5, 0.75, 1.0])
    elements, slip = np.zeros(4), []
    for travel in np.diff(bend):
        elements = np.clip(elements + travel, -ends, ends)
        slip.append(total * elements.sum() / ends.sum())
    extra = rows[:, 2] - K * bend[1:]
    # reversals within a millisecond are seen only by the plant
    assert np.abs(extra - slip).max() < 0.02 * total
    assert np.abs(extra).max() == pytest.approx(total, rel=1e-9)


def test_backlash_carries_no_torque_within_the_gap():
    gap = 0.02
    robot = ElasticRobot(
        *one_link(series(K, FREE_MOTOR)), effects=DriveEffects(backlash=gap), step=1e-4
    )
    rows = np.array(moved(robot, 2.0, lambda t: 3.0 * push(t)))
    bend = rows[:, 1] - rows[:, 0]
    expected = K * np.sign(bend) * np.maximum(np.abs(bend) - 0.5 * gap, 0.0)
    assert set(np.sign(expected)) == {-1.0, 0.0, 1.0}
    np.testing.assert_allclose(rows[:, 2], expected, atol=1e-10)


def test_gear_errors_bend_the_spring_and_keep_power():
    size, harmonic, phase = 2e-3, 40.0, 0.3
    effects = DriveEffects(gear_error=size, gear_harmonic=harmonic, gear_phase=phase)
    robot = ElasticRobot(*one_link(series(K, FREE_MOTOR)), effects=effects, step=1e-4)

    def rates(t, x):
        q, v, theta, w = x
        Q = K * (theta + size * np.sin(harmonic * theta + phase) - q)
        slope = 1.0 + size * harmonic * np.cos(harmonic * theta + phase)
        return [v, Q / INERTIA, w, (push(t) - slope * Q) / 0.5]

    robot.reset([0.0])
    start = [0.0, 0.0, float(robot.theta[0]), 0.0]
    assert start[2] + size * np.sin(harmonic * start[2] + phase) == pytest.approx(0.0, abs=1e-12)
    times = np.linspace(1e-3, 1.0, 1000)
    run = solve_ivp(rates, (0, 1), start, "DOP853", times, rtol=1e-10, atol=1e-12)
    found = np.array(moved(robot, 1.0))
    np.testing.assert_allclose(found[:, :2], run.y[[0, 2]].T, atol=1e-7)


def test_motor_torques_lag_in_steps():
    effects = DriveEffects(torque_bandwidth=20.0, torque_resolution=0.5)
    robot = ElasticRobot(*one_link(Rigid(FREE_MOTOR)), effects=effects)
    for k in range(50):
        robot.step([3.3], 1e-3)
        lag = 1.0 - np.exp(-2.0 * np.pi * 20.0 * 1e-3 * (k + 1))
        assert robot.motor_torque[0] == pytest.approx(3.5 * lag, rel=1e-12)
    assert robot.qdd[0] * (INERTIA + 0.5) == pytest.approx(robot.motor_torque[0], rel=1e-12)


def test_a_link_on_a_cart_moves_as_its_lagrangian_says():
    own, f = 0.5, 6.0
    model, actuators = one_link(series(K, FREE_MOTOR), gravity=(0.0, 0.0, -9.81))
    effects = DriveEffects(
        base_frequency=f, base_inertia=own, base_damping=0.05, base_directions=("x",)
    )
    robot = ElasticRobot(model, actuators, effects=effects)
    total = (1.0 + own) * MASS
    omega = 2.0 * np.pi * f

    def rates(t, x):
        y, yd, q, v, theta, w = x
        # the centre of mass is at (y + L cos q, -L sin q)
        a = MASS * LENGTH
        M = [[total, -a * np.sin(q)], [-a * np.sin(q), INERTIA]]
        on_cart = a * np.cos(q) * v * v - omega**2 * total * y - 0.1 * omega * total * yd
        Q = K * (theta - q)
        ydd, acceleration = np.linalg.solve(M, [on_cart, Q + a * 9.81 * np.cos(q)])
        return [yd, ydd, v, acceleration, w, (push(t) - Q) / 0.5]

    robot.reset([0.7])
    start = [0.0, 0.0, 0.7, 0.0, float(robot.theta[0]), 0.0]
    assert np.abs(robot.qdd).max() < 1e-12
    times = np.linspace(1e-3, 1.0, 1000)
    run = solve_ivp(rates, (0, 1), start, "DOP853", times, rtol=1e-10, atol=1e-12)
    found = np.array(moved(robot, 1.0))
    np.testing.assert_allclose(found[:, 0], run.y[2], atol=1e-7 * np.ptp(run.y[2]) + 1e-8)
    np.testing.assert_allclose(robot.base[0], run.y[0, -1], atol=1e-7)
    assert np.abs(run.y[0]).max() > 1e-3


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_base_under_a_locked_arm_has_the_frequency_of_its_description(direction):
    model = elastic_panda().model
    heavy = Actuators(model.joint_names, tuple(Rigid(Motor(1e9)) for _ in model.joint_names))
    effects = DriveEffects(
        base_frequency=7.0, base_inertia=0.2, base_damping=0.05, base_directions=(direction,)
    )
    values, _ = ElasticRobot(model, heavy, effects=effects).modes(np.zeros(model.n))
    base = values[np.abs(values).argmax()]
    assert abs(base) == pytest.approx(2.0 * np.pi * 7.0, rel=1e-6)
    assert -base.real / abs(base) == pytest.approx(0.05, rel=1e-6)


def test_without_friction_base_gear_errors_and_gaps_conserve_energy():
    model, actuators, rest = elastic_panda()
    smooth = [each.with_motors([Motor(each.motors[0].inertia)]) for each in actuators.actuators]
    effects = DriveEffects(
        base_frequency=8.0, base_damping=0.0, gear_error=5e-4, gear_harmonic=100.0, backlash=2e-3
    )
    robot = ElasticRobot(model, Actuators(model.joint_names, tuple(smooth)), effects=effects)
    robot.reset(rest, 0.5 * np.ones(model.n))
    before, moved = sum(robot.energy()), 0.0
    for _ in range(300):
        robot.step(np.zeros(model.n), 1e-3)
        moved = max(moved, np.abs(robot.base).max())
    assert moved > 1e-4
    assert sum(robot.energy()) == pytest.approx(before, rel=1e-5)


@pytest.mark.parametrize("arm", EVERY_ARM, ids=lambda arm: arm.__name__)
def test_friction_and_hysteresis_dissipate_for_every_kind_of_actuator(arm):
    model, actuators, rest = arm()
    effects = DriveEffects(
        link_coulomb=1.0, link_static=1.5, link_load=0.05, motor_coulomb=0.5, hysteresis=1.0,
        base_frequency=10.0,
    )  # fmt: skip
    robot = ElasticRobot(model, actuators, effects=effects)
    robot.reset(rest, 0.8 * np.cos(np.arange(model.n)))
    energy = [sum(robot.energy())]
    for _ in range(400):
        robot.step(np.zeros(len(actuators.motors)), 1e-3)
        energy.append(sum(robot.energy()))
    assert np.diff(energy).max() < 1e-6 * energy[0]
    assert energy[0] - energy[-1] > 0.1


def test_stiction_holds_a_small_torque_at_rest():
    effects = DriveEffects(link_coulomb=1.0, link_static=1.5, bristle=1e-4)
    robot = ElasticRobot(*one_link(Rigid(FREE_MOTOR)), effects=effects)
    for k in range(1500):
        robot.step([1.4 * min(1.0, 1e-3 * k)], 1e-3)
    creep = 1e-4 * -np.log(1.0 - 1.4 / 1.5)  # at which the bristles carry 1.4 of 1.5 N m
    assert creep < robot.q[0] < 2.0 * creep  # a little beyond, from its momentum
    assert abs(robot.qd[0]) < 1e-4
    for _ in range(200):
        robot.step([1.7], 1e-3)
    assert robot.q[0] > 10.0 * creep


def test_a_failed_step_leaves_what_the_effects_remember():
    model, actuators = one_link(series(K, FREE_MOTOR))
    robot, other = (
        ElasticRobot(model, actuators, effects=DriveEffects(link_coulomb=1.0, hysteresis=1.0))
        for _ in range(2)
    )
    robot.step([2.0], 0.01)
    other.step([2.0], 0.01)
    with pytest.raises(Exception, match="diverges"):
        robot.step([1e200], 0.05)
    robot.step([2.0], 0.01)
    other.step([2.0], 0.01)
    np.testing.assert_array_equal(robot.state, other.state)


def test_eccentric_encoders_err_once_per_turn():
    read = Eccentricity(np.array([2e-4]), np.array([0.5]))
    turn = np.linspace(0.0, 2.0 * np.pi, 7)
    errors = [read(np.array([q]), np.ones(1))[0][0] - q for q in turn]
    np.testing.assert_allclose(errors, 2e-4 * np.sin(turn + 0.5), rtol=0, atol=1e-15)
    (ahead, _), (_, rate) = read(np.array([1.0 + 1e-6]), np.ones(1)), read(np.ones(1), np.ones(1))
    assert (ahead - read(np.ones(1), np.ones(1))[0]) / 1e-6 == pytest.approx(rate, rel=1e-8)


def test_effects_from_yaml(tmp_path):
    path = tmp_path / "effects.yaml"
    path.write_text(
        "effects: {backlash: {joint2: 1.0e-3}, link_coulomb: [1, 2], base_frequency: 9}"
    )
    effects = load_effects(path)
    np.testing.assert_array_equal(effects.row("backlash", ("joint1", "joint2")), [0.0, 1e-3])
    np.testing.assert_array_equal(effects.row("link_coulomb", ("joint1", "joint2")), [1.0, 2.0])
    assert effects.base is not None
    assert effects.base.frequency == 9.0


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("{}", "expected one mapping 'effects'"),
        ("effects: {backlsh: 1}", "unknown key 'backlsh'"),
        ("effects: {backlash: -1}", "backlash is -1: must be zero or more"),
        ("effects: {bristle: {a: 0}}", "bristle of joint 'a' is 0: must be positive"),
        ("effects: {base_frequency: 5, base_directions: [up]}", "directions are up"),
    ],
)
def test_wrong_files_are_refused(tmp_path, text, match):
    path = tmp_path / "effects.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=match):
        load_effects(path)


def test_effects_that_do_not_fit_the_robot_are_refused():
    tendon = PolynomialSpring((60.0, 400.0), travel=(0.0, 0.9))
    pair, single = one_link(Antagonistic(MOTOR, MOTOR, tendon, tendon)), one_link(series(K))

    def made(robot, **effects):
        return lambda: ElasticRobot(*robot, effects=DriveEffects(**effects))

    assert_rejected(
        (made(pair, backlash=1e-3), "between two motors"),
        (made(single, hysteresis=[1.0, 2.0]), "hysteresis 2 values"),
        (made(single, hysteresis={"elbow": 1.0}), "no joint 'elbow'"),
        (made(single, gear_error=0.1, gear_harmonic=10.0), "less than 1"),
    )
