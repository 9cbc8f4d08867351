# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The inverse of the flat map returns the motion given to the forward map."""

import numpy as np
import pytest

from flat_motions import MOTOR, at, mixed, motion, second_outputs
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import chain_state
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import Actuators, Rigid, SeriesElastic, motor_motion


def test_the_inverse_map_returns_the_chain_of_integrators():
    model, actuators = mixed()
    rigid, drive = actuators.is_rigid, actuators.motor_names.index("joint5_stiffness")
    for t in (0.0, 0.4, 1.1):
        state, torque = at(model, t)
        second = second_outputs(3, t, 800.0, 100.0)
        phi = actuators.settled_deflection(torque)
        motors = motor_motion(actuators, state, torque, second, deflection=phi)
        shown = second[:2].copy()
        shown[:, 1:] = 0.0  # the motors of the others determine it
        first = actuators.first_motor
        slope = actuators.friction_slope(motors.velocity)[first]
        inertia = actuators.motor_inertia[first]
        tau_rate = np.zeros(len(actuators.motors))
        tau_rate[first] = np.where(rigid, inertia * state[3] + torque[1] + slope * state[2], 0.0)
        found = chain_state(
            model, actuators, *state[:2], motors.position, motors.velocity, stiffness=shown,
            motor_torque=motors.torque, motor_torque_rate=tau_rate,
        )  # fmt: skip
        np.testing.assert_allclose(found[:4], state[:4], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.torque, torque[0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.torque_rate, torque[1], rtol=0, atol=1e-8)
        assert motors.deflection[drive] == 0.0


def test_the_inverse_map_of_springs_alone_needs_no_motor_torques():
    model, actuators = mixed(without=(Rigid,))
    actuators = Actuators(
        model.joint_names,
        [
            SeriesElastic(MOTOR, each.spring) if isinstance(each, SeriesElastic) else each
            for each in actuators.actuators
        ],
    )
    times = np.linspace(0.0, 1.0, 5)
    state = np.array([motion(model.n, t) for t in times])
    torque = dyn.inverse_dynamics(model, *np.moveaxis(state, 1, 0))
    second = second_outputs(3, 0.2, 800.0, 100.0)
    motors = motor_motion(actuators, state, torque, second)
    links, rates = (state[:, 0], state[:, 1]), (motors.position, motors.velocity)
    found = chain_state(model, actuators, *links, *rates, stiffness=second[:2])
    np.testing.assert_allclose(np.stack(found[:4], axis=1), state[:, :4], rtol=0, atol=1e-9)


def test_rigid_and_damped_joints_without_motor_torques_are_named():
    model, actuators = mixed()
    q, m = np.zeros(model.n), np.zeros(len(actuators.motors))
    stiffness = np.full((2, 3), 500.0)
    with pytest.raises(InputError, match=r"motor_torque is missing.*joint3, joint7"):
        chain_state(model, actuators, q, q, m, m, stiffness=stiffness)
    with pytest.raises(InputError, match=r"motor_torque_rate is missing.*joints joint7"):
        chain_state(model, actuators, q, q, m, m, stiffness=stiffness, motor_torque=m)
