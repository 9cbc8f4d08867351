# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Quantities of a data sheet: {value, unit, side of the gear}.

Readers return SI units on the link side of the gear, which is what the package uses throughout.
Every function takes `where`, the file and keys leading to a value, and raises InputError naming it.
"""

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from .errors import InputError
from .file_reading import computable
from .yaml_files import read_yaml

SECOND = 1_000_000_000  # ns

_TURN, _DEGREE = 2.0 * np.pi, np.pi / 180.0
_UNITS: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("stiffness", "revolute"): {
        "N m/rad": 1.0, "kN m/rad": 1e3, "N m/deg": 1.0 / _DEGREE, "N m/arcmin": 60.0 / _DEGREE,
    },
    ("stiffness", "prismatic"): {"N/m": 1.0, "kN/m": 1e3, "N/mm": 1e3},
    ("inertia", "revolute"): {"kg m^2": 1.0, "kg cm^2": 1e-4, "kg mm^2": 1e-6, "g cm^2": 1e-7},
    ("inertia", "prismatic"): {"kg": 1.0, "g": 1e-3},
    ("damping", "revolute"): {
        "N m s/rad": 1.0, "mN m s/rad": 1e-3, "N m/rpm": 60.0 / _TURN, "mN m/rpm": 0.06 / _TURN,
    },
    ("damping", "prismatic"): {"N s/m": 1.0},
    ("force", "revolute"): {"N m": 1.0, "N cm": 1e-2, "mN m": 1e-3},
    ("force", "prismatic"): {"N": 1.0, "kN": 1e3},
    ("velocity", "revolute"): {"rad/s": 1.0, "deg/s": _DEGREE, "rpm": _TURN / 60.0},
    ("velocity", "prismatic"): {"m/s": 1.0, "mm/s": 1e-3},
    ("angle", "revolute"): {"rad": 1.0, "deg": _DEGREE, "mrad": 1e-3, "arcmin": _DEGREE / 60.0},
    ("angle", "prismatic"): {"m": 1.0, "mm": 1e-3},
    ("cubic stiffness", "revolute"): {"N m/rad^3": 1.0},
    ("cubic stiffness", "prismatic"): {"N/m^3": 1.0},
    ("hardening", "revolute"): {"1/rad^2": 1.0},
    ("hardening", "prismatic"): {"1/m^2": 1.0},
    ("stiffness gain", "revolute"): {"N m/rad^2": 1.0},
    ("stiffness gain", "prismatic"): {"N m/rad/m": 1.0, "N m/rad/mm": 1e3},
    ("linear stiffness gain", "revolute"): {"N/m/rad": 1.0},
    ("linear stiffness gain", "prismatic"): {"N/m^2": 1.0, "N/m/mm": 1e3},
    ("ratio", "prismatic"): {"rad/m": 1.0, "rad/mm": 1e3, "turn/m": _TURN, "turn/mm": _TURN * 1e3},
}  # fmt: skip
_TO_LINK_SIDE = {
    "stiffness": 2, "cubic stiffness": 4, "inertia": 2, "damping": 2,
    "force": 1, "velocity": -1, "angle": -1,
    "hardening": 2, "stiffness gain": 1, "linear stiffness gain": 1,
}  # fmt: skip
"""Power of the gear ratio that converts a quantity from the motor side to the link side."""


class Powers(NamedTuple):
    """The dimension force^a angle^b of a constant that has no name above, such as (1, -5) of the
    coefficient of phi^5 in the law of a spring: N m/rad^5, or N/m^5 of a translation."""

    force: int
    angle: int

    def units(self, motion: str) -> dict[str, float]:
        return {
            self._unit(force, angle): newtons**self.force * radians**self.angle
            for force, newtons in _UNITS["force", motion].items()
            for angle, radians in _UNITS["angle", motion].items()
        }

    def _unit(self, force: str, angle: str) -> str:
        """Such as N m/rad^5."""
        parts: dict[bool, list[str]] = {True: [], False: []}
        for unit, power in ((force, self.force), (angle, self.angle)):
            if power:
                size = abs(power)
                base = f"({unit})" if " " in unit and size > 1 else unit
                parts[power > 0].append(base if size == 1 else f"{base}^{size}")
        top, bottom = " ".join(parts[True]) or "1", " ".join(parts[False])
        return f"{top}/{bottom}" if bottom else top

    @property
    def to_link_side(self) -> int:
        """Power of the gear ratio."""
        return self.force - self.angle


Dimension = str | Powers
"""A name in the table of units above, or powers of force and angle."""

RATIO = "ratio of torques"
"""The dimension of a plain number without a unit, the same on both sides of the gear."""

_MORE_FRICTION = {
    "stribeck": ("stribeck", "force"),
    "stribeck_velocity": ("stribeck_velocity", "velocity"),
    "load_friction": ("load_friction", RATIO),
    "offset": ("offset", "force"),
}
_MOTOR_QUANTITIES = {
    "inertia": ("motor_inertia", "inertia"),
    "viscous_friction": ("viscous", "damping"),
    "coulomb_friction": ("coulomb", "force"),
    "coulomb_velocity": ("coulomb_velocity", "velocity"),
    **_MORE_FRICTION,
    "torque_limit": ("torque_limit", "force"),
    "speed_limit": ("speed_limit", "velocity"),
}
_FRICTION_QUANTITIES = {
    "viscous": ("viscous", "damping"),
    "coulomb": ("coulomb", "force"),
    "coulomb_velocity": ("coulomb_velocity", "velocity"),
    **_MORE_FRICTION,
    "presliding": ("presliding", "angle"),
}


def joint_entries(
    source: str | PathLike[str] | Mapping[str, Any],
    joint_names: Sequence[str],
    what: str,
    locked: Collection[str] = (),
) -> tuple[str, Mapping[str, Any]]:
    """The name of the source, for messages, and the entry of each joint of the robot.

    `source` is a YAML file, or its contents as a mapping, which messages then call `what`. locked :
    joints whose entries are ignored, because they do not move. Raises
    InputError for joints that are missing from the file or unknown to the robot.
    """
    if isinstance(source, Mapping):
        where, data = what, source
    else:
        where, data = str(source), read_yaml(source)
    of_loops = ("loops", "actuated", "assembled", "passive_springs")
    others = ("description", "couplings", "transmission", *of_loops)
    top = entries(data, where, required=("joints",), optional=others)
    joints = entries(top["joints"], f"{where}: joints", required=(), optional=None)
    for name in joints:
        if name not in joint_names and name not in locked:
            raise InputError(
                f"{where}: joint {name!r}: the robot has no such joint; it has "
                f"{', '.join(joint_names)}"
            )
    for name in joint_names:
        if name not in joints:
            raise InputError(
                f"{where}: joint '{name}' of the robot is missing; a joint without a spring is "
                f"written with 'spring: rigid'"
            )
    return where, joints


def joint_motion(entry: Mapping[str, Any], where: str, joint_type: str | None) -> str:
    """The motion, revolute or prismatic; InputError if it contradicts the robot's joint type."""
    motion = entry.get("motion", "revolute")
    if motion not in ("revolute", "prismatic"):
        raise InputError(
            f"{where}: motion must be revolute (the default) or prismatic, got {motion!r}"
        )
    if joint_type is not None and (joint_type == "prismatic") != (motion == "prismatic"):
        raise InputError(f"{where}: motion is {motion}, but the robot's joint is {joint_type}")
    return str(motion)


class Gear(NamedTuple):
    """A gear: motor travel per link travel, and the motion (revolute, prismatic) of each side."""

    ratio: float
    motions: Mapping[str, str]  # keys: "motor", "link"


def motor_values(data: Any, where: str, motion: str) -> tuple[dict[str, float], Gear]:
    """Inertia, friction, limits and gear ratio of a motor, keyed by their names in the package, and
    its gear."""
    optional = tuple(key for key in _MOTOR_QUANTITIES if key != "inertia")
    motor = entries(data, f"{where}: motor", ("gear_ratio", "inertia"), optional)
    _check_friction_keys(motor, f"{where}: motor", "coulomb_friction")
    ratio, motor_motion = _gear_ratio(motor["gear_ratio"], f"{where}: motor.gear_ratio", motion)
    gear = Gear(ratio, {"link": motion, "motor": motor_motion})
    values = {
        "gear_ratio": ratio,
        "coulomb": 0.0, "viscous": 0.0, "coulomb_velocity": 1.0,
        "torque_limit": np.inf, "speed_limit": np.inf,
    }  # fmt: skip
    return values | _values(motor, f"{where}: motor", _MOTOR_QUANTITIES, gear), gear


def friction_values(data: Any, where: str, gear: Gear) -> dict[str, float]:
    """The friction of a link, keyed by its names in the package."""
    entry = entries(data, where, (), tuple(_FRICTION_QUANTITIES))
    _check_friction_keys(entry, where, "coulomb")
    return _values(entry, where, _FRICTION_QUANTITIES, gear)


def _values(
    entry: Mapping[str, Any], where: str, table: Mapping[str, tuple[str, str]], gear: Gear
) -> dict[str, float]:
    return {
        name: quantity(entry[key], f"{where}.{key}", dimension, gear)
        for key, (name, dimension) in table.items()
        if key in entry
    }


def _check_friction_keys(entry: Mapping[str, Any], where: str, coulomb: str) -> None:
    """Raise InputError for a friction without the speed at which it acts."""
    if (coulomb in entry) != ("coulomb_velocity" in entry):
        raise InputError(
            f"{where}: {coulomb} and coulomb_velocity (the speed of its tanh) belong "
            f"together: give both or neither"
        )
    if ("stribeck" in entry) != ("stribeck_velocity" in entry):
        raise InputError(
            f"{where}: stribeck and stribeck_velocity (the speed at which it decays) belong "
            f"together: give both or neither"
        )
    for key in ("stribeck", "load_friction"):
        if key in entry and coulomb not in entry:
            raise InputError(f"{where}: {key} adds to {coulomb}, which is missing; it may be zero")


def _gear_ratio(value: Any, where: str, motion: str) -> tuple[float, str]:
    """Gear ratio (motor travel per link travel) and the motion of the motor."""
    if not isinstance(value, Mapping):
        return positive(value, where), motion
    if motion == "revolute":
        raise InputError(
            f"{where}: the gear ratio of a revolute joint must be a plain number without a unit"
        )
    entry = entries(value, where, required=("value", "unit"), optional=())
    unit = _factor(entry["unit"], where, "ratio", motion)
    return positive(entry["value"], where) * unit, "revolute"


def quantity(data: Any, where: str, dimension: Dimension, gear: Gear) -> float:
    """A value {value, unit, side} in SI units on the link side; a plain number for a RATIO."""
    if dimension == RATIO:
        return number(data, where)
    entry = entries(data, where, required=("value", "unit", "side"), optional=())
    factor = to_link_side(entry, where, dimension, gear)
    return computable(f"{where}: ", number(entry["value"], where) * factor)


def plain_angle(data: Any, where: str) -> float:
    """An angle {value, unit} in rad that belongs to no side of the gear, such as a phase."""
    entry = entries(data, where, required=("value", "unit"), optional=())
    return number(entry["value"], where) * _factor(entry["unit"], where, "angle", "revolute")


def quantities(data: Any, where: str, dimension: Dimension, gear: Gear) -> tuple[float, ...]:
    """Values {values: [...], unit, side} in SI units on the link side."""
    entry = entries(data, where, required=("values", "unit", "side"), optional=())
    factor = to_link_side(entry, where, dimension, gear)
    return tuple(
        computable(f"{where}: ", value * factor) for value in numbers(entry["values"], where)
    )


def numbers(values: Any, where: str) -> tuple[float, ...]:
    """A list of YAML numbers."""
    if not isinstance(values, list | tuple):
        raise InputError(f"{where}: values must be a list of numbers, got {values!r}")
    return tuple(number(value, where) for value in values)


def to_link_side(entry: Mapping[str, Any], where: str, dimension: Dimension, gear: Gear) -> float:
    """Factor that converts a value with this unit and side to SI units on the link side."""
    side = entry["side"]
    if not isinstance(side, str) or side not in gear.motions:
        raise InputError(f"{where}: side (of the gear) must be motor or link, got {side!r}")
    factor = _factor(entry["unit"], where, dimension, gear.motions[side])
    if side == "link":
        return factor
    power = dimension.to_link_side if isinstance(dimension, Powers) else _TO_LINK_SIDE[dimension]
    try:
        scale = gear.ratio**power
    except OverflowError:
        raise InputError(f"{where}: a gear ratio of {gear.ratio:g} is too large") from None
    return factor * computable(f"{where}: a gear ratio to the power {power}: ", scale)


def _factor(unit: Any, where: str, dimension: Dimension, motion: str) -> float:
    """SI value of a unit; spaces and multiplication signs do not matter."""

    def plain(text: str) -> str:
        for old, new in ((" ", ""), ("*", ""), ("·", ""), (".", ""), ("²", "^2")):
            text = text.replace(old, new)
        return text

    units = dimension.units(motion) if isinstance(dimension, Powers) else _named(dimension, motion)
    for known, factor in units.items():
        if plain(str(unit)) == plain(known):
            return factor
    raise InputError(
        f"{where}: unit {unit!r} is not one of {', '.join(units)} "
        f"(the motion on that side is {motion})"
    )


def _named(dimension: str, motion: str) -> Mapping[str, float]:
    if (dimension, motion) not in _UNITS:
        known = dict.fromkeys(name for name, _ in _UNITS)
        raise ValueError(
            f"no quantity is called {dimension!r}; known are {', '.join(known)}; for a product of "
            f"powers of force and angle, use Powers(force, angle), such as Powers(1, -5) for "
            f"N m/rad^5"
        )
    return _UNITS[dimension, motion]


def number(value: Any, where: str) -> float:
    """A number, or a string that holds one: other YAML 1.1 readers load 1e4 as a string."""
    try:
        if isinstance(value, bool):
            raise ValueError
        found = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{where}: {value!r} is not a number") from None
    if np.isnan(found):
        raise InputError(f"{where}: NaN is not allowed")
    return computable(f"{where}: ", found)


def positive(value: Any, where: str) -> float:
    """A finite number greater than zero."""
    found = number(value, where)
    if not 0.0 < found < np.inf:
        raise InputError(f"{where}: must be greater than zero and finite, got {found:g}")
    return found


def entries(
    data: Any, where: str, required: Sequence[str], optional: Sequence[str] | None
) -> Mapping[str, Any]:
    """`data` as a mapping with all required keys, and otherwise only optional ones (None: any).

    If no key is required, an empty section counts as an empty mapping.
    """
    if data is None and not required:
        return {}
    if not isinstance(data, Mapping):
        keys = f" that contains {', '.join(required)}" if required else ""
        raise InputError(f"{where}: expected a mapping{keys}, got {data!r:.60}")
    for key in data:
        if optional is not None and key not in required and key not in optional:
            raise InputError(
                f"{where}: unknown key {key!r}; allowed: {', '.join((*required, *optional))}"
            )
    for key in required:
        if key not in data:
            raise InputError(f"{where}: key '{key}' is missing")
    return data
