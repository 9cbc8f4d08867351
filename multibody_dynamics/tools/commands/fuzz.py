# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `fuzz`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..base.arguments import positive, whole

HELP = "Look for inputs that this package fails to refuse properly"
DETAILS = (
    "Damages valid files and command lines at random, reads them, and reports failures: exceptions"
    " of other packages, messages of several lines or more than 2,000 characters, numerical"
    " warnings, more than 5 s of CPU time (60 s for a command), more than 1 GB of memory, hangs and"
    " crashes. The first input of each kind of failure is written into a folder. The exit status is"
    " 1 if there is any failure."
)
KINDS = "urdf,springs,systems,trajectories,csv,npz,bags,results,command-line"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--what", metavar="KINDS", default=KINDS,
                        help="comma-separated list of kinds of inputs (%(default)s)")  # fmt: skip
    parser.add_argument("--minutes", metavar="M", type=positive, default=5.0,
                        help="duration (%(default)s)")  # fmt: skip
    parser.add_argument("--count", metavar="N", type=whole(1, 10**9),
                        help="number of inputs, instead of a duration")  # fmt: skip
    parser.add_argument("--seed", metavar="S", type=whole(0, 10**9), default=0,
                        help="seed of the random inputs (%(default)s)")  # fmt: skip
    parser.add_argument("--first", metavar="K", type=whole(0, 10**9), default=0,
                        help="number of the first input of each kind (%(default)s)")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, default=Path("fuzz"),
                        help="folder for inputs that fail (%(default)s)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from ..fuzzing.campaign import chosen, until
    from ..fuzzing.campaign import run as run_campaign

    kinds = chosen([name for name in options.what.split(",") if name])
    count = options.count
    more = until(options.minutes) if count is None else lambda tried: tried < count
    result = run_campaign(
        kinds, options.seed, options.output, more=more, first=options.first, progress=_show
    )
    if sys.stderr.isatty():
        print(file=sys.stderr)
    for kind, tried in result.tried.items():
        found = sum(number for (of, _), number in result.findings.items() if of == kind)
        print(f"{kind:<14}{tried:>9} inputs{found:>7} failures")
    for (kind, what), number in sorted(result.findings.items()):
        print(f"{kind}: {what} ({'once' if number == 1 else f'{number} times'})")
    if result.findings:
        print(f"the first input of each failure is in {options.output}")
    return int(bool(result.findings))


def _show(result: Any) -> None:
    """Progress, on a terminal."""
    if sys.stderr.isatty():
        text = f"{result.total} inputs, {len(result.findings)} kinds of failures"
        print(f"\r{text}", end="", file=sys.stderr, flush=True)
