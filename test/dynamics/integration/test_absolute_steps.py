# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Compiled steps: projection, and agreement with the generic Munthe-Kaas method."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn

SYSTEM = dyn.integration.examples.three_bar_linkage({"bar_2": "SO3xR3"})


def disturbed(size, seed=2):
    rng = np.random.default_rng(seed)
    pose = SYSTEM.initial_pose @ dyn.se3.exp(size * rng.uniform(-1, 1, (2, 6)))
    return pose, SYSTEM.initial_velocity + size * rng.uniform(-1, 1, (2, 6))


@pytest.mark.parametrize("size", [1e-6, 1e-2, 0.1])
def test_projection_closes_joints_and_their_velocities(size):
    pose, velocity = dyn.integration.project_state(SYSTEM, *disturbed(size))
    left = SYSTEM.matrices(pose, velocity)
    assert np.abs(left.g).max() < 1e-13
    assert np.abs(left.J @ velocity.ravel()).max() < 1e-13
    again = dyn.integration.project_state(SYSTEM, pose, velocity)
    np.testing.assert_allclose(again[0], pose, atol=1e-14)
    np.testing.assert_allclose(again[1], velocity, atol=1e-13)


def test_projection_finds_the_nearest_velocity_in_the_metric_of_the_inertia():
    """The change of velocity does no work on any motion that the joints leave free."""
    pose, _ = dyn.integration.project_state(SYSTEM, *disturbed(1e-2))
    before = disturbed(0.5)[1]
    _, after = dyn.integration.project_state(SYSTEM, pose, before)
    m = SYSTEM.matrices(pose, after)
    free = np.linalg.svd(m.J)[2][SYSTEM.m :]
    assert len(free) == 3
    np.testing.assert_allclose(free @ m.M @ (after - before).ravel(), 0, atol=1e-14)


def test_joints_that_cannot_be_closed_raise():
    with pytest.raises(dyn.DynamicsError, match="the joints remain open by"):
        dyn.integration.project_state(SYSTEM, *disturbed(3.0, seed=4))


TILTED = {
    "weld": np.zeros((0, 6)),
    "revolute": dyn.revolute((0, 0, 1)),
    "prismatic": dyn.prismatic((0, 0, 1)),
    "planar": dyn.planar((0, 0, 1)),
}


@pytest.mark.parametrize("free", TILTED.values(), ids=TILTED)
def test_a_joint_turned_over_is_not_closed(free):
    """The constraints, sines of the tilt, vanish there, too."""
    body = dyn.integration.RigidBody(
        "a", dyn.spatial_inertia(1, np.zeros(3), np.diag([0.01, 0.02, 0.02]))
    )
    system = dyn.integration.AbsoluteSystem(
        [body], [dyn.integration.BodyJoint("j", "ground", "a", free)]
    )
    at_rest = np.zeros((1, 6))

    def turned(angle):
        return dyn.se3.exp([angle, 0, 0, 0, 0, 0])[None]

    assert np.abs(system.matrices(turned(np.pi), at_rest).g).max() < 1e-15
    with pytest.raises(dyn.InputError, match="start has the bodies of joint 'j' turned over"):
        dyn.integration.integrate(system, 1e-3, 1e-3, start=(turned(np.pi), at_rest))
    with pytest.raises(dyn.DynamicsError, match="nearest state has the bodies of joint 'j' turned"):
        dyn.integration.project_state(system, turned(np.pi), at_rest)
    pose, _ = dyn.integration.project_state(system, turned(2.5), at_rest)
    np.testing.assert_allclose(pose, turned(0.0), atol=1e-13)


@pytest.mark.parametrize("method", ["rk4", "dormand_prince"])
def test_compiled_steps_equal_those_of_the_generic_method(method):
    """A law that returns zero wrenches selects the generic `munthe_kaas`, in NumPy."""
    for options in ({}, {"project": True}, {"baumgarte": dyn.core.Baumgarte(20.0, 20.0)}):
        fast = dyn.integration.integrate(SYSTEM, 0.01, 1e-3, method, **options)
        slow = dyn.integration.integrate(
            SYSTEM, 0.01, 1e-3, method, **options, wrenches=lambda t, C, V: np.zeros((2, 6))
        )
        np.testing.assert_allclose(fast.pose, slow.pose, atol=1e-14)
        np.testing.assert_allclose(fast.velocity, slow.velocity, atol=1e-12)
        np.testing.assert_allclose(fast.reaction, slow.reaction, atol=1e-10)


def test_adaptive_steps_equal_those_of_the_generic_method():
    tolerances = dyn.integration.Tolerances(1e-8, 1e-10)
    fast, slow = (
        dyn.integration.integrate(
            SYSTEM, 0.02, 3e-3, "dormand_prince", tolerances=tolerances, wrenches=law
        )
        for law in (None, lambda t, C, V: np.zeros((2, 6)))
    )
    assert (fast.steps, fast.refused) == (slow.steps, slow.refused)
    assert fast.refused > 0
    np.testing.assert_allclose(fast.time, slow.time)
    np.testing.assert_allclose(fast.pose, slow.pose, atol=1e-12)
