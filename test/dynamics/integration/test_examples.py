# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The systems of [MT13] section 5 have the data of the paper."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn

EXAMPLES = dyn.integration.examples.SYSTEMS


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_start_on_their_constraints(name):
    system = EXAMPLES[name](group="SO3xR3")
    assert system.groups == ("SO3xR3",) * system.n
    m = system.matrices(system.initial_pose, system.initial_velocity)
    assert np.abs(m.g).max() < 1e-15
    assert np.abs(m.J @ system.initial_velocity.ravel()).max() < 1e-14
    assert system.name == name


def test_heavy_top():
    top = EXAMPLES["heavy_top"]()
    assert np.diag(top.bodies[0].inertia) == pytest.approx([0.36, 0.306, 0.09, 21.6, 21.6, 21.6])
    assert top.energy(top.initial_pose, top.initial_velocity) == pytest.approx(13972.399, abs=1e-3)
    assert top.initial_pose[0, :3, 3] == pytest.approx([0.5, 0, 0])
    assert top.initial_velocity[0] == pytest.approx(np.pi * np.array([0, 20, 10, 0, 5, -10]))
    assert not top.gravity.any()


def test_double_pendulum_and_floating_bodies():
    pendulum, floating = (EXAMPLES[k]() for k in ("spherical_double_pendulum", "floating_bodies"))
    for system in (pendulum, floating):
        assert system.initial_pose[:, 0, 3] == pytest.approx([0.1, 0.3])
        assert system.bodies[0].inertia[5, 5] == pytest.approx(2.7)
    assert pendulum.initial_velocity[1, :3] == pytest.approx(np.pi * np.array([10, 10, 20]))
    assert pendulum.joint_names == ("ground_joint", "middle_joint")
    assert floating.joint_names == ("middle_joint",)
    assert not floating.initial_velocity[0, 3:].any()
    assert not floating.gravity.any()


def test_three_bar_linkage():
    system = EXAMPLES["three_bar_linkage"]()
    tip = system.initial_pose @ [0.1, 0, 0, 1]
    np.testing.assert_allclose(tip[:, :3], [[0.125, 0, 0.1561249]] * 2, atol=1e-7)
    np.testing.assert_allclose(system.initial_pose[:, :3, 1], [[0, 1, 0]] * 2)
    omega = system.initial_pose[:, :3, :3] @ system.initial_velocity[:, :3, None]
    x = system.initial_pose[:, :3, 0]
    np.testing.assert_allclose(omega[..., 0], [5, 0, 0] + np.array([[20], [-30]]) * x, atol=1e-14)
