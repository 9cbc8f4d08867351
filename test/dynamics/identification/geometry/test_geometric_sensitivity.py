# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Geometric parameters against robots in which each is the coordinate of a joint at rest.

For such a robot everything is known independently: its Jacobians and their rates, and its
dynamics for complex numbers.
"""

import numpy as np
import pytest

from geometric_errors import some_errors, with_standing_joints
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.geometry.geometric_sensitivity import ErrorScrew
from multibody_dynamics.dynamics.lie import se3
from reference import error
from rejections import assert_rejected
from robots import panda, random_pose, random_tree, with_multidof

idn = dyn.identification

RNG = np.random.default_rng(7)
BODIES = {"panda": panda(), "tree": random_tree(6, 1), "other": random_tree(6, 2)}
ROBOTS = {**BODIES, "multidof": with_multidof()}


@pytest.fixture(params=ROBOTS.values(), ids=ROBOTS.keys())
def model(request):
    return request.param


def test_the_perturbed_robot_is_the_one_whose_errors_are_coordinates(model):
    errors, values = some_errors(model)
    standing = with_standing_joints(model, errors)
    state = RNG.normal(size=(5, model.n))
    perturbed = idn.perturbed_model(model, errors, values)
    extended = standing.state(values, *state)
    poses = dyn.forward_kinematics(perturbed, state[0]).pose
    expected = dyn.forward_kinematics(standing.model, extended[0]).pose[standing.joints]
    assert error(poses, expected, 2) < 1e-13
    torques = dyn.inverse_dynamics(perturbed, *state)
    references = dyn.inverse_dynamics(standing.model, *extended)
    for found, other in zip(torques, references, strict=True):
        assert error(found, other[standing.joints]) < 1e-12


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_derivatives_of_poses_and_jacobians_are_those_by_coordinates(model, representation):
    errors, values = some_errors(model)
    standing = with_standing_joints(model, errors)
    q = RNG.normal(size=model.n)
    there, local = (idn.perturbed_model(model, errors, values), idn.errors_at(errors, values))
    extended = standing.state(values, q)[0]
    options = {"representation": representation}
    for body in range(model.n):
        other = standing.joints[body]
        J = dyn.jacobian(standing.model, extended, other, **options)
        found = idn.pose_sensitivity(there, local, q, body, **options)
        assert np.abs(found - J[:, standing.parameters]).max() < 1e-12
        found = idn.jacobian_sensitivity(there, local, q, body, **options)
        for k, place in enumerate(standing.parameters):
            rate = np.eye(standing.model.n)[place]
            slope = dyn.jacobian_dot(standing.model, extended, rate, other, **options)
            assert np.abs(found[k] - slope[:, standing.joints]).max() < 1e-12


def test_derivatives_of_torques_are_those_by_coordinates(model):
    model = model.with_reflected_inertia(np.linspace(0.1, 0.4, model.n))
    errors, values = some_errors(model)
    standing = with_standing_joints(model, errors)
    state = RNG.normal(size=(3, model.n))
    there, local = (idn.perturbed_model(model, errors, values), idn.errors_at(errors, values))
    wrenches = {body: RNG.normal(size=6) for body in there.body_names[::2]}
    found = idn.torque_sensitivity(there, local, *state, wrenches=wrenches)
    loads = {
        standing.model.body_names[place]: np.stack([wrenches[body], *np.zeros((2, 6))])
        for body, place in zip(there.body_names, standing.joints, strict=True)
        if body in wrenches
    }
    extended = standing.state(values, *state).astype(complex)
    for k, place in enumerate(standing.parameters):
        extended[0, place] += 1e-30j
        tau = dyn.generic_inverse_dynamics(standing.model, *extended, wrenches=loads)[0]
        extended[0, place] = values[k]
        expected = tau.astype(complex).imag[standing.joints] / 1e-30
        assert np.abs(found[:, k] - expected).max() < 1e-13 * np.abs(found).max()


def test_a_frame_has_errors_of_its_own():
    model = panda()
    errors = idn.frame_errors(model, "panda_link8") + idn.joint_errors(model, ["panda_joint3"])
    values = RNG.normal(scale=0.2, size=len(errors))
    q = RNG.normal(size=model.n)
    there = idn.perturbed_model(model, errors[:6], values[:6])
    E = np.eye(4)
    for e, value in zip(errors[:6], values[:6], strict=True):
        E = E @ dyn.se3.exp(e.screw * value)
    expected = dyn.frame_pose(model, q, "panda_link8") @ E
    np.testing.assert_allclose(dyn.frame_pose(there, q, "panda_link8"), expected, atol=1e-14)
    np.testing.assert_array_equal(there.poses, model.poses)

    J = idn.pose_sensitivity(model, errors, q, "panda_link8", representation="body")
    np.testing.assert_allclose(J[:, :6], np.eye(6), atol=1e-14)
    assert np.all(idn.pose_sensitivity(model, errors, q, "panda_link7")[:, :6] == 0)
    standing = with_standing_joints(model, errors[6:])
    extended = standing.state(0, q)[0]
    others = dyn.jacobian(standing.model, extended, "panda_link8", representation="body")
    np.testing.assert_allclose(J[:, 6:], others[:, standing.parameters], atol=1e-13)
    assert np.all(idn.torque_sensitivity(model, errors[:6], q, q, q) == 0)


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_the_jacobian_of_a_displaced_frame(representation):
    model = panda()
    errors = idn.frame_errors(model, "panda_link8")
    q = RNG.normal(size=model.n)
    slope = idn.jacobian_sensitivity(model, errors, q, "panda_link8", representation=representation)
    step = 1e-5
    for k in range(6):
        J = [
            dyn.jacobian(
                idn.perturbed_model(model, errors, step * m * np.eye(6)[k]),
                q, "panda_link8", representation=representation,
            )
            for m in (-2, -1, 1, 2)
        ]  # fmt: skip
        expected = np.tensordot([1, -8, 8, -1], J, axes=1) / (12 * step)
        np.testing.assert_allclose(slope[k], expected, atol=1e-9)


def test_twists_and_batches():
    model = BODIES["tree"]
    errors, _ = some_errors(model)
    q, qd, qdd = RNG.normal(size=(3, 2, 3, model.n))
    body = max(range(model.n), key=lambda i: len(model.path(i)))
    J = idn.pose_sensitivity(model, errors, q, body)
    V = idn.twist_sensitivity(model, errors, q, qd, body, representation="hybrid")
    Q = idn.torque_sensitivity(model, errors, q[0, 0], qd, qdd)
    assert J.shape == V.shape == (2, 3, 6, len(errors))
    assert Q.shape == (2, 3, model.n, len(errors))
    for k in np.ndindex(2, 3):
        np.testing.assert_array_equal(J[k], idn.pose_sensitivity(model, errors, q[k], body))
        dJ = idn.jacobian_sensitivity(model, errors, q[k], body, representation="hybrid")
        np.testing.assert_allclose(V[k].T, dJ @ qd[k], atol=1e-13)
        single = idn.torque_sensitivity(model, errors, q[0, 0], qd[k], qdd[k])
        np.testing.assert_allclose(Q[k], single, atol=1e-12)
    assert idn.pose_sensitivity(model, (), q, body).shape == (2, 3, 6, 0)
    assert idn.torque_sensitivity(model, (), q, qd, qdd).shape == (2, 3, model.n, 0)


def test_the_independent_errors_have_the_known_number_and_full_rank():
    """Four per revolute or helical joint, two per prismatic one, and six for the measured frame."""
    rng = np.random.default_rng(4)
    for model in (panda(), random_tree(6, 5, branching=0), random_tree(5, 8, branching=0)):
        tool = {"tool": dyn.model.Frame(model.n - 1, random_pose(rng))}
        model = dyn.model_from_screws(
            model.parents, model.screws, model.poses, model.inertias, frames=tool
        )
        q = rng.uniform(-2, 2, (60, model.n))
        turning = sum(bool(np.any(Y[:3])) for Y in model.screws)
        count = 4 * turning + 2 * (model.n - turning) + 6
        own = idn.frame_errors(model, "tool")
        for independent in (True, False):
            errors = idn.joint_errors(model, independent=independent) + own
            J = idn.pose_sensitivity(model, errors, q, "tool").reshape(-1, len(errors))
            effects = np.linalg.svd(J, compute_uv=False)
            assert np.sum(effects > 1e-9 * effects[0]) == count
            assert len(errors) == count or not independent


def test_errors_act_along_and_across_the_joint_axis():
    model = random_tree(6, 1)
    q = np.zeros(model.n)
    for joint, Y, body in zip(model.joint_names, model.screws, range(model.n), strict=True):
        errors = {e.name: e for e in idn.joint_errors(model, [joint], independent=False)}
        assert [e.unit for e in errors.values()] == ["rad"] * 3 + ["m"] * 3
        T = idn.pose_sensitivity(model, tuple(errors.values()), q, body)
        axis = Y[:3] if np.any(Y[:3]) else Y[3:]
        np.testing.assert_allclose(T[3:, 5], axis / np.linalg.norm(axis), atol=1e-14)
        commute = np.abs(dyn.se3.ad(Y) @ T).max(axis=0) < 1e-14
        kept = {e.name for e in idn.joint_errors(model, [joint])}
        dropped = errors.keys() - kept
        assert all(commute[list(errors).index(name)] for name in dropped)
        assert len(kept) == (4 if np.any(Y[:3]) else 2)


def test_inertias_and_payloads_move_with_their_bodies():
    model = panda().with_payload("panda_link8", 1.5, (0.1, 0.0, 0.2))
    errors = idn.joint_errors(model)
    values = RNG.normal(scale=0.1, size=len(errors))
    moved = idn.perturbed_model(model, errors, values)
    np.testing.assert_array_equal(moved.inertias, model.inertias)
    assert moved.without_payload().payloads == {}
    assert moved.joint_types == model.joint_types
    same = idn.perturbed_model(model, errors, np.zeros(len(errors)))
    np.testing.assert_allclose(same.poses, model.poses, atol=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        errors[0].screw[0] = 2


COUPLINGS = {
    "joint1": {"left": 0.5, "right": 0.7},
    "joint3": {"left": 0.5, "right": -0.7},
    "joint5": {"joint4": -1.5},
}


def test_joints_that_depend_on_others_have_errors_of_their_own():
    """Coupling the joints of the perturbed robot gives the perturbed robot with coupled joints."""
    tree = random_tree(6, 1)
    model, errors = tree.with_couplings(COUPLINGS), idn.joint_errors(tree, independent=False)
    assert {e.joint for e in idn.joint_errors(model)} == set(tree.joint_names)
    values = 0.1 * RNG.normal(size=len(errors))
    found = idn.perturbed_model(model, errors, values)
    expected = idn.perturbed_model(tree, errors, values).with_couplings(COUPLINGS)
    state = RNG.normal(size=(5, model.n))
    for own, other in zip(
        dyn.inverse_dynamics(found, *state), dyn.inverse_dynamics(expected, *state), strict=True
    ):
        assert error(own, other) < 1e-12


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_derivatives_of_robots_with_coupled_joints(representation):
    tree = random_tree(6, 1)
    model = tree.with_couplings(COUPLINGS)
    errors, values = some_errors(tree)
    there, local = idn.perturbed_model(model, errors, values), idn.errors_at(errors, values)
    q, qd, qdd = RNG.normal(size=(3, model.n))
    wrenches = {tree.body_names[-1]: RNG.normal(size=6)}
    body = there.body_index(tree.body_names[-1])
    jacobians = idn.jacobian_sensitivity(there, local, q, body, representation=representation)
    poses = idn.pose_sensitivity(there, local, q, body)
    torques = idn.torque_sensitivity(there, local, q, qd, qdd, wrenches=wrenches)
    here = dyn.forward_kinematics(there, q).pose[body]
    h = 1e-5
    for k, step in enumerate(h * np.eye(len(errors))):
        both = [idn.perturbed_model(there, local, sign * step) for sign in (1, -1)]
        J = [dyn.jacobian(robot, q, body, representation=representation) for robot in both]
        assert np.abs(jacobians[k] - (J[0] - J[1]) / (2 * h)).max() < 1e-8
        C = [dyn.forward_kinematics(robot, q).pose[body] for robot in both]
        twist = se3.log(C[0] @ se3.inverse(here)) - se3.log(C[1] @ se3.inverse(here))
        assert np.abs(poses[:, k] - twist / (2 * h)).max() < 1e-8
        Q = [dyn.inverse_dynamics(robot, q, qd, qdd, wrenches=wrenches).tau for robot in both]
        assert np.abs(torques[:, k] - (Q[0] - Q[1]) / (2 * h)).max() < 1e-7 * np.abs(torques).max()


def test_bad_arguments_are_named():
    model, q = panda(), np.zeros(7)
    errors = idn.joint_errors(model, ["panda_joint2"])
    nowhere = (ErrorScrew("x", "m", np.ones(6)),)
    short = (ErrorScrew("x", "m", np.ones(5), joint="panda_joint1"),)
    two, three = np.zeros((2, 7)), np.zeros((3, 7))
    world = {"representation": "world"}
    assert_rejected(
        (lambda: idn.joint_errors(model, "panda_joint1"), "of joints, the string 'panda_joint1'"),
        (lambda: idn.joint_errors(model, ["elbow"]), "no joint 'elbow' in robot 'panda'"),
        (lambda: idn.frame_errors(model, "panda_link7"), "'panda_link7' reference frame of body"),
        (lambda: idn.frame_errors(model, "hand"), "no body or frame 'hand'"),
        (lambda: idn.perturbed_model(model, errors, np.zeros(3)), "values: shape (..., 4)"),
        (lambda: idn.errors_at(errors, np.zeros((2, 4))), "values: shape (4,)"),
        (lambda: idn.pose_sensitivity(model, nowhere, q, 3), "error 'x' either a joint or a frame"),
        (lambda: idn.torque_sensitivity(model, short, q, q, q), "error 'x' screw"),
        (lambda: idn.jacobian_sensitivity(model, errors, q, 3, **world), "representation 'world'"),
        (lambda: idn.twist_sensitivity(model, errors, two, three, 3), "batch do not broadcast"),
    )
