# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Examples of every kind of actuator; the tests of all kinds run over this table."""

import os
from importlib import import_module
from typing import Any, NamedTuple

from multibody_dynamics.dynamics.elastic import (
    Actuator,
    Antagonistic,
    CubicSpring,
    LinearSpring,
    Motor,
    PolynomialSpring,
    Rigid,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
)


class Example(NamedTuple):
    """An actuator for torques up to 25 N m, and the YAML entry of its joint."""

    actuator: Actuator
    entry: dict[str, Any]


def value(number: float, unit: str) -> dict[str, Any]:
    return {"value": number, "unit": unit, "side": "link"}


def values(numbers: list[float], unit: str) -> dict[str, Any]:
    return {"values": numbers, "unit": unit, "side": "link"}


def motor_entry(motor: Motor) -> dict[str, Any]:
    entry = {"gear_ratio": 1.0, "inertia": value(motor.inertia, "kg m^2")}
    if motor.viscous:
        entry["viscous_friction"] = value(motor.viscous, "N m s/rad")
    if motor.coulomb:
        entry["coulomb_friction"] = value(motor.coulomb, "N m")
        entry["coulomb_velocity"] = value(motor.coulomb_velocity, "rad/s")
    return entry


def cubic_entry(K: float, K3: float) -> dict[str, Any]:
    cubic = value(K3, "N m/rad^3")
    return {"law": "cubic", "stiffness": value(K, "N m/rad"), "cubic_stiffness": cubic}


MOTOR = Motor(0.3, viscous=0.4, coulomb=0.3, coulomb_velocity=0.3)
OTHER = Motor(0.2, viscous=0.2)
DRIVE = Motor(0.05, viscous=0.1)
TENDON = PolynomialSpring((100.0, 900.0), travel=(0.0, 0.9))
HARDENING = CubicSpring(1.0, 3.0)

_MOTOR, _OTHER = motor_entry(MOTOR), motor_entry(OTHER)
_RANGE = {"range": values([150.0, 900.0], "N m/rad"), "hardening": value(3.0, "1/rad^2")}
_TENDON = {
    "law": "polynomial",
    "coefficients": {
        "values": [100.0, 900.0],
        "torque": "N m",
        "deflection": "rad",
        "side": "link",
    },
    "travel": values([0.0, 0.9], "rad"),
}
_PAIR = {
    "agonist": {"motor": _MOTOR, "spring": _TENDON},
    "antagonist": {"motor": _OTHER, "spring": _TENDON},
}

EXAMPLES: dict[str, Example] = {
    "rigid": Example(Rigid(MOTOR), {"motor": _MOTOR, "spring": "rigid"}),
    "linear": Example(
        SeriesElastic(MOTOR, LinearSpring(400.0)),
        {"motor": _MOTOR, "spring": {"law": "linear", "stiffness": value(400.0, "N m/rad")}},
    ),
    "nonlinear": Example(
        SeriesElastic(MOTOR, CubicSpring(400.0, 4e4)),
        {"motor": _MOTOR, "spring": cubic_entry(400.0, 4e4)},
    ),
    "damped": Example(
        SeriesElastic(MOTOR, CubicSpring(400.0, 4e4), damping=4.0),
        {"motor": _MOTOR, "spring": cubic_entry(400.0, 4e4) | {"damping": value(4.0, "N m s/rad")}},
    ),
    "input": Example(
        VariableStiffness(MOTOR, (150.0, 900.0), HARDENING),
        {"motor": _MOTOR, "variable_stiffness": _RANGE},
    ),
    "driven": Example(
        VariableStiffness(MOTOR, (150.0, 900.0), HARDENING, StiffnessDrive(DRIVE, 100.0, 80.0)),
        {
            "motor": _MOTOR,
            "variable_stiffness": _RANGE
            | {
                "drive": {
                    "motor": motor_entry(DRIVE),
                    "offset": value(100.0, "N m/rad"),
                    "gain": value(80.0, "N m/rad^2"),
                }
            },
        },
    ),
    "antagonistic": Example(Antagonistic(MOTOR, OTHER, TENDON, TENDON), _PAIR),
    "pretension": Example(
        Antagonistic(MOTOR, OTHER, TENDON, TENDON, "pretension"),
        _PAIR | {"regulates": "pretension"},
    ),
}
if module := os.environ.get("MULTIBODY_DYNAMICS_TEST_KIND"):  # see test_new_kind.py
    EXAMPLES |= import_module(module).EXAMPLES
