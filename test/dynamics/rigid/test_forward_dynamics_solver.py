# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The forward-dynamics solver for the control cycle."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from reference import error
from robots import draw, panda, random_tree

ROBOTS = [panda(), random_tree(6, 1), random_tree(1, 2)]


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_solver_equals_the_function(model, order):
    solver = dyn.ForwardDynamicsSolver(model, order)
    W = np.random.default_rng(2).normal(size=(3, 6))
    for seed in range(3):
        q, qd, *torques = draw(model, 3 + order, seed=seed)
        solver.applied_wrenches[-1] = W * (seed > 0)
        wrenches = {model.body_names[-1]: solver.applied_wrenches[-1]}
        found = solver(q, qd, *torques)
        assert len(found) == order + 1
        alone = dyn.forward_dynamics(model, q, qd, torques[0], wrenches=wrenches)
        np.testing.assert_array_equal(found[0], alone)  # one program, bit by bit
        if order:
            rates = dyn.rigid.forward_dynamics_rates(model, q, qd, *torques, wrenches=wrenches)
            np.testing.assert_array_equal(found, rates[: order + 1])
        before = np.array(found)
        solver.result[:] = np.nan
        solver.state[:], solver.torque[:] = (q, qd), torques
        assert solver.update()
        assert all(np.shares_memory(row, solver.result) for row in found)
        np.testing.assert_array_equal(solver.result, before)


def test_forward_after_inverse_is_the_identity():
    model = panda()
    inverse, forward = dyn.InverseDynamicsSolver(model), dyn.ForwardDynamicsSolver(model, 2)
    state = draw(model, 5)
    lost = np.linalg.cond(dyn.mass_matrix(model, state[0]))
    for row, wanted in zip(forward(*state[:2], *inverse(*state)), state[2:], strict=True):
        assert error(row, wanted) < 1e-13 * lost


def test_rejected_input_changes_nothing():
    model = random_tree(4, 3)
    solver = dyn.ForwardDynamicsSolver(model, 1)
    rows = draw(model, 4)
    before = np.array(solver(*rows))
    for bad, message in (
        (rows[:3], r"expected 4 rows \(q, qd, tau, tau_dot\), got 3"),
        ([*rows[:3], np.full(4, np.nan)], r"tau_dot\[0\] \(joint 'joint1'\) is nan"),
        ([rows[0][:3], *rows[1:]], "q: expected shape"),
    ):
        with pytest.raises(dyn.InputError, match=message):
            solver(*bad)
    np.testing.assert_array_equal(solver.result, before)
    np.testing.assert_array_equal(solver.state, rows[:2])
    with pytest.raises(dyn.InputError, match="order: expected 0, 1 or 2"):
        dyn.ForwardDynamicsSolver(model, 3)
    with pytest.raises(AttributeError, match=r"write into it: solver\.state\[:\]"):
        solver.state = np.zeros((2, 4))


def test_a_singular_configuration_is_reported():
    point = dyn.spatial_inertia(1.0, (1.0, 0, 0), np.zeros((3, 3)))
    arm = dyn.model_from_screws(
        [-1, 0], [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]], [np.eye(4)] * 2, [0 * point, point]
    )
    solver = dyn.ForwardDynamicsSolver(arm)
    with pytest.raises(dyn.DynamicsError, match=r"singular.*'joint1' has no inertia"):
        solver([0.0, -1.0], np.zeros(2), np.zeros(2))
    assert not solver.update()
    solver.state[0] = 0.0, -1.0 + 1e-6  # a small inertia is enough, from the next call on
    assert all(solver.update() for _ in range(300))
