# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The solvers for the derivatives equal the functions and reuse their memory."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from reference import error
from robots import draw, random_tree, random_wrenches, with_rotors

SOLVERS = {
    dyn.rigid.InverseDynamicsDerivativesSolver: dyn.inverse_dynamics_derivatives,
    dyn.rigid.ForwardDynamicsDerivativesSolver: dyn.forward_dynamics_derivatives,
}
each_solver = pytest.mark.parametrize(("Solver", "function"), SOLVERS.items())


def worst(result, expected):
    return max(error(part, whole, 2) for part, whole in zip(result, expected, strict=True))


@each_solver
@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_solver_equals_the_function(Solver, function, n):
    model = with_rotors(random_tree(n, n))
    solver = Solver(model)
    for seed in range(4):
        rows = draw(model, 3, seed=seed)
        expected = function(model, *rows)
        assert worst(solver(*rows), expected) < 1e-13
        solver.result[:] = np.nan
        solver.state[:] = rows
        solver.update()
        assert worst(solver.result, expected) < 1e-13


@each_solver
def test_wrenches_keep_their_values(Solver, function):
    model = random_tree(6, 2)
    solver, wrenches = Solver(model), random_wrenches(model, rates=False)
    for body, W in wrenches.items():
        solver.applied_wrenches[model.body_index(body), 0] = W
    for seed in range(2):
        rows = draw(model, 3, seed=seed)
        assert worst(solver(*rows), function(model, *rows, wrenches=wrenches)) < 1e-12


def test_the_solver_also_gives_the_accelerations():
    model = random_tree(6, 3)
    solver = dyn.rigid.ForwardDynamicsDerivativesSolver(model)
    rows = draw(model, 3)
    solver(*rows)
    assert error(solver.qdd, dyn.forward_dynamics(model, *rows)) < 1e-14


@each_solver
def test_a_solver_reuses_its_memory(Solver, function):
    model = random_tree(6, 4)
    solver = Solver(model)
    addresses = [part.ctypes.data for part in solver(*draw(model, 3))]
    results = solver(*draw(model, 3, seed=2))
    assert [part.ctypes.data for part in results] == addresses
    assert all(np.shares_memory(part, solver.result) for part in results)
    with pytest.raises(AttributeError, match="write into it"):
        solver.state = np.zeros((3, 6))


@each_solver
@pytest.mark.parametrize("bad", [[1.0], np.full(6, np.nan), np.zeros((2, 6)), None])
def test_a_rejected_state_changes_nothing(Solver, function, bad):
    model = random_tree(6, 5)
    solver, rows = Solver(model), draw(model, 3)
    before = [part.copy() for part in solver(*rows)]
    with pytest.raises(dyn.InputError, match="qd"):
        solver(rows[0], bad, rows[2])
    np.testing.assert_array_equal(solver.state, rows)
    np.testing.assert_array_equal(solver.result, before)


def test_a_singular_mass_matrix_is_rejected_with_the_configuration():
    point = dyn.spatial_inertia(1.0, (1.0, 0, 0), np.zeros((3, 3)))
    arm = dyn.model_from_screws(
        [-1, 0], [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]], [np.eye(4)] * 2, [0 * point, point]
    )
    solver, zero = dyn.rigid.ForwardDynamicsDerivativesSolver(arm), np.zeros(2)
    solver(zero, zero, zero)
    with pytest.raises(dyn.DynamicsError, match=r"singular.*-1"):
        solver([0.0, -1.0], zero, zero)
