# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Reads recorded joint states from files, as a stream of arrays and without ROS.

Reads rosbag2 recordings (MCAP and sqlite3, split and compressed) and tables (CSV and NumPy). Each
batch holds messages of one topic with the same joint names; nothing is sorted or corrected here.

Recording           a recording of any kind: its overview, and its samples as a stream
JointSelection      where it has the joints of a robot; ALL_JOINTS under their own names
Bag                 a rosbag2 recording, whose other topics are read as bytes
JointSamples        k messages of n joints: times of receipt, stamps, rows (k, 3, n)
Overview            topics, numbers of messages, and the time span of a recording
JOINT_STATE         name of the message type, "sensor_msgs/msg/JointState"
JointStateLayout    a JointState's CDR bytes as arrays: reads and writes thousands at a time
Samples             stamps (k,) ns and rows (k, 3, n) of messages with one layout
read_columns        the columns of a .csv file by name
stacked             columns as one array (k, n)
write_columns       writes such a file, with all digits
times_in            checked times (k,), s
from_start          times (k,), s, from zero on if they are Unix times
read_signals        the signals of joints and motors in a table
SignalTable         the result of read_signals
"""

from .bags import JOINT_STATE, Bag, JointSamples, Overview
from .joint_state_layout import JointStateLayout, Samples
from .recording import ALL_JOINTS, JointSelection, Recording
from .tables import (
    SignalTable,
    from_start,
    read_columns,
    read_signals,
    stacked,
    times_in,
    write_columns,
)

__all__ = [
    "Recording", "JointSelection", "ALL_JOINTS", "Bag", "JointSamples", "Overview", "JOINT_STATE",
    # messages
    "JointStateLayout", "Samples",
    # tables
    "read_columns", "write_columns", "stacked", "times_in", "from_start",
    "read_signals", "SignalTable",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
