# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The linearised arm against formulas for one joint, and matrices assembled by hand."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.elastic import Motor, Rigid, SeriesElastic
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.linear_arm import LinearArm
from multibody_dynamics.dynamics.elastic.springs import LinearSpring
from rejections import assert_rejected

LINK, MOTOR, K = 0.8, 0.3, 500.0


def one(damping: float = 0.0) -> LinearArm:
    """A single elastic joint."""
    joint = SeriesElastic(Motor(MOTOR), LinearSpring(K), damping=damping)
    arm = LinearArm(Actuators(("a",), (joint,)), np.array([[LINK]]))
    arm.stiffness += arm.between(np.array([K]))
    return arm


def test_a_free_joint_swings_at_its_resonance():
    values, shapes = one().modes()
    k = int(values.imag.argmax())
    assert values[k] == pytest.approx(1j * np.sqrt(K / LINK + K / MOTOR), abs=1e-9)
    assert shapes[1, k] / shapes[0, k] == pytest.approx(-LINK / MOTOR, rel=1e-9)
    assert np.sum(np.abs(values) < 1e-6) == 2  # the motion of the whole arm


def test_a_damper_between_motor_and_link_damps_only_the_swing():
    damping = 4.0
    both = 1.0 / LINK + 1.0 / MOTOR
    expected = np.roots([1.0, damping * both, K * both])
    found = one(damping).poles()
    for pole in expected:
        assert np.abs(found - pole).min() < 1e-8
    assert np.sum(np.abs(found) < 1e-6) == 2


def test_feedback_gives_the_poles_of_the_characteristic_polynomial():
    gains = np.array([[-20.0], [-1.0], [300.0], [12.0]])
    arm = one()
    arm.add_feedback(gains)
    g0, g1, g2, g3 = gains[:, 0]
    link, motor = np.array([LINK, 0.0, K]), np.array([MOTOR, g3, K + g2])
    polynomial = np.polysub(np.polymul(link, motor), np.polymul([K], [-g1, K - g0]))
    np.testing.assert_allclose(np.sort_complex(arm.poles()), np.sort_complex(np.roots(polynomial)))


def test_a_rigid_joint_carries_its_rotor_and_has_no_motor_of_its_own():
    mass = np.array([[2.0, 0.4], [0.4, 0.7]])
    joints = Rigid(Motor(MOTOR)), SeriesElastic(Motor(0.1), LinearSpring(K))
    arm = LinearArm(Actuators(("a", "b"), joints), mass)
    arm.stiffness += arm.between(np.array([np.pi, K]))  # pi is on a rigid joint, without effect
    arm.stiffness[arm.links, arm.links] += (30.0, 20.0)
    arm.damping[arm.motors, arm.motors] += (0.5, 0.2)
    values, shapes = arm.modes()
    assert len(values) == 6
    M = np.array([[2.0 + MOTOR, 0.4, 0.0], [0.4, 0.7, 0.0], [0.0, 0.0, 0.1]])
    S = np.array([[30.0, 0.0, 0.0], [0.0, 20.0 + K, -K], [0.0, -K, K]])
    D = np.diag([0.5, 0.0, 0.2])
    for value, shape in zip(values, shapes[[0, 1, 3]].T, strict=True):
        residual = (value**2 * M + value * D + S) @ shape
        assert np.abs(residual).max() < 1e-9 * np.abs(value**2 * M).max()
    assert not shapes[2].any()
    np.testing.assert_allclose(np.sort_complex(arm.poles()), np.sort_complex(values))


def test_joints_that_can_move_without_inertia_are_named():
    """Two joints about one axis with a massless link between them: M is singular."""
    spring = SeriesElastic(Motor(0.1), LinearSpring(K))
    actuators = Actuators(("base", "roll", "yaw"), (spring,) * 3)
    mass = np.array([[2.0, 0.3, 0.3], [0.3, 0.7, 0.7], [0.3, 0.7, 0.7]])
    assert_rejected((LinearArm(actuators, mass).state_space, "singular: 'roll' and 'yaw' lock"))
    mass[2, 2] += 1e-6  # a small inertia is enough
    LinearArm(actuators, mass).state_space()
    standing = LinearArm(actuators, np.diag([0.0, 2.0, 0.7, 0.7]))  # on a base that weighs nothing
    assert_rejected((standing.state_space, "singular: the base"))
