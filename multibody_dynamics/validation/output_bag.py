# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A bag with measured and predicted torques side by side, for PlotJuggler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..dynamics.core import Array, InputError
from .comparison import Compared
from .recordings import JOINT_STATE, JointStateLayout, Samples
from .recordings.bag_library import message_types, new_bag
from .survey import Survey

TOPICS = ("measured", "predicted", "error")
RATES = ("", "_rate", "_acceleration")  # of the torque, as in the names of our nodes' topics


class OutputBag:
    """A context manager that is called with all compared states; the first call creates the bag.

    The topics /validation/measured, /predicted and /error carry filtered positions and velocities,
    and Q as effort; those with the suffixes _rate and _acceleration carry Q' and Q''. The stamps
    are times of the recording, on the grid of the comparison.
    """

    def __init__(self, path: Path, joint_names: tuple[str, ...], used: Array, count: int) -> None:
        if path.exists():
            raise InputError(f"{path} already exists; bags are not overwritten")
        self._used = used
        self._store = message_types()
        self._layout = self._make_layout(joint_names)
        self._writer = new_bag(path)
        self._count = count
        self._connections: list[list[Any]] = []

    def __enter__(self) -> OutputBag:
        return self

    def _open(self) -> None:
        self._writer.path.parent.mkdir(parents=True, exist_ok=True)
        self._writer.open()
        self._connections = [
            [
                self._writer.add_connection(
                    f"/validation/{topic}{rate}", JOINT_STATE, typestore=self._store
                )
                for topic in TOPICS
            ]
            for rate in RATES[: self._count]
        ]

    def __exit__(self, *error: object) -> None:
        if self._connections:
            self._writer.close()

    def __call__(self, look: Survey, compared: Compared) -> None:
        if not self._connections:
            self._open()
        stamp = look.origin + np.round(1e9 * compared.times).astype(np.int64)
        for k, connections in enumerate(self._connections):
            measured, predicted = compared.measured[k], compared.predicted[k]
            efforts = (measured, predicted, predicted - measured)
            for connection, effort in zip(connections, efforts, strict=True):
                rows = np.stack([compared.state[0], compared.state[1], effort], axis=1)[
                    ..., self._used
                ]
                block = self._layout.write(Samples(stamp, rows))
                for at, message in zip(stamp.tolist(), block, strict=True):
                    self._writer.write(connection, at, message.tobytes())

    def _make_layout(self, names: tuple[str, ...]) -> JointStateLayout:
        types = self._store.types
        header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "")
        zeros = np.zeros(len(names))
        message = types[JOINT_STATE](header, list(names), zeros, zeros, zeros)
        return JointStateLayout.of(bytes(self._store.serialize_cdr(message, JOINT_STATE)))
