# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Generalised alpha on Lie groups: order 2, closed joints, stiff springs."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn


def end_error(result, exact):
    return np.abs(result.pose[-1] - exact.pose[-1]).max()


@pytest.mark.parametrize("group", ["SE3", "SO3xR3"])
@pytest.mark.parametrize("spectral_radius", [0.5, 1.0])
@pytest.mark.parametrize(("name", "t_end"), [("three_bar_linkage", 0.04), ("heavy_top", 0.02)])
def test_order_two_and_closed_joints(name, t_end, group, spectral_radius):
    s = dyn.integration.examples.SYSTEMS[name](group)
    exact = dyn.integration.integrate(s, t_end, 1e-4, "dormand_prince")
    coarse, fine = (
        dyn.integration.generalized_alpha(s, t_end, t_end / k, spectral_radius=spectral_radius)
        for k in (20, 40)
    )
    assert end_error(coarse, exact) / end_error(fine, exact) == pytest.approx(4, rel=0.1)
    assert fine.constraint.max() < 1e-12
    assert end_error(fine, exact) < 1e-3


def stiff(stiffness):
    """A mass on a stiff spring that swings: 1 kg at 1 m."""
    M = dyn.spatial_inertia(1.0, np.zeros(3), 0.1 * np.eye(3))
    pose = dyn.se3.from_rotation_translation(np.eye(3), (1.0, 0, 0))
    spring = dyn.integration.SpringDamper(
        "rod", "ground", "mass", (0, 0, 0), (1, 0, 0), stiffness, 0, 1.0
    )
    return dyn.integration.AbsoluteSystem(
        [dyn.integration.RigidBody("mass", M, pose)], springs=[spring]
    )


def test_a_stiff_spring_allows_large_steps():
    """With 1e8 N/m, 1e4 rad/s, and steps of 10 ms it acts as a rod; RK4 would need 0.26 ms."""
    s = stiff(1e8)
    result = dyn.integration.generalized_alpha(s, 0.5, 1e-2, spectral_radius=0.0)
    length = np.linalg.norm(result.pose[:, 0, :3, 3], axis=-1)
    np.testing.assert_allclose(length[5:], 1.0, atol=1e-5)
    # the pendulum of the same length
    swing = dyn.integration.integrate_joints(
        lambda t, q, qd: 9.81 * np.cos(q), [0.0], [0.0], 0.5, 1e-2
    ).q[:, 0]
    found = np.arctan2(-result.pose[:, 0, 2, 3], result.pose[:, 0, 0, 3])
    np.testing.assert_allclose(found, swing, atol=5e-3)
    with pytest.raises(dyn.DynamicsError, match="no finite solution"):
        dyn.integration.integrate(s, 0.5, 1e-2)


def test_redundant_joints_are_supported():
    M = dyn.spatial_inertia(3.0, (0.2, 0.05, -0.1), np.diag([0.1, 0.2, 0.25]))
    door = dyn.integration.RigidBody("door", M, omega=(0, 0, 2.0))
    hinges = [
        dyn.integration.BodyJoint(
            f"hinge_{z}", "ground", "door", dyn.revolute((0, 0, 1), (0, 0, z))
        )
        for z in (0, 1)
    ]
    one, two = (
        dyn.integration.generalized_alpha(dyn.integration.AbsoluteSystem([door], parts), 0.05, 1e-2)
        for parts in (hinges[:1], hinges)
    )
    np.testing.assert_allclose(two.pose, one.pose, atol=1e-11)


def test_invalid_arguments_raise():
    s = dyn.integration.examples.heavy_top()
    with pytest.raises(dyn.InputError, match="spectral_radius: expected a number from 0 to 1"):
        dyn.integration.generalized_alpha(s, 0.1, 1e-3, spectral_radius=2)
    with pytest.raises(dyn.DynamicsError, match=r"does not converge at t = 0\.1 s; take a"):
        dyn.integration.generalized_alpha(s, 0.1, 0.1)
    reported = []
    dyn.integration.generalized_alpha(s, 2e-3, 1e-3, progress=reported.append)
    assert reported == [0.5, 1.0]
