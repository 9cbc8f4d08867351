# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""An arm holds its posture on a ship: its error with the motion of the base over that without."""

from __future__ import annotations

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.control import Arm, BaseReference, Sample
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.resources import share_directory

STEP, BEGIN = 1_000_000, 1_000_000_000  # ns
HOME = np.array([0.3, 0.5])


def ship(t):
    """Sways from rest on, with half a period per second."""
    s = min(t / 2.0, 1.0)
    s = s**5 * (126 - 420 * s + 540 * s**2 - 315 * s**3 + 70 * s**4)
    roll = se3.exp(np.array([0.15 * s * np.sin(np.pi * t), 0.0, 0.0, 0.0, 0.0, 0.0]))
    place = 0.2 * s * np.sin(1.3 * np.pi * t), 0.0, 0.1 * s * np.sin(np.pi * t + 0.5)
    return se3.from_rotation_translation(roll[:3, :3], np.array(place))


def held(known, measured=False):
    """The rms error in rad from 1.5 to 2.5 s."""
    share = share_directory() / "config"
    model = dyn.load_urdf(share / "robots/planar_two_link.urdf")
    actuators = dyn.load_actuators(share / "elastic_joints/planar_two_link.yaml", model.joint_names)
    times = np.arange(0.0, 5.0, 0.1)
    true = BaseReference()
    true.plan(BEGIN, times, np.array([ship(t) for t in times]))
    plant, arm = ElasticRobot(model, actuators), Arm(model, actuators)
    plant.reset(HOME)
    arm.design(HOME)
    arm.activate()
    if known:
        arm.base = BaseReference() if measured else true
    errors = []
    for k in range(2500):
        now = BEGIN + k * STEP
        if measured:
            arm.base.measure(now, true.at(now)[0])
        signals = {"link_position": plant.q.copy(), "motor_position": plant.theta.copy()}
        command = arm.update(Sample(now, signals | {"joint_torque": plant.joint_torque.copy()}))
        plant.move_base(*true.at(now + STEP // 2))
        plant.step(command.torque, 1e-3)
        errors.append(plant.q - HOME)
    return float(np.sqrt(np.mean(np.square(errors[1500:]))))


def test_the_known_motion_of_the_base_removes_the_error_that_it_causes():
    without = held(False)
    assert without > 1e-3
    assert held(True) < 0.01 * without
    assert held(True, measured=True) < 0.1 * without
