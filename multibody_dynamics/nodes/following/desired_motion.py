"""The motion that a node follows: a hold or a trajectory, and possibly a trajectory that begins
later. Uses ROS messages, but no node.

Trajectories behave as in joint_trajectory_controller: stamp 0 means now, past points are dropped,
and an empty trajectory stops the motion. A new trajectory is spliced into the current motion and
stays continuous up to q''''.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dynamics.core import Array, TrajectoryError
from ...dynamics.model import JointLimits
from ...dynamics.motion import Reference, check_reference, hold, interpolate, stop
from ..base.messages import MessageError, TrajectoryRequest


class DesiredMotion:
    """The desired motion of n joints over time, in whole ns as in stamps.

    limits: positions that no trajectory may leave (if it starts outside, it may return) and
    velocities that it may not exceed.
    """

    def __init__(self, joint_names: Sequence[str], limits: JointLimits) -> None:
        self.joint_names = tuple(joint_names)
        self.limits = limits
        self._running: Reference | None = None
        self._origin = 0  # ns, origin of its time axis
        self._next: tuple[int, Reference] | None = None  # with its origin, at which it starts
        self._now = 0.0  # s on that axis; the time of the last evaluation

    @property
    def is_there(self) -> bool:
        """Whether there is a motion to follow."""
        return self._running is not None

    @property
    def mode(self) -> str:
        """'waiting', 'holding' or 'moving'."""
        if self._running is None:
            return "waiting"
        return "moving" if self._now < self._running.end_time else "holding"

    @property
    def end(self) -> int:
        """The time at which the last motion comes to rest, ns."""
        origin, motion = self._next or (self._origin, self._require())
        return origin + round(1e9 * motion.end_time)

    def release(self) -> None:
        """Drop the motion."""
        self._running = self._next = None

    def hold(self, position: Array, time: int) -> None:
        """Hold `position` (n,) from `time` on, which becomes the origin of a new time axis."""
        self._origin, self._now = time, 0.0
        self._running, self._next = hold(self.joint_names, position), None

    def go(self, goal: Array, duration: float) -> None:
        """Move from rest at the position that is being held to rest at `goal` (n,), in s."""
        start = self._require()(self._now)[0]
        moved = interpolate(self.joint_names, [0.0, duration], [start, goal])
        self._origin += round(1e9 * self._now)
        self._running, self._now = moved, 0.0

    def evaluate(self, time: int, out: Array) -> None:
        """Write q..q'''' at `time` to `out` (5, n)."""
        if self._next is not None and time >= self._next[0]:
            (self._origin, self._running), self._next = self._next, None
        running = self._require()
        self._now = 1e-9 * (time - self._origin)
        # If time steps back a little (a shorter lookahead), the motion waits at its start.
        self._now = max(self._now, running.start_time)
        running.evaluate(self._now, out)

    def look_ahead(self, time: int, out: Array) -> None:
        """Like `evaluate`, but leaves the state of this object unchanged: a preview of `time`."""
        origin, running = self._origin, self._require()
        if self._next is not None and time >= self._next[0]:
            origin, running = self._next
        running.evaluate(max(1e-9 * (time - origin), running.start_time), out)

    def stop(self, duration: float) -> None:
        """Come to rest in `duration` seconds."""
        self._running, self._next = stop(self._require(), self._now, duration=duration), None

    def follow(
        self, request: TrajectoryRequest, measured: Array, *, tolerance: float, lead: float
    ) -> None:
        """Follow a trajectory with points, starting now or at its stamp in the future.

        tolerance: maximum distance between the measured position, the current motion and the
        trajectory at its start. lead: s; points due sooner are dropped. If it raises MessageError,
        the current motion continues.
        """
        running = self._require()
        for k in np.flatnonzero(np.diff(request.times) <= 0.0):
            raise MessageError(
                "trajectory", f"times must increase, but point {k + 1} is not later than point {k}"
            )
        now = self._origin + round(1e9 * self._now)
        start = now if request.start is None else request.start
        begin = max(now, start)
        # A separate time axis keeps times as exact after a day as after a second: the fourth
        # derivative amplifies rounding of times by the fourth power of the rate of the points.
        times = request.times + 1e-9 * (start - begin)
        later = times > lead
        if not later.any():
            raise MessageError("in the past", f"the last point was due {-times[-1]:.3f} s ago")
        self._reject_jump("the measured position", measured, running(self._now)[0], tolerance)
        state = running(1e-9 * (begin - self._origin))
        q = state[0]
        if not later[0] and request.positions is not None:
            given = ~np.isnan(request.positions).any(axis=1)
            path = [np.interp(0.0, times[given], x) for x in request.positions[given].T]
            self._reject_jump("the trajectory", np.array(path), q, tolerance)
        first = np.full((1, len(q)), np.nan)  # the rates are those of the initial state
        given = (request.positions, request.velocities, request.accelerations)
        positions, *rates = (
            None if table is None else np.concatenate((first, table[later])) for table in given
        )
        if positions is None:
            positions = np.repeat(first, 1 + later.sum(), axis=0)
        positions[0] = q
        try:
            motion = interpolate(
                self.joint_names, [0.0, *times[later]], positions, *rates, start=state
            )
        except TrajectoryError as error:
            raise MessageError("trajectory", str(error)) from None
        self._reject_beyond_limits(motion, q)
        if begin > now:
            self._next = begin, motion
        else:
            self._origin, self._now = begin, 0.0
            self._running, self._next = motion, None

    def _require(self) -> Reference:
        if self._running is None:
            raise MessageError("no state", "no joint state received yet to start from")
        return self._running

    def _reject_jump(self, what: str, position: Array, reference: Array, tolerance: float) -> None:
        distance = np.abs(position - reference)
        k = int(distance.argmax())
        if distance[k] > tolerance:
            raise MessageError(
                "jump",
                f"{what} of '{self.joint_names[k]}' is {distance[k]:.4g} from the current motion;"
                f" allowed: {tolerance:g} (start_tolerance)",
            )

    def _reject_beyond_limits(self, motion: Reference, q: Array) -> None:
        slack = 1e-6  # a motion may end on a limit
        allowed = self.limits._replace(
            lower=np.minimum(self.limits.lower, q) - slack,
            upper=np.maximum(self.limits.upper, q) + slack,
        )
        for event in check_reference(allowed, motion):
            raise MessageError(f"{event.quantity} limit", str(event))
