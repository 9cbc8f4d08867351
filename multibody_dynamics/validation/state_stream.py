# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Compares states with the model as they arrive, with a delay.

The kernels of the zero-phase filter are symmetric and finite, so a stream of states can use the
same filter with a delay of half their length. The results equal those of a recording of the states.
"""

from collections import deque
from dataclasses import replace

import numpy as np

from ..dynamics.core import Array, InputError, RequestError
from ..dynamics.identification import HIGHEST, Residuals
from .alignment import Quality, Resampler, Source
from .comparison import Compared, Comparison
from .measured_motors import measured_motors
from .settings import Robot, Settings
from .survey import SHORTEST, Survey, usual_step
from .unwrapping import turning_joints, unwrapped

STENCIL = 3  # maximum number of samples that interpolation waits for
WITHIN = 0.99  # of the highest cut-off: the final rate of the recording may be a little lower


class StateStream:
    """Compares states of all joints that arrive one at a time, in the order of their stamps.

    The first SHORTEST steps determine the rate; the grid of times starts at the first stamp. A gap
    in the stamps restarts the filter. Not thread-safe.

    settings : must contain a cut-off, which is lowered if the rate requires it. velocity : whether
    states have velocities; otherwise positions are differentiated.

    Attributes: `used` (m,), indices of the joints in a state: all but the held ones. `look`: period
    and origin in ns and the cut-off, or None until the rate is known.
    """

    def __init__(self, robot: Robot, settings: Settings, *, velocity: bool) -> None:
        if settings.cutoff is None:
            raise InputError("a stream cannot choose the cut-off from its data: set `cutoff`")
        model = robot.model
        if (motors := measured_motors(robot, settings)) is not None:
            raise InputError(
                "a stream of joint states does not contain the positions of the motors "
                f"{', '.join(motors.names)}, which the efforts of joints with a variable stiffness"
                " or two motors require: compare the torques of the joints (effort: joint), or"
                " record motor_states as well and use `validate --effort motor`"
            )
        self._robot, self._settings, self._velocity = robot, settings, velocity
        self._background = np.full((3, model.n), np.nan)
        for joint, value in settings.held.items():
            self._background[:, model.joint_index(joint)] = value, 0.0, np.nan
        is_held = np.isfinite(self._background[0])
        self.used = np.flatnonzero(~is_held)
        self._turning = turning_joints(model)[self.used]
        self._before: Array | None = None
        self._stamps: list[int] = []
        self._rows: list[Array] = []
        self._batch = SHORTEST + 1  # states that are processed together
        self.look: Survey | None = None

    @property
    def rate(self) -> float:
        """Hz, of the grid; 0 until it is known."""
        return self.look.rate if self.look else 0.0

    @property
    def delay(self) -> float:
        """The maximum delay, in s, from a state to its comparison while states arrive; 0 until the
        rate is known."""
        if self.look is None:
            return 0.0
        count = self._comparison.reach + self._comparison.step + STENCIL
        return 1e-9 * self.look.period * count

    def push(self, stamp: int, rows: Array) -> list[Compared]:
        """Add position, velocity and effort (3, m) at a stamp in ns; return the states compared.

        Raises RequestError if the settings do not suit the rate of the states, as when their stamps
        are in a wrong unit; it is determined anew then.
        """
        rows = rows.copy()
        rows[:1] = unwrapped(rows[:1], self._turning, self._before)
        self._before = rows[0]
        self._stamps.append(stamp)
        self._rows.append(rows)
        if len(self._stamps) < self._batch:
            return []
        stamps, states = np.array(self._stamps, dtype=np.int64), np.stack(self._rows)
        self._stamps.clear()
        self._rows.clear()
        if self.look is None:
            look = self._looked(stamps)
            try:
                self._comparison = Comparison(self._robot, look, self._settings)
            except InputError as error:
                raise RequestError("rate", str(error)) from None
            self.look = look
            self._grid = Resampler(Quality("", ()), self.look.origin, self.look.period)
            self._batch = self._comparison.step
        found: list[Compared] = []
        for keys, values in self._grid.push(0, stamps, states):
            complete = np.broadcast_to(self._background, (len(keys), *self._background.shape))
            complete = complete.copy()
            complete[:, :, self.used] = values
            found += self._comparison.push(keys, complete)
        return found

    def _looked(self, stamps: np.ndarray) -> Survey:
        """The survey that a recording with these stamps would have."""
        period = usual_step(np.diff(stamps))
        assert self._settings.cutoff is not None
        return Survey(
            sources=(Source("", {}, self.used),),
            origin=int(stamps[0]),
            period=period,
            cutoff=min(self._settings.cutoff, WITHIN * HIGHEST * 1e9 / period),
            velocity=self._velocity,
            held=tuple(self._settings.held),
            ignored=(),
            background=self._background,
            duration=0.0,
        )


def warm_up(robot: Robot, settings: Settings) -> None:
    """Compile everything that a stream needs; raises InputError for inconsistent settings."""
    assert settings.cutoff is not None
    stream = StateStream(robot, replace(settings, rate=None), velocity=True)
    step = round(1e9 * HIGHEST / settings.cutoff)
    rest = np.zeros((3, len(stream.used)))
    k = 0
    while not stream.push(1 + k * step, rest):
        k += 1


class RunningResiduals:
    """Statistics of all samples since the start, `total`, and of those of the last seconds."""

    def __init__(self, n: int) -> None:
        self._n = n
        self.total = Residuals.none(n)
        self._samples: deque[tuple[float, Array, Array]] = deque()

    def add(self, t: float, predicted: Array, measured: Array) -> None:
        """Add one sample (n,) at t, s."""
        self.total += Residuals.of([t], predicted[None], measured[None])
        self._samples.append((t, predicted, measured))

    def of_last(self, seconds: float) -> Residuals:
        """The statistics of the last seconds; forgets older samples."""
        samples = self._samples
        while samples and samples[0][0] <= samples[-1][0] - seconds:
            samples.popleft()
        if not samples:
            return Residuals.none(self._n)
        times, predicted, measured = zip(*samples, strict=True)
        return Residuals.of(times, predicted, measured)
