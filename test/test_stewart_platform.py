# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The Stewart platform of config/mechanisms, against its closed form and Pinocchio.

The pose of the platform determines the lengths of the legs, and the wrench that moves it the forces
of legs without mass, by the transposed inverse of the Jacobian: here with rates, as power series
with 40 digits.
"""

from typing import Any

import numpy as np
import pytest

import reference as ref
from mechanisms import cross, dot, pinocchio_acceleration, root, solve
from multibody_dynamics import dynamics as dyn
from reference import error
from robots import CONFIG

URDF = CONFIG / "mechanisms" / "stewart.urdf"


@pytest.fixture(scope="module")
def model():
    return dyn.mechanisms.load_robot(URDF, URDF.with_suffix(".yaml"))


def closed_form(model: Any, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q, q', ... of the legs (k, 6), and their forces Q, Q', ... (k - 2, 6) if they have no mass,
    along a series of poses (k, 4, 4) of the platform."""
    tree, count = model.tree, len(pose)
    platform = tree.frame("platform")
    corners = [dyn.se3.inverse(platform.pose)[:, 3]]  # of the first leg: where its ball is
    corners += [loop.second_pose[:, 3] for loop in model.loops]
    lengths, wrenches = [], []
    for k, corner in enumerate(corners):
        foot, end = (
            ref.exact(tree.poses[tree.body_index(f"{part}{k}"), :3, 3]) for part in ("cross", "rod")
        )
        ball = (pose @ ref.exact(corner))[:, :3]
        leg = ball - ref.constant(foot, count)
        length = root(dot(leg, leg))
        axis = solve(length[:, None, None], leg[:, None])[:, 0]
        length[0] -= root(dot((end - foot)[None], (end - foot)[None]))[0]
        lengths.append(length)
        wrenches.append(np.concatenate([cross(ball, axis), axis], axis=-1))
    body = pose @ ref.inverse(ref.rigid(platform.pose)[None])[0]
    acceleration = ref.rate(ref.rate(body))
    acceleration[0, :3, 3] -= ref.exact(tree.gravity)
    lever = ref.particles(tree.inertias[platform.body]) @ ref.transpose(body)
    needed = ref.wrench(ref.times(acceleration, lever))
    forces = solve(np.stack(wrenches, axis=-1)[: len(needed)], needed[..., None])[..., 0]
    return ref.derivatives(np.stack(lengths, axis=-1)), ref.derivatives(forces)


def displaced(model: Any, screw: Any) -> np.ndarray:
    """The pose of the platform after a motion from that at q = 0, in its own axes."""
    return dyn.frame_pose(model, np.zeros(6), "platform") @ dyn.se3.exp(screw)


@pytest.mark.parametrize("seed", range(3))
def test_legs_without_mass_against_the_closed_form(model, seed):
    half = np.full(model.body_count, 0.5)
    half[model.tree.body_index("platform")] = 1.0
    lighter = model.with_scaled_links(half)
    rng = np.random.default_rng(seed)
    start = displaced(model, rng.uniform(-1.0, 1.0, 6) * [0.2, 0.2, 0.2, 0.02, 0.02, 0.02])
    pose = ref.moved_by(start, rng.uniform(-1.0, 1.0, (4, 6)))
    motion, forces = closed_form(model, pose)
    rates = motion.astype(float)
    assert np.abs(rates[0]).max() > 0.01
    heavy, light = (dyn.inverse_dynamics(each, *rates) for each in (model, lighter))
    for k in range(3):  # torques are linear in the masses
        assert error(2.0 * light[k] - heavy[k], forces[k]) < 1e-9


def test_the_platform_is_where_the_lengths_of_its_legs_put_it(model):
    for screw in np.vstack([np.eye(6), -np.eye(6)]) * [0.3, 0.3, 0.3, 0.05, 0.05, 0.05]:
        pose = displaced(model, screw)
        motion, _ = closed_form(model, ref.constant(ref.rigid(pose), 3))
        found = dyn.frame_pose(model, motion[0].astype(float), "platform")
        np.testing.assert_allclose(found, pose, rtol=0, atol=1e-11)


def test_the_mass_of_the_legs_against_the_forward_dynamics_of_pinocchio(model):
    """Which holds the balls together by contacts, and has no charts."""
    system = dyn.mechanisms.load_mechanism(URDF.with_suffix(".yaml"), dyn.load_urdf(URDF))
    own = [name in system.tree.joint_names for name in model.tree_joint_names]
    rates = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 6)) * [[0.02], [0.3], [2.0]]
    torques = dyn.inverse_dynamics(model, *rates).tau
    np.testing.assert_allclose(
        dyn.forward_dynamics(model, *rates[:2], torques), rates[2], atol=1e-10
    )
    q, qd, qdd = (row[own] for row in model.tree_motion(*rates))
    tau = np.zeros(system.n)
    tau[system.actuated_indices] = torques
    assert error(pinocchio_acceleration(system, q, qd, tau), qdd) < 1e-9
