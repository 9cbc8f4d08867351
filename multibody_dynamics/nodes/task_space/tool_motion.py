# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The desired motion of a node whose tool follows paths: holds, paths, and streamed points. Uses
ROS messages, but no node."""

from typing import Any

import numpy as np

from ...dynamics.control import DesiredMotion, TrajectoryRequest, reject_jump
from ...dynamics.core import Array, InputError
from ...dynamics.motion import Points, Reference, StreamedMotion, Trajectory, stop
from ..base.messages import MessageError
from .path_planning import PathMotion

STOP = 0.5  # s; duration of the stop if a motion cannot continue


class ToolMotion(DesiredMotion):
    """A `DesiredMotion` that can also follow a `PathMotion`, and then stops on its path.

    version: increases with every change of the motion. fault: why the last motion could not
    continue and the joints were stopped; "" if none failed.
    """

    version = 0
    fault = ""

    def release(self) -> None:
        super().release()
        self.version += 1

    def hold(self, position: Array, time: int) -> None:
        super().hold(position, time)
        self.version += 1

    def follow(self, request: TrajectoryRequest, measured: Array, **options: Any) -> None:
        super().follow(request, measured, **options)
        self.version += 1

    def stream(self, request: TrajectoryRequest, *arguments: Any, **options: Any) -> None:
        had_begun = self.streamed is not None
        super().stream(request, *arguments, **options)
        self.version += not had_begun

    def stop(self, duration: float) -> None:
        running = self._require()
        if isinstance(running, PathMotion) and self.mode == "moving":
            self._running, self._next = running.braked(self._now, duration), None
        else:
            super().stop(duration)
        self.version += 1

    def evaluate(self, time: int, out: Array) -> None:
        before = out.copy()
        try:
            super().evaluate(time, out)
        except MessageError:
            raise
        except InputError as error:  # the tool cannot continue: bring the joints to rest
            self.fault = str(error)
            names, t = self.joint_names, self._now
            passing = Trajectory(names, np.array([t, t + 1.0]), np.stack([before, before]))
            self._running, self._next = stop(passing, t, duration=STOP), None
            self.version += 1
            self._running.evaluate(t, out)
            self.desired[:] = out

    def come_to_rest(self, duration: float) -> Array:
        """Stop the current motion and drop a pending one; returns the q (n,) at which it rests.

        Raises MessageError if there is no motion.
        """
        running = self._require()
        if self.mode == "moving":
            self.stop(duration)
            running = self._require()
        self._next = None
        return running(running.end_time)[0]

    def take_over(self, motion: PathMotion, measured: Array, *, tolerance: float) -> None:
        """Follow a planned motion from the end of the current one.

        tolerance: maximum distance between measured and desired position. Raises MessageError.
        """
        running = self._require()
        place = running(self._now)[0]
        reject_jump(self.joint_names, "the measured position", measured, place, tolerance)
        end = self._origin + round(1e9 * running.end_time)
        if self.mode == "moving":
            self._next = end, motion
        else:
            self._origin += round(1e9 * self._now)
            self._now, self._running, self._next = 0.0, motion, None
        self.version += 1

    @property
    def wanted_pose(self) -> Array | None:
        """The desired pose of the tool now, (4, 4); None if it is not on a path."""
        running = self._running
        return running.wanted(self._now) if isinstance(running, PathMotion) else None

    def upcoming(self, period: float) -> tuple[int, Points] | None:
        """The rest of the motion: start time in ns, and points every `period` s; None at rest.

        A path that begins after a stop is appended to it.
        """
        parts = [] if self._running is None else [(self._origin, self._running, self._now)]
        if self._next is not None:
            parts.append((*self._next, 0.0))
        begin = self._origin + round(1e9 * self._now)
        times, states = [], []
        for origin, motion, first in parts:
            if motion.end_time > first and not isinstance(motion, StreamedMotion):
                count = max(int(np.ceil((motion.end_time - first) / period)), 1)
                own = np.linspace(first, motion.end_time, count + 1)[1:]
                times.append(own + 1e-9 * (origin - begin))
                states.append(_sampled(motion, own))
        if not times:
            return None
        rows = np.concatenate(states)
        return begin, Points(np.concatenate(times), rows[:, 0], rows[:, 1], rows[:, 2])


def _sampled(motion: Reference, times: Array) -> Array:
    return motion.near(times) if isinstance(motion, PathMotion) else motion.sample(times)
