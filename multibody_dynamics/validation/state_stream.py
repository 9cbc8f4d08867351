"""The comparison of a recording, made while it comes: states in, compared states out, a bit late.

The kernels of the filter are symmetric and finite, so all that a causal filter owes to it is a
delay of half their length. There is no other filter here: on the samples that both have, a stream
says what the recording says afterwards.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dynamics.core import Array, InputError
from ..dynamics.identification import HIGHEST
from .alignment import Quality, Resampler, Source
from .comparison import Compared, Comparison
from .settings import Robot, Settings
from .survey import SHORTEST, Survey, turning_joints, usual_step

TURN = 2.0 * np.pi
STENCIL = 3  # samples that interpolation waits for, at most
WITHIN = 0.99  # of the highest cut-off: the rate of the whole recording may be a little lower


class StateStream:
    """States of all joints in the order of their stamps, one at a time.

    The first SHORTEST steps tell the rate; the grid of times begins with the first stamp. A gap in
    the stamps starts the filter anew. For one thread.

    settings : with a cut-off, which is lowered to what the rate allows. velocity : whether states
    have velocities; else positions are differentiated.

    Attributes: `used` (m,), the joints of the model that states are of: all but the held ones.
    `look`, None until the rate is known: period in ns, cut-off, origin of times in ns.
    """

    def __init__(self, robot: Robot, settings: Settings, *, velocity: bool) -> None:
        if settings.cutoff is None:
            raise InputError("a stream has no cut-off from its data: state one")
        model = robot.model
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
        self._batch = SHORTEST + 1  # as many states are worked on together
        self.look: Survey | None = None

    @property
    def rate(self) -> float:
        """Hz, of the grid; 0 as long as it is not known."""
        return 1e9 / self.look.period if self.look else 0.0

    @property
    def delay(self) -> float:
        """s, from a state to what is said of it, at most, if states go on to come; 0 as long as the
        rate is not known."""
        if self.look is None:
            return 0.0
        count = self._comparison.reach + self._comparison.step + STENCIL
        return 1e-9 * self.look.period * count

    def push(self, stamp: int, rows: Array) -> list[Compared]:
        """Take in position, velocity and effort (3, m) at a stamp in ns; what can now be said.

        Raises InputError, at the first states, for settings that do not go together.
        """
        if self._turning.any():
            rows = self._unwrapped(rows)
        self._stamps.append(stamp)
        self._rows.append(rows)
        if len(self._stamps) < self._batch:
            return []
        stamps, states = np.array(self._stamps, dtype=np.int64), np.stack(self._rows)
        self._stamps.clear()
        self._rows.clear()
        if self.look is None:
            self.look = self._looked(stamps)
            self._comparison = Comparison(self._robot, self.look, self._settings)
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
        """What a survey of a recording would have found."""
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
            total=0,
            duration=0.0,
        )

    def _unwrapped(self, rows: Array) -> Array:
        """Positions of continuous joints, which may be told within one turn, without jumps."""
        rows = rows.copy()
        angles = rows[0, self._turning]
        if self._before is not None:
            angles -= TURN * np.round((angles - self._before) / TURN)
        rows[0, self._turning] = self._before = angles
        return rows


def warm_up(robot: Robot, settings: Settings, *, velocity: bool = True) -> None:
    """Compile what a stream needs; raises InputError for settings that do not go together."""
    assert settings.cutoff is not None
    coarse = replace(settings, rate=None)
    stream = StateStream(robot, coarse, velocity=velocity)
    step = round(1e9 * HIGHEST / settings.cutoff)
    rest = np.zeros((3, len(stream.used)))
    k = 0
    while not stream.push(1 + k * step, rest):
        k += 1
