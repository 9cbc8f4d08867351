"""The torque law of the feedforward, without ROS: from a desired motion to what joints and motors
must do, as a sum of named terms.

    Q     = motion + gravity                       torques at the links, with Q' and Q''
    tau_m = load + rotor + friction                torques of the motors; a single one's load is Q
    theta = q + phi(Q), theta' = ..., theta'' = ...  where the motors must be

motion: inertial, Coriolis and centrifugal torques, less what an applied wrench does. gravity may be
left to a robot that compensates it itself; the springs bend under it all the same, so it always
counts in theta.
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from ...dynamics.core import Array
from ...dynamics.elastic import VARIANTS, Actuators, Motor, MotorCommand, MotorFeedforward, Rigid
from ...dynamics.model import MultibodyModel
from ...dynamics.rigid import InverseDynamicsSolver


class FeedforwardLaw:
    """Fill `desired`, call `update()`, read `torque` and `motor`; nothing is allocated per call.

    actuators: springs and motors; None for a robot with rigid joints and no motor data.

    Attributes
    ----------
    desired : (5, n) q, q', q'', q''', q''''.
    stiffness : (3, v) second outputs of the variable joints, as in `MotorFeedforward`.
    applied_wrenches : (n, 3, 6) what the world applies to the bodies, with rates, in inertial axes
        about the inertial origin.
    torque : (3, n) Q, Q', Q'' without what the robot compensates itself.
    joint_torque : (n,) Q with it: what the springs are under.
    motor : theta, theta', theta'' and tau_m (m,) each, the last without it too.
    motion, gravity : (3, n); load, friction_and_rotor : (m,). The terms.
    variant : how springs enter, see `actuator_cycle.VARIANTS`; may be set between calls.
    gravity_compensated_by_robot : may be set between calls.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators | None = None,
        *,
        variant: str = "full",
        gravity_compensated_by_robot: bool = False,
    ) -> None:
        n = model.n
        if actuators is None:
            actuators = Actuators(model.joint_names, [Rigid(Motor(0.0))] * n)
        actuators.refuse_counting_twice(model.reflected_inertia)
        m = len(actuators.motors)
        self.model = model
        self.actuators = actuators
        self.variant = variant
        self.gravity_compensated_by_robot = gravity_compensated_by_robot
        self._complete = InverseDynamicsSolver(model)
        self._weightless = InverseDynamicsSolver(model.with_gravity((0.0, 0.0, 0.0)))
        self.desired: Array = self._complete.state
        self.applied_wrenches: Array = self._complete.applied_wrenches
        self.joint_torque: Array = self._complete.result[0]
        self.motion: Array = self._weightless.result
        self.gravity: Array = np.zeros((3, n))
        self.load: Array = np.zeros(m)
        self.friction_and_rotor: Array = np.zeros(m)
        self.torque: Array = np.zeros((3, n))
        self._springs = {
            name: MotorFeedforward(actuators, self.desired, self._complete.result, variant=name)
            for name in VARIANTS
        }
        self.stiffness: Array = self._springs["full"].stiffness.copy()
        self._motor_rows: Array = np.zeros((4, m))
        self.motor = MotorCommand(*self._motor_rows)
        self._share, self._joints = actuators.torque_share, actuators.joint_of_motor
        self.update()  # compiled now, not in the first cycle
        self.advance(1e-3)
        self.settle()

    def update(self) -> None:
        """From `desired`, `stiffness` and `applied_wrenches` to everything else."""
        self._weightless.state[:] = self.desired
        self._weightless.applied_wrenches[:] = self.applied_wrenches
        self._weightless.update()
        self._complete.update()
        np.subtract(self._complete.result, self.motion, out=self.gravity)

        springs = self._springs[self.variant]
        springs.stiffness[:] = self.stiffness
        springs.update()
        self._motor_rows[:] = springs.result
        np.subtract(self.motor.torque, springs.load, out=self.friction_and_rotor)

        self.torque[:] = self.motion
        self.load[:] = springs.load
        if self.gravity_compensated_by_robot:
            self.load -= self._share * self.gravity[0, self._joints]
        else:
            self.torque += self.gravity
        np.add(self.load, self.friction_and_rotor, out=self.motor.torque)

    def advance(self, dt: float) -> None:
        """Let damped springs go on for dt in s, under the torque of the last update."""
        self._springs["full"].advance(dt)  # the others do not know them

    def settle(self) -> None:
        """A new motion begins: damped springs are settled at the next update."""
        self._springs["full"].settle()

    def problems(self) -> tuple[str, ...]:
        """What the springs could not do at the last update; see `MotorFeedforward.problems`."""
        return self._springs[self.variant].problems()

    def is_finite(self) -> bool:
        """Whether every number of `torque` and `motor` is finite."""
        return isfinite(self.torque.sum() + self._motor_rows.sum())
