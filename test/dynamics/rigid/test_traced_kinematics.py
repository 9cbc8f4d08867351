# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded kinematics equal the general functions, in all representations."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.rigid import trace_forward_kinematics, trace_jacobian
from reference import error
from rejections import assert_rejected
from robots import aligned_model, draw, panda, random_tree

ROWS = ("q", "qd", "qdd", "qddd", "qdddd")
RATES = ("twist", "acceleration", "jerk", "jounce")
MODELS = {
    "panda": panda,
    "off-axis tree": lambda: random_tree(7, 3),
    "prismatic": lambda: random_tree(4, 5, kinds=("revolute", "prismatic")),
    "helical": lambda: random_tree(4, 6, kinds=("helical",)),
    "aligned": lambda: aligned_model(2),
    "one joint": lambda: random_tree(1, 8),
}


def evaluated(program, state):
    given = {name: row for name, row in zip(ROWS, state, strict=True) if name in program.inputs}
    return program.evaluate(**given)


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@pytest.mark.parametrize("name", MODELS)
def test_poses_and_twists_up_to_the_jounce(name, representation):
    model = MODELS[name]()
    state = np.random.default_rng(2).normal(size=(5, 3, model.n))
    expected = dyn.forward_kinematics(model, *state, representation=representation)
    for order in range(5):
        found = evaluated(trace_forward_kinematics(model, order, representation), state)
        assert tuple(found) == ("pose", *RATES[:order])
        assert error(found["pose"].reshape(3, model.n, 4, 4), expected.pose, 2) < 1e-13
        for key in RATES[:order]:
            assert error(found[key].reshape(3, model.n, 6), getattr(expected, key)) < 1e-13


def test_frames_of_links_and_bodies():
    model = panda()  # with links that are merged into others
    q = draw(model, 1)[0]
    frames = ("panda_link8", 0, model.body_names[4], model.base_name)
    found = trace_forward_kinematics(model, 0, frames=frames).evaluate(q=q)["pose"]
    expected = np.array([dyn.frame_pose(model, q, frame) for frame in frames])
    assert error(found.reshape(4, 4, 4), expected, 2) < 1e-13


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@pytest.mark.parametrize("name", MODELS)
def test_jacobians_and_their_rates(name, representation):
    model = MODELS[name]()
    state, last = draw(model, 5), model.body_names[-1]
    found = evaluated(trace_jacobian(model, last, 1, representation), state)
    J, J_dot = (x.reshape(6, model.n) for x in found.values())
    expected = dyn.jacobian(model, state[0], last, representation=representation)
    np.testing.assert_allclose(J, expected, atol=1e-13)
    expected = dyn.jacobian_dot(model, *state[:2], last, representation=representation)
    np.testing.assert_allclose(J_dot, expected, atol=1e-12)


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_higher_rates_of_jacobians_give_the_twist(representation):
    """V^(k) = sum_j C(k, j) J^(j) q^(k + 1 - j)."""
    model = random_tree(5, 3, kinds=("revolute", "helical", "prismatic"))
    state = draw(model, 5)
    program = trace_jacobian(model, model.body_names[-1], 3, representation)
    assert tuple(program.results) == ("J", "J_dot", "J_ddot", "J_dddot")
    J = [x.reshape(6, model.n) for x in evaluated(program, state).values()]
    motion = dyn.forward_kinematics(model, *state, representation=representation)
    for k, row in enumerate(((1,), (1, 1), (1, 2, 1), (1, 3, 3, 1))):
        found = sum(c * J[j] @ state[k + 1 - j] for j, c in enumerate(row))
        assert error(found, getattr(motion, RATES[k])[-1]) < 1e-13


def test_the_base_has_no_jacobian():
    model = random_tree(3, 1)
    program = trace_jacobian(model, model.base_name)
    assert not np.any(list(program.evaluate(q=np.ones(3), qd=np.ones(3)).values()))


def test_wrong_arguments_are_named():
    model = random_tree(2, 1)
    assert_rejected(
        (lambda: trace_forward_kinematics(model, 5), "order: expected 0 to 4, got 5"),
        (lambda: trace_jacobian(model, 0, -1), "order: expected 0, 1, 2, ..., got -1"),
        (lambda: trace_forward_kinematics(model, 1, "world"), "world"),
        (lambda: trace_jacobian(model, 0, 1, "world"), "world"),
        (lambda: trace_forward_kinematics(model, 1, frames=("hand",)), "hand"),
        (lambda: trace_jacobian(model, "hand"), "hand"),
    )
