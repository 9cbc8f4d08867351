# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Gains of ESP and ESPi, joint by joint."""

import numpy as np

from elastic_arms import antagonistic_arm, linear_arm, mixed_panda
from multibody_dynamics.dynamics import control
from rejections import assert_rejected


def test_a_motor_without_its_spring_has_both_poles_at_the_bandwidth():
    model, actuators, rest = linear_arm()
    gains = control.esp_gains(model, actuators, rest, [30.0, 50.0])
    for i, w in enumerate((30.0, 50.0)):
        inertia = actuators.motor_inertia[i]
        poles = np.roots([inertia, gains.motor_damping[i], gains.motor_stiffness[i]])
        np.testing.assert_allclose(poles, -w, rtol=1e-6)


def test_the_damping_ratio_is_that_of_links_on_motors_without_inertia():
    model, actuators, rest = antagonistic_arm()
    gains = control.esp_gains(model, actuators, rest, 40.0, damping_ratio=0.5)
    m, K = (
        control.inertias_felt(model, actuators, rest),
        control.at_rest(model, actuators, rest).stiffness,
    )
    series = 1.0 / (1.0 / K + 1.0 / gains.motor_stiffness)
    np.testing.assert_allclose(gains.link_damping, np.sqrt(m * series))
    soft = control.esp_impedance_gains(model, actuators, rest, [90.0, 30.0], damping_ratio=0.5)
    np.testing.assert_allclose(soft.link_damping, np.sqrt(m * [90.0, 30.0]))
    assert not soft.motor_stiffness.any()


def test_rigid_joints_carry_their_links():
    model, actuators, rest = mixed_panda()
    gains, rigid = control.esp_gains(model, actuators, rest, 40.0), actuators.is_rigid
    felt = control.inertias_felt(model, actuators, rest)
    np.testing.assert_allclose(gains.motor_stiffness[rigid], 1600.0 * felt[rigid])
    assert not gains.link_damping[rigid].any()
    soft = control.esp_impedance_gains(model, actuators, rest)
    assert not soft.motor_damping[rigid].any()
    assert (soft.link_stiffness > 0.0).all()


def test_wrong_gains_name_the_joint():
    arm, made = linear_arm(), control.ElasticStructureGains
    names, rows = arm.actuators.joint_names, np.ones((3, 2))
    assert_rejected(
        (lambda: control.esp_gains(*arm, [40.0, -1.0]), "'elbow' bandwidth -1"),
        (lambda: control.esp_impedance_gains(*arm, [-5.0, 1.0]), "'shoulder' link_stiffness -5"),
        (lambda: made(names, *rows, [1.0, -2.0]), "'elbow' motor_damping -2"),
    )
