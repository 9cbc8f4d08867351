# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Samples at even times: sorted, merged, interpolated; everything dropped is reported."""

import numpy as np
import pytest

from multibody_dynamics.validation import alignment
from multibody_dynamics.validation.recordings.bags import JointSamples

PERIOD = 1_000_000  # ns
ORIGIN = 1_700_000_000_000_000_000


def values(t, columns):
    """Rows (k, 3, m) of cubic polynomials, which interpolation reproduces exactly."""
    powers = np.stack([t**3 - t, t**2, 1 + t], axis=-1)
    return powers[:, :, None] * (1.0 + np.asarray(columns))


def batches_of(stamp, rows, names=("a",), topic="/js", size=300, received=None):
    received = stamp if received is None else received
    for k in range(0, len(stamp), size):
        part = slice(k, k + size)
        yield JointSamples(topic, names, received[part], stamp[part], rows[part])


def align(batches, sources=None, n=1, **options):
    sources = sources or [alignment.Source("/js", {("a",): np.array([0])}, np.array([0]))]
    qualities = [alignment.Quality(source.topic, ()) for source in sources]
    failures = []
    background, turning = np.full((3, n), np.nan), np.zeros(n, dtype=bool)
    grid = alignment.Grid(ORIGIN, float(PERIOD), background, turning, velocity=True)._replace(
        **options
    )
    pieces = list(alignment.aligned(iter(batches), sources, qualities, grid, failures.append))
    keys = np.concatenate([keys for keys, _ in pieces]) if pieces else np.zeros(0, dtype=np.int64)
    rows = np.concatenate([rows for _, rows in pieces]) if pieces else np.zeros((0, 3, n))
    return keys, rows, qualities, failures


def jittered(count, seed=0):
    rng = np.random.default_rng(seed)
    return ORIGIN + PERIOD * np.arange(count) + rng.integers(-200_000, 200_000, count)


def seconds(stamp):
    return 1e-9 * (stamp - ORIGIN)


@pytest.mark.parametrize("size", [1, 7, 300, 5000])
def test_interpolation_is_exact_for_any_batches(size):
    stamp = jittered(2000 if size > 1 else 300)
    keys, rows, (quality,), _ = align(batches_of(stamp, values(seconds(stamp), [0.0]), size=size))
    assert len(alignment.runs_of(keys)) == 1
    t = alignment.seconds_of(keys, PERIOD)
    assert t[0] <= 1e-3
    assert t[-1] >= seconds(stamp[-1]) - 1e-3
    assert np.allclose(rows, values(t, [0.0]), rtol=0, atol=1e-11)
    assert quality.messages == len(stamp)
    assert quality.events() == []


def test_samples_out_of_order_and_duplicates():
    stamp = jittered(2000)
    order = np.argsort(np.arange(2000) + np.random.default_rng(2).uniform(0, 8, 2000))
    mixed = np.concatenate([stamp[order], stamp[1990:1995]])
    keys, rows, (quality,), _ = align(batches_of(mixed, values(seconds(mixed), [0.0])))
    ideal, expected, _, _ = align(batches_of(stamp, values(seconds(stamp), [0.0])))
    assert np.array_equal(keys, ideal)
    assert np.array_equal(rows, expected)
    assert quality.duplicates == 5
    assert quality.out_of_order > 500
    assert len(quality.events()) == 2


def test_gaps_separate_runs_and_are_reported():
    stamp = jittered(3000)
    keep = np.ones(3000, dtype=bool)
    keep[1000:1100] = keep[2000] = False  # a single missing sample is interpolated
    keep[2500:2505] = keep[2507:2512] = False  # two samples between gaps
    stamp = stamp[keep]
    keys, rows, (quality,), _ = align(batches_of(stamp, values(seconds(stamp), [0.0])))
    assert [run.stop - run.start > 400 for run in alignment.runs_of(keys)] == [True] * 3
    assert quality.gaps == 3
    assert quality.lost == 110
    assert quality.single == 2
    assert quality.longest_gap == pytest.approx(0.101, abs=1e-3)
    assert quality.gap_list[0]["at"] == pytest.approx(0.999, abs=1e-3)
    assert np.allclose(rows, values(alignment.seconds_of(keys, PERIOD), [0.0]), rtol=0, atol=1e-11)


def test_nan_and_infinity_are_skipped_and_listed():
    stamp = ORIGIN + PERIOD * np.arange(2000)
    rows = values(seconds(stamp), [0.0])
    rows[500:600, 2] = np.nan
    rows[900, 0] = np.inf
    keys, found, (quality,), _ = align(batches_of(stamp, rows))
    assert quality.unusable == 101
    assert quality.unusable_list[0] == pytest.approx({"from": 0.5, "to": 0.599})
    assert len(alignment.runs_of(keys)) == 2
    assert np.isfinite(found).all()


def test_a_clock_that_is_set_back():
    stamp = jittered(2000)
    twice = np.concatenate([stamp, stamp - 30_000_000_000])
    rows = np.concatenate([values(seconds(stamp), [0.0])] * 2)
    keys, found, (quality,), _ = align(batches_of(twice, rows))
    assert quality.clock_jumps == 1
    assert quality.jump_list[0]["by"] == pytest.approx(-32.0, abs=0.01)
    first, second = alignment.runs_of(keys)
    assert np.allclose(found[first], found[second], atol=1e-8)
    assert alignment.seconds_of(keys[second], PERIOD)[0] == pytest.approx(-30.0, abs=2e-3)


def test_without_stamps_the_time_of_receipt_is_used():
    stamp = jittered(500)
    source = alignment.Source("/js", {("a",): np.array([0])}, np.array([0]), stamped=False)
    zero = np.zeros_like(stamp)
    rows = values(seconds(stamp), [0.0])
    _, found, (quality,), _ = align(batches_of(zero, rows, received=stamp), [source])
    _, expected, _, _ = align(batches_of(stamp, rows))
    assert np.array_equal(found, expected)
    assert quality.without_stamp == 500


def test_joints_of_several_publishers_are_joined():
    stamp, later = jittered(3000), jittered(3000, seed=5)[100:2900:2]
    sources = [
        alignment.Source("/arm", {("b", "a", "x"): np.array([1, 0])}, np.array([0, 2])),
        alignment.Source("/hand", {("c",): np.array([0])}, np.array([1])),
    ]
    arm = batches_of(stamp, values(seconds(stamp), [1.0, 0.0, 9.0]), ("b", "a", "x"), "/arm")
    hand = batches_of(later, values(seconds(later), [2.0]), ("c",), "/hand", size=170)
    mixed = sorted([*arm, *hand], key=lambda batch: batch.stamp[0])
    stray = JointSamples("/hand", ("d",), later[:5], later[:5], np.zeros((5, 3, 1)))
    keys, rows, _, _ = align([*mixed, stray], sources, n=3)
    t = alignment.seconds_of(keys, PERIOD)
    assert t[0] == pytest.approx(0.1, abs=2e-3)
    assert t[-1] == pytest.approx(2.898, abs=2e-3)
    assert np.allclose(rows, values(t, [0.0, 2.0, 1.0]), rtol=0, atol=1e-10)


def test_other_joints_in_some_messages_change_nothing():
    stamp = jittered(2000)
    rows = values(seconds(stamp), [0.0])
    wider = np.concatenate([np.zeros((2000, 3, 1)), rows], axis=2)
    is_wide = np.random.default_rng(4).random(2000) < 0.3
    batches = []
    for k in range(0, 2000, 700):
        part = np.arange(k, min(k + 700, 2000))
        for names, source, which in (
            (("a",), rows, part[~is_wide[part]]),
            (("x", "a"), wider, part[is_wide[part]]),
        ):
            batches += batches_of(stamp[which], source[which], names, size=700)
    source = alignment.Source(
        "/js", {("a",): np.array([0]), ("x", "a"): np.array([1])}, np.array([0])
    )
    keys, found, (quality,), _ = align(batches, [source])
    expected_keys, expected, _, _ = align(batches_of(stamp, rows))
    assert np.array_equal(keys, expected_keys)
    assert np.array_equal(found, expected)
    assert quality.messages == 2000
    assert quality.events() == []


def test_samples_before_an_error_are_not_lost():
    stamp = jittered(900)

    def failing():
        yield from batches_of(stamp, values(seconds(stamp), [0.0]))
        raise OSError("the disk")

    keys, _, _, failures = align(failing())
    assert len(keys) >= 898
    assert [str(failure) for failure in failures] == ["the disk"]
