# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The YAML description of actuators.

config/elastic_joints/panda.yaml documents the keys of motors and linear springs,
config/elastic_joints/every_kind.yaml shows every kind of joint. A joint is one of

    {motor: M, spring: rigid}
    {motor: M, spring: S}                       series elastic; S may include `damping`
    {motor: M, variable_stiffness: {range: V, hardening: H, travel: V, drive: D}}
                                                Q = k (phi + h phi^3), k between the ends of range;
                                                hardening, travel and drive are optional
    {agonist: {motor: M, spring: S}, antagonist: {motor: M, spring: S}, regulates: stiffness}
                                                or regulates: pretension; default: stiffness

A prismatic joint also has `motion: prismatic`. `torque_source: torque_sensor` declares a joint
torque sensor; the default is `spring_deflection`, or `motor_torque` for a rigid joint. The drive D
of a variable stiffness is {motor: M, offset: X, gain: X} with k = offset + gain theta_k, and with
`motion: prismatic` if theta_k is a translation. Its quantities refer to the sides of its own gear,
except for the offset, which refers to the joint's gear. A motor M is described as in panda.yaml,
and a spring S is one of

    {law: linear, stiffness: X}
    {law: cubic, stiffness: X, cubic_stiffness: X}          K phi + K3 phi^3
    {law: polynomial, coefficients: C}                      C: {values: [c1, c2, ...], torque: N m,
                                                                deflection: rad, side: link}
    {law: table, deflection: V, torque: V, symmetric: true}  points of a data sheet; symmetric:
                                                             positive deflections only, from 0, 0

optionally with `travel: V` (the lower and upper end; required for a polynomial) and, in a series
elastic joint, `damping: X`. X is {value, unit, side}, V is {values: [...], unit, side}. Units in
addition to those of panda.yaml:

    deflection, travel    rad, deg, mrad, arcmin; prismatic: m, mm    motor -> link side: / N
    cubic_stiffness       N m/rad^3; prismatic: N/m^3                 x N^4
    hardening             1/rad^2; prismatic: 1/m^2                   x N^2
    drive.gain            N m/rad^2; joint prismatic: N/m/rad         x N of the drive
                          drive prismatic: N m/rad/m (/mm); both: N/m^2, N/m/mm
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from ..core import InputError
from ..core.quantities import (
    Gear,
    entries,
    joint_entries,
    joint_motion,
    motor_values,
    numbers,
    quantities,
    quantity,
    to_link_side,
)
from .actuator_kinds import (
    Actuator,
    Antagonistic,
    Motor,
    Rigid,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
)
from .actuators import Actuators, TorqueSource
from .springs import CubicSpring, LinearSpring, PolynomialSpring, Spring, TableSpring

_KEYS_OF_LAWS = {
    "linear": ("law", "stiffness"),
    "cubic": ("law", "stiffness", "cubic_stiffness"),
    "polynomial": ("law", "coefficients", "travel"),
    "table": ("law", "deflection", "torque"),
}


def load_actuators(
    source: str | PathLike[str] | Mapping[str, Any],
    joint_names: Sequence[str],
    joint_types: Sequence[str] | None = None,
) -> Actuators:
    """The actuators of a robot from a YAML file or its mapping, in the order of `joint_names`.

    joint_types: as MultibodyModel.joint_types; if given, the units must match them.
    Raises InputError that names the file, joint and key, and states what is expected.
    """
    where, joints = joint_entries(source, joint_names, "actuators")
    if joint_types is not None and len(joint_types) != len(joint_names):
        raise InputError(
            f"joint_types: expected one for each of {len(joint_names)} joints, got "
            f"{len(joint_types)}"
        )
    types = dict(zip(joint_names, joint_types or (), strict=False))
    actuators, sources = [], []
    for name in joint_names:
        at = f"{where}: joint '{name}'"
        try:
            actuator, source = _actuator(joints[name], at, types.get(name))
        except InputError as error:
            text = str(error)
            raise InputError(text if text.startswith(at) else f"{at}: {text}") from None
        actuators.append(actuator)
        sources.append(source)
    try:
        return Actuators(tuple(joint_names), tuple(actuators), tuple(sources))
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _actuator(data: Any, where: str, joint_type: str | None) -> tuple[Actuator, TorqueSource]:
    keys = data if isinstance(data, Mapping) else {}
    required: tuple[str, ...] = ("spring", "motor")
    optional: tuple[str, ...] = ("motion", "torque_source")
    if "agonist" in keys or "antagonist" in keys:
        required, optional = ("agonist", "antagonist"), ("regulates", *optional)
    elif "variable_stiffness" in keys:
        required = ("variable_stiffness", "motor")
    entry = entries(data, where, required, optional)
    actuator = _of_kind(entry, where, joint_motion(entry, where, joint_type), required)
    usual = "motor_torque" if isinstance(actuator, Rigid) else "spring_deflection"
    return actuator, entry.get("torque_source", usual)


def _of_kind(
    entry: Mapping[str, Any], where: str, motion: str, required: Sequence[str]
) -> Actuator:
    if "agonist" in entry:
        sides = []
        for side in required:
            at = f"{where}: {side}"
            each = entries(entry[side], at, ("motor", "spring"), ())
            motor, gear = _motor(each["motor"], at, motion)
            sides.append((motor, _spring(each["spring"], f"{at}: spring", gear)))
        (agonist, pull), (antagonist, back) = sides
        return Antagonistic(agonist, antagonist, pull, back, entry.get("regulates", "stiffness"))

    motor, gear = _motor(entry["motor"], where, motion)
    if "variable_stiffness" in entry:
        at = f"{where}: variable_stiffness"
        optional = ("hardening", "travel", "drive")
        given = entries(entry["variable_stiffness"], at, ("range",), optional)
        shape: Spring = LinearSpring(1.0, travel=_travel(given, at, gear))
        if "hardening" in given:
            h = quantity(given["hardening"], f"{at}.hardening", "hardening", gear)
            shape = CubicSpring(1.0, h, travel=shape.travel)
        ends = _pair(given["range"], f"{at}.range", "stiffness", gear)
        drive = None
        if "drive" in given:
            drive = _stiffness_drive(given["drive"], f"{at}.drive", gear)
        return VariableStiffness(motor, ends, shape, drive)

    if entry["spring"] == "rigid":
        return Rigid(motor)
    at = f"{where}: spring"
    damping = 0.0
    law = entry["spring"]
    if isinstance(law, Mapping) and "damping" in law:
        damping = quantity(law["damping"], f"{at}.damping", "damping", gear)
        law = {key: value for key, value in law.items() if key != "damping"}
    return SeriesElastic(motor, _spring(law, at, gear), damping)


def _stiffness_drive(data: Any, where: str, gear: Gear) -> StiffnessDrive:
    entry = entries(data, where, ("motor", "offset", "gain"), ("motion",))
    motor, own = _motor(entry["motor"], where, joint_motion(entry, where, None))
    dimension = "linear stiffness gain" if gear.motions["link"] == "prismatic" else "stiffness gain"
    return StiffnessDrive(
        motor,
        quantity(entry["offset"], f"{where}.offset", "stiffness", gear),
        quantity(entry["gain"], f"{where}.gain", dimension, own),
    )


def _motor(data: Any, where: str, motion: str) -> tuple[Motor, Gear]:
    values, gear = motor_values(data, where, motion)
    inertia = values.pop("motor_inertia")
    return Motor(inertia, **values), gear


def _spring(data: Any, where: str, gear: Gear) -> Spring:
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

    travel = _travel(entry, where, gear)
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


def _travel(entry: Mapping[str, Any], where: str, gear: Gear) -> tuple[float, float]:
    if "travel" not in entry:
        return -float("inf"), float("inf")
    return _pair(entry["travel"], f"{where}.travel", "angle", gear)


def _pair(data: Any, where: str, dimension: str, gear: Gear) -> tuple[float, float]:
    values = quantities(data, where, dimension, gear)
    if len(values) != 2:
        raise InputError(f"{where}: expected two values, lower and upper, got {len(values)}")
    return values[0], values[1]
