# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse dynamics (RNEA) with rates, in every representation, against first principles."""

from dataclasses import replace
from math import comb

import mpmath as mp
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.rigid import base_wrench
from reference import DIGITS, dynamics, error, exact, motion, moved_by, worst
from rejections import assert_rejected
from robots import (
    aligned_model,
    draw,
    panda,
    random_base,
    random_tree,
    random_wrenches,
    to_pinocchio,
    with_multidof,
)
from urdf_parts import joint, link, robot

SEEDS = st.integers(0, 2**32 - 1)
ROWS = ("q", "qd", "qdd", "qddd", "qdddd")


def mounted(robot, carrier):
    """One robot: `robot` mounted on the last body of `carrier`."""
    last = carrier.n - 1
    at_zero = carrier.poses[last]
    return dyn.model_from_screws(
        [*carrier.parents, *np.where(robot.parents < 0, last, robot.parents + carrier.n)],
        [*carrier.screws, *(se3.Ad(at_zero) @ robot.screws[..., None])[..., 0]],
        [*carrier.poses, *at_zero @ robot.poses],
        [*carrier.inertias, *robot.inertias],
        gravity=robot.gravity,
    )


def by_index(model, wrenches):
    return {model.body_index(body): W for body, W in wrenches.items()}


def series_of(base):
    return moved_by(base.pose, [base.twist, base.acceleration, base.jerk, base.jounce])


# First principles


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 7), st.sampled_from([1.0, 10.0]))
def test_torques_and_rates_from_first_principles(seed, n, speed):
    """Trees with all joint types, tilted gravity, rotors, wrenches with rates, a moving base."""
    rng = np.random.default_rng(seed)
    model = random_tree(n, seed, gravity=rng.normal(scale=9, size=3))
    model = model.with_reflected_inertia(rng.uniform(0, 2, n))
    state = draw(model, 5, seed=seed) * speed ** np.arange(5)[:, None]
    wrenches, base = random_wrenches(model, seed=seed), random_base(seed)
    expected = dynamics(model, state, by_index(model, wrenches), series_of(base)).torques
    for name in dyn.REPRESENTATIONS:
        choice = {"wrenches": wrenches, "base": base, "representation": name}
        for order in range(3):
            result = dyn.inverse_dynamics(model, *state[: order + 3], **choice)
            known = slice(order + 1)
            assert worst(result[known], expected[known]) < 1e-12, (name, order)


@pytest.mark.parametrize("robot", [panda, with_multidof], ids=lambda robot: robot.__name__)
@pytest.mark.parametrize("name", dyn.REPRESENTATIONS)
def test_robots_with_fixed_links_and_with_massless_bodies(robot, name):
    model = robot()
    state, wrenches = draw(model, 5), random_wrenches(model)
    result = dyn.inverse_dynamics(model, *state, wrenches=wrenches, representation=name)
    assert worst(result, dynamics(model, state, by_index(model, wrenches)).torques) < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_the_recursion_is_exact(seed):
    """With 40-digit numbers it agrees to 33 digits: not even a small term is missing."""
    model = aligned_model(seed).with_reflected_inertia([0, 1, 0.5, 0, 2])
    state, wrenches = draw(model, 5, seed=seed), random_wrenches(model)
    exactly = {body: exact(W) for body, W in wrenches.items()}
    expected = dynamics(model, state, by_index(model, wrenches)).torques
    over_exact_numbers = {"wrenches": exactly, "sin": mp.sin, "cos": mp.cos}
    for name in dyn.REPRESENTATIONS:
        for order in (0, 2):
            rows = exact(state)[: order + 3]
            choice = over_exact_numbers | {"representation": name}
            result = dyn.generic_inverse_dynamics(model, *rows, **choice)
            assert worst(result, expected[: order + 1]) < 10.0 ** (7 - DIGITS), (name, order)
        compiled = dyn.inverse_dynamics(model, *state, wrenches=wrenches, representation=name)
        assert worst(compiled, expected) < 1e-13


@pytest.mark.parametrize("seed", range(3))
def test_every_inertial_parameter_of_every_body_has_its_own_effect(seed):
    """Mass, first moments and the six moments of inertia, each against its particles."""
    model = random_tree(4, seed)
    state = draw(model, 5, seed=seed)
    name = ("spatial", "body", "hybrid")[seed]
    before = np.array(dyn.inverse_dynamics(model, *state, representation=name))
    moving = motion(model, state)
    for body in range(model.n):
        for k in range(10):
            change = np.zeros((model.n, 6, 6))
            change[body] = unit_inertia(k)
            changed = replace(model, link_inertias=model.link_inertias + change / 1024)
            after = dyn.inverse_dynamics(changed, *state, representation=name)
            difference = np.array(after) - before
            expected = dynamics(model, state, inertias=change / 1024, moving=moving).torques
            scale = np.abs(before).max(axis=1)
            assert (np.abs(difference - expected).max(axis=1) < 1e-13 * scale).all(), (body, k)
            if body == model.n - 1 and model.joint_types[body] != "prismatic":
                assert (np.abs(expected).max(axis=1) > 1e-9 * scale).all(), (body, k)


def unit_inertia(k):
    """The spatial inertia that is linear in parameter k: m, m c, I_xx I_xy I_xz I_yy I_yz I_zz."""
    M = np.zeros((6, 6))
    if k == 0:
        M[3:, 3:] = np.eye(3)
    elif k < 4:
        M[:3, 3:] = dyn.so3.hat(np.eye(3)[k - 1])
        M[3:, :3] = -M[:3, 3:]
    else:
        i, j = np.transpose(np.triu_indices(3))[k - 4]
        M[i, j] = M[j, i] = 1
    return M


# Other routes


@pytest.mark.parametrize("seed", range(8))
def test_pinocchio_agrees_on_the_torque(seed):
    model = random_tree(6, seed).with_reflected_inertia(np.full(6, 0.1))
    twin = to_pinocchio(model)
    data = twin.model.createData()
    for q, qd, qdd in np.swapaxes(draw(model, 5, 5, seed=seed)[:3], 0, 1):
        expected = twin.from_pin(pin.rnea(twin.model, data, *map(twin.to_pin, (q, qd, qdd))))
        assert error(dyn.inverse_dynamics(model, q, qd, qdd).tau, expected) < 1e-12


# Wrenches that the joints transmit, and a moving base


@settings(max_examples=10)
@given(SEEDS)
def test_every_body_is_in_balance(seed):
    """The wrenches of its joint and of the world, minus those passed on, move each body."""
    model = random_tree(6, seed)
    state, wrenches, base = draw(model, 5, seed=seed), random_wrenches(model), random_base(1)
    W = dyn.rigid.interbody_wrenches(model, *state, wrenches=wrenches, base=base)
    assert W.shape == (model.n, 3, 6)
    expected = dynamics(model, state, by_index(model, wrenches), series_of(base))
    assert error(W, np.swapaxes(expected.transmitted, 0, 1)) < 1e-12
    net = W.copy()
    for i, parent in enumerate(model.parents):
        if parent >= 0:
            net[parent] -= W[i]
    for body, applied in wrenches.items():
        net[model.body_index(body)] += applied
    size = np.abs(W).max(axis=(0, 2))[:, None]
    assert (np.abs(net - np.swapaxes(expected.needed, 0, 1)) < 1e-12 * size).all()
    reaction = W[model.parents < 0].sum(axis=0) + sum(wrenches.values())
    momentum_rate = expected.needed.sum(axis=1)
    assert (np.abs(reaction - momentum_rate) < 1e-12 * size).all()


@pytest.mark.parametrize("given", [3, 4, 5])
def test_transmitted_wrenches_have_as_many_rates_as_are_determined(given):
    model = random_tree(6, 2)
    state = draw(model, 5, 4)
    W = dyn.rigid.interbody_wrenches(model, *state[:given])
    assert W.shape == (4, model.n, given - 2, 6)
    full = dyn.rigid.interbody_wrenches(model, *state)
    assert error(W, full[..., : given - 2, :]) < 1e-15
    single = dyn.rigid.interbody_wrenches(model, *state[:given, 2])
    assert error(W[2], single) < 1e-15


@pytest.mark.parametrize("seed", range(3))
def test_a_wrench_on_the_hand_of_a_robot_on_a_moving_base(seed):
    robot, carrier = random_tree(6, seed), random_tree(3, seed + 50)
    whole = mounted(robot, carrier)
    state = draw(whole, 5, 4, seed=seed)
    own, hand = state[..., carrier.n :], robot.n - 1
    carried = dyn.forward_kinematics(carrier, *state[..., : carrier.n])
    base = dyn.BaseMotion(*(x[:, -1] for x in carried))
    in_hand = 5 * np.random.default_rng(seed).normal(size=(4, 3, 6))
    W = dyn.wrench_to_world(robot, *own[:3], hand, in_hand, base=base)
    result = dyn.inverse_dynamics(robot, *own, wrenches={robot.body_names[hand]: W}, base=base)
    hand += carrier.n
    W = dyn.wrench_to_world(whole, *state[:3], hand, in_hand)
    full = dyn.inverse_dynamics(whole, *state, wrenches={whole.body_names[hand]: W})
    assert worst(result, [part[..., carrier.n :] for part in full]) < 1e-12


# Batches and arguments


@pytest.mark.parametrize("given", [3, 4, 5])
def test_undetermined_results_are_none(given):
    model = random_tree(6, 8)
    state = draw(model, 5)
    full = dyn.inverse_dynamics(model, *state)
    result = dyn.inverse_dynamics(model, *state[:given])
    assert [part is None for part in result] == [k + 3 > given for k in range(3)]
    assert worst(result[: given - 2], full[: given - 2]) < 1e-15
    with pytest.raises(dyn.InputError, match="inverse dynamics needs qdd"):
        dyn.inverse_dynamics(model, *state[:2], None)


def test_integers_and_single_precision_are_accepted():
    model = random_tree(6, 12)
    whole = np.arange(5 * model.n).reshape(5, model.n) % 4
    expected = dyn.inverse_dynamics(model, *whole.astype(float))
    for kind in (np.int64, np.int8, np.float32):
        assert worst(dyn.inverse_dynamics(model, *whole.astype(kind)), expected) == 0
    assert worst(dyn.inverse_dynamics(model, *whole.tolist()), expected) == 0


# Generic scalars


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("name", dyn.REPRESENTATIONS)
def test_generic_over_arrays_is_a_batch(count, name):
    model = random_tree(6, 15)
    state = draw(model, 5, count)
    expected = dyn.inverse_dynamics(model, *state)
    columns = np.swapaxes(state, 1, 2)
    result = dyn.generic_inverse_dynamics(model, *columns, representation=name)
    assert result.shape == (3, model.n)
    for part, whole in zip(result, expected, strict=True):
        assert error(np.array(list(part)).T, whole) < 1e-13


@pytest.mark.parametrize("missing", ROWS[:4])
def test_generic_rejects_gaps(missing):
    model = random_tree(6, 16)
    rows = dict(zip(ROWS, draw(model, 5), strict=True)) | {missing: None}
    with pytest.raises(dyn.InputError, match=f"needs {missing}; given: .*qdddd"):
        dyn.generic_inverse_dynamics(model, **rows)


def test_generic_rejects_wrong_lengths_and_names():
    model = random_tree(6, 17)
    q, qd, qdd = rows = draw(model, 3)

    def pushed(**wrenches):
        return lambda: dyn.generic_inverse_dynamics(model, *rows, wrenches=wrenches)

    assert_rejected(
        (lambda: dyn.generic_inverse_dynamics(model, q, qd[:-1], qdd), "qd: expected"),
        (pushed(nobody=np.zeros((3, 6))), "nobody"),
        (pushed(body1=np.zeros((2, 6))), "body1']: 1 rows of 6"),
        (pushed(body1=np.zeros(6)), "body1']: 1 rows of 6"),
    )


def floating_tree(rotations):
    """A robot whose base is its first body, on three translations and three rotations, and the same
    robot with that body as the base."""
    tree, axes = random_tree(5, 3), np.eye(3)
    trunk = dyn.spatial_inertia(2.0, (0.1, -0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    free = [dyn.prismatic(axis) for axis in axes] + [dyn.revolute(axes[k]) for k in rotations]
    whole = dyn.model_from_screws(
        [-1, *(tree.parents + 1)],
        [np.stack(free), *tree.screws],
        [np.eye(4), *tree.poses],
        [trunk, *tree.inertias],
        gravity=tree.gravity,
    )
    return whole, replace(tree, base_inertia=trunk)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_the_wrench_on_a_floating_base_and_its_rates_are_the_forces_of_a_free_joint(first):
    """The first rotation of the joint turns about a fixed direction: Q = e . (m - p x f)."""
    whole, floating = floating_tree([first, (first + 1) % 3, (first + 2) % 3])
    state = draw(whole, 5, seed=4)
    motion = dyn.forward_kinematics(whole, *state)
    base = dyn.BaseMotion(*(part[5] for part in motion))
    expected, joints = dyn.inverse_dynamics(whole, *state), state[:, 6:]
    Q = dyn.inverse_dynamics(floating, *joints, base=base)
    W = base_wrench(floating, *joints, base=base)
    p = state[:, :3]
    for k in range(3):
        assert error(Q[k], expected[k][6:]) < 1e-12
        assert error(W[k, 3:], expected[k][:3]) < 1e-12
        lever = sum(comb(k, j) * np.cross(p[j], W[k - j, 3:]) for j in range(k + 1))
        assert abs((W[k, :3] - lever)[first] - expected[k][3]) < 1e-12 * np.abs(W[k]).max()
    for name in dyn.REPRESENTATIONS:
        solver = dyn.InverseDynamicsSolver(floating, name)
        solver.set_base(base)
        solver(*joints)
        axes = "body" if name == "mixed" else name
        seen = dyn.convert_twist(base.pose, [base.twist, base.acceleration], "spatial", axes)
        rows = dyn.convert_wrench(base.pose, seen, list(solver.base_wrench), axes, "spatial")
        assert error(np.array(rows), W) < 1e-12


def test_a_consistent_plan_leaves_no_wrench_on_the_base():
    _, floating = floating_tree([2, 1, 0])
    state, base, contacts = draw(floating, 5, 4), random_base(7, 4), random_wrenches(floating, 4)
    needed = base_wrench(floating, *state, wrenches=contacts, base=base)
    assert needed.shape == (4, 3, 6)
    held = contacts | {floating.base_name: needed}
    assert np.abs(base_wrench(floating, *state, wrenches=held, base=base)).max() == 0.0
    without_rates = base_wrench(floating, *state[:3], wrenches=contacts, base=base)
    np.testing.assert_allclose(without_rates, needed[:, :1], atol=1e-12)


def test_the_twist_of_a_floating_base_against_the_free_flyer_of_pinocchio():
    """Its velocity is linear first, in the axes of the base, and so is the force on it."""
    _, floating = floating_tree([2, 1, 0])
    q, qd, qdd = draw(floating, 3)
    base = random_base(5)
    trunk, flyer = pin.Model(), pin.JointModelFreeFlyer()
    root = trunk.addJoint(0, flyer, pin.SE3.Identity(), "root")
    inertia = pin.Inertia(2.0, np.array([0.1, -0.2, 0.3]), np.diag([0.3, 0.4, 0.5]))
    trunk.appendBodyToJoint(root, inertia, pin.SE3.Identity())
    frame = trunk.addFrame(pin.Frame("root", root, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    twin = to_pinocchio(floating)
    whole = pin.appendModel(trunk, twin.model, frame, pin.SE3.Identity())
    whole.gravity = twin.model.gravity
    twist, rate = dyn.convert_twist(base.pose, [base.twist, base.acceleration], "spatial", "body")
    place = pin.SE3ToXYZQUAT(pin.SE3(base.pose))
    rows = (np.roll(twist, 3), np.roll(rate, 3))
    v, a = (np.concatenate((top, twin.to_pin(x))) for top, x in zip(rows, (qd, qdd), strict=True))
    tau = pin.rnea(whole, whole.createData(), np.concatenate((place, twin.to_pin(q))), v, a)
    Q = dyn.inverse_dynamics(floating, q, qd, qdd, base=base).tau
    W = base_wrench(floating, q, qd, qdd, base=base)
    (force,) = dyn.convert_wrench(base.pose, [base.twist], [W[0]], "spatial", "body")
    assert error(Q, twin.from_pin(tau[6:])) < 1e-12
    assert error(np.roll(force, 3), tau[:6]) < 1e-12


FLOATING = robot(
    "r",
    link("world"),
    joint("root", "floating", "world", "trunk", "0.1 0.2 0.3", rpy="0.1 0.2 0.3"),
    link("trunk", 4.0, "0.05 0 0", "0.2 0.2 0.3 0 0.01"),
    link("leg", 1.5, "0 0.1 -0.2", "0.02 0.03 0.02 0.001"),
    joint("hip", "revolute", "trunk", "leg", "0.2 0 0.1", "0 1 0", limit="-1 1 3 20"),
)


def test_a_floating_joint_at_the_root_leaves_its_link_as_the_base():
    with pytest.warns(dyn.ModelWarning, match="the base 'trunk' is held fixed"):
        held = dyn.parse_urdf(FLOATING)
    free = dyn.parse_urdf(FLOATING, floating_base=True)
    assert (held.n, free.n) == (1, 7)
    state = np.array([[0.3], [0.5], [-0.7], [1.1], [-2.0]])
    W = base_wrench(held, *state)
    whole = np.zeros((5, 7))
    whole[:, -1:] = state
    expected = dyn.rigid.interbody_wrenches(free, *whole)[5]  # at the end of the free joint
    np.testing.assert_allclose(W, expected, rtol=1e-12, atol=1e-12)
