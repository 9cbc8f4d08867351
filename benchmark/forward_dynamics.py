# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""q'' of an arm and its derivatives by articulated bodies (ABA), compared with Pinocchio."""

import argparse
import ctypes
from functools import partial

import harness
import numba
import numpy as np
import pinocchio as pin
from harness import Group, Row
from inverse_dynamics import kernel

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.codegen import (
    compile_module,
    function_text,
    lanes,
    module_text,
    table_text,
)
from multibody_dynamics.dynamics.rigid import forward_dynamics_cycle
from multibody_dynamics.dynamics.rigid.specialised_kernel import addresses
from multibody_dynamics.dynamics.rigid.tracing import constant_columns
from multibody_dynamics.resources import share_directory

ABA = "`pin.aba` from Python: q''"


@numba.njit
def repeat(count, parents, joints, gravity, prescribed, order, bases, states, *rest):
    """Repeat the control cycle in compiled code; the changing state prevents hoisting."""
    total = 0.0
    for k in range(count):
        states[0, 0, 0] = 1e-9 * k
        forward_dynamics_cycle(parents, joints, gravity, prescribed, order, bases, states, *rest)
        total += states[0, 2, 0]
    return total


def straight_line(
    model: dyn.MultibodyModel, state: list[np.ndarray], wanted: np.ndarray, calls: int
) -> Row:
    """q'' by code for one robot that reads inertias and gravity in every call."""
    constant, width, name = constant_columns(model), lanes(), "benchmark"
    reads = dyn.rigid.TracedInputs(joints=~constant, gravity=model.gravity != 0.0)
    program = dyn.rigid.trace_forward_dynamics(model, reads)
    text = function_text(program, name, width=width)
    text = module_text(text, table_text(program, name), lanes=1, width=width)
    (address,) = compile_module(f"benchmark-aba-{model.name}", text, [f"{name}.table"])
    q, v, tau = (row.copy() for row in state)
    robot = np.array(model.joint_rows), np.array(model.gravity)
    arrays = [q, v, *robot, tau, np.empty(model.n)]
    where = addresses(arrays)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(where.ctypes.data)
    harness.require("straight-line q''", arrays[-1], wanted, 1e-10)
    return Row(
        "straight-line code, inside compiled code: q''", kernel(address, arrays, calls), calls
    )


def simulated_arm(model: dyn.MultibodyModel, q: np.ndarray) -> Row:
    """A cycle of 1 ms of the arm with springs, at rest under the torques that hold its weight."""
    springs = share_directory() / "config" / "elastic_joints" / "panda.yaml"
    arm = dyn.plant.ElasticRobot(model, dyn.load_actuators(springs, model.joint_names))
    arm.reset(q)
    torque, calls = dyn.gravity_forces(model, q), 20
    arm.step(torque, 1e-3)
    harness.require("q of the arm at rest", arm.q, q, 1e-6)
    name = f"`ElasticRobot.step`, 1 ms, {arm.inner_steps(1e-3)} steps of RK4"
    return Row(name, harness.loop(partial(arm.step, torque, 1e-3), calls), calls, 5)


def groups(options: argparse.Namespace) -> list[Group]:
    model, robot = harness.robots(options.urdf)
    data = robot.createData()
    state = np.random.default_rng(1).normal(size=(5, model.n))
    tau = dyn.inverse_dynamics(model, *state)
    solvers = [dyn.ForwardDynamicsSolver(model, order) for order in (0, 1, 2)]
    (qdd,) = solvers[0](*state[:2], tau.tau)
    harness.require("q''", qdd, pin.aba(robot, data, *state[:2], tau.tau), 1e-10)
    for row, wanted in zip(solvers[2](*state[:2], *tau), state[2:], strict=True):
        harness.require("forward after inverse dynamics", row, wanted, 1e-10)

    q, v = state[:2]
    rows = [
        harness.called(ABA, partial(pin.aba, robot, data, q, v, tau.tau), options),
        harness.called("`solver(q, qd, tau)`: q''", partial(solvers[0], q, v, tau.tau), options),
    ]
    for order, gives in enumerate(("q''", "q'', q'''", "q'', q''', q''''")):
        solver = solvers[order]
        solver.state[:], solver.torque[:] = (q, v), tau[: order + 1]
        rows.append(harness.called(f"`solver.update()`: {gives}", solver.update, options))
        inside = partial(repeat, options.calls, *solver.update.args)
        rows.append(Row(f"inside compiled code: {gives}", inside, options.calls))
    rows.append(straight_line(model, [q, v, tau.tau], qdd, options.calls))
    rows.append(simulated_arm(model, q))
    title = f"forward dynamics of {model.name}, {model.n} joints"
    return [Group("forward_dynamics", title, rows, ABA)]
