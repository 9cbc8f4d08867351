# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The momentum pass as plain Python: dT/dq by complex steps, and momenta of the bodies."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.model import records
from multibody_dynamics.dynamics.recursions import momentum_pass
from multibody_dynamics.dynamics.rigid.energy import kinetic_energy, potential_energy
from robots import random_tree, with_rotors

STEP = 1e-30


def evaluated(model, q, qd):
    """p, beta and g, in the type of the numbers."""
    kind = np.result_type(q, qd)
    state = np.stack([q, qd]).astype(kind)
    angle = model.joint_rows[:, records.ANGULAR] * q
    bodies = np.zeros((model.n + 1, momentum_pass.MOMENTUM_ROW), dtype=kind)
    result = np.zeros((3, model.n), dtype=kind)
    trig = np.stack([np.sin(angle), np.cos(angle)])
    momentum_pass.momentum_recursion(
        model.parents, model.joint_rows, model.gravity, trig, state, bodies, result
    )
    return result


@pytest.mark.parametrize("seed", range(2))
def test_the_bias_is_the_gradient_of_the_potential_less_the_kinetic_energy(seed):
    model = with_rotors(random_tree(6, seed))
    q, qd = np.random.default_rng(seed).normal(size=(2, model.n))
    p, beta, g = evaluated(model, q, qd)
    assert 0.5 * p @ qd == pytest.approx(kinetic_energy(model, q, qd), rel=1e-13)
    for j in range(model.n):
        step = q.astype(complex)
        step[j] += 1j * STEP
        moved = evaluated(model, step, qd)
        slope = 0.5 * (moved[0] @ qd).imag / STEP
        assert g[j] - beta[j] == pytest.approx(slope, rel=1e-11, abs=1e-12 * np.abs(beta).max())
        ahead, behind = (potential_energy(model, q + h * np.eye(model.n)[j]) for h in (1e-6, -1e-6))
        assert g[j] == pytest.approx((ahead - behind) / 2e-6, abs=1e-6 * np.abs(g).max())


def test_the_base_carries_no_momentum():
    """Rows of the bodies beside the root do not leak into those of the base."""
    model = random_tree(5, 3)
    bodies = np.full((model.n + 1, momentum_pass.MOMENTUM_ROW), np.nan)
    q, qd = np.random.default_rng(1).normal(size=(2, model.n))
    result = np.zeros((3, model.n))
    angle = model.joint_rows[:, records.ANGULAR] * q
    momentum_pass.momentum_recursion(
        model.parents, model.joint_rows, model.gravity, np.stack([np.sin(angle), np.cos(angle)]),
        np.stack([q, qd]), bodies, result,
    )  # fmt: skip
    np.testing.assert_array_equal(result, evaluated(model, q, qd))
