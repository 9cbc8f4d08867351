# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motors and springs from their YAML description; see :mod:`actuator_description`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core import InputError
from ..core.quantities import Gear, entries, motor_values
from .motor import Motor
from .springs import LAWS, Spring


def read_motor(data: Any, where: str, motion: str) -> tuple[Motor, Gear]:
    """A motor and its gear; `motion` of its link, revolute or prismatic."""
    values, gear = motor_values(data, where, motion)
    inertia = values.pop("motor_inertia")
    return Motor(inertia, **values), gear


def read_spring(data: Any, where: str, gear: Gear) -> Spring:
    """A spring law on the link side of the gear."""
    law = data.get("law") if isinstance(data, Mapping) else None
    if not isinstance(law, str) or law not in LAWS:
        raise InputError(
            f"{where}: expected rigid or a mapping with one of the laws {', '.join(LAWS)}, got "
            f"{data!r}"
        )
    kind = LAWS[law]
    entry = entries(data, where, ("law", *kind.required_keys), kind.optional_keys)
    return kind.read(entry, where, gear)
