# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tables of Denavit-Hartenberg parameters against URDF, [M21] and their own definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.denavit_hartenberg import DHRow, LinkInertia, model_from_dh
from panda_tables import HALF, PANDA_LINKS, PANDA_POSES, PANDA_SCREWS, PANDA_TABLE
from reference import worst
from robots import panda


def symmetric(xx, xy, xz, yy, yz, zz):
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


PANDA_INERTIAS = [LinkInertia(m, com, symmetric(*entries)) for m, com, entries in PANDA_LINKS]


def panda_from_dh():
    return model_from_dh(PANDA_TABLE, PANDA_INERTIAS, convention="modified")


def panda_from_screws():
    poses = [
        dyn.se3.from_rotation_translation(Rotation.from_euler("x", k * HALF).as_matrix(), p)
        for k, p in PANDA_POSES
    ]
    return dyn.model_from_screws(
        range(-1, 6), PANDA_SCREWS, poses, [dyn.spatial_inertia(*link) for link in PANDA_INERTIAS]
    )


@pytest.mark.parametrize("build", [panda_from_dh, panda_from_screws])
def test_urdf_dh_and_screws_give_the_same_panda(build):
    ours, other = panda(), build()
    np.testing.assert_allclose(other.screws, ours.screws, atol=1e-12)
    np.testing.assert_allclose(other.poses, ours.poses, atol=1e-12)
    np.testing.assert_allclose(other.inertias, ours.inertias, atol=1e-12)
    state = np.random.default_rng(1).uniform(-2, 2, (5, 7))
    found = dyn.inverse_dynamics(other, *state)
    assert worst(found, dyn.inverse_dynamics(ours, *state)) < 1e-12


def test_the_panda_does_not_follow_the_standard_convention():
    """[M21] (5) with the paper's table would put frame 7 elsewhere than the paper's A_7."""
    other = model_from_dh(PANDA_TABLE, PANDA_INERTIAS, convention="standard")
    assert np.abs(other.poses[6, :3, 3] - (0.088, -0.068, 0.333)).max() < 1e-12
    assert np.abs(other.poses[6] - panda().poses[6]).max() > 0.5


def about(axis, angle, distance):
    shift = distance * np.eye(3)["xyz".index(axis)]
    R = Rotation.from_euler(axis, angle).as_matrix()
    return dyn.se3.from_rotation_translation(R, shift)


numbers = st.floats(-2, 2)
kinds = st.sampled_from(["revolute", "prismatic"])
rows = st.lists(st.builds(DHRow, *[numbers] * 4, kinds), min_size=1, max_size=5)
BODY = (1.0, (0.1, 0.2, 0.3), np.diag((0.2, 0.25, 0.3)))


@settings(max_examples=40)
@given(table=rows, convention=st.sampled_from(["standard", "modified"]), data=st.data())
def test_frames_move_according_to_the_table(table, convention, data):
    """The product of exponentials equals the product of the four elementary motions at q."""
    base = about("y", 0.4, 0.3) @ about("x", -1.1, 0.7)
    model = model_from_dh(table, [BODY] * len(table), convention=convention, base=base)
    q = [data.draw(numbers) for _ in table]
    C = base
    actual = dyn.forward_kinematics(model, q).pose
    for i, (row, value) in enumerate(zip(table, q, strict=True)):
        turned, shifted = (value, 0) if row.joint == "revolute" else (0, value)
        along_z = about("z", row.theta + turned, row.d + shifted)
        along_x = about("x", row.alpha, row.a)
        C = C @ along_z @ along_x if convention == "standard" else C @ along_x @ along_z
        np.testing.assert_allclose(actual[i], C, atol=1e-13)
    assert model.joint_types == tuple(row.joint for row in table)


def test_options_are_passed_to_the_model():
    model = model_from_dh(
        PANDA_TABLE[:1], PANDA_INERTIAS[:1], convention="modified",
        joint_names=("j",), gravity=(1, 2, 3), name="one", reflected_inertia=[0.5],
    )  # fmt: skip
    assert (model.name, model.joint_names, model.reflected_inertia[0]) == ("one", ("j",), 0.5)
    assert model.gravity.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("table", "links", "convention", "word"),
    [
        (PANDA_TABLE, PANDA_INERTIAS, "craig", "'craig'.*'standard'.*'modified'"),
        (PANDA_TABLE, PANDA_INERTIAS[:6], "modified", "7 rows.*6 links"),
        ([(0, 0)], [BODY], "modified", "row 1.*alpha"),
        ([(0, 0, 0, 0, "hinge")], [BODY], "modified", "row 1.*'hinge'"),
        ([(0, np.nan, 0)], [BODY], "modified", "row 1: alpha, a"),
        ([(0, 0, 0), (0, 0, "x")], [BODY] * 2, "modified", "row 2: theta, d"),
        ([(0, 0, 0)], [BODY[:2]], "modified", "link 1.*inertia_com"),
        ([(0, 0, 0)], [(1, (0, 0), np.eye(3))], "modified", "link 1.*com"),
        ([], [], "modified", "no moving joint"),
    ],
)
def test_invalid_tables_are_rejected(table, links, convention, word):
    with pytest.raises(dyn.DynamicsError, match=word):
        model_from_dh(table, links, convention=convention)
