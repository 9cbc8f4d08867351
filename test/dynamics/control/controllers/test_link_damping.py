# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The stop from link states alone: its poles on whole arms, the limit of its damping, a motion."""

from dataclasses import replace

import numpy as np
import pytest

import elastic_arms as arms
from multibody_dynamics.dynamics.control.controllers.link_damping import LinkDampingController
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from rejections import assert_rejected

ALL = [
    arms.linear_arm, arms.nonlinear_arm, arms.antagonistic_arm, arms.damped_arm,
    arms.elastic_panda, arms.mixed_panda, *arms.OTHER_ARMS,
]  # fmt: skip


def poles(arm: arms.Arm, rates: float = 1.0, **settings) -> np.ndarray:
    """Poles of the whole arm near rest, by differences of its equations; the law's rates times
    a factor."""
    law = LinkDampingController(arm.model, arm.actuators, **settings)
    law.rates *= rates
    state, second, _ = arms.at_start(arm)
    law.stiffness[:] = second
    x0, n = np.concatenate(state), arm.model.n

    def rate(x: np.ndarray) -> np.ndarray:
        torque = law.update(None, x[:n], x[n : 2 * n], None, None)
        return arms.slope(arm, x, torque, second[:2])

    np.testing.assert_allclose(rate(x0), 0.0, atol=1e-6)
    steps = 1e-6 * np.eye(len(x0))
    for i in np.flatnonzero(arm.actuators.is_rigid):  # theta is q there
        j = 2 * n + arm.actuators.first_motor[i]
        steps[i, j] = steps[n + i, j + len(arm.actuators.motors)] = 1e-6
    free = [k for k in range(len(x0)) if k < 2 * n or not rigid_entry(arm, k)]
    A = np.array([rate(x0 + steps[k]) - rate(x0 - steps[k]) for k in free]).T[free] / 2e-6
    return np.linalg.eigvals(A)


def rigid_entry(arm: arms.Arm, k: int) -> bool:
    motor = (k - 2 * arm.model.n) % len(arm.actuators.motors)
    return bool(arm.actuators.is_rigid[arm.actuators.joint_of_motor[motor]])


@pytest.mark.parametrize("arm", ALL)
def test_all_poles_are_stable_except_the_zero_ones_of_the_position(arm):
    arm = arms.without_coulomb(arm())
    found = poles(arm)
    at_rest = np.abs(found) < 1e-3
    assert at_rest.sum() == arm.model.n  # gravity alone holds the arm wherever it is
    assert found[~at_rest].real.max() < -0.02


def test_motor_friction_limits_the_damping_through_springs():
    """Routh-Hurwitz: D < V M / B; for the momenta C < V / B, if it is the same for all joints."""
    arm = arms.without_coulomb(arms.elastic_panda())
    rate = np.array([motor.viscous / motor.inertia for motor in arm.actuators.motors])
    arm = arm._replace(actuators=with_friction(arm.actuators, rate.min()))
    just_below, just_above = (poles(arm, factor).real.max() for factor in (2 * 0.99, 2 * 1.01))
    assert abs(just_below) < 1e-3  # the poles at this configuration
    assert just_above > 1e-3


def with_friction(actuators: Actuators, rate: float) -> Actuators:
    """The same actuators, with viscous friction of `rate` times the inertia in every motor."""
    each = [
        replace(a, motor=replace(a.motor, viscous=rate * a.motor.inertia))
        for a in actuators.actuators
    ]
    return Actuators(actuators.joint_names, tuple(each))


@pytest.mark.parametrize("arm", [arms.linear_arm, arms.antagonistic_arm, arms.mixed_panda])
def test_an_arm_in_motion_is_slowed_down_and_held_against_gravity(arm):
    """The torques stay within their limits."""
    arm = arm()
    law = LinkDampingController(arm.model, arm.actuators)
    plant, speeds = arms.HeldPlant(arm), []
    (q, _, theta, _), second, _ = arms.at_start(arm)
    plant.stiffness[:] = second[:2]
    qd = np.full(arm.model.n, 0.2)
    plant.reset(np.concatenate((q, qd, theta, qd[arm.actuators.joint_of_motor])))
    for _ in range(1500):
        links = plant.state[:2]
        torque = law.update(None, *links, None, None, stiffness=second)
        assert (np.abs(torque) <= arm.actuators.torque_limit).all()
        plant.step(torque, 1e-3)
        speeds.append(np.abs(links[1]).max())
    assert max(speeds[-100:]) < 0.5 * max(speeds[:100])
    assert np.abs(plant.state[0] - q).max() < 0.4


def test_arms_that_cannot_be_stopped_without_motor_states_are_rejected():
    arm, variable = arms.linear_arm()[:2], arms.variable_arm()[:2]
    assert_rejected(
        (lambda: LinkDampingController(*arm, share=1.0), "share 1"),
        (lambda: LinkDampingController(*arm, stop_time=0.0), "stop_time 0"),
        (lambda: LinkDampingController(*variable), "sets a stiffness"),
    )
