# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Machine code of one mechanism with loops, for `ConstrainedInverseDynamicsSolver`."""

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..codegen import Program
from ..core import Array
from ..rigid import SpecialisedKernel, TracedInputs
from . import loop_recursion as at
from .traced_loops import trace_constrained_inverse_dynamics

if TYPE_CHECKING:
    from .constrained_solvers import LoopSolver

ORDER = 2


class LoopKernel(SpecialisedKernel):
    """Q, Q' and Q'' of the motors along q ... q'''' of the independent joints.

    It returns false, and leaves the last closed configuration as it is, where the recorded steps do
    not close the loops as well as required, see :func:`.trace_constrained_inverse_dynamics`.
    """

    name = "constrained_inverse_dynamics"
    condition = "closure"
    memory = ("motion", "last")

    def __init__(self, solver: "LoopSolver", *, moving: bool = False) -> None:
        self._solver = solver
        plan, parents, links, rows, *_ = solver.kinematics
        digest = hashlib.sha256(plan[: at.PIVOTS].tobytes())
        for array in (plan[at.HEADER : plan[at.PIVOTS]], parents, links, rows):
            digest.update(array.tobytes())
        digest.update(solver.strides.tobytes())
        digest.update(solver.springs.tobytes())
        digest.update(repr(solver.system.consistency_tolerance).encode())
        super().__init__(solver.model, moving=moving, structure=digest.hexdigest())

    def _trace(self, inputs: TracedInputs, pause: Callable[[], object]) -> Program:
        return trace_constrained_inverse_dynamics(
            self._solver, ORDER, inputs, tree=self._model, for_solver=True, pause=pause
        )


def table(
    solver: "LoopSolver", state: Array, base: Array, last: Array, motion: Array, result: Array,
    closure: Array,
) -> list[Array]:  # fmt: skip
    """The arrays whose addresses the kernel takes, in its order; base: gravity or a motion."""
    joints = solver._constants[1]
    m, n = len(solver.multipliers), solver.model.n
    *_, vectors = solver.kinematics
    passive = vectors[at.PASSIVE_TORQUE : at.PASSIVE_TORQUE + ORDER + 1, :n]
    multipliers = vectors[at.MULTIPLIER : at.MULTIPLIER + ORDER + 1, :m]
    return [*state, joints, base, last, *passive, *result, motion, closure, *multipliers]
