# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""An arm with linear springs and what real drives add, with laws other than those of the flat map.

Links and motors have LuGre friction [C. Canudas de Wit et al., IEEE TAC 40(3), 1995], the springs
have Maxwell slip elements with sharp corners and a dead zone, and their gears a kinematic error.
The semi-implicit Euler rule with a step of 0.1 ms integrates them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from multibody_dynamics.dynamics.core.inputs import Array
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.rigid.crba import gravity_forces
from multibody_dynamics.dynamics.rigid.forward_dynamics_solver import ForwardDynamicsSolver
from multibody_dynamics.tools.study.conditions import CONDITIONS
from multibody_dynamics.tools.study.single_run import simulate
from multibody_dynamics.tools.study.studied_laws import chosen_laws
from multibody_dynamics.tools.study.studied_robots import built_in_robots, load_arm

STEP = 1e-4  # s
PRESLIDING = 2e-4  # rad, deflection of the bristles of LuGre at Coulomb friction
SHARES = np.linspace(0.25, 1.0, 4)  # of the deflection at which the last slip element slides


@dataclass(frozen=True, eq=False)
class Effects:
    """Coulomb and breakaway friction of links and motors and slip torques in N m, the deflection
    in rad at which all elements slide; the gap, and amplitude and order of the kinematic error per
    rad of the motor on the link side; (n,) or scalars."""

    friction: Any = 0.0
    breakaway: Any = 0.0
    stribeck_velocity: float = 0.05
    motor_friction: Any = 0.0
    motor_load: Any = 0.0
    slip: Any = 0.0
    slip_deflection: Any = 5e-3
    gap: Any = 0.0
    error: Any = 0.0
    order: Any = 1.0


class RealDrive:
    """The plant, with the interface that the study needs of it."""

    def __init__(self, model, actuators: Actuators, effects: Effects) -> None:
        n = model.n
        self.model, self.actuators, self.effects, self.drive = model, actuators, effects, None
        self.stiffness_of_springs = np.array([each.spring.K for each in actuators.actuators])
        self.q, self.qd, self.theta, self.thetad = np.zeros((4, n))
        self.motor_torque, self.joint_torque, self.qdd = np.zeros((3, n))
        self.applied_wrenches, self.stiffness = np.zeros((n, 6)), np.zeros((2, 0))
        self.set_model(model)

    def set_model(self, model) -> None:
        self.model, self._links = model, ForwardDynamicsSolver(model)

    def reset(self, q) -> None:
        n = len(q)
        self.q[:], self.qd[:], self.thetad[:] = q, 0.0, 0.0
        Q = gravity_forces(self.model, self.q)
        self.theta[:] = q + Q / self.stiffness_of_springs + np.sign(Q) * self.effects.gap / 2.0
        self.slipped, self.bristles = np.zeros((len(SHARES), n)), np.zeros((2, n))

    def _friction(self, k: int, v: Array, coulomb: Any, breakaway: Any) -> Array:
        """LuGre friction of links (k = 0) or motors (k = 1); advances its bristles."""
        coulomb = np.broadcast_to(coulomb, v.shape)
        if not coulomb.any():
            return np.zeros_like(v)
        g = coulomb + np.maximum(breakaway - coulomb, 0.0) * np.exp(
            -((v / self.effects.stribeck_velocity) ** 2)
        )
        s0 = coulomb / PRESLIDING
        z = self.bristles[k]
        rate = (v - s0 * np.abs(v) * z / g) / (1.0 + STEP * s0 * np.abs(v) / g)
        z += STEP * rate
        return s0 * z + 0.3 * np.sqrt(s0) * rate * np.exp(-((v / 0.05) ** 2))

    def step(self, motor_torque, dt: float) -> None:
        e, actuators = self.effects, self.actuators
        self.motor_torque[:] = np.clip(
            motor_torque, -actuators.torque_limit, actuators.torque_limit
        )
        viscous = np.array([motor.viscous for motor in actuators.motors])
        coulomb = np.array([motor.coulomb for motor in actuators.motors])
        speed = np.array([motor.coulomb_velocity for motor in actuators.motors])
        slope = np.broadcast_to(e.slip, self.q.shape) / (len(SHARES) * SHARES.mean())
        for _ in range(round(dt / STEP)):
            turned = e.order * self.theta
            phi = self.theta + e.error * np.sin(turned) - self.q
            ratio = 1.0 + e.error * e.order * np.cos(turned)
            phid = ratio * self.thetad - self.qd
            spring = self.stiffness_of_springs * (phi - np.clip(phi, -e.gap / 2.0, e.gap / 2.0))
            reach = np.outer(SHARES, np.broadcast_to(e.slip_deflection, self.q.shape))
            self.slipped += STEP * phid
            np.clip(self.slipped, -reach, reach, out=self.slipped)
            Q = spring + (slope / e.slip_deflection * self.slipped).sum(axis=0)
            on_motors = viscous * self.thetad + coulomb * np.tanh(self.thetad / speed)
            level = e.motor_friction + e.motor_load * np.abs(Q)
            on_motors += self._friction(1, self.thetad, level, 1.3 * level)
            on_links = self._friction(0, self.qd, e.friction, e.breakaway)
            links = self._links
            links.state[0], links.state[1] = self.q, self.qd
            links.torque[0] = Q - on_links
            links.update()
            self.qdd[:] = links.result[0]
            self.qd += STEP * self.qdd
            self.q += STEP * self.qd
            net = self.motor_torque - ratio * Q - on_motors
            self.thetad += STEP * net / actuators.motor_inertia
            self.theta += STEP * self.thetad
            self.joint_torque[:] = Q


def panda():
    """The Panda of the study with its fast motion."""
    return load_arm(built_in_robots()["panda"])


def errors_with(effects: Effects, actuators: Actuators, until=np.inf):
    """The outcome of the study for the fast motion under `effects`, with 18-bit encoders, for the
    default law with these actuators."""
    arm = panda()
    plant = RealDrive(arm.model, arm.actuators, effects)
    chosen = next(iter(chosen_laws(["all"])))  # motor_pd, the default
    return simulate(arm, chosen, CONDITIONS["exact"], plant=plant,
                    assumed=(arm.model, actuators), until=until)  # fmt: skip


def with_terms(actuators: Actuators, **changes: Any) -> Actuators:
    """The actuators with other fields, each (n,) values or one for all."""
    rows = []
    for i, each in enumerate(actuators.actuators):
        own = {k: v[i] if isinstance(v, list) else v for k, v in changes.items()}
        rows.append(replace(each, **own))
    return replace(actuators, actuators=tuple(rows))
