# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Where the states of the shown robot come from: sliders, or a motion that is played.

A third source, running nodes, is in :mod:`.live_topics`. All have the interface of :class:`Source`.
"""

import time
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...dynamics.core import Array
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel, finite_range
from .viewed_motion import RobotState, ViewedMotion, start_of_view

STEP = 0.001  # rad or m, of a slider
CURVE_POINTS = 600  # of a plot
SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2", "4")
PLOTTED = ("Q", "Q'", "Q''", "tracking error")


class Curves(NamedTuple):
    """Signals over time for the plots: t (k,) s; rows (k, n) by names of PLOTTED; and the first and
    last time of the axis."""

    t: Array
    rows: dict[str, Array]
    span: tuple[float, float]


class Source(Protocol):
    """A source of states."""

    def add_controls(self, gui: Any) -> None:
        """Add the source's own controls to the panel."""

    def state(self) -> RobotState | None:
        """The state to show now; None before the first one."""

    def curves(self) -> Curves | None:
        """What is to be plotted now; None if there is nothing to plot."""


class PoseSliders:
    """The robot at rest where sliders place it, with the torques and deflections by gravity."""

    def __init__(
        self, model: MultibodyModel, actuators: Actuators | None, q: Array | None = None
    ) -> None:
        self._model, self._actuators = model, actuators
        self._q = start_of_view(model) if q is None else np.array(q)
        self._state: RobotState | None = None

    def add_controls(self, gui: Any) -> None:
        """A slider for each joint, within its limits, and a button for the middle."""
        lower, upper = finite_range(self._model)
        sliders = []
        with gui.add_folder("position, rad or m"):
            for i, joint in enumerate(self._model.joint_names):
                low, high = float(lower[i]), float(max(upper[i], lower[i] + STEP))
                start = float(np.clip(self._q[i], low, high))
                slider = gui.add_slider(joint, min=low, max=high, step=STEP, initial_value=start)
                slider.on_update(lambda event, i=i: self._move(i, event.target.value))
                sliders.append(slider)
            button = gui.add_button("back to the start")
        home = self._q.copy()

        @button.on_click
        def _(event: Any) -> None:
            for i, slider in enumerate(sliders):
                slider.value = float(home[i])

    def _move(self, i: int, value: float) -> None:
        q = self._q.copy()
        q[i] = value
        if self._model.reaches(q):
            self._q, self._state = q, None

    def state(self) -> RobotState | None:
        if self._state is None:
            self._state = RobotState.at_rest(self._model, self._actuators, self._q)
        return self._state

    def curves(self) -> Curves | None:
        return None


class Playback:
    """A motion that is played, stopped, scrubbed and slowed down. It starts again at its end."""

    def __init__(self, motion: ViewedMotion, begin: float = 0.0, *, plays: bool = True) -> None:
        self.motion = motion
        self._time, self._speed, self._plays = begin, 1.0, plays
        self._since = time.monotonic()
        self._slider: Any = None
        thin = max(len(motion.t) // CURVE_POINTS, 1)
        rows = {name: motion.torque[::thin, k] for k, name in enumerate(PLOTTED[:3])}
        rows[PLOTTED[3]] = motion.error[::thin]
        self._t = motion.t[::thin]
        self._rows = {name: row for name, row in rows.items() if np.isfinite(row).any()}

    def add_controls(self, gui: Any) -> None:
        """Play, time and speed."""
        with gui.add_folder(self.motion.name):
            plays = gui.add_checkbox("play", self._plays)
            self._slider = gui.add_slider(
                "time, s", min=0.0, max=max(round(self.motion.duration, 2), 0.01), step=0.01,
                initial_value=round(min(self._time, self.motion.duration), 2),
            )  # fmt: skip
            speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
            for note in self.motion.notes:
                gui.add_markdown(f"*{note}*")

        @plays.on_update
        def _(event: Any) -> None:
            self._advance()
            self._plays = plays.value

        @speed.on_update
        def _(event: Any) -> None:
            self._advance()
            self._speed = float(speed.value)

        @self._slider.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # the user, not the motion, has moved it
                self._time, self._since = event.target.value, time.monotonic()

    def _advance(self) -> None:
        now = time.monotonic()
        if self._plays:
            self._time += self._speed * (now - self._since)
            if self._time > self.motion.duration:
                self._time = 0.0
        self._since = now

    def state(self) -> RobotState | None:
        self._advance()
        return self.motion.at(self._time)

    def curves(self) -> Curves | None:
        """The signals up to now."""
        if self._slider is not None and self._plays:
            self._slider.value = float(np.clip(round(self._time, 2), 0.0, self._slider.max))
        count = max(int(np.searchsorted(self._t, self._time, side="right")), 2)
        rows = {name: row[:count] for name, row in self._rows.items()}
        return Curves(self._t[:count], rows, (0.0, self.motion.duration))
