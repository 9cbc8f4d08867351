# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The solvers for the derivatives, general and with code for one robot, against the functions."""

import copy

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.codegen import Calls
from multibody_dynamics.dynamics.rigid import derivatives_solver
from multibody_dynamics.dynamics.rigid.specialised_kernel import SpecialisedKernel
from reference import error
from robots import draw, random_base, random_tree, random_wrenches, singular_arm

needs_calls = pytest.mark.skipif(not Calls.available(), reason="needs direct calls")
PAIRS = [
    (dyn.rigid.InverseDynamicsDerivativesSolver, dyn.inverse_dynamics_derivatives),
    (dyn.rigid.ForwardDynamicsDerivativesSolver, dyn.forward_dynamics_derivatives),
]
each_pair = pytest.mark.parametrize(("make", "function"), PAIRS)


def worst(found, expected):
    return max(error(one, other, 2) for one, other in zip(found, expected, strict=True))


def test_the_solver_also_gives_the_accelerations():
    model = random_tree(6, 3)
    for specialise in (False, True):
        solver = dyn.rigid.ForwardDynamicsDerivativesSolver(model, specialise=specialise)
        solver.wait()
        rows = draw(model, 3)
        solver(*rows)
        assert error(solver.qdd, dyn.forward_dynamics(model, *rows)) < 1e-12


@needs_calls
@each_pair
def test_code_for_one_robot_and_what_it_leaves_to_the_general_one(make, function):
    model = random_tree(6, 30)
    solver = make(model, specialise=True)
    assert solver.wait() == "specialised"
    rows, wrenches, base = draw(model, 3), random_wrenches(model), random_base(20)
    assert worst(solver(*rows), function(model, *rows)) < 1e-11
    assert worst(copy.deepcopy(solver)(*rows), function(model, *rows)) < 1e-11
    for body, W in wrenches.items():
        solver.applied_wrenches[model.body_index(body)] = W
    assert worst(solver(*rows), function(model, *rows, wrenches=wrenches)) < 1e-11
    solver.applied_wrenches[:] = 0.0
    solver.set_base(base)
    assert solver.kernel == "general"
    assert worst(solver(*rows), function(model, *rows, base=base)) < 1e-11
    solver.set_base(None)
    for robot, kernel in (
        (model.with_payload("body5", 2.0, (0.1, 0.2, 0.3), np.eye(3)), "specialised"),
        (model.with_reflected_inertia(np.full(6, 0.1)), "general"),
    ):
        solver.set_model(robot)
        assert solver.kernel == kernel
        assert worst(solver(*rows), function(robot, *rows)) < 1e-11


@needs_calls
@each_pair
@pytest.mark.parametrize(("n", "seed"), [(1, 0), (2, 2)], ids=["one joint", "parallel joints"])
def test_a_matrix_that_vanishes_up_to_rounding_does_not_count_as_different(make, function, n, seed):
    model = random_tree(n, seed, kinds=("revolute",))
    solver, rows = make(model, specialise=True), draw(model, 3)
    assert solver.wait() == "specialised"
    found, size = solver(*rows), np.abs(solver.result).max()
    assert np.abs(found[1]).max() < 1e-15 * size
    for one, other in zip(found, function(model, *rows), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15 * size)


@needs_calls
@each_pair
def test_wrong_code_is_not_used_and_large_robots_have_none(make, function, monkeypatch):
    wrong = make(random_tree(4, 33), specialise=True)
    wrong.wait()
    address = wrong._addresses[False]
    monkeypatch.setattr(SpecialisedKernel, "ready", lambda self: address)
    model = random_tree(4, 32)
    with pytest.warns(RuntimeWarning, match="the specialised derivatives of robot"):
        solver = make(model, specialise=True)
    assert solver.wait() == "general"
    rows = draw(model, 3)
    assert worst(solver(*rows), function(model, *rows)) < 1e-13
    large = random_tree(derivatives_solver.MOST_BODIES + 1, 34)
    assert make(large, specialise=True).wait() == "general"


@needs_calls
def test_code_for_one_robot_reports_a_singular_mass_matrix():
    solver = dyn.rigid.ForwardDynamicsDerivativesSolver(singular_arm(), specialise=True)
    assert solver.wait() == "specialised"
    q, still = np.array([0.0, -1.0]), np.zeros(2)
    with pytest.raises(dyn.DynamicsError, match=r"singular.*-1.*'joint1' has no inertia"):
        solver(q, still, still)
    assert not solver.update()
    q[1] += 1e-6
    expected = dyn.forward_dynamics_derivatives(solver.model, q, still, still)
    assert worst(solver(q, still, still), expected) < 1e-9
