# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Mean motor torques over a cycle, as drives that average their currents report them.

The torque of a position loop changes within a cycle: while a motor accelerates, it falls between
two commands and jumps at the next one. Its value at the end of the cycle is lower than the mean by
half a cycle times the derivative gain times the acceleration, as if the rotor were lighter.
"""

from __future__ import annotations

import numpy as np

from ...dynamics.core import Array
from ...dynamics.plant import Plant


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
