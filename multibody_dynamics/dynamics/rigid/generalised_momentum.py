# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The generalised momentum of a robot: compiled for the control cycle, and as straight-line code.

Both run the recursion of :mod:`.momentum_pass`, in O(n).
"""

from typing import Any, Protocol

import numpy as np

from ..codegen import Program
from ..core import Array, BoundCall, IndependentCopies, by_robot, compiled
from ..model import MultibodyModel
from ..recursions import momentum_pass, store_trig
from .tracing import Objects, TracedRobot, state_names, traced_robot


def _momentum_cycle(parents, joints, gravity, state, trig, bodies, result):
    store_trig(joints, state, trig)
    momentum_pass.momentum_recursion(parents, joints, gravity, trig, state, bodies, result)


_COMPILED = compiled(_momentum_cycle)


class MomentumSolver(IndependentCopies):
    """p = M q', beta = g - dT/dq and g in one pass, with p' = Q - beta + tau_ext.

    >>> solver = MomentumSolver(model)
    >>> solver.state[:] = q, qd
    >>> solver.update()
    >>> p, beta, g = solver.result

    state : (2, n) q and q', written by the caller. result : (3, n), overwritten by `update()`.

    Reflected inertias count. The base is at rest. Nothing is checked: NaN in, NaN out. An instance
    serves one thread.
    """

    def __init__(self, model: MultibodyModel) -> None:
        n = model.n
        self.model = model
        self.state: Array = np.zeros((2, n))
        self.result: Array = np.zeros((3, n))
        self.update = BoundCall(
            _COMPILED, model.parents, model.joint_rows, model.gravity, self.state,
            np.zeros((2, model.body_count)),
            np.zeros((model.body_count + 1, momentum_pass.MOMENTUM_ROW)), self.result,
        )  # fmt: skip
        self.update()  # compiles


class GeneralisedMomentum(Protocol):
    """What observers use of a :class:`MomentumSolver`."""

    state: Array
    result: Array

    def update(self) -> Any: ...


@by_robot
def momentum_solver(model: MultibodyModel) -> GeneralisedMomentum:
    """The solver of momentum, bias and gravity, for a robot with or without loops."""
    return MomentumSolver(model)


@by_robot
def trace_gravity_forces(model: MultibodyModel) -> Program:
    """g(q), the torques of a robot at rest, as straight-line code.

    Input: "q" (n,). Result: "tau" (n,).
    """
    robot, (_, _, weight) = _traced(model, 1)
    return robot.program({"tau": weight})


@by_robot
def trace_momentum(model: MultibodyModel) -> Program:
    """p = M q' and beta = g - dT/dq, with p' = Q - beta + tau_ext, as straight-line code.

    Inputs: "q" and "qd" (n,). Results: "momentum" and "bias" (n,).
    """
    robot, (momentum, bias, _) = _traced(model, 2)
    return robot.program({"momentum": momentum, "bias": bias})


def _traced(model: MultibodyModel, rows: int) -> tuple[TracedRobot, Objects]:
    """A robot with this many rows of the state, and p, beta and g (3, n)."""
    robot = traced_robot(model, state_names(rows))
    bodies = np.zeros((model.body_count + 1, momentum_pass.MOMENTUM_ROW), dtype=object)
    result = np.zeros((3, model.n), dtype=object)
    momentum_pass.momentum_recursion(
        robot.parents, robot.joints, robot.gravity, robot.trig, robot.state, bodies, result
    )
    return robot, result
