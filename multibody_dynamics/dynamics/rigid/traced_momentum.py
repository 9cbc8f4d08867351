# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Gravity torques and generalised momentum of one robot, recorded as straight-line code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codegen import Program
from ..lie.screws import add, add_screws, cross, load_screw, pair, scale, symmetric_times
from ..model import MultibodyModel
from ..model.records import ROTOR, SCREW, TWIST
from ..recursions import coordinate, spatial
from .crba import world_inertia
from .traced_dynamics import traced_inverse_dynamics
from .tracing import resting_bodies, state_names, traced_robot


def trace_gravity_forces(model: MultibodyModel) -> Program:
    """g(q), the torques of a robot at rest, as straight-line code.

    Input: "q" (n,). Result: "tau" (n,).
    """
    robot = traced_robot(model, ("q",))
    tau, _ = traced_inverse_dynamics(robot, "body", 0, is_loaded=False)
    return robot.program({"tau": tau[0]})


def trace_momentum(model: MultibodyModel) -> Program:
    """p = M q' and beta = g - dT/dq, with p' = Q - beta + tau_ext, as straight-line code.

    With the joint screws S_j, their rates S_j' = ad_V S_j, and the momentum H_j of everything that
    joint j carries, all in spatial representation,

        p_j = S_j . H_j + rotor_j q'_j,    dT/dq_j = S_j' . H_j.

    dT/dq = C^T q' with the Christoffel matrix C; the derivatives of Q are not needed. Inputs: "q"
    and "qd" (n,). Results: "momentum" and "bias" (n,).
    """
    robot = traced_robot(model, state_names(2))
    resting = robot.state.copy()
    resting[1:] = 0
    weight = traced_inverse_dynamics(robot._replace(state=resting), "spatial", 0, False)[0][0]
    parents, joints, state = robot.parents, robot.joints, robot.state
    bodies = resting_bodies(robot, "spatial")
    spatial.forward_recursion(parents, joints, robot.trig, state, 0, bodies)
    carried: list[Any] = [((0, 0, 0), (0, 0, 0))] * robot.body_count
    momentum, bias = np.zeros(robot.n, dtype=object), weight.copy()
    for i in reversed(range(robot.body_count)):
        j = coordinate(joints, i)
        m, c, Theta = world_inertia(joints, bodies, i)
        w, v = load_screw(bodies, i + 1, TWIST)
        linear = scale(m, add(v, cross(w, c)))
        H = add_screws(carried[i], (add(symmetric_times(Theta, w), cross(c, linear)), linear))
        if parents[i] >= 0:
            carried[parents[i]] = add_screws(carried[parents[i]], H)
        rotor = joints[i, ROTOR] * state[1, j]
        momentum[j] = momentum[j] + (pair(load_screw(bodies, i + 1, SCREW), H) + rotor)
        bias[j] = bias[j] - pair(load_screw(bodies, i + 1, SCREW + 6), H)
    return robot.program({"momentum": momentum, "bias": bias})
