# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The torque that one step of an encoder causes through a law, and the resolution that it needs."""

import numpy as np
import pytest

from elastic_arms import at_start, law_of, linear_arm
from multibody_dynamics.dynamics.control.gains.joint_gains import at_rest
from multibody_dynamics.dynamics.control.laws.controller_settings import LAWS
from multibody_dynamics.dynamics.control.signals.derivative_filter import ORDERS, DerivativeFilter
from multibody_dynamics.dynamics.control.stability.step_torques import (
    needed_resolution,
    step_torques,
    velocity_peak,
)

PERIOD, BANDWIDTH, STEP = 1e-3, 100.0, 1e-4


@pytest.mark.parametrize("order", ORDERS)
def test_a_fast_cycle_sees_the_peak_of_the_continuous_filter(order):
    """Of s (1 - (s / (s + w))^order) after a step, by its inverse Laplace transform."""
    pole, t = 2.0 * np.pi * BANDWIDTH, np.linspace(0.0, 0.02, 4001)
    u = pole * t
    decay = pole * np.exp(-u)
    exact = {
        2: decay * u,
        3: decay * (3.0 * u - u**2),
        4: decay * (6.0 * u - 4.0 * u**2 + 0.5 * u**3),
    }[order]
    assert velocity_peak(order, BANDWIDTH, 1e-4) == pytest.approx(exact.max(), rel=0.05)


@pytest.mark.parametrize("law", LAWS)
def test_no_step_changes_a_torque_by_more_and_one_by_about_as_much(law):
    """Through the filter, with which the position follows a step before the velocity has peaked;
    a fifth is left to what laws remember, a hundredth to observers of disturbances."""
    arm = linear_arm()
    made, rest = law_of(arm, law, period=PERIOD), at_rest(*arm)
    (q, _, theta, _), second, _ = at_start(arm)
    n, m = len(q), len(theta)
    torques = step_torques(made, q, rest, velocity_peak(3, BANDWIDTH, PERIOD))
    desired = np.vstack((q, np.zeros((4, n))))
    for k in range(n + m):
        made.reset()
        filtered = DerivativeFilter(("q",) * (n + m), 3, BANDWIDTH, max_step=0.1)
        place, found = np.concatenate((q, theta)), []
        for cycle in range(40):
            shown = place + STEP * (np.arange(n + m) == k) * (cycle >= 10)
            x, v = filtered.update(cycle * PERIOD, shown)[:2]
            made.update(desired, x[:n], v[:n], x[n:], v[n:], stiffness=second, ahead=desired)
            found.append(made.torque.copy())
        peak = np.abs(np.array(found[10:13]) - found[9]).max() / STEP
        expected = torques[:, k].max()
        assert peak < 1.2 * expected + 0.01 * torques.max()
        assert 0.4 * expected < peak + 0.05 * torques.max()


def test_the_needed_resolution_changes_some_torque_by_its_limit():
    torques, limit = np.array([[100.0, 0.0, 1.0], [50.0, 0.0, 30.0]]), np.array([20.0, 5.0])
    np.testing.assert_allclose(needed_resolution(torques, limit), [0.1, np.inf, 1.0 / 6.0])


def test_a_motor_without_torque_leaves_the_resolution_to_the_others():
    torques, limit = np.array([[100.0, 0.0], [0.0, 0.0]]), np.array([20.0, 0.0])
    np.testing.assert_array_equal(needed_resolution(torques, limit), [0.2, np.inf])
