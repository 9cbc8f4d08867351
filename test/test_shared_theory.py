# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The papers' theory on the reference robots, checked by the methods of each module's tests."""

import numpy as np
import pytest

from conftest import SHARED
from geometric_errors import some_errors, with_standing_joints
from multibody_dynamics import dynamics as dyn
from reference import error
from robots import deepest, random_state
from shared_robots import Case, close

ROBOTS = sorted((SHARED / "cases").glob("*.urdf"))


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda file: file.stem)
def model(request):
    return dyn.load_urdf(request.param, gravity=(1.7, -3.1, -8.9))


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
