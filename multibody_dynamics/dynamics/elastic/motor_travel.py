# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Where motors can be: the range of their links, and the travel of the springs between them."""

from itertools import product

import numpy as np

from ..core import Array
from .actuator import Actuator
from .actuators import Actuators


def motor_range(actuators: Actuators, lower: Array, upper: Array, torque: Array) -> Array:
    """(m, 2) smallest and largest motor positions with links from `lower` to `upper` (n,) and joint
    torques of at most `torque` (n,), within the travel of the springs; infinite without limits."""
    ranges = np.tile([-np.inf, np.inf], (len(actuators.motors), 1))
    for i, actuator, motors, _ in actuators.each():
        loads = _loads(actuator, float(torque[i]))
        ends = np.array([lower[i], upper[i]])
        if not np.isfinite(loads).all():
            continue
        seconds: tuple[float, ...] = (0.0,)
        if actuator.second_output is not None:
            seconds = tuple(float(x) for x in actuator.second_output_range(np.zeros(())))
        finite = np.where(np.isfinite(ends), ends, 0.0)
        rows = np.array(list(product(finite, loads, seconds)))
        zero = np.zeros(len(rows))
        q, Q, second = ([rows[:, k], zero, zero] for k in range(3))
        settled = actuator.settled_deflection(Q, beyond="continue") if actuator.damping else None
        motions = actuator.motor_rows(q, Q, second, settled, "continue")
        for j, motion, share in zip(motors, motions, actuator.torque_shares, strict=True):
            position = motion.position
            if share == 0.0 or np.isfinite(ends).all():
                ranges[j] = position.min(), position.max()
    return ranges


def _loads(actuator: Actuator, torque: float) -> tuple[float, float]:
    """Smallest and largest joint torque, at most that at the ends of the travel of its spring."""
    if actuator.is_rigid:
        return 0.0, 0.0
    low, high = -torque, torque
    if len(actuator.springs) == 1 and actuator.factor_range == (1.0, 1.0):
        ends = actuator.springs[0].torque_range
        low, high = max(low, ends[0]), min(high, ends[1])
    return low, high
