# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The matrix of the sampled loop against the real controller and the plant, cycle by cycle."""

from dataclasses import replace

import numpy as np
import pytest

import elastic_arms as arms
from multibody_dynamics.dynamics.control import (
    ArmSettings,
    ControllerSettings,
    RobotErrors,
    StateEstimation,
    closed_loop_poles,
    make_controller,
    sampled_loop,
)
from multibody_dynamics.dynamics.elastic import Actuators, LinearSpring, SeriesElastic
from multibody_dynamics.dynamics.plant import DelayLine, ElasticRobot
from rejections import assert_rejected

STEP = 1e-3
ENCODERS = StateEstimation("link_and_motor_encoders", bandwidth=100.0)
PUSH = 1e-6  # rad/s and rad, small enough for springs to be linear


def deviations(arm: arms.Arm, settings: ControllerSettings, estimation, delay, cycles, robot=None):
    """(cycles, n + m) of the true links and motors from rest, after a small push of all of them:
    Arm against ElasticRobot, as in the node."""
    plant = ElasticRobot(*(robot or (arm.model, arm.actuators)))
    made = arms.at_rest_under(
        arm,
        cycle=ArmSettings(tracking_tolerance=0.0, feedforward_lead=0.0, transfer_time=0.0),
        law=settings.law,
        controllers={"hold": ControllerSettings(law="hold"), settings.law: settings},
        estimation=estimation,
    )
    made.activate()
    plant.reset(arm.rest)
    rest = np.concatenate((plant.q, plant.theta))
    line = DelayLine(delay, STEP, plant.motor_torque.copy())
    found = []
    for k in range(-1, cycles):
        if k == 0:
            push = pushed(arm)
            plant.reset(arm.rest + push[0], push[1], theta=plant.theta + push[2], thetad=push[3])
        if k >= 0:
            found.append(np.concatenate((plant.q, plant.theta)) - rest)
        Q = plant.joint_torque
        t = (k + 1) * STEP
        torque = made.update(arms.sample_of(made, t, plant.q, plant.theta, joint_torque=Q)).torque
        for duration, late in line.push(torque):
            plant.step(late, duration)
    return np.array(found)


def pushed(arm: arms.Arm):
    """q, q', theta, theta' of the push; motors of rigid joints move with their links."""
    n, joint = arm.model.n, arm.actuators.joint_of_motor
    rng = np.random.default_rng(3)
    q, qd = PUSH * rng.uniform(-1.0, 1.0, (2, n))
    theta, thetad = PUSH * rng.uniform(-1.0, 1.0, (2, len(joint)))
    rigid = arm.actuators.is_rigid[joint]
    return q, 50 * qd, np.where(rigid, q[joint], theta), 50 * np.where(rigid, qd[joint], thetad)


def predicted(arm: arms.Arm, settings, estimation, delay, cycles, errors=None):
    """The same from the powers of the matrix."""
    controller = make_controller(arm.model, arm.actuators, replace(settings, position=arm.rest))
    loop = sampled_loop(controller, arm.rest, delay=delay, estimation=estimation, errors=errors)
    q, qd, theta, thetad = pushed(arm)
    z = np.linalg.lstsq(loop.motion, np.concatenate((q, theta, qd, thetad)), rcond=None)[0]
    found = []
    for _ in range(cycles):
        found.append((loop.motion @ z)[: len(loop.coordinates)])
        z = loop.matrix @ z
    return np.array(found), loop


PD = ControllerSettings()
LQR = ControllerSettings(law="state_feedback", bandwidth=30.0)
HOLD = ControllerSettings(law="hold")
COUPLED = replace(LQR, gain_design="coupled", delay=1e-3)
MODAL = replace(LQR, gain_design="modal")
INTEGRAL = replace(PD, disturbance_bandwidth=0.0, integral=2.0)
SENSORS = StateEstimation("motor_encoders_and_torque_sensors", bandwidth=80.0, order=2)


@pytest.mark.parametrize(
    ("arm", "settings", "estimation", "delay"),
    [
        (arms.linear_arm, LQR, ENCODERS, 1.3e-3),
        (arms.linear_arm, INTEGRAL, ENCODERS, 0.4e-3),
        (arms.linear_arm, replace(LQR, disturbance_bandwidth=0.0), SENSORS, 2e-3),
        (arms.linear_arm, replace(PD, variant="quasi_static"), ENCODERS, 0.0),
        (arms.nonlinear_arm, PD, ENCODERS, 1e-3),
        (arms.damped_arm, PD, ENCODERS, 0.5e-3),
        (arms.pretensioned_arm, PD, ENCODERS, 1e-3),
        (arms.variable_arm, PD, ENCODERS, 0.0),
        (arms.pretensioned_arm, HOLD, ENCODERS, 1.5e-3),
        (arms.mixed_panda, PD, ENCODERS, 1e-3),
        (arms.elastic_panda, HOLD, ENCODERS, 6e-3),
        (arms.linear_arm, replace(COUPLED, delay=2e-3), ENCODERS, 1e-3),
        (arms.antagonistic_arm, COUPLED, ENCODERS, 1e-3),
        (
            arms.mixed_panda,
            replace(COUPLED, integral=2.0, disturbance_bandwidth=0.0),
            ENCODERS,
            0.5e-3,
        ),
        (arms.variable_arm, MODAL, ENCODERS, 0.0),
    ],
)
def test_the_matrix_moves_the_arm_like_the_real_controller(arm, settings, estimation, delay):
    arm = arms.without_coulomb(arm())
    cycles = 150
    wanted = deviations(arm, settings, estimation, delay, cycles)
    found, _ = predicted(arm, settings, estimation, delay, cycles)
    assert np.abs(wanted).max() < 100.0 * PUSH
    np.testing.assert_allclose(found, wanted, atol=1e-3 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("arm", "settings", "delay"),
    [
        (arms.linear_arm, ControllerSettings(law="joint_impedance"), 1e-3),
        (arms.nonlinear_arm, ControllerSettings(law="joint_impedance", inertia_share=1.0), 0.4e-3),
        (arms.mixed_panda, ControllerSettings(law="joint_impedance"), 0.0),
        (arms.antagonistic_arm, ControllerSettings(law="joint_impedance"), 1e-3),
        (arms.elastic_panda, ControllerSettings(law="cartesian_impedance"), 0.0),
        (arms.linear_arm, ControllerSettings(law="esp"), 1e-3),
        (arms.nonlinear_arm, ControllerSettings(law="esp_impedance"), 0.5e-3),
        (arms.elastic_panda, ControllerSettings(law="esp", contact_bandwidth=0.0), 0.0),
        (arms.damped_arm, ControllerSettings(law="esp"), 0.0),
        (arms.linear_arm, ControllerSettings(law="torque_control"), 0.0),
        (
            arms.damped_arm,
            ControllerSettings(law="torque_control", torque_design="torque_lqr"),
            0.5e-3,
        ),
        (arms.linear_arm, ControllerSettings(law="feedback_linearization"), 0.0),
    ],
)
def test_laws_without_a_closed_form_move_the_arm_as_their_slopes_predict(arm, settings, delay):
    arm = arms.without_coulomb(arm())
    cycles = 80
    wanted = deviations(arm, settings, ENCODERS, delay, cycles)
    found, _ = predicted(arm, settings, ENCODERS, delay, cycles)
    np.testing.assert_allclose(found, wanted, atol=3e-3 * np.abs(wanted).max())


def damaged(arm: arms.Arm, errors: RobotErrors) -> tuple:
    """The true robot: the arm with linear springs and every error."""
    wrong = []
    for i, actuator in enumerate(arm.actuators.actuators):
        motor = actuator.motor
        motor = replace(
            motor,
            inertia=motor.inertia * (1.0 + errors.motors[i]),
            viscous=motor.viscous * (1.0 + errors.friction[i]),
        )
        stiffness = actuator.spring.K * (1.0 + errors.springs[i])
        wrong.append(SeriesElastic(motor, LinearSpring(stiffness)))
    inertias = (1.0 + errors.links)[:, None, None] * arm.model.link_inertias
    model = replace(arm.model, link_inertias=inertias)
    return model, Actuators(model.joint_names, tuple(wrong))


def test_the_robot_may_differ_from_the_model():
    """A soft robot without gravity, whose springs rest where those of the model do."""
    arm = arms.without_coulomb(arms.linear_arm())
    arm = arm._replace(model=replace(arm.model, gravity=np.zeros(3)))
    errors = RobotErrors.corner(arm.actuators, 0.3, 1)
    assert all(set(np.abs(row)) == {0.3} for row in (errors.links, errors.springs, errors.motors))
    wanted = deviations(arm, PD, ENCODERS, 1e-3, 150, damaged(arm, errors))
    found, _ = predicted(arm, PD, ENCODERS, 1e-3, 150, errors)
    np.testing.assert_allclose(found, wanted, atol=1e-4 * np.abs(wanted).max())
    exact, _ = predicted(arm, PD, ENCODERS, 1e-3, 150)
    assert np.abs(exact - wanted).max() > 0.05 * np.abs(wanted).max()


@pytest.mark.parametrize(("bandwidth", "delay", "cycles"), [(40.0, 3e-3, 220), (20.0, 1e-3, 500)])
def test_growth_and_frequency_are_those_of_the_simulated_arm(bandwidth, delay, cycles):
    """State feedback of the Panda: unstable at 40 rad/s with 3 ms, stable at 20 rad/s with 1 ms."""
    arm = arms.without_coulomb(arms.elastic_panda())
    settings = ControllerSettings(law="state_feedback", bandwidth=bandwidth)
    found = deviations(arm, settings, ENCODERS, delay, cycles)
    wanted, loop = predicted(arm, settings, ENCODERS, delay, cycles)
    pole, joint = loop.worst()
    assert (pole.real > 0.0) == (bandwidth == 40.0)
    assert pole.real == pytest.approx(loop.growth)
    assert joint in arm.model.joint_names
    np.testing.assert_allclose(wanted[-1], found[-1], atol=1e-2 * np.abs(found[-1]).max())
    ratio = np.linalg.norm(found[-100:]) / np.linalg.norm(found[-200:-100])
    assert (ratio > 1.0) == (pole.real > 0.0)


def test_without_filters_and_fast_sampling_the_poles_are_those_of_the_arm():
    arm = arms.without_coulomb(arms.linear_arm())
    controller = arms.law_of(arm, "state_feedback", disturbance_bandwidth=0.0, period=1e-6)
    loop = sampled_loop(controller, arm.rest)
    wanted = closed_loop_poles(arm.model, arm.actuators, arm.rest, controller.gains)
    for pole in wanted:
        assert np.abs(loop.poles - pole).min() < 1e-3 * abs(pole)
    assert loop.growth == pytest.approx(wanted.real.max(), rel=1e-3)


def test_wrong_arguments_are_rejected():
    encoders = StateEstimation("motor_encoders", bandwidth=50.0)

    def sampled(arm=arms.linear_arm, **options):
        return lambda: sampled_loop(arms.law_of(arm()), arm().rest, **options)

    assert_rejected(
        (sampled(delay=-1.0), "delay -1"),
        (sampled(estimation=encoders), "motor_encoders"),
        (lambda: RobotErrors(springs=-1.0), "springs: relative errors"),
        (sampled(arms.damped_arm, estimation=SENSORS), "behind damped springs"),
    )
