"""Twists and their time derivatives from one representation into another, [M18d] table 3.

spatial: (omega, velocity of the body point at the inertial origin), inertial axes.
body:    (R^T omega, R^T r').     hybrid: (omega, r').     mixed: (R^T omega, r').
Here r is the origin of the body frame. Derivatives are componentwise in each representation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import se3
from .inputs import Array


def from_spatial(pose: Array, rates: Sequence[Array], representation: str) -> list[Array]:
    """Convert the spatial twist of a body at `pose` (..., 4, 4), and up to three derivatives of it.

    `rates` holds the twist (..., 6), then as many of its derivatives as are known.
    """
    if representation == "spatial":
        return list(rates)
    if representation == "body":
        return _body(pose, rates)
    velocities = _origin_velocities(pose[..., :3, 3], rates)
    turning = rates if representation == "hybrid" else _body(pose, rates)
    return [
        np.concatenate([rate[..., :3], velocity], axis=-1)
        for rate, velocity in zip(turning, velocities, strict=True)
    ]


def _body(pose: Array, rates: Sequence[Array]) -> list[Array]:
    """V^b = Ad_C^-1 V and derivatives: each differentiation adds -ad_V, [M21] (39)."""
    V = [rate[..., None] for rate in rates]
    seen = V[:2]  # ad_V V = 0
    if len(V) > 2:
        ad = se3.ad(rates[0])
        seen.append(V[2] - ad @ V[1])
        if len(V) > 3:
            seen.append(V[3] - 2 * ad @ V[2] + ad @ ad @ V[1])
    to_body = se3.Ad(se3.inverse(pose))
    return [(to_body @ x)[..., 0] for x in seen]


def _origin_velocities(r: Array, rates: Sequence[Array]) -> list[Array]:
    """r', r'', r''', r'''' of the body-fixed point at r: r' = v + omega x r, differentiated."""
    omega = [rate[..., :3] for rate in rates]
    points = [r]
    binomials = ((1,), (1, 1), (1, 2, 1), (1, 3, 3, 1))
    for k, rate in enumerate(rates):
        turned = sum(c * np.cross(omega[j], points[k - j]) for j, c in enumerate(binomials[k]))
        points.append(rate[..., 3:] + turned)
    return points[1:]
