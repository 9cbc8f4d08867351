# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The gravity wrenches of [M21] (23), (24) and the corrected (25)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from reference import dynamics, error, moved_by
from robots import random_tree


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_wrenches_and_rates_from_first_principles(seed):
    model = random_tree(6, seed)
    rng = np.random.default_rng(seed)
    state, twists = rng.normal(size=(5, model.n)), rng.normal(size=(4, 6))
    pose = se3.exp(rng.normal(size=6))
    base = dyn.BaseMotion(pose, *twists)
    expected = dynamics(model, state, base=moved_by(pose, twists)).against_gravity
    result = dyn.rigid.gravity_wrenches(model, *state[:3], base=base)
    assert error(result, np.swapaxes(expected, 0, 1)) < 1e-12


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_they_are_the_contribution_of_gravity_to_the_torques(seed):
    """Torques and rates with gravity minus those without: sum of J_i^T W_i and its derivatives."""
    model = random_tree(6, seed)
    state = np.random.default_rng(seed).normal(size=(5, model.n))
    full = dyn.inverse_dynamics(model, *state)
    weightless = dyn.inverse_dynamics(model.with_gravity(np.zeros(3)), *state)
    W = dyn.rigid.gravity_wrenches(model, *state[:3])
    carried = W.copy()
    for i in reversed(range(model.n)):
        if model.parents[i] >= 0:
            carried[model.parents[i]] += carried[i]
    W0, W1, W2 = np.swapaxes(carried, 0, 1)
    motion = dyn.forward_kinematics(model, *state[:3])
    S = np.array([dyn.jacobian(model, state[0], i)[:, i] for i in range(model.n)])
    V = [motion.twist, motion.acceleration]
    ad = [se3.ad(x) for x in V]
    S1 = (ad[0] @ S[..., None])[..., 0]
    S2 = (ad[1] @ S[..., None] + ad[0] @ S1[..., None])[..., 0]
    gravity = (
        np.sum(S * W0, axis=1),
        np.sum(S * W1 + S1 * W0, axis=1),
        np.sum(S * W2 + 2 * S1 * W1 + S2 * W0, axis=1),
    )
    for with_it, without, part in zip(full, weightless, gravity, strict=True):
        assert np.abs(with_it - without - part).max() < 1e-12 * np.abs(with_it).max()


def test_applied_to_the_bodies_they_cancel_gravity():
    """Applied to the bodies with their rates, they remove gravity from all torques and rates."""
    model = random_tree(6, 1)
    state = np.random.default_rng(2).normal(size=(5, model.n))
    W = dyn.rigid.gravity_wrenches(model, *state[:3])
    held = dyn.inverse_dynamics(model, *state, wrenches=dict(zip(model.body_names, W, strict=True)))
    weightless = dyn.inverse_dynamics(model.with_gravity(np.zeros(3)), *state)
    for a, b in zip(held, weightless, strict=True):
        assert error(a, b) < 1e-12


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,)])
def test_batches_equal_single_results(shape):
    model = random_tree(6, 3)
    rows = np.random.default_rng(4).normal(size=(3, *shape, model.n))
    result = dyn.rigid.gravity_wrenches(model, *rows)
    assert result.shape == (*shape, model.n, 3, 6)
    for index in np.ndindex(shape):
        single = dyn.rigid.gravity_wrenches(model, *(row[index] for row in rows))
        assert error(result[index], single) < 1e-15


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("bad", [None, 0.0, np.full(5, np.nan), np.zeros(5) * 1j])
def test_bad_input_is_rejected(position, bad):
    model = random_tree(5, 5)
    rows = [np.zeros(5)] * 3
    rows[position] = bad
    with pytest.raises(dyn.InputError, match="q"):
        dyn.rigid.gravity_wrenches(model, *rows)
