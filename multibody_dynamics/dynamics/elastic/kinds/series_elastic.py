# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Series elastic joints: a spring between motor and link, with or without a damper.

    Q = s(phi) + d phi',  phi = theta - q,  and the motor carries Q.

Slip elements add the torques of :mod:`.hysteresis` to Q, and the gear the error of
:mod:`.kinematic_error` to theta.

Damping d lowers the relative degree: Q = s(phi) + d phi' is then a first-order filter for phi
instead of an algebraic equation,

    phi' = (Q - s(phi)) / d,    theta'' = q'' + (Q' - s'(phi) phi') / d,

with a state phi that needs an initial value. The filter is stable forward in time (time
constant d / s'): an error of the initial value decays. The feedforward needs Q', but neither Q''
nor q''''.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core import Array, InputError, check_sequence, inlined
from ...core.quantities import quantity
from ..actuator import Actuator, Identified, Rows, check_parts, described_parts
from ..actuator_tables import DAMPING, MOTOR, SLIP_STATE, SPRING, ahead, drive_spring, link_motion
from ..backlash import BacklashSpring
from ..damped_springs import damped_deflection
from ..hysteresis import HARMONICS, SLIPS, SlipElement, slip_columns, slipping_deflection
from ..kinematic_error import GEAR_ITERATIONS, PARTS, GearHarmonic, gear_input, gear_output
from ..motor import Motor, one_number
from ..part_description import read_hysteresis, read_kinematic_error, read_motor, read_spring
from ..spring_columns import JointSprings, Positions, SpringColumns
from ..spring_tables import loaded_spring, spring_deflection_motion, spring_law
from ..springs import Beyond, Spring


# Flat arrays; tuples of arrays cost time when they are passed on
@inlined
def series_feedforward(
    joints, motors, laws, pieces, own, i, variant, given, Qs, filtered, outputs
):  # fmt: skip
    """The motor of joint i leads the link by the deflection of the spring."""
    j, k, damping = int(joints[i, MOTOR]), int(joints[i, SPRING]), joints[i, DAMPING]
    Q = given.torque[0, i], given.torque[1, i], given.torque[2, i]
    if damping > 0.0 and variant[1] != 0.0:
        deflection = damped_deflection(laws, pieces, own, k, damping, Q, filtered, i)
    elif joints[i, SLIP_STATE] != 0.0 and variant[0] != 0.0:
        first, count = slip_columns(joints, i)
        deflection = slipping_deflection(
            joints, i, laws, pieces, own, k, Qs, filtered, first, count
        )
    else:
        deflection = spring_deflection_motion(laws, pieces, own, k, Qs, outputs.deflection[j])
    link, load = link_motion(given, i), Q[0]
    motion = ahead(link, 1.0, deflection)
    harmonics = int(joints[i, HARMONICS])
    if harmonics > 0:
        motion, ratio = gear_input(joints, i, PARTS, harmonics, link, motion)
        load *= ratio
    drive_spring(motors, laws, j, k, motion, deflection[0], load, outputs)


@inlined
def series_torques(
    joints, laws, pieces, own, i, q, qd, theta, thetad, second, torque, rate, K, load, deflection
):
    """Q = s(phi) + d phi'; Q' of a damped spring is left unchanged."""
    j, k = int(joints[i, MOTOR]), int(joints[i, SPRING])
    phi, phid, ratio = theta[j] - q[i], thetad[j] - qd[i], 1.0
    harmonics = int(joints[i, HARMONICS])
    if harmonics > 0:
        turned, turning, ratio = gear_output(
            joints, i, PARTS, harmonics, q[i], qd[i], theta[j], thetad[j]
        )
        phi, phid = turned - q[i], turning - qd[i]
    s, s1, _, _ = spring_law(laws, pieces, own, k, phi)
    deflection[j] = phi
    load[j] = torque[i] = s + joints[i, DAMPING] * phid
    load[j] *= ratio
    K[i] = s1
    if joints[i, DAMPING] == 0.0:
        rate[i] = s1 * phid


@inlined
def virtual_series_spring(
    joints, laws, pieces, own, i, second, unloaded, force, force_rate, x, rate, slope, rest
):
    """F = s(x) + d x'."""
    k, damping, F, Fd = int(joints[i, SPRING]), joints[i, DAMPING], force[i], force_rate[i]
    if damping > 0.0:
        s, s1, _, _ = spring_law(laws, pieces, own, k, x[i])
        rate[i], slope[i], rest[i] = (F - s) / damping, s1, 0.0
    else:
        x[i], s1, s2 = loaded_spring(laws, pieces, own, k, F, x[i])
        rate[i], slope[i] = Fd / s1, s1
        rest[i] = s2 * rate[i] * rate[i]


@dataclass(frozen=True)
class SeriesElastic(Actuator):
    """A spring between motor and link, optionally with a damper (N m s/rad) and Maxwell slip
    elements in parallel, behind a gear with the given kinematic error."""

    motor: Motor
    spring: Spring
    damping: float = 0.0
    hysteresis: tuple[SlipElement, ...] = ()
    kinematic_error: tuple[GearHarmonic, ...] = ()

    feedforward = staticmethod(series_feedforward)
    spring_torques = staticmethod(series_torques)
    virtual_spring = staticmethod(virtual_series_spring)
    may_be_damped = True
    required_keys = ("spring", "motor")
    optional_keys = ("kinematic_error",)

    def __post_init__(self) -> None:
        damping = one_number("damping of the spring", self.damping)
        if not 0.0 <= damping < np.inf:
            raise InputError(
                f"damping of the spring must be zero or greater and finite, got {damping}"
            )
        check_parts(self.motor, self.spring)
        for name, kind in (("hysteresis", SlipElement), ("kinematic_error", GearHarmonic)):
            check_sequence(name, getattr(self, name), kind.__name__)
            object.__setattr__(self, name, tuple(getattr(self, name)))
            if not all(isinstance(each, kind) for each in getattr(self, name)):
                raise InputError(f"{name}: expected a sequence of {kind.__name__}")
        if self.damping and self.hysteresis:
            raise InputError("a spring cannot have both damping and hysteresis")
        slopes = [abs(row[0] * row[2]) for row in self._harmonic_rows]
        if sum(slopes) >= 1.0:
            raise InputError(
                f"kinematic_error: amplitude times order times gear ratio sum up to "
                f"{sum(slopes):.3g}; they must be less than 1, or the motor would turn the joint "
                f"back; give amplitudes on the link side, and orders per turn of the motor's shaft"
            )

    @classmethod
    def is_described(cls, keys: Mapping[str, Any]) -> bool:
        return "spring" in keys and keys["spring"] != "rigid"

    @classmethod
    def read(cls, entry: Mapping[str, Any], where: str, motion: str) -> SeriesElastic:
        motor, gear = read_motor(entry["motor"], where, motion)
        at = f"{where}: spring"
        law = dict(entry["spring"]) if isinstance(entry["spring"], Mapping) else entry["spring"]
        parts = {}
        for key in ("damping", "hysteresis", "backlash"):
            if isinstance(law, dict) and key in law:
                parts[key] = law.pop(key)
        spring, damping = read_spring(law, at, gear), 0.0
        if "damping" in parts:
            damping = quantity(parts["damping"], f"{at}.damping", "damping", gear)
        if "backlash" in parts:
            gap = quantity(parts["backlash"], f"{at}.backlash", "angle", gear)
            spring = BacklashSpring(spring, gap)
        slip = read_hysteresis(parts.get("hysteresis", ()), f"{at}.hysteresis", gear)
        error = read_kinematic_error(
            entry.get("kinematic_error", ()), f"{where}: kinematic_error", gear
        )
        return cls(motor, spring, damping, slip, error)

    @property
    def _harmonic_rows(self) -> list[tuple[float, float, float, float]]:
        """Their columns."""
        ratio = self.motor.gear_ratio
        return [
            (each.order * (1.0 if each.of == "link" else ratio), float(each.of == "link"),
             each.amplitude, each.phase)
            for each in self.kinematic_error
        ]  # fmt: skip

    def columns(self) -> dict[int, float]:
        rows: list[tuple[float, ...]] = list(self._harmonic_rows)
        rows += [(each.stiffness, each.torque) for each in self.hysteresis]
        numbers = [float(x) for row in rows for x in row]
        counts = {HARMONICS: len(self.kinematic_error), SLIPS: len(self.hysteresis)}
        return counts | dict(enumerate(numbers, PARTS))

    @property
    def slip_count(self) -> int:
        return len(self.hysteresis)

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,)

    @property
    def springs(self) -> tuple[Spring, ...]:
        return (self.spring,)

    @property
    def series_spring(self) -> Spring:
        return self.spring

    def _check_motion(
        self, q: Array, Q: Array, second: Array, deflection: Array | None, beyond: Beyond
    ) -> None:
        if self.damping == 0.0:
            self.spring.checked_torque(Q[0], beyond)
        elif deflection is None:
            raise InputError(
                "the deflection of a damped spring is a state of the feedforward; give `deflection`"
            )
        else:
            self.spring.checked_deflection(deflection, beyond)

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        if self.damping == 0.0:
            deflection = self.spring.deflection(Q, beyond=beyond)
        elif deflection is None:
            raise InputError("Q of a damped spring depends on the past; give its deflection")
        q = np.asarray(theta[0] - deflection)
        if not self.kinematic_error:
            return q
        row, count, behind = self.joint_row[None], len(self.kinematic_error), q
        for _ in range(GEAR_ITERATIONS + 1):  # a contraction for the share that turns with the link
            turned = gear_output(row, 0, PARTS, count, behind, 0.0, theta[0], 0.0)[0]
            behind = np.asarray(turned - deflection)
        return behind

    def stiffened(self, factor: float) -> Actuator:
        spring = self.spring.scaled(deflection=factor)
        slip = tuple(replace(each, stiffness=factor * each.stiffness) for each in self.hysteresis)
        return replace(self, spring=spring, damping=factor * self.damping, hysteresis=slip)

    def identification(self, joint: str) -> JointSprings:
        spring = self.spring
        count = len(spring.powers)

        def columns(at: Positions) -> Array:
            return spring.terms(at.theta[:, 0] - at.q)

        found = SpringColumns(columns, tuple((i,) for i in range(count)))
        return JointSprings(
            tuple(f"{joint}.{name}" for name in spring.parameters),
            np.array([*spring.parameters.values()]), spring.powers, found, (found,),
            np.eye(count)[0], damped=True,
        )  # fmt: skip

    def identified(self, found: Identified) -> Actuator:
        values = found.values
        damping = values.get("damping", self.damping)
        spring = found.spring("", self.spring)
        if "backlash" in values:
            spring = BacklashSpring(spring, values["backlash"])
        parts = described_parts(values)
        slip, error = self.hysteresis, self.kinematic_error
        if "hysteresis" in parts:
            slip = tuple(SlipElement(**each) for each in parts["hysteresis"].values())
        if "kinematic_error" in parts:
            error = tuple(
                GearHarmonic(float(order), "motor", **each)
                for order, each in parts["kinematic_error"].items()
            )
        return replace(
            self, motor=found.motors[0], spring=spring, damping=damping, hysteresis=slip,
            kinematic_error=error,
        )  # fmt: skip
