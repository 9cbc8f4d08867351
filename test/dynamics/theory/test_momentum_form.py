# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The phase space of joint coordinates and body momenta, [M18d] (79)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import reference as ref
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import theory
from reference import error
from robots import draw, panda, random_inertia, random_pose, random_tree, with_multidof

SEEDS = st.integers(0, 2**32 - 1)
ROBOTS = [panda(), *(random_tree(6, seed) for seed in range(3)), with_multidof()]


def digits_lost(model, q):
    return np.linalg.cond(dyn.mass_matrix(model, q)).max()


def momenta_of_particles(model, state):
    """Pi_i of the bodies and their derivatives, (k, n, 6)."""
    flows = [
        ref.derivatives(ref.wrench(ref.times(ref.rate(C), ref.particles(M) @ ref.transpose(C))))
        for C, M in zip(ref.motion(model, state).poses, model.inertias, strict=True)
    ]
    return np.stack(flows, axis=1).astype(float)


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_momenta_are_those_of_the_particles(model):
    q, qd = draw(model, 2)
    Pi = theory.body_momenta(model, q, qd)
    assert error(Pi, momenta_of_particles(model, [q, qd])[0], 2) < 1e-13
    assert error(Pi.sum(axis=0), dyn.rigid.spatial_momentum(model, q, qd)) < 1e-14


def test_inconsistent_momenta_give_the_nearest_motion_in_kinetic_energy():
    """Least squares with the inverse inertias of the bodies as weights."""
    model = random_tree(6, 4)
    (q,) = draw(model, 1)
    Pi = np.random.default_rng(2).normal(size=(model.n, 6))
    motion = dyn.forward_kinematics(model, q)
    M = dyn.rigid.rigid_body_inertia(motion.pose, model.inertias, representation="spatial")
    J = np.array([dyn.jacobian(model, q, body) for body in range(model.n)])
    root = np.linalg.cholesky(M)
    weighted = np.linalg.inv(root) @ (M @ J), np.linalg.inv(root) @ Pi[..., None]
    expected = np.linalg.lstsq(weighted[0].reshape(-1, model.n), weighted[1].ravel(), rcond=None)[0]
    assert error(theory.rates_of_momenta(model, q, Pi), expected) < 1e-14 * digits_lost(model, q)


@settings(max_examples=8)
@given(SEEDS)
def test_rates_from_first_principles(seed):
    """Pi_i' of the particles along the motion caused by the torques and wrenches."""
    model = random_tree(5, seed).with_reflected_inertia(np.full(5, 0.1))
    q, qd, tau = draw(model, 3, seed=seed)
    W = {model.body_names[1]: np.random.default_rng(seed).normal(size=6)}
    Pi = theory.body_momenta(model, q, qd)
    rates = theory.momentum_equations(model, q, Pi, tau, wrenches=W)
    qdd = dyn.forward_dynamics(model, q, qd, tau, wrenches=W)
    tolerance = 1e-13 * digits_lost(model.with_reflected_inertia(np.zeros(5)), q)
    assert error(rates.qd, qd) < tolerance
    expected = momenta_of_particles(model, [q, qd, qdd])[1]
    assert error(rates.momenta_dot, expected, 2) < tolerance


def test_a_coarse_integration_preserves_the_momentum_to_rounding():
    """The advantage named by the paper: the sum of the momenta is linear in the state."""
    arm = random_tree(3, 6, branching=0.6)
    model = dyn.model_from_screws(
        [-1, *(arm.parents + 1)],
        [dyn.floating(), *arm.screws],
        [np.eye(4), *arm.poses],
        [dyn.spatial_inertia(2.0, (0.1, 0, 0.05), np.diag((0.05, 0.06, 0.08))), *arm.inertias],
        gravity=np.zeros(3),
    )
    n = model.n
    q, qd = 0.3 * draw(model, 2)
    tau = np.concatenate([np.zeros(6), [0.1, -0.2, 0.1]])

    def in_phase_space(_, x):
        rates = theory.momentum_equations(model, x[:n], x[n:].reshape(n, 6), tau)
        return np.concatenate([rates.qd, rates.momenta_dot.ravel()])

    def in_state_space(_, x):
        return np.concatenate([x[n:], dyn.forward_dynamics(model, x[:n], x[n:], tau)])

    start = theory.body_momenta(model, q, qd)
    loose = {"method": "RK23", "rtol": 1e-3, "atol": 1e-4}
    phase = solve_ivp(in_phase_space, (0, 1), [*q, *start.ravel()], **loose).y
    state = solve_ivp(in_state_space, (0, 1), [*q, *qd], **loose).y
    total = phase[n:].T.reshape(-1, n, 6).sum(axis=1)
    assert np.ptp(total, axis=0).max() < 1e-12
    drift = np.ptp(dyn.rigid.spatial_momentum(model, state[:n].T, state[n:].T), axis=0).max()
    assert drift > 1e-6
    exact = solve_ivp(in_state_space, (0, 1), [*q, *qd], method="DOP853", rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(phase[:n, -1], exact.y[:n, -1], atol=5e-3)


@pytest.mark.parametrize("name", ["q", "momenta", "tau"])
@pytest.mark.parametrize("bad", [None, 0.0, np.full((5, 5), np.nan), np.zeros(5) * 1j, "text"])
def test_bad_input_is_rejected_and_named(name, bad):
    arguments = {"q": np.zeros(5), "momenta": np.zeros((5, 6)), "tau": np.zeros(5)} | {name: bad}
    with pytest.raises(dyn.InputError, match=rf"\b{name}\b"):
        theory.momentum_equations(random_tree(5, 5), **arguments)


@pytest.mark.parametrize("seed", range(2))
def test_a_robot_with_only_rotor_inertia_is_rejected(seed):
    """A point mass on its own joint axis has no momentum at any speed.

    Its computed inertia is rounding error of either sign.
    """
    rng = np.random.default_rng(seed)
    axis, point = rng.normal(size=(2, 3))
    pose = random_pose(rng)
    along = point + 0.4 * axis
    com = pose[:3, :3].T @ (along - pose[:3, 3])
    model = dyn.model_from_screws(
        [-1, 0],
        [dyn.revolute((0, 1, 0)), dyn.revolute(axis, point)],
        [np.eye(4), pose],
        [random_inertia(rng), dyn.spatial_inertia(1.0, com, np.zeros((3, 3)))],
        reflected_inertia=[0.0, 0.5],
    )
    q, qd = draw(model, 2)
    assert np.isfinite(dyn.forward_dynamics(model, q, qd, [1.0, 1.0])).all()
    with pytest.raises(dyn.DynamicsError, match=r"momenta .* do not determine the rates"):
        theory.rates_of_momenta(model, q, theory.body_momenta(model, q, qd))


def test_heavy_rotors_do_not_reduce_accuracy():
    model = random_tree(6, 4)
    q, qd = draw(model, 2)
    momenta = theory.body_momenta(model, q, qd)
    heavy = model.with_reflected_inertia(np.full(6, 1e9))
    expected = theory.rates_of_momenta(model, q, momenta)
    np.testing.assert_array_equal(theory.rates_of_momenta(heavy, q, momenta), expected)
