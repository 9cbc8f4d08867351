# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The terms of the feedforward law, individually and summed."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import FeedforwardLaw

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


K = np.array([900.0, np.inf, 400.0])


def motor(inertia: float) -> dyn.elastic.Motor:
    return dyn.elastic.Motor(inertia, viscous=0.5, coulomb=0.2)


@pytest.fixture(scope="module")
def joints() -> dyn.Actuators:
    first, last = (
        dyn.elastic.SeriesElastic(motor(inertia), dyn.elastic.LinearSpring(k))
        for inertia, k in ((0.3, K[0]), (0.1, K[2]))
    )
    return dyn.Actuators(NAMES, (first, dyn.elastic.Rigid(motor(0.2)), last))


@pytest.fixture(scope="module")
def others() -> dyn.Actuators:
    """A damped spring, one whose stiffness a motor sets, and two antagonists."""
    pull = dyn.elastic.PolynomialSpring((40.0, 900.0), travel=(0.0, 2.0))
    drive = dyn.elastic.StiffnessDrive(dyn.elastic.Motor(1e-3, viscous=0.01), 50.0, 200.0)
    return dyn.Actuators(
        NAMES,
        (
            dyn.elastic.SeriesElastic(motor(0.3), dyn.elastic.LinearSpring(300.0), damping=4.0),
            dyn.elastic.VariableStiffness(motor(0.2), (100.0, 900.0), drive=drive),
            dyn.elastic.Antagonistic(motor(0.1), motor(0.15), pull, pull),
        ),
    )


def state() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(5, 3))


def updated(model, joints=None, variant: str = "full", **settings) -> FeedforwardLaw:
    law = FeedforwardLaw(model, joints, **settings)
    law.variant, law.desired[:] = variant, state()
    law.update()
    return law


def test_gravity_compensated_by_the_robot_still_deflects_the_springs(model, joints):
    law = updated(model, joints, gravity_compensated_by_robot=True)
    whole = np.array(dyn.inverse_dynamics(model, *state()))
    weightless = np.array(dyn.inverse_dynamics(model.with_gravity((0, 0, 0)), *state()))
    np.testing.assert_allclose(law.torque, weightless, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(law.gravity, whole - weightless, rtol=1e-9, atol=1e-10)
    command = dyn.elastic.motor_motion(joints, state(), whole)
    np.testing.assert_allclose(law.motor.position, command.position, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        law.motor.torque, command.torque - (whole - weightless)[0], rtol=1e-11, atol=1e-10
    )


@pytest.mark.parametrize("variant", ["full", "quasi_static", "rigid"])
def test_variants(model, joints, variant):
    law = updated(model, joints, variant)
    q, qd, qdd = state()[:3]
    Q, Q_dot, Q_ddot = dyn.inverse_dynamics(model, *state())
    used = {"full": (1, 1, 1), "quasi_static": (1, 0, 0), "rigid": (0, 0, 0)}[variant]
    rows = zip(used, (q, qd, qdd), (Q, Q_dot, Q_ddot), law.motor[:3], strict=True)
    for factor, motion, torque, actual in rows:
        np.testing.assert_allclose(actual, motion + factor * torque / K, rtol=1e-12)


def test_without_joint_data_every_joint_is_rigid_and_has_no_motor(model):
    law = updated(model)
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


def test_a_hold_is_that_of_an_arm_at_rest_whatever_was_before(model, others):
    """Damped springs, rates of the second outputs and wrenches leave no trace."""
    law, fresh = FeedforwardLaw(model, others), FeedforwardLaw(model, others)
    law.stiffness[0] = fresh.stiffness[0] = [300.0, 0.3]
    law.stiffness[1:] = 5.0
    law.desired[:] = state()
    law.applied_wrenches[:] = 1.0
    law.update()
    law.advance(0.1)
    law.hold(law.desired[0])
    fresh.desired[0] = state()[0]
    fresh.update()
    np.testing.assert_array_equal(law.torque, fresh.torque)
    np.testing.assert_array_equal(np.array(law.motor), np.array(fresh.motor))
    np.testing.assert_array_equal(law.torque[1:], 0.0)


def test_a_rotor_is_not_counted_twice(model, joints):
    with pytest.raises(dyn.InputError, match="would be counted twice"):
        FeedforwardLaw(model.with_reflected_inertia({"a": 0.1}), joints)


def test_update_allocates_nothing_that_stays(model, joints):
    law = FeedforwardLaw(model, joints)
    buffers = [law.torque, law.gravity, *law.motor]
    addresses = [buffer.__array_interface__["data"][0] for buffer in buffers]
    law.update()
    after = [law.torque, law.gravity, *law.motor]
    assert [buffer.__array_interface__["data"][0] for buffer in after] == addresses


@pytest.mark.parametrize("kinds", ["joints", "others"])
def test_the_terms_add_up_to_the_library_feedforward(model, kinds, request):
    actuators = request.getfixturevalue(kinds)
    law = FeedforwardLaw(model, actuators)
    second = np.array([[300.0, 700.0], [20.0, -30.0], [-5.0, 40.0]])
    second = second[:, : law.stiffness.shape[1]]
    law.desired[:], law.stiffness[:] = state(), second
    law.update()
    Q = np.array(dyn.inverse_dynamics(model, *state()))
    np.testing.assert_allclose(law.torque, Q, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(law.joint_torque, Q[0], rtol=1e-12, atol=1e-11)
    weightless = np.array(dyn.inverse_dynamics(model.with_gravity((0, 0, 0)), *state()))
    np.testing.assert_allclose(weightless + law.gravity, Q, rtol=1e-12, atol=1e-11)
    phi = actuators.settled_deflection(Q)
    expected = dyn.elastic.motor_motion(actuators, state(), Q, second, deflection=phi)
    for actual, wanted in zip(law.motor, expected[:4], strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-11, atol=1e-10)
    friction_and_rotor = actuators.friction(law.motor.velocity)
    friction_and_rotor += actuators.motor_inertia * law.motor.acceleration
    np.testing.assert_allclose(law.friction_and_rotor, friction_and_rotor, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(law.load + law.friction_and_rotor, law.motor.torque, rtol=1e-12)


def test_deflections_of_damped_springs_advance_and_settle(model, others):
    law = updated(model, others)
    Q = np.array(dyn.inverse_dynamics(model, *state()))
    phi = others.settled_deflection(Q)
    law.advance(0.01)
    law.update()
    later = state()[0, 0] + others.deflection_after(phi, Q, 0.01)[0]
    np.testing.assert_allclose(law.motor.position[0], later, rtol=1e-11)
    law.settle()
    law.update()
    np.testing.assert_allclose(law.motor.position[0], state()[0, 0] + phi[0], rtol=1e-11)


@pytest.mark.parametrize("variant", dyn.elastic.VARIANTS)
def test_links_remember_their_motion_under_every_variant_until_it_settles(model, variant):
    bent = dyn.elastic.Friction(coulomb=2.0, presliding=0.01)
    spring = dyn.elastic.LinearSpring(900.0)
    joint = dyn.elastic.SeriesElastic(motor(0.3), spring, link_friction=bent)
    law = FeedforwardLaw(model, dyn.Actuators(NAMES, (joint,) * 3), variant=variant)
    law.desired[1] = 0.5, -0.5, 0.5
    law.update()
    law.advance(1.0)
    law.update()
    np.testing.assert_allclose(law.torque[0] - law.joint_torque, [2.0, -2.0, 2.0], rtol=1e-12)
    law.settle()
    law.update()
    np.testing.assert_array_equal(law.torque[0], law.joint_torque)


def test_motors_of_a_joint_share_the_gravity_compensated_by_the_robot(model, others):
    laws = [updated(model, others, gravity_compensated_by_robot=left) for left in (0, 1)]
    left = laws[0].motor.torque - laws[1].motor.torque
    g = laws[0].gravity[0]
    np.testing.assert_allclose(left, [g[0], g[1], 0.0, g[2] / 2, g[2] / 2], rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(laws[0].motor.position, laws[1].motor.position)


def test_torques_that_springs_cannot_deliver_are_reported_by_motor(model, others):
    law = FeedforwardLaw(model, others)
    law.desired[0] = state()[0]
    law.update()
    assert law.problems() == ()
    law.stiffness[0, 0] = 1e4
    law.update()
    assert law.problems() == (
        "b_stiffness: requested stiffness is infeasible; clipped to its range",
    )
    assert law.is_finite()
