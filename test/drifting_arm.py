# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""An arm that works for days: residual statistics of its motion, with noise, heat and faults."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.signal import lfilter

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.elastic import Actuators, LinearSpring, Motor, SeriesElastic
from multibody_dynamics.dynamics.identification import JointFriction
from multibody_dynamics.validation.comparison import Compared
from multibody_dynamics.validation.drift_statistics import spring_sums, torque_sums
from multibody_dynamics.validation.settings import Robot
from robots import CONFIG

URDF = CONFIG / "robots" / "planar_two_link.urdf"
RATE = 40.0  # Hz
SECOND = 1_000_000_000
STIFFNESS = np.array([500.0, 250.0])


def robot() -> Robot:
    """What the watch assumes: no payload, and friction of 1 N m s/rad and 0.5 N m (Coulomb)."""
    model = dyn.load_urdf(URDF)
    friction = JointFriction.smooth_coulomb([1.0, 1.0], [0.5, 0.5], [0.0, 0.0])
    springs = [SeriesElastic(Motor(0.1), LinearSpring(K)) for K in STIFFNESS]
    return Robot(model, friction, Actuators(model.joint_names, springs))


@dataclass
class Arm:
    """The true robot. heat : share of the friction that a cold joint has in addition."""

    rng: np.random.Generator
    payload: float = 0.0
    friction: np.ndarray = field(default_factory=lambda: np.ones(2))  # times the known one
    stiffness: np.ndarray = field(default_factory=lambda: np.ones(2))
    heat: float = 0.0
    thermal_time: float = 1000.0  # s
    noise: float = 0.05  # N m, of low-pass filtered torques
    warmth: float = 0.0
    stamp: int = 1_700_000_000 * SECOND

    known: Robot = field(default_factory=robot)

    def pause(self, seconds: float) -> None:
        """Rest for a while."""
        self.warmth *= np.exp(-seconds / self.thermal_time)
        self.stamp += round(seconds * SECOND)

    def move(self, seconds: float = 10.0):
        """(stamp, sums) after a piece of motion, which differs from all others."""
        count = round(seconds * RATE)
        t = np.arange(count) / RATE
        model, rng = self.known.model, self.rng
        w, phase = rng.uniform(1.0, 3.0, 2), rng.uniform(0, 2 * np.pi, 2)
        q, qd, qdd = (0.7 * w**k * np.sin(np.outer(t, w) + phase + k * np.pi / 2) for k in range(3))
        body = model.body_names[-1]
        loaded = model.with_payload(body, self.payload, [0.1, 0.0, 0.0], np.zeros((3, 3)))
        cold = 1.0 + self.heat * (1.0 - self.warmth)
        loss = self.known.friction.torque(qd)
        torque = dyn.inverse_dynamics(loaded, q, qd, qdd).tau + self.friction * cold * loss
        predicted = dyn.inverse_dynamics(model, q, qd, qdd).tau + loss
        white = rng.normal(size=(count, 2))
        measured = torque + self.noise * lfilter([0.6], [1.0, -0.8], white, axis=0)
        rows = np.stack([predicted, predicted, predicted]), np.stack([measured] * 3)
        state = np.stack([q, qd, qdd, qdd, qdd])
        sums = torque_sums(self.known, model.n - 1, Compared(t, state, *rows), 1.0 / RATE)
        theta = q + torque / (self.stiffness * STIFFNESS) + 1e-4 * rng.normal(size=q.shape)
        sensed = torque + 0.1 * rng.normal(size=q.shape)
        sums = sums + spring_sums(self.known.actuators, q, theta, sensed)
        self.warmth = 1.0 - (1.0 - self.warmth) * np.exp(-seconds / self.thermal_time)
        self.stamp += round(seconds * SECOND)
        return self.stamp, sums

    def after(self, **changes) -> Arm:
        """The same arm with a fault."""
        return replace(self, **changes)
