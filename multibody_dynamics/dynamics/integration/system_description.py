# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The YAML description of rigid bodies in absolute coordinates, at t = 0; SI units, rad.

    name: slider_crank
    gravity: [0, 0, -9.81]              # the default
    group: SE3                          # or SO3xR3, or one for each body: {rod: SO3xR3}
    bodies:
      crank:
        mass: 0.8                       # kg
        inertia: [0.0001, 0.002, 0.002] # about the centre of mass, diagonal or 3 x 3, kg m^2
        com: [0, 0, 0]                  # in the body frame, m; optional, as are the next four
        position: [0.05, 0, 0]          # of the frame, m
        rotation: [0, 0, 0]             # of the frame: axis times angle, rad
        omega: [0, 10, 0]               # in the axes of the body, rad/s
        velocity: [0, 0, -0.5]          # of the frame's origin, in inertial axes, m/s
    joints:
      bearing: {type: revolute, first: ground, second: crank, axis: [0, 1, 0], point: [0, 0, 0]}
    springs:
      stop: {first: ground, second: crank, first_point: [0, 0, 1], second_point: [0.1, 0, 0],
             stiffness: 1000, damping: 2, length: 0.9}    # the last two are optional
    wrenches:
      crank: [0, 0, 0, 1, 0, 0]         # moment and force, in inertial axes about the origin

Axes and points are in the inertial frame. The types of joints and their keys:

    weld                                none
    revolute, cylindrical, planar       axis (the normal of a plane), point
    prismatic                           axis
    helical                             axis, point, pitch in m/rad
    spherical                           point
    universal                           point, axis, second_axis
    screws                              screws: [[w1, w2, w3, v1, v2, v3], ...], the free motions

A weld, a prismatic joint and screws also take an optional `point`, at which the reaction is given
if the free motions do not define one.
"""

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..core import Array, DynamicsError, InputError, exactly, file_reader, read_yaml
from ..core.quantities import entries
from ..lie import se3, so3
from ..model.inertia import spatial_inertia
from ..model.joints import FREE_SCREWS
from .absolute_systems import AbsoluteSystem, BodyJoint, RigidBody, SpringDamper

_VECTORS = ("com", "position", "rotation", "omega", "velocity")
_SPRING = ("first", "second", "first_point", "second_point", "stiffness")


@file_reader
def load_system(source: str | PathLike[str] | Mapping[str, Any]) -> AbsoluteSystem:
    """The system of a YAML file or of its parsed mapping; an InputError names file and key."""
    if isinstance(source, Mapping):
        where, data = "system", source
    else:
        where, data = str(source), read_yaml(source)
    top = entries(
        data, where, ("bodies",), ("name", "gravity", "group", "joints", "springs", "wrenches")
    )

    def parts(key: str, make: Callable[..., Any]) -> list[Any]:
        found = []
        for name, entry in entries(top.get(key, {}), f"{where}: {key}", (), None).items():
            at = f"{where}: {key}.{name}"
            try:
                found.append(make(str(name), entry, at))
            except DynamicsError as error:
                text = str(error)
                raise InputError(text if text.startswith(at) else f"{at}: {text}") from None
        return found

    bodies, joints, springs = (
        parts(key, make)
        for key, make in (("bodies", _body), ("joints", _joint), ("springs", _spring))
    )
    rest = {key: top[key] for key in ("gravity", "group", "wrenches") if key in top}
    if "wrenches" in rest:
        rest["wrenches"] = entries(rest["wrenches"], f"{where}: wrenches", (), None)
    for key, value in rest.items():
        if isinstance(value, Mapping):  # YAML may parse body names as numbers
            rest[key] = {str(name): entry for name, entry in value.items()}
    try:
        name = top.get("name")
        name = Path(where).stem if name is None else str(name)
        return AbsoluteSystem(bodies, joints, springs, name=name, **rest)
    except DynamicsError as error:
        raise InputError(f"{where}: {error}") from None


def _body(name: str, data: Any, where: str) -> RigidBody:
    entry = entries(data, where, ("mass", "inertia"), _VECTORS)
    vectors = {key: _vector(entry.get(key, (0.0, 0.0, 0.0)), f"{where}.{key}") for key in _VECTORS}
    moments = np.asarray(entry["inertia"], dtype=object)
    inertia = exactly(f"{where}.inertia", entry["inertia"], (3, 3) if moments.ndim > 1 else (3,))
    mass = exactly(f"{where}.mass", entry["mass"], ()).item()
    return RigidBody(
        name,
        spatial_inertia(mass, vectors["com"], inertia if inertia.ndim == 2 else np.diag(inertia)),
        se3.from_rotation_translation(so3.exp(vectors["rotation"]), vectors["position"]),
        vectors["omega"],
        vectors["velocity"],
    )


def _joint(name: str, data: Any, where: str) -> BodyJoint:
    kind = entries(data, where, ("type", "first", "second"), None)["type"]
    if not isinstance(kind, str) or kind not in FREE_SCREWS:
        raise InputError(f"{where}.type: unknown type {kind!r}; known: {', '.join(FREE_SCREWS)}")
    needed, screws = FREE_SCREWS[kind]
    optional = () if "point" in needed else ("point",)
    entry = entries(data, where, ("type", "first", "second", *needed), optional)
    values = {key: entry[key] for key in needed}
    if "pitch" in values:
        values["pitch"] = exactly(f"{where}.pitch", values["pitch"], ()).item()
    try:
        free = screws(*values.values())
    except InputError as error:
        raise InputError(f"{where}.{error}") from None
    point = None if "point" not in entry else _vector(entry["point"], f"{where}.point")
    return BodyJoint(name, str(entry["first"]), str(entry["second"]), free, point)


def _spring(name: str, data: Any, where: str) -> SpringDamper:
    entry = entries(data, where, _SPRING, ("damping", "length"))
    first, second = (
        _vector(entry[key], f"{where}.{key}") for key in ("first_point", "second_point")
    )
    numbers = {
        key: exactly(f"{where}.{key}", entry[key], ()).item()
        for key in ("stiffness", "damping", "length")
        if key in entry
    }
    return SpringDamper(name, str(entry["first"]), str(entry["second"]), first, second, **numbers)


def _vector(value: Any, where: str) -> Array:
    return exactly(where, value, (3,))
