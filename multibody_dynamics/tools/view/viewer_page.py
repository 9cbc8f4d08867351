# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The page in the browser: scene, controls, a table of loads, and plots; served, or as one file."""

import time
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from viser import ViserServer, uplot

from ...dynamics.core import Array, InputError
from ...dynamics.model import MultibodyModel
from ...reporting.figures import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from ...reporting.progress import ProgressBar
from ...reporting.templates import rendered
from .scene import Look, RobotScene, furnish
from .shapes import RobotShapes, robot_shapes
from .sources import Curves, Source
from .viewed_motion import RobotState, ViewedMotion

HOST = "127.0.0.1"
FRAME = 1.0 / 30.0  # s
MOST_FRAMES = 9_000  # of a page
SLOW = 0.2  # s between two updates of table and plots
LINES = (BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE, "#000000", "#999999")
UNITS = {"Q": "N m", "Q'": "N m/s", "Q''": "N m/s²", "tracking error": "rad"}
ALL = "all joints"
USUAL = Look()
CLOSE = 0.05  # share of a range or limit: what is closer to it is marked


class ViewerPage:
    """A page with a robot and a source of its states.

    port : the first free one from here on is used; `url` tells which.

    Raises InputError if the server cannot be started.
    """

    def __init__(
        self,
        model: MultibodyModel,
        shapes: RobotShapes,
        source: Source | None = None,
        *,
        look: Look = USUAL,
        host: str = HOST,
        port: int = 8080,
    ) -> None:
        try:
            with redirect_stdout(StringIO()):  # a banner
                self.server = ViserServer(host=host, port=port, verbose=False, label=model.name)
        except OSError as error:
            raise InputError(f"{host}, port {port}: {error.strerror or error}") from None
        self._model, self._source, self._look = model, source, look
        self.scene = RobotScene(self.server, model, shapes)
        furnish(self.server, self.scene)
        self.url = f"http://{host}:{self.server.get_port()}"
        self.frames = 0
        if source is not None:
            self._add_panel(source)

    def _add_panel(self, source: Source) -> None:
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="large")
        source.add_controls(gui)
        with gui.add_folder("picture"):
            settings = {
                "magnification": gui.add_slider(
                    "magnification", min=1, max=100, step=1, initial_value=self._look.magnification
                ),
                "twin": gui.add_checkbox("motors", self._look.twin),
                "colours": gui.add_checkbox("torques", self._look.colours),
                "arrows": gui.add_checkbox("wrenches", self._look.arrows),
            }

        def change(event: Any) -> None:
            self._look = Look(**{name: handle.value for name, handle in settings.items()})

        for handle in settings.values():
            handle.on_update(change)
        with gui.add_folder("joints"):
            self._table = gui.add_html("")
        self._plots = _Plots(gui, self._model)

    def run(self, leave: Callable[[], bool]) -> None:
        """Show the states of the source until `leave`."""
        assert self._source is not None
        shown: tuple[RobotState, Look] | None = None
        tabled: RobotState | None = None
        slow = 0.0
        while not leave():
            begin = time.monotonic()
            state = self._source.state()
            if state is not None and shown != (state, self._look):
                shown = state, self._look
                self.scene.show(*shown)
                self.frames += 1
            if state is not None and begin > slow:
                slow = begin + SLOW
                if state is not tabled:
                    tabled = state
                    self._table.content = _table(
                        self._model, state, self.scene.load(state.torque[0])
                    )
                self._plots.show(self._source.curves())
            time.sleep(max(FRAME - (time.monotonic() - begin), 0.001))

    def serve(self, announce: Callable[[str], object], seconds: float | None = None) -> None:
        """Announce the address and run until Ctrl-C, or for some seconds."""
        announce(self.url)
        end = np.inf if seconds is None else time.monotonic() + seconds
        try:
            self.run(lambda: time.monotonic() > end)
        finally:
            self.close()

    def close(self) -> None:
        """Stop the server."""
        with redirect_stdout(StringIO()):
            self.server.stop()


def write_page(
    model: MultibodyModel,
    shapes: RobotShapes,
    motion: ViewedMotion,
    file: Path,
    *,
    look: Look = USUAL,
    frames: float = 30.0,
) -> Path:
    """Write a motion as one HTML file that plays it without a server; frames per second, or less
    for a motion of more than MOST_FRAMES."""
    step = max(1.0 / frames, motion.duration / MOST_FRAMES)
    progress = ProgressBar("of the page")
    page = ViewerPage(model, shapes, look=look, port=0)
    try:
        page.scene.show(motion.at(0.0), look)
        serializer = page.server.get_scene_serializer()
        for t in np.arange(0.0, motion.duration, step).tolist():
            page.scene.show(motion.at(t), look)
            serializer.insert_sleep(step)
            progress(t / motion.duration)
        progress(1.0)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(serializer.as_html(), encoding="utf-8")
    finally:
        page.close()
    return file


def write_motion(urdf: Path, model: MultibodyModel, motion: ViewedMotion, file: Path) -> Path:
    """Write a motion of the robot of a URDF file, as :func:`write_page` does."""
    shapes = robot_shapes(model, urdf.read_bytes(), urdf.parent)
    return write_page(model, shapes, motion, file)


class _Plots:
    """One plot per signal, of all joints or of the chosen one."""

    def __init__(self, gui: Any, model: MultibodyModel) -> None:
        self._gui, self._model = gui, model
        self._plots: dict[str, Any] = {}
        self._chosen: Any = None
        self._drawn: Any = None

    def show(self, curves: Curves | None) -> None:
        if curves is None or len(curves.t) < 2:
            return
        if self._chosen is None:
            self._chosen = self._gui.add_dropdown(
                "plots of", (ALL, *self._model.joint_names), initial_value=ALL
            )
        names = self._model.joint_names
        which = (
            range(len(names)) if self._chosen.value == ALL else [names.index(self._chosen.value)]
        )
        key = (curves.t[0], curves.t[-1], self._chosen.value)
        if key == self._drawn:
            return
        self._drawn = key
        for name, rows in curves.rows.items():
            data = (curves.t - curves.span[0], *(rows[:, i] for i in which))
            series = (
                uplot.Series(label="t"),
                *(
                    uplot.Series(label=names[i], stroke=LINES[i % len(LINES)], width=1.5)
                    for i in which
                ),
            )
            scales = {
                "x": uplot.Scale(
                    time=False, auto=False, range=(0.0, curves.span[1] - curves.span[0])
                )
            }
            plot = self._plots.get(name)
            if plot is None or len(plot.series) != len(series) or plot.series != series:
                if plot is not None:
                    plot.remove()
                self._plots[name] = self._gui.add_uplot(
                    data, series, title=f"{name}, {UNITS[name]}", scales=scales, height=190,
                    legend=uplot.Legend(show=False),
                )  # fmt: skip
            else:
                plot.data = data


def _table(model: MultibodyModel, state: RobotState, load: Array) -> str:
    """A row per joint: position in its range, torque, and load. Marked: close to a limit."""
    lower, upper, *_ = model.limits
    rows = []
    for i, joint in enumerate(model.joint_names):
        bounded = np.isfinite(lower[i]) and np.isfinite(upper[i]) and upper[i] > lower[i]
        share = (state.q[i] - lower[i]) / (upper[i] - lower[i]) if bounded else 0.5
        is_close = bounded and not CLOSE <= share <= 1.0 - CLOSE
        torque = state.torque[0, i]
        rows.append({
            "joint": joint,
            "q": state.q[i],
            "place": f"{100.0 * float(np.clip(share, 0.0, 1.0)):.0f}%" if bounded else "",
            "dot": VERMILION if is_close else BLUE,
            "torque": f"{torque:.1f}" if np.isfinite(torque) else "-",
            "load": f"{100.0 * load[i]:.0f}%",
            "mark": VERMILION if is_close or load[i] > 1.0 - CLOSE else BLUE,
        })  # fmt: skip
    return rendered(Path(__file__).parent / "templates" / "loads.html", rows=rows)
