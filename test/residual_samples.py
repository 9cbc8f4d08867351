# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Random residual equations of a robot with N joints, whose errors are correlated in time."""

import numpy as np
from scipy.signal import lfilter

from multibody_dynamics.validation.drift_statistics import WIDTH, DriftSums, Layout

N = 3


def samples(rng, k=200, change=None, correlation=0.8):
    """The sums of k samples whose errors are correlated in time."""
    layout = Layout(N)
    x = np.zeros(layout.size) if change is None else change
    A = rng.normal(size=(k, N, WIDTH))
    A[..., -1] = 1.0
    white = rng.normal(size=(k, N))
    error = 0.1 * lfilter([1.0], [1.0, -correlation], white, axis=0)
    error += np.stack([A[:, j] @ x[layout.equation(j)] for j in range(N)], axis=1)
    springs = 10.0 * rng.normal(size=(k, N))
    B = np.stack([springs, np.ones_like(springs)], axis=-1)
    own = 0.2 * rng.normal(size=(k, N))
    own += np.stack([B[:, j] @ x[layout.spring(j)] for j in range(N)], axis=1)
    used = np.ones((k, N), dtype=bool)
    return DriftSums.of_torques(A, error, used, k / 40.0) + DriftSums.of_springs(B, own, used)
