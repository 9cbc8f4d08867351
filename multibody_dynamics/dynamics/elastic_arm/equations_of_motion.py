# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The equations of motion of an arm with actuators: the time derivative of its state, compiled.

Link side and motor side of [M21] (2), (3), with friction and torques e on the links:

    M(q) q'' + C(q, q') q' + g(q) = Q(q, theta, q', theta') - friction(q', Q) + e,
    M_m theta'' = tau - load(q, theta, q', theta') - friction(theta', load).

At a rigid joint link and motor move as one: theta = q, and M_m adds to the diagonal of M. The model
may have b coordinates of its base before the n of the links, see :mod:`.soft_base`; only e acts on
them. A robot with loops has q of its motors, and the loops are closed in every evaluation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, inlined
from ..elastic import (
    Actuators,
    actuator_rows,
    actuator_tables,
    friction,
    link_friction,
    rigid_rotors,
    springs_recursion,
)
from ..mechanisms import loop_accelerations
from ..model import MultibodyModel
from ..rigid import forward_arrays, plain_forward_dynamics_cycle


class ArmTables(NamedTuple):
    """Constants of the robot for compiled code: links, actuators, and wrenches on the links."""

    parents: NDArray[Any]
    bodies: Array
    gravity: Array
    prescribed: NDArray[Any]
    joints: Array
    motors: Array  # may have more columns than `actuator_tables` defines
    laws: Array
    pieces: Array
    applied: Array  # (N, 18) wrenches in inertial axes, and their rates
    loops: tuple[Array, ...]  # their equations; empty for a tree

    @classmethod
    def of(cls, model: MultibodyModel, actuators: Actuators) -> ArmTables:
        """The tables of a robot, without wrenches. Raises InputError if the model already contains
        the inertia of a rotor."""
        joints, motors, laws, pieces = actuator_rows(actuators)
        bodies, loops, _ = forward_arrays(model)
        tables = cls(
            model.parents,
            bodies,
            np.zeros(3),
            np.zeros(model.n, dtype=bool),
            joints,
            motors,
            laws,
            pieces,
            np.zeros((model.body_count, 18)),
            loops,
        )
        tables.set_model(model, actuators)
        return tables

    def set_model(self, model: MultibodyModel, actuators: Actuators) -> None:
        """Overwrite inertias and gravity with those of another model of the same robot."""
        b = model.n - actuators.n
        actuators.refuse_counting_twice(model.reflected_inertia[b:])
        rotors = model.reflected_inertia.copy()
        rotors[b:] += rigid_rotors(actuators)
        self.bodies[:] = forward_arrays(model.with_reflected_inertia(rotors)).joints
        self.gravity[:] = model.gravity


class ArmScratch(NamedTuple):
    """Buffers of :func:`arm_slope`.

    external: (b + n,) e, torques on base and links besides those of the actuators, N m, for the
    caller to write. torque: (n,) Q, of springs and their dampers, or of the motors of rigid joints.
    """

    external: Array
    torque: Array
    of_joints: Array  # (2, n)
    of_motors: Array  # (2, m)
    motion: Array  # (5, b + n)
    torques: Array  # (3, b + n)
    bodies: tuple[Array, ...]  # a plain tuple, which compiled code can unpack into a call

    @classmethod
    def of(cls, model: MultibodyModel, actuators: Actuators) -> ArmScratch:
        """Buffers for a robot, which may have coordinates of its base before those of the
        actuators, without external torques."""
        total, n, m = model.n, actuators.n, len(actuators.motors)
        return cls(
            np.zeros(total),
            np.zeros(n),
            np.zeros((2, n)),
            np.zeros((2, m)),
            np.zeros((5, total)),
            np.zeros((3, total)),
            forward_arrays(model).scratch,
        )


class ArmState(NamedTuple):
    """The parts of a state x (2 (b + n) + 2 m,): q, q' of base and links, theta, theta'."""

    q: Array
    qd: Array
    theta: Array
    thetad: Array


@inlined
def arm_springs(tables, scratch, state, second):
    """Write the torques of the springs and the loads of the motors for links at `state.q` (n,) to
    `scratch`."""
    q, qd, theta, thetad = state
    springs_recursion(
        tables.joints, tables.laws, tables.pieces, None, q, qd, theta, thetad, second,
        scratch.torque, scratch.of_joints[0], scratch.of_joints[1],
        scratch.of_motors[0], scratch.of_motors[1],
    )  # fmt: skip


@inlined
def link_accelerations(loops, tables, scratch):
    """q'' of base and links to the third row of `scratch.motion`, from the other rows and
    `scratch.torques`; False if M is singular or loops cannot be closed."""
    if len(loops) == 0:  # decided by its type, when this is compiled
        return plain_forward_dynamics_cycle(
            tables.parents,
            tables.bodies,
            tables.gravity,
            tables.prescribed,
            0,
            scratch.motion,
            scratch.torques,
            tables.applied,
            *scratch.bodies,
        )
    return loop_accelerations(
        tables.parents,
        tables.bodies,
        tables.gravity,
        loops,
        tables.applied,
        scratch.motion,
        scratch.torques,
        *scratch.bodies,
    )


@inlined
def arm_accelerations(tables, scratch, state, tau, dx):
    """Write the derivative of the state under the motor torques tau (m,) and the torques and loads
    in `scratch` to dx. Returns False if M is singular or loops cannot be closed."""
    joints, motors = tables.joints, tables.motors
    q, qd, _, thetad = state
    torque, motion, torques = scratch.torque, scratch.motion, scratch.torques
    load = scratch.of_motors[0]
    n, m, total = joints.shape[0], motors.shape[0], motion.shape[1]
    b = total - n
    for k in range(total):
        i = k - b
        torques[0, k] = scratch.external[k]
        if i >= 0:
            if joints[i, actuator_tables.RIGID] == 1.0:
                j = int(joints[i, actuator_tables.MOTOR])
                torque[i] = tau[j] - friction(motors, j, thetad[j], tau[j])
            torques[0, k] = torque[i] + scratch.external[k]
            if joints[i, actuator_tables.HAS_LINK_FRICTION] != 0.0:
                torques[0, k] -= link_friction(joints, i, qd[k], torque[i])
        motion[0, k] = q[k]
        motion[1, k] = qd[k]
    regular = link_accelerations(tables.loops, tables, scratch)
    for j in range(m):
        dx[2 * total + j] = thetad[j]
        if motors[j, actuator_tables.INERTIA] > 0.0:
            net = tau[j] - load[j] - friction(motors, j, thetad[j], load[j])
            dx[2 * total + m + j] = net / motors[j, actuator_tables.INERTIA]
    for k in range(total):
        dx[k] = qd[k]
        dx[total + k] = motion[2, k]
        if k >= b and joints[k - b, actuator_tables.RIGID] == 1.0:
            dx[2 * total + m + int(joints[k - b, actuator_tables.MOTOR])] = motion[2, k]
    return regular


@inlined
def arm_slope(tables, scratch, state, second, tau, dx):
    """Write the derivative of the state under the motor torques tau (m,) to dx (2 (b + n) + 2 m,).

    Returns False if M is singular.

    second: (2, v) stiffness of the variable joints, with its rate.
    """
    b = scratch.motion.shape[1] - tables.joints.shape[0]
    links = ArmState(state.q[b:], state.qd[b:], state.theta, state.thetad)
    arm_springs(tables, scratch, links, second)
    return arm_accelerations(tables, scratch, state, tau, dx)
