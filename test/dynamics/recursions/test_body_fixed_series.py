# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The recursion over power series equals the Leibniz recursion with 6x6 matrices, at any order."""

import mpmath
import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.recursions import generic_trig, inverse_dynamics_series
from reference import error
from robots import panda, random_tree

MODELS = {
    "panda": panda,
    "off-axis tree": lambda: random_tree(6, 3).with_reflected_inertia(np.full(6, 0.2)),
    "prismatic": lambda: random_tree(3, 5, kinds=("revolute", "prismatic")),
    "helical": lambda: random_tree(3, 6, kinds=("helical",)),
}


def evaluate(model, rows, sin, cos):
    joints, gravity = model.joint_rows.astype(object), model.gravity.astype(object)
    trig = generic_trig(joints, rows[0], sin, cos)
    return inverse_dynamics_series(model.parents, joints, gravity, trig, rows)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("name", MODELS)
def test_all_derivatives_of_the_torques(name, order):
    model = MODELS[name]()
    rows = np.random.default_rng(order).normal(size=(order + 3, model.n))
    found = evaluate(model, rows, np.sin, np.cos).astype(float)
    expected = dyn.rigid.higher_order_inverse_dynamics(model, rows)
    for k in range(order + 1):
        assert error(found[k], expected[k]) < 1e-12


def test_thirty_digits():
    model = random_tree(3, 6, kinds=("helical", "revolute"))
    rng = np.random.default_rng(1)
    with mpmath.workdps(40):
        rows = [[mpmath.mpf(x) / 7 for x in row] for row in rng.normal(size=(6, 3)).tolist()]
        found = evaluate(model, rows, mpmath.sin, mpmath.cos)
        expected = dyn.rigid.generic_higher_order_inverse_dynamics(
            model, rows, sin=mpmath.sin, cos=mpmath.cos
        )
        # the shares 1/k of the coefficients are floats
        assert max(abs(x - y) for x, y in zip(found.flat, expected.flat, strict=True)) < 1e-12


def test_a_batch_as_scalars():
    model = random_tree(4, 3)
    rows = np.random.default_rng(1).normal(size=(6, 4, 5))
    found = evaluate(model, rows, np.sin, np.cos)
    for k in range(5):
        alone = evaluate(model, rows[..., k], np.sin, np.cos).astype(float)
        together = np.array([[x[k] for x in row] for row in found])
        assert error(together, alone) < 1e-13
