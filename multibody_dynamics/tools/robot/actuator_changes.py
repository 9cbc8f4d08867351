# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Writes identified springs and motors into an actuator file."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...dynamics.core import InputError, parse_yaml
from ...dynamics.core.quantities import (
    RATIO,
    Dimension,
    Gear,
    friction_values,
    joint_entries,
    joint_motion,
    motor_values,
    quantity,
)
from ...dynamics.elastic import Actuator, described_kind, described_parts, load_actuators
from ...dynamics.model import MultibodyModel
from .actuator_text import DEFAULT, ActuatorText
from .changes_table import Change, WrittenBack
from .identified_results import Figure, Figures, Results, not_negative, rounded

COEFFICIENT = re.compile(r"c[1-9]")
MOTOR = {  # key of the results: key in the file, dimension, and name in the package
    "inertia": ("inertia", "inertia", "motor_inertia"),
    "viscous": ("viscous_friction", "damping", "viscous"),
    "coulomb": ("coulomb_friction", "force", "coulomb"),
    "coulomb_velocity": ("coulomb_velocity", "velocity", "coulomb_velocity"),
    "offset": ("offset", "force", "offset"),
    "load": ("load_friction", RATIO, "load_friction"),
}
LINK = {key: (own, dimension) for key, (_, dimension, own) in MOTOR.items() if key != "inertia"}
"""Friction of a link: key of the results: key in `friction` of the file, and dimension."""
LINK["presliding"] = "presliding", "angle"
LINK_KEYS = tuple(name for name, _ in LINK.values())
SPRING = {"stiffness": "stiffness", "cubic_stiffness": "cubic stiffness", "damping": "damping"}
COULOMB_VELOCITY = 0.05  # rad/s, of an identified Coulomb friction without one
POSITIVE = ("inertia", "coulomb_velocity")
RESISTING = ("viscous", "coulomb", "load")
NOT_SIGNIFICANT = "not significant: the file keeps its value"
SIGNIFICANT = 3.0  # standard errors; smaller damping is not written, as it changes the feedforward
NEGLIGIBLE = 1e-4  # s, damping over stiffness, 1 degree of phase at 25 Hz; less is not written


def write_actuators(
    found: WrittenBack, model: MultibodyModel, results: Results, file: Path, comment: str
) -> bytes:
    """The actuator file with identified springs and motors; their changes are added to `found`.

    comment : what the file begins with, if anything in it changes. Raises InputError for results
    that are not physically possible, or that do not fit the file.
    """
    where, joints = joint_entries(file, model.joint_names, "actuators")
    text = ActuatorText(file.read_text(encoding="utf-8"), where)
    types = dict(zip(model.joint_names, model.joint_types, strict=True))
    places = list(_places(joints))
    owners = [place.owner for place in places]
    for part in (results.motors, results.springs, results.laws):
        for name in part:
            if name in joints and name not in owners and set(part[name]) == {"bias"}:
                found.changes.append(_bias(name, results.springs[name]["bias"]))
            elif name not in owners:
                raise InputError(
                    f"{where}: '{name}' has no motor with a spring in this file; it has"
                    f" {', '.join(owners)}"
                )
    motors = {}
    for place in places:
        at = f"{where}: joint '{place.joint}'"
        given, kind = joints[place.joint], types[place.joint]
        if not place.moves_link:
            given, kind = place.entry, None
        motors[place.owner] = motor_values(place.entry["motor"], at, joint_motion(given, at, kind))
    gears = {owner: gear for owner, (_, gear) in motors.items()}
    linked: set[str] = set()
    for place in places:
        known, gear = motors[place.owner]
        writer = _Writer(found, text, place, gear, dict(results.springs.get(place.owner, {})))
        writer.write_motor(results.motors.get(place.owner, {}), known)
        if place.joint not in linked:
            linked.add(place.joint)
            writer.write_link(joints[place.joint], results.joints.get(place.joint, {}))
        if place.owner == place.joint:
            writer.write_quantities(joints[place.joint], gears)
        if "spring" not in place.entry:
            writer.note_rest()
        elif place.owner in results.laws:
            writer.write_law(results.laws[place.owner])
        else:
            writer.write_spring()
    edited = text.edited(comment)
    if text.changed():  # a law may be impossible for the kind of the joint
        load_actuators(parse_yaml(edited), model.joint_names, model.joint_types)
    return edited.encode()


class Place(NamedTuple):
    """Where a motor and its spring are: the joint and its kind, the name of the motor, the keys
    that lead from the entry of the joint to theirs, their entry, and whether the motor moves the
    link."""

    joint: str
    kind: type[Actuator]
    owner: str
    path: tuple[str, ...]
    entry: Mapping[str, Any]
    moves_link: bool


def _places(joints: Mapping[str, Any]) -> Iterator[Place]:
    """All motors."""
    for joint, entry in joints.items():
        kind = described_kind(entry if isinstance(entry, Mapping) else {})
        for suffix, (path, side) in kind.motor_entries.items():
            part = _within(entry, path)
            if isinstance(part, Mapping) and "motor" in part:
                yield Place(joint, kind, joint + suffix, path, part, side != 0.0)


def _within(entry: Any, path: tuple[str, ...]) -> Any:
    """What the keys lead to; None if there is no such key."""
    for key in path:
        entry = entry.get(key) if isinstance(entry, Mapping) else None
    return entry


def _bias(joint: str, figure: Figure) -> Change:
    return Change(joint, "bias of the torque", None, figure, "of the sensor")


def _entry(value: float, dimension: Dimension, gear: Gear) -> Any:
    """A quantity on the link side, as in the file."""
    if dimension == RATIO:
        return rounded(value)
    unit = DEFAULT[str(dimension)][gear.motions["link"]]
    return {"value": rounded(value), "unit": unit, "side": "link"}


def _impossible(what: str, figure: Figure) -> InputError:
    return InputError(f"{what} {figure.value:.4g} is not possible; nothing was written")


@dataclass
class _Writer:
    """Writes what was identified at one place of the file.

    figures : of the spring, and of what the kind describes outside of it.
    """

    found: WrittenBack
    text: ActuatorText
    place: Place
    gear: Gear
    figures: Figures

    def _note(self, quantity: str, before: float | None, figure: Figure, remark: str = "") -> None:
        self.found.changes.append(Change(self.place.owner, quantity, before, figure, remark))

    def _set(self, part: str, name: str, figure: Figure, dimension: str) -> None:
        path = (*self.place.path, part, name)
        self.text.set_quantity(self.place.joint, path, figure.value, dimension, self.gear)

    def write_motor(self, figures: Figures, known: Mapping[str, float]) -> None:
        """known : what the file says, under the names of the package."""
        owner = self.place.owner
        for key, given in figures.items():
            if key not in MOTOR:
                self._note(f"motor {key}", None, given, "not part of the file")
                continue
            name, dimension, own = MOTOR[key]
            is_present, figure = name in self.place.entry["motor"], given
            if key in RESISTING:
                figure = not_negative(f"motor '{owner}': {key} friction", given, self.found.notes)
            self._note(f"motor {key}", known[own] if is_present else None, figure)
            if (figure.value < 0.0 and key != "offset") or (
                key in POSITIVE and figure.value == 0.0
            ):
                raise _impossible(f"motor '{owner}': {key}", figure)
            if key in ("offset", "load") and not figure.determined:
                continue
            has_coulomb = "coulomb_friction" in self.place.entry["motor"]
            if key == "load" and not has_coulomb and not figures.get("coulomb", Figure(0.0)).value:
                continue  # it adds to Coulomb friction
            if is_present or (figure.value != 0.0 and key != "coulomb_velocity"):
                self._set("motor", name, figure, dimension)
                if key == "coulomb" and not is_present:  # the file needs both or neither
                    speed = figures.get("coulomb_velocity", Figure(COULOMB_VELOCITY))
                    self._set("motor", "coulomb_velocity", speed, "velocity")

    def write_link(self, entry: Mapping[str, Any], figures: Figures) -> None:
        """Write the friction of the link that was determined, which the changes list already."""
        own = {key: figures[key] for key in LINK if key in figures}
        if not any(figure.determined and figure.value for figure in own.values()):
            return
        joint, content = self.place.joint, {}
        given = entry.get("friction") if isinstance(entry, Mapping) else None
        known = friction_values(given or {}, f"{joint}: friction", self.gear)
        for key, (name, dimension) in LINK.items():
            figure = own.get(key)
            value = known.get(name, 0.0)
            if figure is not None and (figure.determined or key == "coulomb_velocity"):
                value = max(figure.value, 0.0) if key in RESISTING else figure.value
            if value:
                content[name] = _entry(value, dimension, self.gear)
        if not {"coulomb", "load_friction"} & set(content):
            content.pop("coulomb_velocity", None)
        else:
            content.setdefault("coulomb", _entry(0.0, "force", self.gear))
            speed = _entry(COULOMB_VELOCITY, "velocity", self.gear)
            content.setdefault("coulomb_velocity", speed)
        if content:
            rest = {key: value for key, value in (given or {}).items() if key not in LINK_KEYS}
            self.text.replace(joint, ("friction",), content | rest)

    def write_quantities(self, entry: Mapping[str, Any], gears: Mapping[str, Gear]) -> None:
        """What the kind of the joint describes outside of a `spring`; removed from `figures`."""
        joint = self.place.joint
        known = self.place.kind.identified_quantities(gears[joint].motions["link"])
        for key, (path, dimension, suffix, is_positive) in known.items():
            figure = self.figures.pop(key, None)
            if figure is None:
                continue
            given, gear = _within(entry, path), gears.get(joint + suffix)
            if given is None or gear is None:
                raise InputError(
                    f"joint '{joint}': {key} was identified, but the file has no {'.'.join(path)}"
                )
            before = quantity(given, f"{joint}: {'.'.join(path)}", dimension, gear)
            if is_positive:
                figure = not_negative(f"joint '{joint}': {key}", figure, self.found.notes)
            change = Change(joint + suffix, key.replace("_", " "), before, figure)
            self.found.changes.append(change)
            self.text.set_quantity(joint, path, figure.value, dimension, gear)

    def note_rest(self) -> None:
        """What was identified at a motor without a spring beside it is not part of the file."""
        for key, figure in self.figures.items():
            if key == "bias":
                self.found.changes.append(_bias(self.place.owner, figure))
            else:
                remark = "of the input: not part of the file"
                self._note(key.replace("_", " "), None, figure, remark)

    def write_law(self, law: dict[str, Any]) -> None:
        """Replace the spring by an identified one."""
        place, spring, notes = self.place, self.place.entry["spring"], self.found.notes
        known = spring if isinstance(spring, Mapping) else {}
        if "damping" in law and not place.kind.may_be_damped:
            law = {key: value for key, value in law.items() if key != "damping"}
            notes.append(f"'{place.owner}': damping is not part of a {place.kind.__name__}")
        if "travel" in known and law["law"] != "table":
            law = {**law, "travel": law.get("travel", known["travel"])}
        if "stiffness" in known and "stiffness" in law:
            before, after = (
                quantity(each["stiffness"], place.owner, "stiffness", self.gear)
                for each in (known, law)
            )
            self._note("spring stiffness", before, Figure(after))
        else:
            notes.append(
                f"joint '{place.owner}': the spring is replaced by one with the law {law['law']}"
            )
        if law != spring:
            self.text.replace(place.joint, (*place.path, "spring"), law)

    def write_spring(self) -> None:
        """Write the identified numbers of the spring that the file has."""
        place, spring = self.place, self.place.entry["spring"]
        self._write_effects(spring)
        if self.figures and not isinstance(spring, Mapping):
            raise InputError(
                f"joint '{place.owner}': a spring was identified, but the joint is rigid"
            )
        self._write_coefficients(spring)
        for key, figure in self.figures.items():
            if COEFFICIENT.fullmatch(key):
                continue
            if key == "bias":
                self.found.changes.append(_bias(place.owner, figure))
            elif key == "scale":
                self._note("spring scale", 1.0, figure)
                if figure.value <= 0.0:
                    raise _impossible(f"joint '{place.owner}': spring scale", figure)
                name = "torque" if spring["law"] == "table" else "coefficients"
                if figure.value != 1.0:
                    path = (*place.path, "spring", name)
                    self.text.scale(place.joint, path, figure.value)
            else:
                self._write_quantity(spring, key, figure)

    def _write_effects(self, spring: Any) -> None:
        """Hysteresis, backlash and kinematic error; removed from `figures`."""
        place, text = self.place, self.text
        parts = described_parts(self.figures)
        width = self.figures.pop("hysteresis_torque", None)
        if width is not None:
            self._note("hysteresis, torque", None, width)
            rows = [
                {"stiffness": _entry(each["stiffness"].value, "stiffness", self.gear),
                 "torque": _entry(each["torque"].value, "force", self.gear)}
                for each in parts["hysteresis"].values()
            ]  # fmt: skip
            text.replace(place.joint, (*place.path, "spring", "hysteresis"), rows)
        gap = self.figures.pop("backlash", None)
        if gap is not None:
            before = None
            if "backlash" in spring:
                before = quantity(spring["backlash"], place.owner, "angle", self.gear)
            self._note("backlash", before, gap)
            self._set("spring", "backlash", gap, "angle")
        harmonics = parts.get("kinematic_error", {})
        rows = []
        for order, each in harmonics.items():
            self._note(f"kinematic error, order {order}", None, each["amplitude"])
            amplitude = _entry(each["amplitude"].value, "angle", self.gear)
            phase = {"value": rounded(each["phase"].value), "unit": "rad"}
            rows.append({"order": float(order), "of": "motor", "amplitude": amplitude,
                         "phase": phase})  # fmt: skip
        if rows:
            text.replace(place.joint, (*place.path, "kinematic_error"), rows)
        for name in [name for name in self.figures if name.count(".") == 2]:
            del self.figures[name]

    def _write_coefficients(self, spring: Any) -> None:
        """A polynomial, c1, c2, ...; its travel remains."""
        given = {k: figure for k, figure in self.figures.items() if COEFFICIENT.fullmatch(k)}
        if not given:
            return
        if spring["law"] != "polynomial":
            raise InputError(
                f"joint '{self.place.owner}': a polynomial was identified, but the law in the file"
                f" is {spring['law']}"
            )
        for key, figure in given.items():
            self._note(f"spring {key}", None, figure)
        content = {"values": [given[f"c{k + 1}"].value for k in range(len(given))],
                   "torque": "N m", "deflection": "rad", "side": "link"}  # fmt: skip
        self.text.replace(self.place.joint, (*self.place.path, "spring", "coefficients"), content)

    def _write_quantity(self, spring: Mapping[str, Any], key: str, figure: Figure) -> None:
        owner = self.place.owner
        if key not in SPRING or (key not in spring and key != "damping"):
            raise InputError(
                f"joint '{owner}': the spring in the file, {spring['law']}, has no {key}:"
                " describe it with the law that was identified"
            )
        before = quantity(spring[key], owner, SPRING[key], self.gear) if key in spring else None
        if key == "damping":
            figure = not_negative(f"joint '{owner}': damping", figure, self.found.notes)
            stiffness = self._stiffness(spring)
            is_small = stiffness is not None and figure.value < NEGLIGIBLE * stiffness
            if not figure.determined or is_small or figure.value <= SIGNIFICANT * figure.error:
                self._note("spring damping", before, figure, NOT_SIGNIFICANT)
                return
        self._note(f"spring {key}", before, figure)
        is_possible = figure.value > 0.0 if key == "stiffness" else figure.value >= 0.0
        if not is_possible and key != "cubic_stiffness":
            raise _impossible(f"joint '{owner}': {key}", figure)
        if key in spring or figure.value > 0.0:
            self._set("spring", key, figure, SPRING[key])

    def _stiffness(self, spring: Mapping[str, Any]) -> float | None:
        """The identified stiffness, or that of the file; None for a law without one."""
        if "stiffness" in self.figures:
            return self.figures["stiffness"].value
        if "stiffness" in spring:
            return float(quantity(spring["stiffness"], self.place.owner, "stiffness", self.gear))
        return None
