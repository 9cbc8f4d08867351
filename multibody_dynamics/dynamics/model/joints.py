# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joint screws of the common joints, for :func:`.model_from_screws`.

Each function returns the screw Y (6,), or (k, 6) for a joint with k degrees of freedom, in the
inertial frame at q = 0. Points are in m; axes need not be of unit length. A joint with k degrees of
freedom is a chain of k joints with one degree of freedom each, in the order of the rows, with
massless bodies in between: exp(Y_1 q_1) ... exp(Y_k q_k), [M21] section II.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..core import Array, InputError, as_array, exactly
from ..lie import so3

ORIGIN = (0.0, 0.0, 0.0)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

# Names of the coordinates, appended to the joint's name.
PLANAR = ("x", "y", "yaw")
SPHERICAL = ("yaw", "pitch", "roll")
FLOATING = ("x", "y", "z", "yaw", "pitch", "roll")


def revolute(axis: Any, point: Any = ORIGIN) -> Array:
    """Screw (6,) of a rotation by q rad about the line through `point` along `axis`: (e, p x e)."""
    return helical(axis, point, 0.0)


def prismatic(axis: Any) -> Array:
    """Screw (6,) of a translation by q m along `axis`: (0, e)."""
    return np.concatenate([np.zeros(3), unit("axis", axis)])


def helical(axis: Any, point: Any, pitch: float) -> Array:
    """Screw (6,) of a rotation by q rad that advances `pitch` m/rad: (e, p x e + h e)."""
    e = unit("axis", axis)
    p = exactly("point", point, (3,))
    h = float(exactly("pitch", pitch, ()))
    return np.concatenate([e, np.cross(p, e) + h * e])


def cylindrical(axis: Any, point: Any = ORIGIN) -> Array:
    """Screws (2, 6) of a translation along the axis and a rotation about it."""
    return np.stack([prismatic(axis), revolute(axis, point)])


def universal(point: Any, axis1: Any, axis2: Any) -> Array:
    """Screws (2, 6) of a rotation about `axis1`, then about `axis2`, which moves with the first."""
    if np.linalg.norm(np.cross(unit("axis1", axis1), unit("axis2", axis2))) < 1e-9:
        raise InputError("a universal joint requires two axes that are not parallel")
    return np.stack([revolute(axis1, point), revolute(axis2, point)])


def spherical(point: Any = ORIGIN) -> Array:
    """Screws (3, 6) of yaw, pitch and roll about `point`: R = Rot_z(q_1) Rot_y(q_2) Rot_x(q_3).

    Singular at the pitch q_2 = +-pi/2, where yaw and roll share one axis; stay away from it.
    """
    return np.stack([revolute(axis, point) for axis in (Z, Y, X)])


def planar(normal: Any = Z, point: Any = ORIGIN) -> Array:
    """Screws (3, 6) of translations x and y in a plane, then a rotation about its normal.

    The rotation axis passes through `point`. The directions of x and y are those of the inertial
    frame, turned by :func:`turn_z_to` the normal.
    """
    n = unit("normal", normal)
    R = turn_z_to(n)
    return np.stack([prismatic(R[:, 0]), prismatic(R[:, 1]), revolute(n, point)])


def floating(point: Any = ORIGIN) -> Array:
    """Screws (6, 6) of translations x, y, z, then yaw, pitch and roll about `point`.

    Singular at the pitch +-pi/2, see :func:`spherical`. If the motion of the base is given, pass it
    to the dynamics as their argument `base` instead.
    """
    return np.concatenate([np.stack([prismatic(axis) for axis in (X, Y, Z)]), spherical(point)])


# The joints of files, by name: the arguments, and the function of them
FREE_SCREWS: Mapping[str, tuple[tuple[str, ...], Callable[..., Array]]] = {
    "weld": ((), lambda: np.zeros((0, 6))),
    "revolute": (("axis", "point"), revolute),
    "prismatic": (("axis",), prismatic),
    "helical": (("axis", "point", "pitch"), helical),
    "cylindrical": (("axis", "point"), cylindrical),
    "spherical": (("point",), spherical),
    "planar": (("axis", "point"), planar),
    "universal": (("point", "axis", "second_axis"), universal),
    "screws": (("screws",), lambda screws: as_array("screws", screws, (6,))),
}


def unit(name: str, value: Any) -> Array:
    """`value` (3,) scaled to unit length; InputError if it is zero."""
    e = as_array(name, value, (3,))
    if e.shape != (3,) or not np.any(e):
        raise InputError(f"{name} must be a nonzero vector of three numbers, got {value}")
    e = e / np.abs(e).max()
    return e / np.linalg.norm(e)


def turn_z_to(axis: Any) -> Array:
    """A rotation (3, 3) that takes the z axis to the unit vector `axis`.

    It is the smallest one if `axis` points upwards; otherwise it includes half a turn about x.
    """
    e = as_array("axis", axis, (3,))
    flip = np.diag([1.0, -1.0, -1.0]) if e[2] < 0 else np.eye(3)
    x, y, z = flip @ e
    W = so3.hat((-y, x, 0.0))
    return flip @ (np.eye(3) + W + W @ W / (1 + z))
