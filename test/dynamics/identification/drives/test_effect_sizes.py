# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Effects of real drives are found in recordings of an arm that has them, and only there."""

import numpy as np
import pytest

from drive_runs import elastic_run, planar, real_planar, real_run, without
from multibody_dynamics import dynamics as dyn

idn = dyn.identification
STIFFNESS = [each.spring.K for each in real_planar()[1].actuators]


def identified(**effects):
    model, actuators = planar()
    return idn.identify_robot(model, [real_run(**effects)], actuators).robot


def stiffnesses(robot):
    return np.array([robot.springs[name]["stiffness"].value for name in robot.model.joint_names])


def test_hysteresis_is_found_with_its_width():
    width = 1.5
    robot = identified(width=width)
    np.testing.assert_allclose(stiffnesses(robot), STIFFNESS, rtol=0.02)
    for joint, actuator in zip(robot.model.joint_names, robot.actuators.actuators, strict=True):
        found = robot.springs[joint]["hysteresis_torque"]
        assert found.value == pytest.approx(width, rel=0.2)
        assert found.error < 0.1 * width
        assert sum(each.torque for each in actuator.hysteresis) == pytest.approx(found.value)
        assert actuator.damping == 0.0  # which would resemble it at one frequency


def test_kinematic_error_is_found_with_its_phase():
    size = 3e-4
    robot = identified(error=size)
    np.testing.assert_allclose(stiffnesses(robot), STIFFNESS, rtol=0.01)
    for actuator in robot.actuators.actuators:
        (harmonic,) = actuator.kinematic_error
        assert (harmonic.order, harmonic.of) == (2.0, "motor")
        assert harmonic.amplitude == pytest.approx(size, rel=0.1)
        assert harmonic.phase == pytest.approx(0.5, abs=0.1)


def test_backlash_is_found():
    gap = 2e-3
    robot = identified(gap=gap)
    np.testing.assert_allclose(stiffnesses(robot), STIFFNESS, rtol=0.01)
    assert robot.springs["elbow"]["backlash"].value == pytest.approx(gap, rel=0.2)
    assert robot.actuators.actuators[1].spring.gap == robot.springs["elbow"]["backlash"].value
    assert "backlash" not in robot.springs["shoulder"]  # gravity never lets it cross its gap


def test_presliding_is_found():
    """Bristles take the place of a velocity at which friction changes its sign."""
    robot = identified(coulomb=1.0, bristle=8e-4)
    for joint in robot.model.joint_names:
        found = robot.joints[joint]
        assert "coulomb_velocity" not in found
        assert found["coulomb"].value == pytest.approx(1.0, rel=0.05)
        assert found["presliding"].value == pytest.approx(8e-4, rel=0.1)


def test_what_friction_explains_is_not_left_to_springs_and_gears():
    """Before friction has bristles, part of it is taken for a kinematic error of the elbow."""
    robot = identified(width=0.5, coulomb=1.5, bristle=2e-4)
    np.testing.assert_allclose(stiffnesses(robot), STIFFNESS, rtol=0.005)
    assert not any("kinematic_error" in name for name in robot.springs["elbow"])
    for found in robot.springs.values():
        assert found["hysteresis_torque"].value == pytest.approx(0.5, rel=0.05)


def test_friction_by_load_is_no_gear_that_turns_its_joint_back():
    """A harmonic with a slope above 1 fits such a run best; no actuator can have it."""
    robot = identified(coulomb=0.5, bristle=1e-5, load=0.08)
    for actuator in robot.actuators.actuators:
        errors, ratio = actuator.kinematic_error, actuator.motor.gear_ratio
        assert sum(each.amplitude * each.order for each in errors) * ratio < 0.5
    np.testing.assert_allclose(stiffnesses(robot), STIFFNESS, rtol=0.05)


def test_an_effect_of_which_the_last_fit_leaves_nothing_is_not_found():
    robot = identified(
        seed=13, coulomb=2.701, bristle=5.218e-4, load=0.1012, gap=1.542e-3, noise=0.03192,
        duration=16.0,
    )  # fmt: skip
    assert all("backlash" not in values for values in robot.springs.values())


def test_nothing_is_found_where_there_is_nothing():
    model, actuators = planar()
    for run in (real_run(), without(elastic_run(), "sensor")):
        robot = idn.identify_robot(model, [run], actuators).robot
        for joint in model.joint_names:
            assert set(robot.springs[joint]) == {"stiffness", "damping"}
            assert "presliding" not in robot.joints[joint] | robot.motors[joint]
