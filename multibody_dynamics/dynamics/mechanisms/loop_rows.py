# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The equations of a cut joint without logarithms, for the control cycle.

With the pose (R, p) of the second frame in the first one, each row is

    u . (R x + p - c) = 0    the point x of the second body stays in a plane through c, normal to u
    u . R x = value          the direction x keeps its angle to the direction u of the first body
    h sin(s / h - phi) = 0   a screw of pitch h along u has advanced by s = u . (R x + p - c) and
                             turned by phi, from z of the first body to a direction of the second

and all have the form w . (V_second - V_first) for their rate where they hold, with the wrench
w = (cross(x, u), u), (cross(x, u), 0) or (cross(x, u) - h u, u) in inertial axes; see
:mod:`.loop_recursion`. The third row is smooth over all turns of the screw. The rows cover every
cut joint that first slides along fixed directions of the first frame and then turns about axes
through one point, and any single screw: weld, revolute, prismatic, helical, cylindrical, planar,
universal and spherical joints, and a ball that slides.
"""

from typing import NamedTuple

import numpy as np

from ..core import Array, ModelError
from ..lie.screw_matrices import hat
from ..model import MultibodyModel
from .constraints import direction_name
from .loops import LoopClosure

SMALL = 1e-9  # relative to the free screws

# Row of numbers, in the joint frames of the two bodies, or in the frame of the base
KIND = 0  # 1 for a point, 0 for a direction
VALUE = 1
DIRECTION = 2  # u
PLANE = 5  # c
MEMBER = 8  # x
PITCH = 11  # h, m/rad; 0 for all but a screw
NORMAL = 12  # z
TURNED = 15  # the direction of the second body that is z at phi = 0
LOOP_ROW = 18


class LoopRow(NamedTuple):
    """One equation of a cut joint; u, c and z in the first frame, x in the second."""

    name: str
    is_point: bool
    u: Array
    c: Array
    x: Array
    value: float
    pitch: float = 0.0

    def numbers(self, first: Array, second: Array) -> Array:
        """The row (LOOP_ROW,) for frames with the poses `first` and `second` in their bodies."""
        row = np.zeros(LOOP_ROW)
        row[KIND], row[VALUE] = self.is_point, self.value
        row[DIRECTION : DIRECTION + 3] = first[:3, :3] @ self.u
        row[MEMBER : MEMBER + 3] = second[:3, :3] @ self.x
        if self.is_point:
            row[PLANE : PLANE + 3] = first[:3, :3] @ self.c + first[:3, 3]
            row[MEMBER : MEMBER + 3] += second[:3, 3]
        if self.pitch:
            z = _complement(self.u[None])[0]
            row[PITCH] = self.pitch
            row[NORMAL : NORMAL + 3], row[TURNED : TURNED + 3] = (
                first[:3, :3] @ z,
                second[:3, :3] @ z,
            )
        return row


def closure_rows(loop: LoopClosure) -> list[LoopRow]:
    """The 6 - k rows of a cut joint with k free screws, points first.

    Raises ModelError for a joint that is not of the form above.
    """
    slides, turns = _slides_and_turns(loop)
    axes, pitch = turns[:, :3], 0.0
    blocked = _complement(slides)
    if len(axes) == 1 and not len(slides):
        (axis,) = axes
        pitch = float(axis @ turns[0, 3:])
        if abs(pitch) > SMALL:
            turns = turns - np.concatenate((np.zeros(3), pitch * axis))
            blocked = np.array([*_complement(axes), axis])
    centre = _centre(loop, turns, blocked if loop.is_lower_pair else np.eye(3))
    rows = [_row(loop, "translation along", True, d, centre, centre, 0.0, named=d) for d in blocked]
    if abs(pitch) > SMALL:
        rows[-1] = rows[-1]._replace(pitch=pitch)
    if len(axes) == 0:
        pairs = [(np.eye(3)[i], np.eye(3)[(i + 1) % 3]) for i in range(3)]
    elif len(axes) == 1:
        pairs = [(normal, axes[0]) for normal in _complement(axes)]
    elif len(axes) == 2:
        pairs = [(axes[0], axes[1])]
    else:
        pairs = []
    for u, x in pairs:
        turn = np.cross(x, u)
        size = float(np.linalg.norm(turn))
        u, turn, value = u / size, turn / size, float(u @ x) / size
        rows.append(_row(loop, "rotation about", False, u, np.zeros(3), x, value, named=turn))
    return rows


def frames_in_joints(model: MultibodyModel, loop: LoopClosure) -> list[tuple[int, Array]]:
    """(body, pose of the frame in the joint frame of that body) of both sides; -1 for the base."""
    sides = []
    for body, offset in ((loop.first, loop.first_pose), (loop.second, loop.second_pose)):
        index, pose = model.frame(body)
        pose = pose @ offset
        sides.append((index, model.body_in_joint[index] @ pose if index >= 0 else pose))
    return sides


def _row(
    loop: LoopClosure, motion: str, is_point: bool, u: Array, c: Array, x: Array, value: float,
    named: Array,
) -> LoopRow:  # fmt: skip
    if named[np.argmax(abs(named))] < 0:
        named = -named
    return LoopRow(
        f"loop '{loop.name}': {motion} {direction_name(named)}", is_point, u, c, x, value
    )


def _slides_and_turns(loop: LoopClosure) -> tuple[Array, Array]:
    """Directions (t, 3) in which the cut joint slides, and screws (r, 6) about which it turns."""
    X = loop.free
    if not len(X):
        return np.zeros((0, 3)), np.zeros((0, 6))
    if loop.is_lower_pair:  # any basis of the group has the same motions
        _, sigma, V = np.linalg.svd(X[:, :3].T, full_matrices=True)
        turning = int(np.sum(sigma > SMALL))
        basis = V @ X
        slides, turns = basis[turning:, 3:], basis[:turning]
    else:
        is_slide = np.linalg.norm(X[:, :3], axis=1) < SMALL
        slides, turns = X[is_slide, 3:], X[~is_slide]
        if np.any(is_slide[np.count_nonzero(is_slide) :]):
            raise ModelError(
                f"loop '{loop.name}': its joint turns before it slides; exchange `first` and "
                "`second`, and reverse the order of the free screws"
            )
    turns = turns / np.linalg.norm(turns[:, :3], axis=1, keepdims=True)
    if np.linalg.matrix_rank(turns[:, :3], tol=1e-6) < len(turns):
        raise ModelError(
            f"loop '{loop.name}': its joint turns about parallel axes; add a body and joints to "
            "the tree in its place, and cut the loop elsewhere"
        )
    return slides, turns


def _centre(loop: LoopClosure, turns: Array, blocked: Array) -> Array:
    """The point (3,) through which all axes pass, up to translations that are free anyway."""
    if not len(turns):
        return np.zeros(3)
    # Velocity of the origin, v = cross(c, a)
    matrix = np.concatenate([-blocked @ hat(a) for a in turns[:, :3]])
    wanted = np.concatenate([blocked @ v for v in turns[:, 3:]])
    centre = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    if np.any(abs(matrix @ centre - wanted) > SMALL * (1 + abs(wanted).max(initial=0.0))):
        raise ModelError(
            f"loop '{loop.name}': the axes of its joint have no common point, or one of several is "
            "helical; add a body and joints to the tree in its place, and cut the loop elsewhere"
        )
    return np.asarray(centre)


def _complement(span: Array) -> Array:
    """An orthonormal basis (3 - k, 3) of the directions normal to the k independent rows of `span`.

    The coordinate axes are projected, the longest projection first, so that the basis consists of
    coordinate axes where it can.
    """
    rest = np.eye(3) - span.T @ np.linalg.pinv(span.T) if len(span) else np.eye(3)
    basis = []
    for _ in range(3 - len(span)):
        length = np.round(np.linalg.norm(rest, axis=1), 9)
        axis = rest[np.argmax(length)]
        axis = axis / np.linalg.norm(axis)
        basis.append(axis)
        rest = rest - np.outer(rest @ axis, axis)
    return np.array(basis).reshape(-1, 3)
