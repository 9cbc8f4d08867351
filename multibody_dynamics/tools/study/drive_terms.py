# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Terms of the flat map that describe the effects of real drives, as a controller may know them."""

from dataclasses import replace

import numpy as np

from ...dynamics.elastic import (
    Actuator,
    Actuators,
    BacklashSpring,
    Friction,
    GearHarmonic,
    Motor,
    SeriesElastic,
    SlipElement,
)
from ...dynamics.plant import DriveEffects

COULOMB_VELOCITY = 0.04  # rad/s, see docs/elastic_joints.md


def with_drive_terms(actuators: Actuators, effects: DriveEffects) -> Actuators:
    """The actuators with all terms that describe the effects: friction of links and motors,
    and, of series elastic joints, hysteresis, backlash and kinematic error.

    The terms have the parameters of the effects but other laws: tanh in place of LuGre's bristles,
    rounded slip elements and gaps. Breakaway torques are left out, because bristles at a reversal
    hide most of them.
    """
    names = actuators.joint_names
    rows = [
        _with_terms(each, {key: float(effects.row(key, names)[i]) for key in _FIELDS})
        for i, each in enumerate(actuators.actuators)
    ]
    return replace(actuators, actuators=tuple(rows))


_FIELDS = (
    "link_coulomb", "link_load", "motor_coulomb", "motor_load", "hysteresis",
    "hysteresis_deflection", "backlash", "gear_error", "gear_harmonic", "gear_phase",
)  # fmt: skip


def _with_terms(actuator: Actuator, e: dict[str, float]) -> Actuator:
    if e["link_coulomb"] or e["link_load"]:
        own = Friction(
            coulomb=e["link_coulomb"],
            coulomb_velocity=COULOMB_VELOCITY,
            load_friction=e["link_load"],
        )
        actuator = replace(actuator, link_friction=own)
    if e["motor_coulomb"] or e["motor_load"]:
        actuator = actuator.with_motors([_motor(each, e) for each in actuator.motors])
    if not isinstance(actuator, SeriesElastic):
        return actuator
    if e["hysteresis"]:
        count = DriveEffects.ELEMENTS
        reach = 0.5 * e["hysteresis_deflection"] * np.arange(1, count + 1) / count
        stiffness = e["hysteresis"] / float(reach.sum())
        slips = tuple(SlipElement(stiffness, stiffness * x) for x in reach.tolist())
        actuator = replace(actuator, hysteresis=slips)
    if e["backlash"]:
        actuator = replace(actuator, spring=BacklashSpring(actuator.spring, e["backlash"]))
    if e["gear_error"]:
        order = e["gear_harmonic"] / actuator.motor.gear_ratio
        gear = GearHarmonic(order, "motor", e["gear_error"], e["gear_phase"])
        actuator = replace(actuator, kinematic_error=(gear,))
    return actuator


def _motor(motor: Motor, e: dict[str, float]) -> Motor:
    """Coulomb friction adds to that of the motor, which keeps its velocity if it has any."""
    velocity = motor.coulomb_velocity if motor.coulomb else COULOMB_VELOCITY
    return replace(
        motor,
        coulomb=motor.coulomb + e["motor_coulomb"],
        coulomb_velocity=velocity,
        load_friction=motor.load_friction + e["motor_load"],
    )
