# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Damped stop and hold from motor states alone, on moving arms of every kind."""

from dataclasses import replace

import numpy as np
import pytest

import elastic_arms as arms
from multibody_dynamics.dynamics.control.controllers.hold_controller import HoldController
from multibody_dynamics.dynamics.control.gains.joint_gains import (
    at_rest,
    damping_gains,
    motor_side_gains,
)
from multibody_dynamics.dynamics.elastic.friction_law import Friction
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from rejections import assert_rejected

ALL = [
    arms.linear_arm, arms.nonlinear_arm, arms.antagonistic_arm, arms.variable_arm,
    arms.elastic_panda, arms.mixed_panda, *arms.OTHER_ARMS,
]  # fmt: skip


def holding(arm: arms.Arm, **keywords) -> HoldController:
    return HoldController(arm.model, arm.actuators, damping_gains(*arm), **keywords)


@pytest.mark.parametrize("arm", ALL)
def test_an_arm_in_motion_comes_to_rest_and_stays(arm):
    """Without link states, and with the torque always within its limits."""
    arm = arm()
    limit = 3.0 * np.abs(at_rest_load(arm)).max() + 20.0
    law = holding(arm, torque_limit=limit)
    plant = arms.in_motion(arm, 0.6)
    second = at_rest(*arm).second
    start, speed = plant.state[0].copy(), np.abs(plant.state[1]).max()
    positions = []
    for _ in range(1500):
        _, _, theta, thetad = plant.state
        torque = law.update(None, None, None, theta, thetad, stiffness=second)
        assert (np.abs(torque) <= limit).all()
        plant.step(torque, 1e-3)
        positions.append(plant.state[0].copy())
    assert speed > 0.3
    q, qd, _, thetad = plant.state
    assert np.abs(qd).max() < 0.02 * speed
    assert np.abs(thetad).max() < 0.02 * speed
    assert np.abs(q - start).max() < 0.4 * speed
    assert np.abs(law.q - q).max() < 5e-3  # its estimate of the link positions
    assert np.abs(positions[-1] - positions[-200]).max() < 5e-3


def at_rest_load(arm: arms.Arm) -> np.ndarray:
    rest, zero = at_rest(*arm), np.zeros(arm.model.n)
    found = arm.actuators.springs(
        arm.rest, zero, rest.theta, 0 * rest.theta, stiffness=rest.second[:2]
    )
    return np.nan_to_num(found.load)


@pytest.mark.parametrize("arm", ALL)
def test_a_position_is_held_where_it_is(arm):
    arm = arm()
    law, plant = holding(arm), arms.plant_on(arm)
    law.stiffness[:] = at_rest(*arm).second
    law.hold_at(arm.rest)
    for _ in range(100):
        plant.step(law.update(None, None, None, *plant.state[2:]), 1e-3)
    np.testing.assert_allclose(plant.state[0], arm.rest, atol=1e-9)
    np.testing.assert_allclose(law.q, arm.rest, atol=1e-9)


def test_at_the_torque_limit_the_reference_yields_and_does_not_spring_back():
    arm = arms.linear_arm()
    law = holding(arm, torque_limit=30.0)
    rest = at_rest(*arm)
    law.hold_at(arm.rest)
    first, zero = np.array([1.0, 0.0]), np.zeros(2)
    for pushed in np.linspace(0.0, 1.0, 50):
        torque = law.update(None, None, None, rest.theta + pushed * first, zero)
        assert np.abs(torque).max() <= 30.0 + 1e-9
    assert torque[0] == pytest.approx(-30.0)
    load = law.update(None, None, None, rest.theta + first, zero)[0]
    reach = 60.0 / law.gains.values[2, 0]
    assert 0.0 < rest.theta[0] + 1.0 - law.reference[0, 0] < reach
    assert load == pytest.approx(-30.0)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_stop_ends_at_the_joint_limits_or_where_it_started_beyond_them(side):
    """With ideal motors; without limits the stop would take 0.2 rad."""
    model, actuators, rest = arms.linear_arm()
    bound = np.sort([rest + side * np.array([0.05, -0.5]), rest - side * np.array([1.0, 3.0])], 0)
    limits = model.limits._replace(lower=bound[0], upper=bound[1])
    arm = arms.Arm(replace(model, limits=limits), actuators, rest)
    law = holding(arm, stop_time=0.1)
    theta, thetad = at_rest(*arm).theta.copy(), np.array([2.0 * side, -2.0 * side])
    for _ in range(1000):
        law.update(None, None, None, theta, thetad)
        theta, thetad = law.reference.copy()
    moved = side * (law.q - rest)
    assert 0.04 < moved[0] < 0.05 + 1e-6
    assert -0.25 < moved[1] < -0.15
    limits = limits._replace(lower=rest + 1.0, upper=rest + 2.0)
    law = holding(arms.Arm(replace(model, limits=limits), actuators, rest))
    theta = at_rest(*arm).theta
    law.update(None, None, None, theta, np.zeros(2))
    np.testing.assert_array_equal(law.reference[0], theta)  # it does not pull back


@pytest.mark.parametrize("stiffness", [0.0, -40.0])
def test_a_stiffness_drive_outside_its_range_has_no_lasting_effect(stiffness):
    """At a position without stiffness the torques stay finite and later recover their values."""
    arm = arms.variable_arm()
    drive = arm.actuators.actuators[0].drive
    law, other = holding(arm), holding(arm)
    theta, zero = at_rest(*arm).theta, np.zeros(3)
    away = theta.copy()
    away[1] = (stiffness - drive.offset) / drive.gain
    other.update(None, None, None, theta, zero)
    for _ in range(20):
        assert np.isfinite(law.update(None, None, None, away, zero)).all()
    for _ in range(20):
        law.update(None, None, None, theta, zero)
    np.testing.assert_allclose(law.q, other.q, atol=1e-9)


def test_gains_and_limits_that_cannot_hold_are_rejected():
    arm = arms.linear_arm()
    gains = motor_side_gains(arm.actuators, [10.0, 0.0], 1.0)
    nan = [0.0, np.nan]
    assert_rejected(
        (lambda: HoldController(*arm[:2], gains), "'elbow' gain on theta is 0"),
        (lambda: holding(arm, stop_time=0.0), "stop_time 0"),
        (lambda: holding(arm, torque_limit=-1.0), "torque_limit"),
        (lambda: holding(arm, torque_limit=np.nan), "torque_limit"),
        (lambda: holding(arm, torque_limit=[1.0, 2.0, 3.0]), "torque_limit"),
        (lambda: holding(arm).update(None, None, None, nan, [0.0, 0.0]), "theta elbow"),
    )


def test_an_offset_of_the_friction_of_links_is_held_too():
    """A torque in one direction, such as that of a hose, which does not vanish at rest. Without
    it, the motors give way by the offset over the gain."""
    arm = arms.linear_arm()
    offset = np.linspace(2.0, 1.0, arm.model.n)
    rows = [
        replace(each, link_friction=Friction(offset=x))
        for each, x in zip(arm.actuators.actuators, offset.tolist(), strict=True)
    ]
    real = replace(arm.actuators, actuators=tuple(rows))
    gains, moved = damping_gains(*arm), []
    for actuators in (real, arm.actuators):
        law, plant = HoldController(arm.model, actuators, gains), ElasticRobot(arm.model, real)
        plant.reset(arm.rest)
        start = plant.theta.copy()
        for _ in range(3000):
            plant.step(law.update(None, None, None, plant.theta, plant.thetad), 1e-3)
        moved.append(plant.theta - start)
    assert np.abs(moved[0]).max() < 1e-6
    np.testing.assert_allclose(moved[1], -offset / gains.values[2], rtol=0.5)
