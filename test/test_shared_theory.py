# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The papers' theory on the reference robots, checked by the methods of each module's tests."""

from itertools import product

import numpy as np
import pytest

from conftest import SHARED
from geometric_errors import some_errors, with_standing_joints
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.model import inertia
from reference import along, complex_steps, error, exact_rates
from robots import deepest, random_inertia, random_state
from shared_robots import Case, close

ROBOTS = sorted((SHARED / "cases").glob("*.urdf"))
each_representation = pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda file: file.stem)
def model(request):
    return dyn.load_urdf(request.param, gravity=(1.7, -3.1, -8.9))


@each_representation
def test_derivatives_of_jacobians(model, representation):
    state, body = random_state(model, seed=1), deepest(model)
    q, u = state[:2]
    at = {"representation": representation}
    Jdd = dyn.theory.jacobian_ddot(model, *state[:3], body, **at)
    gradient = dyn.theory.jacobian_gradient(model, q, body, **at)
    hessian = dyn.theory.jacobian_hessian(model, q, body, **at)
    expected = exact_rates(model, state[:3], body, representation)[2]
    assert error(Jdd, expected, axes=2) < 1e-12
    first = along(model, q, u, 1, body, representation)
    second = along(model, q, u, 2, body, representation)
    assert error(gradient @ u, first, axes=2) < 1e-12
    assert error(hessian @ u @ u, second, axes=2) < 1e-12
    repeated = dyn.theory.jacobian_partial(model, q, body, [model.path(body)[1]] * 3, **at)
    line = np.eye(model.n)[model.path(body)[1]]
    third = along(model, q, line, 3, body, representation)
    assert np.abs(repeated - third).max() < 1e-12


def test_the_representations_convert_into_each_other(model):
    state = random_state(model, seed=2)
    motions = {
        name: dyn.forward_kinematics(model, *state, representation=name)
        for name in dyn.REPRESENTATIONS
    }
    for source, target in product(dyn.REPRESENTATIONS, repeat=2):
        pose, *rates = motions[source]
        converted = dyn.convert_twist(pose, rates, source, target)
        for rate, expected in zip(converted, motions[target][1:], strict=True):
            assert error(rate, expected) < 1e-12


def test_a_load_acts_like_a_payload_and_its_cell_reads_the_joint_wrench(model):
    state, load = random_state(model, seed=3), random_inertia(np.random.default_rng(4))
    mass, com, inertia_com = inertia.decompose(load)
    body = deepest(model)
    W = dyn.rigid.load_wrench(model, body, load, *state)
    pushed = dyn.inverse_dynamics(model, *state, wrenches={model.body_names[body]: W})
    loaded = model.with_payload(body, mass, com, inertia_com)
    expected = dyn.inverse_dynamics(loaded, *state)
    for rate, right in zip(pushed, expected, strict=True):
        assert error(rate, right) < 1e-12
    joints = dyn.rigid.joint_wrenches(loaded, *state)
    reading = dyn.rigid.load_cell_reading(loaded, body, loaded.inertias[body], *state)
    assert error(reading, -joints[body]) < 1e-12
    X = (se3.Ad(se3.inverse(model.poses)) @ model.screws[..., None])[..., 0]
    rotors = model.reflected_inertia * state[2:]
    assert error(np.einsum("nkc,nc->kn", joints, X) + rotors, np.array(expected)) < 1e-12


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda file: file.stem)
def case(request):
    return Case(request.param.stem)


@pytest.mark.parametrize(
    "kind",
    [
        dyn.theory.JointFrameDescription,
        dyn.theory.BodyScrewDescription,
        dyn.theory.ParentScrewDescription,
        dyn.theory.SpatialScrewDescription,
    ],
)
def test_every_description_gives_the_same_poses(case, kind):
    poses = kind.of(case.model).poses(case.states[0])
    assert close(poses[:, case.order], case["T"], axes=2)


@pytest.mark.parametrize(("representation", "key"), [("body", "Vb"), ("spatial", "Vs")])
def test_system_twists_and_accelerations(case, representation, key):
    q, qd, qdd = case.states[:3]
    k = dyn.theory.system_kinematics(case.model, q, qd, representation=representation)
    for order, rate in enumerate((k.V, k.acceleration(qdd))):
        rates = rate.reshape(len(q), case.model.n, 6)
        assert close(rates[:, case.order], case[key][:, :, order]), order


@pytest.mark.parametrize("method", ["projection", "least_squares"])
def test_joints_from_the_motion_of_all_bodies(case, method):
    robot, (q, qd, qdd) = case.model, case.states[:3]
    poses, V, V_dot = np.empty_like(case["T"]), *np.empty((2, *q.shape, 6))
    poses[:, case.order] = case["T"]
    V[:, case.order], V_dot[:, case.order] = np.moveaxis(case["Vb"][:, :, :2], 2, 0)
    at = {"method": method}
    positions = dyn.theory.joint_positions_from_poses(robot, poses, reference=q, **at).joints
    assert close(positions, q)
    assert close(dyn.theory.joint_rates_from_twists(robot, q, V, **at).joints, qd)
    found = dyn.theory.joint_accelerations_from_motion(robot, q, V, V_dot, **at).joints
    np.testing.assert_allclose(found, qdd, atol=1e-12 * np.abs(V_dot).max())


def test_geometric_sensitivity(model):
    """Errors as coordinates of joints at rest: exact for poses and torques."""
    errors, values = some_errors(model)
    standing = with_standing_joints(model, errors)
    state, body = random_state(model, seed=2), deepest(model)
    there, local = (
        dyn.identification.perturbed_model(model, errors, values),
        dyn.identification.errors_at(errors, values),
    )
    extended = standing.state(values, *state[:3])
    J = dyn.jacobian(standing.model, extended[0], standing.joints[body])[:, standing.parameters]
    assert (
        np.abs(dyn.identification.pose_sensitivity(there, local, state[0], body) - J).max() < 1e-12
    )
    slope = dyn.identification.torque_sensitivity(there, local, *state[:3])
    extended = extended.astype(complex)
    for k, place in enumerate(standing.parameters):
        extended[0, place] += 1e-30j
        tau = dyn.generic_inverse_dynamics(standing.model, *extended)[0].astype(complex)
        extended[0, place] = values[k]
        expected = tau.imag[standing.joints] / 1e-30
        assert np.abs(slope[:, k] - expected).max() < 1e-12 * np.abs(slope).max()


def test_base_parameters(model):
    """Base parameters omit effects below 1e-9, which stem from rounded right angles of the URDF."""
    base = dyn.identification.base_parameters(model)
    state = random_state(model, seed=3)
    beta = base.values(dyn.identification.inertial_parameters(model))
    for Y, tau in zip(
        dyn.identification.inverse_dynamics_regressor(model, *state),
        dyn.inverse_dynamics(model, *state),
        strict=True,
    ):
        assert error(Y @ dyn.identification.inertial_parameters(model), tau) < 1e-12
        assert error(base.reduce(Y) @ beta, tau) < 1e-8


def test_closed_forms_of_the_equations_of_motion(case):
    """The stored mass matrices and velocity forces, by every closed form."""
    robot, (q, qd) = case.model, case.states[:2]
    M = dyn.theory.mass_matrix_closed_form(robot, q)
    assert close(M[:, case.order][:, :, case.order], case["M"], axes=2)
    C, mueller = (
        f(robot, q, qd) for f in (dyn.coriolis_matrix, dyn.theory.coriolis_matrix_mueller)
    )
    symbols, binet = (
        f(robot, q) for f in (dyn.christoffel_symbols, dyn.rigid.christoffel_symbols_binet)
    )
    contracted = [(x @ qd[:, None, :, None])[..., 0] for x in (symbols, binet)]
    for matrix in (C, mueller, *contracted):
        forces = (matrix @ qd[..., None])[..., 0]
        assert close(forces[:, case.order], case["bias_cor"])
    assert close(symbols, binet, axes=3)
    assert close(C, contracted[0], axes=2)
    rate = dyn.rigid.mass_matrix_dot(robot, q, qd)
    assert close(C + np.swapaxes(C, 1, 2), rate, axes=2)


def test_projection_and_lagrange_equations(case):
    robot, state = case.model, case.states[:3]
    wrenches = {case.tip: case["wrench"][:, 0]}
    for loads, key in ((None, "Q"), (wrenches, "Q_wworld")):
        tau = dyn.theory.lagrange_equations(robot, *state, wrenches=loads)
        assert close(tau[:, case.order], case[key])
        for name in dyn.REPRESENTATIONS:
            tau = dyn.theory.projection_equations(
                robot, *state, wrenches=loads, representation=name
            )
            assert close(tau[:, case.order], case[key]), name


def test_energy_and_momentum(case):
    """T of the stored twists and mass matrices, and p, Pi and q' from one another."""
    robot, (q, qd) = case.model, case.states[:2]
    own = qd[:, case.order]
    p = (case["M"] @ own[..., None])[..., 0]
    assert close(dyn.theory.generalized_momentum(robot, q, qd)[:, case.order], p)
    assert close(dyn.rigid.kinetic_energy(robot, q, qd), np.sum(p * own, axis=1) / 2, axes=0)
    momenta = dyn.theory.body_momenta(robot, q, qd)
    twists = np.empty_like(momenta)
    twists[:, case.order] = case["Vs"][:, :, 0]
    T = np.sum(momenta * twists, axis=(1, 2)) / 2
    assert close(dyn.rigid.kinetic_energy(robot, q, qd), T, axes=0)
    lost = np.linalg.cond(case["M"]).max()
    assert error(dyn.theory.rates_of_momenta(robot, q, momenta), qd) < 1e-14 * lost


@each_representation
def test_newton_euler_equations_give_the_joint_wrenches(case, representation):
    """Newton-Euler of single bodies, W, W' and W'', projected and summed to stored torques."""
    robot, state = case.model.with_gravity(np.zeros(3)), case.states
    pose, *rates = dyn.forward_kinematics(robot, *state, representation=representation)
    W = dyn.rigid.newton_euler_rates(pose, robot.inertias, *rates, representation=representation)
    parts = dyn.convert_wrench(pose, rates, list(np.moveaxis(W, -2, 0)), representation, "spatial")
    applied = np.stack(parts, axis=-2)  # (20, n, 3, 6)
    wrenches = {name: applied[:, i] for i, name in enumerate(robot.body_names)}
    moved = dyn.inverse_dynamics(robot, *state)
    left = dyn.inverse_dynamics(robot, *state, wrenches=wrenches)
    for order, (total, rest) in enumerate(zip(moved, left, strict=True)):
        assert np.abs(rest).max() < 1e-12 * np.abs(total).max(), order


def test_derivatives_of_the_dynamics(model):
    """Matrices against complex steps; derivatives by parameters against matrices and regressor."""
    rows, by = random_state(model, seed=5)[:3], dyn.identification.ParameterDependence
    expected = complex_steps(lambda *x: dyn.generic_inverse_dynamics(model, *x)[0], rows)
    inverse = dyn.inverse_dynamics_derivatives(model, *rows)
    tau = dyn.inverse_dynamics(model, *rows).tau
    forward = dyn.forward_dynamics_derivatives(model, *rows[:2], tau)
    lost = 1e-14 * np.linalg.cond(inverse.dtau_dqdd)
    for k, quantity in enumerate(("q", "qd", "qdd")):
        assert error(inverse[k], expected[k], axes=2) < 1e-12
        joints = by.on_joints(model, quantity)
        found = dyn.identification.inverse_dynamics_sensitivity(model, joints, *rows)
        assert error(found, expected[k], axes=2) < 1e-12
        unit = np.eye(model.n) if quantity == "qdd" else -inverse[k]
        found = inverse.dtau_dqdd @ forward[k]
        assert np.abs(found - unit).max() < lost * np.abs(unit).max()
    parameters = by.together(*(by.on_inertial_parameters(model, b) for b in model.body_names))
    Y = dyn.identification.inverse_dynamics_regressor(model, *rows).Y
    found = dyn.identification.inverse_dynamics_sensitivity(model, parameters, *rows)
    assert error(found, Y, axes=2) < 1e-12
    found = dyn.identification.forward_dynamics_sensitivity(model, parameters, *rows[:2], tau)
    assert np.abs(inverse.dtau_dqdd @ found + Y).max() < lost * np.abs(Y).max()


def test_forward_and_hybrid_dynamics(model):
    """They invert the inverse dynamics: with rates, with any prescribed joints, grouped or not."""
    rows = random_state(model, seed=6)
    q, qd, qdd = rows[:3]
    torques = dyn.inverse_dynamics(model, *rows)
    M = dyn.mass_matrix(model, q)
    lost = 1e-13 * np.linalg.cond(M)
    rates = dyn.rigid.forward_dynamics_rates(model, q, qd, *torques)
    for k, (found, row) in enumerate(zip(rates, rows[2:], strict=True)):
        assert error(found, row) < lost * 30**k  # rounding errors accumulate
    grouped = dyn.mechanisms.MultiDofModel.from_model(model)
    for wanted, found in zip(torques, grouped.inverse_dynamics(*rows), strict=True):
        assert error(found, wanted) < 1e-12
    assert error(grouped.forward_dynamics(q, qd, torques.tau), qdd) < lost
    for held in ([0], list(range(0, model.n, 2))):
        found = dyn.hybrid_dynamics(model, q, qd, prescribed=held, qdd=qdd, tau=torques.tau)
        assert error(found.qdd, qdd) < lost
        assert error(found.tau, torques.tau) < lost
    linear = dyn.rigid.linearize(model, q, qd, qdd=qdd)
    assert error(M @ linear.B[model.n :], np.eye(model.n), axes=2) < lost


def test_a_robot_pinned_to_the_ground(model):
    """Pinned by a ball at its end: forward and inverse dynamics agree."""
    q, qd, tau = random_state(model, seed=7)[:3]
    body = deepest(model)
    pin = dyn.mechanisms.LoopClosure.at(
        model, "pin", model.base_name, body, dyn.spherical(), point=(0.1, 0.2, 0.3), q=q
    )
    system = dyn.mechanisms.ConstrainedModel(model, [pin])
    q, qd = dyn.mechanisms.consistent_motion(system, q, qd)
    moved = dyn.mechanisms.constrained_forward_dynamics(system, q, qd, tau)
    A, A_dot = dyn.mechanisms.constraint_matrices(system, q, qd)
    M = dyn.mass_matrix(model, q)
    left = M @ moved.qdd + dyn.inverse_dynamics(model, q, qd, 0 * q).tau - tau
    lost = 1e-13 * np.linalg.cond(M) * max(1, np.abs(moved.qdd).max(), np.abs(left).max())
    assert np.abs(left - A.T @ moved.multipliers).max() < lost
    assert np.abs(A @ moved.qdd + A_dot @ qd).max() < lost
    held = dyn.mechanisms.constrained_inverse_dynamics(
        system, q, qd, moved.qdd, choice="minimum_torque"
    )
    again = dyn.mechanisms.constrained_forward_dynamics(system, q, qd, held.tau)
    assert np.abs(again.qdd - moved.qdd).max() < lost
    least = np.linalg.lstsq(A.T, left + tau, rcond=None)[0]
    assert np.abs(held.tau - (left + tau - A.T @ least)).max() < lost
