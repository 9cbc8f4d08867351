# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Robot, base and buffers of every solver for the control cycle."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from reference import error
from robots import random_base, random_tree

# Each solver with the function that it must equal.
SOLVERS = {
    "inverse": (dyn.InverseDynamicsSolver, 5, dyn.inverse_dynamics),
    "forward": (
        dyn.ForwardDynamicsSolver, 3, lambda *x, **base: (dyn.forward_dynamics(*x, **base),),
    ),
    "derivatives of inverse": (
        dyn.rigid.InverseDynamicsDerivativesSolver, 3, dyn.inverse_dynamics_derivatives,
    ),
    "derivatives of forward": (
        dyn.rigid.ForwardDynamicsDerivativesSolver, 3, dyn.forward_dynamics_derivatives,
    ),
}  # fmt: skip


def check(solver, function, model, rows, base):
    for found, wanted in zip(solver(*rows), function(model, *rows, base=base), strict=True):
        assert error(found, wanted, found.ndim) < 1e-11


@pytest.mark.parametrize("kind", SOLVERS)
def test_robot_and_base_can_be_exchanged(kind):
    make, count, function = SOLVERS[kind]
    model = random_tree(6, 22)
    loaded = model.with_payload("body6", 2.0, (0.1, 0.2, 0.3), np.eye(3), name="crate")
    loaded = loaded.with_gravity((1.0, 2.0, -3.0))
    rows = np.random.default_rng(1).normal(size=(count, 6))
    solver = make(model)
    for robot, base in (
        (model, None), (loaded, None), (loaded, random_base(1)), (model, random_base(1)),
        (model, random_base(2)), (model, None),
    ):  # fmt: skip
        solver.set_model(robot)
        solver.set_base(base)
        assert solver.model is robot
        for _ in range(2):  # they keep their values
            check(solver, function, robot, rows, base)


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_different_robot_is_rejected_and_changes_nothing(kind):
    make, count, function = SOLVERS[kind]
    model, base = random_tree(6, 22), random_base(3)
    rows = np.random.default_rng(2).normal(size=(count, 6))
    solver = make(model)
    solver.set_base(base)
    for other in (random_tree(6, 24), random_tree(5, 22)):
        with pytest.raises(
            dyn.InputError, match=f"joints of robot .* differ from .*new {make.__name__}"
        ):
            solver.set_model(other)
    for bad in (random_base(21, 1), dyn.BaseMotion(twist=np.full(6, np.nan))):
        with pytest.raises(dyn.InputError, match="base"):
            solver.set_base(bad)
    for name in ("state", "result", "applied_wrenches"):
        with pytest.raises(AttributeError, match=rf"write into it: solver\.{name}\[:\]"):
            setattr(solver, name, np.zeros((5, 6)))
    assert solver.model is model
    check(solver, function, model, rows, base)


@pytest.mark.parametrize("kind", SOLVERS)
def test_masses_and_inertias_alone_can_be_exchanged(kind):
    make, count, function = SOLVERS[kind]
    model = random_tree(6, 22).with_reflected_inertia(np.full(6, 0.2))
    loaded = model.with_payload("body4", 2.0, (0.1, 0.2, 0.3), np.eye(3))
    rows = np.random.default_rng(1).normal(size=(count, 6))
    solver = make(model)
    for robot in (loaded, model):
        solver.set_pseudo_inertias(dyn.rigid.pseudo_inertias(robot))
        check(solver, function, robot, rows, None)
        assert solver.model is model


def test_pseudo_inertias_are_those_of_the_parameters():
    model = random_tree(6, 22)
    P = dyn.identification.pseudo_inertia(
        dyn.identification.inertial_parameters(model).reshape(-1, 10)
    )
    B = model.body_in_joint
    assert error(dyn.rigid.pseudo_inertias(model), B @ P @ np.swapaxes(B, -1, -2), 3) < 1e-14
