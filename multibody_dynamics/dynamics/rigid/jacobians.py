# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Geometric Jacobians of any body and their time derivatives, [M21] (8), [M18d] section 2."""

from typing import Any

import numpy as np

from ..core import Array, InputError, by_robot
from ..lie import Representation, check_representation
from ..lie.se3 import Ad, ad, inverse
from ..lie.so3 import hat
from ..model import MultibodyModel
from ..model.records import SCREW, TWIST
from .kinematics import BaseMotion, body_rows, joint_poses


@by_robot
def jacobian(
    model: MultibodyModel,
    q: Any,
    body: str | int,
    *,
    base: BaseMotion | None = None,
    representation: Representation = "spatial",
) -> Array:
    """The geometric Jacobian J (..., 6, n) of a body or of a link merged into one: twist = J q'.

    Body-fixed [M18d] (103), spatial (104) and [M21] (8), hybrid (105), mixed by (102); [M18k]
    3.1.2, 3.2.2, 3.3.2 and 3.4.2.

    Parameters
    ----------
    q : (..., n), rad or m.
    body : name of a body or link, or index of a body.
    base : motion of the base, whose own twist adds to J q'; at rest if None.
    representation : representation of the twist.

    Angular rows come first; the columns of joints that do not move the body are zero. Raises
    InputError for wrong shapes, NaN or infinity, an unknown body or representation.
    """
    return _jacobians(model, (q,), body, base, representation)[0]


@by_robot
def jacobian_dot(
    model: MultibodyModel, q: Any, qd: Any, body: str | int, *, base: BaseMotion | None = None,
    representation: Representation = "spatial",
) -> Array:  # fmt: skip
    """The componentwise time derivative J' (..., 6, n) of :func:`jacobian`.

    With it, acceleration = J q'' + J' q'. Body-fixed [M18d] (8), spatial (16); hybrid (26) and
    mixed (33), both corrected. q and qd are (..., n), rad or m and per s; only the pose and twist
    of `base` are used. Other arguments and errors are those of :func:`jacobian`.
    """
    return _jacobians(model, (q, qd), body, base, representation)[1]


def spatial_jacobians(
    model: MultibodyModel, bodies: Array, body: str | int, count: int
) -> tuple[Array, Array, Array]:
    """Pose of a body or frame, its spatial Jacobian and its spatial twist, with derivatives.

    `bodies` (count, N + 1, BODY_ROW) are the rows of :func:`.body_rows`, which must hold the
    requested derivatives. Returns the pose (N, 4, 4), J, J', ... (count, N, 6, n) and V, V', ...
    (count, N, 6); `count` is at most 4.
    """
    index, offset = model.frame(body)
    own = bodies[:, index + 1]  # row 0 is the base
    V = own[:, TWIST : TWIST + 6 * count].reshape(-1, count, 6).swapaxes(0, 1)
    J = np.zeros((count, len(bodies), 6, model.n))
    pose = joint_poses(own)
    if index >= 0:
        path = model.path(index)
        screws = bodies[:, np.array(path) + 1, SCREW : SCREW + 6 * count]
        columns = np.moveaxis(screws.reshape(-1, len(path), count, 6), (2, 0, 3), (0, 1, 2))
        if model.is_coupled:  # joints on the path may share a coordinate
            J = columns @ model.coordinate_map[path]
        else:
            J[..., path] = columns
        pose = pose @ model.body_in_joint[index]
    return pose @ offset, J, V


def _jacobians(
    model: MultibodyModel,
    rows: tuple[Any, ...],
    body: str | int,
    base: BaseMotion | None,
    representation: str,
) -> tuple[Array, Array]:
    check_representation(representation)
    bodies, shape, given = body_rows(model, rows, base)
    if given < len(rows):
        raise InputError("the time derivative of a Jacobian requires qd")
    pose, (J, Jd), (V, _) = spatial_jacobians(model, bodies, body, 2)
    J, Jd = _convert(J, Jd, pose, V, representation)
    return J.reshape(*shape, 6, model.n), Jd.reshape(*shape, 6, model.n)


def _convert(
    J: Array, Jd: Array, pose: Array, V: Array, representation: str
) -> tuple[Array, Array]:
    """Convert J and J' from spatial, for a frame at `pose` with the spatial twist V."""
    if representation == "spatial":
        return J, Jd
    to_body = Ad(inverse(pose))
    Jb, Jbd = to_body @ J, to_body @ (Jd - ad(V) @ J)
    if representation == "body":
        return Jb, Jbd
    r = hat(pose[..., :3, 3])
    velocity = hat(V[..., 3:] + np.cross(V[..., :3], pose[..., :3, 3]))
    angular, rate = J[..., :3, :], Jd[..., :3, :]
    linear = J[..., 3:, :] - r @ angular
    linear_rate = Jd[..., 3:, :] - r @ rate - velocity @ angular
    if representation == "mixed":
        angular, rate = Jb[..., :3, :], Jbd[..., :3, :]
    return (
        np.concatenate([angular, linear], axis=-2),
        np.concatenate([rate, linear_rate], axis=-2),
    )
