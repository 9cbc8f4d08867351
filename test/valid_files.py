# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Valid files of every kind that is read, from which tests make damaged ones: those of config/, and
recordings of a planar arm that are computed here."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bag_files import BEGIN, joint_state
from multibody_dynamics.dynamics import load_urdf
from multibody_dynamics.dynamics.control import (
    KINDS,
    TERMS,
    CollisionThresholds,
    IterativeLearning,
    LearningSettings,
)
from multibody_dynamics.dynamics.core import Array
from multibody_dynamics.dynamics.model import MultibodyModel
from multibody_dynamics.validation.drift_watch import DriftSettings, DriftWatch
from multibody_dynamics.validation.settings import Settings, load_robot
from robots import CONFIG

URDF = CONFIG / "robots" / "planar_two_link.urdf"
SPRINGS = CONFIG / "elastic_joints" / "planar_two_link.yaml"
STIFFNESS = (500.0, 250.0)  # N m/rad, of SPRINGS
DATA = b"""
friction:
  shoulder: {viscous: 0.4, coulomb: 0.8, offset: 0.1, coulomb_velocity: 0.01}
  elbow: {logistic: [0.6, 8.0, 0.02]}
rotor_inertia: {shoulder: 0.1, elbow: 0.05}
payload:
  forearm: {mass: 0.5, com: [0.1, 0, 0], inertia_com: [0.001, 0, 0, 0.001, 0, 0.001]}
"""
POINTS = b"""
joint_names: [shoulder, elbow]
points:
- {positions: [0.0, 0.1], velocities: [0, 0], time_from_start: {sec: 0, nanosec: 0}}
- {positions: [0.3, 0.2], velocities: [0.1, 0], time_from_start: {sec: 0, nanosec: 500000000}}
- {positions: [0.4, -0.1], velocities: [0, 0], time_from_start: {sec: 1, nanosec: 0}}
"""
ROWS = b"""
joint_names: [shoulder, elbow]
times: [0, 0.5, 1.0]
positions: [[0, 0.1], [0.3, 0.2], [0.4, -0.1]]
velocities: [[0, 0], [0.1, 0], [0, 0]]
"""


@cache
def arm() -> MultibodyModel:
    return load_urdf(URDF)


@cache
def recorded() -> dict[str, Array]:
    """t (k,) of a smooth motion, and its q, qd, theta, Q and tau (k, n)."""
    t, w = np.arange(240) / 100.0, np.array([3.0, 5.0])
    q = 0.4 * np.sin(np.outer(t, w))
    tau = np.array([20.0, 8.0]) * np.cos(np.outer(t, w) + 0.3)
    qd = 0.4 * w * np.cos(np.outer(t, w))
    return {"t": t, "q": q, "qd": qd, "theta": q + tau / STIFFNESS, "Q": tau, "tau": tau}


def arrays() -> dict[str, Any]:
    """The recording as the arrays of a .npz file."""
    return {**recorded(), "joint_names": np.array(arm().joint_names)}


def table(*signals: str, every: int = 1) -> bytes:
    """These signals of the recording as a .csv file."""
    rows = recorded()
    head = ["t", *(f"{signal} {joint}" for signal in signals for joint in arm().joint_names)]
    columns = np.column_stack([rows["t"], *(rows[signal] for signal in signals)])[::every]
    lines = (",".join(f"{x:.6g}" for x in row) for row in columns.tolist())
    return "\n".join([",".join(head), *lines, ""]).encode()


def messages() -> list[tuple[str, int, bytes]]:
    """Topic, time of receipt in ns and bytes of the states, for `bag_files.write_bag`."""
    rows, names, found = recorded(), arm().joint_names, []
    for k in range(0, len(rows["t"]), 2):
        stamp = BEGIN + round(1e9 * float(rows["t"][k]))
        for topic, position in (("/joint_states", rows["q"]), ("/motor_states", rows["theta"])):
            raw = joint_state(stamp, names, position[k], rows["qd"][k], rows["tau"][k])
            found.append((topic, stamp + 1_000_000, raw))
    return found


def identified() -> bytes:
    """An identified.json of the arm."""

    def value(x: float) -> dict[str, Any]:
        return {"value": x, "standard error": abs(x) / 100.0, "determined": True}

    inertia = {key: value(0.01 * (key in ("ixx", "iyy", "izz"))) for key in
               ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}  # fmt: skip
    link = {"mass": value(2.0), "com": {axis: value(0.1) for axis in "xyz"}, "inertia": inertia}
    joint = {"viscous": value(0.4), "coulomb": value(0.8)}
    links, joints = dict.fromkeys(arm().body_names, link), dict.fromkeys(arm().joint_names, joint)
    return json.dumps({"links": links, "joints": joints}, indent=1).encode()


@cache
def thresholds() -> bytes:
    """Collision thresholds of the arm."""
    shape = len(KINDS), len(TERMS), arm().n
    rows = 0.1 + np.arange(float(np.prod(shape))).reshape(shape)
    return CollisionThresholds(arm().joint_names, rows).to_yaml().encode()


def covariance() -> dict[str, Any]:
    """The arrays of a covariance of identified parameters."""
    return {"names": ["a", "b"], "values": np.ones(2), "covariance": np.eye(2), "links": 1}


@cache
def learned() -> dict[str, Any]:
    """The arrays of a learned correction."""
    names, start = arm().joint_names, recorded()["q"][0]
    new = IterativeLearning.of_trajectory("key", "robot", names, start, 1.0, LearningSettings())
    return _saved(new.save)


@cache
def drift() -> dict[str, Any]:
    """The arrays of what drift_node remembers."""
    return _saved(drift_watch().save)


def drift_watch() -> DriftWatch:
    robot = load_robot(URDF, elastic_joints=SPRINGS)
    return DriftWatch(robot, DriftSettings(), robot.model.n - 1, Settings(URDF))


def _saved(save: Callable[[Path], object]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "saved.npz")
        save(path)
        with np.load(path) as content:
            return {name: content[name] for name in content.files}
