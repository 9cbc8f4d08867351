# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Spatial inertia (6, 6) of a rigid body, angular part first; [M21] (12) and (13).

M = [[I, m c~], [-m c~, m 1]] with mass m, centre of mass (COM) c and inertia I about the origin of
the frame. This module composes and decomposes it, moves it to another frame, and checks that it is
physically possible.
"""

import warnings
from typing import Any

import numpy as np

from ..core import Array, InputError, ModelError, ModelWarning, as_array, exactly
from ..lie import se3, so3

ROUNDING = 1e-6  # relative; data sheets print about five digits
CANCELLATION = 1e-12  # relative; rounding error of moving a distant point mass back to its COM


def spatial_inertia(mass: float, com: Any, inertia_com: Any) -> Array:
    """M^b (6, 6) about the origin of the body frame, [M21] (12).

    `mass` in kg; `com` (3,) in m from that origin; `inertia_com` (3, 3) in kg m^2 about the centre
    of mass. All in the axes of the body frame.
    """
    c = so3.hat(exactly("com", com, (3,)))
    inertia = exactly("inertia_com", inertia_com, (3, 3))
    m = float(exactly("mass", mass, ()))
    with np.errstate(over="ignore", invalid="ignore"):
        M = np.block([[inertia - m * c @ c, m * c], [-m * c, m * np.eye(3)]])
    if not np.isfinite(M).all():
        raise InputError(f"a mass of {m:g} kg with its centre at {com}: too large to compute with")
    return M


def decompose(M: Any) -> tuple[float, Array, Array]:
    """Mass, centre of mass (3,) and inertia about it (3, 3) of a spatial inertia (6, 6).

    The centre of mass of a massless body is the origin.
    """
    M = as_array("M", M, (6, 6))
    mass = float(np.trace(M[3:, 3:]) / 3)
    com = so3.vee(M[:3, 3:]) / mass if mass != 0 else np.zeros(3)
    c = so3.hat(com)
    return mass, com, M[:3, :3] + mass * c @ c


def transform(M: Any, C: Any) -> Array:
    """The spatial inertia M of frame b in the frame in which b has the pose C, [M21] (13)."""
    coAd = se3.coAd(C)
    return coAd @ as_array("M", M, (6, 6)) @ np.swapaxes(coAd, -1, -2)


def principal_moments(inertia_com: Array) -> Array:
    """Principal moments of inertia (3,) in ascending order, kg m^2."""
    return np.asarray(np.linalg.eigvalsh((inertia_com + inertia_com.T) / 2))


def check(M: Array, what: str) -> None:
    """Raise ModelError, naming `what`, if no rigid body can have the spatial inertia M.

    Rejects a structure other than [M21] (12), a negative mass, and an inertia about the centre of
    mass that is not positive semidefinite.
    """
    if M.shape != (6, 6) or not np.isfinite(M).all():
        raise ModelError(f"{what}: the spatial inertia must be 6x6 and finite")
    mass, com, inertia = decompose(M)
    scale = np.abs(M).max()
    if np.abs(spatial_inertia(mass, com, inertia) - M).max() > ROUNDING * scale or (
        np.abs(M - M.T).max() > ROUNDING * scale
    ):
        raise ModelError(
            f"{what}: not a spatial inertia of the form [[I, m c~], [-m c~, m 1]], angular part "
            "first; to make one from mass, COM and inertia, use dyn.spatial_inertia"
        )
    if mass < 0:
        raise ModelError(f"{what}: the mass is {mass:g} kg; it cannot be negative")
    moments = principal_moments(inertia)
    if moments[0] < -_slack(M, moments):
        raise ModelError(
            f"{what}: principal moments of inertia about the COM are {_listed(moments)} kg m^2; "
            "none can be negative. Was the inertia given about the frame's origin instead?"
        )


def check_triangle(M: Array, what: str, *, strict: bool = False) -> None:
    """Warn if a principal moment exceeds the sum of the other two; ModelError with `strict`.

    No mass distribution violates this triangle inequality, but identified and hand-written models
    often do.
    """
    moments = principal_moments(decompose(M)[2])
    if moments[2] <= moments[0] + moments[1] + _slack(M, moments):
        return
    message = (
        f"{what}: principal moments of inertia {_listed(moments)} kg m^2 violate the triangle "
        "inequality: the largest exceeds the sum of the other two, which is impossible for a "
        "rigid body"
    )
    if strict:
        raise ModelError(message)
    warnings.warn(message, ModelWarning, stacklevel=3)


def _slack(M: Array, moments: Array) -> float:
    return float(ROUNDING * np.abs(moments).max() + CANCELLATION * np.abs(M[:3, :3]).max())


def _listed(values: Array) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"
