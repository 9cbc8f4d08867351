# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The description of closed mechanisms, and the errors in it."""

import numpy as np
import pytest

from mechanisms import AXIS, CHAINS, EYE, LOWER_PAIRS, POINT, five_bar, four_bar, move
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.mechanisms import ConstrainedModel, ConstraintMatrix, LoopClosure
from rejections import assert_rejected
from robots import random_tree


@pytest.mark.parametrize("free", LOWER_PAIRS.values(), ids=LOWER_PAIRS)
def test_lower_pairs_are_groups(free):
    loop = LoopClosure("loop", "a", "b", free)
    assert loop.is_lower_pair
    assert loop.size == 6 - len(np.atleast_2d(free)) if len(free) else loop.size == 6


@pytest.mark.parametrize("free", CHAINS.values(), ids=CHAINS)
def test_other_joints_are_chains(free):
    assert not LoopClosure("loop", "a", "b", free).is_lower_pair


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
        LoopClosure("knee", "a", "b", free)


def test_an_invalid_pose():
    with pytest.raises(dyn.ModelError, match=r"loop 'knee': .*second_pose"):
        LoopClosure("knee", "a", "b", second_pose=2 * EYE)
    with pytest.raises(dyn.ModelError, match="without a batch"):
        LoopClosure("knee", "a", "b", first_pose=np.stack([EYE, EYE]))


def test_a_loop_is_immutable_and_keeps_no_array_of_the_caller():
    pose = move((1, 0, 0))
    loop = LoopClosure("knee", "a", "b", dyn.revolute(AXIS), pose)
    pose[0, 3] = 7
    assert loop.first_pose[0, 3] == 1
    with pytest.raises(ValueError, match="read-only"):
        loop.free[0, 0] = 1
    with pytest.raises(AttributeError):
        loop.name = "elbow"


def test_at_closes_the_loop_at_q():
    tree = random_tree(6, 2)
    q = np.linspace(-1, 1, 6)
    loop = LoopClosure.at(tree, "l", "base", tree.body_names[5], point=POINT, q=q)
    frame = dyn.frame_pose(tree, q, tree.body_names[5]) @ loop.second_pose
    np.testing.assert_allclose(frame, move(POINT), atol=1e-15)
    np.testing.assert_allclose(loop.first_pose, move(POINT), atol=1e-15)


def closed(*loops, **options):
    """A call that describes a tree with these loops, given by their names and bodies."""
    made = [LoopClosure(*loop) for loop in loops]
    return lambda: ConstrainedModel(random_tree(3, 0), made, **options)


def test_invalid_mechanisms():
    tree, k = random_tree(3, 0), ("k", "base", "body3")
    assert_rejected(
        (closed(), "no constraints given; use the tree"),
        (closed(("k", "body1", "nowhere")), "loop 'k': no body or frame 'nowhere'"),
        (closed(("k", 9, "base")), "loop 'k': body must be a name or an index"),
        (closed(("k", "body2", 1)), "loop 'k': 'body2' and '1' are the same rigid body"),
        (closed(k, k), "duplicate constraint 'k'"),
        (closed(k, actuated=["hip"]), "actuated: no joint"),
        (closed(k, actuated=["joint1", "joint1"]), "duplicate joint 'joint1'"),
        (closed(k, actuated="joint1"), "actuated: sequence of joints, string 'joint1'"),
        (lambda: ConstrainedModel(tree, LoopClosure(*k)), "constraints: sequence of loops"),
        (lambda: ConstrainedModel(tree, ["k"]), "LoopClosure or ConstraintMatrix, got 'k'"),
        error=dyn.ModelError,
    )


def test_wrong_sizes_of_a_matrix():
    def gear(size, A_dot=lambda q: np.zeros((2, 3)), **options):
        return lambda: ConstraintMatrix("gear", size, lambda q: np.eye(2), A_dot, **options)

    assert_rejected(
        (gear(0), "constraint 'gear': size must be 1 or more"),
        (gear(2, row_names=("one",)), "constraint 'gear': expected 2 row_names, got 1"),
        (gear(1, np.eye(2)), "constraint 'gear': A_dot must be a function of q"),
        (gear(1, f=0.0), "constraint 'gear': f must be a function of q"),
        error=dyn.ModelError,
    )


def test_counting():
    system = five_bar("e", "a").system
    assert (system.n, system.m) == (5, 6)
    assert system.actuated == ("a", "e")
    assert system.passive == ("b", "c", "d")
    np.testing.assert_array_equal(system.passive_indices, [1, 2, 3])
    assert ConstrainedModel(system.tree, system.constraints).passive == ()
    by_index = ConstrainedModel(system.tree, system.constraints, [4, 0])
    assert by_index.actuated == ("a", "e")
    with pytest.raises(dyn.InputError, match="no joint 'hip'"):
        system.indices(["hip"])


def test_description():
    text = four_bar().system.describe()
    assert "3 joints, 5 constraints, 1 motors" in text
    assert "passive: coupler, rocker" in text
    assert "loop 'pin': 'coupler_bar' to 'rocker_bar', free screws: 1 (lower pair)" in text
