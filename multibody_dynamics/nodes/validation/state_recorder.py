# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Records a topic of joint states, unmodified, in a bag."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from ...validation.recordings import JOINT_STATE
from ...validation.recordings.bag_library import StoragePlugin, Stores, Writer, get_typestore


class StateRecorder:
    """Creates the next free folder `recording_N` in `output`, and the bag `states` in it.

    Attributes: `folder`, `bag`, and `messages`, their number. Raises OSError if writing fails.
    """

    def __init__(self, output: Path, topic: str) -> None:
        output.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            self.folder = output / f"recording_{number}"
            try:
                self.folder.mkdir()
                break
            except FileExistsError:
                number += 1
        self.bag = self.folder / "states"
        self.messages = 0
        self._begin = time.monotonic()
        self._writer = Writer(self.bag, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()
        self._connection = self._writer.add_connection(
            topic, JOINT_STATE, typestore=get_typestore(Stores.ROS2_JAZZY)
        )

    @property
    def seconds(self) -> float:
        """Seconds since the recording began."""
        return time.monotonic() - self._begin

    def add(self, message: JointState) -> None:
        """Write one message as received now."""
        self._writer.write(self._connection, time.time_ns(), serialize_message(message))
        self.messages += 1

    def close(self) -> None:
        """Complete the bag."""
        self._writer.close()

    def discard(self) -> None:
        """Close the bag and delete the folder."""
        self._writer.close()
        shutil.rmtree(self.folder)
