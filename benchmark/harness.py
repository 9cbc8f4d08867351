# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Measurement shared by the benchmarks.

All rows of a run are measured in one process on one core, alternating block by block, so changes in
the machine's speed affect all of them equally: quote the ratios.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import pinocchio as pin

from multibody_dynamics import dynamics as dyn

ROBOT = Path(__file__).parents[1] / "config" / "robots" / "panda.urdf"
PACKAGES = ("multibody_dynamics", "numpy", "numba", "llvmlite", "pin", "casadi", "dynibo")

Block = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One line of a table: `block` evaluates something `calls` times."""

    name: str
    block: Block
    calls: int
    every: int = 1  # run only once in so many rounds, for long blocks


@dataclass(frozen=True)
class Group:
    """One table. `key` names it in the report and in docs/benchmark.md."""

    key: str
    title: str
    rows: Sequence[Row]
    reference: str = ""  # the row to which the ratios refer; none if empty
    per: str = "call"


def robots(urdf: Path) -> tuple[dyn.MultibodyModel, pin.Model]:
    """The robot of a URDF file for this package and for Pinocchio, with the same joint order."""
    model = dyn.load_urdf(urdf)
    robot = pin.buildModelFromUrdf(str(urdf))
    if list(robot.names)[1:] != list(model.joint_names) or robot.nq != model.n:
        raise SystemExit(
            f"{urdf}: Pinocchio has other joints, or in another order; use another --urdf"
        )
    return model, robot


def require(name: str, got: np.ndarray, wanted: np.ndarray, tolerance: float = 1e-12) -> None:
    """Check a result before it is timed: exit if the relative error exceeds the tolerance."""
    error = np.abs(got - wanted).max() / np.abs(wanted).max()
    if not error < tolerance:
        raise SystemExit(f"{name}: the error is {error:.1e} of the largest component; not timed")


def loop(function: Block, calls: int) -> Block:
    """A block of calls from Python."""

    def block() -> None:
        for _ in range(calls):
            function()

    return block


def called(name: str, function: Block, options: argparse.Namespace) -> Row:
    """A row of calls from Python."""
    return Row(name, loop(function, options.calls), options.calls)


def all_cores() -> set[int]:
    """The cores that this process was given."""
    return _CORES


_CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


@contextmanager
def pinned() -> Iterator[None]:
    """Stay on one core."""
    if _CORES:
        os.sched_setaffinity(0, {max(_CORES)})
    try:
        yield
    finally:
        if _CORES:
            os.sched_setaffinity(0, _CORES)


def on_all_cores(block: Block) -> Block:
    """A block that may use all cores, in a process that is pinned to one."""

    def spread() -> None:
        if _CORES:
            os.sched_setaffinity(0, _CORES)
        try:
            block()
        finally:
            if _CORES:
                os.sched_setaffinity(0, {max(_CORES)})

    return spread


def measure(groups: Sequence[Group], rounds: int) -> dict[str, dict[str, list[float]]]:
    """{group: {row: microseconds per call of each block}}, all rows alternating."""
    times: dict[str, dict[str, list[float]]] = {
        group.key: {row.name: [] for row in group.rows} for group in groups
    }
    with pinned():
        for group in groups:
            for row in group.rows:
                row.block()
        for count in range(rounds):
            for group in groups:
                for row in group.rows:
                    if count % row.every == 0:
                        start = time.perf_counter()
                        row.block()
                        spent = time.perf_counter() - start
                        times[group.key][row.name].append(spent / row.calls * 1e6)
    return times


def surroundings() -> dict[str, str]:
    """The processor and versions to which the figures apply."""
    found = {"processor": _processor(), "cores": str(len(_CORES) or os.cpu_count())}
    found["python"] = platform.python_version()
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            if name == "multibody_dynamics":
                found[name] = __import__(name).__version__
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
