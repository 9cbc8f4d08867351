# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the user chose to study."""

import pytest

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.tools.study.conditions import GROUPS
from multibody_dynamics.tools.study.studied_laws import REFERENCE, STUDIED_LAWS
from multibody_dynamics.tools.study.study_settings import chosen_study
from robots import CONFIG

URDF = CONFIG / "robots" / "planar_two_link.urdf"
SPRINGS = CONFIG / "elastic_joints" / "planar_two_link.yaml"


def test_by_default_everything_is_studied():
    study = chosen_study()
    assert [robot.name for robot in study.robots] == ["panda", "six_joint_arm", "antagonistic"]
    assert study.stiffnesses == (0.5, 1.0, 5.0)
    assert len(study.laws) == len(STUDIED_LAWS)
    assert study.draws == 20
    assert study.groups == tuple(GROUPS)


def test_a_quick_study_is_small_and_can_be_extended():
    study = chosen_study(is_quick=True)
    assert [robot.name for robot in study.robots] == ["panda"]
    assert study.stiffnesses == (1.0,)
    assert study.draws == 2
    more = chosen_study(is_quick=True, robots=["antagonistic"], conditions=["hit"][:0], draws=3)
    assert [robot.name for robot in more.robots] == ["antagonistic"]
    assert more.draws == 3


def test_ones_own_robot_takes_the_place_of_the_built_in_ones():
    study = chosen_study(urdf=URDF, springs=SPRINGS, laws=["pd-full"])
    assert [robot.name for robot in study.robots] == ["planar_two_link"]
    assert [law.key for law in study.laws] == [REFERENCE, "pd-full"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"robots": ["r2d2"]}, "robot 'r2d2': expected all or some of panda, six_joint_arm"),
        ({"urdf": URDF}, "your own robot needs both"),
        ({"urdf": URDF, "springs": SPRINGS, "robots": ["panda"]}, "choose one of them"),
        ({"stiffnesses": [0.0]}, "--stiffness 0: must be from 0.01 to 100"),
        ({"stiffnesses": [1.0, 1.0]}, "--stiffness: 1 is given twice"),
        ({"seed": -1}, "--seed -1: must be zero or greater"),
        ({"laws": ["pid"]}, "law 'pid'"),
        ({"conditions": ["storm"]}, "conditions 'storm'"),
    ],
)
def test_wrong_choices_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        chosen_study(**options)
