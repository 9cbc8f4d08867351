# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Arms whose state is estimated from their motors, springs and sensors."""

import numpy as np

from flat_motions import linear_springs
from kinds import EXAMPLES
from multibody_dynamics.dynamics.elastic import Motor, SeriesElastic
from multibody_dynamics.dynamics.elastic.actuator_cycle import resting_second_outputs
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.flatness import motor_motion
from multibody_dynamics.dynamics.elastic.springs import CubicSpring, LinearSpring
from multibody_dynamics.dynamics.rigid.aba import forward_dynamics
from multibody_dynamics.dynamics.rigid.crba import gravity_forces
from robots import two_link_planar

STEP = 1e-3


def elastic(model, friction: bool = False) -> Actuators:
    n = model.n
    some = {"viscous": 0.5, "coulomb": 0.3, "coulomb_velocity": 0.2} if friction else {}
    K, inertia = np.linspace(900.0, 400.0, n), np.linspace(0.3, 0.1, n)
    return linear_springs(model.joint_names, K, inertia, **some)


def stiffness_of(joints: Actuators) -> np.ndarray:
    return np.array([getattr(each, "spring", LinearSpring(1e12)).K for each in joints.actuators])


def gravity_hold(robot):
    return gravity_forces(robot.model, robot.q)


KINDS = {name: example.actuator for name, example in EXAMPLES.items()}
SHOULDER = SeriesElastic(Motor(0.3), CubicSpring(600.0, 1e4))


def arm(kind: str, sources: tuple[str, ...] = ()) -> Actuators:
    return Actuators(("shoulder", "elbow"), (SHOULDER, KINDS[kind]), sources)


class Arm:
    """The textbook arm on springs of any kind, by RK4; only the links are compiled."""

    def __init__(self, actuators: Actuators) -> None:
        self.model, self.actuators = two_link_planar(), actuators
        m, state, torque = len(actuators.motors), *np.zeros((2, 3, 2))
        state[0] = 0.3, 0.4
        torque[0] = gravity_forces(self.model, state[0])
        self.k = np.zeros((3, len(actuators.variable_joints)))
        self.k[0] = resting_second_outputs(actuators)
        bent = actuators.settled_deflection(torque)
        at_rest = motor_motion(actuators, state, torque, self.k, deflection=bent)
        self.hold = at_rest.torque
        self.x = np.concatenate((state[0], state[1], at_rest.position, np.zeros(m)))

    def rows(self, x: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        x = self.x if x is None else x
        return x[:2], x[2:4], *x[4:].reshape(2, -1)

    def springs(self, x: np.ndarray | None = None):
        k = self.k[:2] if self.k.size else None
        return self.actuators.springs(*self.rows(x), stiffness=k, beyond="continue")

    def slope(self, x: np.ndarray, tau: np.ndarray) -> np.ndarray:
        q, qd, _, thetad = self.rows(x)
        found = self.springs(x)
        motors = self.actuators.motor_acceleration(thetad, found.load, tau)
        links = forward_dynamics(self.model, q, qd, found.torque)
        return np.concatenate((qd, links, thetad, motors))

    def step(self, tau: np.ndarray, h: float) -> None:
        a = self.slope(self.x, tau)
        b = self.slope(self.x + 0.5 * h * a, tau)
        c = self.slope(self.x + 0.5 * h * b, tau)
        d = self.slope(self.x + h * c, tau)
        self.x = self.x + h / 6.0 * (a + 2.0 * (b + c) + d)


def command_of(robot: Arm, start: np.ndarray, t: float) -> np.ndarray:
    theta, thetad = robot.rows()[2:]
    wave = 0.1 * (1 - np.cos(4.0 * t)) * np.cos(np.arange(len(start)))
    return robot.hold + 60.0 * (start + wave - theta) - 6.0 * thetad
