# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A base on springs: its matrices by hand, and what it refuses."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.elastic_arm.soft_base import SoftBase


def test_stiffness_follows_from_the_frequency_with_the_arm_on_it():
    carried = np.diag([10.0, 10.0, 10.0, 2.0, 3.0, 4.0])  # kg, kg m^2
    found = SoftBase(5.0, 0.5, 0.1, ("rz", "x")).matrices(carried)
    np.testing.assert_allclose(found.mass, np.diag([5.0, 1.5]))  # x first
    omega = 2.0 * np.pi * 5.0
    np.testing.assert_allclose(found.stiffness, omega**2 * np.array([15.0, 5.5]))
    np.testing.assert_allclose(found.damping, 0.2 * omega * np.array([15.0, 5.5]))


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ((0.0,), "frequency is 0.0: must be positive"),
        ((5.0, -1.0), "inertia is -1.0: must be positive"),
        ((5.0, 0.5, -0.1), "damping_ratio is -0.1: must be zero or greater"),
        ((5.0, 0.5, 0.1, ("x", "x")), "each once"),
    ],
)
def test_values_out_of_range_are_refused(values, match):
    with pytest.raises(InputError, match=match):
        SoftBase(*values)
