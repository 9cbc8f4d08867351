# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Simulated recordings obey the equation of the motors, and can be repeated."""

from dataclasses import replace

import numpy as np
import pytest

from identified_arms import EXACT, NOISE, URDF, sheet
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.motion import exciting_motion
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.simulation.mujoco_robot import MujocoRobot
from multibody_dynamics.tools.study.conditions import CONDITIONS
from studies.simulated_recording import drive_of, motor_commands, record

QUIET = replace(CONDITIONS["exact"], bits=0)


def moved(plant_of=ElasticRobot, condition=QUIET, noise=0.0, seed=0, dt=2e-3):
    model, actuators = sheet()
    motion = exciting_motion(model, duration=2.0, ramp=0.5, frequency=2.0)
    commands = motor_commands(model, actuators, motion, dt)
    drive = drive_of(model, actuators, commands.q[0])
    extra = () if plant_of is ElasticRobot else (URDF.read_bytes(),)
    plant = plant_of(model, actuators, *extra, drive=drive)
    return record(plant, commands, condition, noise, seed), commands


@pytest.mark.parametrize("plant_of", [ElasticRobot, MujocoRobot])
def test_a_robot_that_is_as_assumed_follows_the_motion(plant_of):
    rows, commands = moved(plant_of)
    assert rows.t[0] < 0.0
    assert np.abs(rows.q - commands.q).max() < 1e-3
    assert np.abs(rows.theta - commands.position).max() < 1e-3


def test_mean_torques_of_the_cycles_are_the_change_of_the_momentum_of_the_motors():
    """M_m (theta'(b) - theta'(a)) = integral of tau_m - Q - friction, with the motion from
    positions alone: central differences over 50 cycles."""
    rows, _ = moved()
    _, actuators = sheet()
    dt = 2e-3
    v = np.gradient(rows.theta, dt, axis=0)
    K = np.array([actuator.spring.K for actuator in actuators.actuators])
    load = K * (rows.theta - rows.q) + actuators.friction(v)
    middle = 0.5 * (load[1:] + load[:-1])
    for begin in range(200, 900, 50):
        end = begin + 50
        pushed = dt * (rows.tau[begin + 1 : end + 1] - middle[begin:end]).sum(axis=0)
        gained = actuators.motor_inertia * (v[end] - v[begin])
        scale = dt * np.abs(rows.tau).max(axis=0) * 50
        assert (np.abs(pushed - gained) < 2e-3 * scale).all()


def test_equal_seeds_give_equal_recordings_with_noise_of_the_stated_size():
    exact, _ = moved()
    noisy, _ = moved(condition=EXACT, noise=NOISE, seed=5)
    again, _ = moved(condition=EXACT, noise=NOISE, seed=5)
    other, _ = moved(condition=EXACT, noise=NOISE, seed=6)
    for a, b, c in zip(noisy, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a is noisy.t or not np.array_equal(a, c)
    assert (noisy.tau - exact.tau).std() == pytest.approx(NOISE, rel=0.1)
    steps = noisy.q / EXACT.resolution
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)
    assert np.abs(noisy.q - exact.q).max() < 2.5 * EXACT.resolution


def test_a_recording_is_read_by_identify(tmp_path):
    rows, _ = moved()
    _, actuators = sheet()
    rows.write(tmp_path / "new" / "run.npz", actuators)
    with np.load(tmp_path / "new" / "run.npz") as content:
        assert set(content) == {"t", "q", "theta", "tau", "joint_names", "motor_names"}
        np.testing.assert_array_equal(content["theta"], rows.theta)


def test_a_robot_without_drives_or_far_from_the_motion_is_refused():
    model, actuators = sheet()
    motion = exciting_motion(model, duration=2.0, ramp=0.5, frequency=2.0)
    commands = motor_commands(model, actuators, motion, 2e-3)
    with pytest.raises(dyn.InputError, match="has no drives"):
        record(ElasticRobot(model, actuators), commands, QUIET, 0.0)
    loose = dyn.plant.MotorDrive(np.zeros(2), np.zeros(2))
    plant = ElasticRobot(model, actuators, drive=loose)
    with pytest.raises(dyn.DynamicsError, match=r"further than 0\.2 rad from the motion"):
        record(plant, commands._replace(torque=0.0 * commands.torque), QUIET, 0.0)
