# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Stiffness and damping that may change while a law runs, gradually and by name.

The target of a law is an :class:`ImpedanceTarget`: plain numbers that can be compared, stored, and
handed to another process, where the law's loop is judged before the target takes effect.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...core import Array, InputError
from ..controllers.controllers import Controller
from .stiffness_ramp import StiffnessRamp

RATIO = "damping_ratio"


class ImpedanceTarget(NamedTuple):
    """Stiffnesses (k,), in the order of :attr:`LiveImpedance.stiffness_names`, and damping
    ratio."""

    stiffness: tuple[float, ...]
    damping_ratio: float


class LiveImpedance(Controller):
    """Base of laws whose stiffness or damping may change while they run, at the pace of `ramp`."""

    ramp: StiffnessRamp

    @property
    @abstractmethod
    def stiffness_names(self) -> tuple[str, ...]:
        """Names of the k stiffnesses, for :meth:`change`."""

    @property
    @abstractmethod
    def aimed(self) -> ImpedanceTarget:
        """The target that the law approaches."""

    @property
    @abstractmethod
    def present_stiffness(self) -> Array:
        """(k,) stiffnesses of the last update."""

    @property
    def energy(self) -> float:
        """J that are left for raising the stiffness."""
        return self.ramp.energy

    def problems(self) -> tuple[str, ...]:
        if not self.ramp.is_held:
            return super().problems()
        held = "the stiffness stops rising: stiffness_energy is used up while the arm is displaced"
        return (*super().problems(), held)

    @abstractmethod
    def aim(self, target: ImpedanceTarget, duration: float = 0.0) -> None:
        """Approach a target within `duration` s, or the shortest time of the law if that is longer.

        Raises InputError, and changes nothing, for a target that the law does not accept.
        """

    @abstractmethod
    def check(self, target: ImpedanceTarget) -> None:
        """Raise InputError for a target that the law does not accept."""

    @abstractmethod
    def _stiffness_of(self, row: Array, settings: Mapping[str, Any]) -> Array:
        """The stiffnesses (k,) `row` with the changes in these settings."""

    @abstractmethod
    def settings_of(self, target: ImpedanceTarget) -> dict[str, Any]:
        """The fields of :class:`.ControllerSettings` with which a law has this target."""

    def covers(self, target: ImpedanceTarget) -> bool:
        """Whether the stiffness is among those with which loops of this law are judged, whatever
        its present stiffness, see :meth:`.vary`."""
        return False

    def requested(
        self, values: Mapping[str, float], base: ImpedanceTarget | None = None
    ) -> ImpedanceTarget:
        """The target with other stiffnesses, and "damping_ratio", by name; those not named are
        taken from `base`, by default the present target.

        Raises InputError for an unknown name, a value that is negative or not finite, and a target
        that the law does not accept.
        """
        names = self.stiffness_names
        stiffness, ratio = base or self.aimed
        row = list(stiffness)
        for name, value in values.items():
            checked = checked_number(name, value)
            if name == RATIO:
                ratio = checked
            elif name in names:
                row[names.index(name)] = checked
            else:
                raise InputError(
                    f"unknown name '{name}': expected any of {', '.join((*names, RATIO))}"
                )
        return self._checked(ImpedanceTarget(tuple(row), ratio))

    def with_settings(
        self, settings: Mapping[str, Any], base: ImpedanceTarget | None = None
    ) -> ImpedanceTarget:
        """The target with these fields of :class:`.ControllerSettings` changed; None stands for the
        default stiffness. Raises InputError as :meth:`requested` does."""
        stiffness, ratio = base or self.aimed
        row = self._stiffness_of(np.array(stiffness), settings)
        ratio = checked_number(RATIO, settings.get(RATIO, ratio))
        return self._checked(ImpedanceTarget(tuple(row.tolist()), ratio))

    def _checked(self, target: ImpedanceTarget) -> ImpedanceTarget:
        if target.stiffness != self.aimed.stiffness:
            self.check(target)
        return target

    def change(self, values: Mapping[str, float], duration: float = 0.0) -> None:
        """Approach other stiffnesses, and "damping_ratio", by name, see :meth:`requested` and
        :meth:`aim`."""
        self.aim(self.requested(values), duration)


def checked_number(name: str, value: float, unit: str = "") -> float:
    """The value as a float. Raises InputError if it is negative or not finite."""
    if not 0.0 <= value < np.inf:
        raise InputError(f"{name} is {value}{f' {unit}' if unit else ''}: must be zero or greater")
    return float(value)
