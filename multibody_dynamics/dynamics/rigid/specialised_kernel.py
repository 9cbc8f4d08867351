# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Machine code of the inverse dynamics of one robot, for `InverseDynamicsSolver`."""

from collections.abc import Callable

import numpy as np

from ..codegen import compile_module, function_text, lanes, module_text, stored, table_text
from ..core import Array
from ..model import MultibodyModel
from .traced_dynamics import trace_inverse_dynamics
from .tracing import constant_columns
from .vector_batches import adaptable_inputs, structure_key

ORDER = 2
FUNCTION = "inverse_dynamics"


class SpecialisedKernel:
    """Q, Q' and Q'' of one robot with a base at rest, or `moving`, by the body-fixed recursion.

    Its argument is a table of addresses, see `table`: it reads the state (5, n), the joint rows
    (n, JOINT_ROW) and the gravity (3,), or the motion of the base (24,) of :func:`.body_rates`, and
    writes the result (3, n). It contains the geometry and the zeros of `model`; all other numbers
    are read in each call and may change.
    """

    def __init__(self, model: MultibodyModel, *, moving: bool = False) -> None:
        self._model, self._moving = model, moving
        self._constant = constant_columns(model)
        self._values = model.joint_rows[self._constant]
        self._weightless = model.gravity == 0.0
        kind = "moving-" if moving else ""
        self._key = f"{FUNCTION}-{ORDER}-{kind}{structure_key(model)}"

    def fits(self, joints: Array, gravity: Array) -> bool:
        """Whether joint rows and gravity have the constants that the machine code contains."""
        return bool(
            (joints[self._constant] == self._values).all()
            and (self._moving or (gravity[self._weightless] == 0.0).all())
        )

    def ready(self) -> int | None:
        """The address of the machine code if this or another program has already compiled it."""
        found = stored(self._key, [f"{FUNCTION}.table"])
        return found[0] if found else None

    def compile(self, pause: Callable[[], object] = lambda: None) -> int:
        """The address of the machine code, compiled if necessary."""
        address = self.ready()
        if address is None:
            inputs = adaptable_inputs(self._model)
            if self._moving:
                inputs = inputs._replace(gravity=None, base=True)
            program = trace_inverse_dynamics(self._model, ORDER, inputs=inputs, pause=pause)
            width = lanes()
            text = function_text(program, FUNCTION, width=width)
            text = module_text(text, table_text(program, FUNCTION), lanes=1, width=width)
            (address,) = compile_module(self._key, text, [f"{FUNCTION}.table"])
        return address


BASE = 6  # the place of gravity, or of the moving base, in the table


def table(state: Array, joints: Array, base: Array, result: Array) -> list[Array]:
    """The arrays whose addresses a kernel takes, in its order; base: gravity or a motion."""
    return [*state, joints, base, *result]


def addresses(arrays: list[Array]) -> Array:
    """The addresses of arrays, which must outlive their use."""
    return np.array([array.ctypes.data for array in arrays])
