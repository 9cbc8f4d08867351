"""Tables of Denavit-Hartenberg parameters against URDF, [M21] and their own definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.denavit_hartenberg import (
    DHRow,
    LinkInertia,
    model_from_dh,
)
from robots import panda

HALF = np.pi / 2
PANDA_TABLE = [
    (0, 0, 0.333), (-HALF, 0, 0), (HALF, 0, 0.316), (HALF, 0.0825, 0), (-HALF, -0.0825, 0.384),
    (HALF, 0, 0), (HALF, 0.088, 0),
]  # fmt: skip

# [M21] section VI; A_4 corrected: the paper prints 0 for its height.
PANDA_SCREWS = [
    (0, 0, 1, 0, 0, 0), (0, 1, 0, -0.333, 0, 0), (0, 0, 1, 0, 0, 0), (0, -1, 0, 0.649, 0, -0.0825),
    (0, 0, 1, 0, 0, 0), (0, -1, 0, 1.033, 0, 0), (0, 0, -1, 0, 0.088, 0),
]  # fmt: skip
PANDA_POSES = [
    (0, (0, 0, 0.333)), (-1, (0, 0, 0.333)), (0, (0, 0, 0.649)), (1, (0.0825, 0, 0.649)),
    (0, (0, 0, 1.033)), (1, (0, 0, 1.033)), (2, (0.088, 0, 1.033)),
]  # fmt: skip

# Gaz et al. 2019: mass, COM, inertia about it (xx, xy, xz, yy, yz, zz); z of link 1 is free.
PANDA_LINKS = [
    (4.970684, (0.003875, 0.002081, -0.04762),
     (0.70337, -0.000139, 0.006772, 0.70661, 0.019169, 0.009117)),
    (0.646926, (-0.003141, -0.02872, 0.003495),
     (0.007962, -0.003925, 0.010254, 0.02811, 0.000704, 0.025995)),
    (3.228604, (0.027518, 0.039252, -0.066502),
     (0.037242, -0.004761, -0.011396, 0.036155, -0.012805, 0.01083)),
    (3.587895, (-0.05317, 0.104419, 0.027454),
     (0.025853, 0.007796, -0.001332, 0.019552, 0.008641, 0.028323)),
    (1.225946, (-0.011953, 0.041065, -0.038437),
     (0.035549, -0.002117, -0.004037, 0.029474, 0.000229, 0.008627)),
    (1.666555, (0.060149, -0.014117, -0.01924),
     (0.001964, 0.000109, -0.001158, 0.004354, 0.000341, 0.005433)),
    (0.735522, (0.010517, -0.004252, 0.061597),
     (0.012516, -0.000428, -0.001196, 0.010027, -0.000741, 0.004815)),
]  # fmt: skip


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
    for a, b in zip(
        dyn.inverse_dynamics(ours, *state), dyn.inverse_dynamics(other, *state), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.abs(a).max())


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
def test_invalid_tables_are_refused(table, links, convention, word):
    with pytest.raises(dyn.DynamicsError, match=word):
        model_from_dh(table, links, convention=convention)
