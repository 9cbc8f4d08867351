# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Paths in SE(3) against power series of 40 digits, closed forms and group laws; errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3, so3
from multibody_dynamics.dynamics.core.batches import times as apply
from multibody_dynamics.dynamics.tasks import arc, concatenate, redirect, screw_motion
from multibody_dynamics.dynamics.tasks.se3_paths import Product
from reference import constant, error, rigid, series, times, twists
from reference import exponential as series_exponential
from rejections import assert_rejected
from robots import random_pose

SEEDS = st.integers(0, 2**32 - 1)


def random_poses(count, seed=1, turn=1.2):
    """Poses, each rotated by `turn` rad relative to the previous one."""
    rng = np.random.default_rng(seed)
    poses = [random_pose(rng)]
    for _ in range(count - 1):
        X = rng.normal(size=6)
        X[:3] *= turn / np.linalg.norm(X[:3])
        poses.append(poses[-1] @ se3.exp(X))
    return np.array(poses)


def random_spline(count=6, seed=1, turn=1.2):
    steps = np.random.default_rng(seed).uniform(0.4, 1.5, count)
    return dyn.tasks.spline(np.cumsum(steps), random_poses(count, seed, turn))


def all_paths(seed=1):
    A, B = random_poses(2, seed, 2.5)
    via = A[:3, 3] + [0.3, 0.2, -0.1]
    spline = random_spline(6, seed)
    law = dyn.interpolate(["s"], [0.0, 1.0, 2.0], [[1.0], [2.5], [1.4]])
    return {
        "screw": screw_motion(A, B, 1.5),
        "line": dyn.tasks.line(A, B, 1.5),
        "circle": dyn.tasks.circle(A, (0.1, 0.2, 0.3), (1, 2, 3), 5.0, 2.0, pitch=0.05),
        "fixed": dyn.tasks.circle(A, (0.1, 0.2, 0.3), (1, 2, 3), -2.0, 2.0, orientation="fixed"),
        "arc": arc(A, via, B, 1.5),
        "spline": spline,
        "retimed": spline.retimed(law),
        "slowed": spline.within(np.full((4, 2), 2.0)),
        "product": dyn.tasks.line(A, B, 1.5) @ spline,
        "sequence": concatenate([dyn.tasks.line(A, B, 1.5), screw_motion(B, A, 1.0)], 0.5),
        "redirected": redirect(spline, spline.start_time + 0.6, A, 2.0),
    }


PATHS = all_paths()
every_path = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)


def inner_times(path, count=7):
    return path.start_time + path.duration * np.linspace(0.03, 0.98, count)


# derivatives


def chain_series(start, screws, states):
    """The power series of C_0 exp(X_1 q_1) ... exp(X_m q_m), 40 digits; states (5, m)."""
    C = constant(rigid(start), 5)
    for X, q in zip(screws, np.transpose(states), strict=True):
        C = times(C, series_exponential(X, series(q)))
    return C


@pytest.mark.parametrize("name", ["screw", "line", "circle", "fixed", "arc", "spline"])
def test_derivatives_from_power_series_of_40_digits(name):
    """The series of the matrix exponentials, multiplied; the functions q_i(t) are taken as given,
    since test_trajectories.py checks them."""
    path = PATHS[name]
    for t in inner_times(path, 3):
        if name == "spline":
            k = int(np.searchsorted(path.times, t) - 1)
            base, screws, law = path._pieces[k]
            C = chain_series(base, screws, law(t))
        else:
            states = np.repeat(path._law(t), len(path._screws), axis=1)
            C = chain_series(path._start, path._screws, states)
        for representation in dyn.REPRESENTATIONS:
            motion = path(t, representation)
            assert error(motion.pose, C[0].astype(float), 2) < 1e-14
            for rate, expected in zip(motion.rates, twists(C, representation), strict=True):
                assert error(rate, expected) < 1e-11


@every_path
def test_paths_begin_and_end_at_rest_and_rest_outside(path):
    ends = [(path.start_time, -1.0), (path.end_time, 1.0)]
    for t, edge in ends[path is PATHS["redirected"] :]:  # that one starts in motion
        at, outside = path(t), path(t + edge)
        np.testing.assert_allclose(outside.pose, at.pose, atol=1e-14)
        assert not np.any(outside.rates)
        assert np.abs(np.stack(at.rates)).max() < 1e-9 * path.peak_values().max()


def test_continuous_through_the_jounce_at_the_knots():
    for name in ("spline", "sequence", "redirected"):
        path = PATHS[name]
        knots = getattr(path, "times", path.start_time + np.array([0.0, 1.0, 1.5, 2.0]))
        for t in knots[1:]:
            left, right = path(np.nextafter(t, -np.inf)), path(np.nextafter(t, np.inf))
            for rate, other, peak in zip(left.rates, right.rates, path.peak_values(), strict=True):
                np.testing.assert_allclose(rate, other, atol=1e-9 * peak.max())


# shapes of the paths


def test_a_line_is_straight_and_turns_about_one_axis():
    A, B = random_poses(2)
    motion = dyn.tasks.line(A, B, 2.0).sample(np.linspace(0, 2, 17))
    way = motion.pose[:, :3, 3] - A[:3, 3]
    np.testing.assert_allclose(np.cross(way, B[:3, 3] - A[:3, 3]), 0, atol=1e-14)
    axis = so3.log(B[:3, :3] @ A[:3, :3].T)
    np.testing.assert_allclose(np.cross(motion.twist[:, :3], axis), 0, atol=1e-12)
    np.testing.assert_allclose(motion.pose[-1], B, atol=1e-14)


def test_a_circle_keeps_its_radius_and_closes():
    A, center, axis = random_pose(np.random.default_rng(2)), np.array([0.1, 0.5, 0]), (0, 0.6, 0.8)
    for orientation in ("turning", "fixed"):
        path = dyn.tasks.circle(A, center, axis, 2 * np.pi, 3.0, orientation=orientation)
        motion = path.sample(np.linspace(0, 3, 31))
        lever = motion.pose[:, :3, 3] - center
        np.testing.assert_allclose(np.linalg.norm(lever, axis=1), np.linalg.norm(lever[0]))
        np.testing.assert_allclose(lever @ axis, lever[0] @ axis, atol=1e-14)
        np.testing.assert_allclose(motion.pose[-1], A, atol=1e-14)
        if orientation == "fixed":
            np.testing.assert_allclose(motion.pose[:, :3, :3] - A[:3, :3], 0, atol=1e-14)
            np.testing.assert_allclose(motion.twist[:, :3], 0, atol=1e-14)
    helix = dyn.tasks.circle(A, center, axis, 4 * np.pi, 3.0, pitch=0.02)
    rise = (helix(3.0).pose - A)[:3, 3]
    np.testing.assert_allclose(rise, 4 * np.pi * 0.02 * np.array(axis), atol=1e-14)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_an_arc_passes_through_its_three_points(share):
    """The third point of a known circle, less and more than half a turn away."""
    C = random_pose(np.random.default_rng(5))
    on_circle = lambda angle: C[:3, :3] @ [np.cos(angle), np.sin(angle), 0] + C[:3, 3]  # noqa: E731
    A, B = random_poses(2, 3)
    A[:3, 3], via, B[:3, 3] = (on_circle(2 * np.pi * share * x) for x in (0.0, 0.4, 1.0))
    motion = arc(A, via, B, 2.0).sample(np.linspace(0, 2, 2001))
    np.testing.assert_allclose(motion.pose[-1], B, atol=1e-13)
    local = (motion.pose[:, :3, 3] - C[:3, 3]) @ C[:3, :3]
    np.testing.assert_allclose(np.linalg.norm(local, axis=1), 1.0, rtol=1e-13)
    np.testing.assert_allclose(local[:, 2], 0, atol=1e-13)
    travelled = np.abs(np.diff(np.unwrap(np.arctan2(local[:, 1], local[:, 0])))).sum()
    assert travelled == pytest.approx(2 * np.pi * share, rel=1e-9)


# splines


@settings(max_examples=10)
@given(SEEDS, st.sampled_from([0.01, 1.0, 3.0]))
def test_a_spline_passes_through_its_poses(seed, turn):
    path = random_spline(7, seed, turn)
    np.testing.assert_allclose(path.sample(path.times).pose, path.poses, atol=1e-13)


def test_with_equal_orientations_a_spline_is_the_minimum_jerk_trajectory():
    at, points = np.array([0.0, 1.0, 1.7, 3.0, 3.5]), np.random.default_rng(4).normal(size=(5, 3))
    R = random_pose(np.random.default_rng(6))[:3, :3]
    path = dyn.tasks.spline(at, se3.from_rotation_translation(R, points))
    law = dyn.interpolate(["x", "y", "z"], at, points, shape="least_jerk")
    wanted = law.sample(np.linspace(0, 3.5, 50))
    motion = path.sample(np.linspace(0, 3.5, 50))
    np.testing.assert_allclose(motion.pose[:, :3, 3], wanted[:, 0], atol=1e-12)
    for k, rate in enumerate(motion.rates):
        np.testing.assert_allclose(rate[:, 3:], wanted[:, k + 1], atol=1e-11 * 40**k)
        np.testing.assert_allclose(rate[:, :3], 0, atol=1e-12)


def test_a_spline_does_not_depend_on_the_choice_of_frames():
    path, rng = random_spline(), np.random.default_rng(9)
    world, tool = random_pose(rng), random_pose(rng)
    other = dyn.tasks.spline(path.times, world @ path.poses @ tool)
    at = inner_times(path)
    before, after = path.sample(at, "spatial"), other.sample(at, "spatial")
    np.testing.assert_allclose(after.pose, world @ before.pose @ tool, atol=1e-13)
    for rate, expected in zip(after.rates, before.rates, strict=True):
        expected = apply(se3.Ad(world), expected)
        np.testing.assert_allclose(rate, expected, atol=1e-12 * np.abs(expected).max())


def test_a_long_spline_depends_only_on_nearby_poses():
    """Poses outside a window of 25 joints have no effect, and the path stays continuous."""
    poses = random_poses(60, 3, 0.3)
    at = np.arange(60.0)
    path = dyn.tasks.spline(at, poses)
    poses[-1] = poses[-1] @ se3.exp([0.3, 0, 0, 0.1, 0, 0])
    other = dyn.tasks.spline(at, poses)
    near = np.linspace(0, 40, 99)
    np.testing.assert_array_equal(path.sample(near).pose, other.sample(near).pose)
    assert max(len(piece.screws) for piece in path._pieces) == 25
    knots = path.sample(at[5:50])
    for rate, beside in zip(knots.rates, path.sample(at[5:50] - 1e-9).rates, strict=True):
        np.testing.assert_allclose(rate, beside, atol=1e-6 * np.abs(rate).max())


# retimed and combined paths


def test_retimed_at_constant_speed_scales_every_rate():
    path = PATHS["spline"]
    states = np.zeros((2, 5, 1))
    states[:, 0, 0], states[:, 1, 0] = (path.start_time, path.end_time), 0.5
    law = dyn.motion.Trajectory(["s"], np.array([0.0, 2 * path.duration]), states)
    t = 0.8 * path.duration
    slow, fast = path.retimed(law)(t), path(path.start_time + t / 2)
    np.testing.assert_allclose(slow.pose, fast.pose, atol=1e-14)
    for k, (a, b) in enumerate(zip(slow.rates, fast.rates, strict=True)):
        np.testing.assert_allclose(a, b / 2 ** (k + 1), rtol=1e-9, atol=1e-9)


def test_within_limits_one_peak_reaches_its_limit():
    path = PATHS["spline"]
    limits = path.peak_values() * [[0.5, 2], [0.9, 2], [2, 2], [0.1, np.inf]]
    slowed = path.within(limits)
    reached = slowed.peak_values() / limits
    assert reached.max() == pytest.approx(1, rel=1e-9)
    assert slowed.duration == pytest.approx(2 * path.duration)
    assert path.within(2 * path.peak_values()) is path


def test_a_product_is_a_motion_relative_to_a_moving_frame():
    """Two screws one after the other, as one chain of 40 digits; and the unit element."""
    A, B, D = random_poses(3)
    first, second = screw_motion(A, B, 2.0), screw_motion(np.eye(4), D, 2.0)
    product = first @ second
    assert isinstance(product, Product)
    for t in (0.3, 1.1):
        states = np.repeat(first._law(t), 2, axis=1)
        C = chain_series(A, [first._screws[0], second._screws[0]], states)
        for rate, expected in zip(product(t).rates, twists(C, "hybrid"), strict=True):
            assert error(rate, expected) < 1e-12
    still = first @ dyn.tasks.line(np.eye(4), np.eye(4), 2.0)
    np.testing.assert_allclose(still(0.7).jounce, first(0.7).jounce, rtol=1e-11, atol=1e-11)


def test_redirecting_in_motion_causes_no_jump():
    path, goal = PATHS["spline"], random_pose(np.random.default_rng(11))
    for t in (path.times[2] + 0.1, path.end_time - 0.05, path.end_time + 1):
        other = redirect(path, t, goal, 2.0)
        assert (other.start_time, other.end_time) == pytest.approx((t, t + 2.0))
        before, after = path(t), other(t)
        np.testing.assert_allclose(before.pose, after.pose, atol=1e-13)
        for rate, same, peak in zip(before.rates, after.rates, path.peak_values(), strict=True):
            np.testing.assert_allclose(rate, same, atol=1e-10 * peak.max())
        np.testing.assert_allclose(other(t + 2.0).pose, goal, atol=1e-13)
        again = redirect(other, t + 0.7, path.poses[0], 1.0)  # and once more on the way
        np.testing.assert_allclose(again(t + 0.7).jounce, other(t + 0.7).jounce, rtol=1e-8)


def test_paths_in_sequence_rest_in_between():
    A, B, C = random_poses(3)
    path = concatenate([dyn.tasks.line(A, B, 1.0), screw_motion(B, C, 2.0)], 0.5)
    assert path.duration == 3.5
    assert not np.any(path(1.2).rates)
    np.testing.assert_allclose(path(1.2).pose, B, atol=1e-14)
    np.testing.assert_allclose(path(3.5).pose, C, atol=1e-14)


# invalid input


def test_bad_poses_are_rejected():
    A = np.eye(4)
    bent, scaled, unknown = np.eye(4), np.diag([2.0, 1, 1, 1]), np.full((4, 4), np.nan)
    bent[3, 0] = 0.1
    for wrong in (bent, scaled, unknown, np.eye(3), np.stack([A, A])):
        for make in (screw_motion, dyn.tasks.line):
            with pytest.raises(dyn.InputError):
                make(A, wrong, 1.0)
    assert_rejected((lambda: dyn.tasks.spline([0, 1], [A, scaled]), "not a rotation"))


def test_bad_arguments_are_rejected():
    A, (B, C), tasks, redirected = np.eye(4), random_poses(2), dyn.tasks, PATHS["redirected"]
    line, there = tasks.line(A, A, 1), tasks.line(B, C, 1.0)
    states = np.zeros((2, 5, 1))
    states[1, :2, 0] = 1.0, 0.5
    moving = tasks.line(B, C, dyn.motion.Trajectory(["s"], np.array([0.0, 1.0]), states))

    def circle(axis, **options):
        return lambda: tasks.circle(A, (0, 0, 0), axis, 1.0, 1.0, **options)

    assert_rejected(
        (lambda: tasks.spline([0.0], [A]), "k >= 2"),
        (lambda: tasks.spline([0, 1, 1], [A, A, A]), "times must increase"),
        (lambda: tasks.spline([0, 1], [A, A, A]), "poses"),
        (lambda: tasks.line(A, A, 0.0), "duration must be positive"),
        (lambda: tasks.line(A, A, 1.0)([0.1, 0.2]), "t: expected shape ()"),
        (lambda: tasks.line(A, A, dyn.motion.hold(["a", "b"], [0, 0])), "one coordinate"),
        (lambda: tasks.arc(A, (0, 0, 0), A, 1.0), "lie on a line"),
        (circle((0, 0, 0)), "axis"),
        (circle((0, 0, 1), orientation="odd"), "'turning'"),
        (lambda: tasks.concatenate([]), "no path"),
        (lambda: tasks.concatenate([line] * 2, -1.0), "negative"),
        (lambda: tasks.concatenate([line] * 2, [1.0, 2.0]), "pauses: number 1 (2,)"),
        (lambda: PATHS["line"].within([1, 2]), "limits"),
        (lambda: PATHS["line"](np.nan), "nan"),
        (lambda: PATHS["line"].sample(0.5), "shape"),
        (lambda: PATHS["line"](0.5, "sideways"), "sideways"),
    )
    assert_rejected(
        (lambda: redirected(redirected.start_time - 0.1), "in motion at its start"),
        (lambda: tasks.concatenate([there, there]), "away from where path 0 ends"),
        (lambda: tasks.concatenate([moving, tasks.line(C, B, 1.0)]), "not at rest"),
        (lambda: moving(1.5), "in motion"),
        error=dyn.TrajectoryError,
    )
