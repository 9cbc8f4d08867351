# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Torques behind a delay: means against a fine sum, and the limits of the memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_dynamics.dynamics.control.signals.sent_torques import CAPACITY, SentTorques
from multibody_dynamics.dynamics.core.errors import InputError


def sent(times, seed: int = 0) -> SentTorques:
    torques = SentTorques(2)
    rng = np.random.default_rng(seed)
    for t in times:
        torques.push(t, rng.normal(size=2))
    return torques


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=12),
    st.integers(0, 50),
    st.integers(-20, 150),
    st.integers(1, 60),
)
def test_the_mean_is_that_of_the_torque_at_every_moment(steps, delay, start, length):
    """In whole milliseconds, against the sum over all milliseconds."""
    times = np.cumsum(steps)
    line = sent(1e-3 * times)
    moments = np.arange(start, start + length)
    acting = np.maximum(np.searchsorted(times + delay, moments, "right") - 1, 0)
    wanted = line.torques[acting].mean(axis=0)
    found = line.mean(1e-3 * start, 1e-3 * (start + length), 1e-3 * delay)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_an_empty_interval_has_the_torque_of_its_moment():
    line = sent([0.0, 1.0])
    np.testing.assert_array_equal(line.mean(0.7, 0.7, 0.5), line.torques[0])
    np.testing.assert_array_equal(line.mean(1.7, 1.7, 0.5), line.torques[1])


def test_the_older_half_is_dropped_when_the_memory_is_full():
    line = sent(np.arange(CAPACITY + 1.0))
    assert line.count == CAPACITY // 2 + 1
    np.testing.assert_array_equal(line.times[[0, line.count - 1]], [CAPACITY // 2, CAPACITY])
    newest = line.torques[line.count - 1]
    np.testing.assert_array_equal(line.mean(CAPACITY + 1.0, CAPACITY + 2.0, 0.5), newest)


def test_errors():
    line = SentTorques(2)
    with pytest.raises(InputError, match="no torque has been sent"):
        line.mean(0.0, 1.0, 0.0)
    line.push(1.0, np.zeros(2))
    with pytest.raises(InputError, match=r"sent at 1\.0 s cannot follow one sent at 1\.0 s"):
        line.push(1.0, np.zeros(2))
    line.reset()
    line.push(0.5, np.ones(2))
    assert line.count == 1
