# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motors and springs from their YAML description; see :mod:`actuator_description`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core import InputError
from ..core.quantities import (
    Gear,
    entries,
    motor_values,
    numbers,
    quantities,
    quantity,
    to_link_side,
)
from .motor import Motor
from .springs import CubicSpring, LinearSpring, PolynomialSpring, Spring, TableSpring

_KEYS_OF_LAWS = {
    "linear": ("law", "stiffness"),
    "cubic": ("law", "stiffness", "cubic_stiffness"),
    "polynomial": ("law", "coefficients", "travel"),
    "table": ("law", "deflection", "torque"),
}


def read_motor(data: Any, where: str, motion: str) -> tuple[Motor, Gear]:
    """A motor and its gear; `motion` of its link, revolute or prismatic."""
    values, gear = motor_values(data, where, motion)
    inertia = values.pop("motor_inertia")
    return Motor(inertia, **values), gear


def read_spring(data: Any, where: str, gear: Gear) -> Spring:
    """A spring law on the link side of the gear."""
    law = data.get("law") if isinstance(data, Mapping) else None
    if not isinstance(law, str) or law not in _KEYS_OF_LAWS:
        laws = ", ".join(_KEYS_OF_LAWS)
        raise InputError(
            f"{where}: expected rigid or a mapping with one of the laws {laws}, got {data!r}"
        )
    optional = ("travel", "symmetric") if law == "table" else ("travel",)
    entry = entries(data, where, _KEYS_OF_LAWS[law], optional)

    def value(key: str, dimension: str) -> float:
        return quantity(entry[key], f"{where}.{key}", dimension, gear)

    travel = read_travel(entry, where, gear)
    if law == "linear":
        return LinearSpring(value("stiffness", "stiffness"), travel=travel)
    if law == "cubic":
        K3 = value("cubic_stiffness", "cubic stiffness")
        return CubicSpring(value("stiffness", "stiffness"), K3, travel=travel)
    if law == "polynomial":
        at = f"{where}.coefficients"
        keys = ("values", "torque", "deflection", "side")
        given = entries(entry["coefficients"], at, keys, ())
        torque, deflection = (
            to_link_side({"unit": given[key], "side": given["side"]}, at, dimension, gear)
            for key, dimension in (("torque", "force"), ("deflection", "angle"))
        )
        values = numbers(given["values"], at)
        coefficients = (c * torque / deflection**i for i, c in enumerate(values, start=1))
        return PolynomialSpring(tuple(coefficients), travel=travel)
    symmetric = entry.get("symmetric", False)
    if not isinstance(symmetric, bool):
        raise InputError(f"{where}.symmetric: must be true or false, got {symmetric!r}")
    deflections, torques = (
        quantities(entry[key], f"{where}.{key}", dimension, gear)
        for key, dimension in (("deflection", "angle"), ("torque", "force"))
    )
    return TableSpring(deflections, torques, symmetric, travel=travel)


def read_travel(entry: Mapping[str, Any], where: str, gear: Gear) -> tuple[float, float]:
    """The travel in an entry, infinite without one."""
    if "travel" not in entry:
        return -float("inf"), float("inf")
    return read_pair(entry["travel"], f"{where}.travel", "angle", gear)


def read_pair(data: Any, where: str, dimension: str, gear: Gear) -> tuple[float, float]:
    """A lower and an upper value."""
    values = quantities(data, where, dimension, gear)
    if len(values) != 2:
        raise InputError(f"{where}: expected two values, lower and upper, got {len(values)}")
    return values[0], values[1]
