# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The interface of a plant: a robot with elastic joints, moved in time by motor torques.

Controllers, nodes and comparisons use only this interface, and can therefore run against plants
that share no code: :class:`.ElasticRobot` of this package, and MuJoCo. n joints, m motors and v
variable joints are in the order of the actuators' names, all on the link side of the gear.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..core import Array, IndependentCopies, InputError, read_only
from ..elastic import Actuators
from ..model import MultibodyModel
from .motor_drive import MotorDrive


@dataclass(frozen=True, eq=False)
class EndStops(IndependentCopies):
    """Elastic end stops at the joint limits of the model, which dissipate energy on impact.

    At a depth e beyond the limit, the stop pushes back with K e (1 + c e'), and never pulls.
    Damping that grows with the depth keeps the torque continuous (Hunt and Crossley 1975): a link
    that arrives at the speed v leaves at (1 - 2/3 c v) v, for c v below about 0.5.

    stiffness : K in N m/rad (prismatic: N/m), positive; (n,) or a scalar for all joints.
    damping : c in s/rad (s/m), zero or greater.
    """

    stiffness: Any
    damping: Any = 1.0

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            value = read_only(getattr(self, name))
            may_be_zero = name == "damping"
            good = np.isfinite(value) & ((value > 0.0) | ((value == 0.0) & may_be_zero))
            for i in np.flatnonzero(~good).tolist():
                which = f" of joint {i}" if value.ndim else ""
                right = "zero or greater" if may_be_zero else "positive"
                raise InputError(
                    f"end stops: {name}{which} is {value.flat[i]}: must be {right} and finite"
                )
            object.__setattr__(self, name, value)


class Plant(Protocol):
    """A simulated robot at one instant, which can be stepped to the next one.

    The arrays stay the same objects: every step overwrites them in place. The caller writes only
    `applied_wrenches` and `stiffness`; their values hold until they are changed.
    """

    model: MultibodyModel
    actuators: Actuators
    drive: MotorDrive | None
    """The position loops that :meth:`follow` closes; None if the robot has no drive."""

    q: Array
    """(n,) positions of the links."""
    qd: Array
    """(n,) velocities of the links."""
    theta: Array
    """(m,) positions of the motors."""
    thetad: Array
    """(m,) velocities of the motors."""
    motor_torque: Array
    """(m,) torques applied at this instant, after the drives and the limits of the motors."""
    joint_torque: Array
    """(n,) Q, as measured by a torque sensor behind the spring or the rigid gear."""
    qdd: Array
    """(n,) accelerations of the links."""

    applied_wrenches: Array
    """(n, 6) external wrench on each body: torque, force; inertial axes and origin."""
    stiffness: Array
    """(2, v) rows k and k' of the variable joints. Where no motor sets the stiffness, k continues
    at its rate; for the others only `reset` uses k, to place their motors."""

    def reset(self, q: Any, qd: Any = None, *, theta: Any = None, thetad: Any = None) -> None:
        """Put links at q, q' (n,) and motors at theta, theta' (m,).

        By default the links are at rest, and the motors move with the links, at the positions where
        the springs hold the links against gravity with the second outputs `stiffness`. Raises
        InputError for wrong shapes, NaN or infinity.
        """

    def move_base(self, pose: Array, rates: Array) -> None:
        """Let the base move, pose (4, 4) and spatial twist, acceleration, jerk and jounce (4, 6),
        during the next steps: those in their middle give second order."""

    def step(self, motor_torque: Any, dt: float) -> None:
        """Advance by dt in s under motor torques (m,), held throughout.

        Raises InputError for a wrong shape, NaN or infinity, and DynamicsError where the motion
        diverges; the state is then unchanged.
        """

    def follow(self, position: Any, velocity: Any, feedforward: Any, dt: float) -> None:
        """Advance by dt in s while the drives track theta_ref and theta_ref' with a feedforward
        torque, each (m,).

        Raises the errors of `step`, and InputError if the plant has no drive.
        """

    def set_model(self, model: MultibodyModel) -> None:
        """Continue from the current state with other inertias or gravity, for example with a
        payload.

        Raises InputError for a model with other joints.
        """
