# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Q, Q' and Q'' of an arm and of a humanoid: general recursions, code for one robot, and peers."""

import argparse
import ctypes
import itertools
from collections.abc import Callable
from functools import partial

import harness
import numba
import numpy as np
import peers
import pinocchio as pin
from harness import Group, Row

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.codegen import (
    compile_module,
    function_text,
    lanes,
    module_text,
    table_text,
)
from multibody_dynamics.dynamics.rigid import CYCLES
from multibody_dynamics.dynamics.rigid.specialised_kernel import SpecialisedKernel, addresses, table

RNEA = "`pin.rnea` from Python: Q"
SPECIALISED = "specialised, inside compiled code"
UPDATE, CALL = "`solver.update()`", "`solver(q, qd, qdd, qddd, qdddd)`"
PARENTS = (-1, 0, *(limb for start in (2, 8, 14, 20, 26) for limb in (1, *range(start, start + 5))))
BODY = 1.0, np.array([0.05, 0.01, 0.02]), np.diag([0.01, 0.02, 0.015])
NAMES = ("Q", "Q, Q'", "Q, Q', Q''", "Q, Q', Q'', Q'''")


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


def recursion(representation: str, solver: dyn.InverseDynamicsSolver, order: int, calls: int):
    """A general recursion called in a loop of compiled code; the state changes."""
    cycle = CYCLES[representation]

    @numba.njit
    def repeat(count, parents, joints, gravity, order, state, applied, trig, bodies, result):
        total = 0.0
        for k in range(count):
            state[0, 0] = 1e-9 * k
            cycle(parents, joints, gravity, order, state, applied, trig, bodies, result)
            total += result[order, 0]
        return total

    arguments = list(solver.update.arguments)
    arguments[3], arguments[4] = order, solver.state.copy()
    return partial(repeat, calls, *arguments)


def kernel(address: int, arrays: list[np.ndarray], calls: int) -> Callable[[], object]:
    """Straight-line code called in a loop of compiled code; the first array, q, changes."""
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
    where, q, last = addresses(arrays), arrays[0], arrays[-1]

    @numba.njit
    def repeat(count, q, last, where):
        total = 0.0
        for k in range(count):
            q[0] = 1e-9 * k
            function(where.ctypes)
            total += last[0]
        return total

    return lambda: repeat(calls, q, last, where) and len(arrays)


def order_kernel(model: dyn.MultibodyModel, order: int, rows: np.ndarray, calls: int) -> Row:
    """Q and its derivatives up to an order, all numbers of the robot in the code."""
    program = dyn.rigid.trace_inverse_dynamics(model, order)
    width, name = lanes(), "benchmark"
    text = function_text(program, name, width=width)
    text = module_text(text, table_text(program, name), lanes=1, width=width)
    key = f"benchmark-{model.name}-{order}"
    (address,) = compile_module(key, text, [f"{name}.table"])
    state, result = rows[: order + 3].copy(), np.empty((order + 1, model.n))
    arrays = [*state, *result]
    where = addresses(arrays)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(where.ctypes.data)
    expected = dyn.rigid.higher_order_inverse_dynamics(model, state)
    for k in range(order + 1):
        harness.require(f"order {order}, row {k}", result[k], expected[k])
    return Row(f"{NAMES[order]}, {program.size} operations", kernel(address, arrays, calls), calls)


def check(model: dyn.MultibodyModel, robot: pin.Model, state: np.ndarray) -> None:
    """Compare Q with Pinocchio, and Q' and Q'' with complex-step derivatives."""
    expected = pin.rnea(robot, robot.createData(), *state[:3])
    step = 1e-30j
    moved = [row + step * rate for row, rate in itertools.pairwise(state)]
    ahead = dyn.generic_inverse_dynamics(model, *moved, state[4])
    rates = np.array([[complex(x).imag for x in row] for row in ahead[:2]]) / step.imag
    for representation in dyn.REPRESENTATIONS:
        results = dyn.InverseDynamicsSolver(model, representation)(*state)
        for name, got, wanted in zip(("Q", "Q'", "Q''"), results, (expected, *rates), strict=False):
            harness.require(f"{representation} {name}", got, wanted)


def specialised(
    model: dyn.MultibodyModel, representation: str, state: np.ndarray
) -> dyn.InverseDynamicsSolver:
    """A solver with code for its robot, compared with the general one."""
    wanted = np.array(dyn.InverseDynamicsSolver(model, representation, specialise=False)(*state))
    solver = dyn.InverseDynamicsSolver(model, representation, specialise=True)
    if solver.wait() != "specialised":
        raise SystemExit(f"{model.name}: the specialised kernel is not in force")
    for name, row, expected in zip(("Q", "Q'", "Q''"), solver(*state), wanted, strict=True):
        harness.require(f"specialised {representation} {name}", row, expected)
    return solver


def one_robot(
    key: str, model: dyn.MultibodyModel, robot: pin.Model, options: argparse.Namespace
) -> Group:
    """General and specialised solvers; `report.targets` states what they should reach."""
    data, calls = robot.createData(), options.calls
    state = np.random.default_rng(1).normal(size=(5, model.n))
    rows = [row.copy() for row in state]
    rnea = partial(pin.rnea, robot, data, *rows[:3])
    general = dyn.InverseDynamicsSolver(model, "body", specialise=False)
    harness.require("Q", np.array(general(*rows))[0], rnea())
    table_rows = [
        harness.called(RNEA, rnea, options),
        harness.called(f"general, body, {UPDATE}", general.update, options),
        harness.called(f"general, body, {CALL}", partial(general, *rows), options),
    ]
    for representation in ("body", "spatial"):
        solver = specialised(model, representation, state)
        name = f"specialised, {representation}"
        table_rows.append(harness.called(f"{name}, {UPDATE}", solver.update, options))
        table_rows.append(harness.called(f"{name}, {CALL}", partial(solver, *rows), options))
    address = SpecialisedKernel(model).ready()
    arrays = table(state.copy(), np.array(model.joint_rows), np.array(model.gravity),
                   np.empty((3, model.n)))  # fmt: skip
    table_rows.append(Row(SPECIALISED, kernel(address, arrays, calls), calls))
    title = f"Q, Q' and Q'' of {model.name}, {model.n} joints, with code for this robot"
    return Group(key, title, table_rows, RNEA)


def four_representations(
    model: dyn.MultibodyModel, robot: pin.Model, options: argparse.Namespace
) -> Group:
    data, calls = robot.createData(), options.calls
    state = np.random.default_rng(1).normal(size=(5, model.n))
    check(model, robot, state)
    rows = [row.copy() for row in state]
    q, v, a = rows[:3]

    def differences() -> None:
        """Q, Q', Q'' the usual way: Q at three times, then finite differences."""
        h = 1e-3
        for t in (-h, 0.0, h):
            pin.rnea(
                robot, data,
                q + t * (v + t / 2 * (a + t / 3 * rows[3])),
                v + t * (a + t / 2 * rows[3]), a + t * (rows[3] + t / 2 * rows[4]),
            )  # fmt: skip

    found = [
        harness.called(RNEA, partial(pin.rnea, robot, data, q, v, a), options),
        harness.called("`pin.rnea` 3 times, and differences: Q, Q', Q''", differences, options),
    ]
    for name in dyn.REPRESENTATIONS:
        solver = dyn.InverseDynamicsSolver(model, name, specialise=False)
        solver.state[:] = state
        found.append(harness.called(f"{name}, {UPDATE}: {NAMES[2]}", solver.update, options))
        found.append(harness.called(f"{name}, {CALL}: {NAMES[2]}", partial(solver, *rows), options))
        for order in (2, 0):
            inside = recursion(name, solver, order, calls)
            found.append(Row(f"{name}, inside compiled code: {NAMES[order]}", inside, calls))
    passive = dyn.rigid.PassiveInverseDynamicsSolver(model)
    passive.state[:], passive.reference[:] = state[:4], state[1:]
    found.append(harness.called("body, reference velocity: u, u', u''", passive.update, options))
    title = f"inverse dynamics of {model.name}, {model.n} joints, by the general recursions"
    return Group("representations", title, found, RNEA)


def others(model: dyn.MultibodyModel, options: argparse.Namespace) -> list[Row]:
    """Rows of the peers that are installed."""
    state = np.random.default_rng(1).normal(size=(5, model.n))
    found = []
    rust = peers.dynibo_rnea(options.urdf, [row.copy() for row in state[:3]])
    if rust is not None:
        same = model.with_gravity(peers.DYNIBO_GRAVITY)
        wanted = dyn.inverse_dynamics(same, *state[:3]).tau
        harness.require("dynibo: Q", np.array(rust()), wanted, 1e-8)
        found.append(harness.called("dynibo from Python: Q", rust, options))
    generated = peers.casadi_code(model, state)
    if generated is not None:
        repeat, result = generated
        repeat(1)
        for name, row, wanted in zip(
            "QQQ", result, dyn.inverse_dynamics(model, *state), strict=True
        ):
            harness.require(f"CasADi: {name}", row, wanted, 1e-10)
        name = "C code by CasADi, inside compiled code: Q, Q', Q''"
        found.append(Row(name, partial(repeat, options.calls), options.calls))
    return found


def coupled(model: dyn.MultibodyModel, options: argparse.Namespace) -> Group:
    """The same tree with a coordinate for each joint, and with the last joint of each limb
    following the one before it, as fingers with <mimic> do."""
    last = [i for i in range(model.n) if i not in model.parents]
    names = model.joint_names
    followers = {names[i]: {names[int(model.parents[i])]: -0.7} for i in last}
    hand = model.with_couplings(followers)
    state = np.random.default_rng(1).normal(size=(5, hand.n))
    G = np.zeros((model.n, hand.n))
    for i, joint in enumerate(names):
        for name, factor in followers.get(joint, {joint: 1.0}).items():
            G[i, hand.joint_index(name)] = factor
    wanted = np.array(dyn.InverseDynamicsSolver(model, "body")(*(state @ G.T))) @ G
    rows = []
    for what, robot in ((f"{model.n} independent joints", model), (f"{len(last)} of them", hand)):
        solver = dyn.InverseDynamicsSolver(robot, "body", specialise=False)
        if robot is hand:
            harness.require("coupled", np.array(solver(*state)), wanted, 1e-11)
            what += " follow others"
        rows.append(harness.called(f"{what}, {UPDATE}", solver.update, options))
    return Group("coupled", "Q, Q' and Q'' with coupled joints", rows, rows[0].name)


def groups(options: argparse.Namespace) -> list[Group]:
    arm = harness.robots(options.urdf)
    state = np.random.default_rng(1).normal(size=(6, arm[0].n))
    panda = one_robot("specialised", *arm, options)
    panda = Group(panda.key, panda.title, [*panda.rows, *others(arm[0], options)], RNEA)
    orders = [order_kernel(arm[0], order, state, options.calls) for order in range(4)]
    title = f"orders, {arm[0].name}, inside compiled code, all numbers of the robot in the code"
    return [
        four_representations(*arm, options),
        panda,
        Group("orders", title, orders, orders[2].name),
        one_robot("humanoid", *humanoid(), options),
        coupled(humanoid()[0], options),
    ]
