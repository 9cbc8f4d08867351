# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The sensors of the simulated arm: encoders of links and motors, and joint torque sensors."""

from __future__ import annotations

from math import inf

import numpy as np

from ...dynamics.plant import Encoder, Plant, TorqueSensor
from .simulator_parameters import SimulatorParameters


class SimulatedSensors:
    """Encoders `links` and `motors`, with `position` and `velocity`, and the joint `torque`."""

    def __init__(self, p: SimulatorParameters, plant: Plant, period: float) -> None:
        self._plant = plant
        links, motors, torques = np.random.SeedSequence(p.seed).spawn(3)

        def encoder(
            n: int, resolution: float, noise: float, seed: np.random.SeedSequence
        ) -> Encoder:
            bandwidth = p.velocity_bandwidth or None
            return Encoder(
                n,
                period,
                resolution=resolution,
                noise=noise,
                velocity_bandwidth=bandwidth,
                seed=seed,
            )

        self.links = encoder(len(plant.q), p.link_encoder_resolution, p.link_position_noise, links)
        self.motors = encoder(
            len(plant.theta), p.motor_encoder_resolution, p.motor_position_noise, motors
        )
        self._torque = TorqueSensor(
            len(plant.q),
            period,
            bandwidth=p.torque_sensor_bandwidth or inf,
            noise=p.torque_noise,
            seed=torques,
        )
        self.torque = self._torque.torque

    def restart(self) -> None:
        """Take the first reading."""
        plant = self._plant
        self.links.restart(plant.q, plant.qd)
        self.motors.restart(plant.theta, plant.thetad)
        self._torque.restart(plant.joint_torque)

    def update(self) -> None:
        """Take the reading one period later."""
        plant = self._plant
        self.links.update(plant.q, plant.qd)
        self.motors.update(plant.theta, plant.thetad)
        self._torque.update(plant.joint_torque)
