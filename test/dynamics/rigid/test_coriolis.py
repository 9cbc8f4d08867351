# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The Coriolis matrix and M': first principles and Christoffel symbols."""

import mpmath as mp
import numpy as np
import pytest

import reference as ref
from multibody_dynamics import dynamics as dyn
from reference import error
from robots import draw, panda, random_tree, with_multidof

ROBOTS = [panda(), *(random_tree(7, seed) for seed in range(3)), with_multidof()]
EQUAL = 1e-13


def exact_mass_matrix(model, q):
    """M to 40 digits: the torques of unit accelerations."""
    free = model.with_gravity(np.zeros(3))
    units = np.eye(model.n)
    return np.array([ref.dynamics(free, [q, 0 * q, unit]).torques[0] for unit in units]).T


@pytest.mark.parametrize("model", [panda(), random_tree(6, 8)], ids=repr)
def test_rate_of_the_mass_matrix_from_first_principles(model):
    """A central difference with 40 digits; rotors make no difference."""
    q, qd = draw(model, 2)
    step = mp.mpf(10) ** -12
    ahead, behind = (exact_mass_matrix(model, ref.exact(q) + s * qd) for s in (step, -step))
    slope = ((ahead - behind) / (2 * step)).astype(float)
    model = model.with_reflected_inertia(np.ones(model.n))
    assert error(dyn.rigid.mass_matrix_dot(model, q, qd), slope, 2) < EQUAL
    C = dyn.coriolis_matrix(model, q, qd)
    assert error(C + C.T, slope, 2) < EQUAL


@pytest.mark.parametrize("model", ROBOTS, ids=repr)
def test_the_matrix_is_the_contraction_of_the_symbols(model):
    q, qd = draw(model, 2, 4)
    symbols = dyn.christoffel_symbols(model, q)
    contracted = (symbols @ qd[:, None, :, None])[..., 0]
    assert error(dyn.coriolis_matrix(model, q, qd), contracted, 2) < EQUAL
