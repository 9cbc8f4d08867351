# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Weights, secondary motion, damping and manipulability."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.tasks.tool_task import Task
from robots import panda

HAND = Task("panda_link7")
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


def test_manipulability_follows_from_the_singular_values():
    q = READY + np.random.default_rng(1).normal(0, 0.3, (4, 7))
    weights = np.linspace(0.5, 2, 7)
    found = dyn.tasks.manipulability(panda(), HAND, q, weights=weights, length=0.5)
    A = dyn.tasks.task_jacobian(panda(), HAND, q, length=0.5) @ np.diag(weights**-0.5)
    G = A @ A.swapaxes(-1, -2)
    np.testing.assert_allclose(found.yoshikawa, np.sqrt(np.linalg.det(G)), rtol=1e-10)
    sizes = np.linalg.eigvalsh(G)
    np.testing.assert_allclose(found.smallest_singular_value, np.sqrt(sizes[:, 0]), rtol=1e-8)
    ratio = np.sqrt(sizes[:, -1] / sizes[:, 0])
    np.testing.assert_allclose(found.condition_number, ratio, rtol=1e-8)


def test_manipulability_of_a_planar_arm_is_the_sine_of_its_elbow():
    """Yoshikawa's own example: w = l1 l2 |sin q2|."""
    l1, l2 = 0.7, 0.4
    pose = dyn.se3.exp([0, 0, 0, l1, 0, 0])
    body = dyn.spatial_inertia(1, (0, 0, 0), np.eye(3))
    arm = dyn.model_from_screws(
        [-1, 0],
        [dyn.revolute((0, 0, 1)), dyn.revolute((0, 0, 1), (l1, 0, 0))],
        [np.eye(4), pose],
        [body, body],
    )
    tip = Task(1, "x y", dyn.se3.exp([0, 0, 0, l2, 0, 0]))
    q = np.array([[0.3, x] for x in (-2, -0.5, 0, 1.2)])
    found = dyn.tasks.manipulability(arm, tip, q)
    np.testing.assert_allclose(found.yoshikawa, l1 * l2 * np.abs(np.sin(q[:, 1])), atol=1e-15)
    assert found.condition_number[2] > 1e15


def test_lost_directions_are_counted():
    """At q = 0 the Panda is stretched: two rotations and one translation share one axis."""
    resolution = dyn.tasks.RedundancyResolution(damping=dyn.tasks.Damping(1e-3))
    solver = dyn.tasks.TaskSpaceSolver(panda(), HAND, resolution)
    for q, lost in ((READY, 0), (np.zeros(7), 1)):
        sigma = np.linalg.svd(dyn.tasks.task_jacobian(panda(), HAND, q), compute_uv=False)
        solver(dyn.tasks.task_motion(panda(), HAND, q), q)
        tau = np.sum(1e-6 / (sigma**2 + 1e-6))
        assert solver.lost_directions == pytest.approx(tau, rel=1e-9)
        assert round(tau) == lost


def test_damping_strength_defaults_to_the_singular_value():
    assert dyn.tasks.Damping(0.02).lambda_max == 0.02
    assert dyn.tasks.Damping(0.02, 0.1).lambda_max == 0.1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dyn.tasks.Damping(0.0), "singular_value must be positive"),
        (lambda: dyn.tasks.Damping(0.1, np.nan), "strength must be positive"),
        (lambda: dyn.tasks.RedundancyResolution(feedback=-1), "feedback"),
        (lambda: dyn.tasks.RedundancyResolution(weights=[-1] * 7), "weights: expected positive"),
        (lambda: dyn.tasks.RedundancyResolution(posture=[0, np.nan]), "posture.*nan"),
        (
            lambda: dyn.tasks.manipulability(panda(), HAND, READY, weights=np.ones(6)),
            "weights.*shape",
        ),
        (lambda: dyn.tasks.RedundancyResolution(feedback=np.inf), "finite"),
        (lambda: dyn.tasks.RedundancyResolution(length=0), "length"),
        (lambda: dyn.tasks.task_jacobian(panda(), HAND, READY, length=0.0), "length: must be pos"),
        (lambda: dyn.tasks.task_jacobian(panda(), HAND, READY, length=np.nan), "length is nan"),
        (lambda: dyn.tasks.RedundancyResolution(limit_margin=[0.1, 0]), "limit_margin"),
        (lambda: dyn.tasks.RedundancyResolution(posture_gain=-1), "posture_gain"),
        (lambda: dyn.tasks.RedundancyResolution(prescribed="panda_joint1"), "sequence of joints"),
        (lambda: dyn.tasks.manipulability(panda(), HAND, READY, weights=np.zeros(7)), "positive"),
        (lambda: dyn.tasks.manipulability(panda(), [HAND, HAND], READY), "12 components"),
    ],
)
def test_invalid_numbers_are_rejected(make, message):
    with pytest.raises(dyn.InputError, match=message):
        make()


def test_a_resolution_is_immutable():
    given = np.ones(7)
    resolution = dyn.tasks.RedundancyResolution(weights=given, posture=given, posture_gain=given)
    given[0] = -1
    for array in (resolution.weights, resolution.posture, resolution.posture_gain):
        np.testing.assert_array_equal(array, np.ones(7))
        assert not array.flags.writeable
