# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Changes of stiffness powered by an energy tank."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_dynamics.dynamics.control import StiffnessRamp
from multibody_dynamics.dynamics.core import InputError


def test_the_stiffness_arrives_in_the_given_time():
    ramp = StiffnessRamp(np.array([10.0, 50.0]), time=0.5, capacity=1.0)
    ramp.aim(np.array([110.0, 0.0]))
    for k in range(500):
        assert ramp.advance(1e-3, 0.0, np.zeros(2))
        np.testing.assert_allclose(ramp.value, [10.0 + 0.2 * (k + 1), 50.0 - 0.1 * (k + 1)])
    assert not ramp.advance(1e-3, 0.0, np.zeros(2))
    assert not ramp.is_held


def test_a_displaced_spring_gains_no_more_than_the_tank_has():
    ramp = StiffnessRamp(np.array([0.0]), time=0.1, capacity=0.2)
    ramp.aim(np.array([1000.0]))
    stretch = np.array([0.5 * 0.1**2])
    for _ in range(300):
        ramp.advance(1e-3, 0.0, stretch)
        ramp.withdraw_energy(stretch)
    assert ramp.is_held
    np.testing.assert_allclose(ramp.value * stretch, 0.2)
    ramp.advance(1e-3, 100.0, stretch)  # dissipation makes room
    np.testing.assert_allclose(ramp.value * stretch, 0.25)


@given(seed=st.integers(0, 2**32 - 1))
def test_spring_and_tank_together_never_gain_more_than_was_done_or_dissipated(seed):
    """However the spring is used, its energy and the tank's change at most by work and
    dissipation."""
    rng = np.random.default_rng(seed)
    ramp = StiffnessRamp(np.array([100.0]), time=0.05, capacity=0.5)
    e, supplied = 0.1, 0.0
    begin = 0.5 * 100.0 * e**2 + ramp.energy
    for _ in range(200):
        if rng.random() < 0.1:
            ramp.aim(rng.uniform(0.0, 1000.0, 1))
        power = rng.uniform(0.0, 5.0)
        stretch = np.array([0.5 * e**2])
        ramp.advance(1e-3, power, stretch)
        ramp.withdraw_energy(stretch)
        moved = e + rng.normal(0.0, 0.01)
        supplied += 0.5 * ramp.value[0] * (moved**2 - e**2) + power * 1e-3
        e = moved
        assert 0.5 * ramp.value[0] * e**2 + ramp.energy <= begin + supplied + 1e-9


def test_numbers_out_of_range_are_refused():
    with pytest.raises(InputError, match=r"time is -1.* s"):
        StiffnessRamp(np.ones(1), time=-1.0, capacity=1.0)
    with pytest.raises(InputError, match=r"capacity is nan J"):
        StiffnessRamp(np.ones(1), time=1.0, capacity=np.nan)
