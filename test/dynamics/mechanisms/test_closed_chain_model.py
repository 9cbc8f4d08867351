# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A robot with loops in the coordinates of its motors: against NumPy on the tree, and laws."""

import copy

import numpy as np
import pytest

from mechanisms import delta, five_bar
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid
from multibody_dynamics.dynamics.mechanisms import constrained_solvers
from reference import error

SPRINGS = {"b": (20.0, -1.4, 0.5), "d": (9.0, 0.2, 0.0)}
MECHANISMS = {
    "five-bar": five_bar("a", "e"),
    "delta": delta(),
    "five-bar, springs": five_bar("a", "e").with_springs(**SPRINGS),
}
CLOSED = {
    name: dyn.mechanisms.closed_chain(mechanism.system, mechanism.q)
    for name, mechanism in MECHANISMS.items()
}
each_mechanism = pytest.mark.parametrize("name", MECHANISMS)


def case(name, seed=1):
    """The model, a motion of all joints, and that of the motors."""
    mechanism = MECHANISMS[name]
    motion = np.array(mechanism.motion(seed))
    return CLOSED[name], motion, motion[:, mechanism.system.actuated_indices]


def slope(function, h):
    """The derivative of a function at 0, to fourth order in h."""
    a, b, c, d = (function(k * h) for k in (-2, -1, 1, 2))
    return (a - 8 * b + 8 * c - d) / (12 * h)


@each_mechanism
def test_torques_and_rates_are_those_of_the_constrained_tree(name):
    model, motion, rows = case(name)
    expected = dyn.mechanisms.constrained_inverse_dynamics(model.system, *motion)
    for found, of_tree in zip(rigid.inverse_dynamics(model, *rows), expected[:3], strict=True):
        assert error(found, of_tree[model.system.actuated_indices]) < 1e-11
    assert rigid.inverse_dynamics(model, *rows[:3]).tau_dot is None


@each_mechanism
def test_the_rate_of_the_momentum_is_the_torque_less_the_bias(name):
    """p = dT/ds'; p' along the motion, by differences, is Q - beta; g is the torque at rest,
    and that of dampers."""
    model, _, (q, qd, qdd, *_) = case(name)
    solver = rigid.momentum_solver(model)

    def at(t):
        solver.state[:] = q + t * qd + t**2 / 2 * qdd, qd + t * qdd
        assert solver.update() == 1
        return solver.result.copy()

    rate = slope(lambda t: at(t)[0], 1e-3)
    p, beta, g = at(0.0)
    assert error(p, rigid.mass_matrix(model, q) @ qd) < 1e-12
    assert error(beta, rigid.inverse_dynamics(model, q, qd, qdd).tau - rate) < 1e-8
    dampers = rigid.passive_torques(model, q, qd)[1, 0]
    assert error(g, rigid.gravity_forces(model, q) + dampers) < 1e-12


@each_mechanism
def test_energies_are_those_of_the_tree(name):
    model, motion, rows = case(name)
    tree = model.tree
    kinetic, potential = rigid.kinetic_energy, rigid.potential_energy
    assert kinetic(model, *rows[:2]) == pytest.approx(kinetic(tree, *motion[:2]), rel=1e-12)
    stiffness, rest, _ = model.system.spring_rows
    stored = potential(tree, motion[0]) + 0.5 * stiffness @ (motion[0] - rest) ** 2
    assert potential(model, rows[0]) == pytest.approx(stored, rel=1e-12)
    np.testing.assert_allclose(model.configuration(rows[0]), motion[0], atol=1e-12)


@each_mechanism
def test_gravity_and_its_gradient_are_derivatives_of_the_potential(name):
    model, _, (q, *_) = case(name)
    g, gradient = rigid.gravity_forces(model, q), rigid.gravity_gradient(model, q)
    assert error(gradient, gradient.T) < 1e-12
    for j, e in enumerate(np.eye(model.n)):
        work = slope(lambda t, e=e: rigid.potential_energy(model, q + t * e), 1e-3)
        assert abs(work - g[j]) < 1e-8 * abs(g).max()
        column = slope(lambda t, e=e: rigid.gravity_forces(model, q + t * e), 1e-3)
        assert error(gradient[:, j], column) < 1e-8
    batch = rigid.gravity_gradient(model, np.stack([q, model.home]))
    assert error(batch[0], gradient) < 1e-12


@each_mechanism
def test_a_pose_does_not_depend_on_what_was_computed_before(name):
    """Far poses are approached from `assembled`, also after one that cannot be reached."""
    model = CLOSED[name]
    pose = model.home + 0.2
    expected = rigid.gravity_forces(model, pose)
    solver = rigid.inverse_solver(model)
    for far in (model.home + 1e3, model.home - 0.25, np.full(model.n, np.nan)):
        solver.state[:], solver.state[0] = 0.0, far
        solver.update()
        solver.state[0] = pose
        assert solver.update() == 1
        assert error(solver.result[0], expected) < 1e-11


@each_mechanism
def test_links_move_as_in_the_tree_and_their_loops_stay_closed(name):
    """Both frames of each cut joint are at one point; a Jacobian and its rate are derivatives of
    the pose by differences."""
    model, motion, rows = case(name)
    batch = [np.stack([row, row]) for row in rows]
    expected = rigid.forward_kinematics(model.tree, *motion)
    for found, of_tree in zip(rigid.forward_kinematics(model, *batch), expected, strict=True):
        assert np.abs(found[1] - of_tree).max() < 1e-12 * np.abs(of_tree).max()
    for loop in model.loops:
        ends = [
            rigid.frame_pose(model, rows[0], body) @ pose
            for body, pose in ((loop.first, loop.first_pose), (loop.second, loop.second_pose))
        ]
        np.testing.assert_allclose(ends[0][:3, 3], ends[1][:3, 3], atol=1e-12)
    body, (q, qd, *_) = model.body_names[1], rows
    J = rigid.jacobian(model, q, body, representation="hybrid")
    for j, e in enumerate(np.eye(model.n)):
        slid = slope(lambda t, e=e: rigid.frame_pose(model, q + t * e, body)[:3, 3], 1e-3)
        np.testing.assert_allclose(J[3:, j], slid, atol=1e-9)
    rate = slope(lambda t: rigid.jacobian(model, q + t * qd, body, representation="hybrid"), 1e-3)
    found = rigid.jacobian_dot(model, q, qd, body, representation="hybrid")
    np.testing.assert_allclose(found, rate, atol=1e-8)


@each_mechanism
def test_wrenches_with_rates_act_as_on_the_constrained_tree(name):
    model, motion, rows = case(name)
    W = {model.body_names[1]: np.random.default_rng(2).normal(size=(3, 6))}
    expected = dyn.mechanisms.constrained_inverse_dynamics(model.system, *motion, wrenches=W)
    batch = [np.stack([row, row]) for row in rows]
    free = rigid.inverse_dynamics(model, *rows)
    for k, found in enumerate(rigid.inverse_dynamics(model, *batch, wrenches=W)):
        assert error(found[1], expected[k][model.system.actuated_indices]) < 1e-11
        assert error(found[1], free[k]) > 1e-3
    assert error(rigid.inverse_dynamics(model, *rows).tau, free.tau) < 1e-12  # they were for once


def test_a_pose_out_of_reach_has_no_numbers():
    model = CLOSED["five-bar"]
    apart = model.home + 0.6
    assert model.reaches(np.stack([model.home, apart])).tolist() == [True, False]
    for solver in (rigid.inverse_solver(model), rigid.momentum_solver(model)):
        solver.state[:], solver.state[0] = 0.0, apart
        assert solver.update() == 0
        assert np.isnan(solver.result).all()
        assert "near" in solver.problem()
        solver.state[0] = model.home
        assert solver.update() == 1
        assert np.isfinite(solver.result).all()
    for compute in (rigid.gravity_forces, rigid.mass_matrix):
        with pytest.raises(dyn.DynamicsError, match="near"):
            compute(model, apart)


def test_empty_batches():
    model, _, rows = case("delta")
    none = rows[:3, None][:, :0]
    for wrenches in (None, {"platform": np.zeros((0, 3, 6))}):
        assert rigid.inverse_dynamics(model, *none, wrenches=wrenches).tau.shape == (0, model.n)
        assert rigid.forward_dynamics(model, *none, wrenches=wrenches).shape == (0, model.n)


@pytest.mark.parametrize("wrenches", [None, {"platform": np.ones((3, 6))}], ids=["free", "loaded"])
def test_the_state_of_a_batch_that_cannot_be_reached_is_named(wrenches):
    model, _, rows = case("delta")
    far = np.repeat(rows[:3, None], 3, axis=1)
    far[0, 2] += 50.0
    for function in (
        rigid.inverse_dynamics, rigid.forward_dynamics, rigid.inverse_dynamics_derivatives,
    ):  # fmt: skip
        with pytest.raises(dyn.DynamicsError, match=r"', state 2: loop '"):
            function(model, *far, wrenches=wrenches)


def test_other_gravity_loads_and_rotors_count_as_in_the_tree():
    model, motion, (q, *_) = case("five-bar")
    assert repr(model) == f"<ClosedChainModel '{model.name}' with 2 motors, 1 loops>"
    light = model.with_gravity((0.0, 0.0, 0.0))
    solver = rigid.inverse_solver(model)
    solver.set_model(light)
    solver.state[:], solver.state[0] = 0.0, q
    solver.update()
    for weightless in (rigid.gravity_forces(light, q), solver.result[0]):
        np.testing.assert_allclose(weightless, 0.0, atol=1e-14)
    loaded = model.with_payload(model.body_names[-1], 2.0, (0.1, 0.0, 0.0))
    expected = rigid.potential_energy(loaded.tree, motion[0])
    assert rigid.potential_energy(loaded, q) == pytest.approx(expected, rel=1e-12)
    geared = model.with_reflected_inertia([0.3, 0.4])
    added = rigid.mass_matrix(geared, q) - rigid.mass_matrix(model, q)
    np.testing.assert_allclose(added, np.diag([0.3, 0.4]), atol=1e-12)
    twice = model.with_scaled_links(np.full(model.body_count, 2.0))
    assert error(rigid.gravity_forces(twice, q), 2.0 * rigid.gravity_forces(model, q)) < 1e-12


def test_robots_that_differ_in_inertia_and_gravity_share_the_assembly(monkeypatch):
    model, _, (q, qd, *_) = case("five-bar, springs")
    M = rigid.mass_matrix(model, q)
    by_q = rigid.inverse_dynamics_derivatives(model, q, qd, qd)
    slopes = rigid.passive_slopes(model, q)

    def assemble(*_args, **_given):
        raise AssertionError("assembled once more")

    monkeypatch.setattr(constrained_solvers, "assemble", assemble)
    factors = np.linspace(0.5, 2.0, model.body_count)
    other = model.with_scaled_links(factors).with_gravity((1.0, 2.0, 3.0))
    changed = rigid.mass_matrix(other, q)
    alone = copy.deepcopy(other)
    assert error(rigid.passive_slopes(other, q), slopes) < 1e-12
    assert error(rigid.mass_matrix(model, q), M) < 1e-14
    for found, expected in zip(
        rigid.inverse_dynamics_derivatives(model, q, qd, qd), by_q, strict=True
    ):
        assert error(found, expected) < 1e-13
    monkeypatch.undo()
    assert error(rigid.mass_matrix(alone, q), changed) < 1e-13


def test_on_a_soft_base_the_links_and_the_base_move_as_in_the_tree():
    """M and g of a robot with the coordinates of its base before its own; at rest, the base carries
    the weight."""
    model, _, (q, *_) = case("delta")
    mounted = dyn.elastic_arm.on_base(model)
    at = np.concatenate((np.zeros(6), q))
    M, g = rigid.mass_matrix(mounted, at), rigid.gravity_forces(mounted, at)
    assert error(M[6:, 6:], rigid.mass_matrix(model, q)) < 1e-12
    assert error(g[6:], rigid.gravity_forces(model, q)) < 1e-11
    mass = model.link_inertias[:, 5, 5].sum()
    np.testing.assert_allclose(M[:3, :3], mass * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(g[:3], -mass * model.gravity, atol=1e-9)


@pytest.mark.parametrize(
    "compute",
    [
        lambda model: rigid.christoffel_symbols(model, model.home),
        lambda model: dyn.InverseDynamicsSolver(model),
        lambda model: rigid.forward_dynamics(model, *[model.home] * 3, base=rigid.BaseMotion()),
        lambda model: rigid.forward_dynamics_rates(model, *[model.home] * 4),
        lambda model: rigid.inverse_dynamics_derivatives(
            model, *[model.home] * 3, base=rigid.BaseMotion()
        ),
        lambda model: rigid.gravity_forces(model, model.home, base=rigid.BaseMotion()),
        lambda model: model.with_locked([model.joint_names[0]]),
    ],
)
def test_what_knows_trees_only_refuses_the_loops_by_name(compute):
    with pytest.raises(
        dyn.InputError, match=r"is not available for robot '.*', which has loops: '"
    ):
        compute(CLOSED["five-bar"])


def test_a_robot_needs_a_motor_for_each_degree_of_freedom():
    mechanism = five_bar("a", "c", "e")
    with pytest.raises(dyn.InputError, match=r"has 2 degrees of freedom .* got 3 joints"):
        dyn.mechanisms.closed_chain(mechanism.system, mechanism.q)
