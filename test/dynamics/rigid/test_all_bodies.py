# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Screws, inertias and momenta of all bodies against Jacobians, body frames and Pinocchio."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model import inertia
from multibody_dynamics.dynamics.rigid.all_bodies import spatial_bodies, subtree_sums
from reference import error
from robots import draw, panda, random_tree, with_multidof

ROBOTS = [panda(), *(random_tree(7, seed) for seed in range(3)), with_multidof()]
EQUAL = 1e-13


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_screws_are_the_columns_of_the_jacobians(model):
    q, qd = draw(model, 2, 4)
    bodies = spatial_bodies(model, q, qd)
    for body in range(model.n):
        path = model.path(body)
        J = dyn.jacobian(model, q, body)[..., path]
        Jd = dyn.jacobian_dot(model, q, qd, body)[..., path]
        assert error(np.swapaxes(bodies.screws[:, path], 1, 2), J, 2) < EQUAL
        assert error(np.swapaxes(bodies.screw_rates[:, path], 1, 2), Jd, 2) < EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_inertias_and_momenta_are_those_of_the_moved_bodies(model):
    q, qd = draw(model, 2, 4)
    bodies, motion = spatial_bodies(model, q, qd), dyn.forward_kinematics(model, q, qd)
    assert error(bodies.twists, motion.twist) < EQUAL
    assert error(bodies.inertias, inertia.transform(model.inertias, motion.pose), 2) < EQUAL
    Pi = dyn.rigid.rigid_body_momentum(
        motion.pose, model.inertias, motion.twist, representation="spatial"
    )
    assert error(bodies.momenta, Pi, 2) < EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_sums_and_paths_follow_the_tree(model):
    values = np.random.default_rng(2).normal(size=(3, model.n, 2, 2))
    sums = subtree_sums(model, values, -3)
    paths = model.moved_by
    for i in range(model.n):
        carried = [body for body in range(model.n) if i in model.path(body)]
        np.testing.assert_allclose(sums[:, i], values[:, carried].sum(axis=1), atol=1e-13)
        assert np.flatnonzero(paths[i]).tolist() == model.path(i)
