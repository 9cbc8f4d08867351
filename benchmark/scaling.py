# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Cost per joint in chains of up to 1000 joints: O(n)."""

import argparse
from functools import partial

import harness
import numpy as np
import pinocchio as pin
from harness import Group, Row

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.rigid.tracing import MOST_JOINTS

SIZES = (7, 30, 60, 250, 500, 1000)
DERIVATIVES = (30, 60, 250)
PINOCCHIO = 250  # joints; beyond this, its workspace takes many gigabytes
BODY = 1.0, np.array([0.05, 0.01, 0.02]), np.diag([0.01, 0.02, 0.015])


def chain(n: int) -> dyn.MultibodyModel:
    """n revolute joints with axes x, y, z alternately, about 10 cm apart."""
    points = np.arange(n)[:, None] * np.array([0.1, 0.0, 0.02])
    screws = [dyn.revolute(np.eye(3)[i % 3], points[i]) for i in range(n)]
    poses = dyn.se3.from_rotation_translation(np.eye(3), points)
    return dyn.model_from_screws(range(-1, n - 1), screws, poses, [dyn.spatial_inertia(*BODY)] * n)


def pinocchio_chain(model: dyn.MultibodyModel) -> pin.Model:
    """The same chain for Pinocchio."""
    robot = pin.Model()
    kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    for i, pose in enumerate(model.poses):
        before = model.poses[i - 1] if i else np.eye(4)
        placement = pin.SE3(np.eye(3), pose[:3, 3] - before[:3, 3])
        joint = robot.addJoint(i, kinds[i % 3](), placement, model.joint_names[i])
        robot.appendBodyToJoint(joint, pin.Inertia(*BODY), pin.SE3.Identity())
    robot.gravity.linear[:] = model.gravity
    return robot


def rows(n: int) -> list[Row]:
    model = chain(n)
    state = np.random.default_rng(1).normal(scale=0.1, size=(5, n))
    inverse = dyn.InverseDynamicsSolver(model, "body", specialise=False)
    forward = dyn.ForwardDynamicsSolver(model)
    inverse.state[:] = state
    inverse.update()
    tau = inverse.result[0].copy()
    forward.state[:], forward.torque[:] = state[:2], tau
    forward.update()
    harness.require(f"q'' of {n} joints", forward.result[0], state[2], 1e-6)
    arguments = list(inverse.update.arguments)
    arguments[3] = 0
    found = {
        "Q": partial(inverse.update.function, *arguments),
        "Q, Q', Q''": inverse.update,
        "q''": forward.update,
    }
    if n <= MOST_JOINTS:
        special = dyn.InverseDynamicsSolver(model, "body", specialise=True)
        special.state[:] = state
        if special.wait() != "specialised":
            raise SystemExit(f"{n} joints: the specialised kernel is not in force")
        special.update()
        for k, row in enumerate(special.result):
            harness.require(f"specialised, {n} joints, row {k}", row, inverse.result[k])
        found["specialised: Q, Q', Q''"] = special.update
    if n <= PINOCCHIO:
        robot = pinocchio_chain(model)
        data = robot.createData()
        harness.require(f"Q of {n} joints", tau, pin.rnea(robot, data, *state[:3]))
        found["`pin.rnea`: Q"] = partial(pin.rnea, robot, data, *state[:3])
        found["`pin.aba`: q''"] = partial(pin.aba, robot, data, *state[:2], tau)
    calls = max(2000 // n, 3)
    return [
        Row(f"{n} joints, {name}", harness.loop(block, calls), calls, 5)
        for name, block in found.items()
    ]


def derivative_rows(n: int) -> list[Row]:
    """The derivatives of q'', which contain a product of dense matrices (n, n)."""
    model = chain(n)
    q, v, a = np.random.default_rng(1).normal(scale=0.1, size=(3, n))
    tau = dyn.inverse_dynamics(model, q, v, a).tau
    solver, robot = dyn.rigid.ForwardDynamicsDerivativesSolver(model), pinocchio_chain(model)
    theirs = partial(pin.computeABADerivatives, robot, robot.createData(), q, v, tau)
    for got, wanted in zip(solver(q, v, tau)[:2], theirs(), strict=False):
        harness.require(f"derivatives of q'' of {n} joints", got, wanted, 1e-6)
    calls = max(200 // n, 1)
    return [
        Row(f"{n} joints", harness.loop(solver.update, calls), calls, 20),
        Row(f"{n} joints, `pin.computeABADerivatives`", harness.loop(theirs, calls), calls, 20),
    ]


def groups(options: argparse.Namespace) -> list[Group]:
    title = "chains of n joints, called from Python on persistent buffers"
    sizes, long_sizes = (
        [n for n in each if n <= max(options.joints, each[1])] for each in (SIZES, DERIVATIVES)
    )
    long = [row for n in long_sizes for row in derivative_rows(n)]
    return [
        Group("chains", title, [row for n in sizes for row in rows(n)]),
        Group("chain_derivatives", f"derivatives of q'' of {title}", long),
    ]
