# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Effects of real drives, which no controller of the package models in this form.

Friction, of links and in addition to that of the motors, follows LuGre [C. Canudas de Wit et al.,
IEEE Trans. Automatic Control 40(3), 1995]: with the bristle deflection z and the stiffness
s0 = F_static / bristle,

    z' = v - s0 |v| z / g,    F = s0 z + s1 z',
    g = F_coulomb + (F_static - F_coulomb) exp(-(v / v_s)^2) + load |Q|.

The damping s1 = F_coulomb / v_s exp(-(v / v_s)^2) of the bristles keeps friction passive at every
speed, because s1 |v| < 4 g. Springs have hysteresis from Maxwell slip, ELEMENTS springs in parallel
with them that slide one after the other; a gap (backlash) before they bend; and the kinematic error
of their gear, so that a spring sees theta + A sin(k theta + phase), and its motor the torque times
the derivative of this.

Bristles and slip elements advance with the displacement s since the beginning of an inner step, by
the solutions of their equations for a motion in one direction and a constant g:

    z = z_inf + (z_0 - z_inf) exp(-s0 |s| / g), z_inf = g sign(s) / s0,
    e = clip(e_0 + s, -e_max, e_max).

They are therefore stable with any step, and rate-independent without the Stribeck effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core import Array, IndependentCopies, InputError, as_real, inlined, read_yaml, setting
from ..elastic import Actuators
from ..elastic_arm import DIRECTIONS, SoftBase

ELEMENTS = 4
"""Slip elements of a spring, of equal stiffness; element k slides at the share k / ELEMENTS of the
deflection at which all do."""

# Columns of a row of friction.
COULOMB, STATIC, STRIBECK, LOAD, BRISTLE = range(5)
# Columns of a row of a spring, after the ELEMENTS deflections at which its elements slide.
SLIP_STIFFNESS, GAP, ERROR, HARMONIC, PHASE = range(ELEMENTS, ELEMENTS + 5)
# Columns of a row of a drive.
BANDWIDTH, RESOLUTION = range(2)


def _row(default: float, meaning: str, unit: str = "", *, positive: bool = False) -> Any:
    """A number for all joints, one for each, or {joint: value} with the default for the others."""
    return setting(default, meaning, unit=unit, bounds=(5e-324 if positive else 0.0, np.inf))


@dataclass(frozen=True, kw_only=True)
class DriveEffects:
    """Effects of real drives on a :class:`.Plant`; by default there are none.

    Each number applies to all joints, to each (n,), or, as {joint: value}, to those named. Values
    are on the link side of the gear; forces and lengths for prismatic joints. Springs that a joint
    does not have get no hysteresis, backlash or gear error. Raises InputError for values out of
    range.
    """

    ELEMENTS: ClassVar[int] = ELEMENTS

    link_coulomb: Any = _row(0.0, "Coulomb friction of the link", "N m")
    link_static: Any = _row(0.0, "breakaway torque of the link, if above Coulomb friction", "N m")
    link_load: Any = _row(0.0, "Coulomb friction of the link per joint torque |Q|")
    motor_coulomb: Any = _row(0.0, "Coulomb friction, added to that of the motor", "N m")
    motor_static: Any = _row(0.0, "breakaway torque of the motor, if above Coulomb friction", "N m")
    motor_load: Any = _row(0.0, "Coulomb friction of the motor per torque of its spring")
    stribeck_velocity: Any = _row(0.05, "v_s of the Stribeck effect", "rad/s", positive=True)
    bristle: Any = _row(2e-4, "deflection before friction slides", "rad", positive=True)
    hysteresis: Any = _row(0.0, "torque of all sliding elements of a spring", "N m")
    hysteresis_deflection: Any = _row(
        5e-3, "travel after a reversal at which all elements slide", "rad", positive=True
    )
    backlash: Any = _row(0.0, "width of the gap in front of a spring", "rad")
    gear_error: Any = _row(0.0, "amplitude of the kinematic error of the gear", "rad")
    gear_harmonic: Any = _row(
        2.0, "periods of the kinematic error per turn of the motor on the link side: the gear ratio"
        " times the harmonic of the motor"
    )  # fmt: skip
    # fmt: off
    gear_phase: Any = setting(0.0, "phase of the kinematic error at zero", unit="rad")
    link_eccentricity: Any = _row(0.0, "amplitude of the once-per-turn error of encoders", "rad")
    motor_eccentricity: Any = _row(0.0, "the same of motor encoders on the link side", "rad")
    eccentricity_phase: Any = setting(0.0, "phase of these errors at zero", unit="rad")
    torque_bandwidth: Any = _row(
        np.inf, "bandwidth of the motor torques, a first-order lag; inf: none", "Hz", positive=True
    )
    torque_resolution: Any = _row(0.0, "step of the commanded motor torques; 0: none", "N m")
    base_frequency: float = setting(0.0, unit="Hz", bounds=(0.0, np.inf),
        meaning="natural frequency of the base in each direction with the arm on it; 0: rigid")
    base_inertia: float = setting(0.5, bounds=(5e-324, np.inf),
        meaning="inertia of the base itself, relative to the arm's")
    base_damping: float = setting(0.01, bounds=(0.0, np.inf),
        meaning="damping ratio of the base in each direction")
    base_directions: tuple[str, ...] = setting(DIRECTIONS,
        meaning="translations and rotations of the base: some of x, y, z, rx, ry, rz")
    # fmt: on

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "base_directions":
                continue
            rows = value.items() if isinstance(value, Mapping) else (("", value),)
            for joint, entry in rows:
                where = f"{each.name} of joint '{joint}'" if joint else each.name
                numbers = as_real(where, entry)
                low, high = each.metadata["bounds"] or (-np.inf, np.inf)
                if np.isnan(numbers).any() or (numbers < low).any() or (numbers > high).any():
                    right = "positive" if low > 0.0 else "a number" if low < 0.0 else "zero or more"
                    raise InputError(f"effects: {where} is {entry}: must be {right}")
        _ = self.base

    @property
    def base(self) -> SoftBase | None:
        """The base on springs; None if it is rigid."""
        if not self.base_frequency:
            return None
        return SoftBase(
            self.base_frequency, self.base_inertia, self.base_damping, tuple(self.base_directions)
        )

    def row(self, name: str, joints: tuple[str, ...]) -> Array:
        """(n,) the values of this effect, in the order of the joints."""
        value = getattr(self, name)
        if isinstance(value, Mapping):
            unknown = [key for key in value if key not in joints]
            if unknown:
                raise InputError(
                    f"effects: {name}: the robot has no joint '{unknown[0]}'; it has "
                    f"{', '.join(joints)}"
                )
            default = type(self).__dataclass_fields__[name].default
            return np.array([value.get(joint, default) for joint in joints], dtype=np.float64)
        found = np.asarray(value, dtype=np.float64)
        if found.shape not in ((), (len(joints),)):
            raise InputError(
                f"effects: {name} has {found.size} values; the robot has the {len(joints)} joints "
                f"{', '.join(joints)}"
            )
        return np.broadcast_to(found, (len(joints),)).copy()


def load_effects(path: str | PathLike[str]) -> DriveEffects:
    """The effects in a YAML file: a mapping `effects:` from the fields of :class:`DriveEffects` to
    a value for all joints, a list, or a mapping from joints to values.

    Raises InputError, naming the file, for unknown keys and values out of range.
    """
    data = read_yaml(path)
    known = [each.name for each in fields(DriveEffects)]
    given = data.get("effects") if isinstance(data, Mapping) else None
    if not isinstance(given, Mapping) or len(data) > 1:
        raise InputError(f"{path}: expected one mapping 'effects', of {', '.join(known)}")
    for key in given:
        if key not in known:
            raise InputError(f"{path}: effects: unknown key {key!r}; allowed: {', '.join(known)}")
    try:
        return DriveEffects(**given)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


class EffectTables(NamedTuple):
    """Effects for compiled code, a row per link or motor; stiffness, damping and preload of the
    base (3, b)."""

    links: Array  # (n, 5)
    motors: Array  # (m, 5)
    springs: Array  # (m, ELEMENTS + 5)
    drives: Array  # (m, 2)
    base: Array

    @classmethod
    def of(cls, effects: DriveEffects, actuators: Actuators) -> EffectTables:
        """The tables of a robot, with a free base. Raises InputError for backlash at a joint whose
        springs are not in front of a single motor."""
        names, joint = actuators.joint_names, actuators.joint_of_motor

        def rows(*fields: str) -> Array:
            return np.stack([effects.row(name, names) for name in fields], axis=1)

        def friction(side: str) -> Array:
            own = [f"{side}_{name}" for name in ("coulomb", "static", "load")]
            table = rows(own[0], own[1], "stribeck_velocity", own[2], "bristle")
            table[:, STATIC] = np.maximum(table[:, STATIC], table[:, COULOMB])
            return table

        springs = np.zeros((len(joint), ELEMENTS + 5))
        torque, reach = rows("hysteresis", "hysteresis_deflection")[joint].T
        shares = np.arange(1, ELEMENTS + 1) / ELEMENTS
        springs[:, :ELEMENTS] = 0.5 * reach[:, None] * shares  # a reversal goes from -e to e
        springs[:, SLIP_STIFFNESS] = torque / (0.5 * reach * shares.sum())
        springs[:, GAP:] = rows("backlash", "gear_error", "gear_harmonic", "gear_phase")[joint]
        moves = ~actuators.is_rigid[joint] & (actuators.torque_share > 0.0)
        for column in (SLIP_STIFFNESS, GAP, ERROR):
            springs[~moves, column] = 0.0
        steep = np.abs(springs[:, ERROR] * springs[:, HARMONIC])
        if (steep >= 1.0).any():
            i = joint[int(steep.argmax())]
            raise InputError(
                f"effects: gear_error times gear_harmonic of joint '{names[i]}' is "
                f"{steep.max():.3g}: must be less than 1, or the gear would turn back"
            )
        several = np.bincount(joint[moves], minlength=len(names)) > 1
        for i in np.flatnonzero(several & (effects.row("backlash", names) > 0.0)):
            raise InputError(
                f"effects: backlash of joint '{names[i]}': its link is between two motors, whose "
                f"pretension closes a gap; set it to 0"
            )
        drives = rows("torque_bandwidth", "torque_resolution")[joint]
        drives[:, BANDWIDTH] *= 2.0 * np.pi
        return cls(friction("link"), friction("motor")[joint], springs, drives, np.zeros((3, 0)))


class EffectMemory(NamedTuple):
    """What the effects remember: deflections of bristles and slip elements, and motor torques."""

    links: Array  # (n,)
    motors: Array  # (m,)
    slip: Array  # (m, ELEMENTS)
    torque: Array  # (m,)

    @classmethod
    def of(cls, n: int, m: int) -> EffectMemory:
        """Of a robot that has been at rest, without torques."""
        return cls(np.zeros(n), np.zeros(m), np.zeros((m, ELEMENTS)), np.zeros(m))


@inlined
def bristle_friction(rows, i, velocity, travel, load, before, after):
    """LuGre friction of row i after a travel since `before`; writes the bristles to `after`."""
    coulomb, static, v_s = rows[i, COULOMB], rows[i, STATIC], rows[i, STRIBECK]
    level = coulomb + rows[i, LOAD] * abs(load)
    slow = np.exp(-((velocity / v_s) ** 2))
    g = level + (static - coulomb) * slow
    if g <= 0.0:
        after[i] = 0.0
        return 0.0
    stiffness = (static if static > 0.0 else g) / rows[i, BRISTLE]
    limit = g / stiffness if travel > 0.0 else -g / stiffness
    z = limit + (before[i] - limit) * np.exp(-stiffness * abs(travel) / g)
    after[i] = z
    rate = velocity - stiffness * abs(velocity) * z / g
    return stiffness * z + level / v_s * slow * rate


@inlined
def slip_torque(springs, j, travel, before, after):
    """The torque of the slip elements of row j after a travel since `before`; writes `after`."""
    stiffness = springs[j, SLIP_STIFFNESS]
    total = 0.0
    if stiffness > 0.0:
        for k in range(ELEMENTS):
            end = springs[j, k]
            after[j, k] = min(max(before[j, k] + travel, -end), end)
            total += after[j, k]
    return stiffness * total


@inlined
def beyond_gap(springs, j, deflection):
    """A deflection less the gap, or 0 within it."""
    half = 0.5 * springs[j, GAP]
    return deflection - min(max(deflection, -half), half)


@inlined
def geared(springs, j, theta):
    """What a spring sees of its motor at theta, and the derivative of that."""
    size = springs[j, ERROR]
    if size == 0.0:
        return theta, 1.0
    harmonic = springs[j, HARMONIC]
    angle = harmonic * theta + springs[j, PHASE]
    return theta + size * np.sin(angle), 1.0 + size * harmonic * np.cos(angle)


class Eccentricity(IndependentCopies):
    """Once-per-turn errors of encoders: they read x + a sin(x + phase); a, phase (k,)."""

    def __init__(self, amplitude: Array, phase: Array) -> None:
        self.amplitude, self.phase = amplitude, phase

    @classmethod
    def of(cls, effects: DriveEffects, actuators: Actuators) -> tuple[Eccentricity, Eccentricity]:
        """Those of the links and of the motors of a robot."""
        names, joint = actuators.joint_names, actuators.joint_of_motor
        link, motor, phase = (
            effects.row(name, names)
            for name in ("link_eccentricity", "motor_eccentricity", "eccentricity_phase")
        )
        return cls(link, phase), cls(motor[joint], phase[joint])

    def __call__(self, position: Array, velocity: Array) -> tuple[Array, Array]:
        """Position and velocity as read."""
        if not self.amplitude.any():
            return position, velocity
        angle = position + self.phase
        return (
            position + self.amplitude * np.sin(angle),
            velocity * (1.0 + self.amplitude * np.cos(angle)),
        )
