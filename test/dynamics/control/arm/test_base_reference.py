# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The motion of a base: through its points, C4, filtered where it is measured, and in an arm."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.control import Arm, BaseReference, Sample
from multibody_dynamics.dynamics.core import RequestError
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.resources import share_directory

SECOND = 10**9


def swaying(t):
    """A smooth pose (4, 4)."""
    w, p = (
        0.3 * np.sin(t) * np.array([0.5, 0.2, 1.0]),
        np.array([np.sin(t), 0.2 * t, np.cos(2 * t)]),
    )
    return se3.from_rotation_translation(se3.exp(np.concatenate((w, np.zeros(3))))[:3, :3], p)


def rates(t, h=1e-3):
    """Spatial twist and acceleration of `swaying`."""

    def twist(s):
        C = [swaying(s + k * h) @ se3.inverse(swaying(s)) for k in (-2, -1, 1, 2)]
        x = [se3.log(each) for each in C]
        return (x[0] - 8 * x[1] + 8 * x[2] - x[3]) / (12 * h)

    V = [twist(t + k * h) for k in (-2, -1, 1, 2)]
    return twist(t), (V[0] - 8 * V[1] + 8 * V[2] - V[3]) / (12 * h)


def points(times):
    poses = np.array([swaying(t) for t in times])
    both = [
        dyn.convert_twist(pose, list(rates(t)), "spatial", "hybrid")
        for t, pose in zip(times, poses, strict=True)
    ]
    V, A = np.array(both).swapaxes(0, 1)
    V[-1] = A[-1] = np.nan  # it comes to rest there
    return times, poses, np.where(np.isnan(V), 0.0, V), np.where(np.isnan(A), 0.0, A)


def test_a_planned_motion_passes_its_points_with_their_rates():
    base, times = BaseReference(), np.linspace(0.0, 2.0, 21)
    base.plan(5 * SECOND, *points(times))
    for t in times[:-1]:
        pose, found = base.at(5 * SECOND + round(SECOND * t))
        np.testing.assert_allclose(pose, swaying(t), atol=1e-9)
        for row, expected in zip(found, rates(t), strict=False):
            np.testing.assert_allclose(row, expected, atol=1e-6)
    h = 1e-4
    before, after = (base.at(5 * SECOND + round(SECOND * (0.73 + s)))[1].copy() for s in (-h, h))
    slope = (after - before)[:3] / (2 * h)
    np.testing.assert_allclose(slope, base.at(5_730_000_000)[1][1:], rtol=1e-3, atol=1e-3)


def test_a_new_plan_continues_the_motion_without_a_jump_up_to_the_jounce():
    base, times = BaseReference(), np.linspace(0.0, 2.0, 21)
    base.plan(SECOND, *points(times))
    before = [part.copy() for part in base.at(2 * SECOND)]
    base.plan(2 * SECOND, times[:8], np.array([swaying(t) for t in 1.0 + times[:8]]))
    for part, expected in zip(base.at(2 * SECOND), before, strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-9)


def test_a_measured_motion_is_differentiated_continued_and_then_at_rest():
    base = BaseReference(bandwidth=30.0, timeout=0.1)
    for k in range(1000):
        base.measure(SECOND + k * 2_000_000, swaying(0.002 * k))
    last = SECOND + 999 * 2_000_000
    pose, found = base.at(last + 10_000_000)
    expected = rates(2.008)
    np.testing.assert_allclose(pose, swaying(2.008), atol=1e-4)
    np.testing.assert_allclose(found[0], expected[0], atol=0.01)
    np.testing.assert_allclose(found[1], expected[1], atol=0.1)
    assert not base.at(last + 200_000_000)[1].any()


def test_a_steep_base_and_a_plan_in_the_past_are_refused():
    base = BaseReference()
    upright = se3.exp(np.array([0.0, 1.5, 0.0, 0.0, 0.0, 0.0]))
    with pytest.raises(RequestError, match="pitch 86 deg; up to 80 deg"):
        base.measure(SECOND, upright)
    base.plan(SECOND, *points(np.linspace(0.0, 1.0, 5)))
    with pytest.raises(RequestError, match="no point lies in the future"):
        base.plan(SECOND, np.array([-1.0, -0.5]), np.array([swaying(0.0)] * 2))


STEP, BEGIN = 1_000_000, 1_000_000_000  # ns
HOME = np.array([0.3, 0.5])


def ship(t):
    """Sways from rest on, with half a period per second."""
    s = min(t / 2.0, 1.0)
    s = s**5 * (126 - 420 * s + 540 * s**2 - 315 * s**3 + 70 * s**4)
    roll = se3.exp(np.array([0.15 * s * np.sin(np.pi * t), 0.0, 0.0, 0.0, 0.0, 0.0]))
    place = 0.2 * s * np.sin(1.3 * np.pi * t), 0.0, 0.1 * s * np.sin(np.pi * t + 0.5)
    return se3.from_rotation_translation(roll[:3, :3], np.array(place))


def held(known, measured=False):
    """The rms error in rad from 1.5 to 2.5 s."""
    share = share_directory() / "config"
    model = dyn.load_urdf(share / "robots/planar_two_link.urdf")
    actuators = dyn.load_actuators(share / "elastic_joints/planar_two_link.yaml", model.joint_names)
    times = np.arange(0.0, 5.0, 0.1)
    true = BaseReference()
    true.plan(BEGIN, times, np.array([ship(t) for t in times]))
    plant, arm = ElasticRobot(model, actuators), Arm(model, actuators)
    plant.reset(HOME)
    arm.design(HOME)
    arm.activate()
    if known:
        arm.base = BaseReference() if measured else true
    errors = []
    for k in range(2500):
        now = BEGIN + k * STEP
        if measured:
            arm.base.measure(now, true.at(now)[0])
        signals = {"link_position": plant.q.copy(), "motor_position": plant.theta.copy()}
        command = arm.update(Sample(now, signals | {"joint_torque": plant.joint_torque.copy()}))
        plant.move_base(*true.at(now + STEP // 2))
        plant.step(command.torque, 1e-3)
        errors.append(plant.q - HOME)
    return float(np.sqrt(np.mean(np.square(errors[1500:]))))


def test_the_known_motion_of_the_base_removes_the_error_that_it_causes():
    without = held(False)
    assert without > 5e-4
    assert held(True) < 0.01 * without
    assert held(True, measured=True) < 0.2 * without
