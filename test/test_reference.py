# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The closed form in the 40-digit reference against the power series of mpmath."""

import mpmath as mp
import numpy as np
import pytest

from reference import DIGITS, exact, hat, matrix_exponential


@pytest.mark.parametrize("angle", [0.0, 1e-5, 0.9e-3, 1.1e-3, 1.0, 3.0, 7.0, -2.0])
def test_the_matrix_exponential_is_that_of_mpmath(angle: float) -> None:
    rng = np.random.default_rng(3)
    axis = rng.normal(size=3)
    screw = np.concatenate([axis / np.linalg.norm(axis) * angle, rng.normal(size=3)])
    with mp.workdps(DIGITS):
        x = hat(screw)
        expected = exact(mp.expm(mp.matrix(x.tolist())).tolist())
        assert np.abs(matrix_exponential(x) - expected).max() < mp.mpf(10) ** (8 - DIGITS)
