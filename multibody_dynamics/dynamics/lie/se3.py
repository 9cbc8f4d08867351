# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The group SE(3) of rigid-body motions, batched over leading dimensions.

A screw or twist ``X = (omega, v)`` is (..., 6), angular part first; a pose ``C = [[R, p], [0, 1]]``
is (..., 4, 4); a wrench is (m, f). Radians and metres. ``w^``, ``v^`` and ``p^`` are so3.hat of
omega, v and p, and ``x = |omega|``. Every function raises InputError for a wrong trailing shape and
for anything but finite real numbers; batches may be empty. Call the functions through the module:
``se3.exp``, ``se3.log``, ``se3.Ad``.

Each block of a result is accurate to 1e-14 of its largest component for x from 0 to beyond 2 pi,
whatever the magnitudes of omega and v. Near x = 2 pi, where dexp is singular, the translation of
exp is accurate relative to v.

[MT13] Mueller and Terze 2013, [M21] Mueller 2021.
"""

from typing import Any

import numpy as np

from ..core import Array, InputError, as_array, broadcast_shapes, times
from . import screw_matrices, so3


def from_rotation_translation(R: Any, p: Any) -> Array:
    """The pose C = [[R, p], [0, 1]] of R (..., 3, 3) and p (..., 3), broadcast."""
    R, p = as_array("R", R, (3, 3)), as_array("p", p, (3,))
    C = np.zeros((*broadcast_shapes(("R", "p"), (R.shape[:-2], p.shape[:-1])), 4, 4))
    C[..., :3, :3] = R
    C[..., :3, 3] = p
    C[..., 3, 3] = 1
    return C


def hat(X: Any) -> Array:
    """X^ = [[w^, v], [0, 0]] (..., 4, 4); [MT13] (6)."""
    omega, v = _split(X)
    matrix = np.zeros((*omega.shape[:-1], 4, 4))
    matrix[..., :3, :3] = so3.hat(omega)
    matrix[..., :3, 3] = v
    return matrix


def vee(matrix: Any) -> Array:
    """The screw (..., 6) of `matrix` (..., 4, 4); the inverse of :func:`hat`."""
    m = as_array("matrix", matrix, (4, 4))
    return np.concatenate([so3.vee(m[..., :3, :3]), m[..., :3, 3]], axis=-1)


def exp(X: Any) -> Array:
    """The pose [[exp(omega), dexp_omega v], [0, 1]].

    [MT13] (8) writes the same translation as (1 - exp(omega)) (omega x v) / x^2 + h omega with
    h = omega . v / x^2, which loses digits for small x; dexp_omega v does not.
    """
    omega, v = _split(X)
    return from_rotation_translation(so3.exp(omega), times(so3.dexp(omega), v))


def log(C: Any) -> Array:
    """The screw (..., 6) with exp(log(C)) = C and x <= pi: omega = log(R), v = dexp_omega^-1 p.

    At x = pi both signs of omega are valid, each with its own v (see so3.log). Raises InputError
    for an invalid pose: R is not a rotation, or the last row is not (0, 0, 0, 1).
    """
    C = as_array("C", C, (4, 4))
    if np.any(np.abs(C[..., 3, :] - (0, 0, 0, 1)) > so3.ROTATION_TOLERANCE):
        raise InputError("C: the last row of a pose must be (0, 0, 0, 1)")
    omega = so3.log(C[..., :3, :3])
    return np.concatenate([omega, times(so3.dexp_inv(omega), C[..., :3, 3])], axis=-1)


def inverse(C: Any) -> Array:
    """C^-1 = [[R^T, -R^T p], [0, 1]]."""
    R, p = _parts(C)
    return from_rotation_translation(R.swapaxes(-1, -2), -times(R.swapaxes(-1, -2), p))


def Ad(C: Any) -> Array:
    """Ad_C = [[R, 0], [p^ R, R]] (..., 6, 6): twists from the body to the inertial frame."""
    return screw_matrices.Ad(as_array("C", C, (4, 4)))


def coAd(C: Any) -> Array:
    """coAd_C = Ad_C^-T = [[R, p^ R], [0, R]] (..., 6, 6): wrenches, body to inertial frame.

    The power is invariant: (Ad_C V) . (coAd_C W) = V . W.
    """
    return screw_matrices.coAd(as_array("C", C, (4, 4)))


def ad(X: Any) -> Array:
    """ad_X = [[w^, 0], [v^, w^]] (..., 6, 6), the derivative of Ad; [M21] (37), [MT13] (7).

    ad_X Y is the Lie bracket (screw product) [X, Y].
    """
    return screw_matrices.ad(as_array("X", X, (6,)))


def coad(X: Any) -> Array:
    """coad_X = -ad_X^T = [[w^, v^], [0, w^]] (..., 6, 6), the derivative of coAd."""
    return screw_matrices.coad(as_array("X", X, (6,)))


def dexp(X: Any) -> Array:
    """Right-trivialised differential: d/dt exp(X) = hat(dexp_X X') exp(X), the spatial twist.

    The body-fixed twist is dexp_{-X} X'. With c_k of so3.stumpff:

    dexp_X = [[P, 0], [D, P]], P = dexp_omega = 1 + c_2 w^ + c_3 w^^2
    D = c_2 v^ + c_3 (w^ v^ + v^ w^) + (omega . v) ((2 c_4 - c_3) w^ + (3 c_5 - c_4) w^^2)
    """
    c = so3.stumpff(_split(X)[0])
    return _tangent(X, c[2], c[3], 2 * c[4] - c[3], 3 * c[5] - c[4])


def dexp_inv(X: Any) -> Array:
    """The inverse of dexp. With g of so3.cotangent:

    dexp_X^-1 = [[P, 0], [D, P]], P = dexp_omega^-1 = 1 - w^/2 + g w^^2
    D = -v^/2 + g (w^ v^ + v^ w^) + (omega . v) (g'/x) w^^2

    Equal to [MT13] (10), whose differences of reciprocals have errors of 2e-11 at x = 1e-2 and 3e-5
    at 1e-4. It has a pole at x = 2 pi, near which the relative error grows like eps x / |2 pi - x|,
    in D like its square.
    """
    g, dg = so3.cotangent(so3.stumpff(_split(X)[0]))
    return _tangent(X, -0.5, g, 0, dg)


def as_pose(name: str, value: Any) -> Array:
    """`value` as poses (..., 4, 4); InputError, with the reason, if one is invalid."""
    C = as_array(name, value, (4, 4))
    so3.as_rotation(f"the rotation of {name}", C[..., :3, :3])
    if np.any(C[..., 3, :] != (0, 0, 0, 1)):
        raise InputError(f"{name}: the last row of a pose must be (0, 0, 0, 1)")
    return C


def _tangent(
    X: Any, f: Array | float, g: Array | float, df: Array | float, dg: Array | float
) -> Array:
    """[[P, 0], [D, P]]: P = 1 + f w^ + g w^^2, D its derivative along v; df is f'/x, dg is g'/x.

    Any power series in ad_X has this form, with P the same series in w^.
    """
    omega, v = _split(X)
    P = so3.polynomial(omega, f, g)
    W, V = so3.hat(omega), so3.hat(v)
    s = np.sum(omega * v, axis=-1)[..., None, None]
    D = f * V + g * (W @ V + V @ W) + s * (df * W + dg * W @ W)
    return screw_matrices.blocks(P, np.zeros_like(P), D, P)


def _split(X: Any) -> tuple[Array, Array]:
    X = as_array("X", X, (6,))
    return X[..., :3], X[..., 3:]


def _parts(C: Any) -> tuple[Array, Array]:
    C = as_array("C", C, (4, 4))
    return C[..., :3, :3], C[..., :3, 3]
