# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joints of variable stiffness: Q = k g(phi), phi = theta - q, where k is the second flat output.

The motor carries Q. Where a second motor sets k = k_0 + kappa theta_k, it carries kappa G(phi),
with the integral G of g. Otherwise, k is an input that takes no motor torque.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...core import Array, InputError, exactly, inlined
from ...core.quantities import Gear, entries, joint_motion, quantity
from ..actuator import (
    STIFFNESS_UNIT,
    Actuator,
    Identified,
    IdentifiedQuantity,
    MotorEntry,
    Rows,
    check_parts,
)
from ..actuator_tables import (
    INPUT,
    MOTOR,
    OWN,
    SECOND,
    SECOND_OUTPUT_CLIPPED,
    SOFTEST,
    SPRING,
    STIFFEST,
    ahead,
    drive,
    drive_spring,
    link_motion,
)
from ..motor import Motor, StiffnessDrive
from ..part_description import read_motor
from ..spring_columns import JointSprings, Positions, SpringColumns
from ..spring_tables import spring_deflection, spring_deflection_motion, spring_energy, spring_law
from ..springs import (
    Beyond,
    CubicSpring,
    LinearSpring,
    Spring,
    read_pair,
    read_travel,
    solve_increasing,
)

OFFSET, GAIN = OWN, OWN + 1  # k_0 and kappa, if a motor sets the stiffness
RANGE, DRIVE = "variable_stiffness", ("variable_stiffness", "drive")  # keys in YAML
LEAST_SHARE = 0.1
"""A driven stiffness is never taken below this share of the minimum of its range."""


@inlined
def driven_stiffness(offset, gain, softest, position, velocity):
    """k and k' of a stiffness drive, never below LEAST_SHARE of `softest`, and whether the drive
    sets them; for scalars or arrays."""
    k = offset + gain * position
    sets = k >= LEAST_SHARE * softest
    return np.maximum(k, LEAST_SHARE * softest), gain * velocity * sets, sets


@inlined
def _reduced(torque, stiffness):
    """u = Q / k with two rates."""
    k, kd, kdd = stiffness
    u = torque[0] / k
    ud = (torque[1] - kd * u) / k
    return u, ud, (torque[2] - 2.0 * kd * ud - kdd * u) / k


# Flat arrays; tuples of arrays cost time when they are passed on
@inlined
def variable_feedforward(
    joints, motors, laws, pieces, own, i, variant, given, Qs, filtered, outputs
):  # fmt: skip
    """The motors of joint i: one leads the link, the other, if there is one, sets k."""
    j, k, v = int(joints[i, MOTOR]), int(joints[i, SPRING]), int(joints[i, SECOND])
    stiffness, kd, kdd = given.second[0, v], given.second[1, v], given.second[2, v]
    possible = joints[i, SOFTEST] <= stiffness <= joints[i, STIFFEST]
    if not possible:
        stiffness = min(max(stiffness, joints[i, SOFTEST]), joints[i, STIFFEST])
        kd, kdd = 0.0, 0.0
    u = _reduced(Qs, (stiffness, variant[1] * kd, variant[1] * kdd))
    deflection = spring_deflection_motion(laws, pieces, own, k, u, outputs.deflection[j])
    motion, phi = ahead(link_motion(given, i), 1.0, deflection), deflection[0]
    drive_spring(motors, laws, j, k, motion, phi, given.torque[0, i], outputs)
    if joints[i, INPUT] == 0.0:
        gain = joints[i, GAIN]
        motion = (stiffness - joints[i, OFFSET]) / gain, kd / gain, kdd / gain
        j += 1
        drive(motors, j, motion, gain * spring_energy(laws, pieces, own, k, phi), outputs)
    if not possible:
        outputs.flags[j] |= SECOND_OUTPUT_CLIPPED


@inlined
def variable_torques(
    joints, laws, pieces, own, i, q, qd, theta, thetad, second, torque, rate, K, load, deflection
):
    """Q = k g(phi)."""
    j, k = int(joints[i, MOTOR]), int(joints[i, SPRING])
    phi, phid = theta[j] - q[i], thetad[j] - qd[i]
    s, s1, _, _ = spring_law(laws, pieces, own, k, phi)
    deflection[j] = phi
    if joints[i, INPUT] == 0.0:
        gain = joints[i, GAIN]
        stiffness, stiffness_rate, sets = driven_stiffness(
            joints[i, OFFSET], gain, joints[i, SOFTEST], theta[j + 1], thetad[j + 1]
        )
        load[j + 1] = sets * gain * spring_energy(laws, pieces, own, k, phi)
        deflection[j + 1] = 0.0
    else:
        v = int(joints[i, SECOND])
        stiffness, stiffness_rate = second[0, v], second[1, v]
    load[j] = torque[i] = stiffness * s
    rate[i] = stiffness_rate * s + stiffness * s1 * phid
    K[i] = stiffness * s1


@inlined
def virtual_variable_spring(
    joints, laws, pieces, own, i, second, unloaded, force, force_rate, x, rate, slope, rest
):
    """F = k s(x), with the present k."""
    k, v, F, Fd = int(joints[i, SPRING]), int(joints[i, SECOND]), force[i], force_rate[i]
    stiffness = max(second[0, v], LEAST_SHARE * joints[i, SOFTEST])
    kd, kdd = second[1, v], second[2, v]
    x[i] = spring_deflection(laws, pieces, own, k, F / stiffness, x[i])
    s, s1, s2, _ = spring_law(laws, pieces, own, k, x[i])
    slope[i] = stiffness * s1
    rate[i] = (Fd - kd * s) / slope[i]
    rest[i] = (stiffness * s2 * rate[i] + 2.0 * kd * s1) * rate[i] + kdd * s


@dataclass(frozen=True)
class VariableStiffness(Actuator):
    """Q = k g(phi): a spring whose stiffness k is a separate input, the second flat output.

    stiffness_range : smallest and largest k in N m/rad, positive. A drive may set k outside
        this range, but k is never taken below a tenth of the minimum.
    shape : the law g in rad, with the slope 1 at zero; LinearSpring(1.0) gives Q = k phi.
    drive : the motor that sets k; None if k is a free input that takes no motor torque.
    """

    motor: Motor
    stiffness_range: tuple[float, float]
    shape: Spring = field(default_factory=lambda: LinearSpring(1.0))
    drive: StiffnessDrive | None = None

    feedforward = staticmethod(variable_feedforward)
    spring_torques = staticmethod(variable_torques)
    virtual_spring = staticmethod(virtual_variable_spring)
    may_have_second_output = True
    has_storage = False
    stiffness_word = "variable"
    required_keys = (RANGE, "motor")
    motor_entries = MappingProxyType({"": MotorEntry(), "_stiffness": MotorEntry(DRIVE, side=0.0)})

    def __post_init__(self) -> None:
        least, greatest = exactly("stiffness_range", self.stiffness_range, (2,)).tolist()
        if not 0.0 < least < greatest:
            raise InputError(
                f"stiffness_range must be positive and increasing, got {least:g} to {greatest:g}"
            )
        if not isinstance(self.drive, StiffnessDrive | None):
            raise InputError(f"drive: expected a StiffnessDrive or None, got {self.drive!r}")
        check_parts(self.motor, self.shape)

    @classmethod
    def read(cls, entry: Mapping[str, Any], where: str, motion: str) -> VariableStiffness:
        motor, gear = read_motor(entry["motor"], where, motion)
        at = f"{where}: {RANGE}"
        optional = ("hardening", "travel", "drive")
        given = entries(entry[RANGE], at, ("range",), optional)
        shape: Spring = LinearSpring(1.0, travel=read_travel(given, at, gear))
        if "hardening" in given:
            h = quantity(given["hardening"], f"{at}.hardening", "hardening", gear)
            shape = CubicSpring(1.0, h, travel=shape.travel)
        ends = read_pair(given["range"], f"{at}.range", "stiffness", gear)
        drive = None
        if "drive" in given:
            drive = _read_drive(given["drive"], f"{at}.drive", gear)
        return cls(motor, ends, shape, drive)

    @classmethod
    def identified_quantities(cls, motion: str) -> Mapping[str, IdentifiedQuantity]:
        gain = _dimension_of_gain(motion)
        return {
            "hardening": IdentifiedQuantity((RANGE, "hardening"), "hardening", is_positive=True),
            "stiffness_offset": IdentifiedQuantity((*DRIVE, "offset"), "stiffness"),
            "stiffness_gain": IdentifiedQuantity((*DRIVE, "gain"), gain, "_stiffness"),
        }

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,) if self.drive is None else (self.motor, self.drive.motor)

    @property
    def suffixes(self) -> tuple[str, ...]:
        return tuple(self.motor_entries)[: len(self.motors)]

    @property
    def second_output(self) -> Literal["stiffness", "pretension"]:
        return "stiffness"

    @property
    def input_range(self) -> tuple[float, float] | None:
        return self.stiffness_range if self.drive is None else None

    @property
    def springs(self) -> tuple[Spring, ...]:
        return (self.shape,)

    @property
    def factor_range(self) -> tuple[float, float]:
        return self.stiffness_range

    def factor(self, theta: Any, k: Any) -> tuple[Any, Array]:
        if self.drive is None:
            return k, np.zeros(1)
        k, _, _ = self.driven(theta[1], np.zeros(()))
        return k, np.array([0.0, self.drive.gain])

    def columns(self) -> dict[int, float]:
        row = dict(zip((SOFTEST, STIFFEST), self.stiffness_range, strict=True))
        if self.drive is not None:
            row |= {OFFSET: self.drive.offset, GAIN: self.drive.gain}
        return row

    def _check_motion(
        self, q: Array, Q: Array, second: Array, deflection: Array | None, beyond: Beyond
    ) -> None:
        k = second[0]
        least, greatest = self.stiffness_range
        wrong = ~(k > 0.0) if beyond == "continue" else (k < least) | (k > greatest)
        if wrong.any():
            raise InputError(
                f"stiffness must be from {least:.6g} to {greatest:.6g} {STIFFNESS_UNIT}, got "
                f"{k[wrong][0]:.6g}"
            )
        self.shape.checked_torque(Q[0] / k, beyond)

    def driven(self, position: Array, velocity: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """k and k' at this position and velocity of the drive, and whether the drive sets them,
        which is False where k would be below LEAST_SHARE of the smallest stiffness."""
        assert self.drive is not None
        drive, softest = self.drive, self.stiffness_range[0]
        k, rate, sets = driven_stiffness(drive.offset, drive.gain, softest, position, velocity)
        return np.asarray(k), np.asarray(rate), sets

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        if self.drive is not None:
            k = self.driven(theta[1], 0.0 * theta[1])[0]
        assert k is not None
        if not (k > 0.0).all():
            raise InputError(f"stiffness must be positive, got {np.min(k):.6g} {STIFFNESS_UNIT}")
        return np.asarray(theta[0] - self.shape.deflection(Q / k, beyond=beyond))

    def second_output_range(self, Q: Any, torque_share: float = np.inf) -> tuple[Array, Array]:
        """The range of k. The load kappa G(phi) of the stiffness drive decreases with k, so its
        torque limit bounds k from below."""
        Q = np.asarray(Q, dtype=np.float64)
        least, greatest = (np.full_like(Q, end) for end in self.stiffness_range)
        if self.drive is None or np.isinf(limit := torque_share * self.drive.motor.torque_limit):
            return least, greatest
        side = np.where(Q < 0.0, -1.0, 1.0)
        widest = np.abs(self.shape.deflection(Q / least, beyond="continue"))

        def energy(phi: Array) -> tuple[Array, Array]:
            g = self.shape.torque(side * phi, beyond="continue")
            return self.shape.energy(side * phi, beyond="continue"), side * g

        wanted = np.full_like(widest, limit / abs(self.drive.gain))
        phi = side * solve_increasing(energy, wanted, 0.0, widest)
        g = self.shape.torque(phi, beyond="continue")
        needed = np.divide(Q, g, out=least.copy(), where=g != 0.0)
        return np.maximum(least, needed), greatest

    def measured_second_output(
        self, q: float, qd: float, theta: Any, thetad: Any
    ) -> tuple[float, float] | None:
        if self.drive is None:
            return None
        gain = self.drive.gain
        return self.drive.offset + gain * theta[1], gain * thetad[1]

    def stiffened(self, factor: float) -> Actuator:
        least, greatest = self.stiffness_range
        drive = self.drive
        if drive is not None:
            drive = replace(drive, offset=factor * drive.offset, gain=factor * drive.gain)
        shape = self.shape.scaled(torque=1.0 / factor, deflection=factor)
        ends = (factor * least, factor * greatest)
        return replace(self, stiffness_range=ends, shape=shape, drive=drive)

    def identification(self, joint: str) -> JointSprings:
        """Q = k g(phi) with the hardening h of g, if it is cubic; other shapes keep theirs."""
        shape, drive = self.shape, self.drive
        cubic = shape if isinstance(shape, CubicSpring) else None
        hardens, h = cubic is not None, [] if cubic is None else [cubic.K3 / cubic.K]

        def terms(at: Positions) -> Array:
            phi = at.theta[:, 0] - at.q
            if cubic is not None:
                return cubic.K * np.stack([phi, phi**3], axis=1)
            return np.asarray(shape.torque(phi, beyond="continue"))[:, None]

        def energies(at: Positions) -> Array:
            phi = at.theta[:, 0] - at.q
            if cubic is not None:
                return cubic.K * np.stack([phi**2 / 2.0, phi**4 / 4.0], axis=1)
            return np.asarray(shape.energy(phi, beyond="continue"))[:, None]

        if drive is None:

            def scaled(at: Positions) -> Array:
                assert at.stiffness is not None
                return at.stiffness[:, None] * terms(at)

            factors: tuple[tuple[int, ...], ...] = ((0,), (0, 1)) if hardens else ((0,),)
            columns = SpringColumns(scaled, factors)
            names, values = ["stiffness_scale"], [1.0]
            loads: tuple[SpringColumns, ...] = (columns,)
        else:

            def driven(at: Positions) -> Array:
                own = terms(at)
                return np.concatenate([own, at.theta[:, [1]] * own], axis=1)

            factors = ((0,), (0, 2), (1,), (1, 2)) if hardens else ((0,), (1,))
            columns = SpringColumns(driven, factors)
            own = SpringColumns(energies, ((1,), (1, 2)) if hardens else ((1,),))
            names, values = ["stiffness_offset", "stiffness_gain"], [drive.offset, drive.gain]
            loads = (columns, own)
        powers = [1] * len(names) + [3] * len(h)
        names += ["hardening"] * len(h)
        weights = np.zeros(columns.width)
        weights[0] = 1.0
        if drive is not None:
            middle = (np.mean(self.stiffness_range) - drive.offset) / drive.gain
            weights[2 if hardens else 1] = middle
        return JointSprings(
            tuple(f"{joint}.{name}" for name in names), np.array([*values, *h]), tuple(powers),
            columns, loads, weights,
        )  # fmt: skip

    def identified(self, found: Identified) -> Actuator:
        """With its new hardening and drive. The scale of a stiffness that is an input belongs to
        what computes this input, and changes nothing here."""
        shape, drive = self.shape, self.drive
        if isinstance(shape, CubicSpring) and "hardening" in found.values:
            hardening = max(found.values["hardening"], 0.0)
            shape = CubicSpring(shape.K, hardening * shape.K, travel=shape.travel)
        if drive is not None:
            drive = replace(
                drive,
                motor=found.motors[1],
                offset=found.values.get("stiffness_offset", drive.offset),
                gain=found.values.get("stiffness_gain", drive.gain),
            )
        return replace(self, motor=found.motors[0], shape=shape, drive=drive)


def _dimension_of_gain(motion: str) -> str:
    """Of the gain of a drive, by the motion of the link."""
    return "linear stiffness gain" if motion == "prismatic" else "stiffness gain"


def _read_drive(data: Any, where: str, gear: Gear) -> StiffnessDrive:
    entry = entries(data, where, ("motor", "offset", "gain"), ("motion",))
    motor, own = read_motor(entry["motor"], where, joint_motion(entry, where, None))
    gain = _dimension_of_gain(gear.motions["link"])
    return StiffnessDrive(
        motor,
        quantity(entry["offset"], f"{where}.offset", "stiffness", gear),
        quantity(entry["gain"], f"{where}.gain", gain, own),
    )
