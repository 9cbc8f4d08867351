# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The YAML description of the loops of a robot; SI units, rad. It may be the file of the springs.

    loops:
      pin: {type: revolute, axis: [0, 0, 1],
            first: left_rod, first_frame: {xyz: [0.5, 0, 0]},
            second: right_rod, second_frame: {xyz: [0.5, 0, 0], rpy: [0, 0, 0]}}
    actuated: [left, right]             # optional; otherwise all joints have a motor
    assembled: {left: 1.9, left_elbow: 1.9}   # optional; rad or m, other joints at zero
    passive_springs:                    # optional, as each key; at joints without a motor
      left_elbow: {stiffness: 20.0, rest: 1.2, damping: 0.1}  # N m/rad, rad, N m s/rad; or N/m ...

The loops are closed near the pose `assembled`, which selects one of several assembly modes.

The frames are given in those of the links `first` and `second`, as in URDF; axes and points are in
the first frame, and a point that is not given is its origin. The types, and their keys besides
`point`, are

    weld, spherical                     none
    revolute, cylindrical, planar       axis (the normal of a plane)
    prismatic                           axis
    helical                             axis, pitch in m/rad
    universal                           axis, second_axis
    screws                              screws: [[w1, w2, w3, v1, v2, v3], ...], the free motions
"""

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from ..core import (
    Array,
    DynamicsError,
    InputError,
    ModelError,
    exactly,
    file_reader,
    read_yaml,
    refused_as,
)
from ..core.quantities import entries
from ..lie import se3, so3
from ..model import STANDARD_GRAVITY, MultibodyModel, load_couplings, load_urdf
from ..model.joints import FREE_SCREWS
from .closed_chain_model import closed_chain
from .loops import ConstrainedModel, LoopClosure, PassiveSpring

_FRAMES = ("first_frame", "second_frame")


@file_reader
def load_mechanism(
    source: str | PathLike[str] | Mapping[str, Any], tree: MultibodyModel
) -> ConstrainedModel:
    """The robot `tree`, whose loops are cut, with the loops of a YAML file or its mapping.

    See :mod:`.mechanism_description` for the keys. Raises InputError that names file, loop and key,
    and the ModelError of :class:`.ConstrainedModel`.
    """
    if isinstance(source, Mapping):
        where, data = "mechanism", source
    else:
        where, data = str(source), read_yaml(source)
    top = entries(data, where, ("loops",), None)
    loops = [
        _loop(str(name), entry, f"{where}: loop '{name}'")
        for name, entry in entries(top["loops"], f"{where}: loops", (), None).items()
    ]
    actuated = top.get("actuated")
    if isinstance(actuated, list):  # YAML reads joints called 1 and 2 as numbers
        actuated = [str(x) if str(x) in tree.joint_names else x for x in actuated]
    springs = {
        str(joint): _spring(entry, f"{where}: passive_springs: '{joint}'")
        for joint, entry in entries(
            top.get("passive_springs", {}), f"{where}: passive_springs", (), None
        ).items()
    }
    with refused_as(ModelError, where):
        return ConstrainedModel(tree, loops, actuated, springs=springs)


def load_robot(
    urdf: str | PathLike[str],
    springs: str | PathLike[str] | None = None,
    gravity: Any = STANDARD_GRAVITY,
) -> MultibodyModel:
    """The robot of a URDF file, with the couplings and loops in the YAML file of its springs.

    gravity : (3,) m/s^2, in inertial axes.
    Raises the errors of :func:`.load_urdf` and :func:`close_loops`.
    """
    if springs is None:
        return load_urdf(urdf, gravity)
    return close_loops(springs, load_urdf(urdf, gravity, couplings=load_couplings(springs)))


@file_reader
def close_loops(source: str | PathLike[str], tree: MultibodyModel) -> MultibodyModel:
    """The robot `tree` with the loops of a YAML file, in the coordinates of its motors; the tree
    itself if the file has no `loops`.

    Raises the errors of :func:`load_mechanism` and of :func:`.closed_chain`.
    """
    data = read_yaml(source)
    if not (isinstance(data, Mapping) and data.get("loops")):
        if isinstance(data, Mapping) and data.get("passive_springs"):
            raise InputError(
                f"{source}: passive_springs: the file has no `loops`, which would determine the "
                "joints without a motor"
            )
        return tree
    system = load_mechanism(source, tree)
    pose = np.zeros(tree.n)
    for joint, value in entries(
        data.get("assembled", {}), f"{source}: assembled", (), None
    ).items():
        with refused_as(InputError, f"{source}: assembled"):
            pose[tree.joint_index(joint)] = exactly(f"position of '{joint}'", value, ())
    with refused_as(ModelError, str(source)):
        return closed_chain(system, pose)


def _loop(name: str, data: Any, where: str) -> LoopClosure:
    kind = entries(data, where, ("type", "first", "second"), None)["type"]
    if not isinstance(kind, str) or kind not in FREE_SCREWS:
        raise InputError(f"{where}: unknown type {kind!r}; known: {', '.join(FREE_SCREWS)}")
    keys, screws = FREE_SCREWS[kind]
    needed = tuple(key for key in keys if key != "point")
    optional = ("point", *_FRAMES) if "point" in keys else _FRAMES
    entry = entries(data, where, ("type", "first", "second", *needed), optional)
    values = {"point": [0.0, 0.0, 0.0], **entry}
    try:
        if "pitch" in keys:
            values["pitch"] = exactly("pitch", values["pitch"], ()).item()
        free = screws(*(values[key] for key in keys))
        poses = [_pose(entry.get(key), key) for key in _FRAMES]
        return LoopClosure(name, str(entry["first"]), str(entry["second"]), free, *poses)
    except DynamicsError as error:
        text = str(error).removeprefix(f"loop '{name}': ")
        raise InputError(f"{where}: {text}") from None


def _spring(data: Any, where: str) -> PassiveSpring:
    given = entries(data, where, (), PassiveSpring._fields)
    values = {key: exactly(f"{where}: {key}", x, ()).item() for key, x in given.items()}
    return PassiveSpring(**values)


def _pose(data: Any, where: str) -> Array:
    frame = entries(data, where, (), ("xyz", "rpy"))
    place = exactly(f"{where}: xyz", frame.get("xyz", np.zeros(3)), (3,))
    roll, pitch, yaw = exactly(f"{where}: rpy", frame.get("rpy", np.zeros(3)), (3,))
    turns = so3.exp(np.array([[0, 0, yaw], [0, pitch, 0], [roll, 0, 0]]))
    return se3.from_rotation_translation(turns[0] @ turns[1] @ turns[2], place)
