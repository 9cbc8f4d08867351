# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The torque that one step of an encoder causes through the gains of a control law.

The filter of the positions answers a step by a peak of their velocities, about .8 W with three
poles at -W, on which the gains act. A law that changes a torque by more than its range in one step
is a relay, which drives the arm around the step.
"""

import numpy as np

from ...core import Array
from ..controllers.controllers import Controller
from ..gains.joint_gains import Rest
from ..signals.derivative_filter import DerivativeFilter
from .law_gradient import law_gradient

CYCLES = 50  # after which a peak is over, whatever the bandwidth of the filter


def velocity_peak(order: int, bandwidth: float, period: float) -> float:
    """1/s, largest velocity after a unit step, of a filter of this order and bandwidth in Hz."""
    filtered = DerivativeFilter(("step",), order, bandwidth, max_step=2.0 * period)
    filtered.update(0.0, np.zeros(1))
    rows = [filtered.update(k * period, np.ones(1))[1, 0] for k in range(1, CYCLES)]
    return float(max(rows))


def step_torques(law: Controller, q: Array, rest: Rest, peak: float) -> Array:
    """(m, n + m) N m/rad or equivalent, by which steps of the encoders of links and motors change
    the torques of a law at rest at q (n,), with the :func:`velocity_peak` of their filters.

    Raises the errors of :func:`.law_gradient`, and leaves the law as that does.
    """
    count = law.actuators.n + len(law.actuators.motors)
    slopes = np.abs(law_gradient(law, q, rest, 2 * count).torque)
    return np.asarray(slopes[:, :count] + peak * slopes[:, count:])


def needed_resolution(torques: Array, limit: Array) -> Array:
    """(n + m,) rad or m, steps of the encoders that change the torque of some motor by its limit
    (m,), with :func:`step_torques`; inf for encoders that a law does not use."""
    steps = np.full(torques.shape, np.inf)
    np.divide(limit[:, None], torques, out=steps, where=torques > 0.0)
    return np.asarray(steps.min(axis=0))
