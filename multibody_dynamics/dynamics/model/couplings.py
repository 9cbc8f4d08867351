# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Coupled and locked joints: the tree of a robot whose joints follow q_tree = G q + g0.

At q = 0 the joints stand at g0, which gives the reference poses A_i and the screws Y_i. A joint
with the coordinate f q_c has the screw f Y_i and reads q_c. One with several terms, f_1 q_1 + f_2
q_2, is the product exp(Y f_1 q_1) exp(Y f_2 q_2), because equal screws commute: a chain of joints
with massless bodies in between. A joint without terms is rigid, and its body is merged into the one
that carries it. All laws of the tree then hold for the coordinates q, Q = G^T Q_tree, M = G^T
M_tree G, and so on, since the recursions add up what joints with one coordinate contribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from ..core import (
    Array,
    InputError,
    ModelError,
    as_mapping,
    as_real,
    exactly,
    read_yaml,
    refused_as,
)
from ..core.quantities import entries
from ..lie import se3
from . import inertia

Robot = Any  # a MultibodyModel; its module imports this one


class Coupling(NamedTuple):
    """A dependent joint: its coordinate is the sum of factor q over the `terms`, plus `offset`.

    terms : {joint: factor}, independent joints; rad or m per rad or m. offset : rad or m.
    """

    terms: Mapping[str, float]
    offset: float = 0.0


def checked_couplings(given: Any) -> dict[str, Coupling]:
    """{joint: Coupling} from {joint: Coupling or (terms, offset) or terms}, with float values.

    Raises InputError for anything else.
    """
    result = {}
    for joint, value in as_mapping("couplings", given).items():
        what = f"couplings['{joint}']"
        terms, offset = (value, 0.0) if isinstance(value, Mapping) else _pair(what, value)
        factors = {
            str(name): float(exactly(f"{what}: factor of '{name}'", factor, ()))
            for name, factor in as_mapping(f"{what}: terms", terms).items()
        }
        result[str(joint)] = Coupling(factors, float(exactly(f"{what}: offset", offset, ())))
    return result


def load_couplings(source: str | PathLike[str] | Mapping[str, Any]) -> dict[str, Coupling]:
    """The couplings under `couplings` in a YAML file, such as that of the springs; often none.

        couplings:
          finger2: {terms: {finger1: 1.0}}
          pitch:   {terms: {left: 0.5, right: 0.5}, offset: 0.1}

    Factors and offsets are in rad and m. Raises InputError that names the file and the joint.
    """
    data = source if isinstance(source, Mapping) else read_yaml(source)
    where = "couplings" if isinstance(source, Mapping) else f"{source}: couplings"
    given = data.get("couplings") if isinstance(data, Mapping) else None
    pairs = {}
    for joint, entry in entries(given, where, (), None).items():
        found = entries(entry, f"{where}: joint '{joint}'", ("terms",), ("offset",))
        pairs[joint] = (found["terms"], found.get("offset", 0.0))
    try:
        return checked_couplings(pairs)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _pair(what: str, value: Any) -> tuple[Any, Any]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise InputError(
            f"{what}: expected {{joint: factor}}, or a pair of it and an offset, got {value!r}"
        )
    return value


def resolved(couplings: Mapping[str, Coupling]) -> dict[str, Coupling]:
    """The couplings with chains followed: no term names a dependent joint.

    Raises ModelError for joints that depend on each other in a circle.
    """
    done: dict[str, Coupling] = {}

    def follow(joint: str, before: tuple[str, ...]) -> Coupling:
        if joint in before:
            circle = " -> ".join((*before[before.index(joint) :], joint))
            raise ModelError(f"joint '{joint}' depends on itself: {circle}")
        if joint not in done:
            terms: dict[str, float] = {}
            offset = couplings[joint].offset
            for name, factor in couplings[joint].terms.items():
                if name not in couplings:
                    terms[name] = terms.get(name, 0.0) + factor
                    continue
                further = follow(name, (*before, joint))
                offset += factor * further.offset
                for independent, share in further.terms.items():
                    terms[independent] = terms.get(independent, 0.0) + factor * share
            kept = {name: factor for name, factor in terms.items() if factor != 0.0}
            done[joint] = Coupling(kept, offset)
        return done[joint]

    for joint in couplings:
        follow(joint, ())
    return done


def coupled_fields(model: Robot, couplings: Mapping[str, Coupling]) -> dict[str, Any]:
    """The fields of `model` that change if its joints follow the couplings.

    A name among the terms that is no joint of the robot becomes a new coordinate, at the place of
    the first joint that depends on it. Raises InputError for an unknown dependent joint, ModelError
    for circular couplings, a robot without an independent joint, and a rotor on a joint with
    several terms.
    """
    for joint in couplings:
        model.joint_index(joint)
    known = resolved(couplings)
    names, own = _coordinates(model, known)
    dependent = _dependent(model, own)
    place = {name: c for c, name in enumerate(names)}

    home = np.array([own[joint].offset for joint in model.joint_names])
    placed: list[Array] = []  # A_i and what the offsets make of it
    parents: list[int] = []
    screws: list[Array] = []
    poses: list[Array] = []
    inertias: list[Array] = []
    bodies: list[str] = []
    joints: list[str] = []
    coordinates: list[int] = []
    of_body: dict[int, int] = {-1: -1}
    shift: dict[int, Array] = {-1: np.eye(4)}  # pose of each old body in the new one
    for i, p in enumerate(model.parents.tolist()):
        c = int(model.coordinates[i])
        moved = np.eye(4) if p < 0 else placed[p] @ se3.inverse(model.poses[p])
        Y = se3.Ad(moved) @ model.screws[i]
        A = se3.exp(Y * home[c]) @ moved @ model.poses[i]
        placed.append(A)
        terms = own[model.joint_names[c]].terms
        M, parent = model.link_inertias[i], of_body[p]
        if not terms:
            of_body[i] = parent
            shift[i] = A if parent < 0 else se3.inverse(poses[parent]) @ A
            if parent >= 0:
                inertias[parent] = inertias[parent] + inertia.transform(M, shift[i])
            continue
        for k, (name, factor) in enumerate(terms.items(), start=1):
            carries = k == len(terms)
            joint = model.tree_joint_names[i]
            parents.append(parent)
            screws.append(factor * Y)
            poses.append(A)
            inertias.append(M if carries else np.zeros((6, 6)))
            bodies.append(model.body_names[i] if carries else f"{joint}_{name}_body")
            joints.append(joint if carries else f"{joint}_{name}")
            coordinates.append(place[name])
            parent = len(parents) - 1
        of_body[i], shift[i] = parent, np.eye(4)
    if not parents:
        raise ModelError(f"robot '{model.name}' has no moving joint left")
    return {
        "joint_names": names,
        "tree_joint_names": tuple(joints),
        "body_names": tuple(bodies),
        "parents": np.array(parents),
        "screws": np.array(screws),
        "poses": np.array(poses),
        "link_inertias": np.array(inertias),
        "coordinates": np.array(coordinates),
        "reflected_inertia": _rotors(model, names, own),
        "frames": {
            name: type(frame)(of_body[frame.body], shift[frame.body] @ frame.pose)
            for name, frame in model.frames.items()
            if name not in bodies and name != model.base_name
        },
        "payloads": {
            name: type(load)(of_body[load.body], inertia.transform(load.inertia, shift[load.body]))
            for name, load in model.payloads.items()
            if of_body[load.body] >= 0
        },
        "couplings": {joint: made for joint, made in dependent.items() if made.terms},
        "locked": {
            **model.locked,
            **{joint: made.offset for joint, made in dependent.items() if not made.terms},
        },
    }


def _coordinates(
    model: Robot, known: Mapping[str, Coupling]
) -> tuple[tuple[str, ...], dict[str, Coupling]]:
    """The names of the coordinates, and what each present joint is in terms of them."""
    names: list[str] = []
    own: dict[str, Coupling] = {}
    for joint in model.joint_names:
        own[joint] = known.get(joint, Coupling({joint: 1.0}))
        for name in own[joint].terms:
            if name not in names and (name == joint or name not in model.joint_names):
                names.append(name)
    return tuple(names), own


def _dependent(model: Robot, own: Mapping[str, Coupling]) -> dict[str, Coupling]:
    """All joints that are no coordinates, also those that were dependent before."""
    result = {joint: made for joint, made in own.items() if made.terms != {joint: 1.0}}
    for joint, old in model.couplings.items():
        terms: dict[str, float] = {}
        offset = old.offset
        for name, factor in old.terms.items():
            offset += factor * own[name].offset
            for independent, share in own[name].terms.items():
                terms[independent] = terms.get(independent, 0.0) + factor * share
        result[joint] = Coupling(terms, offset)
    return result


def _rotors(model: Robot, names: tuple[str, ...], own: Mapping[str, Coupling]) -> Array:
    """Reflected inertias of the coordinates: factor^2 times that of each joint that depends."""
    rotors = np.zeros(len(names))
    for joint, rotor in zip(model.joint_names, model.reflected_inertia, strict=True):
        if rotor and len(own[joint].terms) > 1:
            raise ModelError(
                f"joint '{joint}': its rotor of {rotor:g} would couple "
                f"{' and '.join(own[joint].terms)}; give the inertia of motors at their coordinates"
            )
        for name, factor in own[joint].terms.items():
            rotors[names.index(name)] += factor**2 * rotor
    return rotors


def checked_positions(model: Robot, positions: Any) -> dict[str, Coupling]:
    """The couplings that hold joints at {joint: position in rad or m}, or all named at zero.

    Raises InputError for an unknown joint, and for a position that is no finite number.
    """
    if isinstance(positions, (list, tuple, set, frozenset)):
        positions = dict.fromkeys(positions, 0.0)
    held = {}
    with refused_as(InputError):
        for joint, value in as_mapping("locked", positions).items():
            name = model.joint_names[model.joint_index(joint)]
            held[name] = Coupling({}, float(as_real(f"position of '{name}'", value)))
    return held
