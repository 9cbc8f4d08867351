# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The state on which a law acts, where samples are old and torques on their way."""

import numpy as np
import pytest

from elastic_arms import at_start, linear_arm
from multibody_dynamics.dynamics.control import FlatnessSettings, MeasuredArm
from multibody_dynamics.dynamics.control.arm.feedback_state import FeedbackState
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot

PERIOD = 1e-3  # s
SENSOR, COMMAND = 2e-3, 3e-3  # s


def acting(arm, **settings) -> tuple[MeasuredArm, FeedbackState]:
    chosen = FlatnessSettings(**settings)
    measured = MeasuredArm(arm.model, arm.actuators, chosen)
    measured.estimator.design(arm.rest)
    return measured, FeedbackState(arm.model, arm.actuators, chosen, measured)


def delayed(**more) -> dict:
    return {"sensor_delay": SENSOR, "command_delay": COMMAND, **more}


def test_without_delays_it_is_the_measured_state_and_there_is_no_past():
    arm = linear_arm()
    measured, state = acting(arm)
    (q, qd, theta, thetad), second, torque = at_start(arm)
    measured.update(0.0, {"link_position": q, "motor_position": theta}, torque, second)
    state.update(0.0, second[:2])
    for row, wanted in zip(state.state, (q, qd, theta, thetad), strict=True):
        np.testing.assert_allclose(row, wanted, atol=1e-12)
    assert (state.lead, state.past, state.is_predicted) == (0.0, None, False)


def test_a_prediction_is_where_a_plant_arrives_that_receives_the_torques_on_their_way():
    """Torques of the last cycles have not acted yet at the instant that the sample shows."""
    arm = linear_arm()
    measured, state = acting(arm, **delayed())
    (q, *_), second, load = at_start(arm)
    rng = np.random.default_rng(0)
    torques = [load + rng.uniform(-3.0, 3.0, len(load)) for _ in range(60)]
    plant = ElasticRobot(arm.model, arm.actuators, step=1e-5)
    plant.reset(q)
    lag = round((SENSOR + COMMAND) / PERIOD)
    shown = []  # of the plant, at the instants of the samples
    sent = load
    for k, torque in enumerate(torques):
        shown.append((plant.q.copy(), plant.theta.copy()))
        signals = {"link_position": shown[-1][0], "motor_position": shown[-1][1]}
        measured.update(k * PERIOD, signals, state.acted(k * PERIOD, sent), second)
        state.update(k * PERIOD, second[:2])
        # the torque that acts from the instant shown on was sent `lag` cycles ago
        plant.step(torques[k - lag] if k >= lag else load, PERIOD)
        sent = torque
        state.send(torque)
    assert state.is_predicted
    exact = ElasticRobot(arm.model, arm.actuators, step=1e-5)
    exact.reset(q)
    k = len(torques) - 1
    for i in range(k + lag):
        exact.step(torques[i - lag] if i >= lag else load, PERIOD)
    moved = np.abs(exact.theta - shown[-1][1]).max()
    error = np.abs(state.state.theta - exact.theta).max()
    assert moved > 1e-6
    assert error < 0.2 * moved


def test_a_stop_acts_on_what_is_measured():
    arm = linear_arm()
    measured, state = acting(arm, **delayed())
    (q, _, theta, _), second, load = at_start(arm)
    for k in range(5):
        measured.update(k * PERIOD, {"link_position": q, "motor_position": theta},
                        state.acted(k * PERIOD, load), second)  # fmt: skip
        state.update(k * PERIOD, second[:2])
        state.send(load + 5.0)
    assert state.is_predicted
    assert np.abs(state.state.theta - theta).max() > 1e-9
    state.use_measured_state()
    np.testing.assert_array_equal(state.state.theta, measured.estimator.state.theta)
    assert not state.is_predicted


@pytest.mark.parametrize("predicts", [True, False])
def test_the_past_torque_is_the_mean_of_those_that_acted_between_two_samples(predicts):
    arm = linear_arm()
    _, state = acting(arm, **delayed(predicts_state=predicts))
    load = np.ones(len(arm.actuators.motors))
    state.acted(0.0, 0.0 * load)
    for k in range(20):  # the torque of cycle k is k
        state.send(k * load)
        acted = state.acted((k + 1) * PERIOD, k * load)
    # between the samples at 19 and 20 ms, which show 17 and 18 ms, that of 14 ms acted
    np.testing.assert_allclose(acted, 14.0)
    assert state.lead == (COMMAND if predicts else 0.0)
    state.restart()
    np.testing.assert_array_equal(state.acted(1.0, 7.0 * load), 7.0)
