# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Runs of the two-link arm with springs for tests of collision detection: noise-free states of the
true robot, seen with a wrong model."""

from functools import cache

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import DetectionSettings, RecordedMotion, learn_thresholds
from multibody_dynamics.dynamics.elastic import load_actuators
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.study.model_errors import with_model_errors

PERIOD = 1e-3
RESOLUTION = 2.0 * np.pi / 2**18


@cache
def robot():
    """The model and actuators of the two-link arm."""
    share = share_directory() / "config"
    model = dyn.load_urdf(share / "robots" / "planar_two_link.urdf")
    springs = share / "elastic_joints" / "planar_two_link.yaml"
    return model, load_actuators(springs, model.joint_names)


@cache
def wrong():
    """The same with every parameter 10 % off."""
    return with_model_errors(*robot(), 0.1, np.random.default_rng(3))


class Run:
    """The arm swings under PD control of its motors; `step` returns t, q, theta as measured."""

    def __init__(self, speed: float, seed: int = 0) -> None:
        model, actuators = robot()
        self.plant = ElasticRobot(model, actuators, step=PERIOD)
        self.plant.reset(np.zeros(2))
        self.start, self.weight = self.plant.theta.copy(), dyn.gravity_forces(model, np.zeros(2))
        self.speed, self.k = speed, 0
        self.rng = np.random.default_rng(seed)

    def step(self, force: float = 0.0):
        plant, t = self.plant, self.k * PERIOD
        phase = self.speed * t * np.array([1.0, 1.37])
        fade = min(t, 1.0)
        desired = self.start + 0.6 * fade * np.sin(phase)
        plant.applied_wrenches[1] = 0.0
        if force:
            at = dyn.forward_kinematics(plant.model, plant.q).pose[1, :3, 3]
            f = np.array([0.0, 0.0, force])
            plant.applied_wrenches[1] = (*np.cross(at + np.array([0.3, 0.0, 0.0]), f), *f)
        torque = dyn.gravity_forces(plant.model, plant.q)
        torque += 400.0 * (desired - plant.theta) - 30.0 * plant.thetad
        plant.step(torque, PERIOD)
        self.k += 1
        noise = self.rng.standard_normal((2, 2)) * RESOLUTION / 3.0
        read = RESOLUTION * np.round((np.array([plant.q, plant.theta]) + noise) / RESOLUTION)
        return self.k * PERIOD, read[0], read[1]

    def record(self, seconds: float) -> RecordedMotion:
        rows = [self.step() for _ in range(round(seconds / PERIOD))]
        t, q, theta = (np.array(column) for column in zip(*rows, strict=True))
        return RecordedMotion(t, q, theta)


@cache
def learned(seconds: float = 8.0):
    """Thresholds of the wrong model."""
    return learn_thresholds(*wrong(), Run(2.0).record(seconds), DetectionSettings())
