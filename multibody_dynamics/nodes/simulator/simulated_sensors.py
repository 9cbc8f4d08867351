# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The sensors of the simulated arm: encoders of links and motors, joint torque sensors, and the
mean motor torques over a cycle, as drives that average their currents report them.

The torque of a position loop changes within a cycle: while a motor accelerates, it falls between
two commands and jumps at the next one. Its value at the end of the cycle is lower than the mean by
half a cycle times the derivative gain times the acceleration, as if the rotor were lighter.
"""

from functools import partial
from math import inf

import numpy as np

from ...dynamics.core import Array
from ...dynamics.plant import DriveEffects, Eccentricity, Encoder, Plant, TorqueSensor
from .simulator_parameters import SimulatorParameters


class SimulatedSensors:
    """Encoders `links` and `motors`, with `position` and `velocity`, and the joint `torque`."""

    def __init__(
        self,
        p: SimulatorParameters,
        plant: Plant,
        period: float,
        effects: DriveEffects | None = None,
    ) -> None:
        self._plant = plant
        self._links, self._motors = Eccentricity.of(effects or DriveEffects(), plant.actuators)
        links, motors, torques = np.random.SeedSequence(p.seed).spawn(3)

        encoder = partial(Encoder, period=period, velocity_bandwidth=p.velocity_bandwidth or None)
        self.links = encoder(
            len(plant.q),
            resolution=p.link_encoder_resolution,
            noise=p.link_position_noise,
            seed=links,
        )
        self.motors = encoder(
            len(plant.theta),
            resolution=p.motor_encoder_resolution,
            noise=p.motor_position_noise,
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
        """Take the first reading."""
        plant = self._plant
        self.links.restart(*self._links(plant.q, plant.qd))
        self.motors.restart(*self._motors(plant.theta, plant.thetad))
        self._torque.restart(plant.joint_torque)

    def update(self) -> None:
        """Take the reading one period later."""
        plant = self._plant
        self.links.update(*self._links(plant.q, plant.qd))
        self.motors.update(*self._motors(plant.theta, plant.thetad))
        self._torque.update(plant.joint_torque)


class DependentJoints:
    """The states of all joints of a simulated robot, also of those that depend on its coordinates.

    names : of the coordinates and of the dependent joints.
    """

    def __init__(self, plant: Plant) -> None:
        self._plant, self._model = plant, plant.model
        self.names = (*self._model.joint_names, *self._model.dependent_joints)

    def added(self, position: Array, velocity: Array, effort: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and efforts of `names`, from those of the coordinates (n,). Joints
        behind a transmission have efforts; the other dependent ones have zero.

        Joints that loops determine have their exact state: measured positions need not close them.
        """
        of_joints = np.zeros(len(self.names))
        of_joints[: len(effort)] = effort
        for each in self._model.transmissions:
            motors, joints = (list(map(self.names.index, x)) for x in (each.motors, each.joints))
            of_joints[joints] = each.of_joints("effort", effort[motors])
        state = (position, velocity) if self._model.couplings else (self._plant.q, self._plant.qd)
        dependent = self._model.dependent_motion(*state)
        moved, rates = map(np.concatenate, zip((position, velocity), dependent, strict=True))
        return moved, rates, of_joints


def stepped(plant: Plant, torque: Array, duration: float) -> Array:
    """Advance a plant under constant torques (m,); returns the torques within the limits."""
    plant.step(torque, duration)
    return _limited(plant, torque)


def driven(
    plant: Plant, position: Array, velocity: Array, feedforward: Array, duration: float
) -> Array:
    """Advance a plant with its drives, as `Plant.follow` does; returns the mean torques (m,)."""
    before = np.stack([plant.theta, plant.thetad])
    plant.follow(position, velocity, feedforward, duration)
    after = np.stack([plant.theta, plant.thetad])
    assert plant.drive is not None
    reference = np.stack([position, velocity])
    return _limited(plant, plant.drive.mean_torque(reference, feedforward, before, after, duration))


def _limited(plant: Plant, torque: Array) -> Array:
    limit = plant.actuators.torque_limit
    return np.asarray(np.clip(torque, -limit, limit))
