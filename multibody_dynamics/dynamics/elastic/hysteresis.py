# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Hysteresis of springs: Maxwell slip elements in parallel with the spring."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..core import InputError
from .friction_law import one_number


@dataclass(frozen=True)
class SlipElement:
    """A spring of `stiffness` (N m/rad) in series with a dry friction that slips at `torque` (N m),
    both greater than zero."""

    stiffness: float
    torque: float

    def __post_init__(self) -> None:
        for each in fields(self):
            what = f"{each.name} of the hysteresis"
            value = one_number(what, getattr(self, each.name))
            object.__setattr__(self, each.name, value)
            if not 0.0 < value < float("inf"):
                raise InputError(f"{what} must be greater than zero and finite, got {value:g}")
