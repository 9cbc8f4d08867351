# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The result of a joint identification: the robot with its new parameters, and how well each of
them is known.

`identified.json` holds the same numbers for other programs. Every number is
{"value": x, "standard error": e, "determined": true}; the standard error is null, and `determined`
false, where the recordings do not determine the value, which is then the one known before.

    links:    {LINK: {mass, com: {x, y, z}, inertia: {ixx, ixy, ixz, iyy, iyz, izz}}}
    joints:   {JOINT: {viscous, coulomb, coulomb_velocity, offset, ...}}     friction of the links
    motors:   {MOTOR: {inertia, viscous, coulomb, coulomb_velocity, offset, ...}}
    springs:  {JOINT: {stiffness, cubic_stiffness or c1, c2, ... or scale; damping; bias}}
              and of these, with K = 1, 2, ...: {hysteresis_torque, hysteresis.K.stiffness,
              hysteresis.K.torque, backlash, kinematic_error.ORDER.amplitude and .phase in rad}
              {MOTOR: ...} of an antagonistic joint
              {JOINT: {stiffness_offset, stiffness_gain or stiffness_scale; hardening}}, variable
    gains:    {MOTOR: {gain}}                                                N m/A
    delays:   {MOTOR: {command}, JOINT: {sensor}}                            s
    payloads: {RECORDED PAYLOAD: {mass, com, inertia}}

SI units, on the link side of the gear. A link is the whole moving body with everything fixed to it;
its centre of mass and its inertia about it are in the axes of the link's frame. Friction may have
further keys: `stribeck` and `stribeck_velocity`, `load` (see `friction_terms`); `presliding` takes
the place of `coulomb_velocity` where friction changes its sign with the way.

Standard errors alone overstate what is unknown: base parameters are correlated, and torques are
known much better than the single parameters. `covariance.npz` holds

    names (m,)          base parameters of the links by their description, then "motor MOTOR.KEY" of
                        motors, and "JOINT.KEY" of springs and of the friction of links
    values (m,)         as identified, in SI units, on the link side of the gear
    covariance (m, m)   by noise and, where the recordings do not determine a combination, by the
                        prior; its diagonal holds the squares of the standard errors
    links               the number of base parameters
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core import Array, InputError, as_real, read_arrays, reading
from ...elastic import Actuators
from ...model import MultibodyModel
from ..bodies.joint_friction import JointFriction

FILE, COVARIANCE = "identified.json", "covariance.npz"
PARTS = ("links", "joints", "motors", "springs", "gains", "delays", "payloads")


class IdentifiedValue(NamedTuple):
    """A number, its standard error (NaN if not determined), and whether it is determined."""

    value: float
    error: float
    determined: bool


Values = Mapping[str, Any]
"""{name: IdentifiedValue, or such a mapping}"""


@dataclass(frozen=True, eq=False)
class IdentifiedRobot:
    """A robot with identified parameters.

    model : with the new link inertias, and the rotors of rigid joints as reflected inertia.
    friction : of the links. At a rigid joint it is that of the whole joint.
    actuators : with the new motors and springs; None for a robot without actuator data.
    links, joints, motors, springs, gains, delays, payloads : every number with its standard error,
        in the layout of the module's docstring.
    """

    model: MultibodyModel
    friction: JointFriction
    actuators: Actuators | None = None
    links: Values = field(default_factory=dict)
    joints: Values = field(default_factory=dict)
    motors: Values = field(default_factory=dict)
    springs: Values = field(default_factory=dict)
    gains: Values = field(default_factory=dict)
    delays: Values = field(default_factory=dict)
    payloads: Values = field(default_factory=dict)

    def content(self) -> dict[str, Any]:
        """The content of `identified.json`."""
        return {part: _plain(getattr(self, part)) for part in PARTS}

    def estimates(self) -> dict[str, IdentifiedValue]:
        """All numbers by their names: "LINK.mass", "LINK.com.x", "JOINT.viscous", ..."""
        found: dict[str, IdentifiedValue] = {}
        for part in PARTS:
            prefix = "motor " if part == "motors" else ""
            for name, value in leaves(getattr(self, part)):
                found[prefix + name] = value
        return found

    def write(self, folder: Path) -> Path:
        """Write `identified.json` into a folder, and return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / FILE
        file.write_text(json.dumps(self.content(), indent=2) + "\n", encoding="utf-8")
        return file


def reported(values: Mapping[str, IdentifiedValue]) -> dict[str, dict[str, float | None]]:
    """{name: {"value", "standard error"}} for reports; null where not determined."""
    return {
        name: {
            "value": each.value if each.determined else None,
            "standard error": each.error if each.determined else None,
        }
        for name, each in values.items()
    }


def read_identified(path: Path) -> dict[str, Any]:
    """The parts of an `identified.json`, or of the one in a folder, with an
    :class:`IdentifiedValue` for every number.

    Raises InputError, naming the file, if its content is something else.
    """
    file = path / FILE if path.is_dir() else path
    with reading(file, "a JSON file"):
        content = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or not set(PARTS[:2]) <= set(content) <= set(PARTS):
        raise InputError(f"{file}: expected a mapping with {', '.join(PARTS)}")
    found = {part: _read(content.get(part, {}), f"{file}: {part}") for part in PARTS}
    for part, values in found.items():
        if isinstance(values, IdentifiedValue):
            raise InputError(f"{file}: {part}: expected a mapping from names, not a single value")
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, IdentifiedValue):
        error = value.error if value.error == value.error else None
        return {"value": value.value, "standard error": error, "determined": value.determined}
    return {name: _plain(each) for name, each in value.items()}


def _read(value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected a mapping, got {value!r}")
    if "value" not in value:
        return {name: _read(each, f"{where}.{name}") for name, each in value.items()}
    number, error, determined = (
        value.get(key) for key in ("value", "standard error", "determined")
    )
    try:
        if isinstance(number, bool | str | None) or isinstance(error, bool | str):
            raise TypeError
        if not isinstance(determined, bool):
            raise TypeError
        return IdentifiedValue(float(number), float("nan" if error is None else error), determined)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{where}: expected a number `value`, a number or null `standard error` and a boolean"
            f" `determined`, got {value}"
        ) from None


def leaves(values: Values, prefix: str = "") -> Iterator[tuple[str, IdentifiedValue]]:
    """All numbers below `values` by their names, joined with dots: "inertia.ixx"."""
    for name, value in values.items():
        if isinstance(value, IdentifiedValue):
            yield prefix + name, value
        else:
            yield from leaves(value, f"{prefix}{name}.")


@dataclass(frozen=True, eq=False)
class IdentifiedCovariance:
    """names, values (m,) and covariance (m, m) of identified parameters; the first `links` are base
    parameters."""

    names: tuple[str, ...]
    values: Array
    covariance: Array
    links: int

    def write(self, folder: Path) -> Path:
        """Write `covariance.npz` into a folder, and return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / COVARIANCE
        np.savez_compressed(
            file,
            names=np.array(self.names),
            values=self.values,
            covariance=self.covariance,
            links=self.links,
        )
        return file

    @classmethod
    def read(cls, path: Path) -> IdentifiedCovariance:
        """Read a `covariance.npz`, or the one in a folder.

        Raises InputError, naming the file, if its content is something else.
        """
        file = path / COVARIANCE if path.is_dir() else path
        content = read_arrays(file)
        with reading(file, "a covariance"):
            names = tuple(str(name) for name in content["names"])
            values, covariance = (as_real(key, content[key]) for key in ("values", "covariance"))
            links = int(content["links"])
        m = len(names)
        if values.shape != (m,) or covariance.shape != (m, m) or not 0 <= links <= m:
            raise InputError(
                f"{file}: {m} names, values {values.shape}, covariance {covariance.shape}, and "
                f"{links} base parameters do not belong together"
            )
        if not (np.isfinite(values).all() and np.isfinite(covariance).all()):
            raise InputError(f"{file}: holds numbers that are not finite")
        return cls(names, values, covariance, links)

    @property
    def errors(self) -> Array:
        """(m,) standard errors."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def draws(self, count: int, seed: int = 0) -> Array:
        """(count, m) values drawn from the normal distribution; equal seeds give equal draws."""
        size = np.where(self.errors > 0.0, self.errors, 1.0)
        moments, axes = np.linalg.eigh(self.covariance / np.outer(size, size))
        root = axes * np.sqrt(np.maximum(moments, 0.0))
        numbers = np.random.default_rng(seed).standard_normal((count, len(size)))
        return np.asarray(self.values + size * (numbers @ root.T))
