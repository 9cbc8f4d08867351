# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Linear-quadratic gains of the whole arm, against scipy on a numerically linearised plant."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

import elastic_arms as arms
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.elastic import Actuators
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.dynamics.rigid import mass_matrix
from rejections import assert_rejected

PERIOD = 1e-3


def held_plant(arm: arms.Arm, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Transition and response over one period of held torques, from central differences of the
    simulated arm; the state is (q, theta of elastic joints, q', theta')."""
    n, m = arm.model.n, len(arm.actuators.motors)
    elastic = np.flatnonzero(~arm.actuators.is_rigid[arm.actuators.joint_of_motor])
    (q, _, theta, _), second, load = arms.at_start(arm)
    plant = ElasticRobot(arm.model, arm.actuators)
    k, size = n + len(elastic), 1e-5

    def after(x, torque):
        angles, rates = x[:k], x[k:]
        full = [q + angles[:n], rates[:n], theta.copy(), np.zeros(m)]
        full[2] += angles[:n][arm.actuators.joint_of_motor]
        full[3] += rates[:n][arm.actuators.joint_of_motor]
        full[2][elastic], full[3][elastic] = theta[elastic] + angles[n:], rates[n:]
        plant.reset(full[0], full[1], theta=full[2], thetad=full[3])
        plant.stiffness[:] = second[:2]
        plant.step(load + torque, period)
        found = (plant.q - q, plant.theta[elastic] - theta[elastic], plant.qd)
        return np.concatenate((*found, plant.thetad[elastic]))

    def slopes(count, at):
        steps = size * np.eye(count)
        return np.transpose([(at(e) - at(-e)) / (2.0 * size) for e in steps])

    none = np.zeros(2 * k)
    return slopes(2 * k, lambda x: after(x, np.zeros(m))), slopes(m, lambda u: after(none, u))


@pytest.mark.parametrize(
    ("arm", "late"),
    [(arms.linear_arm, 2), (arms.elastic_panda, 0), (arms.mixed_panda, 2), (arms.damped_arm, 0),
     (arms.branching_arm, 0)],
)  # fmt: skip
def test_the_gains_are_optimal_for_the_simulated_arm(arm, late):
    """With late torques as states of their own, chained one after the other."""
    arm = arms.without_coulomb(arm())
    w = 30.0
    gains = control.coupled_gains(*arm, w, period=PERIOD, delay=late * PERIOD)
    A, B = held_plant(arm, PERIOD)
    N, m = B.shape
    elastic = np.flatnonzero(~arm.actuators.is_rigid)
    n, k = arm.model.n, arm.model.n + len(elastic)
    F, G = np.zeros((N + late * m, N + late * m)), np.zeros((N + late * m, m))
    F[:N, :N] = A
    if late:
        F[:N, N + m :] = B
        F[N + m :, N : N + m], G[N : N + m] = np.eye(m), np.eye(m)
    else:
        G[:] = B
    links = mass_matrix(arm.model, arm.rest)
    rotors = np.diag(arm.actuators.motor_inertia)
    total = links + rotors
    rigid = np.diag(arm.actuators.is_rigid * arm.actuators.motor_inertia)
    Q = np.zeros_like(F)
    Q[:n, :n] = w**2 * total
    Q[k : k + n, k : k + n] = links + rigid
    Q[k + n : N, k + n : N] = rotors[np.ix_(elastic, elastic)]
    R = np.linalg.inv(total) / w**2
    Q, R = PERIOD * Q, PERIOD * R
    P = solve_discrete_are(F, G, Q, R)
    K = np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F)
    wanted = np.zeros((m, 4 * n))
    for at, columns in (
        (np.arange(n), np.arange(n)),
        (2 * n + elastic, np.arange(n, k)),
        (np.arange(n, 2 * n), np.arange(k, k + n)),
        (3 * n + elastic, np.arange(k + n, N)),
    ):
        wanted[:, at] = K[:, columns]
    scale = np.abs(wanted).max(axis=0)  # the columns have different units
    scale[scale == 0.0] = 1.0
    np.testing.assert_allclose(gains.values / scale, wanted / scale, atol=2e-4)
    np.testing.assert_allclose(np.hstack([*gains.past, np.zeros((m, 0))]), K[:, N:], atol=2e-4)


def test_a_delay_between_samples_lies_between_those_of_its_neighbours():
    arm = arms.linear_arm()
    found = [control.coupled_gains(*arm, 30.0, delay=d) for d in (1e-3, 1.5e-3, 2e-3)]
    assert [len(each.past) for each in found] == [1, 2, 2]
    first, between, last = (each.values for each in found)
    assert np.abs(between - 0.5 * (first + last)).max() < 0.1 * np.abs(last - first).max()


@pytest.mark.parametrize(
    "arm",
    [arms.nonlinear_arm, arms.antagonistic_arm, arms.pretensioned_arm, arms.variable_arm],
)
def test_every_kind_of_actuator_is_stable_with_them(arm):
    arm = arm()
    gains = control.coupled_gains(*arm, 25.0)
    poles = control.whole_arm_poles(arm.model, arm.actuators, gains, arm.rest)
    assert poles.real.max() < -1.0
    m = len(arm.actuators.motors)
    assert gains.values.shape == (m, 2 * (arm.model.n + m))


def test_one_bandwidth_scales_the_stiffness_with_its_square():
    """Slow feedback of a stiff arm: u = w^2 M_t e, as if the springs were rigid."""
    arm = arms.linear_arm()
    stiff = Actuators(arm.actuators.joint_names, (arms.series(4e6), arms.series(4e6)))
    floating = replace(arm.model, gravity=np.zeros(3))
    for w in (5.0, 10.0):
        gains = control.coupled_gains(floating, stiff, arm.rest, w, period=1e-5)
        total = mass_matrix(floating, arm.rest) + np.diag(stiff.motor_inertia)
        pull = gains.values[:, :2] + gains.values[:, 4:6]
        np.testing.assert_allclose(pull, w**2 * total, rtol=0.02)


def test_gains_joint_by_joint_are_a_special_case():
    arm = arms.antagonistic_arm()
    joint = control.optimal_gains(*arm, 20.0)
    found = control.CoupledGains.of_joints(joint, arm.actuators)
    np.testing.assert_array_equal(found.own(arm.actuators), joint.values)
    poles = control.whole_arm_poles(arm.model, arm.actuators, found, arm.rest)
    wanted = control.closed_loop_poles(arm.model, arm.actuators, arm.rest, joint)
    np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(wanted), rtol=1e-6)


def test_two_motors_of_a_joint_act_as_one():
    """Torques of links are shared; other joints use the mean of both motors."""
    arm = arms.antagonistic_arm()
    values = control.coupled_gains(*arm, 25.0, delay=1e-3).values
    np.testing.assert_allclose(values[1, :4], values[2, :4])
    np.testing.assert_allclose(values[0, 5], values[0, 6])  # of the shoulder, on their thetas
    assert values[1, 5] == pytest.approx(values[2, 6])
    assert values[1, 6] == values[2, 5] == 0.0  # each corrects its own


def test_wrong_arguments_are_rejected():
    arm, made = arms.linear_arm(), control.CoupledGains
    nan = np.full((1, 1, 1), np.nan)
    assert_rejected(
        (lambda: control.coupled_gains(*arm, -1.0), "bandwidth -1"),
        (lambda: control.coupled_gains(*arm, 20.0, delay=6e-3), "delay 6 ms"),
        (lambda: made(("a", "b"), np.zeros((3, 8)), np.zeros((0, 2, 2))), "expected 2 rows"),
        (lambda: made(("a",), np.zeros((1, 4)), nan), "past torques"),
    )
