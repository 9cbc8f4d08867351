# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The reference of stiffness: feasible range, clipping, and initial value."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.control.arm.desired_motion import TrajectoryRequest
from multibody_dynamics.dynamics.control.arm.stiffness_reference import (
    MARGIN,
    StiffnessReference,
)
from multibody_dynamics.dynamics.elastic import (
    HOLDING,
    Antagonistic,
    Motor,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
    resting_second_outputs,
)
from multibody_dynamics.dynamics.elastic.actuator_cycle import SpringSolver
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.flatness import motor_motion
from multibody_dynamics.dynamics.elastic.springs import LinearSpring, PolynomialSpring
from multibody_dynamics.nodes.base.messages import SECOND

MOTOR = Motor(0.1, torque_limit=20.0)
TENDON = PolynomialSpring((10.0, 45.0, 20.0), travel=(0.0, 0.9))  # up to 60 N m
ACTUATORS = Actuators(
    ("base", "free", "driven", "stiff", "tense"),
    (
        SeriesElastic(MOTOR, LinearSpring(300.0)),
        VariableStiffness(MOTOR, (100.0, 500.0)),
        VariableStiffness(MOTOR, (100.0, 500.0), drive=StiffnessDrive(MOTOR, 50.0, 100.0)),
        Antagonistic(MOTOR, MOTOR, TENDON, TENDON),
        Antagonistic(MOTOR, MOTOR, TENDON, TENDON, "pretension"),
    ),
)
TORQUE = np.array([3.0, 2.0, -1.0, 4.0, -6.0])
FREE, DRIVEN, STIFF, TENSE = range(4)
REST = [200.0, 300.0, 80.0, 8.0]


def request(*points: float, joint: int, times: tuple[float, ...]) -> TrajectoryRequest:
    rows = np.tile(REST, (len(points), 1))
    rows[:, joint] = points
    return TrajectoryRequest(None, np.array(times), rows, None, None)


def held(k: list[float]) -> tuple[StiffnessReference, SpringSolver]:
    """A reference at rest at k, with springs in the corresponding state."""
    reference, springs = StiffnessReference(ACTUATORS), SpringSolver(ACTUATORS)
    q = np.zeros((3, 5))
    second = np.array([k, [0.0] * 4, [0.0] * 4])
    torque = np.array([TORQUE, q[0], q[0]])
    springs.theta[:] = motor_motion(ACTUATORS, q, torque, second).position
    springs.stiffness[:] = second[:2]
    springs.update()
    reference.begin(k, springs, TORQUE, SECOND, 0.5)
    reference.evaluate(3 * SECOND, TORQUE)
    return reference, springs


def test_stiffness_is_measured_from_the_motors():
    reference, springs = held(REST)
    np.testing.assert_allclose(reference.rows[0], REST, rtol=1e-12)
    np.testing.assert_allclose(reference.measured(springs), REST, rtol=1e-9)
    np.testing.assert_array_equal(reference.measured(None), reference.rows[0])


def test_motors_hold_every_stiffness_in_the_bounds_with_a_reserve():
    reference = StiffnessReference(ACTUATORS)
    low, high = reference.bounds(TORQUE)
    for ends in (low, high):
        second = np.array([ends, 0 * ends, 0 * ends])
        zero = np.zeros((3, 5))
        load = motor_motion(ACTUATORS, zero, np.array([TORQUE, zero[0], zero[0]]), second).torque
        assert (np.abs(load) < HOLDING * 20.0).all()
    free = 400.0
    assert (low[FREE], high[FREE]) == (100.0 + MARGIN * free, 500.0 - MARGIN * free)
    assert high[TENSE] < HOLDING * 20.0 - 0.5 * abs(TORQUE[-1])
    reference.torque_scale = 0.5
    assert (reference.bounds(TORQUE)[1][[STIFF, TENSE]] < high[[STIFF, TENSE]]).all()
    reference.torque_scale = 0.01  # less than the joint torque requires
    low, high = reference.bounds(TORQUE)
    assert (low <= high).all()


def test_the_report_names_the_cause_of_the_limits():
    reference, _ = held(REST)
    values = reference.report(TORQUE)
    assert values["stiffness of stiff"] == pytest.approx(80.0)
    assert "limited by the springs" in str(values["range of free"])
    assert "torque limits of the motors" in str(values["range of stiff"])


def test_a_reference_beyond_the_bounds_is_clipped_and_reported():
    reference, _ = held(REST)
    high = reference.bounds(TORQUE)[1]
    (event,) = reference.follow(request(90.0, 1e4, joint=STIFF, times=(0.5, 1.0)), TORQUE, 0.0)
    assert (event.joint, event.wanted) == ("stiff", 1e4)
    assert event.allowed == pytest.approx(high[STIFF])
    for time in np.linspace(3.0, 5.0, 21):
        assert not reference.evaluate(round(SECOND * time), TORQUE)
        np.testing.assert_allclose(np.delete(reference.rows[0], STIFF), np.delete(REST, STIFF))
    np.testing.assert_allclose(reference.rows[0, STIFF], high[STIFF])


def test_a_torque_that_narrows_the_range_clips_the_motion_and_zeroes_its_rates():
    reference, _ = held(REST)
    top = reference.bounds(TORQUE)[1][STIFF]
    reference.follow(request(top, joint=STIFF, times=(1.0,)), TORQUE, 0.0)
    heavier = TORQUE + np.array([0.0, 0.0, 0.0, 8.0, 0.0])
    assert not reference.evaluate(3 * SECOND + SECOND // 2, TORQUE)
    assert reference.rows[1, STIFF] > 0.0
    (event,) = reference.evaluate(5 * SECOND, heavier)
    assert event.joint == "stiff"
    assert reference.rows[0, STIFF] == pytest.approx(reference.bounds(heavier)[1][STIFF])
    assert (reference.rows[1:, STIFF] == 0.0).all()


def test_it_starts_at_the_measured_value_and_moves_smoothly_to_the_middle():
    reference, springs = held(REST)
    reference.begin((), springs, TORQUE, 4 * SECOND, 0.5)
    reference.evaluate(4 * SECOND, TORQUE)
    np.testing.assert_allclose(reference.rows, [REST, [0.0] * 4, [0.0] * 4], atol=1e-6)
    reference.evaluate(5 * SECOND, TORQUE)
    np.testing.assert_allclose(reference.rows[0], np.mean(reference.bounds(TORQUE), axis=0))


def test_a_stop_ends_a_motion_in_progress():
    reference, _ = held(REST)
    reference.follow(request(400.0, joint=FREE, times=(2.0,)), TORQUE, 0.0)
    reference.evaluate(4 * SECOND, TORQUE)
    reference.stop(0.2)
    reference.evaluate(6 * SECOND, TORQUE)
    assert 200.0 < reference.rows[0, FREE] < 399.0
    assert (reference.rows[1:] == 0.0).all()


def test_without_variable_joints_nothing_is_evaluated():
    reference = StiffnessReference(Actuators(("a",), (SeriesElastic(MOTOR, LinearSpring(9.0)),)))
    reference.begin((), None, np.zeros(1), 0, 0.5)
    assert reference.evaluate(0, np.zeros(1)) == ()
    assert reference.report(np.zeros(1)) == {}


def test_what_acts_at_rest_may_also_be_requested():
    """By the torque limits of the motors: the springs alone allow 150 N m/rad, the limits 142."""
    rest = resting_second_outputs(ACTUATORS)
    low, high = StiffnessReference(ACTUATORS).bounds(np.zeros(5))
    assert (low <= rest).all()
    assert (rest <= high).all()
