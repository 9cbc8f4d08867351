# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Runs of single joints: their shape, their continuity, and their limits."""

from dataclasses import replace

import numpy as np
import pytest

from elastic_arms import linear_arm
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.dynamics.core import DynamicsError, InputError
from multibody_dynamics.dynamics.identification.excitation import single_joint_runs
from robots import CONFIG, two_link_planar


def robot(**options):
    model = two_link_planar()
    return idn.ExcitationLimits.of(model, acceleration=8.0, torque=60.0, **options)


@pytest.fixture(params=idn.RUN_KINDS)
def run(request):
    limits = robot()
    return limits, request.param, idn.single_joint_run(limits, request.param, np.array([0.2, 0.3]))


def test_it_is_within_the_limits_and_returns_to_its_start(run):
    limits, _, motion = run
    assert idn.exceeded_limit(limits, motion, 1e-2) is None
    for t in (motion.start_time, motion.end_time):
        np.testing.assert_allclose(motion(t)[0], [0.2, 0.3], atol=1e-9)
        assert not motion(t)[1:].any()


def test_one_joint_moves_at_a_time(run):
    _, _, motion = run
    states = motion.sample(np.linspace(motion.start_time, motion.end_time, 800))
    moving = np.abs(states[:, 1]) > 1e-9
    assert moving.any(axis=0).all()
    assert not moving.all(axis=1).any()


def test_the_fourth_derivative_has_no_jump(run):
    """Differences across every knot shrink with the step."""
    _, _, motion = run
    knots = motion.knots[1:-1][:: max(1, len(motion.knots) // 60)]
    gaps = []
    for h in (1e-5, 1e-6):
        gaps.append(max(np.abs(motion(t + h)[:4] - motion(t - h)[:4]).max() for t in knots))
    assert gaps[1] < 0.2 * gaps[0] + 1e-6


def test_velocities_are_constant_forth_and_back_over_the_same_path():
    limits = robot()
    motion = idn.single_joint_run(limits, "friction", np.zeros(2), joints=["shoulder"])
    states = motion.sample(np.linspace(motion.start_time, motion.end_time, 20_000))
    speed, acceleration = states[:, 1, 0], states[:, 2, 0]
    cruising = (np.abs(acceleration) < 1e-9) & (np.abs(speed) > 1e-6)
    found = np.unique(np.round(speed[cruising], 9))
    assert len(found) == 2 * len(single_joint_runs.SPEEDS)
    np.testing.assert_allclose(found, -found[::-1])
    for v in found[len(found) // 2 :]:
        forth, back = (states[cruising & np.isclose(speed, s), 0, 0] for s in (v, -v))
        np.testing.assert_allclose([forth.min(), forth.max()], [back.min(), back.max()], atol=2e-3)
    assert not states[:, :, 1][:, 1:].any()


def test_a_chirp_sweeps_its_frequencies():
    """Zero crossings of the velocity come more and more often."""
    motion = idn.single_joint_run(robot(), "chirps", np.zeros(2), joints=["elbow"])
    t = np.linspace(motion.start_time, motion.end_time, 40_001)
    v = motion.sample(t)[:, 1, 1]
    crossings = t[1:][np.sign(v[1:]) != np.sign(v[:-1])]
    inner = crossings[(crossings > 1.5) & (crossings < 10.5)]
    half_periods = np.diff(inner)
    first, last = 0.5 / half_periods[0], 0.5 / half_periods[-1]
    low, high = single_joint_runs.CHIRP
    sweep = (high - low) / single_joint_runs.CHIRP_DURATION
    assert first == pytest.approx(low + sweep * inner[:2].mean(), rel=0.2)
    assert last == pytest.approx(low + sweep * inner[-2:].mean(), rel=0.05)


def test_derivatives_of_a_chirp_are_those_of_its_position():
    motion = idn.single_joint_run(robot(), "chirps", np.zeros(2), joints=["elbow"])
    for t in (0.31, 0.9, 3.0, 7.7, 11.6):
        knot = motion.knots[np.abs(motion.knots - t).argmin()]
        h = 1e-4
        for k in range(4):
            slope = (motion(knot + h)[k, 1] - motion(knot - h)[k, 1]) / (2 * h)
            size = np.abs(motion.states[:, k + 1, 1]).max()
            assert abs(slope - motion(knot)[k + 1, 1]) < 2e-3 * size


def test_torque_limits_make_a_run_smaller():
    arm = linear_arm()
    free = idn.ExcitationLimits.of(arm.model, actuators=arm.actuators, acceleration=60.0)
    assert free.motors is not None
    one = idn.single_joint_run(free, "steps", np.zeros(2))
    still = np.zeros((1, 3, 2))
    weight = still.copy()
    weight[:, 0] = dyn.inverse_dynamics(arm.model, *np.zeros((3, 2))).tau
    holding = np.abs(free.motors.motor_motion(still, weight).torque)[0]
    tight = replace(free, motors=replace(free.motors, torque=0.5 * (holding + _peak(free, one))))
    other = idn.single_joint_run(tight, "steps", np.zeros(2))
    assert idn.exceeded_limit(tight, other, 1e-2) is None
    assert other.duration > one.duration


def test_short_ramps_of_slow_cruises_stay_within_the_motor_torque():
    """Without a limit of the acceleration, only the motors limit it."""
    model = dyn.load_urdf(CONFIG / "robots" / "antagonistic_elbow.urdf")
    springs = CONFIG / "elastic_joints" / "antagonistic.yaml"
    actuators = dyn.load_actuators(springs, model.joint_names, model.joint_types)
    limits = idn.ExcitationLimits.of(model, actuators=actuators)
    motion = idn.single_joint_run(limits, "friction", idn.resting_pose(limits), ["shoulder"])
    assert idn.exceeded_limit(limits, motion, 7e-4) is None


def _peak(limits, motion):
    times = np.linspace(motion.start_time, motion.end_time, 3000)
    states = motion.sample(times)
    flat = np.stack(dyn.inverse_dynamics(limits.model, *states.swapaxes(0, 1)), axis=1)
    return np.abs(limits.motors.motor_motion(states[:, :3], flat).torque).max(axis=0)


def test_the_pose_is_free_of_collisions_and_no_room_is_reported():
    model = two_link_planar()
    limits = robot(capsules=idn.link_skeleton(model), box=[[-2, -0.2, -2], [2, 0.2, 2]])
    q = idn.resting_pose(limits)
    assert limits.at_rest(q[None])[0] <= 1.0
    with pytest.raises(DynamicsError, match="none of"):
        idn.resting_pose(robot(capsules=idn.link_skeleton(model), box=[[5, 5, 5], [6, 6, 6]]))
    with pytest.raises(DynamicsError, match="no room at this pose"):
        idn.single_joint_run(limits, "steps", np.array([10.0, 0.0]))
    with pytest.raises(InputError, match="run 'hop'"):
        idn.single_joint_run(limits, "hop", q)
