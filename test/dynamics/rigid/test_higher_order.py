# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse dynamics of any order against power series of the motion."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid
from reference import dynamics, error, motion, twists
from rejections import assert_rejected
from robots import random_tree

SEEDS = st.integers(0, 2**32 - 1)


def motion_of(model, order, *batch, seed=1):
    return np.random.default_rng(seed).normal(size=(*batch, order + 3, model.n))


@settings(max_examples=8)
@given(SEEDS)
def test_order_six_from_first_principles(seed):
    """Q ... Q^(6) from q ... q^(8), with wrenches, rotors and tilted gravity."""
    rng = np.random.default_rng(seed)
    model = random_tree(4, seed, gravity=rng.normal(scale=9, size=3))
    model = model.with_reflected_inertia(rng.uniform(0, 2, 4))
    state, W = motion_of(model, 6, seed=seed), rng.normal(size=(7, 6))
    expected = dynamics(model, state, {2: W}).torques
    result = rigid.higher_order_inverse_dynamics(model, state, wrenches={"body3": W})
    assert result.shape == (7, 4)
    assert error(result, expected) < 1e-12
    over_floats = rigid.generic_higher_order_inverse_dynamics(model, state, wrenches={"body3": W})
    assert error(over_floats.astype(float), expected) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_twists_of_any_order(seed):
    model = random_tree(5, seed)
    state = motion_of(model, 4, seed=seed)
    result = rigid.higher_order_kinematics(model, state)
    assert result.shape == (model.n, 6, 6)
    expected = np.stack([twists(C) for C in motion(model, state).poses])
    assert error(result, expected) < 1e-12
    fourth = dyn.forward_kinematics(model, *state[:5])
    for k, part in enumerate(fourth[1:]):
        assert error(result[:, k], part) < 1e-13
    assert rigid.higher_order_kinematics(model, state[:2]).shape == (model.n, 1, 6)


def test_batches_and_lower_orders_agree_with_the_whole():
    model = random_tree(4, 5)
    state = motion_of(model, 3, 2, 3)
    W = np.random.default_rng(6).normal(size=(3, 2, 6))  # fewer rates than the order
    whole = rigid.higher_order_inverse_dynamics(model, state, wrenches={"body2": W})
    assert whole.shape == (2, 3, 4, model.n)
    for i, j in np.ndindex(2, 3):
        for order in range(4):
            part = rigid.higher_order_inverse_dynamics(
                model, state[i, j, : order + 3], wrenches={"body2": W[j]}
            )
            assert error(part, whole[i, j, : order + 1]) < 1e-13
    assert rigid.higher_order_inverse_dynamics(model, np.zeros((0, 3, 4))).shape == (0, 1, 4)


def test_bad_input_is_rejected_and_named():
    higher, generic = (
        partial(function, random_tree(4, 7))
        for function in (
            rigid.higher_order_inverse_dynamics, rigid.generic_higher_order_inverse_dynamics
        )
    )  # fmt: skip
    three, six = np.zeros((3, 4)), np.zeros(6)
    assert_rejected(
        (lambda: higher(three[:2]), "expected (..., 3 or more, 4)"),
        (lambda: higher(three[0]), "derivatives"),
        (lambda: higher(np.zeros((3, 5))), "derivatives: expected shape"),
        (lambda: higher(three + np.nan), "(joint 'joint1') is nan"),
        (lambda: higher(three, wrenches={"nobody": six[None]}), "no body or frame 'nobody'"),
        (lambda: higher(three, wrenches={"body1": six}), "body1']: expected (..., j, 6)"),
        (lambda: higher([three] * 2, wrenches={"body1": np.ones((3, 1, 6))}), "batch dimensions"),
        (lambda: generic(np.zeros((3, 5))), "derivatives: expected (3 or more, 4) scalars"),
        (lambda: generic(three, wrenches={"body1": six}), "expected (j, 6) scalars, got (6,)"),
    )
