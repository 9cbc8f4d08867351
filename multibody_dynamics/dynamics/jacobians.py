"""Geometric Jacobians of any body and their time derivatives, [M21] (8), [M18d] section 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from .conventions import Representation, check_representation
from .errors import InputError
from .inputs import Array
from .kinematics import body_rows, joint_poses
from .model import MultibodyModel
from .records import SCREW, TWIST
from .se3 import Ad, ad, inverse
from .so3 import hat


def jacobian(
    model: MultibodyModel,
    q: Any,
    body: str | int,
    *,
    representation: Representation = "spatial",
) -> Array:
    """J (..., 6, n) with twist = J q' for a body, or a link merged into one; [M18d] (101), (102).

    Body-fixed [M18d] (103), spatial (104) and [M21] (8), hybrid (105), mixed by (102); [M18k]
    3.1.2, 3.2.2, 3.3.2 and 3.4.2. Columns of joints that do not move the body are zero. Angular
    rows first. Raises InputError for wrong shapes, NaN, an unknown body or representation.
    """
    return _jacobians(model, (q,), body, representation)[0]


def jacobian_dot(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    body: str | int,
    *,
    representation: Representation = "spatial",
) -> Array:
    """The componentwise time derivative J' (..., 6, n): acceleration = J q'' + J' q'.

    Body-fixed [M18d] (8), spatial (16); hybrid (26) and mixed (33), both corrected. Arguments and
    errors as :func:`jacobian`; qd is (..., n).
    """
    return _jacobians(model, (q, qd), body, representation)[1]


def _jacobians(
    model: MultibodyModel, rows: tuple[Any, ...], body: str | int, representation: str
) -> tuple[Array, Array]:
    check_representation(representation)
    index, offset = model.frame(body)
    bodies, shape, given = body_rows(model, rows)
    if given < len(rows):
        raise InputError("the derivative of a Jacobian needs qd")
    J = np.zeros((len(bodies), 6, model.n))
    Jd = np.zeros_like(J)
    pose = np.broadcast_to(offset, (len(bodies), 4, 4))
    V = np.zeros((len(bodies), 6))
    if index >= 0:
        path = model.path(index)
        moving = bodies[:, np.array(path) + 1]
        J[:, :, path] = np.swapaxes(moving[..., SCREW : SCREW + 6], 1, 2)
        Jd[:, :, path] = np.swapaxes(moving[..., SCREW + 6 : SCREW + 12], 1, 2)
        pose = joint_poses(bodies[:, index + 1]) @ model.body_in_joint[index] @ offset
        V = bodies[:, index + 1, TWIST : TWIST + 6]
    seen = _convert(J, Jd, pose, V, representation)
    return tuple(x.reshape(*shape, 6, model.n) for x in seen)  # type: ignore[return-value]


def _convert(
    J: Array, Jd: Array, pose: Array, V: Array, representation: str
) -> tuple[Array, Array]:
    """A spatial Jacobian and its derivative, for a frame at `pose` with spatial twist V."""
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
