# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Coupled joints: all laws are those of the free tree with q_tree = G q + g0 and Q = G^T Q_tree.

The uncoupled tree is the independent route: it knows nothing of couplings.
"""

import copy
import pickle
from typing import NamedTuple

import mpmath
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import elastic, identification, plant, rigid, tasks, theory
from multibody_dynamics.dynamics.model import Coupling, Transmission, load_couplings
from multibody_dynamics.dynamics.rigid.vector_batches import LARGE_BATCH
from reference import error
from rejections import assert_rejected
from robots import random_tree, two_link_planar

REPRESENTATIONS = ("spatial", "body", "hybrid", "mixed")


class Twins(NamedTuple):
    """A robot with coupled joints, and the tree without: q_tree = G q + g0."""

    model: dyn.MultibodyModel
    tree: dyn.MultibodyModel
    G: np.ndarray
    g0: np.ndarray

    def states(self, count, seed=0, batch=()):
        """States (count, *batch, n) and those of the tree."""
        rows = np.random.default_rng(seed).uniform(-1.5, 1.5, (count, *batch, self.model.n))
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


DRAWN = st.builds(twins, st.integers(2, 7), st.integers(0, 10**6))
FEW = settings(max_examples=25)


def bodies_of(pair):
    """The indices in the coupled robot of the bodies of the tree."""
    return [pair.model.body_index(body) for body in pair.tree.body_names]


@FEW
@given(DRAWN)
def test_inverse_dynamics_with_rates(pair):
    rows, of_tree = pair.states(5)
    expected = dyn.inverse_dynamics(pair.tree, *of_tree)
    for representation in REPRESENTATIONS:
        found = dyn.inverse_dynamics(pair.model, *rows, representation=representation)
        for Q, Q_tree in zip(found, expected, strict=True):
            assert error(Q, Q_tree @ pair.G) < 1e-11


@FEW
@given(DRAWN)
def test_kinematics_of_all_bodies(pair):
    rows, of_tree = pair.states(5)
    found = dyn.forward_kinematics(pair.model, *rows)
    for own, expected in zip(found, dyn.forward_kinematics(pair.tree, *of_tree), strict=True):
        np.testing.assert_allclose(own[bodies_of(pair)], expected, rtol=1e-11, atol=1e-11)
    for body in pair.tree.body_names:
        for name, count in ((dyn.jacobian, 1), (dyn.jacobian_dot, 2)):
            J = name(pair.model, *rows[:count], body, representation="body")
            J_tree = name(pair.tree, *of_tree[:count], body, representation="body")
            np.testing.assert_allclose(J, J_tree @ pair.G, atol=1e-12)


@FEW
@given(DRAWN)
def test_matrices(pair):
    (model, tree, G, _), (rows, of_tree) = pair, pair.states(3)
    (q, qd, qdd), (p, pd, pdd) = rows, of_tree
    assert error(dyn.mass_matrix(model, q), G.T @ dyn.mass_matrix(tree, p) @ G) < 1e-12
    C = G.T @ dyn.coriolis_matrix(tree, p, pd) @ G
    np.testing.assert_allclose(dyn.coriolis_matrix(model, q, qd), C, atol=1e-11)
    symbols = np.einsum("ijk,ia,jb,kc", dyn.christoffel_symbols(tree, p), G, G, G)
    np.testing.assert_allclose(dyn.christoffel_symbols(model, q), symbols, atol=1e-11)
    gravity = dyn.gravity_forces(tree, p) @ G
    np.testing.assert_allclose(dyn.gravity_forces(model, q), gravity, atol=1e-11)
    found = dyn.inverse_dynamics_derivatives(model, q, qd, qdd)
    for own, expected in zip(
        found, dyn.inverse_dynamics_derivatives(tree, p, pd, pdd), strict=True
    ):
        np.testing.assert_allclose(own, G.T @ expected @ G, atol=1e-10)


@FEW
@given(DRAWN)
def test_forward_dynamics_inverts_with_rates(pair):
    """M = G^T M_tree G is factorised; q'' of the tree is therefore not needed."""
    rows, _ = pair.states(5)
    tau = dyn.inverse_dynamics(pair.model, *rows)
    M = dyn.mass_matrix(pair.model, rows[0])
    tolerance = 1e-13 * np.linalg.cond(M)
    found = rigid.forward_dynamics_rates(pair.model, *rows[:2], *tau)
    for own, expected in zip(found, rows[2:], strict=True):
        assert error(own, expected) < 1e2 * tolerance
    assert (
        error(rigid.articulated_bodies(pair.model, rows[0]).inverse(), np.linalg.inv(M)) < tolerance
    )
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


@settings(max_examples=8)
@given(DRAWN)
def test_forward_dynamics_derivatives_by_differences(pair):
    rows, _ = pair.states(3)
    model, (q, qd, tau), h = pair.model, rows, 1e-6
    found = dyn.forward_dynamics_derivatives(model, q, qd, tau)
    for k, derivative in enumerate(found):
        for j, step in enumerate(h * np.eye(model.n)):
            ends = [[q, qd, tau], [q, qd, tau]]
            ends[0][k], ends[1][k] = rows[k] - step, rows[k] + step
            low, high = (dyn.forward_dynamics(model, *end) for end in ends)
            column, scale = (high - low) / (2 * h), np.abs(derivative).max()
            np.testing.assert_allclose(derivative[:, j], column, atol=1e-5 * (1 + scale))


def test_torque_rates_are_derivatives_in_time():
    """Q' and Q'' against 40-digit derivatives of Q along a polynomial motion."""
    pair = twins(5, 3)
    rows, _ = pair.states(5)
    found = dyn.inverse_dynamics(pair.model, *rows)
    with mpmath.workdps(40):

        def torque(t, i):
            known = [[mpmath.mpf(float(x)) for x in row] for row in rows]
            state = [
                [
                    sum(known[m][j] * t ** (m - k) / mpmath.factorial(m - k) for m in range(k, 5))
                    for j in range(pair.model.n)
                ]
                for k in range(3)
            ]
            functions = {"sin": mpmath.sin, "cos": mpmath.cos}
            return rigid.generic_inverse_dynamics(pair.model, *state, **functions)[0, i]

        for i in range(pair.model.n):
            for order, Q in enumerate(found):
                expected = mpmath.diff(lambda t, i=i: torque(t, i), 0, order)
                assert abs(float(expected) - Q[i]) < 1e-12 * np.abs(Q).max()


@pytest.mark.parametrize("seed", range(3))
def test_solvers_batches_and_specialised_code(seed):
    pair = twins(5, seed)
    rows, of_tree = pair.states(5)
    expected = [Q @ pair.G for Q in dyn.inverse_dynamics(pair.tree, *of_tree)]
    solver = dyn.InverseDynamicsSolver(pair.model, "body", specialise=True)
    for kernel in ("general", "specialised"):
        if kernel == "specialised":
            assert solver.wait(120) == kernel
        for Q, wanted in zip(solver(*rows), expected, strict=True):
            assert error(Q, wanted) < 1e-11
    many, of_tree = pair.states(5, batch=(LARGE_BATCH // 2,))
    for evaluate in (rigid.BatchInverseDynamics(pair.model), None):
        found = evaluate(*many) if evaluate else dyn.inverse_dynamics(pair.model, *many)
        for Q, Q_tree in zip(found, dyn.inverse_dynamics(pair.tree, *of_tree), strict=True):
            size = np.abs(Q_tree).max()  # the sum over joints may cancel in a single state
            np.testing.assert_allclose(Q, Q_tree @ pair.G, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("seed", range(3))
def test_momentum_energy_and_passive_dynamics(seed):
    pair = twins(5, seed)
    (model, tree, G, _), (rows, of_tree) = pair, pair.states(5)
    for name in ("kinetic_energy", "potential_energy"):
        count = 2 if name == "kinetic_energy" else 1
        own, expected = (getattr(rigid, name)(m, *x[:count]) for m, x in
                         ((model, rows), (tree, of_tree)))  # fmt: skip
        np.testing.assert_allclose(own, expected, rtol=1e-12)
    solvers = []
    for m, x in ((model, rows), (tree, of_tree)):
        solver = rigid.MomentumSolver(m)
        solver.state[:] = x[:2]
        solver.update()
        solvers.append(solver.result)
    np.testing.assert_allclose(solvers[0], solvers[1] @ G, atol=1e-11)
    u = rigid.passive_inverse_dynamics(model, rows[:4], rows[1:])
    v = rigid.passive_inverse_dynamics(tree, of_tree[:4], of_tree[1:])
    for own, expected in zip(u, v, strict=True):
        assert error(own, expected @ G) < 1e-11
    higher = rigid.higher_order_inverse_dynamics(model, rows)
    for own, expected in zip(higher, dyn.inverse_dynamics(model, *rows), strict=True):
        assert error(own, expected) < 1e-11
    rate = rigid.mass_matrix_dot(tree, *of_tree[:2])
    np.testing.assert_allclose(rigid.mass_matrix_dot(model, *rows[:2]), G.T @ rate @ G, atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_closed_forms_of_the_papers(seed):
    pair = twins(5, seed)
    (model, tree, G, _), (rows, of_tree) = pair, pair.states(3)
    tau = dyn.inverse_dynamics(model, *rows).tau
    assert error(theory.lagrange_equations(model, *rows), tau) < 1e-11
    for representation in REPRESENTATIONS:
        found = theory.projection_equations(model, *rows, representation=representation)
        assert error(found, tau) < 1e-11
    J = theory.system_kinematics(model, rows[0], rows[1])
    np.testing.assert_allclose(J.J_dot, -J.A @ J.a @ J.J, atol=1e-11)
    momenta = theory.body_momenta(model, *rows[:2])
    assert error(theory.rates_of_momenta(model, rows[0], momenta), rows[1]) < 1e-9
    body = tree.body_names[-1]
    H = theory.jacobian_hessian(tree, of_tree[0], body)
    expected = np.einsum("xjkr,ja,kb,rc->xabc", H, G, G, G)
    np.testing.assert_allclose(theory.jacobian_hessian(model, rows[0], body), expected, atol=1e-11)
    expected = theory.jacobian_ddot(tree, *of_tree, body) @ G
    np.testing.assert_allclose(theory.jacobian_ddot(model, *rows, body), expected, atol=1e-11)
    partial = theory.jacobian_partial(model, rows[0], body, [0, model.n - 1, 0])
    gradient = theory.jacobian_gradient(model, rows[0], body)
    assert partial.shape == (6, model.n)
    np.testing.assert_allclose(
        theory.jacobian_partial(model, rows[0], body, [0]), gradient[..., 0], atol=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_torques_are_linear_in_the_inertial_parameters(seed):
    pair = twins(5, seed)
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


@pytest.mark.parametrize("seed", range(4))
def test_inverse_kinematics_reaches_what_the_coordinates_reach(seed):
    pair = twins(6, seed)
    model, body = pair.model, pair.tree.body_names[-1]
    q = np.random.default_rng(seed).uniform(-1, 1, model.n)
    target = rigid.frame_pose(model, q, body)
    result = tasks.inverse_kinematics(model, target, body, initial=q + 0.05)
    assert result.success
    np.testing.assert_allclose(rigid.frame_pose(model, result.q, body), target, atol=1e-7)


def test_task_space_rates_with_a_coupled_joint():
    """A planar arm whose third joint follows the second one keeps a prescribed motion."""
    tree = random_tree(4, 5, ("revolute",), branching=0.0)
    model = tree.with_couplings({"joint3": {"joint2": -0.5}})
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, model.n))
    body = model.body_names[-1]
    J = dyn.jacobian(model, q, body, representation="hybrid")[3:]
    solver = tasks.TaskSpaceSolver(model, tasks.Task(body, "position"))
    solver.state[0] = q
    motion = dyn.forward_kinematics(model, q, qd, qdd, representation="hybrid")
    i = model.body_index(body)
    given = tasks.TaskMotion(motion.pose[i], motion.twist[i], motion.acceleration[i])
    solver.targets[0][:] = given.rows
    assert solver.update()
    np.testing.assert_allclose(J @ solver.state[1], motion.twist[i, 3:], atol=1e-9)


def test_an_elastic_robot_obeys_the_same_equations():
    """The plant's accelerations are those of M q'' + ... = K (theta - q)."""
    pair = twins(4, 1)
    model = pair.model.with_reflected_inertia(np.zeros(pair.model.n))
    actuators = elastic.Actuators(
        model.joint_names,
        [elastic.SeriesElastic(elastic.Motor(0.5), elastic.LinearSpring(3e3))] * model.n,
    )
    robot = plant.ElasticRobot(model, actuators)
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-0.5, 0.5, (2, model.n))
    theta = q + rng.uniform(-0.01, 0.01, model.n)
    robot.reset(q, qd, theta=theta, thetad=qd)
    torque = 3e3 * (theta - q)
    expected = dyn.forward_dynamics(model, q, qd, torque)
    np.testing.assert_allclose(robot.joint_torque, torque, rtol=1e-9)
    assert error(robot.qdd, expected) < 1e-9


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


def test_a_differential_has_coordinates_of_its_own():
    tree = random_tree(3, 2, ("revolute",), branching=0.0)
    model = tree.with_couplings(
        {"joint2": {"left": 0.5, "right": 0.5}, "joint3": {"left": 0.5, "right": -0.5}}
    )
    assert model.joint_names == ("joint1", "left", "right")
    G = np.array([[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, -0.5]])
    rows = np.random.default_rng(0).normal(size=(5, 3))
    for own, expected in zip(
        dyn.inverse_dynamics(model, *rows), dyn.inverse_dynamics(tree, *rows @ G.T), strict=True
    ):
        assert error(own, expected @ G) < 1e-12


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


def test_mimic_joints_of_a_urdf_follow_as_in_pinocchio():
    model = dyn.parse_urdf(GRIPPER.replace('<mimic joint="other"/>',
                                           '<mimic joint="finger" multiplier="0.4"/>'))  # fmt: skip
    reference = pin.buildModelFromXML(
        GRIPPER.replace('<mimic joint="other"/>', '<mimic joint="finger" multiplier="0.4"/>'),
        mimic=True,
    )
    assert model.joint_names == ("wrist", "finger")
    rows = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    tau = pin.rnea(reference, reference.createData(), *rows)
    assert error(dyn.inverse_dynamics(model, *rows).tau, tau) < 1e-12


def test_a_chain_of_mimics_is_a_chain_of_multipliers():
    free = dyn.parse_urdf(GRIPPER.replace("mimic", "gazebo"))
    model = dyn.parse_urdf(GRIPPER)
    assert model.couplings["last"] == Coupling({"finger": -2.5}, 0.3)
    G = np.zeros((4, 2))
    G[[free.joint_index(name) for name in ("wrist", "finger", "other", "last")]] = (
        [1, 0], [0, 1], [0, -2.5], [0, -2.5],
    )  # fmt: skip
    rows = np.random.default_rng(0).uniform(-1, 1, (5, 2))
    of_tree = rows @ G.T
    of_tree[0, [free.joint_index("other"), free.joint_index("last")]] += 0.3
    for own, expected in zip(
        dyn.inverse_dynamics(model, *rows), dyn.inverse_dynamics(free, *of_tree), strict=True
    ):
        assert error(own, expected @ G) < 1e-12


def test_a_mimic_of_nothing_is_an_error_and_a_mimic_of_a_fixed_joint_is_rigid():
    with pytest.raises(dyn.ModelError, match=r"'other'.*'fingr'.*independent joint"):
        dyn.parse_urdf(GRIPPER.replace('joint="finger"', 'joint="fingr"'))
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
        (transmission(offset=[1.0]), "offset"),
        (transmission(gear=3), "gear"),
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda model: theory.joint_positions_from_poses(model, np.eye(4)),
        lambda model: dyn.mechanisms.MultiDofModel.from_model(model),
    ],
)
def test_what_needs_a_coordinate_for_each_joint_says_so(function):
    model = random_tree(3, 0).with_couplings({"joint2": {"joint1": 1.0}})
    assert_rejected((lambda: function(model), "not available for robot 'tree0' joint2"))


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


@pytest.mark.parametrize("seed", range(3))
def test_rotors_behind_a_transmission_are_a_full_matrix_at_the_joints(seed):
    """T^T (M_tree + T^-T diag(I) T^-1) T is the mass matrix at the motors, and Q = T^T Q_tree."""
    rng = np.random.default_rng(seed)
    tree = random_tree(4, seed)
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
