# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Friction of links and motors: its law, rates, limits, and the flat map that carries it."""

from dataclasses import fields, replace

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from elastic_arms import exciting, linear_arm
from multibody_dynamics.dynamics.control.observers.integrator_chain import chain_state
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic.actuator_cycle import MotorFeedforward
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.flatness import motor_motion
from multibody_dynamics.dynamics.elastic.friction_law import (
    FRICTION_NAMES,
    Friction,
    friction_motion,
    friction_torque,
)
from multibody_dynamics.dynamics.elastic.kinds import Rigid, SeriesElastic
from multibody_dynamics.dynamics.elastic.motor import Motor
from multibody_dynamics.dynamics.elastic.springs import LinearSpring
from multibody_dynamics.dynamics.rigid.rnea import inverse_dynamics

FULL = Friction(
    viscous=1.5, coulomb=2.0, coulomb_velocity=0.04, stribeck=0.7, stribeck_velocity=0.1,
    load_friction=0.06, offset=-0.3,
)  # fmt: skip
MOTOR = Motor(0.3, viscous=0.4, coulomb=0.5, coulomb_velocity=0.1)


def stated(f: Friction, v, Q):
    """The law as the documentation states it, in mpmath."""
    size = Q * mpmath.tanh(Q / (f.coulomb + mpmath.mpf("0.1")))
    fading = mpmath.exp(-((v / f.stribeck_velocity) ** 2))
    level = f.coulomb + f.load_friction * size + f.stribeck * fading
    return f.viscous * v + level * mpmath.tanh(v / f.coulomb_velocity) + f.offset


@pytest.mark.parametrize("t", [0.0, 0.31, 1.7])
@pytest.mark.parametrize("f", [FULL, replace(FULL, coulomb=0.0), Friction(viscous=2.0)])
def test_the_rates_are_derivatives_of_the_stated_law(f, t):
    with mpmath.workdps(40):

        def v(t):
            return mpmath.mpf("0.05") * mpmath.sin(7 * t - 2)

        def Q(t):
            return 4 * mpmath.cos(3 * t) - 1

        def F(t):
            return stated(f, v(t), Q(t))

        wanted = [float(mpmath.diff(F, t, k)) for k in range(3)]
        motion, load = ([float(mpmath.diff(x, t, k)) for k in range(3)] for x in (v, Q))
    found = friction_motion(f.row, motion, load)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
    assert friction_torque(f.row, motion[0], load[0]) == pytest.approx(wanted[0], rel=1e-13)


@pytest.mark.parametrize("each", fields(Friction), ids=lambda each: each.name)
def test_impossible_numbers_are_named(each):
    if each.name != "offset":
        with pytest.raises(InputError, match=f"{each.name} of the friction must be .*, got -1"):
            Friction(**{each.name: -1.0})
    if each.name in FRICTION_NAMES and each.name != "offset":
        with pytest.raises(InputError, match=f"{each.name} of the motor must be .*, got -1"):
            Motor(0.1, **{each.name: -1.0})
    with pytest.raises(InputError, match=f"{each.name} of the friction"):
        Friction(**{each.name: np.inf})


def joints(link: Friction, motor: Motor = MOTOR) -> Actuators:
    elastic = SeriesElastic(motor, LinearSpring(400.0), link_friction=link)
    return Actuators(("a", "b"), (elastic, Rigid(motor, link_friction=link)))


def motion_and_torque(t: float):
    state, torque = np.zeros((5, 2)), np.zeros((3, 2))
    for k in range(5):
        state[k] = (
            0.2 * np.array([3.0, 4.0]) ** k * np.sin(np.array([3.0, 4.0]) * t + k * np.pi / 2)
        )
    for k in range(3):
        torque[k] = 9.0 * 2.0**k * np.sin(2.0 * t + 0.3 + k * np.pi / 2)
    return state, torque


def test_springs_and_motors_carry_the_friction_of_links_in_the_cycle_and_in_batches():
    actuators, h = joints(FULL), 1e-4
    rows = [motion_and_torque(0.2 + k * h) for k in (-1, 0, 1)]
    states, torques = (np.array(each) for each in zip(*rows, strict=True))
    batch = motor_motion(actuators, states, torques)
    flat = MotorFeedforward(actuators)
    for k in range(3):
        flat.state[:], flat.torque[:] = states[k], torques[k]
        one = flat.update()
        for name in ("position", "velocity", "acceleration", "torque"):
            np.testing.assert_allclose(getattr(one, name), getattr(batch, name)[k], rtol=1e-12)
    F = friction_torque(FULL.row, states[1, 1], torques[1, 0])
    np.testing.assert_allclose(
        batch.position[1, 0], states[1, 0, 0] + (torques[1, 0, 0] + F[0]) / 400
    )
    speed = (batch.position[2] - batch.position[0]) / (2 * h)
    np.testing.assert_allclose(batch.velocity[1], speed, rtol=1e-4)
    rate = (batch.velocity[2] - batch.velocity[0]) / (2 * h)
    np.testing.assert_allclose(batch.acceleration[1], rate, rtol=1e-4)
    loads = torques[1, 0] + F
    expected = 0.3 * batch.acceleration[1] + loads + actuators.friction(batch.velocity[1])
    np.testing.assert_allclose(batch.torque[1], expected, rtol=1e-12)
    with pytest.raises(InputError, match=r"joint 'a'.*third derivative"):
        motor_motion(actuators, states[:, :3], torques)


def test_without_these_terms_nothing_changes_by_a_bit():
    plain, none = joints(Friction()), joints(Friction(coulomb_velocity=0.2))
    state, torque = motion_and_torque(0.4)
    found = [motor_motion(each, state, torque) for each in (plain, none)]
    np.testing.assert_array_equal(found[0], found[1])
    assert MotorFeedforward(plain).carried.base is MotorFeedforward(plain).torque.base
    flat = MotorFeedforward(plain)
    assert flat.carried is flat.torque


def test_the_flat_map_and_its_inverse_agree_with_friction_of_links():
    arm = linear_arm()
    rows = tuple(replace(each, link_friction=FULL) for each in arm.actuators.actuators)
    actuators = Actuators(arm.model.joint_names, rows)
    state = exciting(arm, 0.4)(0.37)
    torque = np.stack(inverse_dynamics(arm.model, *state))
    motors = motor_motion(actuators, state, torque)
    found = chain_state(arm.model, actuators, *state[:2], motors.position, motors.velocity)
    np.testing.assert_allclose([found.qdd, found.qddd], state[2:4], rtol=1e-9)
    np.testing.assert_allclose([found.torque, found.torque_rate], torque[:2], rtol=1e-9)


def test_the_load_of_a_motor_adds_to_its_friction():
    motor = replace(MOTOR, load_friction=0.1)
    actuators = joints(Friction(), motor)
    v, load = np.array([0.5, -0.5]), np.array([20.0, 30.0])
    more = actuators.friction(v, load) - joints(Friction()).friction(v)
    np.testing.assert_allclose(more, 0.1 * load * np.tanh(v / 0.1), rtol=1e-12)
    np.testing.assert_allclose(
        actuators.friction_slope(v, load),
        (actuators.friction(v + 1e-6, load) - actuators.friction(v - 1e-6, load)) / 2e-6,
        rtol=1e-6,
    )


BENT = replace(FULL, presliding=0.02)


def along_motion(actuators: Actuators, times) -> np.ndarray:
    """(k, 3) F with two rates that the springs carry along `motion_and_torque`, at joint b."""
    flat, found = MotorFeedforward(actuators), []
    for t in times:
        flat.state[:], flat.torque[:] = motion_and_torque(t)
        flat.update()
        found.append((flat.carried - flat.torque)[:, 1])
        flat.advance(times[1] - times[0])
    return np.array(found)


def test_bristles_bend_along_the_desired_motion():
    """Dahl's equation, integrated by another method, in the law with its direction y for tanh."""
    h = 5e-4
    times = np.arange(0.0, 3.0, h)
    states, torques = (np.array(x) for x in zip(*map(motion_and_torque, times), strict=True))

    def bending(t, y):
        v = motion_and_torque(t)[0][1, 1]
        return (v - abs(v) * y) / BENT.presliding

    y = solve_ivp(bending, (0.0, 3.0), [0.0], t_eval=times, rtol=1e-9, atol=1e-9, max_step=5e-3).y[
        0
    ]
    v, Q = states[:, 1, 1], torques[:, 0, 1]
    level = 2.0 + 0.06 * Q * np.tanh(Q / 2.1) + 0.7 * np.exp(-((v / 0.1) ** 2))
    F, rate, acceleration = along_motion(joints(BENT), times).T
    np.testing.assert_allclose(F, 1.5 * v + level * y - 0.3, atol=5e-5)
    turns = np.flatnonzero(np.diff(np.sign(v)))
    assert len(turns) == 4
    between = np.ones(len(times), dtype=bool)
    between[[0, 1, -2, -1]] = False
    for k in turns:
        between[k - 3 : k + 5] = False
    for found, of in ((rate, F), (acceleration, rate)):
        error = np.abs(found - np.gradient(of, h))[between]
        assert error.max() < 2e-3 * np.abs(found).max()


def test_bristles_remember_rest_and_forget_at_a_new_motion():
    """Nothing moves them at rest, so nothing hunts; friction keeps the direction of the motion."""
    flat = MotorFeedforward(joints(replace(BENT, offset=0.0)))
    flat.state[1] = 0.5
    flat.update()
    assert not (flat.carried - flat.torque)[0, 0] > 1.5 * 0.5  # relaxed: only viscous friction
    for _ in range(400):
        flat.advance(1e-3)
    flat.state[1] = 0.0
    flat.update()
    held = flat.carried.copy()
    assert held[0] == pytest.approx(np.full(2, 2.7), rel=1e-4)
    for _ in range(3):
        flat.advance(1e-3)
        flat.update()
        np.testing.assert_array_equal(flat.carried, held)
    flat.settle()
    flat.update()
    np.testing.assert_array_equal(flat.carried, flat.torque)


def test_a_law_that_is_not_told_of_friction_has_the_same_states():
    actuators = joints(BENT)
    plain = actuators.without_link_friction()
    assert not plain.has_link_friction.any()
    assert plain.state_count == actuators.state_count == 4
