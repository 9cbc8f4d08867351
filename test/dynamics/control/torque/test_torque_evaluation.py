# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Measures of torque control: closed forms, limits of motors, and what cannot be evaluated."""

import numpy as np
import pytest

from elastic_arms import elastic_panda
from multibody_dynamics.dynamics.control import (
    TORQUE_DESIGNS,
    LoopTiming,
    TorqueJoint,
    TorqueLimits,
    evaluate_torque,
    inertia_shaping_gains,
    single_joints,
    torque_observer_gains,
)
from multibody_dynamics.dynamics.control.torque.torque_evaluation import half_power
from multibody_dynamics.dynamics.control.torque.torque_gains import unstable_loop
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import Motor
from single_joint import single_joint

M, K, V, LINK = 0.45, 3000.0, 1.0, 0.5
QUIET = LoopTiming(period=1e-4, velocity_filter=(2, 2000.0))
MEASURED = LoopTiming(delay=1e-3, velocity_filter=(3, 100.0))


def test_measures_of_inertia_shaping_are_those_of_the_shaped_motor():
    arm, w = single_joint(LINK, Motor(M), K), 150.0
    (single,) = single_joints(*arm)
    gains = inertia_shaping_gains(*arm, w, timing=QUIET)
    found = evaluate_torque(single, gains, QUIET, resolution=1e-5)
    apparent = K / w**2
    assert found.apparent_inertia == pytest.approx(apparent)
    assert found.bandwidth == pytest.approx(w / (2.0 * np.pi), rel=0.02)
    assert found.rendered_inertia == pytest.approx(apparent, rel=0.01)
    assert found.rendered_stiffness == pytest.approx(K, rel=0.01)
    assert found.gain_free == pytest.approx(LINK / (LINK + apparent), rel=1e-3)
    assert found.peak == pytest.approx(1.0, abs=0.01)
    assert found.bandwidth_with_rates > 10.0 * found.bandwidth


def test_the_observer_takes_its_share_of_the_rendered_inertia():
    arm = single_joint(LINK, Motor(M), K)
    (single,) = single_joints(*arm)
    gains = torque_observer_gains(*arm, 150.0, observer=10.0, observer_share=0.8, timing=QUIET)
    found = evaluate_torque(single, gains, QUIET, resolution=1e-5)
    assert found.rendered_inertia == pytest.approx(0.2 * found.apparent_inertia, rel=0.02)
    assert found.first_violation > 0.0


def test_noise_is_proportional_to_the_resolution():
    (single, *_) = single_joints(*elastic_panda())
    gains = inertia_shaping_gains(*elastic_panda(), timing=MEASURED)
    fine, coarse = (
        evaluate_torque(single, gains, MEASURED, resolution=r, points=5).noise for r in (1e-5, 3e-5)
    )
    np.testing.assert_allclose(coarse, 3.0 * fine, rtol=1e-9)
    with pytest.raises(InputError, match="velocity_filter is None"):
        evaluate_torque(single, gains, LoopTiming(), resolution=1e-5)


@pytest.mark.parametrize("design", TORQUE_DESIGNS)
def test_the_delay_margin_separates_stable_from_unstable(design):
    arm = single_joint(LINK, Motor(M, viscous=V), K)
    (single,) = single_joints(*arm)
    gains = TORQUE_DESIGNS[design](*arm, timing=MEASURED)
    margin = evaluate_torque(single, gains, MEASURED, resolution=1e-5, points=5).delay_margin
    assert margin > MEASURED.period  # as the designs promise

    def with_delay(extra: float):
        timing = LoopTiming(delay=MEASURED.delay + extra, velocity_filter=(3, 100.0))
        return unstable_loop(single, single.servo(gains, timing))

    assert with_delay(0.95 * margin) is None
    assert with_delay(1.1 * margin + 2e-4) is not None


def test_half_power_interpolates():
    hertz = np.geomspace(0.1, 100.0, 50)
    low_pass = 1.0 / (1.0 + 1j * hertz / 7.0)
    assert half_power(hertz, low_pass) == pytest.approx(7.0, rel=5e-3)
    assert half_power(hertz, 3.0 * low_pass) == pytest.approx(7.0, rel=5e-3)
    assert half_power(hertz, np.ones(50, dtype=complex)) == np.inf


# Limits


def test_limits_in_closed_form():
    """|tau| = A |1 - (w / w_n)^2 + i w V / K| and |theta'| = A w / K."""
    motor = Motor(M, coulomb=2.0, torque_limit=60.0, speed_limit=3.0)
    limits = TorqueLimits(TorqueJoint(inertia=M, stiffness=K, viscous=V), motor, load=-8.0)
    assert limits.available == 50.0
    hertz = np.array([0.0, 5.0, 13.0, 40.0])
    w, A = 2.0 * np.pi * hertz, 20.0
    torque, speed = limits.use(A, hertz)
    np.testing.assert_allclose(torque, A * np.abs(1.0 - w**2 * M / K + 1j * w * V / K) / 50.0)
    np.testing.assert_allclose(speed, A * w / K / 3.0)
    np.testing.assert_allclose(limits.largest(hertz), A / np.maximum(torque, speed))


def test_the_large_torque_bandwidth_is_the_first_limit_met():
    fast = Motor(M, torque_limit=60.0)
    joint = TorqueJoint(inertia=M, stiffness=K)
    limits = TorqueLimits(joint, fast)
    for A in (5.0, 30.0, 59.0):
        w = joint.resonance * np.sqrt(1.0 + 60.0 / A)
        assert limits.bandwidth(A) == pytest.approx(w / (2.0 * np.pi), rel=1e-6)
    assert limits.bandwidth(61.0) == 0.0
    slow = TorqueLimits(joint, Motor(M, torque_limit=60.0, speed_limit=0.5))
    assert slow.bandwidth(30.0) == pytest.approx(0.5 * K / 30.0 / (2.0 * np.pi), rel=1e-6)
    assert TorqueLimits(joint, Motor(M)).bandwidth(1e3) == np.inf
    assert TorqueLimits(joint, Motor(M, torque_limit=1.0), load=2.0).bandwidth(0.1) == 0.0
