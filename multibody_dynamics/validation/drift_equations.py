# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The equations of `drift_statistics`, from compared states and pairs of link and motor states."""

from __future__ import annotations

import numpy as np

from ..dynamics.core import Array
from ..dynamics.elastic import Actuators
from ..dynamics.identification import inverse_dynamics_regressor
from .comparison import Compared
from .drift_statistics import LOAD, SPRING, WIDTH, DriftSums
from .settings import Robot

AT_REST = 0.02  # rad/s or m/s: slower joints may stick, and their friction can have any value
COULOMB_VELOCITY = 0.05  # rad/s or m/s, at which Coulomb friction is 76 % of its full value


def torque_sums(robot: Robot, body: int, found: Compared, period: float) -> DriftSums:
    """The sums of compared states, `period` seconds apart; a payload is on a body, by its index."""
    q, qd, qdd = found.state[:3]
    k, n = q.shape
    A = np.zeros((k, n, WIDTH))
    Y = inverse_dynamics_regressor(robot.model, q, qd, qdd).Y
    A[..., :LOAD] = Y[..., 10 * body : 10 * body + LOAD]
    A[..., LOAD], A[..., LOAD + 1] = qd, np.tanh(qd / COULOMB_VELOCITY)
    A[..., LOAD + 2] = 1.0
    error = found.measured[0] - found.predicted[0]
    used = (np.abs(qd) > AT_REST) & np.isfinite(error)
    seconds = period * np.count_nonzero(used.any(axis=1))
    return DriftSums.of_torques(A, error, used, seconds)


def spring_sums(actuators: Actuators, q: Array, theta: Array, torque: Array) -> DriftSums:
    """The sums of k pairs of states: q, theta and joint torques (k, n). Only joints with a single
    spring between motor and link take part; NaN for the others."""
    n = q.shape[1]
    springs = np.zeros_like(q)
    used = np.zeros(q.shape, dtype=bool)
    for j, each in enumerate(actuators.actuators):
        if each.series_spring is not None:
            used[:, j] = np.isfinite(theta[:, j] - q[:, j] + torque[:, j])
            deflection = np.where(used[:, j], theta[:, j] - q[:, j], 0.0)
            springs[:, j] = each.series_spring.torque(deflection, beyond="continue")
    A = np.zeros((len(q), n, SPRING))
    A[..., 0], A[..., 1] = springs, 1.0
    return DriftSums.of_springs(A, torque - springs, used)
