"""The terms of the torque law, each by itself and their sum."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.elastic_joints import SeriesElasticJoints
from multibody_dynamics.nodes.feedforward_law import FeedforwardLaw

NAMES = ("a", "b", "c")


@pytest.fixture(scope="module")
def model() -> dyn.MultibodyModel:
    """Three revolute joints, axes not parallel, off-centre masses."""
    rng = np.random.default_rng(3)
    axes = np.array([[0, 0, 1.0], [0, 1.0, 0], [1.0, 0, 0]])
    points = rng.normal(size=(3, 3))
    screws = np.hstack([axes, np.cross(points, axes)])
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, :3, 3] = rng.normal(size=(3, 3))
    inertias = [
        dyn.spatial_inertia(1.0 + k, 0.1 * rng.normal(size=3), np.diag([0.1, 0.2, 0.15]))
        for k in range(3)
    ]
    return dyn.model_from_screws([-1, 0, 1], screws, poses, inertias, joint_names=NAMES)


@pytest.fixture(scope="module")
def joints() -> SeriesElasticJoints:
    return SeriesElasticJoints(
        NAMES, np.array([900.0, np.inf, 400.0]), np.array([0.3, 0.2, 0.1]), viscous=0.5, coulomb=0.2
    )


def state() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(5, 3))


def test_all_terms_together_are_the_library_feedforward(model, joints):
    law = FeedforwardLaw(model, joints)
    law.desired[:] = state()
    law.update()
    Q = np.array(dyn.inverse_dynamics(model, *state()))
    np.testing.assert_allclose(law.torque, Q, rtol=1e-12, atol=1e-11)
    command = joints.feedforward(state(), Q)
    for actual, expected in zip(law.motor, command, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-11)


def test_gravity_left_to_the_robot_still_bends_the_springs(model, joints):
    law = FeedforwardLaw(model, joints, gravity_compensated_by_robot=True)
    law.desired[:] = state()
    law.update()
    whole = np.array(dyn.inverse_dynamics(model, *state()))
    weightless = np.array(dyn.inverse_dynamics(model.with_gravity((0, 0, 0)), *state()))
    np.testing.assert_allclose(law.torque, weightless, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(law.gravity, whole - weightless, rtol=1e-9, atol=1e-10)
    command = joints.feedforward(state(), whole)
    np.testing.assert_allclose(law.motor.position, command.position, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        law.motor.torque, command.torque - (whole - weightless)[0], rtol=1e-11, atol=1e-10
    )


def test_the_terms_add_up(model, joints):
    law = FeedforwardLaw(model, joints)
    law.desired[:] = state()
    law.update()
    friction_and_rotor = joints.friction(law.motor.velocity) + joints.motor_inertia * (
        law.motor.acceleration
    )
    np.testing.assert_allclose(law.friction_and_rotor, friction_and_rotor, rtol=1e-11)
    np.testing.assert_allclose(
        law.motor.torque, law.motion[0] + law.gravity[0] + friction_and_rotor, rtol=1e-12
    )


@pytest.mark.parametrize("variant", ["full", "quasi_static", "rigid"])
def test_variants(model, joints, variant):
    law = FeedforwardLaw(model, joints)
    law.variant = variant
    law.desired[:] = state()
    law.update()
    q, qd, qdd = state()[:3]
    Q, Q_dot, Q_ddot = dyn.inverse_dynamics(model, *state())
    used = {"full": (1, 1, 1), "quasi_static": (1, 0, 0), "rigid": (0, 0, 0)}[variant]
    rows = zip(used, (q, qd, qdd), (Q, Q_dot, Q_ddot), law.motor[:3], strict=True)
    for factor, motion, torque, actual in rows:
        np.testing.assert_allclose(actual, motion + factor * torque / joints.stiffness, rtol=1e-12)


def test_without_joint_data_every_joint_is_rigid_and_has_no_motor(model):
    law = FeedforwardLaw(model)
    law.desired[:] = state()
    law.update()
    np.testing.assert_array_equal(np.array(law.motor[:3]), state()[:3])
    np.testing.assert_allclose(law.motor.torque, law.torque[0], rtol=1e-14)


def test_an_applied_wrench_with_its_rates(model, joints):
    law = FeedforwardLaw(model, joints)
    law.desired[:] = state()
    W = np.random.default_rng(8).normal(size=(3, 6))
    law.applied_wrenches[2] = W
    law.update()
    expected = dyn.inverse_dynamics(model, *state(), wrenches={model.body_names[2]: W})
    np.testing.assert_allclose(law.torque, np.array(expected), rtol=1e-12, atol=1e-11)


def test_a_rotor_is_not_counted_twice(model, joints):
    with pytest.raises(dyn.InputError, match="counts once"):
        FeedforwardLaw(model.with_reflected_inertia({"a": 0.1}), joints)


def test_update_allocates_nothing_that_stays(model, joints):
    law = FeedforwardLaw(model, joints)
    buffers = [law.torque, law.motion, law.gravity, *law.motor]
    addresses = [buffer.__array_interface__["data"][0] for buffer in buffers]
    law.update()
    after = [law.torque, law.motion, law.gravity, *law.motor]
    assert [buffer.__array_interface__["data"][0] for buffer in after] == addresses
