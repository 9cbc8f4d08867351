# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robots of the study."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.control import MotionLimits, scale_time
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.simulation import PLANTS
from multibody_dynamics.tools.study.studied_robots import (
    STIFFNESSES,
    built_in_robots,
    load_arm,
    motion_rows,
    own_robot,
)
from robots import CONFIG
from study_arms import two_links


@pytest.mark.parametrize("name", ["panda", "six_joint_arm", "antagonistic"])
def test_the_motion_is_fast_and_within_the_limits_at_every_stiffness(name):
    source = built_in_robots()[name]
    for factor in STIFFNESSES:
        arm = load_arm(source, factor)
        limits = MotionLimits.of_robot(arm.model, arm.actuators)
        scaling = scale_time(arm.motion, arm.model, arm.actuators, limits, stiffness=arm.outputs)
        assert scaling.factor == 1.0
        assert max(each.utilisation for each in scaling.before) > 0.6


def test_the_robots_have_seven_six_and_two_joints_and_one_of_variable_stiffness():
    arms = {name: load_arm(source) for name, source in built_in_robots().items()}
    assert [arm.model.n for arm in arms.values()] == [7, 6, 2]
    assert [len(arm.outputs) for arm in arms.values()] == [0, 0, 1]
    assert arms["panda"].payload == 2.0
    assert arms["panda"].hit == 100.0


def test_a_second_output_follows_the_stiffness_of_the_springs():
    source = built_in_robots()["antagonistic"]
    assert load_arm(source, 5.0).outputs == pytest.approx(5.0 * load_arm(source).outputs)


@pytest.mark.parametrize("plant", PLANTS)
def test_a_stiffer_arm_sags_less(plant):
    source = built_in_robots()["six_joint_arm"]
    sag = []
    for factor in (1.0, 5.0):
        arm = load_arm(source, factor)
        robot = arm.plant(plant)
        robot.reset(arm.start)
        sag.append(np.abs(robot.theta - robot.q).max())
    assert sag[0] == pytest.approx(5.0 * sag[1], rel=1e-6)


def test_ones_own_robot_gets_a_motion_within_its_limits():
    urdf = CONFIG / "robots" / "planar_two_link.urdf"
    source = own_robot(urdf, CONFIG / "elastic_joints" / "planar_two_link.yaml")
    arm = load_arm(source)
    assert arm.source.name == "planar_two_link"
    lower, upper = arm.model.limits.lower, arm.model.limits.upper
    q = arm.motion.sample(np.linspace(0.0, arm.motion.end_time, 200))
    assert ((lower < q[:, 0]) & (q[:, 0] < upper)).all()
    for factor in STIFFNESSES:
        stiff = load_arm(source, factor)
        limits = MotionLimits.of_robot(stiff.model, stiff.actuators)
        assert scale_time(stiff.motion, stiff.model, stiff.actuators, limits).factor < 1.0 + 1e-5
    mass = arm.model.inertias[:, 5, 5].sum()
    assert arm.payload == pytest.approx(mass / 9.0)


def test_rows_are_the_motion_at_the_given_times():
    arm = two_links()
    rows = motion_rows(arm, 2.0, 0.1, 0.01, 3)
    assert np.array_equal(rows[1], arm.slower(2.0)(0.11))
    assert np.allclose(rows[1, 0], arm.motion(0.055)[0])
    assert np.allclose(4.0 * rows[1, 2], arm.motion(0.055)[2])
    with pytest.raises(ValueError, match="read-only"):
        rows[0] = 0.0


def test_wrong_files_are_refused(tmp_path):
    springs = CONFIG / "elastic_joints" / "planar_two_link.yaml"
    with pytest.raises(InputError, match=r"nowhere\.urdf: no such file"):
        own_robot(tmp_path / "nowhere.urdf", springs)
    rigid = tmp_path / "rigid.yaml"
    rigid.write_text(
        "joints:\n  shoulder: &a {spring: rigid, motor: {gear_ratio: 1.0, inertia: "
        "{value: 0.1, unit: kg m^2, side: link}}}\n  elbow: *a\n"
    )
    with pytest.raises(InputError, match="no joint of 'planar_two_link' has a spring"):
        load_arm(own_robot(CONFIG / "robots" / "planar_two_link.urdf", rigid))
