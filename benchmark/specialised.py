"""Straight-line code for one robot, compared with the general recursion and Pinocchio's Q."""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Callable
from functools import partial

import harness
import numba
import numpy as np
import pinocchio as pin

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.rigid.specialised_kernel import SpecialisedKernel, addresses, table

BATCH = 2**13
PARENTS = (-1, 0, *(limb for start in (2, 8, 14, 20, 26) for limb in (1, *range(start, start + 5))))
BODY = 1.0, np.array([0.05, 0.01, 0.02]), np.diag([0.01, 0.02, 0.015])


def humanoid() -> tuple[dyn.MultibodyModel, pin.Model]:
    """32 joints: a waist of two, and five limbs of six, with axes x, y, z alternately."""
    n = len(PARENTS)
    points = np.zeros((n, 3))
    robot = pin.Model()
    kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    for i, parent in enumerate(PARENTS):
        step = np.array([0.1, 0.02 * (i % 5), 0.02])
        points[i] = (points[parent] if parent >= 0 else 0.0) + step
        joint = robot.addJoint(parent + 1, kinds[i % 3](), pin.SE3(np.eye(3), step), f"joint{i}")
        robot.appendBodyToJoint(joint, pin.Inertia(*BODY), pin.SE3.Identity())
    robot.gravity.linear[:] = (0.0, 0.0, -9.81)
    model = dyn.model_from_screws(
        PARENTS,
        [dyn.revolute(np.eye(3)[i % 3], points[i]) for i in range(n)],
        dyn.se3.from_rotation_translation(np.eye(3), points),
        [dyn.spatial_inertia(*BODY)] * n,
        name="humanoid",
    )
    return model, robot


def inside(solver: dyn.InverseDynamicsSolver, calls: int) -> Callable[[], object]:
    """The specialised kernel called in a loop of compiled code; the state changes."""
    address = SpecialisedKernel(solver.model).ready()
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
    state, result = solver.state.copy(), solver.result.copy()
    joints, gravity = np.array(solver.model.joint_rows), np.array(solver.model.gravity)
    where = addresses(table(state, joints, gravity, result))

    @numba.njit
    def repeat(count, state, result, where):
        total = 0.0
        for k in range(count):
            state[0, 0] = 1e-9 * k
            kernel(where.ctypes)
            total += result[2, 0]
        return total

    return lambda: repeat(calls, state, result, where) and joints.size + gravity.size


def measured(model: dyn.MultibodyModel, robot: pin.Model, options: argparse.Namespace) -> None:
    data, calls = robot.createData(), options.calls
    state = np.random.default_rng(1).normal(size=(5, model.n))
    rows = [row.copy() for row in state]
    reference = "pin.rnea from Python: Q"
    rnea = partial(pin.rnea, robot, data, *rows[:3])
    blocks: dict[str, Callable[[], object]] = {reference: harness.loop(rnea, calls)}
    general = dyn.InverseDynamicsSolver(model, "body")
    wanted = np.array(general(*rows))
    harness.require("Q", wanted[0], rnea())
    specialised = dyn.InverseDynamicsSolver(model, "body", specialise=True)
    if specialised.wait() != "specialised":
        raise SystemExit("the specialised kernel is not in force")
    found = np.array(specialised(*rows))
    for k in range(3):
        harness.require("QQQ"[: k + 1], found[k], wanted[k])
    for name, solver in (("general", general), ("specialised", specialised)):
        blocks[f"{name}, solver.update()"] = harness.loop(solver.update, calls)
        blocks[f"{name}, solver(q, ..., q'''')"] = harness.loop(partial(solver, *rows), calls)
    blocks["specialised, inside compiled code"] = inside(specialised, calls)
    title = f"Q, Q' and Q'' of {model.name}, {model.n} joints"
    harness.report(title, harness.measure(blocks, options.blocks, calls), reference)


def batches(model: dyn.MultibodyModel, robot: pin.Model, options: argparse.Namespace) -> None:
    """Time per state of a large batch, on one core: all variants are pinned."""
    data = robot.createData()
    states = np.random.default_rng(2).normal(size=(5, BATCH, model.n))
    rows = [row[0].copy() for row in states[:3]]
    evaluate = dyn.rigid.BatchInverseDynamics(model)
    general = dyn.inverse_dynamics(model, *states, representation="body")
    for k, (found, wanted) in enumerate(zip(evaluate(*states), general, strict=True)):
        harness.require(f"batch, row {k}", found, wanted)
    out = np.empty((3, BATCH, model.n))
    reference = "pin.rnea from Python: Q"
    rnea = harness.loop(partial(pin.rnea, robot, data, *rows), BATCH)
    blocks = {
        reference: rnea,
        "inverse_dynamics": partial(dyn.inverse_dynamics, model, *states, representation="body"),
        "BatchInverseDynamics": partial(evaluate, *states, threads=1),
        "BatchInverseDynamics with out": partial(evaluate, *states, out=out, threads=1),
    }
    title = f"Q, Q' and Q'' of {BATCH} states, {model.n} joints, on one core, per state"
    harness.report(title, harness.measure(blocks, max(options.blocks // 2, 5), BATCH), reference)


def run(options: argparse.Namespace) -> None:
    arm = harness.robots(options.urdf)
    measured(*arm, options)
    measured(*humanoid(), options)
    batches(*arm, options)


if __name__ == "__main__":
    harness.main(run, __doc__)
