# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The frequency above which a damper at a motor excites instead of damping, because it comes late.

A motor torque -D theta', computed from a filtered velocity and sent late, damps an oscillation
only while it lags the velocity by less than a quarter of a period. Filter, delay and hold set the
limit: with

    H(w) = F(e^(i w h)) e^(-i w (T + h / 2)),      F: estimated over true velocity,

it is the lowest w at which the phase of H is -pi / 2; T + h / 2 alone give pi / (2 T + h).
Resonances above it are excited, unless friction at the motor damps them more: these are often the
oscillations of small last links on their springs. Lower gains then hardly help, since
damping and excitation are both proportional to them; a faster filter or less delay does.
"""

import numpy as np

from ...core import Array
from ..observers.state_estimation import StateEstimation
from ..signals.derivative_filter import discretised

GRID = 2000  # frequencies, up to half the sampling rate


def lag_limit(estimation: StateEstimation | None, delay: float, period: float) -> float:
    """The limit in rad/s; at most pi / period.

    estimation : filters of the state; None for a velocity that is known exactly. delay, period :
        s, from a sample until its torque acts, and of the hold after that.
    """
    w = np.linspace(0.0, np.pi / period, GRID + 1)[1:]
    lag = w * (delay + 0.5 * period)
    if estimation is not None:
        lag -= np.unwrap(np.angle(_velocity(estimation, w, period)))
    late = np.flatnonzero(lag >= 0.5 * np.pi)
    if not late.size:
        return float(w[-1])
    k = int(late[0])
    if k == 0:
        return float(w[0])
    return float(np.interp(0.5 * np.pi, lag[k - 1 : k + 1], w[k - 1 : k + 1]))


def _velocity(estimation: StateEstimation, w: Array, period: float) -> Array:
    """Ratio of the estimated to the true velocity of an oscillation at each frequency."""
    order = estimation.order
    transition, gain = discretised(order, 2.0 * np.pi * estimation.bandwidth, period)
    # x_k = (A - K C A) x_(k-1) + K y_k
    closed = transition - np.outer(gain, transition[0])
    back = np.exp(-1j * w * period)[:, None, None]
    states = np.linalg.solve(np.eye(order) - back * closed, gain.astype(complex)[:, None])
    return np.asarray(states[:, 1, 0] / (1j * w))
