# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The trajectory of the second flat outputs of joints with variable stiffness.

A stiffness in N m/rad, or a pretension in N m, enters the flat map with two derivatives. It
therefore follows a C4 curve, as the joints do, and stays within the range that springs, motors and
joint torque allow.
"""

import dataclasses
from collections.abc import Sequence
from math import isclose

import numpy as np

from ...core import Array, IndependentCopies
from ...elastic import HOLDING, Actuators, SpringSolver
from ...model import JointLimits
from ...motion import LimitEvent
from .desired_motion import DesiredMotion, TrajectoryRequest

MARGIN = 0.05  # share of the range that is left unused at either end
ROUND_OFF = 1e-9  # share by which two computations of the same bound may differ
SHORTEST = 0.1  # s; shortest move to the first reference


class StiffnessReference(IndependentCopies):
    """The desired k, k', k'' of the v variable joints, in `rows` (3, v).

    `torque_scale`: share of the motors' torque limits that may be used.
    """

    def __init__(self, actuators: Actuators) -> None:
        self.joint_names = actuators.variable_joints
        v = len(self.joint_names)
        self.rows: Array = np.zeros((3, v))
        self.torque_scale = 1.0
        self._joints = [actuators.joint_names.index(name) for name in self.joint_names]
        self._actuators = [actuators.actuators[i] for i in self._joints]
        self._motors = [
            motors for _, each, motors, _ in actuators.each() if each.second_output is not None
        ]
        self._motion = DesiredMotion(self.joint_names, JointLimits.unlimited(v))
        self._state: Array = np.zeros((5, v))

    def bounds(self, torque: Array) -> tuple[Array, Array]:
        """(v,) minimum and maximum second outputs that springs and motors can hold at the joint
        torques (n,), less a margin, because the full range uses the whole travel of the springs."""
        low, high = self._ends(torque, HOLDING * self.torque_scale)
        high = np.maximum(low, high)  # the joint torque alone may exceed what the motors can hold
        margin = MARGIN * (high - low)
        return low + margin, high - margin

    def _ends(self, torque: Array, torque_share: float) -> tuple[Array, Array]:
        ends = [
            each.second_output_range(torque[i], torque_share)
            for i, each in zip(self._joints, self._actuators, strict=True)
        ]
        low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
        return low, high

    def report(self, torque: Array) -> dict[str, object]:
        """The reference and its range as diagnostic values, with the cause of the limit."""
        low, high = self.bounds(torque)
        values: dict[str, object] = {}
        loose = self._ends(torque, np.inf)
        tight = self._ends(torque, HOLDING * self.torque_scale)
        for j, name in enumerate(self.joint_names):
            pairs = zip(loose, tight, strict=True)
            by_motors = not all(isclose(a[j], b[j], rel_tol=ROUND_OFF) for a, b in pairs)
            values[f"stiffness of {name}"] = float(self.rows[0, j])
            values[f"range of {name}"] = (
                f"{low[j]:.4g} to {high[j]:.4g}, limited by the "
                f"{'torque limits of the motors' if by_motors else 'springs'}"
            )
        return values

    def measured(self, springs: SpringSolver | None) -> Array:
        """(v,) measured second outputs; those of `rows` where no motor measures them."""
        k = self.rows[0].copy()
        if springs is None:
            return k
        for j, (i, each, motors) in enumerate(
            zip(self._joints, self._actuators, self._motors, strict=True)
        ):
            found = each.measured_second_output(
                springs.q[i], springs.qd[i], springs.theta[motors], springs.thetad[motors]
            )
            if found is not None:
                k[j] = found[0]
        return k

    def feasible(self, goal: Sequence[float], torque: Array) -> Array:
        """(v,) the goal, clipped to the bounds; the middle of the range if it is empty."""
        low, high = self.bounds(torque)
        return np.asarray(np.clip(goal, low, high) if len(goal) else 0.5 * (low + high))

    def begin(
        self,
        goal: Sequence[float],
        springs: SpringSolver | None,
        torque: Array,
        stamp: int,
        duration: float,
    ) -> None:
        """Move from the measured values to the goal (v,) in `duration` s after `stamp` (ns).

        An empty goal is the middle of the range. springs: None if nothing is measured.
        """
        if not self.joint_names:
            return
        low, high = self.bounds(torque)
        k = self.feasible(goal, torque)
        if not self.rows[0].any():
            self.rows[0] = k  # outputs that are not measured start at their goal
        self._motion.hold(np.clip(self.measured(springs), low, high), stamp)
        times = np.array([max(duration, SHORTEST)])
        self.follow(TrajectoryRequest(None, times, k[None], None, None), torque, 0.0)

    def release(self) -> None:
        """Drop the trajectory, because time jumped."""
        self._motion.release()

    def stop(self, duration: float) -> None:
        """Come to rest."""
        self._motion.stop(duration)

    def follow(
        self, request: TrajectoryRequest, torque: Array, lead: float
    ) -> tuple[LimitEvent, ...]:
        """Follow a trajectory, clipped to the range; returns what was clipped.

        If it raises RequestError, the current trajectory continues.
        """
        events: tuple[LimitEvent, ...] = ()
        positions = request.positions
        if positions is not None:
            positions, events = self._clipped(positions, *self.bounds(torque))
        self._motion.follow(
            dataclasses.replace(request, positions=positions),
            self._state[0],
            tolerance=np.inf,
            lead=lead,
        )
        return events

    def evaluate(self, time: int, torque: Array) -> tuple[LimitEvent, ...]:
        """Fill `rows` for `time` (ns); clipped joints get zero rates. Returns what was clipped."""
        if not self.joint_names:
            return ()
        self._motion.evaluate(time, self._state)
        self.rows[:] = self._state[:3]
        clipped, events = self._clipped(self.rows[:1], *self.bounds(torque))
        if events:
            self.rows[1:, clipped[0] != self.rows[0]] = 0.0
            self.rows[0] = clipped[0]
        return events

    def _clipped(
        self, rows: Array, low: Array, high: Array
    ) -> tuple[Array, tuple[LimitEvent, ...]]:
        """Rows (k, v) clipped to the bounds, keeping NaN, and the first clipping of each joint."""
        clipped = np.minimum(np.maximum(rows, low), high)
        cut = (clipped != rows) & ~np.isnan(rows)
        which = zip(cut.argmax(axis=0), np.arange(len(low)), strict=True)
        events = tuple(
            LimitEvent(self.joint_names[j], "stiffness", float(rows[k, j]), float(clipped[k, j]))
            for k, j in which
            if cut[k, j]
        )
        return clipped, events
