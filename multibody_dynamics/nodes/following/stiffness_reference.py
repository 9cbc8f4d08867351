"""The second outputs of joints with variable stiffness, over time: a trajectory of their own.

A stiffness in N m/rad, or a pretension in N m, enters the flat map with two derivatives: so it
moves along a C4 curve like the joints, and is kept inside what springs and joint torque allow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from ...dynamics.core import Array
from ...dynamics.elastic import Actuators, Antagonistic, SpringSolver, VariableStiffness
from ...dynamics.model import JointLimits
from ...dynamics.motion import LimitEvent
from ..base.messages import TrajectoryRequest
from .desired_motion import DesiredMotion

MARGIN = 0.05  # of the range, at both ends
HOLDING = 0.8  # of the motors' torque limits, for holding a stiffness at rest; the rest is to move
SHORTEST = 0.1  # s, of a move to the first reference


class StiffnessReference:
    """k, k', k'' of the v variable joints, in `rows` (3, v).

    `torque_scale`: of the motors' torque limits, that may be used at all.
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
        """(v,) least and greatest second outputs that springs and motors can hold with the joint
        torques (n,), less a margin: at the very ends springs are at the end of their travel."""
        low, high = self._ends(torque, HOLDING * self.torque_scale)
        high = np.maximum(low, high)  # the joint torque alone may be more than motors can hold
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
        """What is asked for and its range, for people, with what ends it."""
        low, high = self.bounds(torque)
        values: dict[str, object] = {}
        loose = self._ends(torque, np.inf)
        tight = self._ends(torque, HOLDING * self.torque_scale)
        for j, name in enumerate(self.joint_names):
            by_motors = any(a[j] != b[j] for a, b in zip(loose, tight, strict=True))
            values[f"stiffness of {name}"] = float(self.rows[0, j])
            values[f"range of {name}"] = (
                f"{low[j]:.4g} to {high[j]:.4g}, by the "
                f"{'torque limits of the motors' if by_motors else 'springs'}"
            )
        return values

    def measured(self, springs: SpringSolver | None) -> Array:
        """(v,) second outputs as they are; where no motor tells, as `rows` have them."""
        k = self.rows[0].copy()
        if springs is None:
            return k
        for j, (i, each, motors) in enumerate(
            zip(self._joints, self._actuators, self._motors, strict=True)
        ):
            if isinstance(each, Antagonistic):
                pretension = 0.5 * float(springs.load[motors[0]] - springs.load[motors[1]])
                stiff = each.second_output == "stiffness"
                k[j] = springs.stiffness_felt[i] if stiff else pretension
            elif isinstance(each, VariableStiffness) and each.drive is not None:
                k[j] = each.drive.offset + each.drive.gain * springs.theta[motors[1]]
        return k

    def begin(
        self,
        goal: Sequence[float],
        springs: SpringSolver | None,
        torque: Array,
        stamp: int,
        duration: float,
    ) -> None:
        """From what is measured to the goal (v,), empty: the middle of the range, in `duration` s
        after `stamp` (ns). springs: None where nothing is measured."""
        if not self.joint_names:
            return
        low, high = self.bounds(torque)
        k = np.clip(goal, low, high) if len(goal) else 0.5 * (low + high)
        if not self.rows[0].any():
            self.rows[0] = k  # what no motor tells begins at its goal
        self._motion.hold(np.clip(self.measured(springs), low, high), stamp)
        times = np.array([max(duration, SHORTEST)])
        self.follow(TrajectoryRequest(None, times, k[None], None, None), torque, 0.0)

    def release(self) -> None:
        """Follow nothing: time jumped."""
        self._motion.release()

    def stop(self, duration: float) -> None:
        """Come to rest."""
        self._motion.stop(duration)

    def follow(
        self, request: TrajectoryRequest, torque: Array, lead: float
    ) -> tuple[LimitEvent, ...]:
        """Take over a trajectory, its points clipped to the range; what was clipped.

        Raises MessageError; the running one then stays.
        """
        positions, events = request.positions, ()
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
        """Fill `rows` for `time` (ns); what is clipped stands still. Returns what was clipped."""
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
        """Rows (k, v) between the bounds, NaN as it is, and the first cut of each joint."""
        clipped = np.minimum(np.maximum(rows, low), high)
        cut = (clipped != rows) & ~np.isnan(rows)
        which = zip(cut.argmax(axis=0), np.arange(len(low)), strict=True)
        events = tuple(
            LimitEvent(self.joint_names[j], "stiffness", float(rows[k, j]), float(clipped[k, j]))
            for k, j in which
            if cut[k, j]
        )
        return clipped, events
