"""Spatial inertia of a rigid body: 6x6, angular part first, [M21] (12) and (13)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..core import Array, ModelError, ModelWarning, as_array
from ..lie import se3, so3

# A data sheet prints five digits or so; what they leave open is no fault of the body.
ROUNDING = 1e-6
# What is left of the inertia of a point mass when it is taken back to its centre of mass.
CANCELLATION = 1e-12


def spatial_inertia(mass: float, com: Any, inertia_com: Any) -> Array:
    """M^b (6, 6) about the origin of the body frame, [M21] (12).

    `mass` in kg; `com` (3,) in m, from the frame's origin; `inertia_com` (3, 3) in kg m^2, about
    the centre of mass. All in the axes of the body frame.
    """
    c = so3.hat(as_array("com", com, (3,)))
    inertia = as_array("inertia_com", inertia_com, (3, 3))
    m = float(as_array("mass", mass, ()))
    return np.block([[inertia - m * c @ c, m * c], [-m * c, m * np.eye(3)]])


def decompose(M: Any) -> tuple[float, Array, Array]:
    """Mass, centre of mass (3,) and inertia about it (3, 3) of a spatial inertia (6, 6).

    A massless body has its centre of mass at the origin.
    """
    M = as_array("M", M, (6, 6))
    mass = float(np.trace(M[3:, 3:]) / 3)
    com = so3.vee(M[:3, 3:]) / mass if mass != 0 else np.zeros(3)
    c = so3.hat(com)
    return mass, com, M[:3, :3] + mass * c @ c


def transform(M: Any, C: Any) -> Array:
    """The inertia M of frame b, seen from the frame in which b has the pose C, [M21] (13)."""
    coAd = se3.coAd(C)
    return coAd @ as_array("M", M, (6, 6)) @ np.swapaxes(coAd, -1, -2)


def principal_moments(inertia_com: Array) -> Array:
    """The principal moments of inertia (3,), ascending, kg m^2."""
    return np.asarray(np.linalg.eigvalsh((inertia_com + inertia_com.T) / 2))


def check(M: Array, what: str) -> None:
    """Raise ModelError for what no body can have; `what` names it in the message.

    That is: a structure other than [M21] (12), a negative mass, or an inertia about the centre of
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
            "first; from a mass, COM and inertia use dyn.spatial_inertia"
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
    """Warn (ModelWarning; ModelError with `strict`) if one principal moment exceeds the other two.

    No distribution of mass has that, but identified and hand-written models often do.
    """
    moments = principal_moments(decompose(M)[2])
    if moments[2] <= moments[0] + moments[1] + _slack(M, moments):
        return
    message = (
        f"{what}: principal moments of inertia {_listed(moments)} kg m^2 violate the triangle "
        "inequality: the largest exceeds the sum of the other two, which no rigid body has"
    )
    if strict:
        raise ModelError(message)
    warnings.warn(message, ModelWarning, stacklevel=3)


def _slack(M: Array, moments: Array) -> float:
    return float(ROUNDING * np.abs(moments).max() + CANCELLATION * np.abs(M[:3, :3]).max())


def _listed(values: Array) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"
