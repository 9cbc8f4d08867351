# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The solver of u, u', u'' equals the function; its power moments are the gradient of x . u."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification import inertial_parameters, pseudo_inertia
from reference import error
from robots import draw, random_base, random_tree, random_wrenches

ROWS = 4


def rows(model, seed=1):
    return draw(model, ROWS, seed=seed), draw(model, ROWS, seed=seed + 1)


def pseudo_inertias(model):
    """Pseudo-inertias of the bodies, in the joint frames."""
    P = pseudo_inertia(inertial_parameters(model).reshape(-1, 10))
    B = model.body_in_joint
    return B @ P @ np.swapaxes(B, -1, -2)


@pytest.mark.parametrize("seed", range(4))
def test_solver_equals_the_function(seed):
    model = random_tree(6, seed).with_reflected_inertia(np.full(6, 0.3))
    solver = dyn.rigid.PassiveInverseDynamicsSolver(model)
    base, wrenches = random_base(seed), random_wrenches(model)
    state, reference = rows(model, seed)
    solver.set_base(base)
    for body, W in wrenches.items():
        solver.applied_wrenches[model.body_index(body)] = W
    expected = dyn.rigid.passive_inverse_dynamics(
        model, state, reference, base=base, wrenches=wrenches
    )
    for _ in range(2):
        for got, wanted in zip(solver(state, reference), expected, strict=True):
            assert error(got, wanted) < 1e-15
    heavier = model.with_payload("body6", 2.0, (0.1, 0.2, 0.3), np.eye(3))
    solver.set_model(heavier)
    expected = dyn.rigid.passive_inverse_dynamics(
        heavier, state, reference, base=base, wrenches=wrenches
    )
    assert error(solver(state, reference)[2], expected[2]) < 1e-15


@pytest.mark.parametrize("seed", range(4))
def test_moments_give_the_power_and_its_gradient(seed):
    """x . u = sum_i tr(L_i P_i) + rotors, for any x and any parameters."""
    model = random_tree(6, seed).with_reflected_inertia(np.full(6, 0.3))
    solver = dyn.rigid.PassiveInverseDynamicsSolver(model)
    state, reference = rows(model, seed)
    base, x = random_base(seed), draw(model, 1, seed=seed)[0]
    solver.set_base(base)
    u = solver(state, reference)[0].copy()
    L = solver.power_moments(x)
    np.testing.assert_array_equal(L, np.swapaxes(L, 1, 2))
    rotors = x @ (model.reflected_inertia * reference[1])
    assert abs(np.sum(L * pseudo_inertias(model)) + rotors - x @ u) < 1e-12 * np.abs(u).sum()
    loaded = model.with_payload("body3", 1.5, (0.1, -0.2, 0.3), 0.01 * np.eye(3))
    more = dyn.rigid.passive_inverse_dynamics(loaded, state, reference, base=base).tau - u
    added = np.sum(L * (pseudo_inertias(loaded) - pseudo_inertias(model)))
    assert abs(added - x @ more) < 1e-12 * np.abs(u).sum()


def test_rejected_rows_leave_the_solver_unchanged():
    model = random_tree(5, 3)
    solver = dyn.rigid.PassiveInverseDynamicsSolver(model)
    state, reference = rows(model)
    solver(state, reference)
    before = solver.state.copy(), solver.reference.copy(), solver.result.copy()
    bad = reference.copy()
    bad[2, 1] = np.nan
    for wrong in ((2 * state, bad), (bad, reference), (2 * state[:3], reference)):
        with pytest.raises(dyn.InputError):
            solver(*wrong)
        for array, kept in zip(
            (solver.state, solver.reference, solver.result), before, strict=True
        ):
            np.testing.assert_array_equal(array, kept)
    with pytest.raises(dyn.InputError, match="x: expected 5 finite numbers"):
        solver.power_moments(np.full(5, np.inf))
    with pytest.raises(AttributeError, match="write into it"):
        solver.reference = reference


def test_buffers_are_reused():
    model = random_tree(5, 4)
    solver = dyn.rigid.PassiveInverseDynamicsSolver(model)
    first = [x.ctypes.data for x in solver(*rows(model))]
    assert [x.ctypes.data for x in solver(*rows(model, 5))] == first
    moments = solver.power_moments(np.ones(5))
    assert solver.power_moments(np.zeros(5)) is moments
    assert not moments.any()
