"""Q, Q' and Q'' of the Panda in four representations, compared with Pinocchio's Q."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from functools import partial

import harness
import numba
import numpy as np
import pinocchio as pin

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.rigid.rnea import CYCLES


def repeater(cycle: Callable[..., None]) -> Callable[..., float]:
    @numba.njit
    def repeat(count, parents, joints, gravity, order, state, applied, trig, bodies, result):
        """Repeat the control cycle in compiled code; the changing state prevents hoisting."""
        total = 0.0
        for k in range(count):
            state[0, 0] = 1e-9 * k
            cycle(parents, joints, gravity, order, state, applied, trig, bodies, result)
            total += result[order, 0]
        return total

    return repeat


def check(model: dyn.MultibodyModel, robot: pin.Model, state: np.ndarray) -> None:
    """Compare Q with Pinocchio, and Q' and Q'' with complex-step derivatives."""
    expected = pin.rnea(robot, robot.createData(), *state[:3])
    step = 1e-30j
    moved = [row + step * rate for row, rate in itertools.pairwise(state)]
    ahead = dyn.generic_inverse_dynamics(model, *moved, state[4])
    rates = np.array([[complex(x).imag for x in row] for row in ahead[:2]]) / step.imag
    for representation in dyn.REPRESENTATIONS:
        results = dyn.InverseDynamicsSolver(model, representation)(*state)
        for name, got, wanted in zip(("Q", "Q'", "Q''"), results, (expected, *rates), strict=False):
            harness.require(f"{representation} {name}", got, wanted)


def run(options: argparse.Namespace) -> None:
    model, robot = harness.robots(options.urdf)
    data = robot.createData()
    state = np.random.default_rng(1).normal(size=(5, model.n))
    check(model, robot, state)

    solvers = {name: dyn.InverseDynamicsSolver(model, name) for name in dyn.REPRESENTATIONS}
    for solver in solvers.values():
        solver.state[:] = state
    rows = [row.copy() for row in state]
    q, v, a = rows[:3]
    calls = options.calls

    def differences() -> None:
        """Q, Q', Q'' the usual way: Q at three times, then finite differences."""
        h = 1e-3
        for t in (-h, 0.0, h):
            pin.rnea(
                robot, data,
                q + t * (v + t / 2 * (a + t / 3 * rows[3])),
                v + t * (a + t / 2 * rows[3]), a + t * (rows[3] + t / 2 * rows[4]),
            )  # fmt: skip

    reference = "pin.rnea from Python: Q"
    blocks: dict[str, Callable[[], object]] = {
        reference: harness.loop(lambda: pin.rnea(robot, data, q, v, a), calls),
        "pin.rnea, 3 times and differences: Q, Q', Q''": harness.loop(differences, calls),
    }
    for name, solver in solvers.items():
        blocks[f"{name}, solver.update(): Q, Q', Q''"] = harness.loop(solver.update, calls)
        call = partial(solver, *rows)
        blocks[f"{name}, solver(q, ..., q''''): Q, Q', Q''"] = harness.loop(call, calls)
        for order, gives in ((2, "Q, Q', Q''"), (0, "Q")):
            arguments = list(solver.update.args)
            arguments[3] = order
            inside = partial(repeater(CYCLES[name]), calls, *arguments)
            blocks[f"{name}, inside compiled code: {gives}"] = inside
    passive = dyn.rigid.PassiveInverseDynamicsSolver(model)
    passive.state[:], passive.reference[:] = state[:4], state[1:]
    blocks["body, with a reference velocity: u, u', u''"] = harness.loop(passive.update, calls)
    title = f"inverse dynamics of {model.name}, {model.n} joints"
    harness.report(title, harness.measure(blocks, options.blocks, calls), reference)


if __name__ == "__main__":
    harness.main(run, __doc__)
