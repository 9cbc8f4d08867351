# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Regressors of many states and their gradient, against the plain regressor and derivatives."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.identification.excitation.regressor_gradient import regressor_stack
from robots import CONFIG, draw, panda, random_tree, with_multidof


def delta():
    files = CONFIG / "mechanisms" / "delta"
    model = dyn.mechanisms.load_robot(files.with_suffix(".urdf"), files.with_suffix(".yaml"))
    return model.with_reflected_inertia(np.full(model.n, 0.02))


ROBOTS = {
    "panda": panda,
    "tree": lambda: random_tree(6, 3),
    "multidof": with_multidof,
    "loops": delta,
}


@pytest.fixture(params=ROBOTS)
def model(request):
    return ROBOTS[request.param]()


def states(model, count):
    motion = np.stack(draw(model, 3, count), axis=1)
    motion[:, 0] = model.home + (0.1 if hasattr(model, "loops") else 1.0) * motion[:, 0]
    return motion


def test_the_regressors_are_those_of_single_states(model):
    motion = states(model, 4)
    expected = idn.inverse_dynamics_regressor(model, *motion.swapaxes(0, 1)).Y
    found = regressor_stack(model).regressors(motion)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_weights_equal_to_the_parameters_give_the_derivatives_of_the_torques(model):
    """For G_i = pi in row i, d sum G Y is row i of the derivatives of the inverse dynamics."""
    motion = states(model, 3)
    stack, pi = regressor_stack(model), idn.inertial_parameters(model)
    expected = dyn.inverse_dynamics_derivatives(
        model.with_reflected_inertia(np.zeros(model.n)), *motion.swapaxes(0, 1)
    )
    for i in range(model.n):
        weights = np.zeros((3, model.n, 10 * model.body_count))
        weights[:, i] = pi
        found = stack.gradient(motion, weights)
        for order, by in enumerate(expected):
            size = 1e-11 * np.abs(by).max()
            np.testing.assert_allclose(found[:, order], by[:, i], rtol=0, atol=size)


@pytest.mark.parametrize("shape", [(3, 7), (2, 3, 6), (2, 2, 7)])
def test_wrong_shapes_are_refused(shape):
    with pytest.raises(InputError, match="motion"):
        idn.RegressorStack(panda()).regressors(np.zeros(shape))


def test_weights_of_another_batch_are_refused():
    with pytest.raises(InputError, match="weights: expected"):
        idn.RegressorStack(panda()).gradient(np.zeros((2, 3, 7)), np.zeros((3, 7, 70)))
