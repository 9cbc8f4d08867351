# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of robots with loops, against central differences of what the loops determine."""

import numpy as np
import pytest

from mechanisms import MOTORISED, closed_tree, pinocchio_acceleration
from multibody_dynamics import dynamics as dyn
from reference import error
from robots import CONFIG

Derivatives = dyn.mechanisms.ConstrainedForwardDynamicsDerivativesSolver

STEP = 1e-5


@pytest.fixture(scope="module", params=["five_bar", "delta", "leg"])
def model(request):
    files = CONFIG / "mechanisms" / request.param
    return dyn.mechanisms.load_robot(files.with_suffix(".urdf"), files.with_suffix(".yaml"))


def states(model, count=3):
    """(count, 3, n) near the assembled pose."""
    rows = np.random.default_rng(0).normal(size=(count, 3, model.n))
    rows[:, 0] = model.home + 0.1 * rows[:, 0]
    return rows


def differences(function, rows):
    """df/ds, df/ds', df/ds'' (..., n) of a function of (count, 3, n), each direction behind."""
    n = rows.shape[-1]
    result = []
    for order in range(3):
        step = np.zeros((n, 1, 3, n))
        step[range(n), :, order, range(n)] = STEP
        ends = [np.stack([function(rows + sign * each) for each in step]) for sign in (1, -1)]
        result.append(np.moveaxis((ends[0] - ends[1]) / (2.0 * STEP), 0, -1))
    return result


def close(found, expected):
    size = max(np.abs(expected).max(), 1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * size)


def test_the_motion_of_all_joints_changes_as_its_derivatives_say(model):
    rows = states(model)
    tangents = dyn.mechanisms.loop_tangents(model, *rows.swapaxes(0, 1))
    bars = np.random.default_rng(1).normal(size=(3, 3, model.body_count))

    def weighed(rows):
        motion = np.stack(model.tree_motion(*rows.swapaxes(0, 1)), axis=1)
        return (bars * motion).sum(axis=(1, 2))

    close(tangents.pulled_back(bars), np.stack(differences(weighed, rows), axis=1))
    close(tangents.G[0], differences(lambda x: model.configuration(x[:, 0]), rows)[0])


def test_the_torques_of_the_motors_have_exact_derivatives(model):
    rows = states(model)
    found = dyn.inverse_dynamics_derivatives(model, *rows.swapaxes(0, 1))
    expected = differences(lambda x: dyn.inverse_dynamics(model, *x.swapaxes(0, 1)).tau, rows)
    for one, other in zip(found, expected, strict=True):
        close(one, other)
    np.testing.assert_allclose(found.dtau_dqdd, dyn.mass_matrix(model, rows[:, 0]), atol=1e-12)


def test_a_motion_of_q_alone_changes_the_torques_at_their_rate(model):
    """Q' = dQ/dq q' + dQ/dq' q'' + dQ/dq'' q''', an identity without differences."""
    rows = np.random.default_rng(2).normal(size=(4, 5, model.n))
    rows[0] = model.home + 0.1 * rows[0]
    found = dyn.inverse_dynamics_derivatives(model, *rows[:3])
    rate = sum((by @ row[..., None])[..., 0] for by, row in zip(found, rows[1:], strict=True))
    expected = dyn.inverse_dynamics(model, *rows).tau_dot
    np.testing.assert_allclose(rate, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("loaded", [False, True])
def test_accelerations_have_exact_derivatives(model, loaded):
    """Also with wrenches on the links, constant in inertial axes, and one for each state."""
    rows = states(model)
    body = model.body_names[-1]
    W = {body: np.random.default_rng(3).normal(size=(3, 6))} if loaded else None
    tau = dyn.inverse_dynamics(model, *rows.swapaxes(0, 1), wrenches=W).tau
    q, qd, qdd = rows.swapaxes(0, 1)
    given = np.stack([q, qd, tau], axis=1)
    np.testing.assert_allclose(dyn.forward_dynamics(model, q, qd, tau, wrenches=W), qdd, atol=1e-9)

    def accelerations(x):
        return dyn.forward_dynamics(model, *x.swapaxes(0, 1), wrenches=W)

    found = dyn.forward_dynamics_derivatives(model, q, qd, tau, wrenches=W)
    for one, other in zip(found, differences(accelerations, given), strict=True):
        close(one, other)


@pytest.mark.parametrize("name", MOTORISED)
def test_a_mechanism_with_any_motors_accelerates_along_its_derivatives(name):
    """Central differences of the solver itself, also if motors and independent joints differ."""
    mechanism = MOTORISED[name]
    system = mechanism.system
    how = {"independent": mechanism.independent}
    solver = Derivatives(system, mechanism.q, **how)
    own = system.indices(mechanism.independent)
    q, qd = (row[own] for row in mechanism.motion(1)[:2])
    tau = np.random.default_rng(1).normal(size=len(solver.actuated))
    passive = np.random.default_rng(2).normal(size=len(system.passive))
    plain = dyn.mechanisms.ConstrainedForwardDynamicsSolver(system, mechanism.q, **how)
    for each in (solver, plain):
        each.passive_torque[system.passive_indices] = passive
    found = [each.copy() for each in solver(q, qd, tau)]
    np.testing.assert_allclose(solver.result, plain(q, qd, tau), atol=1e-12)
    for k, one in enumerate(found):
        rows = [q, qd, tau]
        columns = []
        for e in np.eye(len(rows[k])):
            ends = []
            for sign in (1, -1):
                rows[k] = (q, qd, tau)[k] + sign * STEP * e
                ends.append(plain(*rows).copy())
            columns.append((ends[0] - ends[1]) / (2 * STEP))
        close(one, np.array(columns).T)


each_joint = pytest.mark.parametrize("free", [(), dyn.spherical()], ids=["weld", "ball"])


@each_joint
def test_pinocchio_agrees_on_a_chain_held_at_its_end(free):
    """Its derivatives displace each joint of the tree by itself; along the loop, dq = G ds and
    dq' = G' ds + G ds'. (4.1.0 leaves entries of joints beside a loop undefined.)"""
    system, q, qd, tau = closed_tree(1, free)
    solver = Derivatives(system, q)
    own = system.indices(solver.independent)
    found = solver(q[own], qd[own], tau)
    by_q, by_qd, by_tau = pinocchio_acceleration(system, q, qd, tau, derivatives=True)
    G = solver.reduction
    A, A_dot = dyn.mechanisms.constraint_matrices(system, q, qd)
    rest, G_dot = np.setdiff1d(np.arange(system.n), own), np.zeros_like(G)
    G_dot[rest] = -np.linalg.lstsq(A[:, rest], A_dot @ G)[0]
    expected = (by_q @ G + by_qd @ G_dot)[own], (by_qd @ G)[own], by_tau[own]
    for one, other in zip(found, expected, strict=True):
        assert error(one, other, 2) < 1e-11


@each_joint
@pytest.mark.parametrize("seed", range(3))
def test_accelerations_of_pinocchio_change_as_the_derivatives_say(seed, free):
    system, q, qd, tau = closed_tree(seed, free)
    solver, n = Derivatives(system, q), system.n
    own = system.indices(solver.independent)
    found = [each.copy() for each in solver(q[own], qd[own], tau)]

    def accelerations(row):
        solver(row[own], row[n:][own], row[2 * n :])
        return pinocchio_acceleration(system, *solver.motion[:2], row[2 * n :])[own]

    row = np.concatenate((q, qd, tau))
    for one, places in zip(found, (own, n + own, range(2 * n, 3 * n)), strict=True):
        steps = STEP * np.eye(3 * n)[places]
        ends = [[accelerations(row + sign * step) for step in steps] for sign in (1, -1)]
        assert error(one, (np.array(ends[0]) - ends[1]).T / (2.0 * STEP), 2) < 1e-7
