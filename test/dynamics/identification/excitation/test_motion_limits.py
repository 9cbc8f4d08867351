# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The use of limits agrees with independent computations, and invalid limits are refused."""

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, damped_arm, linear_arm, variable_arm
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.dynamics.identification.excitation import motion_limits
from rejections import assert_rejected
from robots import panda, random_tree

FORM = idn.FourierForm(period=4.0, harmonics=2, repetitions=1.0, ramp=0.5)


def motion(model, size=0.2):
    c = size * np.random.default_rng(5).normal(size=(FORM.size, model.n))
    times = np.linspace(0.0, FORM.duration, 2501)
    return times, FORM.reference(model.joint_names, c).sample(times)


def used(limits, times, states):
    return {(use.name, use.quantity): use for use in limits.uses(times, states)}


def test_the_limits_of_a_robot_less_a_margin():
    model = panda()
    limits = idn.ExcitationLimits.of(model, margin=0.2, acceleration=5.0, torque_rate=100.0)
    width = model.limits.upper - model.limits.lower
    np.testing.assert_allclose(limits.upper - limits.lower, 0.8 * width)
    np.testing.assert_allclose(limits.velocity, 0.8 * model.limits.velocity)
    np.testing.assert_allclose(limits.torque, 0.8 * model.limits.effort)
    np.testing.assert_allclose(limits.acceleration, 4.0)
    np.testing.assert_allclose(limits.torque_rate, 80.0)


def test_values_in_use_are_the_extremes_of_the_motion():
    model = panda()
    friction = idn.JointFriction.smooth_coulomb(*np.full((3, 7), 0.5))
    limits = idn.ExcitationLimits.of(model, acceleration=5.0, torque_rate=200.0, friction=friction)
    times, states = motion(model)
    found = used(limits, times, states)
    rows = states.swapaxes(0, 1)
    Q = dyn.inverse_dynamics(model, *rows[:3]).tau + friction.torque(rows[1])
    rate = np.diff(Q, axis=0) / np.diff(times)[:, None]
    for quantity, values in (
        ("velocity", rows[1]),
        ("acceleration", rows[2]),
        ("torque", Q),
        ("torque rate", rate),
    ):
        for j, name in enumerate(model.joint_names):
            use = found[name, quantity]
            assert abs(use.value) == pytest.approx(np.abs(values[:, j]).max())
            assert use.used == pytest.approx(use.value / use.limit)


@pytest.mark.parametrize("make", [linear_arm, variable_arm, damped_arm])
def test_motors_of_elastic_joints_bear_what_the_flat_map_demands(make):
    arm = make()
    limits = idn.ExcitationLimits.of(arm.model, actuators=arm.actuators, torque=50.0)
    times, states = motion(arm.model, 0.05)
    flat = dyn.inverse_dynamics(arm.model, *states.swapaxes(0, 1))
    assert limits.motors is not None
    moved = limits.motors.motor_motion(states[:, :3], np.stack(flat, axis=1))
    at_links = limits.uses(times, states)
    assert {use.quantity for use in at_links} >= {"position", "joint torque"}
    # The motors balance the springs: tau_m = M theta'' + friction + load, by the inverse relation.
    load = moved.torque - arm.actuators.motor_torque(
        moved.velocity, moved.acceleration, np.zeros(len(arm.actuators.motors))
    )
    moving = arm.actuators.torque_share > 0
    sums = np.zeros_like(flat.tau)
    for m in np.flatnonzero(moving):
        sums[:, arm.actuators.joint_of_motor[m]] += load[:, m]
    if not arm.actuators.is_damped.any():
        np.testing.assert_allclose(sums, flat.tau, atol=1e-8)


def test_at_rest_is_the_use_of_a_motion_that_does_not_move():
    model = random_tree(5, 3)
    limits = idn.ExcitationLimits.of(
        model, torque=20.0, capsules=idn.link_skeleton(model), box=[[-2, -2, -2], [2, 2, 2]]
    )
    rng = np.random.default_rng(0)
    q = rng.uniform(-1.0, 1.0, (6, model.n))
    for row, found in zip(q, limits.at_rest(q), strict=True):
        states = np.zeros((2, 5, model.n))
        states[:, 0] = row
        worst = limits.uses(np.array([0.0, 1.0]), states)[0].used
        assert found == pytest.approx(worst) or (found > 1e3 and worst == np.inf)


def test_wrong_limits_are_refused_by_name():
    model, made, zero = panda(), idn.ExcitationLimits, np.zeros(7)
    rows = (-1.0, 1.0, np.ones(3), 1.0, 1.0, 1.0)
    assert_rejected(
        (lambda: made.of(model, margin=1.0), "margin"),
        (lambda: made.of(model, acceleration=-1.0), "acceleration of joint 'panda_joint1'"),
        (lambda: made.of(model, box=[[1, 0, 0], [0, 1, 1]]), "lower corner"),
        (lambda: made(model, zero, zero, *np.ones((4, 7))), "position 'panda_joint1'"),
        (lambda: made(model, *rows), "velocity: a number or 7 values (3,)"),
    )


def test_the_travel_of_springs_shrinks_about_its_middle():
    """Antagonistic tendons only pull: their travel begins at zero."""
    model, actuators, _ = antagonistic_arm()
    limits = idn.ExcitationLimits.of(model, margin=0.2, actuators=actuators, acceleration=5.0)
    travel, whole = limits.motors.travel, actuators.spring_travel
    np.testing.assert_allclose(travel[1:], [[0.09, 0.81], [0.09, 0.81]])
    assert (whole[0] == travel[0]).all()  # infinite
    assert (whole[1:] == [0.0, 0.9]).all()


def test_a_distance_is_said_to_be_at_least_its_limit():
    kept = motion_limits.LimitUse("hand - base", motion_limits.CLEARANCE, 0.05449, 0.0175, 0.32)
    assert str(kept) == "hand - base: clearance 0.05449, at least 0.0175"
    speed = motion_limits.LimitUse("elbow", "velocity", 1.5, 2.0, 0.75)
    assert str(speed) == "elbow: velocity 1.5, limit 2"
