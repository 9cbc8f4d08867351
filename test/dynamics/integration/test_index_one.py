# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The index-1 solution against dense algebra and joint coordinates, and with redundant rows."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3

Z = (0.0, 0.0, 1.0)


def beam(name, pose=None, **motion):
    M = dyn.spatial_inertia(3.0, (0.2, 0.05, -0.1), np.diag([0.1, 0.2, 0.25]))
    return dyn.integration.RigidBody(name, M, pose, **motion)


def chain(group="SE3"):
    """A universal joint on the ground, a cylindrical and a helical one; springs between bodies."""
    poses = [se3.exp([0.1 * k, 0.3, -0.2, 0.4 * k, 0.1, 0.2]) for k in range(3)]
    bodies = [beam(name, pose) for name, pose in zip("abc", poses, strict=True)]
    joints = [
        dyn.integration.BodyJoint(
            "u", "ground", "a", dyn.universal((0, 0, 0), (1, 0, 0), (0, 1, 0.2))
        ),
        dyn.integration.BodyJoint("c", "a", "b", dyn.cylindrical((1, 1, 0), (0.4, 0, 0))),
        dyn.integration.BodyJoint("h", "b", "c", dyn.helical(Z, (0.8, 0, 0), 0.05)),
    ]
    springs = [
        dyn.integration.SpringDamper("s", "ground", "c", (0, 0, 1), (1, 0, 0), 50.0, 3.0, 0.6),
        dyn.integration.SpringDamper("t", "a", "c", (0, 0, 0), (1, 1, 0), 20.0, 1.0),
    ]
    return dyn.integration.AbsoluteSystem(
        bodies, joints, springs, group=group, wrenches={"b": [1, 2, 3, -4, 5, 6]}
    )


def random_state(s, seed=1):
    V = np.random.default_rng(seed).uniform(-1, 1, (s.n, 6))
    return dyn.integration.project_state(s, s.initial_pose, V)


@pytest.mark.parametrize("group", ["SE3", "SO3xR3", {"a": "SO3xR3", "c": "SE3"}])
def test_accelerations_solve_the_equations_of_the_system(group):
    s = chain(group)
    pose, velocity = random_state(s)
    m = s.matrices(pose, velocity)
    K = np.block([[m.M, m.J.T], [m.J, np.zeros((s.m, s.m))]])
    exact = np.linalg.solve(K, np.concatenate([m.Q, m.eta]))[: 6 * s.n]
    found = dyn.integration.absolute_acceleration(s, pose, velocity).ravel()
    np.testing.assert_allclose(found, exact, atol=1e-12 * np.abs(exact).max())


def test_the_violation_of_a_universal_joint_with_skew_axes_is_an_angle():
    """Its fourth row is not a cosine when the body turns in the plane of the axes."""
    first, second = np.array([1.0, 0, 0]), np.array([0.6, 0.8, 0])
    joint = dyn.integration.BodyJoint("u", "ground", "a", dyn.universal((0, 0, 0), first, second))
    s = dyn.integration.AbsoluteSystem([dyn.integration.RigidBody("a", np.eye(6))], [joint])
    turn = se3.exp([0, 0, 1e-6, 0, 0, 0])[None]
    g = s.matrices(turn, np.zeros((1, 6))).g
    np.testing.assert_allclose(g, [0, 0, 0, 1e-6], atol=1e-12)


def test_baumgarte_adds_to_the_right_hand_side():
    s = chain()
    velocity = np.random.default_rng(0).uniform(-1, 1, (s.n, 6))
    pose = s.initial_pose.copy()
    pose[1, :3, 3] += (0.01, -0.02, 0.03)
    m = s.matrices(pose, velocity)
    a = dyn.integration.absolute_acceleration(
        s, pose, velocity, baumgarte=dyn.core.Baumgarte(3.0, 5.0)
    ).ravel()
    wanted = m.eta - 6.0 * m.J @ velocity.ravel() - 25.0 * m.g
    np.testing.assert_allclose(m.J @ a, wanted, atol=1e-11 * np.abs(wanted).max())


def door(hinges):
    door = beam("door", omega=2.0 * np.array(Z))
    joints = [
        dyn.integration.BodyJoint(
            f"hinge_{k}", "ground", "door", dyn.revolute(Z, (0, 0, z)), (0, 0, z)
        )
        for k, z in enumerate(hinges)
    ]
    return dyn.integration.AbsoluteSystem([door], joints, gravity=(0, -9.81, 0))


def test_redundant_joints_share_the_reaction():
    """A door on three hinges moves as on one, and their reactions add up to that of the one."""
    one, three = (dyn.integration.integrate(door(z), 0.1, 1e-3) for z in ((0.3,), (0.3, 1.0, 2.0)))
    assert three.system.m == 15
    np.testing.assert_allclose(three.pose, one.pose, atol=1e-13)
    total = three.reaction.sum(axis=1)
    z = np.array([0, 0.7, 1.7])
    total[:, :3] += np.cross(z[:, None] * np.array(Z), three.reaction[:, :, 3:]).sum(axis=1)
    np.testing.assert_allclose(total, one.reaction[:, 0], atol=1e-9)


def test_power_of_springs_and_wrenches():
    """The rate of kinetic energy equals the power of springs, dampers, weight and wrenches."""
    s = chain()
    pose, velocity = random_state(s, 4)
    h = 1e-6
    after = dyn.integration.integrate(s, h, h, start=(pose, velocity))
    rate = (after.energy[1] - after.energy[0]) / h
    twists = s.body_twists(pose, velocity)
    W = dyn.se3.coAd(dyn.se3.inverse(pose[1])) @ s.applied_wrenches[1]
    power = W @ twists[1]
    c = pose[2] @ (se3.inverse(s.initial_pose[2]) @ [1, 0, 0, 1])
    d = c[:3] - (0, 0, 1)
    v = pose[2][:3, :3] @ (twists[2, 3:] + np.cross(twists[2, :3], se3.inverse(pose[2])[:3] @ c))
    power -= 3.0 * (v @ d / np.linalg.norm(d)) ** 2
    e = pose[2] @ (se3.inverse(s.initial_pose[2]) @ [1, 1, 0, 1])
    f = pose[0] @ (se3.inverse(s.initial_pose[0]) @ [0, 0, 0, 1])
    speeds = [
        pose[i][:3, :3] @ (twists[i, 3:] + np.cross(twists[i, :3], se3.inverse(pose[i])[:3] @ p))
        for i, p in ((2, e), (0, f))
    ]
    power -= 1.0 * np.sum((speeds[0] - speeds[1]) ** 2)
    assert rate == pytest.approx(power, rel=1e-4)
