"""dQ/dq, dQ/dq', M and dq''/dq, dq''/dq', M^-1 of the Panda, compared with Pinocchio."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import harness
import numba
import numpy as np
import pinocchio as pin

from multibody_dynamics import dynamics as dyn


def repeater(cycle: Callable[..., object], state_at: int) -> Callable[..., float]:
    @numba.njit
    def repeat(count, *arguments):
        """Repeat the cycle in compiled code; the changing state prevents hoisting."""
        total = 0.0
        for k in range(count):
            arguments[state_at][0, 0] = 1e-9 * k
            cycle(*arguments)
            total += arguments[-1][0, 0, 0]
        return total

    return repeat


def run(options: argparse.Namespace) -> None:
    model, robot = harness.robots(options.urdf)
    data, calls = robot.createData(), options.calls
    q, v, a = np.random.default_rng(1).normal(size=(3, model.n))
    tau = dyn.inverse_dynamics(model, q, v, a).tau
    inverse = dyn.rigid.InverseDynamicsDerivativesSolver(model)
    forward = dyn.rigid.ForwardDynamicsDerivativesSolver(model)
    for found, wanted in zip(
        inverse(q, v, a)[:2], pin.computeRNEADerivatives(robot, data, q, v, a), strict=False
    ):
        harness.require("derivatives of Q", found, wanted)
    for found, wanted in zip(
        forward(q, v, tau)[:2], pin.computeABADerivatives(robot, data, q, v, tau), strict=False
    ):
        harness.require("derivatives of q''", found, wanted, 1e-10)

    def measure(title: str, reference: str, blocks: dict[str, Callable[[], object]]) -> None:
        times = harness.measure(blocks, options.blocks, calls)
        harness.report(f"{title} of {model.name}, {model.n} joints", times, reference)

    rnea = lambda: pin.computeRNEADerivatives(robot, data, q, v, a)  # noqa: E731
    update = inverse.update
    measure(
        "derivatives of the inverse dynamics",
        "pin.computeRNEADerivatives from Python",
        {
            "pin.computeRNEADerivatives from Python": harness.loop(rnea, calls),
            "solver(q, qd, qdd)": harness.loop(partial(inverse, q, v, a), calls),
            "solver.update()": harness.loop(update, calls),
            "inside compiled code": partial(repeater(update.func, 3), calls, *update.args),
        },
    )
    aba = lambda: pin.computeABADerivatives(robot, data, q, v, tau)  # noqa: E731
    update = forward.update
    measure(
        "derivatives of the forward dynamics",
        "pin.computeABADerivatives from Python",
        {
            "pin.computeABADerivatives from Python": harness.loop(aba, calls),
            "solver(q, qd, tau)": harness.loop(partial(forward, q, v, tau), calls),
            "solver.update()": harness.loop(update, calls),
            "inside compiled code": partial(repeater(update.func, 3), calls, *update.args),
        },
    )


if __name__ == "__main__":
    harness.main(run, __doc__)
