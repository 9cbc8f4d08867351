# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The settings of a comparison: robot, friction, rotors, payloads, springs, filter."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ..dynamics import mechanisms
from ..dynamics.core import InputError, exactly, read_yaml, reading
from ..dynamics.elastic import Actuators, load_actuators
from ..dynamics.identification import JointFriction
from ..dynamics.model import MultibodyModel
from ..dynamics.model.inertia import spatial_inertia
from .recordings import JointSelection

KEYS = ("friction", "rotor_inertia", "payload", "links")
BODY_KEYS = ("mass", "com", "inertia_com")
SYMMETRIC = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])  # places of xx, xy, xz, yy, yz, zz


@dataclass(frozen=True, eq=False)
class Robot:
    """The model with its payloads, the friction of the joints, and the actuators, if elastic."""

    model: MultibodyModel
    friction: JointFriction
    actuators: Actuators | None = None


@dataclass(frozen=True)
class Settings(JointSelection):
    """How recordings are compared, and where they have the joints. Holds paths and plain numbers
    only, for use in other processes and on other computers.

    effort : "joint" for torques on the link side of the springs, "motor" for motor torques, which
        the springs of `elastic_joints` separate from the links.
    cutoff : cut-off frequency of the filter, Hz; None: chosen from the data.
    rate : rate of the comparison, Hz; None: eight samples per period of the cut-off.
    from_positions : differentiate positions even if velocities were recorded.
    identify : any of "friction", "payload", "inertia". train : share of the recording to fit.
    """

    urdf: Path
    data: Path | None = None
    elastic_joints: Path | None = None
    effort: str = "joint"
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    cutoff: float | None = None
    rate: float | None = None
    from_positions: bool = False
    identify: tuple[str, ...] = ()
    payload_body: str | None = None
    train: float = 0.5

    def __post_init__(self) -> None:
        """Raises InputError for inconsistent settings."""
        if not 0.1 <= self.train <= 0.9:
            raise InputError(f"--train {self.train:g}: must be from 0.1 to 0.9")
        if self.motor_topic and self.effort != "motor":
            raise InputError(f"--motor-topic {self.motor_topic}: requires --effort motor")
        for joint, value in self.held.items():
            if not np.isfinite(value):
                raise InputError(f"--hold {joint}={value}: must be a finite number")

    def robot(self) -> Robot:
        """The robot of these files. Raises InputError and ModelError, which name the file."""
        return load_robot(self.urdf, self.data, self.elastic_joints, self.gravity)


def load_robot(
    urdf: Path,
    data: Path | None = None,
    elastic_joints: Path | None = None,
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
) -> Robot:
    """A robot from its URDF, a YAML file with friction, rotors and payloads, and one with springs.

    The first YAML file has the keys, all optional,
        friction: {JOINT: {viscous, offset, coulomb, coulomb_velocity | logistic: [a, b, c]}}
        rotor_inertia: {JOINT: kg m^2 on the link side of the gear}
        payload: {BODY: {mass, com: [x, y, z], inertia_com: [xx, xy, xz, yy, yz, zz]}}
        links: {BODY: the same, replacing the inertia of the URDF}
    The friction of a link in the file with springs takes the place of that in the first file.
    """
    return equipped(mechanisms.load_robot(urdf, elastic_joints, gravity), data, elastic_joints)


def equipped(
    model: MultibodyModel, data: Path | None = None, elastic_joints: Path | None = None
) -> Robot:
    """The robot of :func:`load_robot`, with a model that is already loaded."""
    friction = JointFriction.none(model.n)
    if data is not None:
        given = read_yaml(data) or {}
        with reading(data, "a file of friction, rotors, payloads and links"):
            model, friction = _with_data(model, given)
    actuators = None
    if elastic_joints is not None:
        actuators = load_actuators(
            elastic_joints, model.joint_names, model.joint_types, model.locked
        )
        with reading(data or elastic_joints):
            actuators.refuse_counting_twice(model.reflected_inertia)
        friction = friction.without(actuators.has_link_friction)  # which counts
    return Robot(model, friction, actuators)


def _with_data(model: MultibodyModel, given: Any) -> tuple[MultibodyModel, JointFriction]:
    if not isinstance(given, Mapping) or set(given) - set(KEYS):
        found = [key for key in given if key not in KEYS] if isinstance(given, Mapping) else given
        raise InputError(f"{found}: expected a mapping with some of the keys {', '.join(KEYS)}")
    for key, value in given.items():
        if not isinstance(value, Mapping):
            raise InputError(f"{key}: expected a mapping from names, got {value!r}")
    rotors = np.array(model.reflected_inertia)
    for joint, value in given.get("rotor_inertia", {}).items():
        rotors[model.joint_index(joint)] = exactly(f"rotor_inertia of '{joint}'", value, ())
    model = model.with_reflected_inertia(rotors)
    if links := given.get("links", {}):
        M = model.inertias.copy()
        for body, values in links.items():
            M[model.body_index(body)] = spatial_inertia(*_body(body, values))
        model = replace(model, link_inertias=M - (model.inertias - model.link_inertias))
    for body, values in given.get("payload", {}).items():
        model = model.with_payload(body, *_body(body, values), name=f"payload of {body}")
    return model, JointFriction.from_mapping(given.get("friction", {}), model.joint_names)


def _body(name: str, values: Any) -> tuple[float, Any, Any]:
    if not isinstance(values, Mapping) or set(values) - set(BODY_KEYS) or "mass" not in values:
        raise InputError(
            f"{name}: expected a mapping with mass and, optionally, com and inertia_com, got "
            f"{values}"
        )
    inertia = exactly(f"{name}: inertia_com", values.get("inertia_com", [0.0] * 6), (6,))
    com = exactly(f"{name}: com", values.get("com", [0.0] * 3), (3,))
    mass = float(exactly(f"{name}: mass", values["mass"], ()))
    return mass, com, inertia[SYMMETRIC]


def _described_friction(friction: JointFriction, j: int) -> dict[str, Any]:
    """The friction of joint j, in the form for :meth:`.JointFriction.from_mapping`."""
    amplitude, steepness, shift = (
        float(row[j]) for row in (friction.amplitude, friction.steepness, friction.shift)
    )
    found: dict[str, Any] = {"viscous": float(friction.viscous[j])}
    if shift:
        found["logistic"] = [amplitude, steepness, shift]
    elif steepness:
        found |= {"coulomb": amplitude / 2.0, "coulomb_velocity": 2.0 / steepness}
    return {**found, "offset": float(friction.offset[j])}


def described(
    friction: JointFriction | None = None,
    names: tuple[str, ...] = (),
    bodies: Mapping[str, Mapping[str, Any]] | None = None,
    kind: str = "links",
    rotors: Mapping[str, float] | None = None,
) -> str:
    """Identified parameters as YAML for :func:`load_robot`."""
    content: dict[str, Any] = {}
    if friction is not None:
        content["friction"] = {
            name: _described_friction(friction, j) for j, name in enumerate(names)
        }
    if rotors:
        content["rotor_inertia"] = dict(rotors)
    if bodies:
        content[kind] = {name: dict(values) for name, values in bodies.items()}
    return str(yaml.safe_dump(content, sort_keys=False, default_flow_style=None))
