# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Demo motions: within the limits of any robot, at rest at both ends, reproduced by points."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics.dynamics.core.errors import InputError, TrajectoryError
from multibody_dynamics.dynamics.model.multibody_model import JointLimits, MultibodyModel
from multibody_dynamics.dynamics.motion.demo_motions import (
    approach_time,
    approached,
    exciting_motion,
    reproduction_error,
    rest_to_rest_motion,
    sampled,
)
from multibody_dynamics.dynamics.motion.trajectories import interpolate
from multibody_dynamics.dynamics.rigid import gravity_forces, inverse_dynamics
from multibody_dynamics.resources import share_directory
from robots import panda, random_tree, two_link_planar

RANGE = JointLimits(
    np.array([-1.0, 0.5]), np.array([2.0, 0.9]), np.array([3.0, 0.2]), np.full(2, np.inf)
)


def arm(limits: JointLimits = RANGE) -> MultibodyModel:
    return replace(two_link_planar(), limits=limits)


def motions(model, **options):
    yield exciting_motion(model, duration=4.0, ramp=0.7, frequency=1.5, **options)
    yield rest_to_rest_motion(model, duration=4.0, **options)


@pytest.mark.parametrize("which", [0, 1])
def test_motions_use_the_given_fraction_of_the_limits(which):
    motion = list(motions(arm(), reach=0.6, speed=0.4))[which]
    states = motion.sample(np.linspace(0.0, motion.duration, 3001))
    middle, half = 0.5 * (RANGE.lower + RANGE.upper), 0.5 * (RANGE.upper - RANGE.lower)
    reach = np.abs(states[:, 0] - middle).max(axis=0) / (0.6 * half)
    speed = np.abs(states[:, 1]).max(axis=0) / (0.4 * RANGE.velocity)
    assert (np.maximum(reach, speed) < 1.005).all()
    assert (np.maximum(reach, speed) > 0.98).all()


@pytest.mark.parametrize("which", [0, 1])
def test_motions_keep_to_the_effort_limits(which):
    """Of an arm that its efforts do not carry in the middle of its range, where it is stretched."""
    weight = np.abs(gravity_forces(two_link_planar(), np.zeros(2)))
    limits = JointLimits(np.full(2, -2.0), np.full(2, 2.0), np.full(2, 3.0), 0.9 * weight)
    model = arm(limits)
    motion = list(motions(model))[which]
    times = np.linspace(motion.start_time, motion.end_time, 777)
    q, qd, qdd = motion.sample(times)[:, :3].swapaxes(0, 1)
    share = np.abs(inverse_dynamics(model, q, qd, qdd).tau) / limits.effort
    assert 0.5 < share.max() <= 0.91
    assert np.ptp(q, axis=0).min() > 0.01


@given(st.integers(0, 1000))
@settings(max_examples=15)
def test_any_robot_has_motions_that_begin_and_end_at_rest(seed):
    model = random_tree(4, seed)
    for motion in motions(model):
        ends = motion.sample([motion.start_time, motion.end_time])
        assert np.isfinite(motion.peak_values()).all()
        np.testing.assert_allclose(ends[:, 1:], 0.0, atol=1e-9)


def test_a_joint_that_cannot_move_is_named():
    stuck = RANGE._replace(velocity=np.array([3.0, 0.0]))
    with pytest.raises(TrajectoryError, match=r"cannot move.*velocity limit 0"):
        list(motions(arm(stuck)))


def test_rest_to_rest_passes_through_its_points():
    points = [[0.1, 0.6], [0.8, 0.7], [-0.3, 0.55], [0.2, 0.8]]
    motion = rest_to_rest_motion(arm(), duration=3.0, waypoints=np.ravel(points).tolist())
    np.testing.assert_allclose(motion.sample([0.0, 1.0, 2.0, 3.0])[:, 0], points, atol=1e-12)


def test_the_motion_of_the_demo_of_controllers_is_fast_and_within_the_limits():
    """As the node sends it, and the controller plans it, from rest at the first point."""
    file = share_directory() / "config" / "controllers_demo.yaml"
    nodes = yaml.safe_load(file.read_text(encoding="utf-8"))
    p = nodes["/**/trajectory_node"]["ros__parameters"]
    model = panda()
    motion = rest_to_rest_motion(model, duration=p["duration"], waypoints=p["waypoints"])
    start = motion.states[0]
    times, *rows = approached(model, start[0], p["shortest_approach"], motion)
    rows = (np.vstack([own, row]) for own, row in zip(start, rows, strict=False))
    planned = interpolate(model.joint_names, np.r_[0.0, times], *rows)
    assert 0.9 < (planned.peak_values()[1] / model.limits.velocity).max() < 1.0


@pytest.mark.parametrize("count", [1, 3])
def test_incomplete_points_are_rejected(count):
    with pytest.raises(InputError, match=f"waypoints: .* got {count} numbers"):
        rest_to_rest_motion(arm(), duration=1.0, waypoints=[0.1] * count)
    with pytest.raises(InputError, match="expected"):
        exciting_motion(
            arm(), duration=1.0, ramp=1.0, frequency=1.0, offset=[0.1] * count, cosine=[1.0] * 4
        )


def published_panda_motion():
    """The motion of `make demo`, from config/demo.yaml."""
    file = share_directory() / "config" / "demo.yaml"
    p = yaml.safe_load(file.read_text())["/**/trajectory_node"]["ros__parameters"]
    numbers = {key: p[key] for key in ("duration", "ramp", "frequency", "offset", "cosine", "sine")}
    return exciting_motion(panda(), **numbers)


def test_the_published_motion_stays_within_the_limits_of_the_panda():
    motion, limits = published_panda_motion(), panda().limits
    low, high = motion.extremes()
    assert (low[0] > limits.lower).all()
    assert (high[0] < limits.upper).all()
    assert (motion.peak_values()[1] < limits.velocity).all()


def test_points_every_20_ms_reproduce_the_motion():
    motion = published_panda_motion()
    points = sampled(motion, 0.02)
    again = interpolate(motion.joint_names, *points)
    times = np.linspace(0.0, motion.duration, 1777)
    difference = np.abs(again.sample(times) - motion.sample(times)).max(axis=(0, 2))
    assert (difference < motion.peak_values().max(axis=1) * [1e-10, 1e-8, 1e-6, 1e-4, 1e-2]).all()
    np.testing.assert_allclose(reproduction_error(motion, points), difference, rtol=0.5)


def test_the_approach_respects_the_speed():
    model = arm()
    distance = np.array([0.6, -0.02])
    duration = approach_time(model, distance, speed=0.5)
    motion = interpolate(model.joint_names, [0.0, duration], [[0.0, 0.0], distance])
    share = motion.peak_values()[1] / (0.5 * RANGE.velocity)
    assert share.max() == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize(("quantity", "order"), [("acceleration", 2), ("jerk", 3)])
def test_motions_keep_the_limits_of_acceleration_and_jerk(quantity, order):
    model = arm(RANGE._replace(**{quantity: np.array([0.4, 0.3])}))
    allowed = getattr(model.limits, quantity)
    distance = np.array([0.6, -0.02])
    duration = approach_time(model, distance, speed=1.0)
    motion = interpolate(model.joint_names, [0.0, duration], [[0.0, 0.0], distance])
    share = np.abs(motion.peak_values()[order]) / allowed
    assert share.max() == pytest.approx(1.0, rel=1e-3)
    for each in motions(model):
        assert (np.abs(each.peak_values()[order]) <= allowed * (1.0 + 1e-6)).all()
