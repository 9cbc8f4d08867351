"""The torque law of the feedforward, without ROS: from a desired motion to what joints and motors
must do, as a sum of named terms.

    Q     = motion + gravity                        torques at the links, with Q' and Q''
    tau_m = motion + gravity + rotor + friction     torques of the motors
    theta = q + K^-1 Q, theta' = ..., theta'' = ... where the motors must be

motion: inertial, Coriolis and centrifugal torques, less what an applied wrench does. gravity may be
left to a robot that compensates it itself; the springs bend under it all the same, so it always
counts in theta.
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from ..dynamics.elastic_joints import (
    VARIANTS,
    MotorCommand,
    MotorFeedforward,
    SeriesElasticJoints,
    refuse_counting_twice,
)
from ..dynamics.inputs import Array
from ..dynamics.inverse_dynamics_solver import InverseDynamicsSolver
from ..dynamics.model import MultibodyModel


class FeedforwardLaw:
    """Fill `desired`, call `update()`, read `torque` and `motor`; nothing is allocated per call.

    joints: springs and motors; None for a robot with rigid joints and no motor data.

    Attributes
    ----------
    desired : (5, n) q, q', q'', q''', q''''.
    applied_wrenches : (n, 3, 6) what the world applies to the bodies, with rates, in inertial axes
        about the inertial origin.
    torque : (3, n) Q, Q', Q'' without what the robot compensates itself.
    motor : theta, theta', theta'' and tau_m (n,) each, the last without it too.
    motion, gravity : (3, n); friction_and_rotor : (n,). The terms.
    variant : how springs enter, see `elastic_joints.VARIANTS`; may be set between calls.
    gravity_compensated_by_robot : may be set between calls.
    """

    def __init__(
        self,
        model: MultibodyModel,
        joints: SeriesElasticJoints | None = None,
        *,
        variant: str = "full",
        gravity_compensated_by_robot: bool = False,
    ) -> None:
        n = model.n
        if joints is None:
            joints = SeriesElasticJoints(model.joint_names, np.full(n, np.inf), np.zeros(n))
        refuse_counting_twice(joints, model.reflected_inertia)
        self.model = model
        self.joints = joints
        self.variant = variant
        self.gravity_compensated_by_robot = gravity_compensated_by_robot
        self._complete = InverseDynamicsSolver(model)
        self._weightless = InverseDynamicsSolver(model.with_gravity((0.0, 0.0, 0.0)))
        self.desired: Array = self._complete.state
        self.applied_wrenches: Array = self._complete.applied_wrenches
        self.motion: Array = self._weightless.result
        self.gravity: Array = np.zeros((3, n))
        self.friction_and_rotor: Array = np.zeros(n)
        self.torque: Array = np.zeros((3, n))
        self._springs = {
            name: MotorFeedforward(joints, self.desired, self._complete.result, variant=name)
            for name in VARIANTS
        }
        self._motor_rows: Array = np.zeros((4, n))
        self.motor = MotorCommand(*self._motor_rows)

    def update(self) -> None:
        """From `desired` and `applied_wrenches` to everything else."""
        self._weightless.state[:] = self.desired
        self._weightless.applied_wrenches[:] = self.applied_wrenches
        self._weightless.update()
        self._complete.update()
        np.subtract(self._complete.result, self.motion, out=self.gravity)

        springs = self._springs[self.variant]
        springs.update()
        self._motor_rows[:] = springs.result
        np.subtract(self.motor.torque, self._complete.result[0], out=self.friction_and_rotor)

        self.torque[:] = self.motion
        if not self.gravity_compensated_by_robot:
            self.torque += self.gravity
        np.add(self.torque[0], self.friction_and_rotor, out=self.motor.torque)

    def is_finite(self) -> bool:
        """Whether every number of `torque` and `motor` is finite."""
        return isfinite(self.torque.sum() + self._motor_rows.sum())
