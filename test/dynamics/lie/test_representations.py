# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Twists, wrenches and their derivatives in the four representations, against power series."""

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from reference import derivatives, error, exact, moved_by, series, times, twists
from rejections import assert_rejected

PAIRS = list(product(dyn.REPRESENTATIONS, repeat=2))
SEEDS = st.integers(0, 2**32 - 1)


def random_motion(seed, size=1.0):
    rng = np.random.default_rng(seed)
    return se3.exp(rng.normal(size=6)), list(size * rng.normal(size=(4, 6)))


@pytest.mark.parametrize(
    ("count", "representation"), [*enumerate(dyn.REPRESENTATIONS), (4, "mixed")]
)
def test_as_many_rates_are_returned_as_given(representation, count):
    pose, rates = random_motion(11)
    converted = dyn.convert_twist(pose, rates[:count], "spatial", representation)
    assert len(converted) == count
    for rate, full in zip(
        converted, dyn.convert_twist(pose, rates, "spatial", representation), strict=False
    ):
        np.testing.assert_array_equal(rate, full)


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_batches_hold_single_results(representation):
    rng = np.random.default_rng(12)
    poses, rates = se3.exp(rng.normal(size=(2, 3, 6))), list(rng.normal(size=(4, 2, 3, 6)))
    converted = dyn.convert_twist(poses, rates, "spatial", representation)
    for index in np.ndindex(2, 3):
        single = dyn.convert_twist(
            poses[index], [rate[index] for rate in rates], "spatial", representation
        )
        assert error([rate[index] for rate in converted], single) < 1e-15


# Between any two


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_pair_of_table_3(source, target):
    pose, rates = random_motion(21)
    moving = moved_by(pose, rates)
    given, expected = (np.array(twists(moving, name), dtype=float) for name in (source, target))
    converted = dyn.convert_twist(pose, given, source, target)
    assert error(converted, expected) < 1e-13


@settings(max_examples=15)
@given(SEEDS, *[st.sampled_from(dyn.REPRESENTATIONS)] * 3, st.floats(-3, 3))
def test_conversions_compose(seed, first, second, third, exponent):
    """At any speed: twist, acceleration, jerk and jounce scale with its powers 1 to 4."""
    pose, rates = random_motion(seed)
    rates = [10.0 ** (exponent * k) * rate for k, rate in enumerate(rates, start=1)]
    there = dyn.convert_twist(pose, rates, first, second)
    around = dyn.convert_twist(pose, there, second, third)
    assert error(around, dyn.convert_twist(pose, rates, first, third)) < 1e-12


def test_the_printed_mixed_jerk_misses_a_term():
    """[M18d] (33) is right for the acceleration only, as omega x omega = 0."""
    pose, rates = random_motion(22)
    _, hybrid_d, hybrid_dd, _ = dyn.convert_twist(pose, rates, "spatial", "hybrid")
    w = rates[0][:3]
    _, mixed_d, mixed_dd, _ = dyn.convert_twist(pose, rates, "spatial", "mixed")
    R = pose[:3, :3]
    assert error(mixed_d[:3], R.T @ hybrid_d[:3]) < 1e-14
    assert error(mixed_dd[:3], R.T @ (hybrid_dd[:3] - np.cross(w, hybrid_d[:3]))) < 1e-14
    assert error(mixed_dd[:3], R.T @ hybrid_dd[:3]) > 0.01


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@pytest.mark.parametrize("seed", [31, 32])
def test_a_change_of_frame_on_the_same_body(representation, seed):
    pose, rates = random_motion(seed)
    S = se3.exp(np.random.default_rng(seed + 100).normal(size=6))
    moving = moved_by(pose, rates)
    given = np.array(twists(moving, representation), dtype=float)
    moved = dyn.lie.change_body_frame(pose, given, S, representation)
    assert error(moved, twists(moving @ exact(S), representation)) < 1e-13
    if representation == "spatial":
        np.testing.assert_array_equal(moved, given)
    if representation == "body":  # [M18k] (21)
        assert error(moved, given @ se3.Ad(se3.inverse(S)).T) < 1e-14


# Wrenches


def seen(pose, W, representation):
    """A wrench (k, 6) of body components, seen from elsewhere, as products of power series."""
    R, r = pose[:, :3, :3], pose[:, :3, 3]
    m, f = (series(W)[:, part] for part in (slice(3), slice(3, 6)))
    moment, force = (times(R, x[:, :, None])[:, :, 0] for x in (m, f))
    lever = np.array([sum(np.cross(r[j], force[k - j]) for j in range(k + 1)) for k in range(3)])
    parts = {
        "spatial": (moment + lever, force),
        "body": (m, f),
        "hybrid": (moment, force),
        "mixed": (m, force),
    }
    return derivatives(np.concatenate(parts[representation], axis=-1))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_wrenches_with_two_rates(source, target):
    pose, rates = random_motion(41)
    W = np.random.default_rng(42).normal(size=(3, 6))
    moving = moved_by(pose, rates[:2])
    motion = np.array(twists(moving, source), dtype=float)
    given = np.array(seen(moving, W, source), dtype=float)
    converted = dyn.convert_wrench(pose, motion, given, source, target)
    assert error(converted, seen(moving, W, target)) < 1e-13


@settings(max_examples=15)
@given(SEEDS, *[st.sampled_from(dyn.REPRESENTATIONS)] * 2)
def test_power_and_its_rates_are_invariant(seed, source, target):
    """The k-th derivative of W . V, for k up to 3."""
    pose, motion = random_motion(seed)
    W = np.random.default_rng(seed + 1).normal(size=(4, 6))
    there = dyn.convert_twist(pose, motion, source, target)
    dual = dyn.convert_wrench(pose, motion, W, source, target)
    for k in range(4):
        terms, expected = (
            [comb(k, j) * w[j] @ v[k - j] for j in range(k + 1)]
            for w, v in ((dual, there), (W, motion))
        )
        assert abs(sum(terms) - sum(expected)) < 1e-12 * max(1, np.abs(terms).max())


def test_the_transport_term_has_the_wrench_of_the_body():
    """[M21] (35), which prints the spatial wrench in its last term."""
    pose, motion = random_motion(43)
    V = dyn.convert_twist(pose, motion, "spatial", "body")
    W = np.random.default_rng(44).normal(size=(2, 6))
    W0, W1 = dyn.convert_wrench(pose, V, W, "body", "spatial")
    coAd = se3.coAd(pose)
    assert error(W0, coAd @ W[0]) < 1e-14
    assert error(W1, coAd @ (W[1] - se3.ad(V[0]).T @ W[0])) < 1e-14


def test_wrenches_in_batches():
    rng = np.random.default_rng(45)
    pose, V, W = (
        se3.exp(rng.normal(size=(5, 1, 6))),
        rng.normal(size=(2, 5, 1, 6)),
        [np.ones(6)] * 3,
    )
    W[1] = rng.normal(size=(4, 6))
    converted = dyn.convert_wrench(pose, V, W, "mixed", "spatial")
    for i, k in np.ndindex(5, 4):
        single = dyn.convert_wrench(
            pose[i, 0], V[:, i, 0], [W[0], W[1][k], W[2]], "mixed", "spatial"
        )
        assert error([x[i, k] for x in converted], single) < 1e-15


# Invalid input


def test_results_are_copies():
    pose, rates = random_motion(51)
    for name in dyn.REPRESENTATIONS:
        dyn.convert_twist(pose, rates, name, name)[0][:] = 0
        dyn.convert_wrench(pose, rates, rates, name, name)[0][:] = 0
    assert all(rate.all() for rate in rates)


def test_bad_arguments_are_named():
    pose, (V, Vd, *_) = random_motion(52)
    bent, two, three = pose + np.diag([0, 0, 0, 0.5]), np.ones((2, 6)), np.ones((3, 6))
    unknown = np.where(np.arange(6) == 2, np.nan, Vd)

    def convert(rates, pose=pose, of="spatial"):
        return lambda: dyn.convert_twist(pose, rates, of, "body")

    def change(S, representation="body", pose=pose):
        return lambda: dyn.lie.change_body_frame(pose, [V], S, representation)

    def wrench():
        return dyn.convert_wrench(pose, [V], [V, V, V], "spatial", "body")

    assert_rejected(
        (convert([V], of="world"), "representation 'world'"),
        (change(pose, "world"), "representation 'world'"),
        (convert([V], 2 * pose), "the rotation of pose is not a rotation"),
        (change(bent), "S: the last row"),
        (convert([V, unknown]), "rates[1][2] is nan"),
        (convert([V[:5]]), "rates[0]: expected shape (..., 6)"),
        (convert(V), "rates: expected a list of shape (6,)"),
        (convert(np.array([V] * 7), [pose] * 7), "rates: of shape (7, 6)"),  # the bodies' twists
        (convert([two, three]), "pose (), rates[0] (2,), rates[1] (3,)"),
        (change([pose] * 3, pose=[pose] * 2), "pose (2,), S (3,)"),
        (wrench, "2 derivatives of a wrench need got 1"),
    )
