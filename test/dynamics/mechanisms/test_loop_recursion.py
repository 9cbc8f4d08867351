# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The kinematics of closed loops in compiled code: derivatives by power series of 40 digits."""

import numpy as np
import pytest

from mechanisms import MECHANISMS, bricard, reference_motion
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.mechanisms import loop_recursion as at
from robots import CONFIG


def solver_for(mechanism):
    return dyn.mechanisms.ConstrainedForwardDynamicsSolver(
        mechanism.system, mechanism.q, independent=mechanism.independent
    )


@pytest.mark.parametrize("name", MECHANISMS)
def test_dependent_rates_to_the_fourth(name):
    mechanism = MECHANISMS[name]
    system = mechanism.system
    rates = np.random.default_rng(4).uniform(-1, 1, (4, system.n))
    exact = reference_motion(mechanism, mechanism.q, rates).astype(float)
    solver = dyn.mechanisms.ConstrainedInverseDynamicsSolver(
        system, mechanism.q, independent=mechanism.independent
    )
    solver(*exact[:, system.indices(mechanism.independent)])
    for k in range(5):
        np.testing.assert_allclose(
            solver.motion[k], exact[k], atol=1e-12 * max(1, abs(exact[k]).max())
        )


@pytest.mark.parametrize("name", MECHANISMS)
def test_jacobians_are_derivatives_of_each_other(name):
    """A q' = 0 with its derivatives, by A, A' and A'' of the recursion."""
    mechanism = MECHANISMS[name]
    system, motion = mechanism.system, mechanism.motion(2)
    solver = dyn.mechanisms.ConstrainedInverseDynamicsSolver(
        system, mechanism.q, independent=mechanism.independent
    )
    solver(*(row[system.indices(mechanism.independent)] for row in motion))
    m = len(solver.multipliers)
    A, A1, A2 = solver._matrices[at.JACOBIANS : at.JACOBIANS + 3, :m, : system.n]
    q1, q2, q3 = motion[1:4]
    for left in (A @ q1, A @ q2 + A1 @ q1, A @ q3 + 2 * A1 @ q2 + A2 @ q1):
        np.testing.assert_allclose(left, 0, atol=1e-12)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_reduction_spans_the_motions(name):
    """q' = G s', with the rates of `consistent_motion`."""
    mechanism = MECHANISMS[name]
    solver = solver_for(mechanism)
    free = mechanism.system.indices(mechanism.independent)
    qd = mechanism.motion(3)[1]
    np.testing.assert_allclose(solver.reduction @ qd[free], qd, atol=1e-12)


def test_a_loop_with_as_many_equations_as_joints_moves():
    """Bricard's loop: the closed form, along half a turn of its motion; one row is redundant."""
    theta, system = np.pi / 2, bricard(np.pi / 2)
    solver = dyn.mechanisms.ConstrainedInverseDynamicsSolver(system, np.zeros(5))
    assert len(solver.redundant) == 1
    assert solver.independent == ("joint1",)
    for angle in np.linspace(0.0, 0.5, 100):
        solver([angle], [1.0], [0.0], [0.0], [0.0])
        a, b, c, d, e = solver.motion[0]
        np.testing.assert_allclose((c, e, d), (a, a, b), atol=1e-12)
        near, far = np.cos(theta + a), np.cos(theta + b)
        assert abs(near * far + near + far) < 1e-12


def test_a_motion_that_has_hardly_begun_does_not_open_the_loops():
    """The first samples of a motion from rest: speeds of 1e-55 rad/s say nothing about the time."""
    files = CONFIG / "mechanisms" / "delta"
    model = dyn.mechanisms.load_robot(files.with_suffix(".urdf"), files.with_suffix(".yaml"))
    q, qd, qdd = np.zeros((3, 2, model.n))
    q[:] = 0.1
    q[1] -= [4e-17, 2e-10, 4e-17]
    qd[0, 0], qdd[0, 0] = 4e-55, -4e-40
    found = model.configuration(q), model.tree_motion(q, qd, qdd)[0]
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-9)
