# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Mechanisms with loops: in the control cycle, and for n joints and m constraints in NumPy."""

import argparse
import runpy
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path

import harness
import numpy as np
import pinocchio as pin
from harness import Group, Row
from scaling import chain, pinocchio_chain

from multibody_dynamics import dynamics as dyn

EXAMPLES = Path(__file__).parents[1] / "examples"
PERIOD, STATES = 0.5, 500  # s, of a motion of all independent joints at 1 kHz
SIZES = ((10, 2), (1000, 2), (300, 40))  # joints and pins


def pinned_chain(n: int, pins: int) -> dyn.mechanisms.ConstrainedModel:
    """A chain with `pins` bodies along it attached to the ground by ball joints."""
    model = chain(n)
    places = np.linspace(0, n - 1, pins + 1).astype(int)[1:]
    closures = [
        dyn.mechanisms.LoopClosure.at(
            model, f"pin{i}", model.base_name, int(i), dyn.spherical(), point=model.poses[i, :3, 3]
        )
        for i in places
    ]
    return dyn.mechanisms.ConstrainedModel(model, closures)


def forward(system: dyn.mechanisms.ConstrainedModel) -> Callable[[], object]:
    n = system.tree.n
    q, qd, tau = np.zeros(n), np.zeros(n), np.random.default_rng(1).normal(size=n)
    run = partial(dyn.mechanisms.constrained_forward_dynamics, system, q, qd, tau)
    found = run()
    (A,) = dyn.mechanisms.constraint_matrices(system, q)
    free = A @ dyn.forward_dynamics(system.tree, q, qd, tau)
    harness.require(f"A q'' of {n} joints, zero at rest", free + A @ found.qdd, free, 1e-6)
    return run


def delta_robot() -> dyn.mechanisms.ConstrainedModel:
    """A delta robot whose pairs of rods are one rod each, with a platform that stays level."""
    arm, base, platform, drop = 0.25, 0.12, 0.05, 0.5
    body = dyn.spatial_inertia(0.3, (0, 0, 0), 0.01 * np.eye(3))
    parents, screws, wrists = [-1], [np.stack([dyn.prismatic(e) for e in np.eye(3)])], []
    for k in range(3):
        out, side, _ = dyn.so3.exp([0, 0, 2 * np.pi / 3 * k]).T
        shoulder, elbow = base * out, (base + arm) * out
        wrist = platform * out + [0, 0, -drop]
        along = np.cross(side, wrist - elbow)
        parents += [-1, len(parents)]
        screws += [dyn.revolute(side, shoulder), dyn.universal(elbow, side, along)]
        wrists.append(wrist)
    names = ["place", *(f"{part}{k}" for k in range(3) for part in ("motor", "elbow"))]
    tree = dyn.model_from_screws(
        parents, screws, [np.eye(4)] * 7, [body] * 7, joint_names=names, name="delta",
        body_names=names,
    )  # fmt: skip
    loops = [
        dyn.mechanisms.LoopClosure.at(
            tree, f"wrist{k}", f"elbow{k}", "place", dyn.spherical(), point=p
        )
        for k, p in enumerate(wrists)
    ]
    return dyn.mechanisms.ConstrainedModel(tree, loops, ["motor0", "motor1", "motor2"])


def humanoid() -> dyn.mechanisms.ConstrainedModel:
    """30 motors from neck to feet, two of which move the ankles by four-bar linkages."""
    x, y, z = np.eye(3)
    parts: dict[str, tuple] = {}
    loops, passive = [], []

    def add(name: str, above: str, axis: np.ndarray, place: tuple, mass: float) -> str:
        size = 0.1 * mass ** (1 / 3)
        turning = 0.4 * mass * size**2 * np.diag((1.0, 0.9, 0.6))
        body = dyn.spatial_inertia(mass, (0.01, 0.0, -0.3 * size), turning)
        pose = dyn.se3.from_rotation_translation(np.eye(3), place)
        parent = list(parts).index(above) if above else -1
        parts[name] = (parent, dyn.revolute(axis, place), pose, body)
        return name

    waist = add("waist", "", z, (0, 0, 0.1), 2.0)
    chest = add("chest", waist, y, (0, 0, 0.2), 10.0)
    add("head", add("neck", chest, z, (0, 0, 0.6), 0.5), y, (0, 0, 0.65), 3.0)
    arm = [(y, 0.5), (x, 0.5), (z, 0.4), (y, 0.2), (z, 0.1), (x, -0.05), (y, -0.05)]
    leg = [(z, -0.05), (x, -0.05), (y, -0.05), (y, -0.4)]
    for side, out in (("left", 0.1), ("right", -0.1)):
        above = chest
        for k, (axis, height) in enumerate(arm):
            above = add(f"{side}_arm{k}", above, axis, (0, 2 * out, height), 1.5 / (k + 1))
    for side, out in (("left", 0.1), ("right", -0.1)):
        above = ""
        for k, (axis, height) in enumerate(leg):
            above = add(f"{side}_leg{k}", above, axis, (0, out, height), 4.0 / (k + 1))
        crank = add(f"{side}_crank", above, y, (0, out, -0.46), 0.2)
        rod = add(f"{side}_rod", crank, y, (-0.05, out, -0.46), 0.25)
        ankle = add(f"{side}_ankle", above, y, (0, out, -0.74), 0.3)
        add(f"{side}_foot", ankle, x, (0, out, -0.74), 0.9)
        loops.append((f"{side}_heel", rod, ankle, (-0.06, out, -0.74)))
        passive += [rod, ankle]
    parents, screws, poses, inertias = zip(*parts.values(), strict=True)
    tree = dyn.model_from_screws(
        parents, screws, poses, inertias, joint_names=tuple(parts), name="humanoid",
        body_names=tuple(parts),
    )  # fmt: skip
    pins = [
        dyn.mechanisms.LoopClosure.at(tree, name, first, second, dyn.revolute(y), point=point)
        for name, first, second, point in loops
    ]
    motors = [name for name in parts if name not in passive]
    return dyn.mechanisms.ConstrainedModel(tree, pins, motors)


def cycles(
    system: dyn.mechanisms.ConstrainedModel, q: list[float], base: dyn.BaseMotion | None = None
) -> list[Row]:
    """Q, Q' and Q'' along a motion at 1 kHz, in which every state is another one."""
    make = partial(dyn.mechanisms.ConstrainedInverseDynamicsSolver, system, q)
    solver, special = make(), make(specialise=True)
    for each in (solver, special):
        each.set_base(base)
    assert special.wait() == "specialised"
    order, omega = np.arange(5)[:, None, None], 2 * np.pi / PERIOD
    t = PERIOD * np.arange(STATES)[:, None] / STATES + 0.1 * np.arange(solver.dof)
    motion = 0.2 * omega**order * np.sin(omega * t + order * np.pi / 2)
    motion[0] += solver.state[0] - motion[0, 0]
    full, torques = solver.batch(*motion)
    expected = dyn.mechanisms.constrained_inverse_dynamics(system, *full, base=base)
    for k in range(3):
        row = expected[k][:, system.actuated_indices]
        harness.require(f"torques of {system.tree.name}", torques[k], row, 1e-11)
    rows = cycle([tuple(motion[:, k].copy()) for k in range(STATES)])
    what = system.tree.name + (" that floats" if base else "")
    name = f"Q, Q', Q'' of {what}: {system.n} joints, {len(solver.multipliers)} rows"
    own = np.array(special(*motion[:, 0]))
    harness.require(f"{name}, its own code", own, np.array([row[0] for row in torques]), 1e-11)
    return [
        Row(name, harness.loop(lambda: solver(*next(rows)), 100), 100),
        Row(f"{name}, its own code", harness.loop(lambda: special(*next(rows)), 100), 100),
    ]


def cycle_rows() -> list[Row]:
    """The control cycle, and the forward dynamics by this package and by Pinocchio."""
    five_bar = runpy.run_path(str(EXAMPLES / "10_five_bar.py"))["five_bar"]
    rods = runpy.run_path(str(EXAMPLES / "11_delta_robot.py"))["delta_robot"]
    system, rng = pinned_chain(10, 2), np.random.default_rng(1)
    name = f"forward dynamics, {system.n} joints, {system.m} constraints"
    n, tau = system.n, rng.normal(size=10)
    zero = np.zeros(n)
    solver = dyn.mechanisms.ConstrainedForwardDynamicsSolver(system, zero)
    state = np.zeros(solver.dof)
    found = solver(state, state, tau).copy()
    robot = pinocchio_chain(system.tree)
    data, models = robot.createData(), pin.StdVec_RigidConstraintModel()
    for loop in system.constraints:
        joint = system.tree.body_index(loop.second) + 1
        place, body = pin.SE3(loop.first_pose), pin.SE3.Identity()
        kind, axes = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL
        models.append(pin.RigidConstraintModel(kind, robot, 0, place, joint, body, axes))
    works = pin.StdVec_RigidConstraintData()
    works.extend([model.createData() for model in models])
    pin.initConstraintDynamics(robot, data, models, works)
    settings = pin.ProximalSettings(1e-12, 1e-12, 10)
    arguments = robot, data, zero, zero, tau, models, works, settings
    expected = pin.constraintDynamics(*arguments)[system.indices(solver.independent)]
    harness.require("forward dynamics of the pinned chain", found, expected, 1e-6)
    return [
        *cycles(five_bar(["left_shoulder", "right_shoulder"]), np.radians([-150, 110, -30, -110])),
        *cycles(delta_robot(), np.zeros(12)),
        *cycles(rods(), np.zeros(21)),
        *cycles(humanoid(), np.zeros(34)),
        *cycles(humanoid(), np.zeros(34), dyn.BaseMotion(None, *rng.normal(size=(4, 6)))),
        Row(
            f"{name}, Pinocchio", harness.loop(lambda: pin.constraintDynamics(*arguments), 100), 100
        ),
        Row(name, harness.loop(lambda: solver(state, state, tau), 100), 100),
    ]


def groups(_: argparse.Namespace) -> list[Group]:
    rows = [
        Row(
            f"{n} joints, {3 * pins} constraints",
            harness.loop(forward(pinned_chain(n, pins)), 3),
            3,
            60,
        )
        for n, pins in SIZES
    ]
    title = "forward dynamics of a chain with loops, one state, from Python"
    in_cycle = "mechanisms with loops in the control cycle, one state, from Python"
    return [Group("loops", in_cycle, cycle_rows()), Group("constrained", title, rows)]
