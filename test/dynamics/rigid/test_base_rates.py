# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The compiled motion of a base equals that of `base_rows`, which converts representations."""

import numpy as np

from multibody_dynamics.dynamics.rigid.base_rates import body_rates, compiled_body_rates
from multibody_dynamics.dynamics.rigid.kinematics import base_rows
from robots import random_base


def test_rates_with_gravity_are_those_of_base_rows():
    base, gravity = random_base(3), np.array([1.0, -2.0, -9.81])
    rates = np.array([base.twist, base.acceleration, base.jerk, base.jounce])
    expected = base_rows(base, "body", gravity)[12:36].reshape(4, 6)
    for function in (body_rates, compiled_body_rates):
        found = np.zeros((4, 6))
        function(base.pose, rates, gravity, found)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13 * np.abs(expected).max())
