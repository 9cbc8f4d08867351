# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Torques of motors whose positions were recorded.

The links do not determine where the motors of a joint with a second output (stiffness or
pretension) are. Their recorded positions do, and the motors that move a link exert together

    sum of tau = Q + sum of (M_m theta'' + friction(theta', load)),

because their loads on the springs add up to Q, whatever the pretension or the stiffness.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..dynamics.core import Array, InputError
from ..dynamics.elastic import Actuators
from .settings import Robot, Settings


@dataclass(frozen=True, eq=False)
class MeasuredMotors:
    """The e motors of the recorded joints. Samples and states have their columns after those of the
    n joints.

    places : (e,) their indices among the m motors of the robot.
    """

    actuators: Actuators
    places: NDArray[np.intp]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.actuators.motor_names[place] for place in self.places)

    @cached_property
    def joints(self) -> NDArray[np.intp]:
        """(e,) their joints."""
        return np.asarray(self.actuators.joint_of_motor[self.places])

    @cached_property
    def _moves(self) -> Array:
        """(m, n): 1 where a motor moves a link."""
        return np.asarray(self.actuators.link_of_motors > 0.0, dtype=np.float64)

    def at_joints(self, efforts: Array) -> Array:
        """(..., n) sums of efforts (..., n + e) of the motors that move each link."""
        return np.asarray(efforts[..., self.actuators.n :] @ self._moves[self.places])

    def torque(self, state: Array, Q: Array) -> Array:
        """(k, n) sums of the torques of the motors that move each link along `state`
        (5, k, n + e), q to q'''' of joints and motors, under the joint torques Q (k, n)."""
        n = self.actuators.n
        theta, velocity, acceleration = self.at_motors(state[:3, ..., n:])
        load = Q @ self.actuators.link_of_motors.T
        for i, actuator, motors, _ in self.actuators.each():
            if np.count_nonzero(self._moves[:, i]) > 1:  # with a pretension
                rows = [[row[..., j] for j in motors] for row in (theta, velocity)]
                springs = actuator.spring_rows(*state[:2, ..., i], *rows, (), "continue")
                load[..., motors] = np.stack(springs.loads, axis=-1)
        friction = self.actuators.friction(velocity, load)
        rotors = (self.actuators.motor_inertia * acceleration + friction) @ self._moves
        return np.asarray(Q + rotors)

    def at_motors(self, columns: Array, missing: float = 0.0) -> Array:
        """Columns (..., e) at their places (..., m); the others are `missing`."""
        found = np.full((*columns.shape[:-1], len(self.actuators.motors)), missing)
        found[..., self.places] = columns
        return found


def measured_motors(robot: Robot, settings: Settings) -> MeasuredMotors | None:
    """The motors whose positions must be recorded to compare motor efforts; None if the links
    determine those of all joints.

    Raises InputError if the motors are not described.
    """
    if settings.effort != "motor":
        return None
    actuators = robot.actuators
    if actuators is None:
        raise InputError(
            "motor efforts can be compared only with a description of the motors: --elastic-joints"
        )
    if actuators.motor_names == actuators.joint_names and not actuators.variable_joints:
        return None
    held = [name in settings.held for name in actuators.joint_names]
    return MeasuredMotors(actuators, np.flatnonzero(~np.array(held)[actuators.joint_of_motor]))
