# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The rotation group SO(3), batched over leading dimensions.

A rotation vector ``omega`` is (..., 3) in rad, a rotation matrix ``R`` is (..., 3, 3). ``1`` is the
identity, ``w^ = hat(omega)`` and ``x = |omega|``. Every function raises InputError for a wrong
trailing shape and for anything but finite real numbers; batches may be empty. Call the functions
through the module: ``so3.exp``, ``so3.log``, ``so3.dexp``.

Results are accurate to 1e-14 of their largest component for x from 0 to beyond 2 pi; after many
turns the rounding of x itself adds ``eps x``. No formula is truncated near zero: the scalar
coefficients are those of :mod:`.exponentials`, accurate to rounding at any angle.

[MT13] Mueller and Terze 2013.
"""

from typing import Any

import numpy as np

from ..core import Array, InputError, as_array
from . import screw_matrices
from .exponentials import CROSSOVER, cotangent, quaternion_products, stumpff_closed, stumpff_series

ROTATION_TOLERANCE = 1e-6  # largest accepted entry of R R^T - 1


def hat(omega: Any) -> Array:
    """The skew-symmetric w^ (..., 3, 3) with w^ a = omega x a."""
    return screw_matrices.hat(as_array("omega", omega, (3,)))


def vee(matrix: Any) -> Array:
    """The vector (..., 3) of the skew part of `matrix` (..., 3, 3); the inverse of :func:`hat`."""
    m = as_array("matrix", matrix, (3, 3))
    skew = (m - m.swapaxes(-1, -2)) / 2
    return np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)


def exp(omega: Any) -> Array:
    """The rotation about the axis `omega` by the angle |omega|; [MT13] (9), corrected.

    R = 1 + (sin x / x) w^ + ((1 - cos x) / x^2) w^^2
    """
    c = stumpff(omega)
    return polynomial(omega, c[1], c[2])


def log(R: Any) -> Array:
    """The rotation vector (..., 3) with exp(log(R)) = R and length at most pi.

    The rounding of a float64 R limits the accuracy: the error is about eps |omega| for small
    rotations, and about eps near pi. At pi both signs of the axis are valid, and the rounding of R
    decides. An orthogonality defect of R carries over to the result.

    Raises InputError for an invalid rotation: an entry of R R^T - 1 above 1e-6, or det R < 0.
    """
    R = as_rotation("R", R)
    entries = np.moveaxis(R.reshape(*R.shape[:-2], 9), -1, 0)
    H = np.moveaxis(np.array(quaternion_products(entries)), (0, 1), (-2, -1))
    pivot = np.argmax(np.diagonal(H, axis1=-2, axis2=-1), axis=-1)
    h = np.take_along_axis(H, pivot[..., None, None], axis=-1)[..., 0]
    h = np.where(
        h[..., :1] < 0, -h, h
    )  # h and -h are the same rotation; this one is at most half a turn
    cosine, u = h[..., :1], h[..., 1:]
    sine = np.hypot.reduce(u, axis=-1, keepdims=True)  # hypot: 1e-170 squared underflows
    return 2 * np.arctan2(sine, cosine) / np.where(sine > 0, sine, 1) * u


def inverse(R: Any) -> Array:
    """R^-1 = R^T."""
    return as_array("R", R, (3, 3)).swapaxes(-1, -2).copy()


def Ad(R: Any) -> Array:
    """Ad_R = R: transforms angular velocities."""
    return as_array("R", R, (3, 3)).copy()


def ad(omega: Any) -> Array:
    """ad_omega = w^, the derivative of Ad: ad(a) b = a x b."""
    return hat(omega)


def coAd(R: Any) -> Array:
    """coAd_R = Ad_R^-T = R: transforms moments."""
    return Ad(R)


def coad(omega: Any) -> Array:
    """coad_omega = -ad_omega^T = w^, the derivative of coAd."""
    return hat(omega)


def dexp(omega: Any) -> Array:
    """Right-trivialised differential: d/dt exp(omega) = hat(dexp_omega omega') exp(omega).

    dexp_omega = 1 + ((1 - cos x) / x^2) w^ + ((x - sin x) / x^3) w^^2, singular where x = 2 pi k.
    """
    c = stumpff(omega)
    return polynomial(omega, c[2], c[3])


def dexp_inv(omega: Any) -> Array:
    """The inverse of dexp; [MT13] (11).

    dexp_omega^-1 = 1 - w^/2 + ((1 - (x/2) cot(x/2)) / x^2) w^^2

    It has a pole at x = 2 pi, near which the relative error grows like eps x / |2 pi - x|.
    """
    return polynomial(omega, -0.5, cotangent(stumpff(omega))[0])


def as_rotation(name: str, value: Any) -> Array:
    """`value` as rotation matrices (..., 3, 3); InputError that names the first invalid one."""
    R = as_array(name, value, (3, 3))
    with np.errstate(over="ignore", invalid="ignore"):
        defect = np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max(axis=(-2, -1))
        wrong = ~((defect <= ROTATION_TOLERANCE) & (np.linalg.det(R) > 0))
    if wrong.any():
        index = tuple(int(k) for k in np.argwhere(wrong)[0])
        where = name + (f"[{', '.join(map(str, index))}]" if index else "")
        if defect[index] <= ROTATION_TOLERANCE:
            found = "its determinant is -1, which makes it a reflection"
        else:
            found = (
                f"R R^T differs from 1 by {defect[index]:.2g}, more than the "
                f"{ROTATION_TOLERANCE:g} allowed"
            )
        raise InputError(f"{where} is not a rotation matrix: {found}")
    return R


def stumpff(omega: Any) -> list[Array]:
    """The coefficients c_0 ... c_6 of :mod:`.exponentials` at x = |omega|, each (..., 1, 1)."""
    x = np.hypot.reduce(as_array("omega", omega, (3,)), axis=-1)[..., None, None]
    near = stumpff_series(np.minimum(x, CROSSOVER) ** 2)
    far = stumpff_closed(np.maximum(x, CROSSOVER))
    return [np.where(x < CROSSOVER, n, f) for n, f in zip(near, far, strict=True)]


def polynomial(omega: Any, f: Array | float, g: Array | float) -> Array:
    """1 + f w^ + g w^^2 (..., 3, 3); f and g (..., 1, 1)."""
    W = hat(omega)
    return np.eye(3) + f * W + g * W @ W
