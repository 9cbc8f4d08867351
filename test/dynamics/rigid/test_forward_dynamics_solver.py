# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The forward-dynamics solver for the control cycle."""

from multibody_dynamics import dynamics as dyn
from rejections import assert_rejected
from robots import draw, random_tree


def test_wrong_numbers_of_rows_are_rejected():
    model = random_tree(4, 3)
    assert_rejected(
        (lambda: dyn.ForwardDynamicsSolver(model, 1)(*draw(model, 3)), "4 rows tau_dot), got 3"),
        (lambda: dyn.ForwardDynamicsSolver(model, 3), "order: expected 0, 1 or 2"),
    )
