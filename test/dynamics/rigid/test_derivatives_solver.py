# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The solvers for the derivatives equal the functions and reuse their memory."""

from multibody_dynamics import dynamics as dyn
from reference import error
from robots import draw, random_tree


def test_the_solver_also_gives_the_accelerations():
    model = random_tree(6, 3)
    solver = dyn.rigid.ForwardDynamicsDerivativesSolver(model)
    rows = draw(model, 3)
    solver(*rows)
    assert error(solver.qdd, dyn.forward_dynamics(model, *rows)) < 1e-14
