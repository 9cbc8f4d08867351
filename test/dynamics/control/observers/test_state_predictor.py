# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The predicted state: against the plant at that time, and with a model that is wrong."""

import numpy as np
import pytest

from elastic_arms import EVERY_ARM, Arm, at_start, linear_arm
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import SentTorques, StatePredictor
from multibody_dynamics.dynamics.control.observers.state_predictor import _fastest_mode
from multibody_dynamics.dynamics.core import DynamicsError, InputError
from multibody_dynamics.dynamics.plant import DelayLine, ElasticRobot

PERIOD = 1e-3
DELAY = 1.7e-3  # s of a command; samples are two periods old


def predictions(arm: Arm, model, *, cycles: int, share: float = 0.2, **settings):
    """Predicted and true states (cycles, 2 n + 2 m) of a plant with another `model`, which starts
    at rest and is driven by sines of the amplitude share (1 + |load|) in N m."""
    robot = ElasticRobot(model, arm.actuators)
    (q, qd, theta, thetad), second, load = at_start(arm)
    robot.stiffness[:] = second[:2]
    robot.reset(q, qd, theta=theta, thetad=thetad)
    sent = SentTorques(len(load))
    predictor = StatePredictor(arm.model, arm.actuators, sent, **settings)
    predictor.stiffness[:] = second[:2]
    line, samples, predicted, true = DelayLine(DELAY, PERIOD, load.copy()), [], [], []
    sent.push(-1.0, load)
    for k in range(cycles):
        t = k * PERIOD
        samples.append(robot.state.copy())
        torque = load + share * np.sin(30.0 * t + np.arange(len(load))) * (1.0 + np.abs(load))
        if k >= 2:
            n, m = robot.n, len(load)
            sample = np.split(samples[k - 2], (n, 2 * n, 2 * n + m))
            predicted.append(np.concatenate(predictor.update(t, sample, 2 * PERIOD, DELAY)))
        sent.push(t, torque)
        for part, (duration, acting) in enumerate(line.push(torque)):
            robot.step(acting, duration)
            if part == 0:
                true.append(robot.state.copy())  # at t + 0.7 ms
    count = cycles - 3  # the prediction at t is for t + 1.7 ms: the next cycle's first part
    return np.array(predicted)[:count], np.array(true)[3 : 3 + count], predictor


@pytest.mark.parametrize("arm", EVERY_ARM, ids=lambda arm: arm.__name__)
def test_the_inner_step_follows_from_the_fastest_mode_of_the_plant(arm):
    """At rest, where antagonistic springs pull against each other."""
    model, actuators, _ = arm()
    modes, _ = ElasticRobot(model, actuators).modes(model.limits.middle)
    assert _fastest_mode(model, actuators) == pytest.approx(np.abs(modes).max(), rel=1e-3)


@pytest.mark.parametrize("arm", EVERY_ARM, ids=lambda arm: arm.__name__)
def test_the_state_when_the_torque_takes_effect_is_predicted_exactly(arm):
    """With a command delay that is not a multiple of the cycle, samples two cycles old, and every
    kind of actuator: only the integrator's error is left, and nothing remains unexplained."""
    arm = arm()
    predicted, true, predictor = predictions(arm, arm.model, cycles=120)
    moved = np.abs(true - true[0]).max()
    assert moved > 1e-3
    np.testing.assert_allclose(predicted, true, atol=2e-5 * moved)
    assert np.abs(predictor.unexplained).max() < 1e-2 * moved


def test_the_correction_removes_the_error_of_a_wrong_model():
    """With a payload that the model lacks, the prediction from samples alone has a constant error,
    which the low-pass of the unexplained acceleration removes."""
    arm = linear_arm()
    heavier = arm.model.with_payload(1, 0.8, (0.1, 0.0, 0.0))
    errors = {}
    for bandwidth in (0.0, 60.0):
        predicted, true, predictor = predictions(
            arm, heavier, cycles=400, share=0.0, bandwidth=bandwidth
        )
        errors[bandwidth] = np.sqrt(((predicted - true)[100:] ** 2).mean())
        assert (np.abs(predictor.unexplained).max() > 0.5) == bool(bandwidth)
    assert errors[60.0] < 0.3 * errors[0.0]


def test_the_model_can_be_exchanged():
    arm = linear_arm()
    heavier = arm.model.with_payload(1, 0.8, (0.1, 0.0, 0.0))
    right, true, _ = predictions(arm._replace(model=heavier), heavier, cycles=20)
    sent = SentTorques(2)
    predictor = StatePredictor(arm.model, arm.actuators, sent)
    predictor.set_model(heavier)
    state = at_start(arm._replace(model=heavier))
    sent.push(-1.0, state[2])
    found = np.concatenate(predictor.update(0.0, state[0], 1e-3, 2e-3))
    np.testing.assert_allclose(found, np.concatenate(state[0]), atol=1e-9)  # it stays at rest
    np.testing.assert_allclose(right, true, atol=1e-6)


def test_without_a_torque_the_prediction_is_the_sample():
    arm = linear_arm()
    predictor = StatePredictor(arm.model, arm.actuators, SentTorques(2))
    state = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(predictor.update(0.0, state, 1e-3, 2e-3), state)


def test_a_rigid_arm_without_friction_coasts():
    """It has no modes to resolve: the joint moves with constant speed."""
    model = dyn.model_from_screws(
        [-1], [[0, 0, 1, 0, 0, 0]], [np.eye(4)], [np.diag([0.1, 0.1, 0.1, 1.0, 1.0, 1.0])],
        joint_names=["turn"], body_names=["wheel"],
    )  # fmt: skip
    actuators = dyn.Actuators(("turn",), (dyn.elastic.Rigid(dyn.elastic.Motor(0.2)),))
    sent = SentTorques(1)
    sent.push(-1.0, np.zeros(1))
    state = np.array([[0.1], [0.5], [0.1], [0.5]])
    q, qd, *_ = StatePredictor(model, actuators, sent).update(0.0, state, 0.0, 4e-3)
    assert (q[0], qd[0]) == (pytest.approx(0.102), pytest.approx(0.5))


def test_a_prediction_that_diverges_is_an_error_and_is_forgotten():
    arm = linear_arm()
    sent = SentTorques(2)
    predictor = StatePredictor(arm.model, arm.actuators, sent)
    state, _, load = at_start(arm)
    sent.push(-1.0, load)
    broken = [np.full(2, 1e200) for _ in range(4)]
    with pytest.raises(DynamicsError, match=r"prediction over 0\.003 s diverges"):
        predictor.update(0.0, broken, 1e-3, 2e-3)
    found = np.concatenate(predictor.update(1e-3, state, 1e-3, 2e-3))
    np.testing.assert_allclose(found, np.concatenate(state), atol=1e-9)
    assert not predictor.unexplained.any()


def test_settings_are_checked():
    arm = linear_arm()
    with pytest.raises(InputError, match=r"bandwidth is -1\.0 rad/s"):
        StatePredictor(arm.model, arm.actuators, SentTorques(2), bandwidth=-1.0)
