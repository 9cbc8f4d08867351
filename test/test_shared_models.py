# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Reference robots of the shared data, read by this package and by Pinocchio."""

import json

import numpy as np
import pinocchio as pin
import pytest

from conftest import SHARED
from multibody_dynamics import dynamics as dyn
from panda_tables import HALF, PANDA_LINKS, PANDA_POSES, PANDA_SCREWS, PANDA_TABLE
from robots import panda

ROBOTS = sorted((SHARED / "cases").glob("*.urdf"))


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda file: file.stem)
def pair(request):
    return dyn.load_urdf(request.param), pin.buildModelFromUrdf(str(request.param))


def test_there_are_robots():
    assert len(ROBOTS) >= 4


def test_joint_order_is_that_of_the_reference():
    for file in ROBOTS:
        expected = np.load(file.with_suffix(".npz"))
        model = dyn.load_urdf(file)
        assert list(model.joint_names) == expected["joint_names"].tolist()
        assert model.parents.tolist() == expected["parent"].tolist()


def test_limits_are_those_of_pinocchio(pair):
    ours, other = pair
    for i, name in enumerate(ours.joint_names):
        joint = other.joints[other.getJointId(name)]
        if joint.nq == 1:
            assert ours.limits.lower[i] == other.lowerPositionLimit[joint.idx_q]
            assert ours.limits.upper[i] == other.upperPositionLimit[joint.idx_q]
        else:
            assert np.isinf([ours.limits.lower[i], ours.limits.upper[i]]).all()
        assert ours.limits.velocity[i] == other.velocityLimit[joint.idx_v]
        assert ours.limits.effort[i] == other.effortLimit[joint.idx_v]


def test_the_panda_has_the_published_numbers():
    published = json.loads((SHARED / "cases" / "panda.json").read_text())
    table = published["dh_modified_craig"]
    columns = zip(table["alpha_over_halfpi"], table["a"], table["d"], strict=True)
    assert [(alpha * HALF, a, d) for alpha, a, d in columns][:7] == PANDA_TABLE
    assert panda().frame("panda_link8").pose[2, 3] == table["d"][7]
    for i, (link, ours) in enumerate(zip(published["links_p_hat"], PANDA_LINKS, strict=True)):
        mass, com, entries = ours
        assert link["m"] == mass
        assert link["inertia_com_xx_xy_xz_yy_yz_zz"] == list(entries)
        free_or_corrected = {0: 2, 5: 2}.get(i)
        for k in range(3):
            if k != free_or_corrected:
                assert link["com"][k] == com[k]
    low, high = published["c6z_typo"]["implied_by_TableIII_interval"]
    assert low < PANDA_LINKS[5][1][2] < high
    paper = published["m21_panda"]
    assert [tuple(Y) for Y in paper["Y"]] == PANDA_SCREWS
    poses = zip(paper["A_rot_x_over_halfpi"], paper["A_translation"], strict=True)
    assert [(turns, tuple(p)) for turns, p in poses] == PANDA_POSES


def test_the_panda_differs_from_public_files_only_by_the_misprint():
    """panda7.urdf has the misprint and a hand; links 1 to 5 agree with the table."""
    public = dyn.load_urdf(SHARED / "cases" / "panda7.urdf")
    ours = panda()
    np.testing.assert_allclose(public.screws, ours.screws, atol=1e-9)
    different = np.abs(public.inertias - ours.inertias).max(axis=(1, 2)) > 1e-9
    assert different.tolist() == [False] * 5 + [True] * 2
