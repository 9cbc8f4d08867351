# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Springs between the errors of motors and links, with the characteristics of the real ones.

Elastic structure preserving control (`elastic_structure`) replaces every spring of an arm by one
between the error e of the link and that of a virtual motor, eta. The virtual spring obeys the
same law, with the deflection x = eta - e and the load F:

    series        F = s(x)
    damped        F = s(x) + d x'
    variable      F = k s(x), with the present k
    antagonistic  F = s_a(a + x) - s_b(b - x), with the extensions a and b that the requested
                  pretension or stiffness gives the unloaded springs

From F and F', :class:`VirtualSprings` computes x, x' and the terms of F'' = G x'' + R. The x of a
damped spring is a state: it follows from the history of F.
"""

from functools import partial

import numpy as np

from ...core import Array, IndependentCopies, InputError, compiled
from ...elastic import (
    Actuators,
    MotorFeedforward,
    actuator_rows,
    by_kind,
    compiled_advance_filters,
)

_spring_of_joint = by_kind("virtual_spring")


def virtual_springs_recursion(
    joints, laws, pieces, own, second, unloaded, force, force_rate, x, rate, slope, rest
):
    """Write x, x', G and R of every joint with a spring, (n,) each.

    second : (3, v) stiffness k with two rates. unloaded : (4, m) positions of the motors with two
        rates for links at zero and springs without load. force, force_rate : F and F' (n,). x :
        also the first guess, and an input where the spring is damped.
    """
    for i in range(joints.shape[0]):
        _spring_of_joint(
            joints, laws, pieces, own, i, second, unloaded, force, force_rate, x, rate, slope, rest
        )


virtual_springs = compiled(virtual_springs_recursion)


class VirtualSprings(IndependentCopies):
    """The virtual springs of an arm, for the control cycle: in place, compiled.

    In every cycle, fill `force`, `stiffness` and `present`, call `update`, complete F' of damped
    joints, and `advance` to the next cycle.

    Attributes
    ----------
    force : (3, n) F in N m, F', and zeros. `update` does not read F' of damped joints; `advance`
        reads only those.
    stiffness : (3, v) requested second outputs with two rates; read for antagonistic joints.
    present : (3, v) second outputs that the springs have now; read for variable ones.
    x, rate : (n,) deflections and their rates; slope, rest : (n,) G and R. Zero at rigid joints.
    """

    def __init__(self, actuators: Actuators) -> None:
        for name, actuator in zip(actuators.joint_names, actuators.actuators, strict=True):
            if actuator.virtual_spring is None and not actuator.is_rigid:
                raise InputError(
                    f"joint '{name}': elastic structure preserving control does not support "
                    f"{type(actuator).__name__}"
                )
        n = actuators.n
        self.actuators = actuators
        self.force: Array = np.zeros((3, n))
        self._values = np.zeros((4, n))
        self.x, self.rate, self.slope, self.rest = self._values
        self._unloaded = MotorFeedforward(actuators.without_link_friction())
        self.stiffness: Array = self._unloaded.stiffness
        self.present: Array = self.stiffness.copy()
        joints, _, laws, pieces = actuator_rows(actuators)
        tables = (joints, laws, pieces, None)
        self._update = partial(
            virtual_springs, *tables, self.present, self._unloaded.result, self.force[0],
            self.force[1], *self._values,
        )  # fmt: skip
        self._settle_or_advance = partial(compiled_advance_filters, *tables, self.force, self.x)
        self._is_damped = bool(actuators.is_damped.any())
        self._has_pairs = any(len(each.springs) > 1 for each in actuators.actuators)
        self.settle()
        self.update()  # compiles
        self.settle()

    def settle(self) -> None:
        """Let the damped springs be at rest under `force` at the next update."""
        self.x[self.actuators.is_damped] = np.nan

    def update(self) -> None:
        """Compute `x`, `rate`, `slope` and `rest`."""
        if self._has_pairs:
            self._unloaded.update()
        if self._is_damped:
            self._settle_or_advance(0.0)
        self._update()

    def advance(self, dt: float) -> None:
        """Advance the deflections of damped springs by dt s under `force`."""
        if self._is_damped:
            self._settle_or_advance(dt)
