"""Joint screws of the usual joints; those with several degrees of freedom as compositions.

Every function returns screws Y (6,), or (k, 6) for a joint with k degrees of freedom, in the
inertial frame at q = 0: what :func:`.model_from_screws` takes. Axes need not be of unit length;
points are in m. A joint of k degrees of freedom is k joints of one, in the order of the rows, with
massless bodies in between: exp(Y_1 q_1) ... exp(Y_k q_k), [M21] section II.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import Array, InputError, as_array
from ..lie import so3

ORIGIN = (0.0, 0.0, 0.0)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

# Speaking names of the coordinates, appended to the joint's name.
PLANAR = ("x", "y", "yaw")
SPHERICAL = ("yaw", "pitch", "roll")
FLOATING = ("x", "y", "z", "yaw", "pitch", "roll")


def revolute(axis: Any, point: Any = ORIGIN) -> Array:
    """Rotation by q rad about the line through `point` (3,) along `axis` (3,): (e, p x e)."""
    return helical(axis, point, 0.0)


def prismatic(axis: Any) -> Array:
    """Translation by q m along `axis` (3,): (0, e)."""
    return np.concatenate([np.zeros(3), unit("axis", axis)])


def helical(axis: Any, point: Any, pitch: float) -> Array:
    """Rotation by q rad, advancing `pitch` m per radian along the axis: (e, p x e + h e)."""
    e = unit("axis", axis)
    p = as_array("point", point, (3,))
    h = float(as_array("pitch", pitch, ()))
    return np.concatenate([e, np.cross(p, e) + h * e])


def cylindrical(axis: Any, point: Any = ORIGIN) -> Array:
    """(2, 6): translation along the axis, rotation about it."""
    return np.stack([prismatic(axis), revolute(axis, point)])


def universal(point: Any, axis1: Any, axis2: Any) -> Array:
    """(2, 6): rotation about `axis1`, then about `axis2` which the first one carries along."""
    if np.linalg.norm(np.cross(unit("axis1", axis1), unit("axis2", axis2))) < 1e-9:
        raise InputError("a universal joint needs two axes that are not parallel")
    return np.stack([revolute(axis1, point), revolute(axis2, point)])


def spherical(point: Any = ORIGIN) -> Array:
    """(3, 6): yaw, pitch and roll, R = Rot_z(q_1) Rot_y(q_2) Rot_x(q_3), about `point`.

    Singular at the pitch q_2 = +-pi/2, where yaw and roll have one axis: keep away from there.
    """
    return np.stack([revolute(axis, point) for axis in (Z, Y, X)])


def planar(normal: Any = Z, point: Any = ORIGIN) -> Array:
    """(3, 6): translations x and y in the plane, then rotation about its normal through `point`.

    The x and y directions are those of the inertial frame turned by :func:`turn_z_to` the normal.
    """
    n = unit("normal", normal)
    R = turn_z_to(n)
    return np.stack([prismatic(R[:, 0]), prismatic(R[:, 1]), revolute(n, point)])


def floating(point: Any = ORIGIN) -> Array:
    """(6, 6): translations x, y, z, then yaw, pitch and roll about `point`, see :func:`spherical`.

    Singular at the pitch +-pi/2. For a base that is moved by something else, give its motion to the
    recursions instead.
    """
    return np.concatenate([np.stack([prismatic(axis) for axis in (X, Y, Z)]), spherical(point)])


def unit(name: str, value: Any) -> Array:
    """`value` (3,) made of unit length; InputError if it is zero."""
    e = as_array(name, value, (3,))
    if e.shape != (3,) or not np.any(e):
        raise InputError(f"{name} must be a vector of three numbers that is not zero, got {value}")
    e = e / np.abs(e).max()
    return e / np.linalg.norm(e)


def turn_z_to(axis: Any) -> Array:
    """A rotation (3, 3) that takes the z axis to the unit vector `axis`.

    The smallest one, where `axis` points upwards; otherwise after a half turn about x.
    """
    e = as_array("axis", axis, (3,))
    flip = np.diag([1.0, -1.0, -1.0]) if e[2] < 0 else np.eye(3)
    x, y, z = flip @ e
    W = so3.hat((-y, x, 0.0))
    return flip @ (np.eye(3) + W + W @ W / (1 + z))
