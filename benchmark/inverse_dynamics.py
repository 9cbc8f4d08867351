"""Q, Q' and Q'' of the Panda in four representations, beside Pinocchio's Q: `make benchmark`.

Everything runs in one process on one core, in turn, block by block, so that a change of the
machine's speed meets all alike; the ratios are what to quote. Outputs are compared before timing.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numba
import numpy as np
import pinocchio as pin

from multibody_dynamics import __version__
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.inverse_dynamics import CYCLES

ROBOT = Path(__file__).parents[1] / "config" / "robots" / "panda.urdf"


def repeater(cycle: Callable[..., None]) -> Callable[..., float]:
    @numba.njit
    def repeat(count, parents, joints, gravity, order, state, applied, trig, bodies, result):
        """The control cycle inside compiled code; the state changes, so that nothing is hoisted."""
        total = 0.0
        for k in range(count):
            state[0, 0] = 1e-9 * k
            cycle(parents, joints, gravity, order, state, applied, trig, bodies, result)
            total += result[order, 0]
        return total

    return repeat


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def check(model: dyn.MultibodyModel, robot: pin.Model, state: np.ndarray) -> None:
    """Refuse to time what is not right: Q against Pinocchio, Q' and Q'' against complex steps."""
    expected = pin.rnea(robot, robot.createData(), *state[:3])
    step = 1e-30j
    moved = [row + step * rate for row, rate in itertools.pairwise(state)]
    ahead = dyn.generic_inverse_dynamics(model, *moved, state[4])
    rates = np.array([[complex(x).imag for x in row] for row in ahead[:2]]) / step.imag
    for representation in dyn.REPRESENTATIONS:
        results = dyn.InverseDynamicsSolver(model, representation)(*state)
        for name, got, wanted in zip(("Q", "Q'", "Q''"), results, (expected, *rates), strict=False):
            error = np.abs(got - wanted).max() / np.abs(wanted).max()
            if not error < 1e-12:
                raise SystemExit(f"{representation} {name} is off by {error:.1e} of its largest")
    print("outputs checked: Q against Pinocchio, Q' and Q'' against complex steps, below 1e-12\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urdf", type=Path, default=ROBOT, help="robot to time (%(default)s)")
    parser.add_argument("--blocks", type=int, default=300, help="timed blocks (%(default)s)")
    parser.add_argument("--calls", type=int, default=500, help="calls a block (%(default)s)")
    options = parser.parse_args()
    core = None
    if hasattr(os, "sched_setaffinity"):
        core = max(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {core})

    model = dyn.load_urdf(options.urdf)
    robot = pin.buildModelFromUrdf(str(options.urdf))
    data = robot.createData()
    if list(robot.names)[1:] != list(model.joint_names) or robot.nq != model.n:
        raise SystemExit("this benchmark needs a robot whose joints Pinocchio keeps in our order")
    state = np.random.default_rng(1).normal(size=(5, model.n))
    check(model, robot, state)

    solvers = {name: dyn.InverseDynamicsSolver(model, name) for name in dyn.REPRESENTATIONS}
    for solver in solvers.values():
        solver.state[:] = state
    rows = [row.copy() for row in state]
    q, v, a = rows[:3]
    calls = options.calls

    def loop(function: Callable[[], object]) -> Callable[[], None]:
        def block() -> None:
            for _ in range(calls):
                function()

        return block

    def differences() -> None:
        """Q, Q', Q'' the usual way: Q at three times, and differences."""
        h = 1e-3
        for t in (-h, 0.0, h):
            pin.rnea(
                robot, data,
                q + t * (v + t / 2 * (a + t / 3 * rows[3])),
                v + t * (a + t / 2 * rows[3]), a + t * (rows[3] + t / 2 * rows[4]),
            )  # fmt: skip

    blocks: dict[str, Callable[[], object]] = {
        "pin.rnea from Python: Q": loop(lambda: pin.rnea(robot, data, q, v, a)),
        "pin.rnea, 3 times and differences: Q, Q', Q''": loop(differences),
    }
    for name, solver in solvers.items():
        blocks[f"{name}, solver.update(): Q, Q', Q''"] = loop(solver.update)
        blocks[f"{name}, solver(q, ..., q''''): Q, Q', Q''"] = loop(partial(solver, *rows))
        for order, gives in ((2, "Q, Q', Q''"), (0, "Q")):
            arguments = list(solver.update.args)
            arguments[3] = order
            run = partial(repeater(CYCLES[name]), calls, *arguments)
            blocks[f"{name}, inside compiled code: {gives}"] = run
    times: dict[str, list[float]] = {name: [] for name in blocks}
    for block in blocks.values():
        block()
    for _ in range(options.blocks):
        for name, block in blocks.items():
            start = time.perf_counter()
            block()
            times[name].append((time.perf_counter() - start) / calls * 1e6)

    print(
        f"{processor()}, core {core}; Python {platform.python_version()}, NumPy {np.__version__}, "
        f"Numba {numba.__version__}, Pinocchio {pin.__version__}, multibody_dynamics {__version__}"
    )
    print(f"{model.name}, {model.n} joints; us per call, {options.blocks} blocks of {calls}\n")
    print(f"{'':48}{'min':>8}{'median':>8}{'ratio':>8}")
    reference = statistics.median(times["pin.rnea from Python: Q"])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:48}{min(values):8.2f}{median:8.2f}{median / reference:8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
