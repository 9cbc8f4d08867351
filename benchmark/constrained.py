"""Forward dynamics of mechanisms with n joints and m constraints: O(n) + O(m^3)."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import partial

import harness
import numpy as np
from scaling import chain

from multibody_dynamics import dynamics as dyn

LENGTHS = (10, 30, 100, 300, 1000)
PINNED = (1, 2, 5, 10, 20, 40)


def pinned_chain(n: int, pins: int) -> dyn.mechanisms.ConstrainedModel:
    """A chain with `pins` bodies along it attached to the ground by ball joints."""
    model = chain(n)
    places = np.linspace(0, n - 1, pins + 1).astype(int)[1:]
    closures = [
        dyn.mechanisms.LoopClosure.at(
            model, f"pin{i}", model.base_name, int(i), dyn.spherical(), point=model.poses[i, :3, 3]
        )
        for i in places
    ]
    return dyn.mechanisms.ConstrainedModel(model, closures)


def forward(system: dyn.mechanisms.ConstrainedModel) -> Callable[[], object]:
    n = system.tree.n
    q, qd, tau = np.zeros(n), np.zeros(n), np.random.default_rng(1).normal(size=n)
    run = partial(dyn.mechanisms.constrained_forward_dynamics, system, q, qd, tau)
    found = run()
    (A,) = dyn.mechanisms.constraint_matrices(system, q)
    free = A @ dyn.forward_dynamics(system.tree, q, qd, tau)
    harness.require(f"A q'' of {n} joints, zero at rest", free + A @ found.qdd, free, 1e-6)
    return run


def table(sizes: list[tuple[int, int]], options: argparse.Namespace) -> None:
    print(f"{'n':>6}{'m':>6}{'ms':>10}{'us per joint':>14}")
    for n, pins in sizes:
        blocks = {"": harness.loop(forward(pinned_chain(n, pins)), 3)}
        times = harness.measure(blocks, max(options.blocks // 20, 5), 3)
        median = statistics.median(times[""])
        print(f"{n:6}{3 * pins:6}{median / 1000:10.2f}{median / n:14.2f}")


def run(options: argparse.Namespace) -> None:
    print("\nforward dynamics of a chain of n joints with m constraints, medians\n")
    table([(n, 2) for n in LENGTHS], options)
    print()
    table([(300, pins) for pins in PINNED], options)


if __name__ == "__main__":
    harness.main(run, __doc__)
