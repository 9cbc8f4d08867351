# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Drives for a robot for which no data is available, with or without springs.

With the other joints locked, every link oscillates against its locked motor at SPRING_FREQUENCY;
the inertia of rotor and gear is MOTOR_SHARE of the link's. Rigid drives also have friction, as
gears do: without it, nothing but late torques would stop the arm. Links with less inertia than
SMALLEST of the largest one get that, where those that turn and those that slide are compared apart.
"""

from typing import Any

import numpy as np
import yaml

from ...dynamics.model import MultibodyModel
from ...dynamics.rigid import mass_matrix

SPRING_FREQUENCY = 10.0  # Hz
MOTOR_SHARE = 0.5
FRICTION_RATE = 3.0  # 1/s, viscous friction of a rigid drive over its inertia
SMALLEST = 1e-3
GEAR_RATIO = 100.0


def generated_drives(model: MultibodyModel, *, are_rigid: bool = False) -> str:
    """Springs and motors in the schema of config/elastic_joints/, from the robot's mass matrix."""
    rng = np.random.default_rng(0)
    limits = model.limits
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    poses = rng.uniform(lower, np.maximum(lower, upper), size=(32, model.n))
    inertia = np.mean([np.diag(mass_matrix(model, q)) for q in poses], axis=0)
    slides = np.array(model.joint_types) == "prismatic"
    for same in (slides, ~slides):  # kg and kg m^2
        least = SMALLEST * (inertia[same].max(initial=0.0) or 1.0)
        inertia[same] = np.maximum(inertia[same], least)
    joints = {}
    for name, kind, m in zip(model.joint_names, model.joint_types, inertia.tolist(), strict=True):
        prismatic = kind == "prismatic"
        stiffness, mass = ("N/m", "kg") if prismatic else ("N m/rad", "kg m^2")
        ratio: Any = {"value": GEAR_RATIO, "unit": "rad/m"} if prismatic else GEAR_RATIO
        spring: Any = "rigid"
        motor = {"gear_ratio": ratio, "inertia": _quantity(MOTOR_SHARE * m, mass)}
        if are_rigid:
            friction = "N s/m" if prismatic else "N m s/rad"
            motor["viscous_friction"] = _quantity(FRICTION_RATE * MOTOR_SHARE * m, friction)
        else:
            spring = {
                "law": "linear",
                "stiffness": _quantity(m * (2.0 * np.pi * SPRING_FREQUENCY) ** 2, stiffness),
            }
        joints[name] = {
            **({"motion": "prismatic"} if prismatic else {}), "spring": spring, "motor": motor,
        }  # fmt: skip
    rule = (
        f"rigid joints, with a viscous friction of {FRICTION_RATE:g} 1/s times the rotor inertia"
        if are_rigid
        else f"with the other joints locked, each link oscillates at {SPRING_FREQUENCY:g} Hz"
        " against its locked motor; no friction"
    )
    description = (
        f"generated for {model.name}: {rule}; motors with {MOTOR_SHARE:g} of the inertia of"
        f" the links (means over {len(poses)} configurations)"
    )
    return yaml.safe_dump(
        {"description": description, "joints": joints}, sort_keys=False, width=100
    )


def _quantity(value: float, unit: str) -> dict[str, Any]:
    return {"value": float(f"{value:.4g}"), "unit": unit, "side": "link"}
