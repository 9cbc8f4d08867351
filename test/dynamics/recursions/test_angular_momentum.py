# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The derivatives of h = R Theta R^T omega against its power series in 40 digits."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.recursions import angular_momentum
from reference import derivatives, error, exact, moved_by, series, times, transpose


@pytest.mark.parametrize("seed", range(2))
def test_derivatives_of_the_angular_momentum(seed):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(4, 3))
    B = rng.normal(size=(3, 3))
    Theta = B @ B.T
    # R(t) with R(0) = 1 and spatial angular velocity omega(t)
    R = moved_by(np.eye(4), np.concatenate([w, np.zeros((4, 3))], axis=1))[:4, :3, :3]
    turned = times(R @ exact(Theta), transpose(R))
    expected = derivatives(times(turned, series(w)[..., None])[..., 0])
    upper = Theta[np.triu_indices(3)]
    first = angular_momentum.angular_momentum_dot(upper, *w[:2])
    second = angular_momentum.angular_momentum_ddot(upper, *w[:3], first)
    third = angular_momentum.angular_momentum_dddot(upper, *w, first, second)
    for got, wanted in zip((first[0], first[2], second[3], third), expected, strict=True):
        assert error(got, wanted) < 1e-14
