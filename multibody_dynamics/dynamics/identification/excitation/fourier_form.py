# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Finite Fourier series as exciting motions, linear in their coefficients.

Every joint follows

    q(s) = q0 + sum_l a_l / (l w) sin(l w s) - b_l / (l w) cos(l w s),  l = 1..L,  w = 2 pi / T

along a time law s(t) whose rate rises smoothly from 0 to 1 and falls back to 0, see
:func:`.sum_of_sines`: the motion starts and ends at rest and is continuous to the fourth
derivative. The alternative, series whose coefficients make q', ..., q'''' vanish once per period,
takes four of the 2 L + 1 numbers of each joint and slows the arm down in every period. The time law
takes none: between its ramps the motion is exactly periodic, so that periods can be averaged, the
limits of path and speed hold during the ramps as well, and trajectory_node can send the motion.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core import Array, InputError, as_array
from ...motion import Reference, sum_of_sines


@dataclass(frozen=True)
class FourierForm:
    """The form of a Fourier motion: everything but its coefficients.

    period : T in s, of the first harmonic.
    harmonics : L.
    repetitions : number of periods at full speed; need not be whole.
    ramp : s, to speed up, and to slow down again, in addition to the periods.

    Raises InputError for numbers that are not positive.
    """

    period: float = 20.0
    harmonics: int = 5
    repetitions: float = 1.0
    ramp: float = 1.0

    def __post_init__(self) -> None:
        for name in ("period", "harmonics", "repetitions", "ramp"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise InputError(f"{name} is {value}; it must be positive")
        if self.harmonics != int(self.harmonics):
            raise InputError(f"harmonics is {self.harmonics}; it must be a whole number")

    @property
    def size(self) -> int:
        """The number of coefficients of each joint, 2 L + 1: q0, a_1 ... a_L, b_1 ... b_L."""
        return 2 * int(self.harmonics) + 1

    @property
    def duration(self) -> float:
        """s, from rest to rest."""
        return self.period * self.repetitions + 2.0 * self.ramp

    def times(self, per_wave: int = 12, per_ramp: int = 10) -> Array:
        """Equally spaced times (k,) from start to end, at least this dense."""
        step = min(self.period / self.harmonics / per_wave, self.ramp / per_ramp)
        return np.linspace(0.0, self.duration, int(np.ceil(self.duration / step)) + 1)

    def basis(self, times: Array) -> Array:
        """(5, k, size): q ... q'''' at the times (k,) for each coefficient being one."""
        units = np.eye(self.size)
        return (
            self.reference([f"c{i}" for i in range(self.size)], units).sample(times).swapaxes(0, 1)
        )

    def reference(self, joint_names: Sequence[str], coefficients: Array) -> Reference:
        """The motion with the coefficients (size, n): q0 in rad or m, a and b per s."""
        count = int(self.harmonics)
        c = as_array("coefficients", coefficients, (self.size, len(joint_names)))
        return sum_of_sines(
            joint_names,
            c[0],
            c[1 : count + 1].T,
            c[count + 1 :].T,
            2.0 * np.pi / self.period,
            self.period * self.repetitions,
            ramp=self.ramp,
        )
