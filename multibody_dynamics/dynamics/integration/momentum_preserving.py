# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Integration of free bodies that conserves their spatial momentum exactly.

In [M18d] (36), Pi^s' = W^s, the right-hand side does not contain Pi^s, and therefore any
Runge-Kutta method leaves Pi^s unchanged if W^s = 0. The pose follows on SE(3), right-trivialised:

    C' = V^s^ C,   V^s = Ad_C M^b^-1 Ad_C^T Pi^s,   C_1 = exp(X) C_0,   X' = dexp_X^-1 V^s.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Array, InputError, as_array, times
from ..lie import se3
from .absolute_systems import AbsoluteSystem
from .butcher import ButcherTableau, tableau
from .integrators import Integration, consistent_start
from .munthe_kaas_method import output_times


def integrate_momenta(
    system: AbsoluteSystem,
    t_end: float,
    step: float,
    method: str | ButcherTableau = "rk4",
    *,
    start: tuple[Any, Any] | None = None,
    wrenches: Callable[[float, Array], Any] | None = None,
) -> Integration:
    """Integrate the motion of free bodies by their spatial momenta; plain Python.

    Parameters
    ----------
    system : must have no joints or springs; its gravity and constant wrenches are applied.
    wrenches : law (t, pose (n, 4, 4)) -> (n, 6), added to the constant wrenches, in inertial axes
        about the inertial origin.
    Other parameters and the result: see :func:`.integrate`.

    Raises InputError for a system with joints or springs, and as :func:`.integrate` does.
    """
    if system.joints or system.springs:
        raise InputError(
            f"'{system.name}' has joints or springs; integrate_momenta requires free bodies"
        )
    method, instants = tableau(method), output_times(t_end, step)
    C, velocity = consistent_start(system, start)
    inverse = np.linalg.inv([body.inertia for body in system.bodies])
    mass = np.array([body.inertia[5, 5] for body in system.bodies])
    Pi = times(se3.coAd(C), times(np.linalg.inv(inverse), system.body_twists(C, velocity)))

    def wrench(t: float, C: Array) -> Array:
        W = np.array(system.applied_wrenches)
        weight = mass[:, None] * system.gravity
        W[:, :3] += np.cross(C[:, :3, 3] + times(C[:, :3, :3], system.centers), weight)
        W[:, 3:] += weight
        return W if wrenches is None else W + as_array("wrenches", wrenches(t, C), W.shape)

    def body_twist(C: Array, Pi: Array) -> Array:
        return times(inverse, times(np.swapaxes(se3.Ad(C), -1, -2), Pi))

    poses, twists = [C], [body_twist(C, Pi)]
    slopes = np.zeros((2, method.stages, system.n, 6))
    for t, t_next in itertools.pairwise(instants):
        h = t_next - t
        for j in range(method.stages):
            X, dPi = h * np.einsum("l,klne->kne", method.a[j, :j], slopes[:, :j])
            C_j = se3.exp(X) @ C
            V = times(se3.Ad(C_j), body_twist(C_j, Pi + dPi))
            slopes[:, j] = times(se3.dexp_inv(X), V), wrench(t + method.c[j] * h, C_j)
        X, dPi = h * np.einsum("l,klne->kne", method.b, slopes)
        C, Pi = se3.exp(X) @ C, Pi + dPi
        poses.append(C)
        twists.append(body_twist(C, Pi))
    pose = np.stack(poses)
    return Integration(
        system, instants, pose, system.from_body_twists(pose, np.stack(twists)), len(instants) - 1
    )
