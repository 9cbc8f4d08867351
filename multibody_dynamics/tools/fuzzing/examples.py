# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Valid files of every kind, from which damaged ones are made.

They are those of config/, and recordings of a planar arm that are computed here.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ...dynamics import load_urdf
from ...dynamics.model import MultibodyModel
from ...resources import share_directory
from ...validation.recordings.bag_library import StoragePlugin, Stores, Writer, get_typestore

JOINT_STATE = "sensor_msgs/msg/JointState"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
BEGIN = 1_700_000_000_000_000_000  # ns
SAMPLES = 240
RATE = 100.0  # Hz
STIFFNESS = (500.0, 250.0)  # N m/rad, of config/elastic_joints/planar_two_link.yaml
DATA = """
friction:
  shoulder: {viscous: 0.4, coulomb: 0.8, offset: 0.1, coulomb_velocity: 0.01}
  elbow: {logistic: [0.6, 8.0, 0.02]}
rotor_inertia: {shoulder: 0.1, elbow: 0.05}
payload:
  forearm: {mass: 0.5, com: [0.1, 0, 0], inertia_com: [0.001, 0, 0, 0.001, 0, 0.001]}
"""
POINTS = """
joint_names: [shoulder, elbow]
points:
- {positions: [0.0, 0.1], velocities: [0, 0], accelerations: [0, 0], time_from_start: {sec: 0, nanosec: 0}}
- {positions: [0.3, 0.2], velocities: [0.1, 0], time_from_start: {sec: 0, nanosec: 500000000}}
- {positions: [0.4, -0.1], velocities: [0, 0], time_from_start: {sec: 1, nanosec: 0}}
"""  # noqa: E501 - one point a line, as in other examples
ROWS = """
joint_names: [shoulder, elbow]
times: [0, 0.5, 1.0]
positions: [[0, 0.1], [0.3, 0.2], [0.4, -0.1]]
velocities: [[0, 0], [0.1, 0], [0, 0]]
"""


def config(*parts: str) -> Path:
    """A file of config/."""
    return share_directory().joinpath("config", *parts)


@cache
def contents(folder: str, pattern: str) -> tuple[tuple[str, bytes], ...]:
    """Names and contents of the files of a folder of config/, sorted."""
    return tuple((file.stem, file.read_bytes()) for file in sorted(config(folder).glob(pattern)))


@cache
def arm() -> MultibodyModel:
    """The planar arm of the recordings."""
    return load_urdf(config("robots", "planar_two_link.urdf"))


@dataclass(frozen=True, eq=False)
class Recorded:
    """A motion of the arm: t (k,), and q, qd, theta, tau (k, n)."""

    t: Any
    q: Any
    qd: Any
    theta: Any
    tau: Any


@cache
def recorded() -> Recorded:
    """A smooth motion, with the torques of its springs."""
    t = np.arange(SAMPLES) / RATE
    w = np.array([3.0, 5.0])
    q = 0.4 * np.sin(np.outer(t, w))
    qd = 0.4 * w * np.cos(np.outer(t, w))
    tau = np.array([20.0, 8.0]) * np.cos(np.outer(t, w) + 0.3)
    return Recorded(t, q, qd, q + tau / STIFFNESS, tau)


def arrays() -> dict[str, Any]:
    """The recording as the arrays of a .npz file."""
    r = recorded()
    names = np.array(arm().joint_names)
    return {"t": r.t, "q": r.q, "qd": r.qd, "theta": r.theta, "Q": r.tau, "tau": r.tau,
            "joint_names": names}  # fmt: skip


def table() -> bytes:
    """The recording as a .csv file."""
    r = recorded()
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    signals = {"q": r.q, "qd": r.qd, "theta": r.theta, "Q": r.tau, "tau": r.tau}
    head = [f"{signal} {joint}" for signal in signals for joint in arm().joint_names]
    writer.writerow(["t", *head])
    columns = np.column_stack([r.t, *signals.values()])
    writer.writerows([[f"{x:.6g}" for x in row] for row in columns.tolist()])
    return stream.getvalue().encode()


def trajectory_table() -> bytes:
    """A trajectory as a .csv file."""
    r = recorded()
    head = ["t", *(f"{s} {joint}" for s in ("q", "qd") for joint in arm().joint_names)]
    rows = np.column_stack([r.t, r.q, r.qd])[::8]
    lines = [",".join(head), *(",".join(f"{x:.6g}" for x in row) for row in rows.tolist())]
    return "\n".join(lines).encode() + b"\n"


def data_file() -> bytes:
    """Friction, rotors and a payload of the arm, with the names of its bodies."""
    return DATA.replace("forearm", arm().body_names[-1]).encode()


def identified() -> bytes:
    """An identified.json of the arm."""

    def value(x: float) -> dict[str, Any]:
        return {"value": x, "standard error": abs(x) / 100.0, "determined": True}

    inertia = {key: value(0.01 * (key in ("ixx", "iyy", "izz"))) for key in
               ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}  # fmt: skip
    com = {axis: value(0.1) for axis in "xyz"}
    links = {
        body: {"mass": value(2.0), "com": com, "inertia": inertia} for body in arm().body_names
    }
    joints = {joint: {"viscous": value(0.4), "coulomb": value(0.8)} for joint in arm().joint_names}
    return json.dumps({"links": links, "joints": joints}, indent=1).encode()


def messages(random: Any = None) -> list[tuple[str, int, bytes]]:
    """Topic, time of receipt (ns) and bytes of the recorded states.

    random : if given, some messages have rows of other lengths, other names or other bytes
    """
    r, names = recorded(), list(arm().joint_names)
    found = []
    for k in range(0, SAMPLES, 2):
        stamp = BEGIN + round(1e9 * float(r.t[k]))
        for topic, rows in (
            ("/joint_states", (r.q[k], r.qd[k], r.tau[k])),
            ("/motor_states", (r.theta[k], r.qd[k], r.tau[k])),
        ):
            raw = joint_state(stamp, names, rows)
            if random is not None and random.random() < 0.1:
                raw = _odd_state(random, stamp, names, rows)
            found.append((topic, stamp + 1_000_000, raw))
    return found


def _odd_state(random: Any, stamp: int, names: list[str], rows: Sequence[Any]) -> bytes:
    what = random.randrange(6)
    if what == 0:
        return joint_state(stamp, names[: random.randint(0, 1)], rows)
    if what == 1:
        return joint_state(stamp, names, [row[: random.randint(0, 1)] for row in rows])
    if what == 2:
        return joint_state(stamp, [names[0]] * 2, rows)
    if what == 3:
        return joint_state(random.choice((0, -1, stamp - 10**9, 2**31 * 10**9 - 1)), names, rows)
    raw = bytearray(joint_state(stamp, names, rows))
    raw[random.randrange(len(raw))] = random.choice((0, 1, 127, 255))
    return bytes(raw) if what == 4 else bytes(raw[: random.randrange(len(raw))])


@cache
def store() -> Any:
    """The types of messages."""
    return get_typestore(Stores.ROS2_JAZZY)


def joint_state(stamp: int, names: Sequence[str], rows: Sequence[Any]) -> bytes:
    """A serialised JointState; stamp in ns."""
    types = store().types
    time = types["builtin_interfaces/msg/Time"](*divmod(stamp, 1_000_000_000))
    header = types["std_msgs/msg/Header"](time, "base")
    numbers = [np.asarray(row, dtype=np.float64) for row in rows]
    message = types[JOINT_STATE](header, list(names), *numbers)
    return bytes(store().serialize_cdr(message, JOINT_STATE))


def trajectory_message() -> bytes:
    """A serialised JointTrajectory."""
    types, r = store().types, recorded()
    time, duration = types["builtin_interfaces/msg/Time"], types["builtin_interfaces/msg/Duration"]
    header = types["std_msgs/msg/Header"](time(0, 0), "")
    point = types["trajectory_msgs/msg/JointTrajectoryPoint"]
    empty = np.zeros(0)
    points = [
        point(r.q[k], r.qd[k], empty, empty, duration(*divmod(k * 10_000_000, 1_000_000_000)))
        for k in range(0, SAMPLES, 20)
    ]
    message = types[TRAJECTORY](header, list(arm().joint_names), points)
    return bytes(store().serialize_cdr(message, TRAJECTORY))


def write_bag(
    folder: Path,
    states: Sequence[tuple[str, int, bytes]],
    *,
    plugin: str = "MCAP",
    compressed: bool = False,
) -> Path:
    """Write a bag of these states and one trajectory; plugin : MCAP or SQLITE3."""
    writer = Writer(folder, version=9, storage_plugin=StoragePlugin[plugin])
    if compressed:
        from rosbags.rosbag2 import CompressionFormat, CompressionMode

        writer.set_compression(CompressionMode.FILE, CompressionFormat.ZSTD)
    with writer:
        kinds = {topic: JOINT_STATE for topic, *_ in states} | {"/joint_trajectory": TRAJECTORY}
        made = {t: writer.add_connection(t, kind, typestore=store()) for t, kind in kinds.items()}
        writer.write(made["/joint_trajectory"], BEGIN, trajectory_message())
        for topic, at, raw in states:
            writer.write(made[topic], at, raw)
    return folder


def springs() -> Any:
    """The tree of the arm's springs and motors."""
    return yaml.safe_load(config("elastic_joints", "planar_two_link.yaml").read_text())
