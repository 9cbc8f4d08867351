# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rigid joints: a motor that moves its link without a spring, theta = q."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core import Array, inlined
from ..actuator import Actuator, Identified, Rows
from ..actuator_tables import MOTOR, drive, link_motion
from ..motor import Motor, check_motor
from ..part_description import read_motor
from ..springs import Beyond


# Flat arrays; tuples of arrays cost time when they are passed on
@inlined
def rigid_feedforward(
    joints, motors, laws, pieces, own, i, variant, given, Qs, filtered, outputs
):  # fmt: skip
    """The motor of joint i carries its torque."""
    drive(motors, int(joints[i, MOTOR]), link_motion(given, i), given.torque[0, i], outputs)


@inlined
def rigid_torques(
    joints, laws, pieces, own, i, q, qd, theta, thetad, second, torque, rate, K, load, deflection
):
    """Nothing follows from the deflections of a rigid joint."""


@dataclass(frozen=True)
class Rigid(Actuator):
    """A motor that moves the link without a spring. Its inertia may be zero if the model includes
    the rotor."""

    motor: Motor

    feedforward = staticmethod(rigid_feedforward)
    spring_torques = staticmethod(rigid_torques)
    stiffness_word = "rigid"
    required_keys = ("spring", "motor")

    def __post_init__(self) -> None:
        check_motor(self.motor, behind_spring=False)

    @classmethod
    def is_described(cls, keys: Mapping[str, Any]) -> bool:
        return bool(keys.get("spring") == "rigid")

    @classmethod
    def read(cls, entry: Mapping[str, Any], where: str, motion: str) -> Rigid:
        return cls(read_motor(entry["motor"], where, motion)[0])

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,)

    @property
    def is_rigid(self) -> bool:
        return True

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        return theta[0]

    def identified(self, found: Identified) -> Actuator:
        return self.with_motors(found.motors)
