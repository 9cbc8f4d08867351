"""From the start of a process to its first torque, without and with machine code in the cache."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 3  # with a cache
LOAD = """
import sys
import numpy as np
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory
model = dyn.load_urdf(sys.argv[1])
dyn.rigid.specialise_solvers()
"""
PROGRAMS = {
    "`InverseDynamicsSolver`, body-fixed": """
solver = dyn.InverseDynamicsSolver(model, "body")
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


def run(options: argparse.Namespace) -> str:
    """Prints the figures, and returns them as a table in Markdown."""
    lines = ["| s | empty cache | machine code in the cache |", "|---|---|---|"]
    print("\nfrom the start of a process to its first torque, s\n")
    for name, program in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as cache:
            cold = seconds(program, str(options.urdf), cache)
            warm = [seconds(program, str(options.urdf), cache) for _ in range(RUNS)]
        figures = f"{cold:.1f}", f"{statistics.median(warm):.2f}"
        print(f"{name.replace('`', ''):52}empty cache {figures[0]:>6}   warm {figures[1]:>6}")
        lines.append(f"| {name} | {figures[0]} | {figures[1]} |")
    return "\n".join(lines)
