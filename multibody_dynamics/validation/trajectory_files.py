# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Trajectories in files: read, slowed down, and written in the same format.

.csv    t and, for every joint, `q JOINT` and, if known, `qd JOINT` and `qdd JOINT` (or q', q''
        as `trajectory --csv` writes them), in s, rad (m)
.yaml   joint_names, times (k,), positions and, if known, velocities, accelerations (k, n); or
        joint_names and points, as `ros2 topic echo` or, with secs and nsecs, ROS 1 prints a
        JointTrajectory
bag     a rosbag2 folder, .mcap or .db3 file with a trajectory_msgs/JointTrajectory

Unix times are counted from the first one on, since their digits are not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from ..dynamics.core import (
    SECOND,
    Array,
    InputError,
    as_real,
    computable_rows,
    file_reader,
    read_yaml_documents,
    reading,
)
from ..dynamics.model import Transmission, motor_columns
from .recordings import Bag, from_start, read_columns, stacked, times_in, write_columns
from .recordings.bag_library import message_types, new_bag
from .recordings.tables import UNIX

CSV_FORMAT = "docs/my_trajectory.md describes the format"
MESSAGE = "trajectory_msgs/msg/JointTrajectory"
COLUMNS = (("q", "qd", "qdd"), ("q", "q'", "q''"))  # column names in tables
ROWS = ("positions", "velocities", "accelerations")
TIMES = {"sec": SECOND, "secs": SECOND, "nanosec": 1, "nsec": 1, "nsecs": 1}  # ns, ROS 2 and 1
POINT = (*ROWS, "effort", "time_from_start")  # keys of a point
TOP = ("header", "joint_names")  # keys beside points, or times and rows


class Form(NamedTuple):
    """Format of a trajectory file (csv, arrays, points or bag), with its columns or its topic."""

    kind: str
    columns: tuple[str, ...] = ()
    topic: str = ""


@dataclass(frozen=True, eq=False)
class Points:
    """times (k,) s; data (3, k, n) positions, velocities, accelerations, NaN where not given."""

    path: Path
    joint_names: tuple[str, ...]
    times: Array
    data: Array
    form: Form

    def at_motors(self, transmissions: Sequence[Transmission]) -> Points:
        """The same with joints behind transmissions as their motors."""
        columns = motor_columns(self.joint_names, transmissions)
        data = [columns.convert(name, rows) for name, rows in zip(ROWS, self.data, strict=True)]
        return replace(self, joint_names=columns.names, data=np.array(data))

    def slower(self, factor: float) -> Points:
        """The same path and start time, slower by a factor."""
        start = self.times[0]
        data = self.data / factor ** np.arange(3.0)[:, None, None]
        return replace(self, times=start + factor * (self.times - start), data=data)

    def given(self) -> dict[str, Array]:
        """Positions, velocities and accelerations, (k, n) each, as far as they are given."""
        pairs = zip(ROWS, self.data, strict=True)
        return {name: rows for name, rows in pairs if np.isfinite(rows).any()}


@file_reader
def read_points(path: Path, *, topic: str = "", message: int | None = None) -> Points:
    """Read a trajectory in one of the formats of the module's docstring.

    topic, message : the topic in a bag, and the number of the message on it, counted from 1.

    Raises InputError naming the file and what is wrong with it.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if path.is_dir() or path.suffix in (".mcap", ".db3"):
        return _read_bag(path, topic, message)
    if path.suffix == ".csv":
        try:
            return _read_csv(path)
        except InputError as error:
            raise InputError(f"{error} ({CSV_FORMAT})") from None
    if path.suffix in (".yaml", ".yml"):
        return _read_yaml(path)
    raise InputError(f"{path}: must be a bag, or end in .csv or .yaml")


def write_points(points: Points, folder: Path) -> Path:
    """Write the file or bag `trajectory` in a folder, in the format in which it was read.

    Raises InputError if a bag already exists.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kind = points.form.kind
    if kind == "bag":
        return _write_bag(points, folder / "trajectory")
    file = folder / f"trajectory.{'csv' if kind == 'csv' else 'yaml'}"
    rows = points.given()
    if kind == "csv":
        columns = {"t": points.times}
        for signal, name in zip(points.form.columns, ROWS, strict=True):
            if name in rows:
                names = [f"{signal} {joint}" for joint in points.joint_names]
                columns |= zip(names, rows[name].T, strict=True)
        write_columns(file, columns)
        return file
    tree: dict[str, Any] = {"joint_names": list(points.joint_names)}
    if kind == "arrays":
        tree["times"] = points.times.tolist()
        tree |= {name: values.tolist() for name, values in rows.items()}
    else:
        tree["points"] = [
            {**row, "time_from_start": dict(zip(("sec", "nanosec"), time, strict=True))}
            for time, row in _message_points(points)
        ]
    text = yaml.safe_dump(tree, sort_keys=False, default_flow_style=None, width=1000)
    file.write_text(text, encoding="utf-8")
    return file


def _message_points(points: Points) -> list[tuple[tuple[int, int], dict[str, list[float]]]]:
    """(seconds, nanoseconds) of every point, and its rows, empty if not given."""
    found = []
    for k, t in enumerate(points.times.tolist()):
        rows = {name: points.data[i, k] for i, name in enumerate(ROWS)}
        lists = {name: row.tolist() if np.isfinite(row).any() else [] for name, row in rows.items()}
        found.append((divmod(round(t * SECOND), SECOND), lists))
    return found


def _of_rows(path: Path, joints: Any, times: Any, given: Mapping[str, Any], form: Form) -> Points:
    """Points with one row per time, and one number per joint or none in each row."""
    if not isinstance(joints, Sequence) or isinstance(joints, str) or not len(joints):
        raise InputError(f"joint_names: must be a list of names, not {joints!r:.60}")
    names = tuple(str(joint) for joint in joints)
    stamps = _numbers("times", times)
    if not len(stamps):
        raise InputError("the trajectory has no points")
    stamps = from_start(times_in(path, stamps))
    data = np.full((3, len(stamps), len(names)), np.nan)
    for own, name in zip(data, ROWS, strict=True):
        rows = given.get(name)
        if rows is None:
            continue
        if not isinstance(rows, list | np.ndarray) or len(rows) != len(stamps):
            count = len(rows) if isinstance(rows, list | np.ndarray) else "no"
            raise InputError(f"{name}: {count} rows, but {len(stamps)} times")
        for k, row in enumerate(rows):
            numbers = _numbers(f"{name} of point {k + 1}", row)
            if len(numbers) not in (0, len(names)):
                raise InputError(
                    f"{name} of point {k + 1}: {len(numbers)} values, but {len(names)} joints"
                )
            if len(numbers):
                own[k] = numbers
    return Points(path, names, stamps, computable_rows("", data), form)


def _numbers(what: str, values: Any) -> Array:
    """Numbers (k,). Raises InputError for anything else."""
    with suppress(InputError):
        found = as_real(what, values)
        if found.ndim == 1:
            return found
    raise InputError(f"{what}: must be a list of numbers, not {values!r:.60}")


def _read_csv(path: Path) -> Points:
    columns = read_columns(path)
    joints = [name[2:] for name in columns if name.startswith("q ")]
    if not joints:
        raise InputError(f"no column is named 'q JOINT'; the columns are {', '.join(columns)}")
    signals = max(
        COLUMNS, key=lambda each: sum(f"{each[1]} {joint}" in columns for joint in joints)
    )
    given = {
        name: stacked(path, columns, [f"{signal} {joint}" for joint in joints])
        for signal, name in zip(signals, ROWS, strict=True)
    }
    return _of_rows(path, joints, columns["t"], given, Form("csv", signals))


def _read_yaml(path: Path) -> Points:
    # `ros2 topic echo` prints --- after every message.
    documents = [each for each in read_yaml_documents(path) if each]
    if len(documents) != 1:
        raise InputError(f"{len(documents)} documents: expected one with joint_names and points")
    tree = documents[0]
    if not isinstance(tree, Mapping):
        raise InputError("must have joint_names, and points or times and positions")
    if "points" not in tree:
        _refuse_unknown("", tree, (*TOP, "times", *ROWS))
        _require(tree, "joint_names", "times")
        return _of_rows(path, tree["joint_names"], tree["times"], tree, Form("arrays"))
    _require(tree, "joint_names")
    _refuse_unknown("", tree, (*TOP, "points"))
    points = tree["points"]
    if not isinstance(points, list) or not all(isinstance(point, Mapping) for point in points):
        raise InputError("points: must be a list of points with positions and time_from_start")
    stamps = []
    for k, point in enumerate(points):
        _refuse_unknown(f"point {k + 1}: ", point, POINT)
        stamps.append(_time(f"time_from_start of point {k + 1}", point.get("time_from_start")))
    given = {name: [point.get(name) or () for point in points] for name in ROWS}
    start = stamps[0] if stamps and abs(stamps[0]) >= UNIX * SECOND else 0
    times = [(stamp - start) / SECOND for stamp in stamps]
    return _of_rows(path, tree["joint_names"], times, given, Form("points"))


def _refuse_unknown(where: str, tree: Mapping[Any, Any], known: Sequence[str]) -> None:
    """Raise InputError for a key that would otherwise be ignored, such as `velocity`."""
    for key in tree:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"expected some of {', '.join(known)}"
            raise InputError(f"{where}unknown key {key!r:.60}; {hint}")


def _require(tree: Mapping[Any, Any], *keys: str) -> None:
    for key in keys:
        if key not in tree:
            raise InputError(f"'{key}' is missing")


def _time(where: str, stamp: Any) -> int:
    """A duration of ROS 2 or ROS 1 in ns."""
    if not isinstance(stamp, Mapping) or not stamp:
        raise InputError(f"{where}: must have sec and nanosec, not {stamp!r:.60}")
    _refuse_unknown(f"{where}: ", stamp, list(TIMES))
    units = [TIMES[key] for key in stamp]
    if len(set(units)) < len(units):
        raise InputError(f"{where}: {', '.join(stamp)} mean the same; give one")
    parts = _numbers(where, list(stamp.values())).tolist()
    if not all(map(isfinite, parts)):
        raise InputError(f"{where}: {dict(stamp)} is not finite")
    return sum(round(unit * Fraction(part)) for unit, part in zip(units, parts, strict=True))


def _read_bag(path: Path, topic: str, message: int | None) -> Points:
    bag = Bag(path)
    names = [name for name, kind in bag.overview.others.items() if kind == MESSAGE]
    if not names:
        raise InputError(f"no topic of type {MESSAGE}")
    name = topic or names[0]
    if name not in names or (len(names) > 1 and not topic):
        raise InputError(f"topics with trajectories: {', '.join(names)}; choose one with --topic")
    found = [raw for _, raw in bag.messages(name)]
    if not found:
        raise InputError(f"no message on {name}")
    if not 1 <= (message or 1) <= len(found) or (message is None and len(found) > 1):
        raise InputError(f"{len(found)} messages on {name}: choose with --message 1, 2 ...")
    chosen: Any
    with reading(path, "a message"):
        chosen = message_types().deserialize_cdr(found[(message or 1) - 1], MESSAGE)
    stamps = [point.time_from_start for point in chosen.points]
    times = [stamp.sec + stamp.nanosec / SECOND for stamp in stamps]
    given = {each: [getattr(point, each) for point in chosen.points] for each in ROWS}
    return _of_rows(path, chosen.joint_names, times, given, Form("bag", topic=name))


def _write_bag(points: Points, path: Path) -> Path:
    if path.exists():
        raise InputError(f"{path} already exists; bags are not overwritten")
    store = message_types()
    types = store.types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "")
    duration = types["builtin_interfaces/msg/Duration"]
    point = types["trajectory_msgs/msg/JointTrajectoryPoint"]
    rows = [
        point(*map(np.array, lists.values()), np.zeros(0), duration(*time))
        for time, lists in _message_points(points)
    ]
    raw = store.serialize_cdr(types[MESSAGE](header, list(points.joint_names), rows), MESSAGE)
    with new_bag(path) as writer:
        connection = writer.add_connection(points.form.topic, MESSAGE, typestore=store)
        writer.write(connection, 0, raw)
    return path
