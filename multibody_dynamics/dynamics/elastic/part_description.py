# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motors and springs from their YAML description; see :mod:`actuator_description`."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..core import InputError
from ..core.quantities import (
    Gear,
    entries,
    friction_values,
    motor_values,
    number,
    plain_angle,
    quantity,
)
from .friction_law import Friction
from .hysteresis import SlipElement
from .kinematic_error import GearHarmonic
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


def read_friction(data: Any, where: str, gear: Gear) -> Friction:
    """The friction of a link."""
    return Friction(**friction_values(data, where, gear))


def read_hysteresis(data: Any, where: str, gear: Gear) -> tuple[SlipElement, ...]:
    """The slip elements of a spring."""
    found = []
    for at, each in _listed(data, where):
        entry = entries(each, at, ("stiffness", "torque"), ())
        stiffness = quantity(entry["stiffness"], f"{at}.stiffness", "stiffness", gear)
        torque = quantity(entry["torque"], f"{at}.torque", "force", gear)
        found.append(SlipElement(stiffness, torque))
    return tuple(found)


def read_kinematic_error(data: Any, where: str, gear: Gear) -> tuple[GearHarmonic, ...]:
    """The harmonics of the kinematic error of a gear."""
    found = []
    for at, each in _listed(data, where):
        entry = entries(each, at, ("order", "of", "amplitude"), ("phase",))
        found.append(
            GearHarmonic(
                number(entry["order"], f"{at}.order"),
                entry["of"],
                quantity(entry["amplitude"], f"{at}.amplitude", "angle", gear),
                plain_angle(entry["phase"], f"{at}.phase") if "phase" in entry else 0.0,
            )
        )
    return tuple(found)


def _listed(data: Any, where: str) -> Iterator[tuple[str, Any]]:
    """The items of a list, with where they are."""
    if not isinstance(data, list | tuple):
        raise InputError(f"{where}: expected a list of mappings, got {data!r:.60}")
    for k, each in enumerate(data):
        yield f"{where}[{k}]", each
