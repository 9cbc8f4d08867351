# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The motion that a node follows: a hold or a trajectory, and possibly a trajectory that begins
later.

Trajectories behave as in joint_trajectory_controller: stamp 0 means now, past points are dropped,
an empty trajectory stops the motion, and a trajectory of continuous joints is moved as a whole by
full turns to begin near the current motion. It is spliced into that and stays continuous up to
q''''. A stream of targets is followed as they arrive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core import Array, IndependentCopies, RequestError, TrajectoryError
from ...model import JointLimits
from ...motion import (
    Reference,
    StreamedMotion,
    StreamLimits,
    check_reference,
    hold,
    in_nearest_turn,
    interpolate,
    stop,
)
from ...motion.braking import compiled_braking_duration as braking_duration
from ...motion.streams import LONGEST_INTERVAL


@dataclass(frozen=True, eq=False)
class TrajectoryRequest:
    """The points of a trajectory as arrays, in our joint order; without points, a request to stop.

    start: ns, None for now. times: (k,) s after `start`. positions, velocities, accelerations:
    (k, n), NaN rows for points that lack them, None if all do.
    """

    start: int | None
    times: Array
    positions: Array | None
    velocities: Array | None
    accelerations: Array | None


class Splice(NamedTuple):
    """Where a new motion continues the current one: at `begin` (ns), with its `state` (5, n).

    `begin` None: at any time, because the current motion stays at rest.
    """

    begin: int | None
    state: Array


class Planned(NamedTuple):
    """A motion that begins at a splice."""

    splice: Splice
    motion: Reference


class DesiredMotion(IndependentCopies):
    """The desired motion of n joints over time, in whole ns as in stamps.

    limits: positions that no trajectory may leave (if it starts outside, it may return) and
    velocities that it may not exceed. turn: (n,) rad after which a joint's pose repeats, see
    :func:`.joint_turns`; by default never.

    Attribute `desired`: (5, n) the motion at the last `evaluate`, against which errors are judged.
    """

    def __init__(
        self, joint_names: Sequence[str], limits: JointLimits, turn: Array | None = None
    ) -> None:
        self.joint_names = tuple(joint_names)
        self.limits = limits
        n = len(self.joint_names)
        self.turn: Array = np.zeros(n) if turn is None else np.asarray(turn)
        self._running: Reference | None = None
        self._origin = 0  # ns, origin of its time axis
        self._next: tuple[int, Reference] | None = None  # with its origin, at which it starts
        self._now = 0.0  # s on that axis; the time of the last evaluation
        self.desired: Array = np.zeros((5, n))
        hold(("joint",), np.zeros(1))  # compiles

    @property
    def is_active(self) -> bool:
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
        self.desired[1:] = 0.0

    def hold(self, position: Array, time: int) -> None:
        """Hold `position` (n,) from `time` on, which becomes the origin of a new time axis."""
        self._origin, self._now = time, 0.0
        self._running, self._next = hold(self.joint_names, position), None

    def go(self, goal: Array, duration: float) -> None:
        """Move from rest at the held position to rest at `goal` (n,) in `duration` (s)."""
        start = self._require()(self._now)[0]
        moved = interpolate(self.joint_names, [0.0, duration], [start, goal])
        self._origin += round(1e9 * self._now)
        self._running, self._now = moved, 0.0

    def evaluate(self, time: int, out: Array) -> None:
        """Write q..q'''' at `time` to `out` (5, n), and keep it as `desired`."""
        if self._next is not None and time >= self._next[0]:
            (self._origin, self._running), self._next = self._next, None
        running = self._require()
        self._now = 1e-9 * (time - self._origin)
        # If time steps back a little (a shorter lookahead), the motion waits at its start.
        self._now = max(self._now, running.start_time)
        running.evaluate(self._now, out)
        self.desired[:] = out

    def look_ahead(self, time: int, out: Array) -> None:
        """Like `evaluate`, but leaves the state of this object unchanged: a preview of `time`."""
        origin, running = self._origin, self._require()
        if self._next is not None and time >= self._next[0]:
            origin, running = self._next
        running.evaluate(max(1e-9 * (time - origin), running.start_time), out)

    def record(self, time: int, error: Array) -> None:
        """Take the error (n,) against `desired` at `time` (ns), for motions that learn from it."""

    def stop(self, duration: float) -> None:
        """Come to rest in `duration` (s), or later, where the acceleration limits require it."""
        running, acceleration = self._require(), self.limits.acceleration
        if acceleration is not None and np.isfinite(acceleration).any():
            duration = max(duration, braking_duration(running(self._now), np.array(acceleration)))
        self._running, self._next = stop(running, self._now, duration=duration), None

    def follow(
        self,
        request: TrajectoryRequest,
        measured: Array,
        *,
        tolerance: float,
        lead: float,
        shape: str = "held",
        planned: Planned | None = None,
    ) -> None:
        """Follow a trajectory with points, starting now or at its stamp in the future.

        tolerance: maximum distance between the measured position, the current motion and the
        trajectory at its start. lead: s; points due sooner are dropped. shape: of a trajectory of
        positions only, see :func:`.interpolate`. planned: the motion through these points, if it
        was planned beforehand. Raises RequestError for a trajectory that cannot
        be followed; the current motion then continues.
        """
        now = self.time
        position = self._require()(self._now)[0]
        if planned is None:
            place = self.splice(request.start)
            planned = plan(
                self.joint_names, self.limits, request, place, tolerance, lead, self.turn, shape
            )
        elif not self.fits(planned.splice):
            raise RequestError("overtaken", "the motion has changed since this one was planned")
        reject_jump(self.joint_names, "the measured position", measured, position, tolerance)
        begin = now if planned.splice.begin is None else planned.splice.begin
        if begin > now and self.streamed is not None and self.mode == "moving":
            raise RequestError(
                "streaming",
                f"the trajectory begins in {1e-9 * (begin - now):.3g} s, but the robot follows a"
                " stream, which may lead elsewhere until then; stop the stream first, or send the"
                " trajectory with the stamp 0",
            )
        if begin > now:
            self._next = begin, planned.motion
        else:
            self._origin, self._now = begin, 0.0
            self._running, self._next = planned.motion, None

    def stream(
        self,
        request: TrajectoryRequest,
        measured: Array,
        limits: StreamLimits,
        *,
        tolerance: float,
    ) -> None:
        """Follow the points of a message as targets of a stream: they replace the future of those
        before. The first message begins the stream, at the current motion.

        measured, tolerance: the first message is refused if the measured position, or its own first
        one, is farther than this from the current motion. limits: of the stream that begins now.
        Raises RequestError for points without positions, or all overdue.
        """
        q, times, now = request.positions, request.times, self._now
        if q is None or np.isnan(q).any():
            raise RequestError(
                "stream", "every point of a stream needs the positions of all joints"
            )
        for k in np.flatnonzero(np.diff(times) <= 0.0):
            raise RequestError(
                "stream", f"times must increase, but point {k + 1} is not later than point {k}"
            )
        start = None if request.start is None else 1e-9 * (request.start - self._origin)
        late = now - times[-1] - (now if start is None else start)
        if late > LONGEST_INTERVAL:
            raise RequestError("in the past", f"the last point was due {late:.3f} s ago")
        q = q + (in_nearest_turn(self.turn, self.desired[0], q[0]) - q[0])
        streamed = self.streamed
        if streamed is None:
            state = self._require()(now)
            reject_jump(self.joint_names, "the measured position", measured, state[0], tolerance)
            reject_jump(self.joint_names, "the stream", q[0], state[0], tolerance)
            start = None if start is None else start - now
            self._origin, self._now, now = self.time, 0.0, 0.0
            streamed = StreamedMotion(self.joint_names, limits, 0.0, state)
            self._running = streamed
        self._next = None
        streamed.add(now, times, q, request.velocities, start=start)

    @property
    def streamed(self) -> StreamedMotion | None:
        """The stream that is followed, if any."""
        return self._running if isinstance(self._running, StreamedMotion) else None

    def splice(self, start: int | None, notice: int = 0) -> Splice:
        """Where a trajectory with the stamp `start` (ns; None: now) leaves the current motion, if
        planning it takes `notice` (ns)."""
        running, now = self._require(), self.time
        is_held = self._next is None and self._now >= running.end_time
        if notice and start is None and is_held:
            return Splice(None, running(self._now))
        begin = now + notice if start is None else max(now + notice, start)
        return Splice(begin, running(1e-9 * (begin - self._origin)))

    def fits(self, splice: Splice) -> bool:
        """Whether the current motion still passes through this splice."""
        running, now = self._require(), self.time
        begin = now if splice.begin is None else splice.begin
        if begin < now:
            return False
        return np.array_equal(running(1e-9 * (begin - self._origin)), splice.state)

    @property
    def time(self) -> int:
        """Time of the last evaluation, ns."""
        return self._origin + round(1e9 * self._now)

    def _require(self) -> Reference:
        if self._running is None:
            raise RequestError("no state", "no joint state received yet to start from")
        return self._running


def plan(  # wide: everything on which the motion depends; runs in another process, too
    joint_names: Sequence[str],
    limits: JointLimits,
    request: TrajectoryRequest,
    splice: Splice,
    tolerance: float,
    lead: float,
    turn: Array,
    shape: str = "held",
) -> Planned:
    """The motion from a splice through the points of a trajectory.

    limits, tolerance, lead, turn, shape: as in :class:`DesiredMotion`. Raises RequestError.
    """
    for k in np.flatnonzero(np.diff(request.times) <= 0.0):
        raise RequestError(
            "trajectory", f"times must increase, but point {k + 1} is not later than point {k}"
        )
    # A separate time axis keeps times as exact after a day as after a second: the fourth
    # derivative amplifies rounding of times by the fourth power of the rate of the points.
    begin = splice.begin if splice.begin is not None else 0
    start = begin if request.start is None else request.start
    times = request.times + 1e-9 * (start - begin)
    later = times > lead
    if not later.any():
        late = f"the last point was due {-times[-1]:.3f} s before the motion could begin"
        soon = (
            f"the last point is due {times[-1]:.3f} s after the motion can begin, and points within"
            f" splice_lead ({lead:g} s) are dropped"
        )
        raise RequestError("in the past", late if times[-1] < 0.0 else soon)
    state = splice.state
    q = state[0]
    points = request.positions
    if points is not None and (given := ~np.isnan(points).any(axis=1)).any():
        begins = np.array([np.interp(0.0, times[given], x) for x in points[given].T])
        nearest = in_nearest_turn(turn, q, begins)
        points = points + (nearest - begins)
        if not later[0]:
            reject_jump(joint_names, "the trajectory", nearest, q, tolerance)
    first = np.full((1, len(q)), np.nan)  # the rates are those of the initial state
    tables = (points, request.velocities, request.accelerations)
    positions, *rates = (
        None if table is None else np.concatenate((first, table[later])) for table in tables
    )
    if positions is None:
        positions = np.repeat(first, 1 + later.sum(), axis=0)
    positions[0] = q
    try:
        motion = interpolate(
            joint_names, [0.0, *times[later]], positions, *rates, start=state, shape=shape
        )
    except TrajectoryError as error:
        raise RequestError("trajectory", str(error)) from None
    _reject_beyond_limits(limits, motion, q)
    return Planned(splice, motion)


def reject_jump(
    joint_names: Sequence[str], what: str, position: Array, reference: Array, tolerance: float
) -> None:
    """Raise RequestError if `position` (n,), described by `what`, is farther than `tolerance` from
    `reference` (n,)."""
    distance = np.abs(position - reference)
    k = int(distance.argmax())
    if distance[k] > tolerance:
        raise RequestError(
            "jump",
            f"{what} of '{joint_names[k]}' is {distance[k]:.4g} from the current motion;"
            f" allowed: {tolerance:g} (start_tolerance)",
        )


def _reject_beyond_limits(limits: JointLimits, motion: Reference, q: Array) -> None:
    slack = 1e-6  # a motion may end on a limit
    allowed = limits._replace(
        lower=np.minimum(limits.lower, q) - slack, upper=np.maximum(limits.upper, q) + slack
    )
    for event in check_reference(allowed, motion):
        raise RequestError(f"{event.quantity} limit", str(event))
