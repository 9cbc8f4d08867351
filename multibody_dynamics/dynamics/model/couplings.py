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

from collections.abc import Mapping, Sequence
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


class Transmission(NamedTuple):
    """Motors that move several joints together: q = T theta + offset, and tau_theta = T^T tau_q.

    joints, motors : k names each. matrix : T (k, k), rad or m of each joint per rad or m of each
    motor. offset : (k,) positions of the joints with the motors at zero, rad or m.
    """

    joints: tuple[str, ...]
    motors: tuple[str, ...]
    matrix: Array
    offset: Array

    @property
    def couplings(self) -> dict[str, Coupling]:
        """The joints as functions of the motors, which become the coordinates of the robot."""
        rows = zip(self.joints, self.matrix.tolist(), self.offset.tolist(), strict=True)
        return {
            joint: Coupling(dict(zip(self.motors, row, strict=True)), offset)
            for joint, row, offset in rows
        }

    def of_motors(self, field: str, values: Array) -> Array:
        """Positions, velocities, accelerations or efforts (..., k) at the motors, from those of the
        joints. field : the first word of it, such as "position"."""
        if field.startswith("effort"):
            return np.asarray(values @ self.matrix)
        moved = values - self.offset if field.startswith("position") else values
        return np.asarray(np.linalg.solve(self.matrix, moved[..., None])[..., 0])

    def limits(self, of_joints: Array) -> Array:
        """(6, k) limits of the motors, rows as in `JointLimits`, from those of the joints: the
        range that they need to reach all positions; speeds, efforts, accelerations and jerks that
        they may all have at once."""
        lower, upper, velocity, effort, *rates = of_joints
        inverse = np.linalg.inv(self.matrix).astype(np.float64)
        ends = [
            np.multiply(
                inverse, row - self.offset, where=inverse != 0.0, out=np.zeros_like(inverse)
            )
            for row in (lower, upper)
        ]
        return np.array(
            [
                np.minimum(*ends).sum(axis=1),
                np.maximum(*ends).sum(axis=1),
                _within(self.matrix, velocity),
                _within(inverse.T, effort),
                *(_within(self.matrix, row) for row in rates),
            ]
        )

    def of_joints(self, field: str, values: Array) -> Array:
        """The inverse of `of_motors`."""
        if field.startswith("effort"):
            return np.asarray(np.linalg.solve(self.matrix.T, values[..., None])[..., 0])
        moved = values @ self.matrix.T
        return np.asarray(moved + self.offset if field.startswith("position") else moved)


def _within(factors: Array, limits: Array) -> Array:
    """Largest x, as far as shares are equal, for which |factors| x stays within `limits`."""
    rows = np.abs(factors)
    shares = np.where(rows > 0.0, (limits / rows.sum(axis=1))[:, None], np.inf)
    return np.asarray(shares.min(axis=0))


class MotorColumns(NamedTuple):
    """Values by joint or motor as values by motor: their names, and the columns of the joints of
    each transmission. See :func:`motor_columns`."""

    names: tuple[str, ...]
    behind: tuple[tuple[list[int], Transmission], ...]

    def convert(self, field: str, values: Array) -> Array:
        """Values (..., all names), in the order of `names`; see `Transmission.of_motors`."""
        if self.behind:
            values = np.array(values)
        for columns, transmission in self.behind:
            values[..., columns] = transmission.of_motors(field, values[..., columns])
        return values


def motor_columns(
    names: Sequence[str], transmissions: Sequence[Transmission], prefix: str = ""
) -> MotorColumns:
    """How values with these names become values of the motors of transmissions, where the names are
    those of all their joints and of none of their motors. prefix : of all names."""
    found, behind = list(names), []
    for each in transmissions:
        joints = [prefix + joint for joint in each.joints]
        motors = [prefix + motor for motor in each.motors]
        if {*joints} <= {*names} and {*motors}.isdisjoint(names):
            columns = [found.index(joint) for joint in joints]
            for column, motor in zip(columns, motors, strict=True):
                found[column] = motor
            behind.append((columns, each))
    return MotorColumns(tuple(found), tuple(behind))


def checked_transmission(joints: Any, motors: Any, matrix: Any, offset: Any = None) -> Transmission:
    """A transmission of lists of names, rows of numbers and, unless zero, offsets.

    Raises InputError for names that are repeated, a joint with the name of a motor, and a matrix
    that is not square or cannot be inverted.
    """
    joints, motors = _names("joints", joints), _names("motors", motors)
    both = (*joints, *motors)
    for name in both:
        if both.count(name) > 1:
            raise InputError(
                f"'{name}' is listed twice; motors need names of their own, which become those of "
                "the coordinates"
            )
    k = len(joints)
    if len(motors) != k:
        raise InputError(f"{k} joints ({', '.join(joints)}) need as many motors, got {len(motors)}")
    T = exactly("matrix", matrix, (k, k))
    if np.linalg.matrix_rank(T) < k:
        raise InputError(f"matrix {T.tolist()} is singular: some motion of the joints has no motor")
    shift = exactly("offset", np.zeros(k) if offset is None else offset, (k,))
    return Transmission(joints, motors, T, shift)


def _names(what: str, given: Any) -> tuple[str, ...]:
    """A list of names, of which YAML reads some as numbers, such as [1, 2]."""
    listed = isinstance(given, (list, tuple)) and all(type(x) in (str, int) for x in given)
    if not listed or not given:
        raise InputError(f"{what}: expected a list of names, got {given!r}")
    return tuple(map(str, given))


def load_couplings(source: str | PathLike[str] | Mapping[str, Any]) -> dict[str, Coupling]:
    """The couplings under `couplings` and `transmission` in a YAML file, such as that of the
    springs; often none.

        couplings:
          finger2: {terms: {finger1: 1.0}}
          pitch:   {terms: {left: 0.5, right: 0.5}, offset: 0.1}

        transmission:
          wrist: {joints: [pitch, roll], motors: [left, right], matrix: [[0.5, 0.5], [0.5, -0.5]]}

    A transmission, optionally with `offset`, lists the couplings of its joints as a matrix; see
    :class:`Transmission`. Factors and offsets are in rad and m. Raises InputError that names the
    file and the joint or transmission.
    """
    data = source if isinstance(source, Mapping) else read_yaml(source)
    prefix = "" if isinstance(source, Mapping) else f"{source}: "
    data = data if isinstance(data, Mapping) else {}
    where, pairs = f"{prefix}couplings", {}
    for joint, entry in entries(data.get("couplings"), where, (), None).items():
        found = entries(entry, f"{where}: joint '{joint}'", ("terms",), ("offset",))
        pairs[joint] = (found["terms"], found.get("offset", 0.0))
    with refused_as(InputError, where):
        result = checked_couplings(pairs)
    where, keys = f"{prefix}transmission", ("joints", "motors", "matrix")
    for name, entry in entries(data.get("transmission"), where, (), None).items():
        at = f"{where}: '{name}'"
        found = entries(entry, at, keys, ("offset",))
        with refused_as(InputError, at):
            more = checked_transmission(*map(found.get, (*keys, "offset"))).couplings
            for joint in result.keys() & more.keys():
                raise InputError(f"joint '{joint}' is coupled twice")
        result |= more
    return result


def transmissions(
    coordinates: Sequence[str], tree_joints: Sequence[str], couplings: Mapping[str, Coupling]
) -> tuple[Transmission, ...]:
    """The transmissions of a robot: its coordinates that are no joints of the tree, with as many
    joints, from whose positions they follow."""
    motors = [name for name in coordinates if name not in tree_joints]
    own = {*motors}
    driven = {joint: made for joint, made in couplings.items() if own >= made.terms.keys()}
    result = []
    while motors:
        group = {motors[0]}
        while not all(group >= t.keys() or group.isdisjoint(t) for t, _ in driven.values()):
            group.update(*(t for t, _ in driven.values() if not group.isdisjoint(t)))
        movers = tuple(name for name in motors if name in group)
        motors = [name for name in motors if name not in group]
        joints: tuple[str, ...] = ()
        T = np.zeros((0, len(movers)))
        for joint, (terms, _) in driven.items():
            more = np.vstack((T, [terms.get(name, 0.0) for name in movers]))
            if np.linalg.matrix_rank(more) > len(T):
                joints, T = (*joints, joint), more
        if len(joints) == len(movers):
            offset = np.array([driven[joint].offset for joint in joints])
            result.append(Transmission(joints, movers, T, offset))
    return tuple(result)


def joint_chains(model: Robot) -> dict[str, range]:
    """{joint: its bodies} of the joints as they are built, in the order of the tree: one body each,
    or the chain of a joint that depends on several coordinates, which ends with the body that it
    moves."""
    known = {*model.joint_names, *model.couplings}
    chains, first = {}, 0
    for i, joint in enumerate(model.tree_joint_names):
        goes_on = (
            joint not in known
            and i + 1 < model.body_count
            and model.parents[i + 1] == i
            and not model.link_inertias[i].any()
            and np.array_equal(model.poses[i], model.poses[i + 1])
        )
        if not goes_on:
            chains[joint], first = range(first, i + 1), i + 1
    return chains


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
    base_inertia = model.base_inertia
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
            else:
                base_inertia = base_inertia + inertia.transform(M, A)
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
        "base_inertia": base_inertia,
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
