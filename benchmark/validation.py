# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""`multibody_dynamics validate`, from start to report, compared with only reading the bag.

The messages are at 1 kHz: `--messages 3600000` is an hour. "Reading" is a
loop over the raw messages with rosbags. Each run is a separate process, of which the CPU time is
measured, because it depends little on other load on the machine.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.validation.recordings.bags import JOINT_STATE
from multibody_dynamics.validation.recordings.joint_state_layout import JointStateLayout, Samples

RUNS = 3
BLOCK = 10_000  # messages written at once
NOISE = np.array([1e-5, 1e-3, 5e-2])[:, None]  # rad, rad/s, N m
READ = """
import sys
from pathlib import Path
from rosbags.rosbag2 import Reader
with Reader(Path(sys.argv[1])) as reader:
    for message in reader.messages():
        pass
"""

# A small process in between, because the peak memory of a child includes that of its parent.
TIMED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(done.returncode)
"""


def write(path: Path, plugin: StoragePlugin, model: dyn.MultibodyModel, count: int) -> None:
    """Write a bag of joint states of a moving robot, with noise and jitter of the stamps."""
    rng = np.random.default_rng(0)
    store = get_typestore(Stores.ROS2_JAZZY)
    types, zeros = store.types, np.zeros(model.n)
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "")
    first = types[JOINT_STATE](header, list(model.joint_names), zeros, zeros, zeros)
    layout = JointStateLayout.of(bytes(store.serialize_cdr(first, JOINT_STATE)))
    w = np.linspace(1.0, 4.0, model.n)
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection("/joint_states", JOINT_STATE, typestore=store)
        for begin in range(0, count, BLOCK):
            t = 1e-3 * np.arange(begin, min(begin + BLOCK, count))
            q, qd, qdd = (
                0.4 * w**k * np.sin(np.outer(t, w) + np.arange(model.n) + k * np.pi / 2)
                for k in range(3)
            )
            effort = dyn.inverse_dynamics(model, q, qd, qdd).tau
            rows = np.stack([q, qd, effort], axis=1)
            rows += NOISE * rng.normal(size=rows.shape)
            jitter = rng.normal(scale=2e4, size=len(t))
            stamps = 10**18 + np.round(1e9 * t + jitter).astype(np.int64)
            block = layout.write(Samples(stamps, rows))
            for stamp, raw in zip(stamps.tolist(), block, strict=True):
                writer.write(connection, stamp + 300_000, raw.tobytes())


def timed(*arguments: str) -> tuple[float, float]:
    """CPU time of a process, s, and its peak memory, MB."""
    command = [sys.executable, "-c", TIMED, sys.executable, *arguments]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    seconds, kilobytes = map(float, process.stdout.split())
    return seconds, kilobytes / 1024


def run(options: argparse.Namespace) -> None:
    count = options.messages
    model = dyn.load_urdf(options.urdf)
    print(f"\nvalidate on {count} messages of {model.n} joints; s, rosbags {version('rosbags')}\n")
    print(f"{'':10}{'reading':>10}{'validate':>10}{'ratio':>8}{'MB':>6}")
    for plugin in (StoragePlugin.MCAP, StoragePlugin.SQLITE3):
        with tempfile.TemporaryDirectory() as folder:
            bag, out = Path(folder) / "bag", Path(folder) / "out"
            write(bag, plugin, model, count)
            command = ("-m", "multibody_dynamics.tools.cli", "validate", str(bag))
            command += ("--urdf", str(options.urdf), "-o", str(out))
            timed(*command)  # compiles, and loads the file into the disk cache
            runs = []
            for _ in range(RUNS):
                reading, _ = timed("-c", READ, str(bag))
                whole, memory = timed(*command)
                runs.append((reading, whole, whole / reading, memory))
        columns = zip(*runs, strict=True)
        reading, whole, ratio, memory = (statistics.median(column) for column in columns)
        name = plugin.name.lower()
        print(f"{name:10}{reading:10.2f}{whole:10.2f}{ratio:8.2f}{memory:6.0f}")
