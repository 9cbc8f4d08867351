# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The linear map of one cycle of any control law near rest, by differences of its update.

A law is a map from the measured state, the torque that was sent before, and what the law remembers
(:attr:`.Controller.memory`), to a torque and a new memory. Its slope at rest is all that the
stability of the sampled loop needs to know about it. The law is evaluated by the code that runs in
the control cycle, so nothing is derived a second time, and no law has to be linear.

Laws with linear feedback have closed forms in :mod:`loop_sampling`, which are faster.
"""

from typing import NamedTuple

import numpy as np

from ...core import Array
from ..controllers.controllers import Controller
from ..gains.joint_gains import Rest

SETTLING = 3  # updates at rest, after which the start-up of every law is over
DEVIATION = 1e-5  # rad, rad/s; relative for large numbers


class LawGradient(NamedTuple):
    """Slopes of `torque` (m, k) and of the new `memory` (s, k) with respect to k = 2 (n + m) + m +
    s inputs: q, theta, q', theta', the torque sent before, and the memory."""

    torque: Array
    memory: Array


def memory_size(law: Controller) -> int:
    """The number s of values that the law remembers."""
    return sum(part.size for part in law.memory)


def law_gradient(law: Controller, q: Array, rest: Rest, count: int | None = None) -> LawGradient:
    """The slopes of a law at rest at q (n,), with the desired motion at rest there, too; with
    respect to the first `count` inputs, by default all.

    `law` is reset, and left in an arbitrary state: it must not be running. Coulomb friction
    in it counts with its slope at zero velocity. Raises DynamicsError where the law has no
    solution.
    """
    n, m = law.actuators.n, len(law.actuators.motors)
    desired = np.zeros((5, n))
    desired[0] = q
    inputs = np.concatenate((q, rest.theta, np.zeros(n + m)))
    law.stiffness[:] = rest.second
    _settle(law, desired, inputs)
    start = np.concatenate((inputs, law.torque, *(part.ravel() for part in law.memory)))
    moved = 2 * (n + m)
    scales = DEVIATION * np.maximum(1.0, np.abs(start))
    scales[moved:] *= 100.0  # torques and momenta, on which laws depend linearly
    at_rest = _after(law, desired, start, start)
    columns = np.zeros((len(at_rest), len(start[:count])))
    for k, scale in enumerate(scales[:count]):
        point = start.copy()
        point[k] += scale
        above = _after(law, desired, start, point)
        below = at_rest
        if k < moved:
            point[k] = start[k] - scale
            below, scale = _after(law, desired, start, point), 2.0 * scale
        columns[:, k] = (above - below) / scale
    return LawGradient(columns[:m], columns[m:])


def _after(law: Controller, desired: Array, start: Array, point: Array) -> Array:
    """Torque and memory after an update from `point`, the inputs of :class:`LawGradient`, of a law
    that has rested at `start` before: monitors of oscillations see no other point."""
    n, m = law.actuators.n, len(law.actuators.motors)
    moved = 2 * (n + m)
    _settle(law, desired, start[:moved])
    law.applied_torque[:] = point[moved : moved + m]
    begin = moved + m
    for part in law.memory:
        part.ravel()[:] = point[begin : begin + part.size]
        begin += part.size
    _update(law, desired, point[:moved])
    return np.concatenate((law.torque, *(part.ravel() for part in law.memory)))


def _settle(law: Controller, desired: Array, motion: Array) -> None:
    law.reset()
    for _ in range(SETTLING):
        _update(law, desired, motion)


def _update(law: Controller, desired: Array, motion: Array) -> None:
    n, m = law.actuators.n, len(law.actuators.motors)
    q, theta, qd, thetad = np.split(motion, np.cumsum((n, m, n)))
    law.update(desired, q, qd, theta, thetad, ahead=desired)
