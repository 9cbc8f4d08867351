# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Cycles of an arm in Python that the self-test of its generated controller repeats."""

from typing import NamedTuple

import numpy as np

from ...dynamics.control import Mode
from ...dynamics.core import Array, InputError
from ...dynamics.motion import interpolate
from .generated_design import ControllerDesign, motors_at_rest
from .sampled_arm import SampledArm

LONGEST_GAP = 2000.0  # cycles without link states that are recorded


class RecordedRun(NamedTuple):
    """Cycles of a controller: (k,) times of the cycles and of the samples of the links, and states;
    (k, n) and (k, m) positions, (k, m) torques; the cycles before which it was activated and a goal
    appended; the goal (n,) with its time."""

    time: Array
    link_time: Array
    q: Array
    theta: Array
    state: Array
    torque: Array
    activated: int
    appended: int
    goal: Array
    goal_time: float


def record_cycles(design: ControllerDesign, q: Array) -> RecordedRun:
    """A run from rest at q (n,): activation, a motion, its end by missing link states, and the hold
    after that, with samples that deviate from the ideal ones by up to half a milliradian.

    Raises InputError for settings with which the controller neither follows nor stops in this run.
    """
    model, actuators, p = design.model, design.actuators, design.parameters
    n, m, period = model.n, len(actuators.motors), p["period"]
    theta = motors_at_rest(design, q)
    arm = SampledArm(design)
    settled = max(40, round(1.5 * p["settling_time"] / period))
    timeout = round(min(p["link_timeout"] / period, LONGEST_GAP))
    activated, appended = settled, settled + 40
    lost, found = appended + 40, appended + 55 + timeout
    cycles = found + settled + 15
    duration = (50 + timeout) * period  # the links are missed before the motion ends
    time = period * np.arange(1.0, cycles + 1.0)
    link_time = time.copy()
    link_time[lost:found] = time[lost - 1]
    phase = np.arange(1.0, n + m + 1.0)
    waves = 5e-4 * np.sin(12.0 * time[:, None] + phase)
    moves = interpolate(("share",), [0.0, duration], [[0.0], [1.0]])
    share = np.array([moves(max(t - time[appended], 0.0))[0, 0] for t in time])[:, None]
    limits = model.limits
    inner = np.where(np.isfinite(limits.upper), limits.upper - q, 1.0)
    travel = np.minimum(0.01, 0.1 * np.where(inner > 0.0, inner, 0.1))
    travel = np.minimum(travel, 0.2 * limits.velocity * duration)
    links = q + share * travel + waves[:, :n]
    motors = theta + share * travel[actuators.joint_of_motor] + waves[:, n:]
    goal = q + travel
    goal_time = float(time[appended] + duration)
    states, torques = np.zeros(cycles), np.zeros((cycles, m))
    for k in range(cycles):
        if k == activated:
            arm.activate()
        if k == appended:
            arm.append(goal_time, np.vstack([goal, np.zeros((4, n))]))
        states[k] = arm.update(time[k], link_time[k], time[k], links[k], motors[k])
        torques[k] = arm.torque
    needed = {Mode.FOLLOWING} if p["follows"] else set()
    needed |= {Mode.STOPPING} if timeout < LONGEST_GAP else set()
    for state in sorted(needed - {Mode(int(x)) for x in states}):
        raise InputError(
            f"with these settings, the controller is never {state.name.lower()} in the"
            f" {cycles * period:g} s that are recorded for its self-test"
        )
    return RecordedRun(
        time, link_time, links, motors, states, torques, activated, appended, goal, goal_time,
    )  # fmt: skip
