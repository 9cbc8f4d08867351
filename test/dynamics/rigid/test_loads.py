# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Loads and load cells against first principles."""

from functools import partial

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid, se3
from multibody_dynamics.dynamics.model import inertia
from reference import derivatives, dynamics, error, exact, inverse, motion, moved_by, series, times
from rejections import assert_rejected
from robots import random_inertia, random_state, random_tree

OFFSET = se3.exp(np.array([0.4, -0.2, 0.3, 0.1, 0.5, -0.6]))
BODY = 3


def with_flange(seed):
    """A tree with a link `flange` merged into one of its bodies."""
    plain = random_tree(6, seed)
    return dyn.model_from_screws(
        plain.parents, plain.screws, plain.poses, plain.inertias,
        gravity=plain.gravity, frames={"flange": dyn.model.Frame(BODY, OFFSET)},
    )  # fmt: skip


def exerted(model, state, load, base=None):
    """Minus the wrench that the load in the frame of BODY needs, with derivatives (k, 6)."""
    inertias = np.zeros((model.n, 6, 6))
    inertias[BODY] = load
    return -dynamics(model, state, base=base, inertias=inertias).needed[:, BODY]


def in_frame(pose, W):
    """Spatial wrenches (k, 6) in the axes of a moving frame about its origin."""
    back = inverse(pose)
    R, r = back[:, :3, :3], back[:, :3, 3]
    m, f = (times(R, series(W)[:, part, None])[:, :, 0] for part in (slice(3), slice(3, 6)))
    count = min(len(W), len(pose))
    lever = [sum(np.cross(r[j], f[k - j]) for j in range(k + 1)) for k in range(count)]
    return derivatives(np.concatenate([m[:count] + np.array(lever), f[:count]], axis=-1))


# Loads


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.sampled_from([BODY, "flange"]), st.booleans())
def test_a_load_follows_newton_and_euler(seed, body, displaced):
    model, rng = with_flange(seed), np.random.default_rng(seed)
    state, load = random_state(model, seed), random_inertia(rng)
    frame = se3.exp(rng.normal(size=6)) if displaced else None
    W = rigid.load_wrench(model, body, load, *state, frame=frame)
    place = model.frame(body).pose @ (np.eye(4) if frame is None else frame)
    assert error(W, exerted(model, state, inertia.transform(load, place))) < 1e-12


def test_a_load_on_a_robot_whose_base_moves():
    model, rng = with_flange(54), np.random.default_rng(55)
    state, load = random_state(model, 56), random_inertia(rng)
    base = dyn.BaseMotion(se3.exp(rng.normal(size=6)), *rng.normal(size=(4, 6)))
    moving = moved_by(base.pose, [base.twist, base.acceleration, base.jerk, base.jounce])
    W = rigid.load_wrench(model, "flange", load, *state, base=base)
    expected = exerted(model, state, inertia.transform(load, OFFSET), moving)
    assert error(W, expected) < 1e-12


# Load cells


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.sampled_from([BODY, "flange"]), st.booleans())
def test_a_load_cell_reads_everything_beyond_it(seed, cell, displaced):
    model, rng = with_flange(seed), np.random.default_rng(seed)
    state, load, push = random_state(model, seed), random_inertia(rng), rng.normal(size=(3, 6))
    frame = se3.exp(rng.normal(size=6)) if displaced else None
    reading = rigid.load_cell_reading(model, cell, load, *state, wrench=push, frame=frame)
    place = model.frame(cell).pose @ (np.eye(4) if frame is None else frame)
    total = exerted(model, state, inertia.transform(load, place)) + exact(push)
    pose = motion(model, state).poses[BODY] @ exact(place)
    assert error(reading, in_frame(pose, total)) < 1e-12


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1))
def test_joint_wrenches_against_first_principles(seed):
    model = random_tree(5, seed)
    state = random_state(model, seed)
    moving = motion(model, state)
    transmitted = dynamics(model, state, moving=moving).transmitted
    joints = rigid.joint_wrenches(model, *state)
    for i in range(model.n):
        assert error(joints[i], in_frame(moving.poses[i], transmitted[:, i])) < 1e-12


# Gravity, [M21] (23), (24) and the corrected (25)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_gravity_wrenches_from_first_principles(seed):
    model = random_tree(6, seed)
    rng = np.random.default_rng(seed)
    state, twists = rng.normal(size=(5, model.n)), rng.normal(size=(4, 6))
    pose = se3.exp(rng.normal(size=6))
    base = dyn.BaseMotion(pose, *twists)
    expected = dynamics(model, state, base=moved_by(pose, twists)).against_gravity
    result = rigid.gravity_wrenches(model, *state[:3], base=base)
    assert error(result, np.swapaxes(expected, 0, 1)) < 1e-12


# Shapes and errors


def test_the_result_has_as_many_rates_as_the_motion_determines():
    model = with_flange(71)
    state, load = random_state(model, 72), random_inertia(np.random.default_rng(73))
    functions = (
        lambda *rows: rigid.load_wrench(model, "flange", load, *rows),
        lambda *rows: rigid.load_cell_reading(model, "flange", load, *rows, wrench=np.ones((3, 6))),
        lambda *rows: np.moveaxis(rigid.joint_wrenches(model, *rows), 0, -1),
    )
    for function in functions:
        full = function(*state)
        for count in (1, 2):
            part = function(*state[: 2 + count])
            np.testing.assert_allclose(part, full[:count], rtol=1e-14, atol=1e-14)


def test_bad_arguments_are_named():
    model, load = with_flange(76), dyn.spatial_inertia(1.0, np.zeros(3), np.eye(3))
    rows, two = np.zeros((5, model.n)), np.zeros((2, model.n))
    wrench = partial(rigid.load_wrench, model)
    reading = partial(rigid.load_cell_reading, model)
    assert_rejected(
        (lambda: wrench("hand", load, *rows), "no body or frame 'hand'"),
        (lambda: reading("base", load, *rows), "'base' belongs to the base"),
        (lambda: wrench(0, 1.0, *rows), "load: shape (..., 6, 6)"),
        (lambda: wrench(0, -load, *rows), "load: the mass is -1 kg", dyn.ModelError),
        (lambda: wrench(0, load, *rows[:2], None), "qd and qdd"),
        (lambda: reading(0, load, *rows[:3], None, rows[4]), "qdddd was given without qddd"),
        (lambda: reading(0, load, *rows, wrench=np.zeros(5)), "wrench: (..., 6)"),
        (
            lambda: reading(0, load, two, *rows[1:], wrench=np.ones((4, 6))),
            "states (2,), wrench (4,)",
        ),
    )
