"""Measurement and output shared by the benchmarks.

All variants run in one process on one core, alternating block by block, so changes in the machine's
speed affect all variants equally: quote the ratios.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numba
import numpy as np
import pinocchio as pin

from multibody_dynamics import __version__
from multibody_dynamics import dynamics as dyn

ROBOT = Path(__file__).parents[1] / "config" / "robots" / "panda.urdf"


def arguments(description: str | None) -> argparse.Namespace:
    """Parse the options of a benchmark: robot, number of blocks, and calls per block."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--urdf", type=Path, default=ROBOT, help="robot to time (%(default)s)")
    parser.add_argument("--blocks", type=int, default=300, help="timed blocks (%(default)s)")
    parser.add_argument("--calls", type=int, default=500, help="calls per block (%(default)s)")
    return parser.parse_args()


def main(run: Callable[[argparse.Namespace], None], description: str | None) -> None:
    """Run one benchmark as a program."""
    options = arguments(description)
    print(surroundings())
    run(options)


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


def loop(function: Callable[[], object], calls: int) -> Callable[[], None]:
    """A block of calls from Python."""

    def block() -> None:
        for _ in range(calls):
            function()

    return block


def measure(
    blocks: Mapping[str, Callable[[], object]], count: int, calls: int
) -> dict[str, list[float]]:
    """Microseconds per call of each block of `calls`, `count` times, alternating."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    times: dict[str, list[float]] = {name: [] for name in blocks}
    for block in blocks.values():
        block()
    for _ in range(count):
        for name, block in blocks.items():
            start = time.perf_counter()
            block()
            times[name].append((time.perf_counter() - start) / calls * 1e6)
    return times


def report(title: str, times: Mapping[str, list[float]], reference: str) -> None:
    """Print minimum, median and 99th percentile, and the ratios of the first two to `reference`."""
    print(f"\n{title}; us per call\n")
    columns = ("min", "median", "p99", "min ratio", "median ratio")
    print(f"{'':48}" + "".join(f"{column:>13}" for column in columns))
    least, unit = min(times[reference]), statistics.median(times[reference])
    for name, values in times.items():
        median, late = statistics.median(values), float(np.percentile(values, 99))
        numbers = (min(values), median, late, min(values) / least, median / unit)
        print(f"{name:48}" + "".join(f"{number:13.3f}" for number in numbers))


def surroundings() -> str:
    """The processor and versions to which the figures apply."""
    return (
        f"{_processor()}; Python {platform.python_version()}, NumPy {np.__version__}, "
        f"Numba {numba.__version__}, Pinocchio {pin.__version__}, multibody_dynamics {__version__}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
