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

from __future__ import annotations

from functools import partial

import numpy as np

from ...core import Array, compiled, inlined
from ...elastic import Actuators, Antagonistic, MotorFeedforward, VariableStiffness, actuator_rows
from ...elastic.flat_map import (
    DAMPING,
    KIND,
    LEAST_SHARE,
    MOTOR,
    RIGID,
    SECOND,
    SERIES,
    SOFTEST,
    SPRING,
    VARIABLE,
    compiled_advance_filters,
)
from ...elastic.spring_tables import spring_deflection, spring_law

ITERATIONS = 100
_RESOLUTION = 1e-14  # rad or m


@inlined
def _antagonistic_deflection(laws, pieces, own, k, a, b, force, guess):
    """x with s_a(a + x) - s_b(b - x) = force, by Newton's method within a shrinking bracket."""
    x, lower, upper = guess, -np.inf, np.inf
    for _ in range(ITERATIONS):
        s_a, a1, _, _ = spring_law(laws, pieces, own, k, a + x)
        s_b, b1, _, _ = spring_law(laws, pieces, own, k + 1, b - x)
        error = s_a - s_b - force
        if error >= 0.0:
            upper = x
        if error <= 0.0:
            lower = x
        slope = a1 + b1
        better = x - error / slope if slope > 0.0 else x - np.sign(error)
        if not lower <= better <= upper:
            better = 0.5 * (lower + upper)
        step = abs(better - x)
        x = better
        if step <= _RESOLUTION:
            break
    return x


# wide: the arrays of a compiled recursion
def virtual_springs_recursion(
    joints, laws, pieces, own, second, unloaded, force, force_rate, x, rate, slope, rest
):
    """Write x, x', G and R of every joint with a spring, (n,) each.

    second : (3, v) stiffness k with two rates. unloaded : (4, m) positions of the motors with two
        rates for links at zero and springs without load. force, force_rate : F and F' (n,). x :
        also the first guess, and an input where the spring is damped.
    """
    for i in range(joints.shape[0]):
        kind = joints[i, KIND]
        if kind == RIGID:
            continue
        j, k, damping = int(joints[i, MOTOR]), int(joints[i, SPRING]), joints[i, DAMPING]
        F, Fd = force[i], force_rate[i]
        if kind == SERIES and damping > 0.0:
            s, s1, _, _ = spring_law(laws, pieces, own, k, x[i])
            rate[i], slope[i], rest[i] = (F - s) / damping, s1, 0.0
        elif kind == SERIES:
            x[i] = spring_deflection(laws, pieces, own, k, F, x[i])
            _, s1, s2, _ = spring_law(laws, pieces, own, k, x[i])
            rate[i], slope[i] = Fd / s1, s1
            rest[i] = s2 * rate[i] * rate[i]
        elif kind == VARIABLE:
            v = int(joints[i, SECOND])
            stiffness = max(second[0, v], LEAST_SHARE * joints[i, SOFTEST])
            kd, kdd = second[1, v], second[2, v]
            x[i] = spring_deflection(laws, pieces, own, k, F / stiffness, x[i])
            s, s1, s2, _ = spring_law(laws, pieces, own, k, x[i])
            slope[i] = stiffness * s1
            rate[i] = (Fd - kd * s) / slope[i]
            rest[i] = (stiffness * s2 * rate[i] + 2.0 * kd * s1) * rate[i] + kdd * s
        else:
            a, b = unloaded[0, j], -unloaded[0, j + 1]
            ad, bd = unloaded[1, j], -unloaded[1, j + 1]
            x[i] = _antagonistic_deflection(laws, pieces, own, k, a, b, F, x[i])
            _, a1, a2, _ = spring_law(laws, pieces, own, k, a + x[i])
            _, b1, b2, _ = spring_law(laws, pieces, own, k + 1, b - x[i])
            slope[i] = a1 + b1
            rate[i] = (Fd - a1 * ad + b1 * bd) / slope[i]
            ad, bd = ad + rate[i], bd - rate[i]
            rest[i] = a2 * ad * ad - b2 * bd * bd
            rest[i] += a1 * unloaded[2, j] + b1 * unloaded[2, j + 1]


virtual_springs = compiled(virtual_springs_recursion)


class VirtualSprings:
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
        n = actuators.n
        self.actuators = actuators
        self.force: Array = np.zeros((3, n))
        self._values = np.zeros((4, n))
        self.x, self.rate, self.slope, self.rest = self._values
        self._unloaded = MotorFeedforward(actuators)
        self.stiffness: Array = self._unloaded.stiffness
        self.present: Array = self.stiffness.copy()
        joints, _, laws, pieces = actuator_rows(actuators)
        tables = (joints, laws, pieces, None)
        self._update = partial(
            virtual_springs,
            *tables,
            self.present,
            self._unloaded.result,
            self.force[0],
            self.force[1],
            *self._values,
        )
        self._settle_or_advance = partial(compiled_advance_filters, *tables, self.force, self.x)
        self._is_damped = bool(actuators.is_damped.any())
        self._has_pairs = any(isinstance(each, Antagonistic) for each in actuators.actuators)
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

    def energy(self) -> float:
        """Energy in J that the springs store at the last update, zero without load; that of a
        variable stiffness as if it were constant."""
        total, v = 0.0, 0
        for i, actuator, motors, _ in self.actuators.each():
            x = self.x[i]
            if isinstance(actuator, Antagonistic):
                a, b = self._unloaded.result[0, motors] * (1.0, -1.0)
                for spring, start, end in zip(
                    actuator.springs, (a, b), (a + x, b - x), strict=True
                ):
                    total += float(spring.energy(end, beyond="continue"))
                    total -= float(spring.energy(start, beyond="continue"))
            elif actuator.springs:
                own = float(actuator.springs[0].energy(x, beyond="continue"))
                is_variable = isinstance(actuator, VariableStiffness)
                total += own * (self.present[0, v] if is_variable else 1.0)
            v += actuator.second_output is not None
        return total
