# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A serial robot from its Denavit-Hartenberg (DH) parameters, standard or modified."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core import Array, InputError, ModelError, as_array
from ..lie import se3, so3
from .inertia import spatial_inertia
from .joints import X, Z, prismatic, revolute
from .multibody_model import MultibodyModel, model_from_screws


class DHRow(NamedTuple):
    """One row of the table: alpha and theta in rad, a and d in m.

    q is added to theta if the `joint` is "revolute", and to d if it is "prismatic".
    """

    alpha: float
    a: float
    d: float
    theta: float = 0.0
    joint: Literal["revolute", "prismatic"] = "revolute"


class LinkInertia(NamedTuple):
    """Mass in kg, centre of mass (3,) in m, inertia about it (3, 3) in kg m^2; in the DH frame."""

    mass: float
    com: Any
    inertia_com: Any


def model_from_dh(
    table: Sequence[DHRow | tuple[Any, ...]],
    links: Sequence[LinkInertia | tuple[Any, ...]],
    *,
    convention: Literal["standard", "modified"],
    base: Any | None = None,
    **options: Any,
) -> MultibodyModel:
    """The serial robot of a Denavit-Hartenberg table. The frame of body i is that of row i.

    "standard": T_i = Rot_z(theta) Trans_z(d) Trans_x(a) Rot_x(alpha), [M21] (5); the axis of joint
    i is z of frame i - 1. "modified" (Craig): T_i = Rot_x(alpha) Trans_x(a) Rot_z(theta)
    Trans_z(d) with alpha_{i-1} and a_{i-1} in row i; the axis is z of frame i. There is no default:
    [M21] states the first, but the frames that it prints for the Panda, like the published table of
    that robot, follow the second.

    `base` (4, 4) is the pose of frame 0 in the inertial frame. The screws follow from the poses at
    q = 0, [M21] Remark 1. `options` are those of :func:`.model_from_screws`. Raises ModelError,
    or InputError, naming the row or link.
    """
    if convention not in ("standard", "modified"):
        raise ModelError(f"convention '{convention}' is neither 'standard' nor 'modified'")
    if len(table) != len(links):
        raise ModelError(
            f"the table has {len(table)} rows, but {len(links)} links were given; expected one "
            f"link per row"
        )
    C = np.eye(4) if base is None else as_array("base", base, (4, 4))
    screws, poses = [], []
    for number, entries in enumerate(table, start=1):
        try:
            row = DHRow(*entries)
        except TypeError:
            raise ModelError(f"row {number}: expected {DHRow._fields}, got {entries}") from None
        if row.joint not in ("revolute", "prismatic"):
            raise ModelError(f"row {number}: '{row.joint}' is neither 'revolute' nor 'prismatic'")
        along_x = _screw_motion(X, row.alpha, row.a, f"row {number}: alpha, a")
        along_z = _screw_motion(Z, row.theta, row.d, f"row {number}: theta, d")
        previous, C = C, C @ (along_z @ along_x if convention == "standard" else along_x @ along_z)
        axis = previous if convention == "standard" else C
        e, p = axis[:3, 2], axis[:3, 3]
        screws.append(revolute(e, p) if row.joint == "revolute" else prismatic(e))
        poses.append(C)
    inertias = [_spatial_inertia(number, link) for number, link in enumerate(links, start=1)]
    return model_from_screws(range(-1, len(table) - 1), screws, poses, inertias, **options)


def _spatial_inertia(number: int, link: LinkInertia | tuple[Any, ...]) -> Array:
    try:
        return spatial_inertia(*link)
    except (TypeError, InputError) as error:
        raise ModelError(f"link {number}: {error}; expected {LinkInertia._fields}") from None


def _screw_motion(axis: Any, angle: Any, distance: Any, what: str) -> Array:
    """Rotation about a coordinate axis and translation along it."""
    angle, distance = as_array(what, (angle, distance), (2,))
    e = np.array(axis)
    return se3.from_rotation_translation(so3.exp(angle * e), distance * e)
