"""q'' of an arm and its derivatives by articulated bodies (ABA), compared with Pinocchio."""

from __future__ import annotations

import argparse
from functools import partial

import harness
import numba
import numpy as np
import pinocchio as pin
from harness import Group, Row

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.rigid import forward_dynamics_cycle

ABA = "`pin.aba` from Python: q''"


@numba.njit
def repeat(count, parents, joints, gravity, prescribed, order, state, *rest):
    """Repeat the control cycle in compiled code; the changing state prevents hoisting."""
    total = 0.0
    for k in range(count):
        state[0, 0] = 1e-9 * k
        forward_dynamics_cycle(parents, joints, gravity, prescribed, order, state, *rest)
        total += state[2, 0]
    return total


def groups(options: argparse.Namespace) -> list[Group]:
    model, robot = harness.robots(options.urdf)
    data = robot.createData()
    state = np.random.default_rng(1).normal(size=(5, model.n))
    tau = dyn.inverse_dynamics(model, *state)
    solvers = [dyn.ForwardDynamicsSolver(model, order) for order in (0, 1, 2)]
    (qdd,) = solvers[0](*state[:2], tau.tau)
    harness.require("q''", qdd, pin.aba(robot, data, *state[:2], tau.tau), 1e-10)
    for row, wanted in zip(solvers[2](*state[:2], *tau), state[2:], strict=True):
        harness.require("forward after inverse dynamics", row, wanted, 1e-10)

    q, v = state[:2]
    rows = [
        harness.called(ABA, partial(pin.aba, robot, data, q, v, tau.tau), options),
        harness.called("`solver(q, qd, tau)`: q''", partial(solvers[0], q, v, tau.tau), options),
    ]
    for order, gives in enumerate(("q''", "q'', q'''", "q'', q''', q''''")):
        solver = solvers[order]
        solver.state[:], solver.torque[:] = (q, v), tau[: order + 1]
        rows.append(harness.called(f"`solver.update()`: {gives}", solver.update, options))
        inside = partial(repeat, options.calls, *solver.update.args)
        rows.append(Row(f"inside compiled code: {gives}", inside, options.calls))
    title = f"forward dynamics of {model.name}, {model.n} joints"
    return [Group("forward_dynamics", title, rows, ABA)]
