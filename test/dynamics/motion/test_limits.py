# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Limits are per second, not per cycle; clips are reported; non-finite values are rejected."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics.dynamics.model.multibody_model import JointLimits
from multibody_dynamics.dynamics.motion.limits import (
    JointCommandLimits,
    LimitEvent,
    check_motion,
    check_reference,
    distance_to_limits,
)
from multibody_dynamics.dynamics.motion.trajectories import interpolate
from rejections import assert_rejected

JOINTS = ("shoulder", "elbow", "wrist")
COMMANDS = JointCommandLimits(JOINTS, torque=[87, 87, 12], torque_rate=[1000, 500, np.inf])
MOTION = JointLimits(
    lower=np.array([-2.0, -np.inf, 0.0]),
    upper=np.array([2.0, np.inf, 1.0]),
    velocity=np.array([1.5, 2.0, np.inf]),
    effort=np.full(3, np.inf),
)
properties = settings(max_examples=50, deadline=None, derandomize=True)
torques = st.lists(st.floats(-200, 200), min_size=3, max_size=3).map(np.array)


def test_permitted_values_pass_unchanged() -> None:
    torque, previous = np.array([10.0, -20.0, 12.0]), np.array([9.5, -20.0, -12.0])
    limited, events = COMMANDS.apply(torque, previous, 1e-3)
    np.testing.assert_array_equal(limited, torque)
    assert events == ()


def test_each_clip_is_reported_with_joint_quantity_value_and_limit() -> None:
    limited, events = COMMANDS.apply(np.array([100.0, -3.0, -13.0]), np.array([86.5, 0, 0]), 1e-3)
    np.testing.assert_allclose(limited, [87.0, -0.5, -12.0])
    assert events == (
        LimitEvent("shoulder", "torque", 100.0, 87.0),
        LimitEvent("wrist", "torque", -13.0, -12.0),
        LimitEvent("elbow", "torque rate", -3000.0, -500.0),
    )
    assert str(events[2]) == "elbow: torque rate -3000, limit -500"


@pytest.mark.parametrize("period", [1e-3, 4e-3])
def test_a_step_becomes_the_same_ramp_at_every_loop_rate(period: float) -> None:
    wanted, torque = np.array([60.0, -40.0, 5.0]), np.zeros(3)
    for k in range(1, round(0.1 / period) + 1):
        torque, _ = COMMANDS.apply(wanted, torque, period)
        t = k * period
        expected = [min(60.0, 1000 * t), max(-40.0, -500 * t), 5.0]
        np.testing.assert_allclose(torque, expected, atol=1e-10)


def test_a_lowered_torque_limit_is_approached_without_a_jump() -> None:
    limited, events = JointCommandLimits(["axis"], torque=[10], torque_rate=[100]).apply(
        np.array([50.0]), np.array([50.0]), 0.01
    )
    np.testing.assert_allclose(limited, [49.0])
    assert [event.quantity for event in events] == ["torque", "torque rate"]


@given(torques, st.floats(-1, 1), st.floats(1e-4, 0.1))
@properties
def test_limits_hold_and_clipping_twice_changes_nothing(
    torque: np.ndarray, part: float, dt: float
) -> None:
    previous = part * COMMANDS.torque
    limited, events = COMMANDS.apply(torque, previous, dt)
    assert (np.abs(limited) <= COMMANDS.torque).all()
    assert (np.abs(limited - previous) <= COMMANDS.torque_rate * dt * (1 + 1e-9) + 1e-12).all()
    again, nothing = COMMANDS.apply(limited, previous, dt)
    np.testing.assert_array_equal(again, limited)
    assert nothing == ()
    assert {event.joint for event in events} == {
        joint for joint, x, y in zip(JOINTS, torque, limited, strict=True) if x != y
    }


def test_without_limits_nothing_is_clipped() -> None:
    torque = np.array([1e9, -1e9, 0.0])
    limited, events = JointCommandLimits(JOINTS).apply(torque, np.zeros(3), 1e-3)
    np.testing.assert_array_equal(limited, torque)
    assert events == ()


def test_motor_speed_is_clipped_and_reported() -> None:
    limits = JointCommandLimits(JOINTS, motor_speed=[2, 2, np.inf])
    limited, events = limits.apply_speed(np.array([3.0, -1.0, 50.0]))
    np.testing.assert_array_equal(limited, [2.0, -1.0, 50.0])
    assert events == (LimitEvent("shoulder", "motor speed", 3.0, 2.0),)


@pytest.mark.parametrize("given", [list, lambda rows: np.array(rows, dtype=np.float64)])
def test_invalid_torques_and_times_are_rejected(given) -> None:
    def apply(torque=(0, 0, 0), previous=(0, 0, 0), dt=1e-3):
        return lambda: COMMANDS.apply(given(torque), given(previous), dt)

    assert_rejected(
        (apply([0, np.nan, 0]), "torque elbow nan"),
        (apply([0, 0, np.inf]), "torque wrist inf"),
        (apply(previous=[-np.inf, 0, 0]), "previous torque shoulder inf"),
        (apply([0, 0]), "torque: expected"),
        (apply([[0, 0, 0]]), "torque: expected"),
        (apply(dt=0.0), "dt is 0"),
        (apply(dt=-1e-3), "dt is -0.001"),
        (apply(dt=np.nan), "dt is nan"),
    )


def test_invalid_limits_are_rejected() -> None:
    def limits(**wrong):
        return lambda: JointCommandLimits(JOINTS, **wrong)

    assert_rejected(
        (limits(torque=[1, -1, 1]), "torque of joint 'elbow'"),
        (limits(torque_rate=[1, 1, 0]), "torque_rate of joint 'wrist'"),
        (limits(motor_speed=[np.nan, 1, 1]), "motor_speed of joint 'shoulder'"),
        (limits(torque=[1, 1]), "torque: expected 3 limits"),
        (limits(torque=5.0), "torque: expected 3 limits"),
        (limits(torque=[1, 1, 1j]), "torque: expected real numbers"),
        (lambda: COMMANDS.apply(np.ma.masked_less(np.zeros(3), 1.0), np.zeros(3), 0.1), "masked"),
        (limits(motor_speed=["1", "1", "1"]), "motor_speed: expected real numbers"),
    )


def test_immutable() -> None:
    mine = np.array([1.0, 2.0, 3.0])
    limits = JointCommandLimits(JOINTS, torque=mine)
    mine[0] = 99.0
    assert limits.torque[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        limits.torque[0] = 5.0
    with pytest.raises(AttributeError):
        limits.torque = mine


def test_motion_beyond_limits_is_named() -> None:
    inside = np.array([[2.0, 50.0, 0.0], [-1.5, 2.0, 99.0]])
    assert check_motion(JOINTS, MOTION, inside) == ()
    outside = np.array([[-2.1, 50.0, 1.2], [0.0, -2.5, 0.0], [0.0, 0.0, 0.0]])
    assert check_motion(JOINTS, MOTION, outside) == (
        LimitEvent("shoulder", "position", -2.1, -2.0),
        LimitEvent("wrist", "position", 1.2, 1.0),
        LimitEvent("elbow", "velocity", -2.5, -2.0),
    )
    nan = np.array([[0.0, np.nan, 0.5], [np.nan, 0.0, 0.0]])
    found = [(event.joint, event.quantity) for event in check_motion(JOINTS, MOTION, nan)]
    assert found == [("elbow", "position"), ("shoulder", "velocity")]


def test_a_reference_is_checked_by_its_extremes() -> None:
    slow = interpolate(JOINTS, [0, 4], [[-2, 0, 0], [0, 1, 1]])
    assert check_reference(MOTION, slow) == ()
    fast = interpolate(JOINTS, [0, 1, 2], [[0, 0, 0.5], [0, 2, 0.5], [0, 0, 0.5]])
    back, forth = check_reference(MOTION, fast)
    assert (back.joint, back.quantity, back.allowed) == ("elbow", "velocity", -2.0)
    assert (forth.joint, forth.quantity, forth.allowed) == ("elbow", "velocity", 2.0)
    assert back.wanted == pytest.approx(-forth.wanted)


def test_distance_to_the_nearer_limit() -> None:
    distance = distance_to_limits(MOTION, np.array([1.5, 1e6, -0.25]))
    np.testing.assert_array_equal(distance, [0.5, np.inf, -0.25])
