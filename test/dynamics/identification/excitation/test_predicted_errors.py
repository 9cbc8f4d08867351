# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Predicted errors: those of simulated identifications, and what cannot be known."""

from dataclasses import replace

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, linear_arm, variable_arm
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import identification as idn
from robots import panda, two_link_planar

RATE = 100.0
FORM = idn.FourierForm(period=3.0, harmonics=3, repetitions=2.0, ramp=0.5)


def run(model, size=0.5, seed=3):
    c = size * np.random.default_rng(seed).normal(size=(FORM.size, model.n))
    times = np.linspace(0.0, FORM.duration, int(FORM.duration * RATE) + 1)
    return times, FORM.reference(model.joint_names, c).sample(times)


def test_simulated_identifications_scatter_as_predicted():
    """400 least-squares estimates from noisy torques; their scatter is within 15 %."""
    model = two_link_planar()
    limits = idn.ExcitationLimits.of(model)
    columns = idn.TorqueColumns(model)
    times, states = run(model)
    noise = idn.TorqueNoise(np.array([0.5, 0.2]), 1e-5, RATE)
    found = idn.predicted_errors(columns, limits, [(times, states)], noise)
    Y = columns.evaluate(states[:, :3]) / noise.torque[:, None]
    W = Y.reshape(-1, Y.shape[-1])
    rng = np.random.default_rng(0)
    estimates = np.linalg.pinv(W) @ rng.normal(size=(len(W), 400))
    predicted = np.array([error.error for error in found])
    np.testing.assert_allclose(estimates.std(axis=1), predicted, rtol=0.15)


def test_motor_parameters_scatter_as_predicted():
    """The equations of motors and springs with noise on motor torques and deflections."""
    arm = linear_arm()
    limits = idn.ExcitationLimits.of(arm.model, actuators=arm.actuators)
    assert limits.motors is not None
    columns = idn.TorqueColumns(arm.model, rotors=False, friction=())
    times, states = run(arm.model, 0.1)
    noise = idn.TorqueNoise(np.array([0.05, 0.02]), 1e-6, RATE)
    found = {e.name: e for e in idn.predicted_errors(columns, limits, [(times, states)], noise)}
    flat = np.stack(dyn.inverse_dynamics(arm.model, *states.swapaxes(0, 1)), axis=1)
    moved = limits.motors.motor_motion(states[:, :3], flat)
    motor = arm.actuators.motors[0]
    # With the links' equation as exact as here, the springs are known through the links only up to
    # a common scale; the motor's equation alone bounds the errors from above.
    W = np.stack(
        [
            moved.acceleration[:, 0],
            moved.velocity[:, 0],
            np.tanh(moved.velocity[:, 0] / motor.coulomb_velocity),
            np.ones(len(times)),
            flat[:, 0, 0],
        ],
        axis=1,
    )
    alone = 0.05 * np.sqrt(np.diag(np.linalg.inv(W.T @ W)))
    name = arm.actuators.motor_names[0]
    for kind, bound in zip(
        ("inertia", "viscous", "coulomb", "offset", "spring"), alone, strict=True
    ):
        assert 0.2 * bound < found[f"{name}.{kind}"].error <= 1.01 * bound
    assert found[f"{name}.inertia"].value == motor.inertia


@pytest.mark.parametrize("make", [variable_arm, antagonistic_arm])
def test_joints_with_two_motors_have_finite_predictions(make):
    arm = make()
    limits = idn.ExcitationLimits.of(arm.model, actuators=arm.actuators)
    columns = idn.TorqueColumns(arm.model, rotors=False, friction=())
    noise = idn.TorqueNoise(np.full(len(arm.actuators.motors), 0.05), 1e-6, RATE)
    errors = {
        e.name: e for e in idn.predicted_errors(columns, limits, [run(arm.model, 0.05)], noise)
    }
    for motor in np.array(arm.actuators.motor_names)[arm.actuators.torque_share > 0].tolist():
        assert np.isfinite(errors[f"{motor}.inertia"].error)


def test_twice_the_runs_halve_the_variance():
    model = two_link_planar()
    limits, columns = idn.ExcitationLimits.of(model), idn.TorqueColumns(model)
    noise = idn.TorqueNoise(np.ones(2), 1e-5, RATE)
    once = idn.predicted_errors(columns, limits, [run(model)], noise)
    twice = idn.predicted_errors(columns, limits, [run(model)] * 2, noise)
    for one, two in zip(once, twice, strict=True):
        assert two.error == pytest.approx(one.error / np.sqrt(2.0))


def test_what_does_not_move_cannot_be_known():
    """With the forearm at rest relative to the upper arm, its own inertia stays unknown."""
    model = two_link_planar()
    limits, columns = idn.ExcitationLimits.of(model), idn.TorqueColumns(model)
    times, states = run(model)
    states[:, :, 1] = 0.0
    noise = idn.TorqueNoise(np.ones(2), 1e-5, RATE)
    errors = idn.predicted_errors(columns, limits, [(times, states)], noise)
    verdicts = {error.name: error.verdict for error in errors}
    elbow = model.joint_names[1]
    assert verdicts[f"{elbow}.viscous"] == "no"
    assert verdicts[f"{elbow}.coulomb"] == "no"
    assert np.isfinite([e.error for e in errors if e.name == f"{model.joint_names[0]}.viscous"])


def test_parameters_without_effect_are_those_that_change_no_torque():
    model = panda()
    columns = idn.TorqueColumns(model)
    lost = idn.unobservable(columns)
    assert "panda_link1.m" in lost
    names = idn.parameter_names(model)
    states = np.random.default_rng(1).normal(size=(20, 3, 7))
    Y = idn.RegressorStack(model).regressors(states)
    size = np.abs(Y).max(axis=(0, 1))
    assert {name for name, value in zip(names, size, strict=True) if value < 1e-12} == {
        name for name in lost if not name.endswith("rotor")
    }


def test_known_friction_gives_relative_errors():
    model = two_link_planar()
    friction = idn.JointFriction.smooth_coulomb(*np.full((3, 2), 0.7))
    limits = replace(idn.ExcitationLimits.of(model), friction=friction)
    errors = idn.predicted_errors(
        idn.TorqueColumns(model), limits, [run(model)], idn.TorqueNoise(np.ones(2), 1e-5, RATE)
    )
    found = {error.name: error for error in errors}
    for kind in ("viscous", "coulomb", "offset"):
        assert found[f"{model.joint_names[0]}.{kind}"].value == pytest.approx(0.7)


def test_standard_errors_of_a_singular_matrix():
    errors = idn.standard_errors(np.array([[4.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]))
    assert errors[0] == pytest.approx(0.5)
    assert np.isinf(errors[1:]).all()
