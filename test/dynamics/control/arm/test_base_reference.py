# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The motion of a base: through its points, C4, filtered where it is measured, and in an arm."""

from dataclasses import replace

import numpy as np
import pytest

from moving_bases import PLACE, SECOND, imu, points, rates, swaying
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.control import (
    AdaptationSettings,
    Arm,
    BaseReference,
    FlatnessSettings,
    Sample,
    StateEstimation,
)
from multibody_dynamics.dynamics.core import RequestError
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.resources import share_directory


def test_a_planned_motion_passes_its_points_with_their_rates():
    base, times = BaseReference(), np.linspace(0.0, 2.0, 21)
    base.plan(5 * SECOND, *points(times))
    for t in times[:-1]:
        pose, found = base.at(5 * SECOND + round(SECOND * t))
        np.testing.assert_allclose(pose, swaying(t), atol=1e-9)
        for row, expected in zip(found, rates(t), strict=False):
            np.testing.assert_allclose(row, expected, atol=1e-6)
    h = 1e-4
    before, after = (base.at(5 * SECOND + round(SECOND * (0.73 + s)))[1].copy() for s in (-h, h))
    slope = (after - before)[:3] / (2 * h)
    np.testing.assert_allclose(slope, base.at(5_730_000_000)[1][1:], rtol=1e-3, atol=1e-3)


def test_a_new_plan_continues_the_motion_without_a_jump_up_to_the_jounce():
    base, times = BaseReference(), np.linspace(0.0, 2.0, 21)
    base.plan(SECOND, *points(times))
    before = [part.copy() for part in base.at(2 * SECOND)]
    base.plan(2 * SECOND, times[:8], np.array([swaying(t) for t in 1.0 + times[:8]]))
    for part, expected in zip(base.at(2 * SECOND), before, strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-9)


def test_a_measured_motion_is_differentiated_continued_and_then_at_rest():
    base = BaseReference(bandwidth=30.0, timeout=0.1)
    for k in range(1000):
        base.measure(SECOND + k * 2_000_000, swaying(0.002 * k))
    last = SECOND + 999 * 2_000_000
    pose, found = base.at(last + 10_000_000)
    expected = rates(2.008)
    np.testing.assert_allclose(pose, swaying(2.008), atol=1e-4)
    np.testing.assert_allclose(found[0], expected[0], atol=0.01)
    np.testing.assert_allclose(found[1], expected[1], atol=0.1)
    assert not base.at(last + 200_000_000)[1].any()


def test_an_older_pose_is_refused_and_changes_nothing():
    base = BaseReference(bandwidth=30.0, timeout=0.1)
    for k in range(100):
        base.measure(SECOND + k * 2_000_000, swaying(0.002 * k))
    last = SECOND + 99 * 2_000_000
    before = [part.copy() for part in base.at(last + 10_000_000)]
    for stamp in (last, last - 50_000_000):  # a source that repeats itself, and a second source
        with pytest.raises(RequestError, match="not newer than the last one"):
            base.measure(stamp, np.eye(4))
    for part, expected in zip(base.at(last + 10_000_000), before, strict=True):
        np.testing.assert_array_equal(part, expected)
    base.restart()  # time has jumped back
    base.measure(SECOND, np.eye(4))


def test_an_imu_feels_how_the_base_is_tilted_until_it_is_silent_and_beyond():
    """At rest on a tilted base, torques are those of gravity; a silent IMU turns no more."""
    model = dyn.load_urdf(share_directory() / "config/robots/panda.urdf")
    base, zero = BaseReference(timeout=0.1, gravity=model.gravity), np.zeros(model.n)
    tilted = se3.exp(np.array([0.4, -0.7, 0.3, 0.0, 0.0, 0.0]))
    force = tilted[:3, :3].T @ -model.gravity
    expected = dyn.inverse_dynamics(model, zero, zero, zero, base=dyn.BaseMotion(tilted)).tau
    assert np.abs(expected - dyn.gravity_forces(model, zero)).max() > 1.0

    def torque(time):
        pose, rates = base.at(time)
        return dyn.inverse_dynamics(model, zero, zero, zero, base=dyn.BaseMotion(pose, *rates)).tau

    np.testing.assert_array_equal(torque(SECOND), dyn.gravity_forces(model, zero))
    base.sense(SECOND, np.zeros(3), force, PLACE)
    np.testing.assert_allclose(torque(SECOND), expected, atol=1e-12)
    for k in range(1, 200):
        base.sense(SECOND + k * 1_000_000, np.array([0.3, 0.5, 0.2]), force, PLACE)
    assert np.abs(base.at(SECOND + 250_000_000)[1][0]).max() > 0.1
    assert not base.at(SECOND + 400_000_000)[1][0].any()
    np.testing.assert_allclose(torque(SECOND + 400_000_000), expected, atol=1e-3)
    base.restart()
    np.testing.assert_allclose(torque(SECOND), expected, atol=1e-3)
    base.measure(2 * SECOND, np.eye(4))
    np.testing.assert_allclose(torque(2 * SECOND), dyn.gravity_forces(model, zero), atol=1e-12)


def test_noise_of_an_imu_is_continued_for_the_time_constant_of_its_filter_and_then_held():
    base, rng, noise = BaseReference(), np.random.default_rng(1), 0.05  # m/s^2
    force, found = np.array([0.0, 0.0, 9.81]), []
    for _ in range(30):
        for k in range(200):
            felt = force + noise * rng.standard_normal(3)
            base.sense(SECOND + k * 5_000_000, np.zeros(3), felt, np.zeros(3))
        last = SECOND + 199 * 5_000_000
        found.append([base.at(last + k * 1_000_000)[1][1, 3:].copy() for k in range(300)])
        base.restart()
    silent = np.abs(found)
    assert silent.max() < 20.0 * noise
    assert silent[:, 101:].max() < 4.0 * noise
    base.measure(SECOND, np.eye(4))
    for k in range(1, 200):
        pose = se3.exp(np.array([0.0, 0.0, 0.0, *(1e-4 * rng.standard_normal(3))]))
        base.measure(SECOND + k * 5_000_000, pose)
    rests = [base.at(last + k * 1_000_000)[0][:3, 3].copy() for k in range(300)][-1]
    assert np.abs(rests).max() < 5e-4


def test_an_imu_that_subtracts_gravity_is_refused():
    base, nothing = BaseReference(), np.zeros(3)
    for k in range(3):
        with pytest.raises(RequestError, match="linear_acceleration has no gravity: it is"):
            base.sense(SECOND + k * 5_000_000, nothing, np.array([0.5, 0.0, 0.0]), nothing)
        assert not base.at(SECOND + k * 5_000_000)[1].any()
    base.sense(2 * SECOND, nothing, np.array([0.0, 0.0, 9.81]), nothing)
    base.sense(2 * SECOND + 5_000_000, nothing, nothing, nothing)  # falls, or rests on nothing
    assert base.at(2 * SECOND + 5_000_000)[1][1, 5] < -1.0


def test_a_steep_base_and_a_plan_in_the_past_are_refused():
    base = BaseReference()
    upright = se3.exp(np.array([0.0, 1.5, 0.0, 0.0, 0.0, 0.0]))
    with pytest.raises(RequestError, match="pitch 86 deg; up to 80 deg"):
        base.measure(SECOND, upright)
    base.plan(SECOND, *points(np.linspace(0.0, 1.0, 5)))
    with pytest.raises(RequestError, match="no point lies in the future"):
        base.plan(SECOND, np.array([-1.0, -0.5]), np.array([swaying(0.0)] * 2))


def test_what_springs_carry_at_rest_depends_on_how_the_base_is_tilted():
    """As judged at activation, and after a silence."""
    share, q = share_directory() / "config", np.array([0.3, 0.5])
    model = dyn.load_urdf(share / "robots/planar_two_link.urdf")
    actuators = dyn.load_actuators(share / "elastic_joints/planar_two_link.yaml", model.joint_names)
    tilted = se3.exp(np.array([0.0, 0.4, 0.0, 0.0, 0.0, 0.0]))
    plant = ElasticRobot(model.with_gravity(tilted[:3, :3].T @ model.gravity), actuators)
    plant.reset(q)
    signals = {
        "link_position": q,
        "motor_position": plant.theta,
        "joint_torque": plant.joint_torque,
    }
    arm = Arm(model, actuators)
    arm.design(q)
    little = 1e-6 * arm.resting.allowed
    assert arm.resting.judge(q, plant.theta, little) is not None
    arm.base = BaseReference(gravity=model.gravity)
    arm.base.measure(BEGIN, tilted)
    arm.activate()
    arm.update(Sample(BEGIN, signals))
    assert arm.resting.judge(q, plant.theta, little) is None
    assert arm.resting.agrees(q, plant.theta, little) == 1


STEP, BEGIN = 1_000_000, 1_000_000_000  # ns
HOME = np.array([0.3, 0.5])


def ship(t):
    """Sways from rest on, with half a period per second."""
    s = min(t / 2.0, 1.0)
    s = s**5 * (126 - 420 * s + 540 * s**2 - 315 * s**3 + 70 * s**4)
    roll = se3.exp(np.array([0.15 * s * np.sin(np.pi * t), 0.0, 0.0, 0.0, 0.0, 0.0]))
    place = 0.2 * s * np.sin(1.3 * np.pi * t), 0.0, 0.1 * s * np.sin(np.pi * t + 0.5)
    return se3.from_rotation_translation(roll[:3, :3], np.array(place))


def held(known, measured="", settings=None, cycles=2500):
    """The rms error in rad in the last two fifths of these cycles of 1 ms."""
    share = share_directory() / "config"
    model = dyn.load_urdf(share / "robots/planar_two_link.urdf")
    actuators = dyn.load_actuators(share / "elastic_joints/planar_two_link.yaml", model.joint_names)
    times = np.arange(0.0, 5.0, 0.1)
    true = BaseReference()
    true.plan(BEGIN, times, np.array([ship(t) for t in times]))
    plant, arm = ElasticRobot(model, actuators), Arm(model, actuators, settings)
    plant.reset(HOME)
    arm.design(HOME)
    arm.activate()
    if known:
        arm.base = BaseReference(gravity=model.gravity) if measured else true
    errors = []
    for k in range(cycles):
        now = BEGIN + k * STEP
        if measured == "pose":
            arm.base.measure(now, true.at(now)[0])
        elif measured == "imu":
            arm.base.sense(now, *imu(*true.at(now), model.gravity), PLACE)
        signals = {"link_position": plant.q.copy(), "motor_position": plant.theta.copy()}
        command = arm.update(Sample(now, signals | {"joint_torque": plant.joint_torque.copy()}))
        plant.move_base(*true.at(now + STEP // 2))
        plant.step(command.torque, 1e-3)
        errors.append(plant.q - HOME)
    return float(np.sqrt(np.mean(np.square(errors[3 * cycles // 5 :]))))


def test_the_known_motion_of_the_base_removes_the_error_that_it_causes():
    without = held(False)
    assert without > 5e-4
    assert held(True) < 0.01 * without
    assert held(True, measured="pose") < 0.2 * without
    assert held(True, measured="imu") < 0.05 * without


LAWS = FlatnessSettings().controllers


@pytest.mark.parametrize("law", sorted(LAWS.keys() - {"motor_pd", "computed_torque", "hold"}))
def test_every_law_knows_the_base(law):
    """But computed_torque, whose error of springs is larger."""
    assert held(True, settings=FlatnessSettings(law=law), cycles=1200) < 5e-5


def test_an_adaptation_does_not_learn_the_base():
    adapting = replace(LAWS["motor_pd"], adaptation=AdaptationSettings(rate=20.0))
    settings = FlatnessSettings(controllers={**LAWS, "motor_pd": adapting})
    assert held(True, settings=settings, cycles=1200) < 1e-5


def test_links_that_are_observed_move_with_the_base():
    settings = FlatnessSettings(estimation=StateEstimation("motor_encoders", bandwidth=25.0))
    assert held(True, settings=settings) < 0.5 * held(False, settings=settings)
