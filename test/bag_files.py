# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Bags for tests, like those recorded from a robot's joint_state_broadcaster."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from multibody_dynamics import dynamics as dyn

STORE = get_typestore(Stores.ROS2_JAZZY)
JOINT_STATE = "sensor_msgs/msg/JointState"
BEGIN = 1_700_000_000_000_000_000  # ns


def joint_state(stamp, names, position=(), velocity=(), effort=()):
    """A serialised message; stamp in ns."""
    types = STORE.types
    time = types["builtin_interfaces/msg/Time"](*divmod(int(stamp), 1_000_000_000))
    header = types["std_msgs/msg/Header"](time, "base")
    rows = (np.asarray(row, dtype=np.float64) for row in (position, velocity, effort))
    message = types[JOINT_STATE](header, list(names), *rows)
    return bytes(STORE.serialize_cdr(message, JOINT_STATE))


def write_bag(
    path: Path,
    messages: Sequence[tuple[str, int, bytes]],
    *,
    plugin: StoragePlugin = StoragePlugin.SQLITE3,
    mode: CompressionMode = CompressionMode.NONE,
    kinds: dict[str, str] | None = None,
) -> Path:
    """Write a bag of (topic, time of receipt in ns, bytes); `kinds` gives types of other topics."""
    writer = Writer(path, version=9, storage_plugin=plugin)
    if mode != CompressionMode.NONE:
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connections = {}
        for topic in dict.fromkeys([t for t, _, _ in messages] + list(kinds or {})):
            kind = (kinds or {}).get(topic, JOINT_STATE)
            connections[topic] = writer.add_connection(topic, kind, typestore=STORE)
        for topic, at, raw in messages:
            writer.write(connections[topic], at, raw)
    return path


def motion(model: dyn.MultibodyModel, count: int, rate: float = 200.0, noise: float = 0.0):
    """Times (k,) in s, and rows (k, 3, n) position, velocity, effort of a moving robot."""
    rng = np.random.default_rng(7)
    t = np.arange(count) / rate
    w = 1.0 + 0.5 * np.arange(model.n)
    low, high = model.limits.lower, model.limits.upper
    middle = np.where(np.isfinite(low + high), (low + high) / 2, 0.0)
    q, qd, qdd = (
        0.4 * w**k * np.sin(np.outer(t, w) + np.arange(model.n) + k * np.pi / 2) for k in range(3)
    )
    effort = dyn.inverse_dynamics(model, q + middle, qd, qdd).tau
    rows = np.stack([q + middle, qd, effort], axis=1)
    return t, rows + noise * rng.normal(size=rows.shape)


def messages_of(t, rows, names, topic="/joint_states", begin=BEGIN):
    """The messages for :func:`write_bag`, received 1 ms after their stamps."""
    stamps = begin + np.round(1e9 * t).astype(np.int64)
    return [
        (topic, int(at) + 1_000_000, joint_state(at, names, *row))
        for at, row in zip(stamps, rows, strict=True)
    ]
