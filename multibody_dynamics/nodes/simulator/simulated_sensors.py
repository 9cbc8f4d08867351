"""What the simulator shows of its plant: the readings of encoders and torque sensors."""

from __future__ import annotations

from math import inf

import numpy as np

from ...dynamics.plant import Encoder, Plant, TorqueSensor
from .simulator_parameters import SimulatorParameters


class SimulatedSensors:
    """`links` and `motors` with `position` and `velocity`, and `torque` of the joints."""

    def __init__(self, p: SimulatorParameters, plant: Plant, period: float) -> None:
        self._plant = plant
        links, motors, torques = np.random.SeedSequence(p.seed).spawn(3)
        self.links = Encoder(
            len(plant.q),
            period,
            resolution=p.link_encoder_resolution,
            noise=p.link_position_noise,
            velocity_bandwidth=p.velocity_bandwidth or None,
            seed=links,
        )
        self.motors = Encoder(
            len(plant.theta),
            period,
            resolution=p.motor_encoder_resolution,
            noise=p.motor_position_noise,
            velocity_bandwidth=p.velocity_bandwidth or None,
            seed=motors,
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
        """The first reading."""
        plant = self._plant
        self.links.restart(plant.q, plant.qd)
        self.motors.restart(plant.theta, plant.thetad)
        self._torque.restart(plant.joint_torque)

    def update(self) -> None:
        """The reading one period later."""
        plant = self._plant
        self.links.update(plant.q, plant.qd)
        self.motors.update(plant.theta, plant.thetad)
        self._torque.update(plant.joint_torque)
