# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Systems in absolute coordinates: energies, momenta, matrices, and errors."""

import numpy as np
import pytest

import absolute
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3, so3
from rejections import assert_rejected

rng = np.random.default_rng(7)
M = dyn.spatial_inertia(3.0, (0.2, 0.05, -0.1), np.diag([0.1, 0.2, 0.25]))
SCREWS = [dyn.revolute((1, 2, 3), (0.2, 0, 0)), dyn.prismatic((0, 1, 1))]
POSES = [se3.exp([0.2, 0.1, -0.3, 0.5, 0, 0]), se3.exp([0.4, 0, 0.2, 1.0, 0.2, 0])]
GROUPS = ["SE3", "SO3xR3", {"b": "SO3xR3"}]


def system(group="SE3", **options):
    bodies = [
        dyn.integration.RigidBody(name, M, pose) for name, pose in zip("ab", POSES, strict=True)
    ]
    joints = [
        dyn.integration.BodyJoint("r", "ground", "a", SCREWS[0]),
        dyn.integration.BodyJoint("p", "a", "b", SCREWS[1]),
    ]
    return dyn.integration.AbsoluteSystem(bodies, joints, group=group, **options)


@pytest.mark.parametrize("group", GROUPS)
def test_energy_and_momentum_equal_those_of_the_tree(group):
    tree = dyn.model_from_screws([-1, 0], SCREWS, POSES, [M, M])
    q, qd = rng.uniform(-1, 1, (2, 4, 2))
    motion = dyn.forward_kinematics(tree, q, qd, representation="body")
    s = system(group)
    V = s.from_body_twists(motion.pose, motion.twist)
    np.testing.assert_allclose(
        s.kinetic_energy(motion.pose, V), dyn.rigid.kinetic_energy(tree, q, qd)
    )
    np.testing.assert_allclose(s.potential_energy(motion.pose), dyn.rigid.potential_energy(tree, q))
    np.testing.assert_allclose(s.momentum(motion.pose, V), dyn.rigid.spatial_momentum(tree, q, qd))


@pytest.mark.parametrize("group", GROUPS)
def test_velocities_convert_between_conventions_and_back(group):
    s, V = system(group), rng.uniform(-1, 1, (5, 2, 6))
    pose = se3.exp(rng.uniform(-1, 1, (5, 2, 6)))
    np.testing.assert_allclose(s.from_mixed(pose, s.to_mixed(pose, V)), V)
    twists, mixed = s.body_twists(pose, V), s.to_mixed(pose, V)
    np.testing.assert_allclose(s.from_body_twists(pose, twists), V)
    np.testing.assert_allclose(twists, dyn.convert_twist(pose, [mixed], "mixed", "body")[0])


@pytest.mark.parametrize("group", ["SE3", "SO3xR3"])
def test_matrices_equal_those_of_the_paper(group):
    s = dyn.integration.examples.spherical_double_pendulum(group)
    pose = se3.exp(rng.uniform(-1, 1, (2, 6)))
    V = rng.uniform(-1, 1, (2, 6))
    found = s.matrices(pose, V)
    a = np.array([0.1, 0, 0])
    joints = [((0, -a), (None, None)), ((1, -a), (0, a))]
    J, eta = absolute.spherical_joints(group, joints, pose[:, :3, :3], V.ravel())
    np.testing.assert_allclose(found.J, -J, atol=1e-15)  # the paper has the opposite sign of g
    np.testing.assert_allclose(found.eta, -eta, atol=1e-14)
    assert np.diag(found.M)[6:] == pytest.approx([0.0028125, 0.0095625, 0.01125, 2.7, 2.7, 2.7])


def test_a_frame_away_from_the_centre_of_mass_describes_the_same_body():
    """Matrices about another body-fixed origin give the same acceleration."""
    here = dyn.integration.RigidBody("a", M, POSES[0], (1, -2, 0.5), (0.3, 0.2, 0.1))
    D = se3.exp([0.5, -0.3, 0.2, 0.1, 0.4, -0.2])
    omega = D[:3, :3].T @ here.omega
    velocity = here.velocity + POSES[0][:3, :3] @ np.cross(here.omega, D[:3, 3])
    moved = se3.coAd(se3.inverse(D)) @ M @ se3.Ad(D)
    there = dyn.integration.RigidBody("a", moved, POSES[0] @ D, omega, velocity)
    joint = dyn.integration.BodyJoint("r", "ground", "a", SCREWS[0])
    for parts in ([], [joint]):
        a, b = (dyn.integration.AbsoluteSystem([body], parts) for body in (here, there))
        _, V = dyn.integration.project_state(a, a.initial_pose, a.initial_velocity)
        V_dot = [
            dyn.integration.absolute_acceleration(
                s, s.initial_pose, turn @ V[0] + np.zeros((1, 6))
            )[0]
            for s, turn in ((a, np.eye(6)), (b, se3.Ad(se3.inverse(D))))
        ]
        np.testing.assert_allclose(se3.Ad(D) @ V_dot[1], V_dot[0], atol=1e-12)


def test_wrenches_and_gravity_act_by_the_newton_euler_equations():
    body = dyn.integration.RigidBody("a", M, POSES[0], (1, -2, 0.5), (0.3, 0.2, 0.1))
    W = np.array([1.0, 2, 3, 4, 5, 6])
    s = dyn.integration.AbsoluteSystem([body], wrenches={"a": W})
    V = s.initial_velocity[0]
    V_dot = dyn.integration.absolute_acceleration(s, s.initial_pose, s.initial_velocity)[0]
    weight = np.concatenate([np.zeros(3), POSES[0][:3, :3].T @ s.gravity])
    applied = se3.coAd(se3.inverse(POSES[0])) @ W
    np.testing.assert_allclose(
        M @ (V_dot - weight), se3.ad(V).T @ M @ V + applied, atol=1e-13
    )  # Pi' = W in body axes


def test_systems_are_immutable():
    s = system()
    for array in (
        s.gravity, s.applied_wrenches, s.bodies[0].pose, s.joints[0].free, s.is_direct,
        *s.constants, *vars(s.forbidden[0]).values(),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    wrench, free = np.ones(6), np.array(SCREWS[0])
    joints = [dyn.integration.BodyJoint("j", "ground", "a", free)]
    one = dyn.integration.AbsoluteSystem(
        [dyn.integration.RigidBody("a", M)], joints, wrenches={"a": wrench}
    )
    wrench[0], free[0] = 7.0, 7.0
    assert one.with_group("SO3xR3").applied_wrenches[0, 0] == 1.0
    np.testing.assert_array_equal(one.joints[0].free, SCREWS[0])
    assert s.with_group("SO3xR3").groups == ("SO3xR3", "SO3xR3")
    assert s.groups == ("SE3", "SE3")


def joint(first="a", second="b", free=SCREWS[0], name="j"):
    return dyn.integration.BodyJoint(name, first, second, free)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bodies": []}, "has no bodies"),
        ({"bodies": [3]}, "system 'x': 3 in bodies is not a RigidBody"),
        ({"bodies": None}, "bodies: expected a sequence of RigidBody, got None"),
        ({"joints": [dyn.integration.RigidBody("c", M)]}, "in joints is not a BodyJoint"),
        ({"wrenches": [1]}, "wrenches: expected a mapping"),
        ({"bodies": [dyn.integration.RigidBody("a", M)] * 2}, "duplicate body name 'a'"),
        ({"joints": [joint(first="c")]}, "joint 'j': first: unknown body 'c'; known: a, b and"),
        ({"joints": [joint(second="a")]}, "joint 'j': connects 'a' to itself"),
        ({"joints": [joint(name=3)]}, "a joint's name must be non-empty text, not 3"),
        ({"joints": [joint(free=np.eye(6))]}, "joint 'j': its 6 free screws belong neither"),
        ({"gravity": np.zeros((2, 3))}, r"gravity: expected shape \(3,\), got \(2, 3\)"),
        ({"gravity": (0, 0)}, "system 'x': gravity: expected shape"),
        ({"group": "SE2"}, "unknown group 'SE2'; known: SE3 and SO3xR3"),
        ({"group": {"c": "SE3"}}, "group: unknown body 'c'"),
        ({"wrenches": {"c": np.zeros(6)}}, "wrenches: unknown body 'c'"),
        ({"wrenches": {"ground": np.ones(6)}}, "wrenches: 'ground' does not move; name a body"),
        ({"wrenches": {"a": np.zeros(5)}}, "wrench on 'a': expected shape"),
    ],
)
def test_invalid_systems_raise(change, message):
    bodies = [dyn.integration.RigidBody(name, M) for name in "ab"]
    with pytest.raises(dyn.ModelError, match=message):
        dyn.integration.AbsoluteSystem(**{"bodies": bodies, "name": "x", **change})


def test_invalid_bodies_and_springs_raise():
    RigidBody = dyn.integration.RigidBody
    point = dyn.spatial_inertia(1.0, np.zeros(3), np.zeros((3, 3)))
    scaled = 2 * so3.exp([0.0, 0, 0])[[0, 1, 2, 2]][:, [0, 1, 2, 2]]

    def spring(first, second, stiffness=1.0, **length):
        ends = "ground", "a", first, second
        return lambda: dyn.integration.SpringDamper("s", *ends, stiffness, **length)

    assert_rejected(
        (lambda: RigidBody("ground", M), "body's name other than 'ground'"),
        (lambda: RigidBody(3, M), "body's name text 3"),
        (lambda: RigidBody("a", point), "'a' mass all moments of inertia"),
        (lambda: RigidBody("a", -M), "the mass is -3 kg"),
        (lambda: RigidBody("a", M, scaled), "'a' pose rotation"),
        (lambda: joint(free="x"), "'j' free: real numbers"),
        (spring(np.zeros(3), np.zeros(3), -1.0), "'s' stiffness is -1 negative"),
        (spring(np.zeros(3), np.zeros(2)), "'s' second_point: shape"),
        (spring(np.ones(3), np.ones(3), length=0.1), "'s' points coincide t = 0"),
        error=dyn.ModelError,
    )
    uneven = dyn.spatial_inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 5.0]))
    with pytest.warns(dyn.ModelWarning, match="body 'a': principal moments .* triangle"):
        RigidBody("a", uneven)
