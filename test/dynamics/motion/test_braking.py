# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Paths to rest: continuous, at rest at their end, within limits, found with few trials."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elastic_arms as arms
from multibody_dynamics.dynamics.core.errors import TrajectoryError
from multibody_dynamics.dynamics.elastic import motor_motion, resting_second_outputs
from multibody_dynamics.dynamics.motion import braking
from multibody_dynamics.dynamics.motion.braking import brake
from multibody_dynamics.dynamics.motion.trajectories import hold, interpolate, stop
from multibody_dynamics.dynamics.rigid import inverse_dynamics
from rejections import assert_rejected

NAMES = ("a", "b", "c")
ARMS = (
    arms.antagonistic_arm, arms.damped_arm, arms.elastic_panda, arms.mixed_panda,
    arms.nonlinear_arm, arms.pretensioned_arm, arms.variable_arm,
)  # fmt: skip


def moving_state(seed: int, share: float):
    """A state of a motion between points, as a controller meets it."""
    rng = np.random.default_rng(seed)
    points = np.cumsum(rng.normal(size=(5, 3)), axis=0)
    return interpolate(NAMES, np.arange(5.0), points)(4.0 * share)


@given(seed=st.integers(0, 10_000), share=st.floats(0.02, 0.98))
def test_any_motion_ends_at_rest_within_its_limits(seed, share):
    state = moving_state(seed, share)
    path = brake(NAMES, state, 2.0, [3.0, 4.0, 5.0])
    np.testing.assert_array_equal(path(2.0), state)
    assert path.is_at_rest_at_end
    allowed = np.maximum([3.0, 4.0, 5.0], np.abs(state[2]))
    excess = peak(path, allowed)
    # 16 points see the peak to some per cent; if none of the durations fits, the best one is taken
    rows = (stop(path, 2.0, duration=each) for each in durations(state, [3.0, 4.0, 5.0]))
    assert excess <= 1.15 * max(1.0, min(peak(other, allowed) for other in rows))


def durations(state, limits):
    """The durations that may be tried, by the docstring of the module."""
    allowed = np.maximum(limits, np.abs(state[2]))
    first = max(braking.SHORTEST_BRAKING, (braking.BRAKING_PEAK * abs(state[1]) / allowed).max())
    tried = first * braking.GROWTH ** np.arange(braking.LONGER - braking.TRIALS, braking.LONGER)
    return tried[tried >= braking.SHORTEST_BRAKING]


@pytest.mark.parametrize("limit", [0.5, 2.0, 8.0, 50.0])
def test_a_stop_from_a_fast_motion_is_nearly_as_gentle_as_the_best_one(limit):
    """Also where the limit is far below the accelerations of the motion, which T_0 must not follow:
    the present jerk, over a long duration, would demand many times the allowed acceleration."""
    limits = np.array([limit, 4.0 * limit, 20.0 * limit])
    for seed in range(15):
        state = moving_state(seed, 0.1 + 0.05 * seed)
        allowed = np.maximum(limits, np.abs(state[2]))
        path = brake(NAMES, state, 0.0, limits)
        best = stop(path, 0.0, acceleration=limits)
        assert peak(path, allowed) <= 1.6 * max(1.0, peak(best, allowed)), seed


def peak(path, allowed):
    """The largest acceleration in relation to the allowed one."""
    times = np.linspace(path.start_time, path.end_time, 400)
    return float((np.abs(path.sample(times)[:, 2]) / allowed).max())


def test_a_pure_velocity_stops_in_the_shortest_time():
    state = np.zeros((5, 3))
    state[1] = 0.5, -1.0, 2.0
    path = brake(NAMES, state, 0.0, np.full(3, 4.0))
    reference = stop(path, 0.0, acceleration=np.full(3, 4.0))
    assert path.duration == pytest.approx(reference.duration, rel=0.06)  # grid of `stop`: 5 %
    assert path.peak_values()[2].max() == pytest.approx(4.0, rel=0.02)
    assert np.allclose(
        path(path.end_time)[0] / path.duration, reference(9e9)[0] / reference.duration
    )


def of_speed(q, speed):
    state = np.zeros((5, len(q)))
    state[0], state[1] = q, speed
    return state


@pytest.mark.parametrize("limit", [1.0, 10.0, 50.0])
def test_the_slower_an_arm_the_gentler_its_stop(limit):
    """Jerk and jounce grow with the speed up to that at which the limit decides, and there they are
    the largest; with the limit alone, a tenth of the speed would need ten times the jerk."""
    decides = limit * braking.SHORTEST_BRAKING / braking.BRAKING_PEAK
    limits, zero = np.full(3, limit), np.zeros(3)
    fastest = brake(NAMES, of_speed(zero, decides), 0.0, limits).peak_values()[3:]
    for share in (1e-3, 0.01, 0.1, 0.5):
        slow = brake(NAMES, of_speed(zero, share * decides), 0.0, limits).peak_values()[3:]
        np.testing.assert_allclose(slow, share * fastest, rtol=1e-9)
    faster = brake(NAMES, of_speed(zero, 2.0 * decides), 0.0, limits).peak_values()[3:]
    assert (faster < fastest).all()


@pytest.mark.parametrize("make", ARMS)
def test_motors_need_less_torque_for_a_slow_stop_than_for_a_fast_one(make):
    """For every kind: q'''' deflects the springs, and the inertia of the motors multiplies that."""
    arm = make()
    names, limits = arm.model.joint_names, np.full(arm.model.n, 10.0)
    second = np.zeros((3, len(arm.actuators.variable_joints)))
    second[0] = resting_second_outputs(arm.actuators)

    def needed(speed):
        """The largest change of a torque, and its largest rate."""
        path = brake(names, of_speed(arm.rest, speed), 0.0, limits)
        t = np.linspace(0.0, path.duration, 200)
        torques = []
        for state in path.sample(t):
            Q = np.stack(inverse_dynamics(arm.model, *state)[:3])
            settled = arm.actuators.settled_deflection(Q)
            motors = motor_motion(arm.actuators, state, Q, second, deflection=settled)
            torques.append(motors.torque)
        change = np.asarray(torques) - torques[-1]
        return np.abs(change).max(), np.abs(np.diff(change, axis=0)).max() / t[1]

    fast = needed(0.5)
    for speed in (0.003, 0.01, 0.03, 0.08, 0.2):  # rad/s
        torque, rate = needed(speed)
        assert torque < fast[0], speed
        assert rate < fast[1], speed


def test_the_path_is_that_of_least_jerk():
    state = moving_state(3, 0.4)
    path = brake(NAMES, state, 0.0, np.full(3, 5.0))
    other = stop(path, 0.0, duration=path.duration)
    times = np.linspace(0.0, path.duration, 50)
    np.testing.assert_allclose(path.sample(times), other.sample(times), rtol=1e-9, atol=1e-9)


def test_every_state_is_accepted():
    wild = np.zeros((5, 3))
    wild[3], wild[4] = 1e4, -1e7
    path = brake(NAMES, wild, 0.0, np.full(3, 1.0))
    assert 0.0 < path.duration < 10.0
    assert path.is_at_rest_at_end
    at_rest = np.zeros((5, 3))
    at_rest[0] = 1.0
    assert brake(NAMES, at_rest, 1.0, np.full(3, 1.0)).duration == 0.0
    slow = at_rest.copy()
    slow[1] = 1e-9
    assert brake(NAMES, slow, 1.0, np.full(3, 1.0)).duration == pytest.approx(
        braking.SHORTEST_BRAKING
    )


def test_wrong_arguments_are_named():
    state = hold(NAMES, np.zeros(3))(0.0)
    assert_rejected(
        (lambda: brake(NAMES, state, 0.0, [1.0, 0.0, 1.0]), "must be positive"),
        (lambda: brake(NAMES, state, 0.0, [1.0, 1.0]), "acceleration"),
        (lambda: brake(NAMES, np.full((5, 3), np.nan), 0.0, np.ones(3)), "state"),
        error=TrajectoryError,
    )
    state[1] = 1.0
    for t in (np.nan, np.inf, "now"):
        with pytest.raises(TrajectoryError, match=r"^t"):
            brake(NAMES, state, t, np.ones(3))
    with pytest.raises(TrajectoryError, match=r"joint_names: .* the string 'abc'"):
        brake("abc", state, 0.0, np.ones(3))
