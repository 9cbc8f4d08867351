# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The torque feedforward of a desired motion, as a sum of named terms.

    Q     = M q'' + C q' + g - J^T W               joint torques, with Q' and Q''
    tau_m = load + rotor + friction                motor torques; a single motor's load is Q
    theta = q + phi(Q), theta' = ..., theta'' = ...  required motion of the motors

W are the applied wrenches, and those of the ground on a robot that stands. If the robot compensates
gravity itself, the torque commands leave gravity out; the springs still deflect under it, so theta
always includes it.
"""

from math import isfinite
from typing import Protocol

import numpy as np

from ...core import Array, IndependentCopies
from ...elastic import VARIANTS, Actuators, Motor, MotorCommand, MotorFeedforward, Rigid
from ...model import MultibodyModel
from ...rigid import inverse_solver


class Ground(Protocol):
    """What carries the base of a robot that stands, such as :class:`.StandingForces`."""

    problem: str

    def move_base(self, pose: Array, rates: Array) -> None: ...

    def update(self, state: Array, wrenches: Array) -> None: ...


class FeedforwardLaw(IndependentCopies):
    """Torque feedforward of a desired motion, computed in place.

    Fill `desired`, call `update()`, read `torque` and `motor`; nothing is allocated per call,
    unless there is a `ground`.

    actuators: springs and motors; None for a robot with rigid joints and no motor data.
    ground: its forces on the bodies; None for a robot whose base is carried otherwise.

    The caller writes `desired`, `stiffness` and `applied_wrenches`; `update` overwrites all other
    arrays in place. `desired` and `applied_wrenches` are the buffers of the inverse dynamics solver
    (its `state` and `applied_wrenches`), `joint_torque` is its result, and the springs read the
    same `desired`: nothing is copied between them, but for the wrenches of a robot that stands, to
    which those of the ground are added. A second solver, without gravity, computes the share of
    gravity where the robot compensates it.

    Attributes
    ----------
    desired : (5, n) q, q', q'', q''', q''''.
    stiffness : (3, v) second outputs of the variable joints, as in `MotorFeedforward`.
    applied_wrenches : (n, 3, 6) external wrenches on the bodies, with two rates, in inertial axes
        about the inertial origin.
    torque : (3, n) Q, Q', Q'' to command, with the friction of links, and without gravity where the
        robot compensates it.
    joint_torque : (n,) Q of the rigid links with gravity.
    motor : theta, theta', theta'' and tau_m, (m,) each; tau_m leaves out gravity as `torque` does.
    load, friction_and_rotor : (m,), terms of tau_m.
    variant : how springs enter, see `dyn.elastic.VARIANTS`; may be set between calls.
    gravity_compensated_by_robot : may be set between calls.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators | None = None,
        *,
        variant: str = "full",
        gravity_compensated_by_robot: bool = False,
        ground: Ground | None = None,
    ) -> None:
        n = model.n
        if actuators is None:
            actuators = Actuators(model.joint_names, (Rigid(Motor(0.0)),) * n)
        actuators.refuse_counting_twice(model.reflected_inertia)
        m = len(actuators.motors)
        self.model = model
        self.actuators = actuators
        self.variant = variant
        self.gravity_compensated_by_robot = gravity_compensated_by_robot
        self._complete = inverse_solver(model)
        self._weightless = inverse_solver(model.with_gravity((0.0, 0.0, 0.0)))
        self.desired: Array = self._complete.state
        self._ground, self._base_pose = ground, np.eye(4)
        self.applied_wrenches: Array = self._complete.applied_wrenches
        if ground is not None:
            self.applied_wrenches = self.applied_wrenches.copy()
        self.joint_torque: Array = self._complete.result[0]
        self._gravity: Array = np.zeros((3, n))
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
        self.update()  # compile now, not in the first cycle
        self.advance(1e-3)
        self.settle()

    def update(self) -> None:
        """Compute every output from `desired`, `stiffness` and `applied_wrenches`."""
        if self._ground is not None:
            self._complete.applied_wrenches[:] = self.applied_wrenches
            self._ground.update(self.desired, self._complete.applied_wrenches)
        self._complete.update()
        springs = self._springs[self.variant]
        springs.stiffness[:] = self.stiffness
        springs.update()
        self._motor_rows[:] = springs.result
        np.subtract(self.motor.torque, springs.load, out=self.friction_and_rotor)
        self.torque[:] = springs.carried
        self.load[:] = springs.load
        if self.gravity_compensated_by_robot:
            gravity = self.gravity
            self.torque -= gravity
            self.load -= gravity_load(self.actuators, gravity[0])
        np.add(self.load, self.friction_and_rotor, out=self.motor.torque)

    @property
    def gravity(self) -> Array:
        """(3, n) share of gravity in the joint torques of the last update, with rates; valid until
        `desired` or `applied_wrenches` change."""
        weightless = self._weightless
        weightless.state[:] = self.desired
        weightless.applied_wrenches[:] = self._complete.applied_wrenches
        weightless.update()
        return np.subtract(self._complete.result, weightless.result, out=self._gravity)

    def move_base(self, pose: Array, rates: Array) -> None:
        """Use this motion of the base from the next update on, see :meth:`.ModelSolver.move_base`;
        `gravity` is then that on the base so moved."""
        self._complete.move_base(pose, rates)
        self._weightless.move_base(pose, rates)
        if self._ground is not None:
            self._ground.move_base(pose, rates)
            self._base_pose[:] = pose

    def advance(self, dt: float) -> None:
        """Advance the deflections of damped springs and the bristles of links by dt in s, under the
        torque of the last update."""
        for springs in self._springs.values():
            springs.advance(dt)

    def settle(self) -> None:
        """Start a new motion: damped springs are assumed settled at the next update."""
        for springs in self._springs.values():
            springs.settle()

    def hold(self, q: Array) -> None:
        """Compute every output for rest at q (n,), with settled springs and no wrenches but those
        of the ground, on which the base rests where it is."""
        self.desired[0], self.desired[1:] = q, 0.0
        self.stiffness[1:] = 0.0
        self.applied_wrenches[:] = 0.0
        if self._ground is not None:
            self.move_base(self._base_pose, np.zeros((4, 6)))
        self.settle()
        self.update()

    def problems(self) -> tuple[str, ...]:
        """Problems of the springs at the last update; see `MotorFeedforward.problems`."""
        return self._springs[self.variant].problems()

    def failure(self) -> str:
        """Why the values of the last update are not finite."""
        problem = self._ground.problem if self._ground is not None else ""
        return problem or self._complete.problem() or "the computed torque is not finite"

    def is_finite(self) -> bool:
        """Whether all values in `torque` and `motor` are finite."""
        return isfinite(self.torque.sum() + self._motor_rows.sum())


def gravity_load(actuators: Actuators, gravity: Array) -> Array:
    """(m,) share of each motor in the gravity torques (n,) of its joint, which the commands leave
    out for a robot that compensates gravity itself."""
    return actuators.torque_share * gravity[actuators.joint_of_motor]
