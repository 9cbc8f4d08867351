# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""All benchmarks: `make benchmark`.

The rows of all tables are measured in one run, in one process on one core, alternating. Every
result is compared before it is timed; a wrong one ends the run. `make benchmark ARGS="--docs"`
writes the tables into docs/benchmark.md.
"""

import argparse
import sys
import time
from pathlib import Path
from types import ModuleType

import batches
import cold_start
import constrained
import control_cycle
import derivatives
import forward_dynamics
import harness
import integration
import inverse_dynamics
import inverse_kinematics
import operations
import report
import scaling

import validation

TIMED: dict[str, ModuleType] = {
    "inverse_dynamics": inverse_dynamics,
    "batches": batches,
    "forward_dynamics": forward_dynamics,
    "derivatives": derivatives,
    "scaling": scaling,
    "constrained": constrained,
    "integration": integration,
    "control_cycle": control_cycle,
}
PROGRAMS: dict[str, ModuleType] = {
    "inverse_kinematics": inverse_kinematics,
    "validation": validation,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python benchmark", description=__doc__)
    parser.add_argument("--urdf", type=Path, default=harness.ROBOT, help="robot (%(default)s)")
    parser.add_argument("--rounds", type=int, default=300, help="timed blocks (%(default)s)")
    parser.add_argument("--calls", type=int, default=200, help="calls per block (%(default)s)")
    names = (*TIMED, "cold_start", *PROGRAMS)
    parser.add_argument(
        "--only", nargs="+", choices=names, default=[*TIMED, "cold_start"], metavar="PART",
        help=f"some of {', '.join(names)}; by default all but the last two, which time programs "
        f"of their own",
    )  # fmt: skip
    parser.add_argument(
        "--joints", type=int, default=1000, help="of the longest chain, at least 15 (%(default)s)"
    )
    parser.add_argument(
        "--messages", type=int, default=150_000, help="of the part validation (%(default)s)"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("build/benchmark"), help="folder (%(default)s)"
    )
    parser.add_argument("--docs", action="store_true", help="update docs/benchmark.md")
    return parser.parse_args()


def main() -> int:
    options, start = arguments(), time.perf_counter()
    surroundings = harness.surroundings()
    print(", ".join(f"{name} {value}" for name, value in surroundings.items()))
    print(f"\n{operations.HEAD}\n\n{operations.table()}\n", flush=True)
    groups = [group for name, part in TIMED.items() if name in options.only
              for group in part.groups(options)]  # fmt: skip
    print(f"checked and compiled after {time.perf_counter() - start:.0f} s", flush=True)
    times = harness.measure(groups, options.rounds)
    found = report.summary(groups, times)
    for group in groups:
        print(report.plain(group, found[group.key]))
    started = cold_start.run(options) if "cold_start" in options.only else {}
    print()
    for name, figure, limit, reached in report.judged(groups, found, started):
        print(f"{name:88}{figure:>8} of {limit:>5} {'' if reached == 'yes' else 'NOT REACHED'}")
    if groups or started:
        report.write(options.output, groups, times, surroundings, started)
        print(f"\n{options.output}/benchmark.json and pictures, after "
              f"{time.perf_counter() - start:.0f} s")  # fmt: skip
    if options.docs:
        report.update_docs(groups, times, surroundings, started)
    for name, program in PROGRAMS.items():
        if name in options.only:
            program.run(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
