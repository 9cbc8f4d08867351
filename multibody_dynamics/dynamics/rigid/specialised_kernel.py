# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Machine code of the inverse dynamics of one robot, for `InverseDynamicsSolver`."""

from collections.abc import Callable

import numpy as np

from ..codegen import (
    Program,
    compile_module,
    function_text,
    lanes,
    module_text,
    stored,
    table_text,
)
from ..core import Array, IndependentCopies
from ..model import MultibodyModel
from .traced_dynamics import trace_inverse_dynamics
from .tracing import TracedInputs, constant_columns
from .vector_batches import adaptable_inputs, structure_key

ORDER = 2
FUNCTION = "inverse_dynamics"


class SpecialisedKernel(IndependentCopies):
    """Q, Q' and Q'' of one robot with a base at rest, or `moving`, by the body-fixed recursion.

    Its argument is a table of addresses, see `table`: it reads the state (5, n), the joint rows
    (n, JOINT_ROW) and the gravity (3,), or the motion of the base (24,) of :func:`.body_rates`, and
    writes the result (3, n). It contains the geometry and the zeros of `model`; all other numbers
    are read in each call and may change.
    """

    name = FUNCTION
    condition = ""  # of `table_text`
    memory: tuple[str, str] | None = None

    def __init__(self, model: MultibodyModel, *, moving: bool = False, structure: str = "") -> None:
        """`structure` : a hash of what the machine code contains besides the tree `model`."""
        self._model, self._moving = model, moving
        self._constant = constant_columns(model)
        self._values = model.joint_rows[self._constant]
        self._weightless = model.gravity == 0.0
        kind = "moving-" if moving else ""
        self._key = f"{self.name}-{ORDER}-{kind}{structure_key(model)}{structure}"

    def fits(self, joints: Array, gravity: Array) -> bool:
        """Whether joint rows and gravity have the constants that the machine code contains."""
        return bool(
            (joints[self._constant] == self._values).all()
            and (self._moving or (gravity[self._weightless] == 0.0).all())
        )

    def ready(self) -> int | None:
        """The address of the machine code if this or another program has already compiled it."""
        found = stored(self._key, [f"{self.name}.table"])
        return found[0] if found else None

    def compile(self, pause: Callable[[], object] = lambda: None) -> int:
        """The address of the machine code, compiled if necessary."""
        address = self.ready()
        if address is None:
            name, width = self.name, lanes()
            inputs = adaptable_inputs(self._model)
            if self._moving:
                inputs = inputs._replace(gravity=None, base=True)
            program = self._trace(inputs, pause)
            text = module_text(
                function_text(program, name, width=width),
                table_text(program, name, condition=self.condition, memory=self.memory),
                lanes=1, width=width,
            )  # fmt: skip
            (address,) = compile_module(self._key, text, [f"{name}.table"])
        return address

    def _trace(self, inputs: TracedInputs, pause: Callable[[], object]) -> Program:
        return trace_inverse_dynamics(self._model, ORDER, inputs=inputs, pause=pause)


BASE = 6  # the place of gravity, or of the moving base, in the table


def table(state: Array, joints: Array, base: Array, result: Array) -> list[Array]:
    """The arrays whose addresses a kernel takes, in its order; base: gravity or a motion."""
    return [*state, joints, base, *result]


def addresses(arrays: list[Array]) -> Array:
    """The addresses of arrays, which must outlive their use."""
    return np.array([array.ctypes.data for array in arrays])
