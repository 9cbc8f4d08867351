# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Constraints of a joint from the screws of its free motions.

The relative motions that a lower pair allows form a group. Take the joint frame A on the first body
with its origin on the axis and z along it, and the frame B on the second body that coincides with A
at t = 0. The motion of B in A is then a rotation about z with a translation, constrained by rows

    f . (translation of B in A) + m . (rotation of B in A) = 0,   m, f constant in A.

Joints that hold a point (weld, revolute, spherical, universal) constrain its translation in
inertial axes instead, as [MT13] (43), (50), (61) do: this affects the drift of an index-1
integration, but not the motion.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import Array, ModelError, as_array, as_real, locked, refused_as
from ..lie import se3
from ..model.joints import turn_z_to

# Kinds of rows
CARRIED = 0  # m, f in A
INERTIAL = 1  # f in inertial axes
CROSSED = 2  # a universal joint: m along its first axis in A, f its second one in B

DEPENDENT = 1e-9  # directions shorter than this, from unit screws, count as zero


@dataclass(frozen=True, eq=False)
class ForbiddenMotions:
    """The constraint rows of a joint with 6 - c degrees of freedom.

    Attributes
    ----------
    frame : (4, 4) pose of A and B at t = 0, in the frame in which the screws are given.
    kinds : (c,) CARRIED, INERTIAL or CROSSED.
    m, f : (c, 3) each.
    periods : (c,) period of the violation: the lead of a helical joint, m; else 0.
    offsets : (c,) initial m . f of CROSSED rows, the cotangent of the angle between the axes.
    """

    frame: Array
    kinds: Array
    m: Array
    f: Array
    periods: Array
    offsets: Array

    def __post_init__(self) -> None:
        for array in vars(self).values():
            locked(array)


def forbidden_motions(free: Any, point: Any) -> ForbiddenMotions:
    """The constraint rows of a joint with the free screws (k, 6) or (6,), see :mod:`.joints`.

    point : (3,) origin of A for joints that define none: weld, prismatic, planar.

    Supports all lower pairs (revolute, prismatic, helical, cylindrical, spherical, planar), the
    weld (no screws), translations in a plane or in space, both also with rotation about an axis,
    and the universal joint. Raises ModelError for dependent screws and for other joints, which
    must be built from two joints and an intermediate body.
    """
    with refused_as(ModelError):
        given = as_real("free", free)
        X = np.atleast_2d(as_array("free", given if given.size else np.zeros((0, 6)), (6,)))
        point = as_array("point", point, (3,))
    k = len(X)
    spins = _rank(X[:, :3])
    if _rank(X) < k:
        raise ModelError(f"its {k} free screws are linearly dependent")
    if spins == 3:
        return _spherical(X)
    if spins == 2:
        return _universal(X)

    # combinations of the screws without rotation
    _, _, V = np.linalg.svd(X[:, :3].T) if k else (0, 0, np.zeros((0, 0)))
    glides = _directions(V[spins:] @ X[:, 3:])
    frame, rows = np.eye(4), []
    frame[:3, 3] = point
    if spins:
        screw = max(X, key=lambda x: float(np.linalg.norm(x[:3])))
        screw = screw / np.linalg.norm(screw[:3])
        e = screw[:3]
        if not _is_group(e, glides):
            raise _unknown(X)
        across = np.eye(3) - glides.T @ glides  # the axis is determined up to the glides
        if len(glides) < 2 or abs(glides @ e).max() > DEPENDENT:
            frame[:3, 3] = np.cross(e, screw[3:]) + e * (e @ point)
        frame[:3, :3] = turn_z_to(e)
        pitch = float(e @ across @ screw[3:])
        rows = [(CARRIED, axis, 0 * axis, 0.0) for axis in frame[:3, :2].T]
    else:
        e, pitch = np.zeros(3), 0.0
        rows = [(CARRIED, axis, 0 * axis, 0.0) for axis in np.eye(3)]
    is_held = not len(glides) and abs(pitch) < DEPENDENT
    for n in np.eye(3) if is_held else _across(glides, frame[:3, :3]):
        if is_held:
            rows.append((INERTIAL, 0 * n, n, 0.0))
        else:
            h = pitch * float(n @ e) if abs(pitch * (n @ e)) > DEPENDENT else 0.0
            rows.append((CARRIED, -h * e, n, 2.0 * np.pi * abs(h)))
    return _in_frame(frame, rows)


def _in_frame(frame: Array, rows: list[tuple[int, Array, Array, float]]) -> ForbiddenMotions:
    """The rows, given in the same axes as `frame`, with m and f in the axes of A."""
    kinds, m, f, periods = zip(*rows, strict=True)
    is_carried = np.array(kinds)[:, None] == CARRIED
    R = frame[:3, :3]
    return ForbiddenMotions(
        frame,
        np.array(kinds),
        np.array(m) @ R,
        np.where(is_carried, np.array(f) @ R, f),
        np.array(periods),
        np.zeros(len(rows)),
    )


def _spherical(X: Array) -> ForbiddenMotions:
    if len(X) != 3:
        raise _unknown(X)
    frame = np.eye(4)
    frame[:3, 3] = _centre(X)
    return _in_frame(frame, [(INERTIAL, 0 * n, n, 0.0) for n in np.eye(3)])


def _universal(X: Array) -> ForbiddenMotions:
    if len(X) != 2:
        raise _unknown(X)
    frame = np.eye(4)
    frame[:3, 3] = _centre(X)
    first, second = (x[:3] / np.linalg.norm(x[:3]) for x in X)
    first /= np.linalg.norm(np.cross(first, second))  # makes the violation an angle
    rows = _in_frame(frame, [(INERTIAL, 0 * n, n, 0.0) for n in np.eye(3)])
    return ForbiddenMotions(
        frame,
        np.append(rows.kinds, CROSSED),
        np.vstack([rows.m, first]),
        np.vstack([rows.f, second]),
        np.zeros(4),
        np.array([0.0, 0.0, 0.0, first @ second]),
    )


def _centre(X: Array) -> Array:
    """The common point of the axes of all screws; ModelError if there is none, or for a pitch."""
    # v = p x omega for each screw
    blocks = [[[0, w[2], -w[1]], [-w[2], 0, w[0]], [w[1], -w[0], 0]] for w in X[:, :3]]
    p = np.linalg.lstsq(np.reshape(blocks, (-1, 3)), X[:, 3:].ravel(), rcond=None)[0]
    if np.abs(np.cross(p, X[:, :3]) - X[:, 3:]).max() > DEPENDENT * (1.0 + np.abs(X).max()):
        raise _unknown(X)
    return np.asarray(p, dtype=np.float64)


def _directions(rows: Array) -> Array:
    """An orthonormal basis (r, n) of the span of rows (k, n) of any length."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    _, values, V = np.linalg.svd(rows / np.where(length > DEPENDENT, length, np.inf))
    return np.asarray(V[: int((values > DEPENDENT).sum())])


def _rank(rows: Array) -> int:
    return len(_directions(rows))


def _across(glides: Array, axes: Array) -> Array:
    """Orthonormal directions (3 - r, 3) across the glides (r, 3), from `axes` if possible."""
    if len(glides) == 0:
        return axes.T
    free = [n for n in axes.T if np.abs(glides @ n).max() < DEPENDENT]
    if len(free) == 3 - len(glides):
        return np.array(free).reshape(-1, 3)
    return np.asarray(np.linalg.svd(glides)[2][len(glides) :])


def _is_group(e: Array, glides: Array) -> bool:
    """Whether rotation about e maps the span of the glides to itself."""
    turned = np.cross(e, glides)
    return bool(np.abs(turned - turned @ glides.T @ glides).max(initial=0.0) < DEPENDENT)


def _unknown(X: Array) -> ModelError:
    return ModelError(
        f"its {len(X)} free screws belong neither to a lower pair nor to a universal joint; build "
        "it from two joints with an intermediate body"
    )


def frames_in_bodies(frame: Array, first: Array, second: Array) -> tuple[Array, Array]:
    """A and B (4, 4) in bodies with poses `first` and `second`, both frames being at `frame`."""
    return se3.inverse(first) @ frame, se3.inverse(second) @ frame
