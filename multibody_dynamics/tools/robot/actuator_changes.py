# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Writes identified springs and motors into an actuator file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...dynamics.core import InputError, parse_yaml
from ...dynamics.core.quantities import Gear, joint_entries, joint_motion, motor_values, quantity
from ...dynamics.elastic import Actuator, described_kind, load_actuators
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
    motors = {}
    for place, entry in places:
        at = f"{where}: joint '{place.joint}'"
        given, kind = joints[place.joint], types[place.joint]
        if not place.moves_link:
            given, kind = entry, None
        motors[place.owner] = motor_values(entry["motor"], at, joint_motion(given, at, kind))
    gears = {owner: gear for owner, (_, gear) in motors.items()}
    for place, entry in places:
        known, gear = motors[place.owner]
        _write_motor(found, text, place, entry["motor"], known, results, gear)
        rest = dict(results.springs.get(place.owner, {}))
        if place.owner == place.joint:
            _write_quantities(found, text, joints[place.joint], place, rest, gears)
        if "spring" in entry:
            _write_spring(found, text, place, entry["spring"], results, rest, gear)
        else:
            _note_rest(found, place, rest)
    edited = text.edited(comment)
    if text.changed():  # a law may be impossible for the kind of the joint
        load_actuators(parse_yaml(edited), model.joint_names, model.joint_types)
    return edited.encode()


class Place(NamedTuple):
    """Where a motor and its spring are: the joint and its kind, the name of the motor, the keys
    that lead from the entry of the joint to theirs, and whether the motor moves the link."""

    joint: str
    kind: type[Actuator]
    owner: str
    path: tuple[str, ...]
    moves_link: bool


def _note_bias(found: WrittenBack, joint: str, figure: Figure) -> None:
    found.changes.append(Change(joint, "bias of the torque", None, figure, "of the sensor"))


def _places(joints: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """All motors, with the entries in which they are."""
    for joint, entry in joints.items():
        kind = described_kind(entry if isinstance(entry, Mapping) else {})
        for suffix, (path, side) in kind.motor_entries.items():
            part = _within(entry, path)
            if isinstance(part, Mapping) and "motor" in part:
                yield Place(joint, kind, joint + suffix, path, side != 0.0), part


def _within(entry: Any, path: tuple[str, ...]) -> Any:
    """What the keys lead to; None if there is no such key."""
    for key in path:
        entry = entry.get(key) if isinstance(entry, Mapping) else None
    return entry


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


# wide: the parts of one entry, and the file and table that they go into.
def _write_spring(
    found: WrittenBack,
    text: ActuatorText,
    place: Place,
    spring: Any,
    results: Results,
    figures: Figures,
    gear: Gear,
) -> None:
    law = results.laws.get(place.owner)
    if law is not None:
        if "damping" in law and not place.kind.may_be_damped:
            law = {key: value for key, value in law.items() if key != "damping"}
            found.notes.append(f"'{place.owner}': damping is not part of a {place.kind.__name__}")
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


def _note_rest(found: WrittenBack, place: Place, figures: Figures) -> None:
    """What was identified at a motor without a spring beside it, and is not part of the file."""
    for key, figure in figures.items():
        if key == "bias":
            _note_bias(found, place.owner, figure)
        else:
            note = "of the input: not part of the file"
            found.changes.append(Change(place.owner, key.replace("_", " "), None, figure, note))


# wide: the parts of one entry, and the file and table that they go into.
def _write_quantities(
    found: WrittenBack,
    text: ActuatorText,
    entry: Mapping[str, Any],
    place: Place,
    figures: Figures,
    gears: Mapping[str, Gear],
) -> None:
    """What the kind of the joint describes outside of a `spring`; removed from `figures`."""
    joint = place.joint
    known = place.kind.identified_quantities(gears[joint].motions["link"])
    for key, (path, dimension, suffix, is_positive) in known.items():
        figure = figures.pop(key, None)
        if figure is None:
            continue
        given, gear = _within(entry, path), gears.get(joint + suffix)
        if given is None or gear is None:
            raise InputError(
                f"joint '{joint}': {key} was identified, but the file has no {'.'.join(path)}"
            )
        before = quantity(given, f"{joint}: {'.'.join(path)}", dimension, gear)
        if is_positive:
            figure = not_negative(f"joint '{joint}': {key}", figure, found.notes)
        found.changes.append(Change(joint + suffix, key.replace("_", " "), before, figure))
        text.set_quantity(joint, path, figure.value, dimension, gear)


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
