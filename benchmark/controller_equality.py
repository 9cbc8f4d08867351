# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Drive a generated controller and its definition in Python through the same cycles; compare them.

    python benchmark/controller_equality.py --robot panda --seconds 1000

Both get a new random goal every one to two seconds, and encoders that follow the desired motion but
for small waves; the arm itself is not simulated. Python continues from the torque that the C has
sent, since this is the one that acts on a robot. Exit status 1 if states, faults, estimates or
desired motions differ at all, or the torques by more than 1e-12 of the largest one.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from realtime_core import NAME, ROBOTS, designed

from multibody_dynamics.reporting.progress import ProgressBar
from multibody_dynamics.simulation.compiled_controller import CompiledController
from multibody_dynamics.tools.robot.c_package import write
from multibody_dynamics.tools.robot.controller_package import controller_package
from multibody_dynamics.tools.robot.generated_design import (
    ControllerDesign,
    motors_at_rest,
    start_position,
)
from multibody_dynamics.tools.robot.sampled_arm import SampledArm

PERIOD = 1e-3  # s
SETTLING = 40  # cycles before activation
REACH = 0.3  # rad, of the goals about the start
WAVES = 2e-4  # rad, of the encoders about the desired motion
LIMIT = 1e-12  # of the largest torque
EQUAL = ("desired", "q", "qd", "theta", "thetad")


class Comparison(NamedTuple):
    """Cycles in motion; cycles in which something differs besides the torques; torques in N m."""

    following: int
    unequal: int
    difference: float
    largest: float


def compare(
    design: ControllerDesign, folder: Path, seconds: float, begin: float, seed: int
) -> Comparison:
    """Run both, from the time `begin` in s on."""
    write(controller_package(design, NAME), folder)
    c, python = CompiledController(folder), SampledArm(design)
    rng, n = np.random.default_rng(seed), design.model.n
    start = start_position(design)
    rest = motors_at_rest(design, start)
    phases = np.arange(1.0, n + len(rest) + 1.0)
    show = ProgressBar(f"{seconds:g} s", stays=True)
    cycles, due = round(seconds / PERIOD), 0.0
    following = unequal = 0
    difference = largest = 0.0
    for k in range(cycles + SETTLING):
        time = begin + k * PERIOD
        if k == SETTLING:
            c.activate()
            python.activate()
        if c.state == "holding" and k >= due:
            span = rng.uniform(1.0, 2.0)
            due = k + span / PERIOD
            goal = np.zeros((5, n))
            goal[0] = start + REACH * rng.uniform(-1.0, 1.0, n)
            unequal += bool(c.append(time + span, goal)) + bool(python.append(time + span, goal))
        waves: NDArray[np.float64] = WAVES * np.sin(9.0 * time + phases)
        is_moving = c.state in ("holding", "following")
        q = (c.desired[0] if is_moving else start) + waves[:n]
        theta = (c.desired_theta if is_moving else rest) + waves[n:]
        c.update(time, q, theta)
        python.update(time, time, time, q, theta)
        unequal += c._output.state != python.state or c._output.fault != python.fault or any(
            not np.array_equal(getattr(c, name), getattr(python, name)) for name in EQUAL
        )  # fmt: skip
        following += c.state == "following"
        difference = max(difference, float(np.abs(c.torque - python.torque).max()))
        largest = max(largest, float(np.abs(python.torque).max()))
        python.torque[:] = c.torque
        if python.arm.transfer.law is not None:
            python.arm.transfer.law.applied(c.torque)
        if k % 1000 == 0:
            show(k, cycles + SETTLING)
    show(cycles + SETTLING, cycles + SETTLING)
    return Comparison(following, unequal, difference, largest)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("--robot", choices=ROBOTS, default="panda", help="(%(default)s)")
    parser.add_argument("--seconds", type=float, default=100.0, help="(%(default)s)")
    parser.add_argument("--begin", type=float, default=0.0,
                        help="s, the clock at the start (%(default)s)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the goals (%(default)s)")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        found = compare(
            designed(options.robot), Path(folder), options.seconds, options.begin, options.seed
        )
    share = found.difference / found.largest
    print(
        f"{options.robot}: {options.seconds:g} s, {PERIOD * found.following:.3g} s in motion\n"
        f"cycles that differ besides the torques: {found.unequal}\n"
        f"torques differ by at most {found.difference:.2g} N m, {share:.2g} of the largest one, "
        f"{found.largest:.3g} N m"
    )
    return int(found.unequal > 0 or not share <= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
