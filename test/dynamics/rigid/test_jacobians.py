# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Jacobians against the twists and accelerations of the recursion, and against power."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from robots import deepest, random_base, random_tree

MODELS = [random_tree(6, seed=seed) for seed in (1, 2, 3)]
RNG = np.random.default_rng(11)


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@pytest.mark.parametrize("model", MODELS)
def test_twist_is_jacobian_times_rates_and_acceleration_its_derivative(model, representation):
    q, qd, qdd = RNG.normal(size=(3, 4, model.n))
    motion = dyn.forward_kinematics(model, q, qd, qdd, representation=representation)
    for body in range(model.n):
        J = dyn.jacobian(model, q, body, representation=representation)
        Jd = dyn.jacobian_dot(model, q, qd, body, representation=representation)
        twist = np.einsum("kij,kj->ki", J, qd)
        acceleration = np.einsum("kij,kj->ki", J, qdd) + np.einsum("kij,kj->ki", Jd, qd)
        np.testing.assert_allclose(twist, motion.twist[:, body], atol=1e-12)
        np.testing.assert_allclose(acceleration, motion.acceleration[:, body], atol=1e-11)


@pytest.mark.parametrize("model", MODELS)
def test_the_power_of_a_wrench_is_that_of_its_joint_torques(model):
    q, qd, qdd = RNG.normal(size=(3, model.n))
    W = RNG.normal(size=6)
    body = deepest(model)
    free = dyn.inverse_dynamics(model, q, qd, qdd).tau
    loaded = dyn.inverse_dynamics(model, q, qd, qdd, wrenches={model.body_names[body]: W}).tau
    np.testing.assert_allclose(free - loaded, dyn.jacobian(model, q, body).T @ W, atol=1e-11)


def test_a_frame_has_its_own_origin():
    model = MODELS[0].with_payload("body3", 1.0, (0.1, 0.2, 0.3), name="tool")
    q, qd = RNG.normal(size=(2, model.n))
    offset = dyn.se3.exp(np.array([0.3, -0.2, 0.5, 0.1, 0.7, -0.4]))
    framed = dyn.model_from_screws(
        model.parents, model.screws, model.poses, model.inertias,
        body_names=model.body_names, frames={"camera": dyn.model.Frame(2, offset)},
    )  # fmt: skip
    r = dyn.frame_pose(framed, q, "camera")[:3, 3]
    step = 1e-6 * qd
    ahead, behind = (dyn.frame_pose(framed, q + s, "camera")[:3, 3] for s in (step, -step))
    J = dyn.jacobian(framed, q, "camera", representation="hybrid")
    np.testing.assert_allclose(J[3:] @ qd, (ahead - behind) / 2e-6, atol=1e-8)
    assert np.linalg.norm(r - dyn.frame_pose(framed, q, 2)[:3, 3]) > 0.1


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@pytest.mark.parametrize("model", MODELS)
def test_a_moving_base_adds_its_own_motion(model, representation):
    q, qd, qdd = RNG.normal(size=(3, 4, model.n))
    options = {"base": random_base(5, 4), "representation": representation}
    motion = dyn.forward_kinematics(model, q, qd, qdd, **options)
    carried = dyn.forward_kinematics(model, q, 0 * qd, qdd, **options)
    without = dyn.forward_kinematics(model, q, qd, 0 * qdd, **options)
    for body in range(model.n):
        J = dyn.jacobian(model, q, body, **options)
        twist = np.einsum("kij,kj->ki", J, qd) + carried.twist[:, body]
        acceleration = np.einsum("kij,kj->ki", J, qdd) + without.acceleration[:, body]
        np.testing.assert_allclose(twist, motion.twist[:, body], atol=1e-12)
        np.testing.assert_allclose(acceleration, motion.acceleration[:, body], atol=1e-11)


@pytest.mark.parametrize("base", [dyn.BaseMotion(np.eye(4), np.zeros(6)), random_base(6)])
@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@pytest.mark.parametrize("model", MODELS)
def test_the_derivative_is_the_slope_of_the_jacobian_along_the_motion(model, representation, base):
    q, qd = RNG.normal(size=(2, model.n))
    body, step = deepest(model), 1e-5
    times = np.array([-2, -1, 1, 2]) * step
    poses = dyn.se3.exp(times[:, None] * base.twist) @ base.pose  # a spatial twist
    J = dyn.jacobian(
        model, q + times[:, None] * qd, body,
        base=dyn.BaseMotion(poses), representation=representation,
    )  # fmt: skip
    slope = np.tensordot([1, -8, 8, -1], J, axes=1) / (12 * step)
    Jd = dyn.jacobian_dot(model, q, qd, body, base=base, representation=representation)
    np.testing.assert_allclose(Jd, slope, atol=1e-9 * (1 + np.abs(J).max()))


def test_the_jacobian_of_the_base_is_zero():
    model = MODELS[0]
    assert np.all(dyn.jacobian(model, np.ones(model.n), model.base_name) == 0)
