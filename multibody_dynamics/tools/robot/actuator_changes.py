"""Writes identified springs and motors into an actuator file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...dynamics.core import InputError
from ...dynamics.core.quantities import Gear, joint_entries, joint_motion, motor_values, quantity
from ...dynamics.model import MultibodyModel
from .actuator_text import ActuatorText
from .changes_table import Change, WrittenBack
from .identified_results import Figure, Figures, Results

COEFFICIENT = re.compile(r"c[1-9]")
MOTOR = {  # key of the results: key in the file, dimension, and name in the package
    "inertia": ("inertia", "inertia", "motor_inertia"),
    "viscous": ("viscous_friction", "damping", "viscous"),
    "coulomb": ("coulomb_friction", "force", "coulomb"),
    "coulomb_velocity": ("coulomb_velocity", "velocity", "coulomb_velocity"),
}
COULOMB_VELOCITY = 0.05  # rad/s, of an identified Coulomb friction without one
POSITIVE = ("inertia", "coulomb_velocity")


def write_actuators(
    found: WrittenBack, model: MultibodyModel, results: Results, file: Path, comment: str
) -> bytes:
    where, joints = joint_entries(file, model.joint_names, "actuators")
    text = ActuatorText(file.read_text(encoding="utf-8"), where)
    types = dict(zip(model.joint_names, model.joint_types, strict=True))
    for part in (results.motors, results.springs, results.laws):
        for name in part:
            if name not in joints:
                raise InputError(
                    f"{where}: joint '{name}': only joints with one motor are written back; the"
                    f" file has {', '.join(joints)}"
                )
    for joint, entry in joints.items():
        if "motor" not in entry or "spring" not in entry:
            continue
        motion = joint_motion(entry, f"{where}: joint '{joint}'", types[joint])
        known, gear = motor_values(entry["motor"], f"{where}: joint '{joint}'", motion)
        _write_motor(found, text, joint, entry["motor"], known, results, gear)
        _write_spring(found, text, joint, entry["spring"], results, gear)
    return text.edited(comment).encode()


# wide: the parts of one entry, and the file and table that they go into.
def _write_motor(
    found: WrittenBack,
    text: ActuatorText,
    joint: str,
    entry: Mapping[str, Any],
    known: Mapping[str, float],
    results: Results,
    gear: Gear,
) -> None:
    figures = results.motors.get(joint, {})
    for key, figure in figures.items():
        if key not in MOTOR:
            found.changes.append(
                Change(joint, f"motor {key}", None, figure, "not part of the file")
            )
            continue
        name, dimension, own = MOTOR[key]
        present = name in entry
        found.changes.append(Change(joint, f"motor {key}", known[own] if present else None, figure))
        if figure.value < 0.0 or (key in POSITIVE and figure.value == 0.0):
            raise InputError(
                f"motor '{joint}': {key} {figure.value:.4g} is not possible; nothing was written"
            )
        if present or (figure.value > 0.0 and key != "coulomb_velocity"):
            text.set_quantity(joint, ("motor", name), figure.value, dimension, gear)
            if key == "coulomb" and not present:  # the file needs both or neither
                velocity = figures.get("coulomb_velocity", Figure(COULOMB_VELOCITY)).value
                path = ("motor", "coulomb_velocity")
                text.set_quantity(joint, path, velocity, "velocity", gear)


def _write_spring(
    found: WrittenBack, text: ActuatorText, joint: str, spring: Any, results: Results, gear: Gear
) -> None:
    law = results.laws.get(joint)
    if law is not None:
        if isinstance(spring, Mapping) and "stiffness" in spring and "stiffness" in law:
            before = quantity(spring["stiffness"], joint, "stiffness", gear)
            after = Figure(quantity(law["stiffness"], joint, "stiffness", gear))
            found.changes.append(Change(joint, "spring stiffness", before, after))
        else:
            found.notes.append(f"joint '{joint}': spring {law['law']} in place of its old one")
        if law != spring:
            text.replace(joint, ("spring",), law)
        return
    figures = results.springs.get(joint, {})
    if figures and not isinstance(spring, Mapping):
        raise InputError(f"joint '{joint}': a spring was identified, but the joint is rigid")
    _write_coefficients(found, text, joint, spring, figures)
    for key, figure in figures.items():
        if COEFFICIENT.fullmatch(key):
            continue
        if key == "bias":
            found.changes.append(Change(joint, "bias of the torque", None, figure, "of the sensor"))
        elif key == "scale":
            found.changes.append(Change(joint, "spring scale", 1.0, figure))
            if figure.value <= 0.0:
                raise InputError(
                    f"joint '{joint}': spring scale {figure.value:.4g} is not possible; nothing was"
                    " written"
                )
            name = "torque" if spring["law"] == "table" else "coefficients"
            if figure.value != 1.0:
                text.scale(joint, ("spring", name), figure.value)
        else:
            _write_quantity(found, text, joint, spring, key, figure, gear)


def _write_coefficients(
    found: WrittenBack, text: ActuatorText, joint: str, spring: Any, figures: Figures
) -> None:
    """A polynomial, c1, c2, ...; its travel remains."""
    given = {key: figure for key, figure in figures.items() if COEFFICIENT.fullmatch(key)}
    if not given:
        return
    if spring["law"] != "polynomial":
        raise InputError(
            f"joint '{joint}': a polynomial was identified, but the law in the file is "
            f"{spring['law']}"
        )
    for key, figure in given.items():
        found.changes.append(Change(joint, f"spring {key}", None, figure))
    values = [given[f"c{k + 1}"].value for k in range(len(given))]
    units = {"torque": "N m", "deflection": "rad", "side": "link"}
    text.replace(joint, ("spring", "coefficients"), {"values": values, **units})


# wide: the parts of one entry, and the file and table that they go into.
def _write_quantity(
    found: WrittenBack,
    text: ActuatorText,
    joint: str,
    spring: Mapping[str, Any],
    key: str,
    figure: Figure,
    gear: Gear,
) -> None:
    dimension = {"stiffness": "stiffness", "cubic_stiffness": "cubic stiffness",
                 "damping": "damping"}.get(key)  # fmt: skip
    if dimension is None or (key not in spring and key != "damping"):
        raise InputError(
            f"joint '{joint}': the spring in the file, {spring['law']}, has no {key}: describe"
            " it with the law that was identified"
        )
    before = quantity(spring[key], joint, dimension, gear) if key in spring else None
    found.changes.append(Change(joint, f"spring {key}", before, figure))
    is_possible = figure.value > 0.0 if key == "stiffness" else figure.value >= 0.0
    if not is_possible and key != "cubic_stiffness":
        raise InputError(
            f"joint '{joint}': {key} {figure.value:.4g} is not possible; nothing was written"
        )
    if key in spring or figure.value > 0.0:
        text.set_quantity(joint, ("spring", key), figure.value, dimension, gear)
