# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Forward kinematics against power series of products of exponentials, and on moving bases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.rigid.kinematics import base_rows
from reference import error, motion, moved_by, twists, worst
from rejections import assert_rejected
from robots import draw, random_base, random_tree

SEEDS = st.integers(0, 2**32 - 1)


def rates(base):
    return [base.twist, base.acceleration, base.jerk, base.jounce]


@settings(max_examples=20)
@given(SEEDS, st.sampled_from([1.0, 10.0]), st.booleans())
def test_poses_and_rates_from_first_principles(seed, size, on_moving_base):
    model = random_tree(6, seed)
    state = draw(model, 5, seed=seed) * size ** np.arange(5)[:, None]
    base = random_base(seed) if on_moving_base else None
    poses = motion(model, state, base and moved_by(base.pose, rates(base))).poses
    for representation in dyn.REPRESENTATIONS:
        result = dyn.forward_kinematics(model, *state, base=base, representation=representation)
        assert error(result.pose, np.array([C[0] for C in poses]), 2) < 1e-14
        expected = np.stack([twists(C, representation) for C in poses], axis=1)
        for order, rate in enumerate(result[1:]):
            assert error(rate, expected[order]) < 1e-12


@pytest.mark.parametrize("given", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_undetermined_results_are_none(given, representation):
    model = random_tree(6, 2)
    state = draw(model, 5)
    full = dyn.forward_kinematics(model, *state, representation=representation)
    result = dyn.forward_kinematics(model, *state[:given], representation=representation)
    for k, (part, whole) in enumerate(zip(result, full, strict=True)):
        assert (part is None) == (k >= given)
        if part is not None:
            assert error(part, whole, part.ndim - 1) < 1e-15


def test_frames_of_merged_links_payloads_and_the_base():
    offset = se3.exp(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
    plain = random_tree(6, 7)
    model = dyn.model_from_screws(
        plain.parents, plain.screws, plain.poses, plain.inertias,
        frames={"flange": dyn.model.Frame(2, offset), "socket": dyn.model.Frame(-1, offset)},
    ).with_payload("flange", 1.0, name="load")  # fmt: skip
    q = draw(model, 5, 2, 3)[0]
    poses = dyn.forward_kinematics(model, q).pose
    assert error(dyn.frame_pose(model, q, "flange"), poses[..., 2, :, :] @ offset, 2) < 1e-15
    assert error(dyn.frame_pose(model, q, "load"), poses[..., 2, :, :] @ offset, 2) < 1e-15
    assert error(dyn.frame_pose(model, q, 3), poses[..., 3, :, :], 2) < 1e-15
    assert error(dyn.frame_pose(model, q, "body4"), poses[..., 3, :, :], 2) < 1e-15
    for name, fixed in (("base", np.eye(4)), ("socket", offset)):
        still = dyn.frame_pose(model, q, name)
        np.testing.assert_array_equal(still, np.broadcast_to(fixed, (2, 3, 4, 4)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base": dyn.BaseMotion(pose=np.eye(3))}, "base.pose"),
        ({"base": dyn.BaseMotion(pose=np.diag([2.0, 1, 1, 1]))}, "base.pose.*not a rotation"),
        ({"base": dyn.BaseMotion(pose=np.diag([1.0, 1, 1, 2]))}, "base.pose.*last row"),
        ({"base": dyn.BaseMotion(pose=np.eye(4) + np.eye(4)[3:].T)}, "base.pose.*last row"),
        ({"base": dyn.BaseMotion(None, np.zeros((2, 6)), np.zeros((3, 6)))}, "acceleration"),
        ({"base": dyn.BaseMotion(twist=np.zeros((2, 6))), "q": np.zeros((3, 5))}, "states"),
    ],
)
def test_bad_input_is_rejected_and_named(change, message):
    model = random_tree(5, 8)
    arguments = dict(zip(("q", "qd", "qdd", "qddd", "qdddd"), np.zeros((5, 5)), strict=True))
    with pytest.raises(dyn.InputError, match=message):
        dyn.forward_kinematics(model, **(arguments | change))


def test_frames_move_with_the_pose_of_the_base():
    model, base = random_tree(6, 12), random_base(13, 2)
    q = draw(model, 5, 2)[0]
    for body in (*model.body_names, model.base_name):
        expected = base.pose @ dyn.frame_pose(model, q, body)
        assert error(dyn.frame_pose(model, q, body, base=base), expected, 2) < 1e-14


@pytest.mark.parametrize("gravity", [None, np.array([1.0, -2.0, -9.0])])
@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_no_base_motion_is_a_base_at_rest(representation, gravity):
    rest = dyn.BaseMotion(np.eye(4), *np.zeros((4, 6)))
    expected = base_rows(rest, representation, gravity)
    np.testing.assert_array_equal(base_rows(None, representation, gravity), expected)


def test_points_far_from_the_origin_stay_accurate():
    """A robot moved by 5 m in every direction, within the documented range of some metres."""
    model = random_tree(6, 11)
    place = se3.from_rotation_translation(np.eye(3), [5.0, -5.0, 5.0])
    state = draw(model, 5)
    near = dyn.forward_kinematics(model, *state, representation="body")
    base = dyn.BaseMotion(place)
    far = dyn.forward_kinematics(model, *state, base=base, representation="body")
    assert worst(far[1:], near[1:]) < 1e-12


def test_a_base_motion_is_immutable():
    given = [np.eye(4), *np.ones((4, 6))]
    base = dyn.BaseMotion(*given)
    for array in given:
        array += 1
    np.testing.assert_array_equal(base.pose, np.eye(4))
    for array in (base.pose, *rates(base)):
        assert not array.flags.writeable
    assert_rejected((lambda: dyn.BaseMotion(twist="fast"), "base.twist: expected real numbers"))
