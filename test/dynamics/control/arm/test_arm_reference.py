# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The reference of an arm: the same motion at two times, with its torques and its motors."""

import numpy as np

from elastic_arms import START, GivenMotion, at_start, damped_arm, flat_motion, variable_arm
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control.arm.arm_reference import ArmReference
from multibody_dynamics.dynamics.control.arm.base_reference import BaseReference

NOW, LEAD = 0.7, 0.02  # s


def swing(arm, t: float) -> np.ndarray:
    """(5, n) of a swing about the rest position."""
    rows = [0.3 * 2.0**k * np.sin(2.0 * t + 0.5 * np.pi * k) for k in range(5)]
    motion = np.outer(rows, np.ones(arm.model.n))
    motion[0] += arm.rest
    return motion


def at(seconds: float) -> int:
    return START + round(1e9 * seconds)


def test_torques_are_those_of_the_motion_now_and_ahead_and_motors_follow_by_the_flat_map():
    arm = variable_arm()
    reference = ArmReference(arm.model, arm.actuators)
    reference.evaluate(GivenMotion(arm, lambda t: swing(arm, t)), None, at(NOW), LEAD)
    reference.compute_torques()
    for solver, t in ((reference.now, NOW), (reference.ahead, NOW + LEAD)):
        np.testing.assert_allclose(solver.state, swing(arm, t), rtol=1e-12)
        torque = np.stack(dyn.inverse_dynamics(arm.model, *swing(arm, t)))
        np.testing.assert_allclose(solver.result, torque, rtol=1e-9, atol=1e-9)
    second = at_start(arm)[1]
    reference.map_motors(second, 1e-3)
    np.testing.assert_allclose(
        reference.motors, np.stack(flat_motion(arm, swing(arm, NOW), second)[1][:4]), rtol=1e-9
    )
    reference.stop_motors()
    assert not reference.motors[1:3].any()
    assert reference.motors[[0, 3]].any()


def test_at_rest_motors_carry_gravity_also_where_springs_were_bent_by_a_motion():
    arm = damped_arm()
    reference, second = ArmReference(arm.model, arm.actuators), at_start(arm)[1]
    reference.evaluate(GivenMotion(arm, lambda t: swing(arm, t)), None, at(NOW), LEAD)
    reference.compute_torques()
    for _ in range(20):
        reference.map_motors(second, 1e-3)
    (_, _, theta, _), _, torque = at_start(arm)
    np.testing.assert_allclose(reference.rest(arm.rest, second), torque, atol=1e-9)
    np.testing.assert_allclose(reference.motors[0], theta, atol=1e-9)
    assert not reference.motors[1:3].any()


def test_each_motion_has_the_base_of_its_time():
    arm = variable_arm()
    base, reference = BaseReference(), ArmReference(arm.model, arm.actuators)
    lifted = np.array([np.eye(4), np.eye(4)])
    lifted[1, 2, 3] = 0.5
    base.plan(at(0.0), np.array([0.0, 2.0]), lifted)
    reference.evaluate(GivenMotion(arm, lambda t: swing(arm, t)), base, at(NOW), LEAD)
    reference.compute_torques()
    for solver, t in ((reference.now, NOW), (reference.ahead, NOW + LEAD)):
        other = dyn.InverseDynamicsSolver(arm.model, "body")
        other.move_base(*base.at(at(t)))
        np.testing.assert_allclose(other(*swing(arm, t)), solver.result, rtol=1e-9, atol=1e-9)
