# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The forward-dynamics solver for the control cycle."""

import numpy as np

from multibody_dynamics import dynamics as dyn
from reference import error
from rejections import assert_rejected
from robots import draw, panda, random_tree


def test_forward_after_inverse_is_the_identity():
    model = panda()
    inverse, forward = dyn.InverseDynamicsSolver(model), dyn.ForwardDynamicsSolver(model, 2)
    state = draw(model, 5)
    lost = np.linalg.cond(dyn.mass_matrix(model, state[0]))
    for row, wanted in zip(forward(*state[:2], *inverse(*state)), state[2:], strict=True):
        assert error(row, wanted) < 1e-13 * lost


def test_wrong_numbers_of_rows_are_rejected():
    model = random_tree(4, 3)
    assert_rejected(
        (lambda: dyn.ForwardDynamicsSolver(model, 1)(*draw(model, 3)), "4 rows tau_dot), got 3"),
        (lambda: dyn.ForwardDynamicsSolver(model, 3), "order: expected 0, 1 or 2"),
    )
