# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Changes of stiffness while an arm is in contact, without creating energy.

A virtual spring that is stretched by e while its stiffness rises at K' gains the power e^T K' e / 2
without any work at the contact. The ramp draws this energy from a tank (F. Ferraguti, C. Secchi, C.
Fantuzzi, ICRA 2013): the stiffness rises only as far as the energy in the tank allows, and the
power dissipated by the law's dampers refills it, up to its capacity. The storage function including
the tank then never rises by more than the energy supplied by contacts, whatever the sequence of
stiffnesses. The energy released by softening is not stored, so the estimate is conservative.
"""

import numpy as np

from ...core import Array, IndependentCopies, InputError

FILLING = 0.5  # share of the dissipated energy that fills the tank; the rest covers sampling


class StiffnessRamp(IndependentCopies):
    """Stiffnesses (k,) that approach their targets at a limited rate and within an energy budget.

    Parameters
    ----------
    value : (k,) stiffnesses to begin with, N m/rad or N/m.
    time : shortest time in which a new target is reached, s.
    capacity : capacity in J of the tank, which is full at the beginning: the energy available for
        stiffening before anything has been dissipated.

    Attributes: `value` (k,), `target` (k,), `energy` in J, `is_held`: whether the tank stopped the
    last step.
    """

    def __init__(self, value: Array, *, time: float, capacity: float) -> None:
        for name, number, unit in (("time", time, "s"), ("capacity", capacity, "J")):
            if not 0.0 <= number < np.inf:
                raise InputError(f"{name} is {number} {unit}: must be zero or greater, and finite")
        self.value: Array = np.array(value, dtype=np.float64)
        self.target: Array = self.value.copy()
        self._slope = np.zeros_like(self.value)
        self._step = np.zeros_like(self.value)
        self.time, self.capacity = float(time), float(capacity)
        self.energy, self.is_held = self.capacity, False

    def aim(self, target: Array, duration: float = 0.0) -> None:
        """Approach `target` (k,) from now on, in `duration` s or in `time`, if that is longer."""
        self.target[:] = target
        self._slope = np.abs(self.target - self.value) / max(self.time, duration, 1e-9)

    def settle(self) -> None:
        """Jump to the targets and fill the tank: for a law that is not running."""
        self.value[:] = self.target
        self.energy, self.is_held = self.capacity, False

    def advance(self, dt: float, dissipated: float, stretch: Array) -> bool:
        """One step of dt s; returns whether a value changed.

        dissipated : W, power of the law's dampers, zero or greater.
        stretch : (k,) of each stiffness, half the squared stretch: dE = stretch @ dK.
        """
        self.energy = min(self.energy + FILLING * dissipated * dt, self.capacity)
        step, limit = self._step, self._slope * dt
        np.subtract(self.target, self.value, out=step)
        self.is_held = False
        if not step.any():
            return False
        np.clip(step, -limit, limit, out=step)
        cost = float(stretch @ np.maximum(step, 0.0))
        if cost > self.energy:
            self.is_held = True
            share = max(self.energy, 0.0) / cost
            np.multiply(step, share, where=step > 0.0, out=step)
        self.value += step
        return True

    def withdraw_energy(self, stretch: Array) -> None:
        """Account for the energy of the last step, with the stretch after it. The energy in the
        tank may fall below zero if the stretch changes within a step; the stiffness then stays
        until the tank is refilled."""
        self.energy -= float(stretch @ np.maximum(self._step, 0.0))
        self._step[:] = 0.0
