# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Coupled joints: all laws are those of the free tree with q_tree = G q + g0 and Q = G^T Q_tree.

The uncoupled tree is the independent route: it knows nothing of couplings.
"""

import copy
import pickle
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import (
    elastic,
    identification,
    rigid,
    tasks,
    theory,
)
from multibody_dynamics.dynamics.lie import se3
from multibody_dynamics.dynamics.model import Coupling, Transmission, load_couplings
from multibody_dynamics.dynamics.rigid.vector_batches import LARGE_BATCH
from reference import error, worst
from rejections import assert_rejected
from robots import CONFIG, random_tree, two_link_planar

REPRESENTATIONS = ("spatial", "body", "hybrid", "mixed")


LINK = """<link name="{0}"><inertial><origin xyz="0.1 {1} 0.05"/><mass value="1.{1}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0.002" iyz="-0.001"/></inertial>
</link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>
<origin xyz="0.1 0.2 -0.1" rpy="0.3 -0.2 0.5"/><axis xyz="0.6 0 0.8"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/>{4}</joint>"""
GRIPPER = (
    '<robot name="gripper"><link name="base"/>'
    + "".join(LINK.format(name, k) for k, name in enumerate(("palm", "left", "right", "tip")))
    + JOINT.format("wrist", "revolute", "base", "palm", "")
    + JOINT.format("finger", "prismatic", "palm", "left", "")
    + JOINT.format("other", "revolute", "palm", "right",
                   '<mimic joint="finger" multiplier="-2.5" offset="0.3"/>')
    + JOINT.format("last", "prismatic", "left", "tip", '<mimic joint="other"/>')
    + "</robot>"
)  # fmt: skip


class Twins(NamedTuple):
    """A robot with coupled joints, and the tree without: q_tree = G q + g0."""

    model: dyn.MultibodyModel
    tree: dyn.MultibodyModel
    G: np.ndarray
    g0: np.ndarray

    def states(self, count, seed=0, batch=(), reach=1.5):
        """States (count, *batch, n) and those of the tree."""
        rows = np.random.default_rng(seed).uniform(-reach, reach, (count, *batch, self.model.n))
        of_tree = rows @ self.G.T
        of_tree[0] += self.g0
        return rows, of_tree


def twins(n, seed):
    """A random tree with general axes, of which about half the joints depend on others: by one or
    two terms, over chains of dependent joints, along and across branches."""
    rng = np.random.default_rng(seed)
    tree = random_tree(n, seed)
    order = rng.permutation(n)
    dependent = order[: int(rng.integers(1, n))]
    known = list(order[len(dependent) :])
    G, g0 = np.zeros((n, n)), np.zeros(n)
    G[known, known] = 1.0
    couplings = {}
    for i in dependent:
        leaders = rng.choice(known, size=min(len(known), int(rng.integers(1, 3))), replace=False)
        factors = rng.uniform(0.3, 2.0, len(leaders)) * rng.choice((-1, 1), len(leaders))
        offset = float(rng.uniform(-1, 1))
        G[i] = factors @ G[leaders]
        g0[i] = factors @ g0[leaders] + offset
        terms = {tree.joint_names[j]: f for j, f in zip(leaders, factors, strict=True)}
        couplings[tree.joint_names[i]] = (terms, offset)
        known.append(i)  # later ones may depend on this one
    free = np.delete(np.arange(n), dependent)
    rotors = np.zeros(n)
    rotors[free] = rng.uniform(0.0, 0.3, len(free))
    tree = tree.with_reflected_inertia(rotors)
    return Twins(tree.with_couplings(couplings), tree, G[:, free], g0)


def gripper():
    """A URDF with two mimics, and the same without them."""
    model, tree = dyn.parse_urdf(GRIPPER), dyn.parse_urdf(GRIPPER.replace("mimic", "gazebo"))
    factors = {"wrist": (1, 0), "finger": (0, 1), "other": (0, -2.5), "last": (0, -2.5)}
    offsets = {"other": 0.3, "last": 0.3}
    G, g0 = zip(
        *((factors[name], offsets.get(name, 0.0)) for name in tree.joint_names), strict=True
    )
    return Twins(model, tree, np.array(G, float), np.array(g0))


def part():
    """The joints of a URDF up to a link, one of them locked, and the whole robot."""
    file = CONFIG / "robots" / "six_joint_arm.urdf"
    tree, model = dyn.load_urdf(file), dyn.load_urdf(file, lock={"elbow": 0.4}, tip="wrist_2")
    G = np.array([[x == name for x in model.joint_names] for name in tree.joint_names], float)
    return Twins(model, tree, G, 0.4 * np.array([name == "elbow" for name in tree.joint_names]))


ROBOTS = {
    **{f"random {n}": partial(twins, n, n) for n in (2, 4, 5, 7)},
    "URDF with mimics": gripper,
    "part of a URDF": part,
}


DRAWN = st.builds(twins, st.integers(2, 7), st.integers(0, 10**6))
FEW = settings(max_examples=25)


class Law(NamedTuple):
    """A function of a robot, of rows q, q', ... of its coordinates and of a body of it, with what
    the last axes of its results stand for: n, joints, to be summed with G; q, motions of the
    joints, to be spread with G; N, bodies, to be compared where both robots have them.
    """

    axes: str
    call: Callable[[dyn.MultibodyModel, np.ndarray, str], Any]
    inverts: bool = False  # the mass matrix, whose condition then counts


LOAD = dyn.spatial_inertia(1.5, (0.1, -0.2, 0.3), 0.1 * np.eye(3))
WRENCH = np.arange(18.0).reshape(3, 6) - 7.0


def torques(model, x, body):
    """Q, Q' and Q'' under a wrench, with which motions are recovered."""
    return dyn.inverse_dynamics(model, *x[:5], wrenches={body: WRENCH})


def traced(program, x, *shape):
    """All results of a program at rows of coordinates."""
    names = ("q", "qd", "qdd", "qddd", "qdddd")
    rows = {name: row for name, row in zip(names, x, strict=False) if name in program.inputs}
    return [row.reshape(shape) for row in program.evaluate(**rows).values()]


def solved(solver, *rows):
    """What a solver of the control cycle computes."""
    return [np.array(row) for row in solver(*rows)]


def rates_of(motion):
    """Twist, acceleration, jerk and jounce."""
    return [motion.twist, motion.acceleration, motion.jerk, motion.jounce]


def derivatives_of_acceleration(model, x, body, function):
    """M dq''/dq and M dq''/dq', which are -dQ/dq and -dQ/dq'."""
    tau = dyn.inverse_dynamics(model, *x[:3]).tau
    found = function(model, *x[:2], tau)
    return [dyn.mass_matrix(model, x[0]) @ each for each in found[:2]]


def momentum_solved(model, x, body):
    solver = rigid.MomentumSolver(model)
    solver.state[:] = x[:2]
    solver.update()
    return solver.result.copy()


def momentum_rates(model, x, body):
    momenta = theory.body_momenta(model, *x[:2])
    return theory.momentum_equations(
        model, x[0], momenta, torques(model, x, body).tau, wrenches={body: WRENCH[0]}
    )


def twists(model, x):
    """Twists and accelerations of all bodies."""
    motion = dyn.forward_kinematics(model, *x[:3], representation="body")
    return motion.twist, motion.acceleration


def tool(body):
    return tasks.Task(body, "pose", se3.exp((0.1, 0.2, -0.3, 0.4, 0.1, 0.2)))


IN_EACH_REPRESENTATION = {
    "inverse_dynamics": ("n", lambda m, x, b, r: dyn.inverse_dynamics(
        m, *x[:5], wrenches={b: WRENCH}, representation=r)),
    "forward_kinematics": ("N.", lambda m, x, b, r: rates_of(
        dyn.forward_kinematics(m, *x[:5], representation=r))),
    "jacobian": (".n", lambda m, x, b, r: dyn.jacobian(m, x[0], b, representation=r)),
    "jacobian_dot": (".n", lambda m, x, b, r: dyn.jacobian_dot(m, *x[:2], b, representation=r)),
    "InverseDynamicsSolver": ("n", lambda m, x, b, r: solved(
        dyn.InverseDynamicsSolver(m, r), *x[:5])),
    "trace_jacobian": (".n", lambda m, x, b, r: traced(
        rigid.trace_jacobian(m, b, 2, r), x, 6, m.n)),
    "trace_forward_kinematics": (".", lambda m, x, b, r: traced(
        rigid.trace_forward_kinematics(m, 4, r, [b]), x, -1)),
    "projection_equations": ("n", lambda m, x, b, r: theory.projection_equations(
        m, *x[:3], representation=r)),
}  # fmt: skip

LAWS = {
    f"{name} {representation}": Law(
        axes, lambda m, x, b, f=call, r=representation: f(m, x, b, r)
    )
    for name, (axes, call) in IN_EACH_REPRESENTATION.items()
    for representation in REPRESENTATIONS
} | {
    # kinematics
    "poses": Law("N..", lambda m, x, b: dyn.forward_kinematics(m, x[0]).pose),
    "frame_pose": Law("", lambda m, x, b: dyn.frame_pose(m, x[0], b)),
    "higher_order_kinematics": Law("N..", lambda m, x, b: rigid.higher_order_kinematics(m, x)),
    "jacobian_ddot": Law(".n", lambda m, x, b: theory.jacobian_ddot(m, *x[:3], b)),
    "jacobian_gradient": Law(".nn", lambda m, x, b: theory.jacobian_gradient(m, x[0], b)),
    "jacobian_hessian": Law(".nnn", lambda m, x, b: theory.jacobian_hessian(m, x[0], b)),
    "task_motion": Law("", lambda m, x, b: rates_of(tasks.task_motion(m, tool(b), *x[:5]))),
    "task_jacobian": Law(".n", lambda m, x, b: tasks.task_jacobian(m, tool(b), x[0])),
    "joint_rates_from_twists": Law("q", lambda m, x, b: theory.joint_rates_from_twists(
        m, x[0], twists(m, x)[0])[0], True),
    "joint_accelerations_from_motion": Law(
        "q",
        lambda m, x, b: theory.joint_accelerations_from_motion(m, x[0], *twists(m, x))[0], True),
    "joint_positions_from_poses": Law(
        "q",
        lambda m, x, b: theory.joint_positions_from_poses(
            m, dyn.forward_kinematics(m, x[0]).pose, reference=x[0] + 0.3)[0] - x[0] + x[1]),
    "jacobian_partial": Law(".nn", lambda m, x, b: np.stack(
        [theory.jacobian_partial(m, x[0], b, [j]) for j in range(m.n)], axis=-1)),
    "system_kinematics": Law("N.n", lambda m, x, b: [
        J.reshape(-1, 6, m.n)
        for k in [theory.system_kinematics(m, *x[:2])] for J in (k.J, k.J_dot)]),
    "rates_of_momenta": Law("q", lambda m, x, b: theory.rates_of_momenta(
        m, x[0], theory.body_momenta(m, *x[:2])), True),
    # matrices
    "mass_matrix": Law("nn", lambda m, x, b: dyn.mass_matrix(m, x[0])),
    "mass_matrix_dot": Law("nn", lambda m, x, b: rigid.mass_matrix_dot(m, *x[:2])),
    "mass_matrix_closed_form": Law("nn", lambda m, x, b: theory.mass_matrix_closed_form(m, x[0])),
    "coriolis_matrix": Law("nn", lambda m, x, b: dyn.coriolis_matrix(m, *x[:2])),
    "coriolis_matrix_mueller": Law(
        "nn", lambda m, x, b: theory.coriolis_matrix_mueller(m, *x[:2])),
    "christoffel_symbols": Law("nnn", lambda m, x, b: dyn.christoffel_symbols(m, x[0])),
    "christoffel_symbols_binet": Law(
        "nnn", lambda m, x, b: rigid.christoffel_symbols_binet(m, x[0])),
    "gravity_forces": Law("n", lambda m, x, b: dyn.gravity_forces(m, x[0])),
    # inverse dynamics
    "generic_inverse_dynamics": Law(
        "n", lambda m, x, b: rigid.generic_inverse_dynamics(m, *x[:3]).astype(float)),
    "higher_order_inverse_dynamics": Law(
        "n", lambda m, x, b: rigid.higher_order_inverse_dynamics(m, x)),
    "passive_inverse_dynamics": Law(
        "n", lambda m, x, b: rigid.passive_inverse_dynamics(m, x[:4], x[1:5])),
    "PassiveInverseDynamicsSolver": Law("n", lambda m, x, b: solved(
        rigid.PassiveInverseDynamicsSolver(m), x[:4], x[1:5])),
    "lagrange_equations": Law("n", lambda m, x, b: theory.lagrange_equations(m, *x[:3])),
    "inverse_dynamics_derivatives": Law(
        "nn", lambda m, x, b: dyn.inverse_dynamics_derivatives(m, *x[:3])),
    "InverseDynamicsDerivativesSolver": Law("nn", lambda m, x, b: solved(
        rigid.InverseDynamicsDerivativesSolver(m), *x[:3])),
    "inverse_dynamics_regressor": Law("nN.", lambda m, x, b: [
        Y.reshape(m.n, m.body_count, 10)
        for Y in identification.inverse_dynamics_regressor(m, *x[:5])]),
    "passive_regressor": Law("nN.", lambda m, x, b: [
        Y.reshape(m.n, m.body_count, 10)
        for Y in identification.passive_regressor(m, x[:4], x[1:5])]),
    "inertial_parameters": Law(
        "N.", lambda m, x, b: identification.inertial_parameters(m).reshape(-1, 10)),
    "trace_inverse_dynamics": Law("n", lambda m, x, b: traced(
        rigid.trace_inverse_dynamics(m, 2), x, m.n)),
    "trace_mass_matrix": Law("nn", lambda m, x, b: traced(
        rigid.trace_mass_matrix(m), x, m.n, m.n)),
    "trace_gravity_forces": Law("n", lambda m, x, b: traced(
        rigid.trace_gravity_forces(m), x, m.n)),
    "trace_momentum": Law("n", lambda m, x, b: traced(rigid.trace_momentum(m), x, m.n)),
    "trace_inverse_dynamics_derivatives": Law("nn", lambda m, x, b: traced(
        rigid.trace_inverse_dynamics_derivatives(m), x, m.n, m.n)),
    "trace_regressor": Law("nN.", lambda m, x, b: traced(
        identification.trace_regressor(m, 2), x, m.n, m.body_count, 10)),
    # forward dynamics, of the torques of a motion
    "forward_dynamics": Law("q", lambda m, x, b: dyn.forward_dynamics(
        m, *x[:2], torques(m, x, b).tau, wrenches={b: WRENCH[0]}), True),
    "forward_dynamics_rates": Law("q", lambda m, x, b: rigid.forward_dynamics_rates(
        m, *x[:2], *torques(m, x, b), wrenches={b: WRENCH}), True),
    "ForwardDynamicsSolver": Law("q", lambda m, x, b: solved(
        rigid.ForwardDynamicsSolver(m, order=2), *x[:2], *dyn.inverse_dynamics(m, *x[:5])), True),
    "forward_dynamics_derivatives": Law("nn", lambda m, x, b: derivatives_of_acceleration(
        m, x, b, dyn.forward_dynamics_derivatives), True),
    "ForwardDynamicsDerivativesSolver": Law("nn", lambda m, x, b: derivatives_of_acceleration(
        m, x, b, lambda m, *rows: solved(rigid.ForwardDynamicsDerivativesSolver(m), *rows)), True),
    "linearize": Law("nn", lambda m, x, b: dyn.mass_matrix(m, x[0])
        @ rigid.linearize(m, *x[:2], qdd=x[2]).A[m.n :, : m.n], True),
    "momentum_equations": Law("q", lambda m, x, b: momentum_rates(m, x, b)[0], True),
    # wrenches
    "interbody_wrenches": Law("N..", lambda m, x, b: rigid.interbody_wrenches(m, *x[:5])),
    "joint_wrenches": Law("N..", lambda m, x, b: rigid.joint_wrenches(m, *x[:5])),
    "base_wrench": Law("", lambda m, x, b: rigid.base_wrench(m, *x[:5])),
    "gravity_wrenches": Law("N..", lambda m, x, b: rigid.gravity_wrenches(m, *x[:3])),
    "load_wrench": Law("", lambda m, x, b: rigid.load_wrench(m, b, LOAD, *x[:5])),
    "load_cell_reading": Law("", lambda m, x, b: rigid.load_cell_reading(m, b, LOAD, *x[:5])),
    "wrench_to_world": Law("", lambda m, x, b: dyn.wrench_to_world(m, *x[:3], b, WRENCH)),
    # energy and momentum
    "kinetic_energy": Law("", lambda m, x, b: rigid.kinetic_energy(m, *x[:2])),
    "kinetic_energy_gradient": Law(
        "n", lambda m, x, b: theory.kinetic_energy_gradient(m, *x[:2])),
    "potential_energy": Law("", lambda m, x, b: rigid.potential_energy(m, x[0])),
    "generalized_momentum": Law("n", lambda m, x, b: theory.generalized_momentum(m, *x[:2])),
    "MomentumSolver": Law("n", momentum_solved),
    "spatial_momentum": Law("", lambda m, x, b: rigid.spatial_momentum(m, *x[:2])),
    "center_of_mass": Law("", lambda m, x, b: rigid.center_of_mass(m, x[0])),
    "body_momenta": Law("N.", lambda m, x, b: theory.body_momenta(m, *x[:2])),
}  # fmt: skip

# Every law on a random tree and on a URDF; of bodies into which others were merged, inertia and
# wrenches differ.
TREES, FILES = [*ROBOTS][:4], [*ROBOTS][4:]
TABLE = [
    pair
    for k, (name, law) in enumerate(LAWS.items())
    for pair in (
        (TREES[k % len(TREES)], name),
        (FILES[k % 2 if "N" not in law.axes else 0], name),
    )
]
known = cache(lambda robot: ROBOTS[robot]())


@pytest.mark.parametrize(("robot", "name"), TABLE)
def test_every_function_is_that_of_the_tree(robot, name):
    """The tree knows nothing of couplings, mimics and locked joints."""
    pair, law = known(robot), LAWS[name]
    body, size = pair.model.body_names[-1], 1.0
    places = [pair.model.body_index(each) for each in pair.tree.body_names if "N" in law.axes]
    if law.inverts:
        size = np.linalg.cond(dyn.mass_matrix(pair.model, pair.states(6)[0][0]))
    both = [law.call(m, x, body) for m, x in zip(pair[:2], pair.states(6), strict=True)]
    found, expected = (each if isinstance(each, (tuple, list)) else [each] for each in both)
    for own, of_tree in zip(found, expected, strict=True):
        scale = size * max(np.abs(of_tree).max(), 1e-3)
        for k, axis in enumerate(reversed(law.axes), 1):
            if axis == "n":
                of_tree = np.moveaxis(np.tensordot(of_tree, pair.G, (-k, 0)), -1, -k)
            elif axis == "q":
                own = own @ pair.G.T
            elif axis == "N":
                own = np.take(own, places, -k)
        assert np.shape(own) == np.shape(of_tree)
        np.testing.assert_allclose(own, of_tree, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("robot", ROBOTS)
def test_inverse_kinematics_and_tool_motions_to_fourth_order(robot):
    """The tree, moved by what was found for the coordinates, meets the target and its rates."""
    pair = known(robot)
    model, tree, G, g0 = pair
    rows, of_tree = pair.states(5, reach=0.6)
    body = model.body_names[-1]
    target = dyn.frame_pose(tree, of_tree[0], body)
    found = tasks.inverse_kinematics(model, target, body, initial=rows[0] + 0.05)
    assert found.success
    np.testing.assert_allclose(dyn.frame_pose(tree, G @ found.q + g0, body), target, atol=1e-7)

    size = min(3, int(model.moved_by[model.body_index(body)].sum()))
    task = tasks.Task(body, ("x", "y", "z")[:size], tool(body).offset)
    wanted = tasks.task_motion(tree, task, *of_tree)
    moved = tasks.task_inverse_dynamics(model, task, wanted, rows[0])
    again = np.array([moved.q, moved.qd, moved.qdd, moved.qddd, moved.qdddd]) @ G.T
    again[0] += g0
    for own, rate in zip(
        rates_of(tasks.task_motion(tree, task, *again)), rates_of(wanted), strict=True
    ):
        np.testing.assert_allclose(
            own[3 : 3 + size], rate[3 : 3 + size], atol=1e-8 * (1 + np.abs(rate).max())
        )
    expected = dyn.inverse_dynamics(tree, *again)
    for own, Q in zip((moved.tau, moved.tau_dot, moved.tau_ddot), expected, strict=True):
        np.testing.assert_allclose(own, Q @ G, atol=1e-11 * np.abs(Q).max())


def test_inverse_kinematics_between_two_links():
    """With `root` as base, targets are in the frame of that link."""
    file = CONFIG / "robots" / "six_joint_arm.urdf"
    whole = dyn.load_urdf(file)
    model = dyn.load_urdf(file, root="upper_arm", tip="wrist_3")
    assert model.joint_names == whole.joint_names[2:]
    q = np.array([0.0, 0.0, 0.5, -0.4, 0.7, 0.2])
    base, tip = (dyn.frame_pose(whole, q, link) for link in ("upper_arm", "wrist_3"))
    found = tasks.inverse_kinematics(model, se3.inverse(base) @ tip, "wrist_3", initial=q[2:] - 0.1)
    np.testing.assert_allclose(found.q, q[2:], atol=1e-8)


@FEW
@given(DRAWN)
def test_forward_dynamics_inverts_with_rates(pair):
    """M = G^T M_tree G is factorised; q'' of the tree is therefore not needed."""
    rows, _ = pair.states(5)
    tau = dyn.inverse_dynamics(pair.model, *rows)
    M = dyn.mass_matrix(pair.model, rows[0])
    tolerance = 1e-13 * np.linalg.cond(M)
    found = rigid.forward_dynamics_rates(pair.model, *rows[:2], *tau)
    assert worst(found, rows[2:]) < 1e2 * tolerance
    inverse = rigid.articulated_bodies(pair.model, rows[0]).inverse()
    assert error(inverse, np.linalg.inv(M)) < tolerance
    solver = rigid.ForwardDynamicsSolver(pair.model, order=2)
    for own, expected in zip(solver(*rows[:2], *tau), found, strict=True):
        np.testing.assert_array_equal(own, expected)
    generic = rigid.generic_forward_dynamics(pair.model, *rows[:2], tau.tau)
    assert error(generic.astype(float), rows[2]) < 1e2 * tolerance


@FEW
@given(DRAWN, st.data())
def test_hybrid_dynamics(pair, data):
    n = pair.model.n
    held = data.draw(st.lists(st.integers(0, n - 1), unique=True))
    rows, _ = pair.states(3)
    tau = dyn.inverse_dynamics(pair.model, *rows).tau
    free = np.isin(np.arange(n), held, invert=True)
    found = rigid.hybrid_dynamics(
        pair.model, *rows[:2], prescribed=held,
        qdd=np.where(free, np.nan, rows[2]), tau=np.where(free, tau, np.nan),
    )  # fmt: skip
    tolerance = 1e-11 * np.linalg.cond(dyn.mass_matrix(pair.model, rows[0]))
    assert error(found.qdd, rows[2]) < tolerance
    assert error(found.tau, tau) < tolerance


def test_solvers_batches_and_specialised_code():
    pair = twins(5, 1)
    rows, of_tree = pair.states(5)
    expected = [Q @ pair.G for Q in dyn.inverse_dynamics(pair.tree, *of_tree)]
    solver = dyn.InverseDynamicsSolver(pair.model, "body", specialise=True)
    for kernel in ("general", "specialised"):
        if kernel == "specialised":
            assert solver.wait(120) == kernel
        assert worst(solver(*rows), expected) < 1e-11
    many, of_tree = pair.states(5, batch=(LARGE_BATCH // 2,))
    for evaluate in (rigid.BatchInverseDynamics(pair.model), None):
        found = evaluate(*many) if evaluate else dyn.inverse_dynamics(pair.model, *many)
        for Q, Q_tree in zip(found, dyn.inverse_dynamics(pair.tree, *of_tree), strict=True):
            size = np.abs(Q_tree).max()  # the sum over joints may cancel in a single state
            np.testing.assert_allclose(Q, Q_tree @ pair.G, rtol=0, atol=1e-12 * size)


def test_the_torques_are_linear_in_the_inertial_parameters():
    pair = twins(5, 1)
    model = pair.model.with_reflected_inertia(np.zeros(pair.model.n))
    rows, _ = pair.states(5)
    regressor = identification.inverse_dynamics_regressor(model, *rows)
    parameters = identification.inertial_parameters(model)
    for Y, Q in zip(regressor, dyn.inverse_dynamics(model, *rows), strict=True):
        assert error(Y @ parameters, Q) < 1e-11
    stack = identification.RegressorStack(model)
    np.testing.assert_allclose(stack.regressors(rows[None, :3])[0], regressor.Y, atol=1e-11)
    weights = np.random.default_rng(0).normal(size=regressor.Y.shape)
    gradient = stack.gradient(rows[None, :3], weights[None])[0]
    for k in range(3):
        for j in range(model.n):
            ends = []
            for h in (-1e-6, 1e-6):
                moved = rows[:3].copy()
                moved[k, j] += h
                ends.append((weights * stack.regressors(moved[None])[0]).sum())
            slope = (ends[1] - ends[0]) / 2e-6
            assert slope == pytest.approx(gradient[k, j], rel=1e-6, abs=1e-5)


# Locked joints


@FEW
@given(DRAWN, st.data())
def test_locked_joints_are_constant_coordinates(pair, data):
    model = pair.model
    if model.n < 2:
        return
    held = data.draw(st.lists(st.sampled_from(range(model.n)), unique=True, max_size=model.n - 1))
    positions = {model.joint_names[j]: 0.1 + 0.2 * j for j in held}
    locked = model.with_locked(positions)
    free = [j for j in range(model.n) if j not in held]
    assert locked.joint_names == tuple(model.joint_names[j] for j in free)
    assert dict(locked.locked).items() >= positions.items()
    rows = np.zeros((5, model.n))
    rows[:, free] = np.random.default_rng(0).uniform(-1, 1, (5, len(free)))
    rows[0, held] = [positions[model.joint_names[j]] for j in held]
    found = dyn.inverse_dynamics(locked, *rows[:, free])
    for own, expected in zip(found, dyn.inverse_dynamics(model, *rows), strict=True):
        assert error(own, expected[free]) < 1e-10
    for body in model.body_names:
        np.testing.assert_allclose(
            rigid.frame_pose(locked, rows[0, free], body), rigid.frame_pose(model, rows[0], body),
            atol=1e-12,
        )  # fmt: skip


def test_payloads_frames_and_copies_survive():
    pair = twins(5, 4)
    loads = ("payload", 1.5, (0.1, 0.2, 0.3))
    body = pair.tree.body_names[2]
    tree = pair.tree.with_payload(body, *loads[1:])
    model = pair.model.with_payload(body, *loads[1:])
    rows, of_tree = pair.states(3)
    expected = dyn.inverse_dynamics(tree, *of_tree).tau @ pair.G
    for other in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert error(dyn.inverse_dynamics(other, *rows).tau, expected) < 1e-11
        assert dict(other.couplings) == dict(model.couplings)


def test_rotors_of_dependent_joints_turn_with_their_leader():
    tree = random_tree(3, 1, branching=0.0).with_reflected_inertia((0.1, 0.2, 0.3))
    model = tree.with_couplings({"joint3": {"joint1": 2.0}})
    np.testing.assert_allclose(model.reflected_inertia, [0.1 + 4 * 0.3, 0.2])
    with pytest.raises(dyn.ModelError, match=r"joint3.*rotor.*joint1 and joint2"):
        tree.with_couplings({"joint3": {"joint1": 1.0, "joint2": 1.0}})


@pytest.mark.parametrize(
    ("couplings", "words"),
    [
        ({"joint1": {"joint2": 1.0}, "joint2": {"joint1": 1.0}}, "depends on itself"),
        ({"joint1": {"joint1": 2.0}}, "joint1 -> joint1"),
        ({"nowhere": {"joint1": 1.0}}, "no joint 'nowhere'"),
        ({"joint1": {"joint2": np.nan}}, "joint2"),
        ({"joint1": 3.0}, "couplings"),
        ({"joint1": {}, "joint2": {}, "joint3": {}}, "no moving joint left"),
    ],
)
def test_impossible_couplings(couplings, words):
    with pytest.raises(dyn.DynamicsError, match=words):
        random_tree(3, 0).with_couplings(couplings)


def test_a_singular_mass_matrix_is_named():
    tree = random_tree(3, 0, ("revolute",), branching=0.0)
    bare = dyn.model_from_screws(
        tree.parents, tree.screws, tree.poses, [*tree.inertias[:2], np.zeros((6, 6))]
    )
    model = bare.with_couplings({"joint2": {"joint1": 1.0}})
    with pytest.raises(dyn.DynamicsError, match=r"'joint3' has no inertia.*'body3'"):
        dyn.forward_dynamics(model, *np.full((3, 2), 0.3))


def test_couplings_are_described():
    model = random_tree(3, 0).with_couplings({"joint3": ({"joint1": -0.5}, 0.25)})
    text = model.describe()
    assert "3 joints, 1 of them dependent" in text
    assert "= -0.5 joint1 + 0.25" in text
    assert model.couplings["joint3"] == Coupling({"joint1": -0.5}, 0.25)


# URDF


def test_mimic_joints_of_a_urdf_follow_as_in_pinocchio():
    text = GRIPPER.replace('joint="other"/>', 'joint="finger" multiplier="0.4"/>')
    model, reference = dyn.parse_urdf(text), pin.buildModelFromXML(text, mimic=True)
    assert model.joint_names == ("wrist", "finger")
    assert dyn.parse_urdf(GRIPPER).couplings["last"] == Coupling({"finger": -2.5}, 0.3)
    rows = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    tau = pin.rnea(reference, reference.createData(), *rows)
    assert error(dyn.inverse_dynamics(model, *rows).tau, tau) < 1e-12


def test_a_joint_that_mimics_nothing_is_independent_and_one_that_mimics_a_fixed_joint_is_rigid():
    with pytest.warns(dyn.ModelWarning, match=r"'other'.*'fingr'.*no joint.*independent"):
        model = dyn.parse_urdf(GRIPPER.replace('joint="finger"', 'joint="fingr"'))
    assert model.joint_names == ("wrist", "finger", "other")
    assert model.couplings == {"last": Coupling({"other": 1.0})}
    fixed = GRIPPER.replace('name="finger" type="prismatic"', 'name="finger" type="fixed"')
    model = dyn.parse_urdf(fixed)
    assert model.joint_names == ("wrist",)
    assert model.locked["other"] == 0.3


# YAML


def test_couplings_in_the_yaml_of_the_springs(tmp_path):
    file = tmp_path / "springs.yaml"
    file.write_text(
        "couplings:\n  elbow: {terms: {shoulder: -0.5}, offset: 1e-1}\n"
        "joints:\n  shoulder: {spring: rigid}\n"
    )
    assert load_couplings(file) == {"elbow": Coupling({"shoulder": -0.5}, 0.1)}
    assert load_couplings({"joints": {}}) == {}
    robot = two_link_planar().with_couplings(load_couplings(file))
    assert robot.joint_names == ("shoulder",)


def test_numbers_are_names_without_quotes(tmp_path):
    """The joints of many small arms are called 1 to 6."""
    file = tmp_path / "springs.yaml"
    for joints, motors in (("[1, 2]", "[3, 4]"), ("['1', '2']", "['3', '4']")):
        entry = f"{{joints: {joints}, motors: {motors}, matrix: [[1, 1], [1, -1]]}}"
        file.write_text(f"transmission: {{w: {entry}}}\ncouplings: {{5: {{terms: {{1: 2.0}}}}}}\n")
        assert load_couplings(file) == {
            "5": Coupling({"1": 2.0}),
            "1": Coupling({"3": 1.0, "4": 1.0}),
            "2": Coupling({"3": 1.0, "4": -1.0}),
        }


def test_bad_couplings_are_rejected_by_name(tmp_path):
    file = tmp_path / "springs.yaml"
    wrist = {"joints": ["pitch", "roll"], "motors": ["l", "r"], "matrix": [[1, 1], [1, -1]]}
    once = {"joints": ["pitch"], "motors": ["l"], "matrix": [[1.0]]}
    twice = {"transmission": {"w": once}, "couplings": {"pitch": {"terms": {"roll": 1.0}}}}

    def written(text):
        file.write_text(f"couplings:\n  {text}\n")
        return load_couplings(file)

    def transmission(**change):
        return lambda: load_couplings({"transmission": {"wrist": wrist | change}})

    assert_rejected(
        (lambda: written("elbow: {shoulder: 1}"), "unknown key 'shoulder'"),
        (lambda: written("elbow: {offset: 1}"), "'terms' is missing"),
        (lambda: written("elbow: {terms: {shoulder: fast}}"), "springs.yaml couplings shoulder"),
        (lambda: written("elbow: 3"), "elbow expected a mapping"),
        (lambda: load_couplings(twice), "joint 'pitch' is coupled twice"),
        (transmission(matrix=[[1.0, 2.0], [2.0, 4.0]]), "'wrist': matrix is singular"),
        (transmission(matrix=[[1.0, 2.0]]), "matrix"),
        (transmission(motors=["l"]), "2 joints need as many motors, got 1"),
        (transmission(motors=["l", "pitch"]), "'pitch' is listed twice"),
        (transmission(joints="pitch"), "joints: expected a list of names"),
        (transmission(joints=[True, 1.5]), "joints: expected a list of names"),
        (transmission(offset=[1.0]), "offset"),
        (transmission(gear=3), "gear"),
    )


def test_what_needs_a_coordinate_for_each_joint_says_so():
    model = random_tree(3, 0).with_couplings({"joint2": {"joint1": 1.0}})
    make = dyn.mechanisms.MultiDofModel.from_model
    assert_rejected((lambda: make(model), "not available for robot 'tree0' joint2"))


def test_a_spring_at_the_tool_pulls_the_coordinates():
    """Cartesian impedance of a coupled arm: -J^T K x with the Jacobian of the coordinates."""
    tree = random_tree(4, 7, ("revolute",), branching=0.0, gravity=(0, 0, 0))
    model = tree.with_couplings({"joint3": {"joint2": -0.5}})
    actuators = elastic.Actuators(
        model.joint_names,
        [elastic.SeriesElastic(elastic.Motor(0.5), elastic.LinearSpring(3e3))] * model.n,
    )
    stiffness = np.array([5.0, 6.0, 7.0, 80.0, 90.0, 100.0])
    q = np.array([0.2, -0.3, 0.4])
    law = dyn.control.CartesianImpedance(model, actuators, q, stiffness=stiffness)
    J = dyn.jacobian(model, q, model.body_names[-1], representation="hybrid")
    law._weight_at(q)
    for _ in range(2):  # the second time at the target, where no error turns the columns
        law._pull()
        law._frames[1] = law._tool
    np.testing.assert_allclose(law._pulled, (J.T * law.ramp.value[:6]) @ J, atol=1e-9)


# Transmissions


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_transmission_converts_without_losing_power(k):
    """Conversions invert each other, q = T theta + offset, and both sides have the same power."""
    rng = np.random.default_rng(k)
    joints, motors = (tuple(f"{side}{i}" for i in range(k)) for side in "jm")
    each = Transmission(joints, motors, rng.normal(size=(k, k)), rng.normal(size=k))
    values = rng.normal(size=(4, k))
    for field in ("position", "velocities", "accelerations", "effort"):
        there = each.of_motors(field, values)
        np.testing.assert_allclose(each.of_joints(field, there), values, atol=1e-9)
    theta = each.of_motors("position", values)
    np.testing.assert_allclose(theta @ each.matrix.T + each.offset, values, atol=1e-9)
    power = (each.of_motors("effort", values) * each.of_motors("velocity", values)).sum()
    assert power == pytest.approx((values * values).sum())


def test_rotors_behind_a_transmission_are_a_full_matrix_at_the_joints():
    """T^T (M_tree + T^-T diag(I) T^-1) T is the mass matrix at the motors, and Q = T^T Q_tree."""
    rng = np.random.default_rng(1)
    tree = random_tree(4, 1)
    T = rng.normal(size=(4, 4))
    motors = ("a", "b", "c", "d")
    entry = {"joints": list(tree.joint_names), "motors": list(motors), "matrix": T.tolist()}
    model = tree.with_couplings(load_couplings({"transmission": {"all": entry}}))
    assert model.joint_names == motors
    (found,) = model.transmissions
    rotors = rng.uniform(0.1, 0.5, 4)
    model = model.with_reflected_inertia(rotors)
    T = found.matrix  # in the order of the tree
    theta, thetad, thetadd = rng.uniform(-1, 1, (3, 4))
    q = found.of_joints("position", theta)
    at_joints = np.linalg.inv(T).T @ np.diag(rotors) @ np.linalg.inv(T)
    expected = dyn.mass_matrix(tree, q) + at_joints
    assert error(dyn.mass_matrix(model, theta), T.T @ expected @ T) < 1e-11
    qd, qdd = (found.of_joints("velocity", row) for row in (thetad, thetadd))
    Q = dyn.inverse_dynamics(tree, q, qd, qdd).tau + at_joints @ qdd
    own = dyn.inverse_dynamics(model, theta, thetad, thetadd).tau
    assert error(own, found.of_motors("effort", Q)) < 1e-11


def test_transmissions_are_found_among_other_couplings():
    """Two wrists, a joint that follows one of them, and a mimic: two transmissions."""
    tree = random_tree(6, 1, branching=0.0)
    model = tree.with_couplings(
        {
            "joint1": {"l1": 0.5, "r1": 0.5},
            "joint2": {"l1": 0.5, "r1": -0.5},
            "joint3": {"joint1": 2.0},
            "joint4": ({"r2": 2.0}, 0.3),
            "joint6": {"joint5": -1.0},
        }
    )
    first, second = model.transmissions
    assert (first.joints, first.motors) == (("joint1", "joint2"), ("l1", "r1"))
    assert (second.joints, second.motors, second.offset.tolist()) == (("joint4",), ("r2",), [0.3])
    assert tree.with_couplings({"joint6": {"joint5": 1.0}}).transmissions == ()
    # a motor without as many joints as motors cannot be measured by joints
    assert tree.with_couplings({"joint1": {"l": 1.0, "r": 1.0}}).transmissions == ()


def test_limits_of_motors_reach_all_positions_and_respect_all_speeds_and_efforts():
    rng = np.random.default_rng(0)
    each = Transmission(("a", "b"), ("l", "r"), np.array([[0.5, 0.5], [0.4, -0.6]]), np.zeros(2))
    joints = np.array(
        [[-1.0, -2.0], [1.5, 3.0], [2.0, 4.0], [10.0, 30.0], [7.0, 9.0], [50.0, 60.0]]
    )
    lower, upper, velocity, effort, acceleration, jerk = each.limits(joints)
    reached = each.of_motors("position", rng.uniform(joints[0], joints[1], (1000, 2)))
    assert ((lower <= reached) & (reached <= upper)).all()
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    assert (np.abs(each.of_joints("velocity", corners * velocity)) <= joints[2] + 1e-12).all()
    assert (np.abs(each.of_joints("effort", corners * effort)) <= joints[3] + 1e-12).all()
    for row, most in ((acceleration, joints[4]), (jerk, joints[5])):
        assert (np.abs(each.of_joints("acceleration", corners * row)) <= most + 1e-12).all()
    unlimited = each.limits(np.array([[-np.inf] * 2, *[[np.inf] * 2] * 5]))
    assert np.isinf(unlimited).all()
