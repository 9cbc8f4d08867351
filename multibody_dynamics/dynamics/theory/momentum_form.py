# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion in the phase space of joint coordinates and body momenta; [M18d] (79).

    sum_i J_i^T (Pi_i' - W_i) = 0        M_i J_i q' = Pi_i

with the momenta Pi_i of the bodies in spatial representation. The total momentum of a free robot
without external forces is constant. It is linear in this state, so Runge-Kutta methods preserve it
exactly.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core import Array, DynamicsError, as_array, broadcast_shapes, times, transposed
from ..model import MultibodyModel
from ..rigid import (
    ROUNDING,
    Wrenches,
    along_paths,
    forward_dynamics,
    forward_kinematics,
    newton_euler,
    spatial_bodies,
    subtree_sums,
)


class PhaseRates(NamedTuple):
    """Result of `momentum_equations`: q' (..., n), rad/s or m/s, and Pi' (..., n, 6), N m and N."""

    qd: Array
    momenta_dot: Array


def body_momenta(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """The momenta Pi_i = M_i J_i q' (..., N, 6) of all bodies, [M18d] (35) and (79).

    Angular part first, kg m^2/s and kg m/s, in inertial axes about the inertial origin. Raises
    InputError for wrong shapes, NaN or infinity.
    """
    return spatial_bodies(model, q, qd).momenta


def rates_of_momenta(model: MultibodyModel, q: Any, momenta: Any) -> Array:
    """Joint rates q' (..., n) from the body momenta (..., N, 6); the inverse of `body_momenta`.

    Solves (sum_i J_i^T M_i J_i) q' = sum_i J_i^T Pi_i. Momenta that correspond to no joint motion,
    for instance because of integration errors, give the motion with the same generalised momentum,
    which is the nearest one in kinetic energy. Raises InputError for wrong shapes, NaN or infinity,
    and DynamicsError if the mass matrix without the rotors is singular.
    """
    momenta = as_array("momenta", momenta, (model.body_count, 6))
    bodies = spatial_bodies(model, q, np.zeros(model.n))
    S, carried = bodies.screws, subtree_sums(model, bodies.inertias, -3)
    broadcast_shapes(("q", "momenta"), (S.shape[:-2], momenta.shape[:-2]))
    p = model.collect(np.sum(S * subtree_sums(model, momenta, -2), axis=-1), -1)
    # mass_matrix() minus the rotor inertias would cancel: they may far exceed those of the bodies
    entries = times(carried, S) @ transposed(S)
    M = along_paths(model, entries, transposed(entries))
    size = model.collect(np.sum(np.abs(S) * times(np.abs(carried), np.abs(S)), axis=-1), -1)
    if _is_singular(M, size):
        raise DynamicsError(
            f"robot '{model.name}': the momenta of the bodies do not determine the rates; the mass "
            "matrix without the rotors is singular"
        )
    return np.asarray(np.linalg.solve(M, p[..., None])[..., 0])


def _is_singular(M: Array, size: Array) -> bool:
    """Whether a pivot of M (..., n, n) is rounding error, given terms of `size` (..., n)."""
    try:
        roots = np.diagonal(np.linalg.cholesky(M), axis1=-2, axis2=-1)
    except np.linalg.LinAlgError:
        return True
    return bool(np.any(roots**2 <= ROUNDING * size))


def momentum_equations(
    model: MultibodyModel, q: Any, momenta: Any, tau: Any, *, wrenches: Wrenches | None = None
) -> PhaseRates:
    """The rates (q', Pi') of the phase (q, Pi) under the joint torques tau; [M18d] (79).

    q and tau are (..., n), `momenta` (..., n, 6) as in :func:`body_momenta`; gravity and `wrenches`
    act as in :func:`.forward_dynamics`. Pi_i' is the total wrench on body i, including that of its
    joints, by the balance (38). Raises InputError for wrong shapes or names, NaN or infinity, and
    DynamicsError if the mass matrix is singular.
    """
    qd = rates_of_momenta(model, q, momenta)
    qdd = forward_dynamics(model, q, qd, tau, wrenches=wrenches)
    motion = forward_kinematics(model, q, qd, qdd)
    rates = newton_euler(
        motion.pose, model.inertias, motion.twist, motion.acceleration, representation="spatial"
    )
    return PhaseRates(np.broadcast_to(qd, qdd.shape).copy(), rates)
