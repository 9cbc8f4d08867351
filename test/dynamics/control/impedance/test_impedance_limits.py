# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The largest stiffness of links behind springs."""

from __future__ import annotations

import numpy as np
import pytest

from elastic_arms import elastic_panda, linear_arm, nonlinear_arm
from multibody_dynamics.dynamics.control import carrying_stiffness, use_of_springs
from multibody_dynamics.dynamics.control.impedance.impedance_limits import check_use, sampled_poses
from multibody_dynamics.dynamics.core import InputError


def test_linear_springs_carry_their_stiffness_and_hardening_ones_that_without_load():
    for arm, wanted in ((linear_arm(), (400.0, 200.0)), (nonlinear_arm(), (150.0, 200.0))):
        found = carrying_stiffness(arm.model, arm.actuators, arm.rest, 20.0)
        np.testing.assert_allclose(found, wanted)


def test_the_use_is_the_largest_share_in_any_direction():
    stiffness = np.array([[100.0, 30.0], [30.0, 20.0]])
    K = np.array([400.0, 200.0])
    wanted = max(np.linalg.eigvals(stiffness / K[:, None]).real)
    np.testing.assert_allclose(use_of_springs(K, stiffness), wanted)
    assert use_of_springs(K, np.diag(K)) == pytest.approx(1.0)


def test_too_much_stiffness_is_refused_with_the_factor_that_helps():
    _, actuators, rest = linear_arm()
    K = np.array([400.0, 200.0])
    check_use(actuators, K, np.diag([300.0, 160.0])[None], rest[None])
    with pytest.raises(InputError, match=r"joint 'elbow'.*divide it by 1\.25 "):
        check_use(actuators, K, np.diag([300.0, 200.0])[None], rest[None])


def test_poses_are_within_the_joint_limits():
    model, _, rest = elastic_panda()
    poses = sampled_poses(model, rest)
    np.testing.assert_array_equal(poses[0], rest)
    assert ((poses >= model.limits.lower) & (poses <= model.limits.upper)).all()
