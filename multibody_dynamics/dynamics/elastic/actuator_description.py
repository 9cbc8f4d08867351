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

What a real drive adds is optional. A joint of any kind may have the friction of its link,

    friction: {viscous: X, coulomb: X, coulomb_velocity: X, stribeck: X, stribeck_velocity: X,
               load_friction: 0.05, offset: X}

with the law of :mod:`.friction_law`; a motor has the same keys, but `viscous_friction` and
`coulomb_friction` for the first two. `load_friction` is a plain number, a share of the joint
torque. In a series elastic joint, the spring may have

    hysteresis: [{stiffness: X, torque: X}, ...]                 Maxwell slip elements in parallel
    backlash: X                                                  the whole gap

and the joint the harmonics of the error of its gear, with a phase that belongs to no side,

    kinematic_error: [{order: 2, of: motor, amplitude: X, phase: {value: 0.3, unit: rad}}, ...]
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from ..core import InputError, file_reader
from ..core.quantities import Gear, entries, joint_entries, joint_motion
from .actuator import Actuator
from .actuators import Actuators, TorqueSource
from .kinds import KINDS, SeriesElastic
from .part_description import read_friction, read_motor

_COMMON_KEYS = ("motion", "torque_source", "friction")


@file_reader
def load_actuators(
    source: str | PathLike[str] | Mapping[str, Any],
    joint_names: Sequence[str],
    joint_types: Sequence[str] | None = None,
    locked: Collection[str] = (),
) -> Actuators:
    """The actuators of a robot from a YAML file or its mapping, in the order of `joint_names`.

    joint_types: as MultibodyModel.joint_types; if given, the units must match them. locked: joints
    that are held, as in MultibodyModel.locked, whose entries are ignored.
    Raises InputError that names the file, joint and key, and states what is expected.
    """
    where, joints = joint_entries(source, joint_names, "actuators", locked)
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


def described_kind(keys: Mapping[str, Any]) -> type[Actuator]:
    """The kind of actuator that the entry of a joint with these keys describes."""
    newest_first = reversed(KINDS.values())
    return next((each for each in newest_first if each.is_described(keys)), SeriesElastic)


def _actuator(data: Any, where: str, joint_type: str | None) -> tuple[Actuator, TorqueSource]:
    kind = described_kind(data if isinstance(data, Mapping) else {})
    entry = entries(data, where, kind.required_keys, (*_COMMON_KEYS, *kind.optional_keys))
    motion = joint_motion(entry, where, joint_type)
    actuator = kind.read(entry, where, motion)
    if "friction" in entry:
        gear = Gear(1.0, {"link": motion})  # two motors have two gears
        if "motor" in entry:
            _, gear = read_motor(entry["motor"], where, motion)
        friction = read_friction(entry["friction"], f"{where}: friction", gear)
        actuator = replace(actuator, link_friction=friction)
    return actuator, entry.get("torque_source", actuator.own_torque_source)
