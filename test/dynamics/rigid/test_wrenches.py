# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Wrenches with rates from body frames to the inertial frame, and their errors."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.rigid.wrenches import wrench_rows
from reference import derivatives, error, exact, motion, moved_by, series, times
from rejections import assert_rejected
from robots import random_tree

OFFSET = se3.exp(np.array([0.4, -0.2, 0.3, 0.1, 0.5, -0.6]))


def with_tool(seed):
    plain = random_tree(5, seed)
    return dyn.model_from_screws(
        plain.parents, plain.screws, plain.poses, plain.inertias,
        gravity=plain.gravity, frames={"tool": dyn.model.Frame(2, OFFSET)},
    )  # fmt: skip


def by_hand(pose, wrench):
    """f^s = R f, m^s = R m + r x R f, as products of power series."""
    R, r = pose[:, :3, :3], pose[:, :3, 3]
    W = series(wrench)[:, :, None]
    moment, force = (times(R[:3], W[:, part])[:, :, 0] for part in (slice(3), slice(3, 6)))
    lever = np.array([sum(np.cross(r[j], force[k - j]) for j in range(k + 1)) for k in range(3)])
    return derivatives(np.concatenate([moment + lever, force], axis=-1))


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 2, "tool"]))
def test_rates_are_those_of_the_moving_frame(seed, body):
    model = with_tool(seed)
    rng = np.random.default_rng(seed)
    state, W = rng.normal(size=(3, model.n)), rng.normal(size=(3, 6))
    pose = motion(model, state).poses[model.body_index(body)]
    pose = pose @ exact(OFFSET) if body == "tool" else pose
    assert error(dyn.wrench_to_world(model, *state, body, W), by_hand(pose, W)) < 1e-12


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 2, "tool"]))
def test_a_contact_has_a_frame_of_its_own(seed, body):
    """A wrench in a frame on the body equals one in the frame of a link at the same place."""
    model = with_tool(seed)
    rng = np.random.default_rng(seed)
    state, W, contact = (
        rng.normal(size=(3, model.n)),
        rng.normal(size=(3, 6)),
        se3.exp(rng.normal(size=6)),
    )
    pose = motion(model, state).poses[model.body_index(body)] @ exact(model.frame(body).pose)
    result = dyn.wrench_to_world(model, *state, body, W, frame=contact)
    assert error(result, by_hand(pose @ exact(contact), W)) < 1e-12


def test_contacts_in_a_batch():
    """A foot with four corners: all contacts at once."""
    model = with_tool(14)
    rng = np.random.default_rng(15)
    state, W = rng.normal(size=(3, 5, 1, model.n)), rng.normal(size=(4, 3, 6))
    corners = se3.exp(rng.normal(size=(4, 6)))
    result = dyn.wrench_to_world(model, *state, "tool", W, frame=corners)
    assert result.shape == (5, 4, 3, 6)
    for i, k in np.ndindex(5, 4):
        single = dyn.wrench_to_world(model, *state[:, i, 0], "tool", W[k], frame=corners[k])
        assert error(result[i, k], single) < 1e-15


def test_invalid_frames_and_wrenches_are_rejected():
    model = with_tool(16)
    zero, two, W = np.zeros(model.n), np.zeros((2, model.n)), np.zeros(6)
    uneven = {"tool": np.zeros((2, 6)), "body1": np.zeros((4, 6))}

    def moved(q=zero, body=0, wrench=W, **frame):
        return lambda: dyn.wrench_to_world(model, q, zero, zero, body, wrench, **frame)

    assert_rejected(
        (moved(frame=np.zeros((4, 4))), "frame rotation matrix"),
        (moved(frame=np.zeros(3)), "frame: shape"),
        (moved(two, frame=[np.eye(4)] * 3), "states (2,), frame (3,)"),
        (moved(body="base"), "base"),
        (moved(np.zeros((3, model.n)), "tool", np.zeros((2, 6))), "W"),
        (
            lambda: dyn.inverse_dynamics(model, zero, zero, zero, wrenches=uneven),
            "tool (2,), body1 (4,)",
        ),
    )


def test_a_wrench_at_rest_in_the_hand_moves_in_the_world():
    model = with_tool(1)
    rng = np.random.default_rng(2)
    state, W = rng.normal(size=(3, model.n)), rng.normal(size=6)
    alone = dyn.wrench_to_world(model, *state, "tool", W)
    full = dyn.wrench_to_world(model, *state, "tool", [W, np.zeros(6), np.zeros(6)])
    np.testing.assert_array_equal(alone, full)
    assert np.abs(alone[1:]).max() > 0.1


def test_a_base_that_moves_carries_the_wrench_with_it():
    """On a robot at rest on a moving base, the wrench moves with the base."""
    model = with_tool(3)
    rng = np.random.default_rng(4)
    q, zero, W = rng.normal(size=model.n), np.zeros(model.n), rng.normal(size=(3, 6))
    base = dyn.BaseMotion(se3.exp(rng.normal(size=6)), *rng.normal(size=(2, 6)))
    result = dyn.wrench_to_world(model, q, zero, zero, "tool", W, base=base)
    pose = moved_by(base.pose, [base.twist, base.acceleration])
    pose = pose @ exact(dyn.frame_pose(model, q, "tool"))
    assert error(result, by_hand(pose, W)) < 1e-12


def test_wrenches_on_frames_of_one_body_add_up():
    model = with_tool(7)
    a, b = np.random.default_rng(8).normal(size=(2, 3, 6))
    rows = wrench_rows(model, {"tool": a, "body3": b, "body1": a[0]})
    assert rows.shape == (model.n, 18)
    np.testing.assert_array_equal(rows[2], (a + b).ravel())
    np.testing.assert_array_equal(rows[0], [*a[0], *np.zeros(12)])
    assert not rows[[1, 3, 4]].any()


def test_wrenches_broadcast():
    model = with_tool(9)
    assert wrench_rows(model, None).shape == (model.n, 18)
    rows = wrench_rows(model, {"tool": np.ones((4, 1, 6)), "body1": np.ones((5, 3, 6))})
    assert rows.shape == (4, 5, model.n, 18)
