# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Forward and hybrid dynamics (ABA) against the inverse dynamics and Pinocchio's ABA."""

import mpmath as mp
import numpy as np
import pinocchio as pin
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid, se3
from reference import DIGITS, dynamics, error, exact, worst
from rejections import assert_rejected
from robots import (
    aligned_model,
    draw,
    panda,
    random_tree,
    random_wrenches,
    singular_arm,
    to_pinocchio,
    with_multidof,
)


def digits_lost(model, q):
    return np.linalg.cond(dyn.mass_matrix(model, q)).max()


@pytest.mark.parametrize("seed", range(6))
def test_pinocchio_agrees(seed):
    model = random_tree(6, seed).with_reflected_inertia(np.full(6, 0.1))
    twin = to_pinocchio(model)
    data = twin.model.createData()
    for q, qd, tau in zip(*draw(model, 3, 5, seed=seed), strict=True):
        expected = twin.from_pin(pin.aba(twin.model, data, *map(twin.to_pin, (q, qd, tau))))
        qdd = dyn.forward_dynamics(model, q, qd, tau)
        assert error(qdd, expected) < 1e-14 * digits_lost(model, q)


def test_a_singular_mass_matrix_is_rejected_with_the_configuration():
    arm, zero = singular_arm(), np.zeros(2)
    dyn.forward_dynamics(arm, zero, zero, zero)
    with pytest.raises(dyn.DynamicsError, match=r"singular.*-1"):
        dyn.forward_dynamics(arm, [0.0, -1.0], zero, zero)


# Time derivatives


@pytest.mark.parametrize("seed", range(4))
def test_rates_of_the_torque_give_the_rates_of_the_acceleration(seed):
    """The torques of a motion, from first principles, give back its derivatives."""
    model = random_tree(5, seed).with_reflected_inertia(np.full(5, 0.2))
    state, W = draw(model, 5, seed=seed), np.random.default_rng(seed).normal(size=(3, 6))
    torques = dynamics(model, state, {2: W}).torques.astype(float)
    start, wrenches = state[:2], {"body3": W}
    lost = digits_lost(model, state[0])
    for order in (1, 2):
        found = rigid.forward_dynamics_rates(
            model, *start, *torques[: order + 1], wrenches=wrenches
        )
        assert (found.qdddd is None) == (order == 1)
        most = 1e-14 * lost * np.abs(torques).max()
        assert worst(found[: order + 1], state[2 : order + 3]) < most


@pytest.mark.parametrize("robot", [panda, with_multidof], ids=lambda robot: robot.__name__)
def test_rates_invert_those_of_the_inverse_dynamics(robot):
    model = robot()
    state = draw(model, 5, 3)
    tau = dyn.inverse_dynamics(model, *state)
    size = max(np.abs(row).max() for row in tau)
    found = rigid.forward_dynamics_rates(model, *state[:2], *tau)
    assert worst(found, state[2:]) < 1e-15 * size * digits_lost(model, state[0])


# Hybrid dynamics


@pytest.mark.parametrize("seed", range(8))
def test_any_set_of_prescribed_joints_gives_the_same_motion(seed):
    """None of them is forward dynamics, and all of them inverse dynamics."""
    model = random_tree(7, seed).with_reflected_inertia(np.full(7, 0.1))
    q, qd, qdd = draw(model, 3, 4, seed=seed)
    wrenches, base = random_wrenches(model, 4), dyn.BaseMotion(twist=[1, 2, 3, 4, 5, 6])
    tau = dyn.inverse_dynamics(model, q, qd, qdd, wrenches=wrenches, base=base).tau
    held = np.random.default_rng(seed).permutation(7)[:seed]
    is_held = np.isin(np.arange(7), held)
    names = [model.joint_names[k] if k % 2 else int(k) for k in held]
    found = dyn.hybrid_dynamics(
        model, q, qd, prescribed=names, wrenches=wrenches, base=base,
        qdd=np.where(is_held, qdd, np.nan), tau=np.where(is_held, np.nan, tau),
    )  # fmt: skip
    tolerance = 1e-14 * digits_lost(model, q) * np.abs(tau).max()
    assert np.abs(found.qdd - qdd).max() < tolerance
    assert np.abs(found.tau - tau).max() < tolerance * np.abs(tau).max()
    np.testing.assert_array_equal(found.qdd[:, is_held], qdd[:, is_held])
    np.testing.assert_array_equal(found.tau[:, ~is_held], tau[:, ~is_held])


def test_bad_hybrid_input_is_rejected_and_named():
    model, zero, unknown = random_tree(5, 5), np.zeros(5), np.full(5, np.nan)

    def hybrid(prescribed=("joint2",), qdd=zero, tau=zero):
        return lambda: dyn.hybrid_dynamics(
            model, zero, zero, prescribed=prescribed, qdd=qdd, tau=tau
        )

    assert_rejected(
        (hybrid(["nobody"]), "no joint 'nobody'"),
        (hybrid([5]), "below 5, got 5"),
        (hybrid("joint1"), "sequence of joints, got the string 'joint1'"),
        (hybrid(1), "sequence of joints, got 1"),
        (hybrid(qdd=unknown), "qdd[1] (joint 'joint2') is nan"),
        (hybrid(tau=unknown), "tau[0] (joint 'joint1') is nan"),
    )


# Moving base, generic scalars


def test_a_moving_base_acts_as_in_the_inverse_dynamics():
    model = random_tree(6, 8)
    rng = np.random.default_rng(9)
    state = draw(model, 5)
    base = dyn.BaseMotion(se3.exp(rng.normal(size=6)), *rng.normal(size=(4, 6)))
    tau = dyn.inverse_dynamics(model, *state, base=base)
    found = rigid.forward_dynamics_rates(model, *state[:2], *tau, base=base)
    assert worst(found, state[2:]) < 1e-12 * digits_lost(model, state[0])
    bases = dyn.BaseMotion(base.pose, acceleration=rng.normal(size=(3, 6)))
    tau = dyn.inverse_dynamics(model, *state[:3], base=bases).tau
    for row in dyn.forward_dynamics(model, *state[:2], tau, base=bases):
        assert error(row, state[2]) < 1e-12 * digits_lost(model, state[0])


def test_the_recursions_are_exact():
    """With 40-digit numbers, forward after inverse dynamics is the identity to 33 digits."""
    model = aligned_model(0)
    q, qd, qdd = exact(draw(model, 3, seed=0))
    choice = {"sin": mp.sin, "cos": mp.cos}
    (tau,) = dyn.generic_inverse_dynamics(model, q, qd, qdd, **choice)
    again = rigid.generic_forward_dynamics(model, q, qd, tau, **choice)
    assert error(again, qdd) < 10.0 ** (8 - DIGITS)
    floats = dyn.forward_dynamics(model, *(row.astype(float) for row in (q, qd, tau)))
    assert error(floats, qdd) < 1e-13 * digits_lost(model, q.astype(float))
    with pytest.raises(dyn.InputError, match="tau: expected 5 scalars, got 4"):
        rigid.generic_forward_dynamics(model, q, qd, tau[:-1])
