"""Twists and their derivatives in the four representations, against power series of poses."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.representations import from_spatial
from reference import error, moved_by, twists


def random_motion(seed, size=1.0):
    rng = np.random.default_rng(seed)
    return se3.exp(rng.normal(size=6)), list(size * rng.normal(size=(4, 6)))


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@pytest.mark.parametrize("seed", range(10))
def test_each_is_the_derivative_of_its_twist(representation, seed):
    pose, rates = random_motion(seed, size=10.0 ** (seed % 3 - 1))
    expected = twists(moved_by(pose, rates), representation)
    converted = from_spatial(pose, rates, representation)
    for order, rate in enumerate(converted):
        assert error(rate, expected[order]) < 1e-14, order


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_as_many_rates_come_back_as_are_known(representation, count):
    pose, rates = random_motion(11)
    converted = from_spatial(pose, rates[:count], representation)
    assert len(converted) == count
    for rate, full in zip(converted, from_spatial(pose, rates, representation), strict=False):
        np.testing.assert_array_equal(rate, full)


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_batches_hold_single_results(representation):
    rng = np.random.default_rng(12)
    poses, rates = se3.exp(rng.normal(size=(2, 3, 6))), list(rng.normal(size=(4, 2, 3, 6)))
    converted = from_spatial(poses, rates, representation)
    for index in np.ndindex(2, 3):
        single = from_spatial(poses[index], [rate[index] for rate in rates], representation)
        assert error([rate[index] for rate in converted], single) < 1e-15


def test_the_representations_differ_in_axes_and_in_the_point_only():
    pose, (V, *_) = random_motion(13)
    R, r = pose[:3, :3], pose[:3, 3]
    body, hybrid, mixed = (from_spatial(pose, [V], name)[0] for name in ("body", "hybrid", "mixed"))
    velocity = V[3:] + np.cross(V[:3], r)
    assert error(hybrid, np.r_[V[:3], velocity]) < 1e-15
    assert error(body, np.r_[R.T @ V[:3], R.T @ velocity]) < 1e-15
    assert error(mixed, np.r_[R.T @ V[:3], velocity]) < 1e-15


def test_arguments_are_never_written_to():
    pose, rates = random_motion(14)
    before = [pose.copy(), *(rate.copy() for rate in rates)]
    for representation in dyn.REPRESENTATIONS:
        from_spatial(pose, rates, representation)
    for array, old in zip([pose, *rates], before, strict=True):
        np.testing.assert_array_equal(array, old)
