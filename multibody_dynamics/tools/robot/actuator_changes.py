# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Writes identified springs and motors into an actuator file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ...dynamics.core import InputError
from ...dynamics.core.quantities import Gear, joint_entries, joint_motion, motor_values, quantity
from ...dynamics.elastic import load_actuators
from ...dynamics.model import MultibodyModel
from .actuator_text import ActuatorText
from .changes_table import Change, WrittenBack
from .identified_results import Figure, Figures, Results, not_negative

COEFFICIENT = re.compile(r"c[1-9]")
MOTOR = {  # key of the results: key in the file, dimension, and name in the package
    "inertia": ("inertia", "inertia", "motor_inertia"),
    "viscous": ("viscous_friction", "damping", "viscous"),
    "coulomb": ("coulomb_friction", "force", "coulomb"),
    "coulomb_velocity": ("coulomb_velocity", "velocity", "coulomb_velocity"),
}
COULOMB_VELOCITY = 0.05  # rad/s, of an identified Coulomb friction without one
POSITIVE = ("inertia", "coulomb_velocity")
ANTAGONISTS = ("agonist", "antagonist")
VARIABLE = "variable_stiffness"
DRIVE = VARIABLE, "drive"
STIFFNESS = {  # of the joint: key of the results, keys in the file, and dimension
    "hardening": ((VARIABLE, "hardening"), "hardening"),
    "stiffness_offset": ((*DRIVE, "offset"), "stiffness"),
}
RESISTING = ("viscous", "coulomb")
NOT_SIGNIFICANT = "not significant: the file keeps its value"
SIGNIFICANT = 3.0  # standard errors; smaller damping is not written, as it changes the feedforward
NEGLIGIBLE = 1e-4  # s, damping over stiffness, 1 degree of phase at 25 Hz; less is not written


def write_actuators(
    found: WrittenBack, model: MultibodyModel, results: Results, file: Path, comment: str
) -> bytes:
    where, joints = joint_entries(file, model.joint_names, "actuators")
    text = ActuatorText(file.read_text(encoding="utf-8"), where)
    types = dict(zip(model.joint_names, model.joint_types, strict=True))
    places = list(_places(joints))
    owners = [place.owner for place, _ in places]
    for part in (results.motors, results.springs, results.laws):
        for name in part:
            if name in joints and name not in owners and set(part[name]) == {"bias"}:
                _note_bias(found, name, results.springs[name]["bias"])
            elif name not in owners:
                raise InputError(
                    f"{where}: '{name}' has no motor with a spring in this file; it has"
                    f" {', '.join(owners)}"
                )
    for place, entry in places:
        at = f"{where}: joint '{place.joint}'"
        of_drive = place.path == DRIVE
        given, kind = (entry, None) if of_drive else (joints[place.joint], types[place.joint])
        known, gear = motor_values(entry["motor"], at, joint_motion(given, at, kind))
        _write_motor(found, text, place, entry["motor"], known, results, gear)
        if "spring" in entry:
            _write_spring(found, text, place, entry["spring"], results, gear)
        else:
            _write_stiffness(found, text, place, entry, results, gear)
    edited = text.edited(comment)
    if text.changed():  # a law may be impossible for the kind of the joint
        load_actuators(yaml.safe_load(edited), model.joint_names, model.joint_types)
    return edited.encode()


class Place(NamedTuple):
    """Where a motor and its spring are: the joint, the name of the motor, and the keys that lead
    from the entry of the joint to theirs."""

    joint: str
    owner: str
    path: tuple[str, ...] = ()


def _note_bias(found: WrittenBack, joint: str, figure: Figure) -> None:
    found.changes.append(Change(joint, "bias of the torque", None, figure, "of the sensor"))


def _places(joints: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """All motors with springs or a variable stiffness, and the drives of stiffnesses."""
    for joint, entry in joints.items():
        if "motor" in entry and ("spring" in entry or VARIABLE in entry):
            yield Place(joint, joint), entry
        if "drive" in entry.get(VARIABLE, ()):
            yield Place(joint, f"{joint}_stiffness", DRIVE), entry[VARIABLE]["drive"]
        for side in ANTAGONISTS:
            if side in entry:
                yield Place(joint, f"{joint}_{side}", (side,)), entry[side]


# wide: the parts of one entry, and the file and table that they go into.
def _write_motor(
    found: WrittenBack,
    text: ActuatorText,
    place: Place,
    entry: Mapping[str, Any],
    known: Mapping[str, float],
    results: Results,
    gear: Gear,
) -> None:
    figures = results.motors.get(place.owner, {})
    for key, given in figures.items():
        if key not in MOTOR:
            found.changes.append(
                Change(place.owner, f"motor {key}", None, given, "not part of the file")
            )
            continue
        name, dimension, own = MOTOR[key]
        present = name in entry
        figure = given
        if key in RESISTING:
            figure = not_negative(f"motor '{place.owner}': {key} friction", given, found.notes)
        found.changes.append(
            Change(place.owner, f"motor {key}", known[own] if present else None, figure)
        )
        if figure.value < 0.0 or (key in POSITIVE and figure.value == 0.0):
            raise InputError(
                f"motor '{place.owner}': {key} {figure.value:.4g} is not possible; nothing was"
                " written"
            )
        if present or (figure.value > 0.0 and key != "coulomb_velocity"):
            text.set_quantity(
                place.joint, (*place.path, "motor", name), figure.value, dimension, gear
            )
            if key == "coulomb" and not present:  # the file needs both or neither
                velocity = figures.get("coulomb_velocity", Figure(COULOMB_VELOCITY)).value
                path = (*place.path, "motor", "coulomb_velocity")
                text.set_quantity(place.joint, path, velocity, "velocity", gear)


def _write_spring(
    found: WrittenBack, text: ActuatorText, place: Place, spring: Any, results: Results, gear: Gear
) -> None:
    law = results.laws.get(place.owner)
    if law is not None:
        if place.path and "damping" in law:
            law = {key: value for key, value in law.items() if key != "damping"}
            found.notes.append(f"'{place.owner}': damping is not part of an antagonistic spring")
        if isinstance(spring, Mapping) and "travel" in spring and law["law"] != "table":
            law = {**law, "travel": law.get("travel", spring["travel"])}
        if isinstance(spring, Mapping) and "stiffness" in spring and "stiffness" in law:
            before = quantity(spring["stiffness"], place.owner, "stiffness", gear)
            after = Figure(quantity(law["stiffness"], place.owner, "stiffness", gear))
            found.changes.append(Change(place.owner, "spring stiffness", before, after))
        else:
            found.notes.append(
                f"joint '{place.owner}': the spring is replaced by one with the law {law['law']}"
            )
        if law != spring:
            text.replace(place.joint, (*place.path, "spring"), law)
        return
    figures = results.springs.get(place.owner, {})
    if figures and not isinstance(spring, Mapping):
        raise InputError(f"joint '{place.owner}': a spring was identified, but the joint is rigid")
    _write_coefficients(found, text, place, spring, figures)
    for key, figure in figures.items():
        if COEFFICIENT.fullmatch(key):
            continue
        if key == "bias":
            _note_bias(found, place.owner, figure)
        elif key == "scale":
            found.changes.append(Change(place.owner, "spring scale", 1.0, figure))
            if figure.value <= 0.0:
                raise InputError(
                    f"joint '{place.owner}': spring scale {figure.value:.4g} is not possible;"
                    " nothing was written"
                )
            name = "torque" if spring["law"] == "table" else "coefficients"
            if figure.value != 1.0:
                text.scale(place.joint, (*place.path, "spring", name), figure.value)
        else:
            _write_quantity(found, text, place, spring, key, figures, gear)


# wide: the parts of one entry, and the file and table that they go into.
def _write_stiffness(
    found: WrittenBack,
    text: ActuatorText,
    place: Place,
    entry: Mapping[str, Any],
    results: Results,
    gear: Gear,
) -> None:
    """What sets the stiffness of a joint: its hardening, and offset and gain of its drive."""
    figures = results.springs.get(place.joint, {})
    if place.path == DRIVE:
        if "stiffness_gain" in figures:
            linear = gear.motions["link"] == "prismatic"
            dimension = "linear stiffness gain" if linear else "stiffness gain"
            _set_stiffness(
                found, text, place, entry["gain"],
                ("stiffness_gain", (*DRIVE, "gain"), dimension, figures["stiffness_gain"]), gear,
            )  # fmt: skip
        return
    for key, figure in figures.items():
        if key in STIFFNESS:
            path, dimension = STIFFNESS[key]
            given: Any = entry
            for name in path:
                given = given[name]
            _set_stiffness(found, text, place, given, (key, path, dimension, figure), gear)
        elif key == "bias":
            _note_bias(found, place.owner, figure)
        elif key != "stiffness_gain":
            note = "of the input: not part of the file"
            found.changes.append(Change(place.owner, key.replace("_", " "), None, figure, note))


# wide: the parts of one number, and the file and table that it goes into.
def _set_stiffness(
    found: WrittenBack,
    text: ActuatorText,
    place: Place,
    given: Any,
    new: tuple[str, tuple[str, ...], str, Figure],
    gear: Gear,
) -> None:
    key, path, dimension, figure = new
    before = quantity(given, f"{place.joint}: {'.'.join(path)}", dimension, gear)
    if key == "hardening":
        figure = not_negative(f"joint '{place.joint}': {key}", figure, found.notes)
    found.changes.append(Change(place.owner, key.replace("_", " "), before, figure))
    text.set_quantity(place.joint, path, figure.value, dimension, gear)


def _write_coefficients(
    found: WrittenBack, text: ActuatorText, place: Place, spring: Any, figures: Figures
) -> None:
    """A polynomial, c1, c2, ...; its travel remains."""
    given = {key: figure for key, figure in figures.items() if COEFFICIENT.fullmatch(key)}
    if not given:
        return
    if spring["law"] != "polynomial":
        raise InputError(
            f"joint '{place.owner}': a polynomial was identified, but the law in the file is "
            f"{spring['law']}"
        )
    for key, figure in given.items():
        found.changes.append(Change(place.owner, f"spring {key}", None, figure))
    values = [given[f"c{k + 1}"].value for k in range(len(given))]
    units = {"torque": "N m", "deflection": "rad", "side": "link"}
    text.replace(place.joint, (*place.path, "spring", "coefficients"), {"values": values, **units})


# wide: the parts of one entry, and the file and table that they go into.
def _write_quantity(
    found: WrittenBack,
    text: ActuatorText,
    place: Place,
    spring: Mapping[str, Any],
    key: str,
    figures: Figures,
    gear: Gear,
) -> None:
    figure = figures[key]
    dimension = {"stiffness": "stiffness", "cubic_stiffness": "cubic stiffness",
                 "damping": "damping"}.get(key)  # fmt: skip
    if dimension is None or (key not in spring and key != "damping"):
        raise InputError(
            f"joint '{place.owner}': the spring in the file, {spring['law']}, has no {key}:"
            " describe it with the law that was identified"
        )
    before = quantity(spring[key], place.owner, dimension, gear) if key in spring else None
    if key == "damping":
        figure = not_negative(f"joint '{place.owner}': damping", figure, found.notes)
        stiffness = _stiffness(spring, figures, gear, place.owner)
        is_small = stiffness is not None and figure.value < NEGLIGIBLE * stiffness
        if not figure.determined or is_small or figure.value <= SIGNIFICANT * figure.error:
            found.changes.append(
                Change(place.owner, "spring damping", before, figure, NOT_SIGNIFICANT)
            )
            return
    found.changes.append(Change(place.owner, f"spring {key}", before, figure))
    is_possible = figure.value > 0.0 if key == "stiffness" else figure.value >= 0.0
    if not is_possible and key != "cubic_stiffness":
        raise InputError(
            f"joint '{place.owner}': {key} {figure.value:.4g} is not possible; nothing was written"
        )
    if key in spring or figure.value > 0.0:
        text.set_quantity(place.joint, (*place.path, "spring", key), figure.value, dimension, gear)


def _stiffness(spring: Mapping[str, Any], figures: Figures, gear: Gear, joint: str) -> float | None:
    """The identified stiffness, or that of the file; None for a law without one."""
    if "stiffness" in figures:
        return figures["stiffness"].value
    if "stiffness" in spring:
        return float(quantity(spring["stiffness"], joint, "stiffness", gear))
    return None
