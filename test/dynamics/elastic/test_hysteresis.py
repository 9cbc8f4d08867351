# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Hysteresis: Maxwell slip integrated finely, and rates of deflections."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.elastic.actuator_cycle import MotorFeedforward, SpringSolver
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.hysteresis import CORNER, SlipElement
from multibody_dynamics.dynamics.elastic.kinds import SeriesElastic
from multibody_dynamics.dynamics.elastic.motor import Motor
from multibody_dynamics.dynamics.elastic.springs import CubicSpring, LinearSpring
from rejections import assert_rejected

ELEMENTS = tuple(SlipElement(150.0, 150.0 * x) for x in (0.004, 0.008, 0.012))
SPRINGS = LinearSpring(400.0), CubicSpring(400.0, 4e4)


def joint(spring, elements=ELEMENTS) -> Actuators:
    return Actuators(("a",), (SeriesElastic(Motor(0.3), spring, hysteresis=elements),))


def deflections(actuators: Actuators, torque, times) -> np.ndarray:
    """(k, 3) phi, phi', phi'' of the flat map along Q(t), with the links at rest."""
    flat, found = MotorFeedforward(actuators), []
    for t in times:
        flat.torque[:, 0] = torque(t)
        command = flat.update()
        found.append([*command.position, *command.velocity, *command.acceleration])
        flat.advance(times[1] - times[0])
    return np.array(found)


def sweep(t):
    """Q, Q', Q'' with loops within loops."""
    a, b, w, v = 12.0, 5.0, 2.0, 9.0
    return (
        a * np.sin(w * t) + b * np.sin(v * t),
        a * w * np.cos(w * t) + b * v * np.cos(v * t),
        -a * w * w * np.sin(w * t) - b * v * v * np.sin(v * t),
    )


@pytest.mark.parametrize("spring", SPRINGS, ids=("linear", "cubic"))
def test_spring_and_elements_carry_the_torque(spring):
    """Maxwell elements with sharp corners, moved by the deflections found, carry the rest of Q."""
    times = np.arange(0.0, 4.0, 1e-3)
    phi = deflections(joint(spring), sweep, times)[:, 0]
    slipped, rest = np.zeros(3), []
    torques = np.array([each.torque for each in ELEMENTS])
    before = spring.deflection(sweep(0.0)[0])
    for x in phi:
        slipped = np.clip(slipped + 150.0 * (x - before), -torques, torques)
        before = x
        rest.append(slipped.sum())
    Q = np.array([sweep(t)[0] for t in times])
    misfit = np.abs(Q - spring.torque(phi, beyond="continue") - rest)
    corner = (1.0 - CORNER) * torques.sum()  # largest deviation of a rounded corner
    assert misfit.max() < corner
    assert np.sqrt((misfit**2).mean()) < 0.3 * corner


def test_the_torque_does_not_depend_on_the_rate():
    actuators = joint(SPRINGS[0])
    coarse = deflections(actuators, sweep, np.arange(0.0, 4.0, 4e-3))[:, 0]
    fine = deflections(actuators, sweep, np.arange(0.0, 4.0, 5e-4))[::8, 0]
    np.testing.assert_allclose(coarse, fine, atol=2e-5)
    slow = deflections(actuators, lambda t: sweep(0.1 * t), np.arange(0.0, 40.0, 4e-2))[:, 0]
    np.testing.assert_allclose(slow, coarse, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("spring", SPRINGS, ids=("linear", "cubic"))
def test_the_rates_are_derivatives_of_the_deflection_between_reversals(spring):
    h = 2e-4
    times = np.arange(0.0, 1.6, h)
    phi, rate, acceleration = deflections(joint(spring), sweep, times).T
    numeric = np.gradient(phi, h)
    assert np.abs(rate - numeric)[1:-1].max() < 2e-3 * np.abs(rate).max()
    second = np.gradient(rate, h)
    turns = np.flatnonzero(np.diff(np.sign([sweep(t)[1] for t in times])))
    smooth = np.ones(len(times), dtype=bool)
    smooth[[0, 1, -1, -2]] = False
    for k in turns:
        smooth[k - 3 : k + 5] = False
    error = np.abs(acceleration - second)[smooth]
    assert error.max() < 0.05 * np.abs(acceleration).max()
    assert np.isfinite(acceleration).all()


def test_at_rest_it_stays_and_a_new_motion_begins_relaxed():
    flat = MotorFeedforward(joint(SPRINGS[0]))
    flat.torque[:, 0] = 10.0, 0.0, 0.0
    first = flat.update().position.copy()
    assert first == pytest.approx(10.0 / 400.0, rel=1e-14)
    for torque in (30.0, 5.0, 10.0):
        flat.torque[0] = torque
        flat.update()
        flat.advance(1e-3)
    held = flat.update().position.copy()
    flat.advance(1e-3)
    np.testing.assert_allclose(flat.update().position, held, rtol=1e-13)
    assert abs(held - first) > 1e-3
    flat.settle()
    assert flat.update().position == pytest.approx(first, rel=1e-14)


def test_measured_springs_carry_the_elements_of_the_reference_as_well():
    actuators = joint(SPRINGS[0])
    flat, springs = MotorFeedforward(actuators), SpringSolver(actuators)
    for torque in (30.0, 22.0):
        flat.torque[0] = torque
        theta = flat.update().position
        flat.advance(1e-3)
    springs.theta[:], springs.states[:] = theta, flat.states
    springs.update()
    np.testing.assert_allclose([springs.torque, springs.load], [[22.0], [22.0]], rtol=1e-12)


def test_wrong_elements_are_named():
    positive = "of the hysteresis greater than zero"
    assert_rejected(
        (lambda: SlipElement(stiffness=0.0, torque=1.0), f"stiffness {positive}"),
        (lambda: SlipElement(stiffness=1.0, torque=0.0), f"torque {positive}"),
        (lambda: joint(SPRINGS[0], (1.0,)), "hysteresis sequence of SlipElement"),
        (lambda: SeriesElastic(Motor(0.3), SPRINGS[0], 1.0, ELEMENTS), "both damping hysteresis"),
    )


@pytest.mark.parametrize("spring", SPRINGS, ids=("linear", "cubic"))
def test_elements_that_follow_measured_deflections_carry_the_same_torque(spring):
    """The inverse of the flat map: along its deflections, springs and elements carry Q."""
    actuators, times = joint(spring), np.arange(0.0, 3.0, 1e-3)
    solver = SpringSolver(actuators)
    for phi, t in zip(deflections(actuators, sweep, times)[:, 0], times, strict=True):
        solver.theta[0] = phi
        solver.update()
        solver.follow_slip()
        solver.update()
        assert solver.torque[0] == pytest.approx(sweep(t)[0], abs=1e-9)
        assert solver.load[0] == solver.torque[0]
