# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Energy, momentum and centre of mass: particles, Pinocchio, and conservation laws."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

import reference as ref
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid
from reference import error
from rejections import assert_rejected
from robots import draw, panda, random_tree, to_pinocchio, with_multidof, with_rotors

ROBOTS = [panda(), *(random_tree(6, seed) for seed in range(3)), with_multidof()]


def momentum_of_particles(model, state):
    """Pi^s and its derivatives."""
    poses = ref.motion(model, state).poses
    flows = [
        ref.times(ref.rate(C), ref.particles(M) @ ref.transpose(C))
        for C, M in zip(poses, model.inertias, strict=True)
    ]
    return ref.derivatives(ref.wrench(sum(flows))).astype(float)


def floating_tree(gravity=(0.0, 0.0, 0.0)):
    """A free-floating robot of five bodies."""
    arms = random_tree(4, 5, branching=0.6)
    return dyn.model_from_screws(
        [-1, *(arms.parents + 1)],
        [dyn.floating((0.1, -0.2, 0.3)), *arms.screws],
        [np.eye(4), *arms.poses],
        [dyn.spatial_inertia(2.0, (0.1, 0, 0.05), np.diag((0.05, 0.06, 0.08))), *arms.inertias],
        gravity=gravity,
    )


def drift(model, tau, seconds=1.0):
    """States (k, n) of q and q' and their times along a motion under constant joint torques."""
    n = model.n
    start = draw(model, 2, seed=3).ravel() * 0.4

    def rate(_, x):
        return np.concatenate([x[n:], dyn.forward_dynamics(model, x[:n], x[n:], tau)])

    motion = solve_ivp(rate, (0, seconds), start, method="DOP853", rtol=1e-11, atol=1e-12)
    return motion.t, motion.y[:n].T, motion.y[n:].T


# values


@pytest.mark.parametrize("model", [with_rotors(x) for x in ROBOTS], ids=repr)
def test_energies_and_momentum_are_those_of_the_particles(model):
    q, qd = draw(model, 2)
    kinetic, potential = ref.energy(model, [q, qd])
    assert rigid.kinetic_energy(model, q, qd) == pytest.approx(float(kinetic[0]), rel=1e-13)
    lever = 9.81 * model.inertias[:, 5, 5].sum()  # J per m of height
    assert rigid.potential_energy(model, q) == pytest.approx(float(potential[0]), abs=1e-14 * lever)
    Pi = momentum_of_particles(model, [q, qd])[0]
    assert error(rigid.spatial_momentum(model, q, qd), Pi) < 1e-13


@pytest.mark.parametrize("seed", range(4))
def test_pinocchio_agrees(seed):
    model = random_tree(6, seed)  # Pinocchio's energy does not include the rotors
    twin = to_pinocchio(model)
    data = twin.model.createData()
    for q, qd in zip(*draw(model, 2, 3, seed=seed), strict=True):
        state = (twin.model, data, twin.to_pin(q), twin.to_pin(qd))
        T, U = pin.computeKineticEnergy(*state), pin.computePotentialEnergy(*state[:3])
        assert rigid.kinetic_energy(model, q, qd) == pytest.approx(T, rel=1e-13)
        assert rigid.potential_energy(model, q) == pytest.approx(U, rel=1e-12)
        c = pin.centerOfMass(*state[:3])
        assert error(rigid.center_of_mass(model, q), c) < 1e-13
        pin.ccrba(*state)
        L, P = dyn.from_linear_first(data.hg.vector).reshape(2, 3)  # about the centre of mass
        Pi = np.concatenate([L + np.cross(c, P), P])
        assert error(rigid.spatial_momentum(model, q, qd), Pi) < 1e-13


# conservation along integrated motions


def test_a_floating_robot_keeps_energy_and_momentum():
    """No gravity, no torques: to the accuracy of the integrator; the centre moves uniformly."""
    model = floating_tree()
    t, q, qd = drift(model, np.zeros(model.n))
    assert np.ptp(q, axis=0).max() > 0.3
    T, Pi = rigid.kinetic_energy(model, q, qd), rigid.spatial_momentum(model, q, qd)
    assert np.ptp(T) < 1e-9 * T[0]
    assert np.ptp(Pi, axis=0).max() < 1e-9 * np.abs(Pi[0]).max()
    c = rigid.center_of_mass(model, q)
    velocity = Pi[0, 3:] / model.inertias[:, 5, 5].sum()
    np.testing.assert_allclose(c, c[0] + t[:, None] * velocity, atol=1e-9)


# input


def test_a_robot_without_mass_has_no_centre_of_mass():
    wheel = np.diag((0.1, 0.1, 0.1, 0, 0, 0))
    model = dyn.model_from_screws([-1], [dyn.revolute((0, 0, 1))], [np.eye(4)], [wheel])
    assert_rejected((lambda: rigid.center_of_mass(model, [0.0]), "no mass"), error=dyn.ModelError)
    assert rigid.kinetic_energy(model, [0.0], [2.0]) == pytest.approx(0.2)
