# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Regressors of many states and their gradient, against the plain regressor and 40 digits."""

import mpmath as mp
import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.dynamics.core import InputError
from reference import dynamics, exact
from robots import draw, panda, random_tree, with_multidof

ROBOTS = {"panda": panda, "tree": lambda: random_tree(6, 3), "multidof": with_multidof}


@pytest.fixture(params=ROBOTS)
def model(request):
    return ROBOTS[request.param]()


def states(model, count):
    return np.stack(draw(model, 3, count), axis=1)


def test_the_regressors_are_those_of_single_states(model):
    motion = states(model, 4)
    expected = idn.inverse_dynamics_regressor(model, *motion.swapaxes(0, 1)).Y
    found = idn.RegressorStack(model).regressors(motion)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_weights_equal_to_the_parameters_give_the_derivatives_of_the_torques(model):
    """For G_i = pi in row i, d sum G Y is row i of the derivatives of the inverse dynamics."""
    motion = states(model, 3)
    stack, pi = idn.RegressorStack(model), idn.inertial_parameters(model)
    expected = dyn.inverse_dynamics_derivatives(
        model.with_reflected_inertia(np.zeros(model.n)), *motion.swapaxes(0, 1)
    )
    for i in range(model.n):
        weights = np.zeros((3, model.n, 10 * model.n))
        weights[:, i] = pi
        found = stack.gradient(motion, weights)
        for order, by in enumerate(expected):
            size = 1e-11 * np.abs(by).max()
            np.testing.assert_allclose(found[:, order], by[:, i], rtol=0, atol=size)


def test_the_gradient_of_any_function_against_40_digits():
    """Central differences of sum_i tau_i(pi = G_i), by first principles in mpmath."""
    model = random_tree(4, 5)
    motion = states(model, 1)
    rng = np.random.default_rng(2)
    weights = rng.normal(size=(1, model.n, 10 * model.n))
    found = idn.RegressorStack(model).gradient(motion, weights)[0]
    step = mp.mpf(10) ** -13
    for order, j in ((0, 0), (0, 3), (1, 1), (2, 2)):
        values = []
        for sign in (1, -1):
            rows = exact(motion[0])
            rows[order, j] += sign * step
            values.append(_weighted(model, rows, weights[0]))
        slope = float((values[0] - values[1]) / (2 * step))
        assert abs(slope - found[order, j]) < 1e-12 * np.abs(found).max()


def _weighted(model, rows, weights):
    """sum_ij G_ij Y_ij: the torque of each joint i of a robot whose bodies have parameters G_i."""
    total = mp.mpf(0)
    for i in range(model.n):
        inertias = exact(np.zeros((model.n, 6, 6)))
        for body, ten in enumerate(weights[i].reshape(model.n, 10)):
            m, x, y, z, *entries = exact(ten)
            inertias[body, :3, :3] = _symmetric(entries)
            c = np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])
            inertias[body, :3, 3:], inertias[body, 3:, :3] = c, c.T
            for k in range(3, 6):
                inertias[body, k, k] = m
        total += dynamics(model, rows, inertias=inertias).torques[0][i]
    return total


def _symmetric(entries):
    xx, xy, xz, yy, yz, zz = entries
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@pytest.mark.parametrize("shape", [(3, 7), (2, 3, 6), (2, 2, 7)])
def test_wrong_shapes_are_refused(shape):
    with pytest.raises(InputError, match="motion"):
        idn.RegressorStack(panda()).regressors(np.zeros(shape))


def test_weights_of_another_batch_are_refused():
    with pytest.raises(InputError, match="weights: expected"):
        idn.RegressorStack(panda()).gradient(np.zeros((2, 3, 7)), np.zeros((3, 7, 70)))
