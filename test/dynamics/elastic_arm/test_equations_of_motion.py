# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The slope of the state of an arm with actuators, against its springs and forward dynamics."""

import numpy as np
import pytest

from elastic_arms import (
    antagonistic_arm,
    at_start,
    damped_arm,
    linear_arm,
    mixed_panda,
    nonlinear_arm,
    variable_arm,
)
from multibody_dynamics.dynamics.core.compilation import compiled
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic_arm.equations_of_motion import (
    ArmScratch,
    ArmState,
    ArmTables,
    arm_slope,
)
from multibody_dynamics.dynamics.rigid.aba import forward_dynamics

ARMS = [linear_arm, damped_arm, nonlinear_arm, variable_arm, antagonistic_arm, mixed_panda]
slope_of = compiled(arm_slope)


@pytest.mark.parametrize("make", ARMS)
def test_the_slope_satisfies_both_equations_of_motion(make):
    arm, rng = make(), np.random.default_rng(3)
    model, actuators = arm.model, arm.actuators
    n, m, joint = model.n, len(actuators.motors), actuators.joint_of_motor
    rigid = actuators.is_rigid[joint]
    (q, _, theta, _), second, _ = at_start(arm)
    q, theta = q + 0.02 * rng.normal(size=n), theta + 0.02 * rng.normal(size=m)
    qd, thetad = 0.5 * rng.normal(size=n), 0.5 * rng.normal(size=m)
    theta[rigid], thetad[rigid] = q[joint[rigid]], qd[joint[rigid]]
    tau, external = rng.normal(size=m), rng.normal(size=n)

    tables, scratch = ArmTables.of(model, actuators), ArmScratch.of(model, actuators)
    scratch.external[:] = external
    dx = np.zeros(2 * n + 2 * m)
    assert slope_of(tables, scratch, ArmState(q, qd, theta, thetad), second[:2].copy(), tau, dx)

    bent = actuators.springs(q, qd, theta, thetad, stiffness=second[:2], beyond="continue")
    torque, reflected = bent.torque.copy(), np.zeros(n)
    torque[joint[rigid]] = (tau - actuators.friction(thetad))[rigid]
    reflected[joint[rigid]] = actuators.motor_inertia[rigid]
    rotors = model.with_reflected_inertia(reflected)
    qdd = forward_dynamics(rotors, q, qd, torque + external)
    thetadd = actuators.motor_acceleration(thetad, bent.load, tau)
    thetadd[rigid] = qdd[joint[rigid]]
    np.testing.assert_allclose(scratch.torque, torque, atol=1e-12)
    np.testing.assert_allclose(dx, np.concatenate((qd, qdd, thetad, thetadd)), rtol=1e-10)


def test_a_rotor_is_not_counted_twice():
    arm = linear_arm()
    model = arm.model.with_reflected_inertia(np.full(arm.model.n, 0.1))
    with pytest.raises(InputError, match="the rotor would be counted twice"):
        ArmTables.of(model, arm.actuators)
