# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Positions that a joint cannot have reached since its last state."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control.arm.position_check import PositionCheck, position_checks
from multibody_dynamics.dynamics.control.signals.reach import lasting, reach
from multibody_dynamics.dynamics.motion.turns import TURN
from multibody_dynamics.resources import share_directory

ALL = np.arange(3)
NAMES = ("arm", "slide", "wheel")
SPEED = np.array([2.0, 0.5, np.inf])


def checked(factor=10.0):
    return PositionCheck(NAMES, SPEED, np.zeros(3), factor)


@given(
    st.floats(0.1, 100.0),
    st.floats(1e-4, 10.0),
    st.floats(-100.0, 100.0),
    st.floats(-0.999, 0.999),
    st.sampled_from([0, 1]),
)
def test_the_limit_is_sharp(factor, elapsed, old, share, k):
    check = checked(factor)
    allowed = reach(lasting(factor) * SPEED[k], 0.0, elapsed)
    joints, times = np.array([k]), np.array([elapsed])
    before = np.array([old])
    assert check.fault(joints, before, before + share * allowed, times) is None
    for sign in (-1.0, 1.0):
        text = check.fault(joints, before, before + sign * (1.001 * allowed + 1e-9), times)
        assert f"position of '{NAMES[k]}' changed from {old:.4g}" in text


def test_what_is_allowed_does_not_grow_until_a_position_is_accepted_again():
    """0.27 rad were accepted after 12.5 ms, and a turn after 0.31 s."""
    check, one = checked(), np.array([0])
    zero, ms = np.zeros(1), np.array([1e-3])
    for jump in (0.27, TURN):
        for elapsed in (1e-3, 0.1, 10.0):
            assert check.fault(one, zero, zero + jump, np.array([elapsed])) is not None
        assert check.fault(one, zero, zero + 0.03, np.array([0.1])) is None  # back again
        assert check.fault(one, zero, zero + 0.27, np.array([0.1])) is None
    assert check.fault(one, zero, zero + TURN, ms) is not None
    check.accept_next()
    assert check.fault(one, zero, zero + TURN, ms) is None
    assert check.fault(one, zero, zero + TURN, ms) is not None  # only once


def test_a_step_of_a_coarse_encoder_may_come_at_once():
    check, (zero, ms) = checked(), (np.zeros(3), 1e-3)
    step = 2.0 * np.pi / 2**6
    leap = np.array([0.0, step, 0.0])
    assert "'slide' changed from 0 to 0.098" in check.fault_of_all(zero, leap, ms, zero)
    check = checked()
    assert check.fault_of_all(zero, leap, ms, np.full(3, step)) is None
    assert check.fault_of_all(zero, 3.0 * leap, ms, np.full(3, step)) is not None


def test_the_first_position_of_a_joint_is_not_a_turn_beyond_its_limits():
    lower, upper = np.array([-2.5, 0.0, -np.inf]), np.array([2.5, 1.0, np.inf])
    check = PositionCheck(NAMES, SPEED, np.zeros(3), 10.0, lower=lower, upper=upper)
    none, ms = np.full(3, np.nan), np.full(3, 1e-3)
    for row in ([0.3, 0.5, 100.0], [-2.7, 1.2, 0.0]):  # a joint may be a bit beyond
        assert check.fault(ALL, none, np.array(row), ms) is None
    text = check.fault(ALL, none, np.array([0.3 - TURN, 0.5, 0.0]), ms)
    assert "position of 'arm' is -5.983, 3.483 beyond its limits" in text
    check.accept_next()
    assert check.fault(ALL, none, np.array([0.3 - TURN, 0.5, 0.0]), ms) is None


def test_what_is_not_checked():
    far = np.array([5.0, 5.0, 5.0])
    ms = np.full(3, 1e-3)
    zero = np.zeros(3)
    assert "'arm'" in checked().fault(ALL, zero, far, ms)
    assert checked(0.0).fault(ALL, zero, far, ms) is None  # off
    assert checked().fault(np.array([2]), zero[:1], far[:1], ms[:1]) is None  # no speed limit
    assert checked().fault(ALL, np.full(3, np.nan), far, ms) is None  # no state yet


def test_speeds_and_turns_are_those_of_the_robot():
    config = share_directory() / "config"
    model = dyn.load_urdf(config / "robots" / "panda.urdf")
    file = config / "elastic_joints" / "panda.yaml"
    actuators = dyn.load_actuators(file, model.joint_names)
    checks = position_checks(model, actuators)
    ms = np.array([1e-3])
    for side, names in (("links", model.joint_names), ("motors", actuators.motor_names)):
        checks[side].factor = 5.0
        speed = model.limits.velocity if side == "links" else actuators.speed_limit
        for k, name in enumerate(names):
            one = np.array([k])
            step = reach(lasting(5.0) * speed[k], 0.0, 1e-3)
            assert checks[side].fault(one, np.zeros(1), np.array([0.99 * step]), ms) is None
            if np.isfinite(step):
                text = checks[side].fault(one, np.zeros(1), np.array([1.01 * step]), ms)
                assert f"'{name}'" in text
