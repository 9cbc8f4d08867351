# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The description of closed mechanisms, and the errors in it."""

import numpy as np
import pytest

from mechanisms import AXIS, CHAINS, EYE, LOWER_PAIRS, POINT, five_bar, four_bar, move
from multibody_dynamics import dynamics as dyn
from robots import random_tree


@pytest.mark.parametrize("free", LOWER_PAIRS.values(), ids=LOWER_PAIRS)
def test_lower_pairs_are_groups(free):
    loop = dyn.mechanisms.LoopClosure("loop", "a", "b", free)
    assert loop.is_lower_pair
    assert loop.size == 6 - len(np.atleast_2d(free)) if len(free) else loop.size == 6


@pytest.mark.parametrize("free", CHAINS.values(), ids=CHAINS)
def test_other_joints_are_chains(free):
    assert not dyn.mechanisms.LoopClosure("loop", "a", "b", free).is_lower_pair


@pytest.mark.parametrize(
    ("free", "message"),
    [
        (np.stack([dyn.revolute(AXIS), 2 * dyn.revolute(AXIS)]), "dependent; give only 1"),
        (np.zeros(6), "dependent; give only 0"),
        (dyn.floating(), "at most five free screws, got 6"),
        (np.zeros((2, 5)), "expected shape"),
        (np.full(6, np.nan), "finite"),
        (None, "expected real numbers"),
    ],
)
def test_wrong_free_screws(free, message):
    with pytest.raises(dyn.ModelError, match=f"loop 'knee'.*{message}"):
        dyn.mechanisms.LoopClosure("knee", "a", "b", free)


def test_an_invalid_pose():
    with pytest.raises(dyn.ModelError, match=r"loop 'knee': .*second_pose"):
        dyn.mechanisms.LoopClosure("knee", "a", "b", second_pose=2 * EYE)
    with pytest.raises(dyn.ModelError, match="without a batch"):
        dyn.mechanisms.LoopClosure("knee", "a", "b", first_pose=np.stack([EYE, EYE]))


def test_a_loop_is_immutable_and_keeps_no_array_of_the_caller():
    pose = move((1, 0, 0))
    loop = dyn.mechanisms.LoopClosure("knee", "a", "b", dyn.revolute(AXIS), pose)
    pose[0, 3] = 7
    assert loop.first_pose[0, 3] == 1
    with pytest.raises(ValueError, match="read-only"):
        loop.free[0, 0] = 1
    with pytest.raises(AttributeError):
        loop.name = "elbow"


def test_at_closes_the_loop_at_q():
    tree = random_tree(6, 2)
    q = np.linspace(-1, 1, 6)
    loop = dyn.mechanisms.LoopClosure.at(tree, "l", "base", tree.body_names[5], point=POINT, q=q)
    frame = dyn.frame_pose(tree, q, tree.body_names[5]) @ loop.second_pose
    np.testing.assert_allclose(frame, move(POINT), atol=1e-15)
    np.testing.assert_allclose(loop.first_pose, move(POINT), atol=1e-15)


@pytest.mark.parametrize(
    ("constraints", "options", "message"),
    [
        ([], {}, "no constraints given; use the tree"),
        (
            [dyn.mechanisms.LoopClosure("k", "body1", "nowhere")],
            {},
            "loop 'k': no body or frame 'nowhere'",
        ),
        (
            [dyn.mechanisms.LoopClosure("k", 9, "base")],
            {},
            "loop 'k': body must be a name or an index",
        ),
        (
            [dyn.mechanisms.LoopClosure("k", "body2", 1)],
            {},
            "loop 'k': 'body2' and '1' are the same rigid body",
        ),
        (
            [dyn.mechanisms.LoopClosure("k", "base", "body3")] * 2,
            {},
            "duplicate constraint 'k'",
        ),
        (
            [dyn.mechanisms.LoopClosure("k", "base", "body3")],
            {"actuated": ["hip"]},
            "actuated: no joint",
        ),
        (
            [dyn.mechanisms.LoopClosure("k", "base", "body3")],
            {"actuated": ["joint1", "joint1"]},
            "duplicate joint 'joint1'",
        ),
        (
            dyn.mechanisms.LoopClosure("k", "base", "body3"),
            {},
            "constraints: expected a sequence of loops",
        ),
        (["k"], {}, "constraints: expected LoopClosure or ConstraintMatrix, got 'k'"),
        (
            [dyn.mechanisms.LoopClosure("k", "base", "body3")],
            {"actuated": "joint1"},
            "actuated: expected a sequence of joints, got the string 'joint1'",
        ),
    ],
)
def test_invalid_mechanisms(constraints, options, message):
    with pytest.raises(dyn.ModelError, match=message):
        dyn.mechanisms.ConstrainedModel(random_tree(3, 0), constraints, **options)


def test_wrong_sizes_of_a_matrix():
    def A(q):
        return np.zeros((2, 3))

    with pytest.raises(dyn.ModelError, match="constraint 'gear': size must be 1 or more"):
        dyn.mechanisms.ConstraintMatrix("gear", 0, A, A)
    with pytest.raises(dyn.ModelError, match="constraint 'gear': expected 2 row_names, got 1"):
        dyn.mechanisms.ConstraintMatrix("gear", 2, A, A, row_names=("one",))
    with pytest.raises(dyn.ModelError, match=r"constraint 'gear': A_dot must be a function of q"):
        dyn.mechanisms.ConstraintMatrix("gear", 1, A, np.eye(2))
    with pytest.raises(dyn.ModelError, match=r"constraint 'gear': f must be a function of q"):
        dyn.mechanisms.ConstraintMatrix("gear", 1, A, A, f=0.0)


def test_counting():
    system = five_bar("e", "a").system
    assert (system.n, system.m) == (5, 6)
    assert system.actuated == ("a", "e")
    assert system.passive == ("b", "c", "d")
    np.testing.assert_array_equal(system.passive_indices, [1, 2, 3])
    assert dyn.mechanisms.ConstrainedModel(system.tree, system.constraints).passive == ()
    by_index = dyn.mechanisms.ConstrainedModel(system.tree, system.constraints, [4, 0])
    assert by_index.actuated == ("a", "e")
    with pytest.raises(dyn.InputError, match="no joint 'hip'"):
        system.indices(["hip"])


def test_description():
    text = four_bar().system.describe()
    assert "3 joints, 5 constraints, 1 motors" in text
    assert "passive: coupler, rocker" in text
    assert "loop 'pin': 'coupler_bar' to 'rocker_bar', free screws: 1 (lower pair)" in text
