# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""From the start of a process to its first torque, without and with machine code in the cache."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

RUNS = 3  # of which the median counts
EMPTY, FULL = "empty cache", "machine code in the cache"
LIMITS = {EMPTY: 10.0, FULL: 2.0}  # to the first torque, s
LOAD = """
import sys
import numpy as np
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory
model = dyn.load_urdf(sys.argv[1])
dyn.rigid.specialise_solvers()
"""
WAITING = "the same, with code for its robot"
PROGRAMS = {
    "`InverseDynamicsSolver`, body-fixed": """
solver = dyn.InverseDynamicsSolver(model, "body")
tau, _, _ = solver(*np.zeros((5, model.n)))
""",
    WAITING: """
solver = dyn.InverseDynamicsSolver(model, "body")
assert solver.wait() == "specialised"
tau, _, _ = solver(*np.zeros((5, model.n)))
""",
    "`FeedforwardLaw` of `feedforward_node`, with springs": """
springs = share_directory() / "config" / "elastic_joints" / "panda.yaml"
law = dyn.control.FeedforwardLaw(model, dyn.load_actuators(springs, model.joint_names))
law.update()
tau = law.motor.torque
""",
}
CHECK = """
assert np.isfinite(tau).all() and np.abs(tau).max() > 1.0  # the weight of the arm
sys.stdout.write("done")
sys.stdout.flush()
sys.stdin.read()  # the compilation in the background goes on; its end is not measured
"""


def seconds(program: str, urdf: str, cache: str) -> float:
    """Wall time of a process from its start to its first torque."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", LOAD + program + CHECK, urdf],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "MULTIBODY_DYNAMICS_CACHE_DIR": cache},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answer = process.stdout.read(4)
    spent = time.perf_counter() - start
    process.stdin.close()
    process.wait()
    if answer != b"done":
        raise SystemExit("the program has no torque; not timed")
    return spent


def run(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """{program: {cache: seconds}}; also prints them."""
    print("\nfrom the start of a process to its first torque, s\n")
    found = {}
    for name, program in PROGRAMS.items():
        times: dict[str, list[float]] = {EMPTY: [], FULL: []}
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory() as cache:
                for figures in times.values():
                    figures.append(seconds(program, str(options.urdf), cache))
        row = found[name] = {cache: statistics.median(values) for cache, values in times.items()}
        cells = "".join(f"{cache:>28} {value:5.2f}" for cache, value in row.items())
        print(f"{name.replace('`', ''):52}{cells}", flush=True)
    return found


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    """The figures in Markdown."""
    lines = [f"| s | {EMPTY} | {FULL} |", "|---|---|---|"]
    for name, row in found.items():
        lines.append(f"| {name} | " + " | ".join(f"{value:.3g}" for value in row.values()) + " |")
    return "\n".join(lines)


def judged(found: Mapping[str, Mapping[str, float]]) -> list[list[str]]:
    """Target, figure, limit, and whether it is reached."""
    return [
        [f"first torque of {name}, {cache}, s", f"{row[cache]:.3g}", f"{limit:.3g}",
         "yes" if row[cache] <= limit else "no"]
        for name, row in found.items() if name != WAITING
        for cache, limit in LIMITS.items()
    ]  # fmt: skip
