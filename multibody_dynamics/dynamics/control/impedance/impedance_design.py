# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Design of impedances: dampers with one damping ratio, and the largest stiffness.

Dampers by double diagonalisation: with the modes X of K x = w^2 M x, scaled to X^T M X = 1,

    D = M X diag(2 zeta w) X^T M,    X^T D X = diag(2 zeta w),

so M x'' + D x' + K x = 0 decouples into modes with the damping ratio zeta (A. Albu-Schaeffer, C.
Ott, U. Frese, G. Hirzinger, ICRA 2003). In joint space with K = J^T K_x J, the modes with stiffness
are those of the task inertia (J M^-1 J^T)^-1 and K_x, and D = J^T D_x J in them: one design serves
joint and Cartesian impedances. Modes without stiffness, such as the null space of a redundant arm,
decay at a separate rate.

Links behind springs are always softer than the springs: felt from outside, a link behind a spring K
is at most as stiff as K, with the motor locked. An impedance K_i needs a motor spring of
1 / (1 / K_i - 1 / K), which is infinite at K_i = K. An impedance with the joint stiffness K_i(q)
uses the largest eigenvalue of K^-1 K_i(q) as its share of the springs; designs stay at or below
MOST at all sampled positions. MOST leaves the motor spring finite; it does not make the sampled
loop stable. That limit depends on the period, the delay and the torque feedback, and is found by
judging the loop (`lowered_impedance`).
"""

import numpy as np

from ...core import Array, DynamicsError, InputError
from ...elastic import Actuators
from ...model import MultibodyModel
from ..gains.joint_gains import at_rest, inertias_felt

MOST = 0.8
DEFAULT = 0.25  # use of the springs by default
POSES = 100
ROUNDING = 1e-9


def carrying_stiffness(
    model: MultibodyModel, actuators: Actuators, q: Array, bandwidth: float
) -> Array:
    """(n,) N m/rad: tangent stiffness of the springs, at rest at q or unloaded, whichever is less.
    Rigid joints count as springs for which the default stiffness resonates at `bandwidth` in rad/s.
    """
    loaded = at_rest(model, actuators, q).stiffness
    unloaded = at_rest(model.with_gravity((0.0, 0.0, 0.0)), actuators, q).stiffness
    as_if = inertias_felt(model, actuators, q) * bandwidth**2 / DEFAULT
    return np.where(actuators.is_rigid, as_if, np.minimum(loaded, unloaded))


def use_of_springs(carrying: Array, stiffness: Array) -> Array:
    """(...) largest eigenvalues of K^-1 K_i for `carrying` K (n,) and `stiffness` (..., n, n)."""
    root = np.sqrt(carrying)
    return np.asarray(np.linalg.eigvalsh(stiffness / (root[:, None] * root))[..., -1])


def check_use(
    actuators: Actuators, carrying: Array, stiffness: Array, poses: Array, most: float = MOST
) -> None:
    """Raise InputError if K_i (k, n, n) at any of the poses (k, n) uses more than `most` of the
    springs; rigid joints do not count."""
    chosen = np.flatnonzero(~actuators.is_rigid)
    if not chosen.size:
        return
    block = stiffness[:, chosen[:, None], chosen]
    use = use_of_springs(carrying[chosen], block)
    worst = int(np.argmax(use))
    if use[worst] > most * (1.0 + ROUNDING):
        i = int(chosen[np.argmax(np.diagonal(block[worst]) / carrying[chosen])])
        at = ", ".join(f"{x:.2f}" for x in poses[worst])
        raise InputError(
            f"the stiffness is {use[worst]:.2g} times that of the springs at q = ({at}), most at "
            f"joint '{actuators.joint_names[i]}'; at most {most:.3g} is possible: divide it by "
            f"{use[worst] / most:.3g} or more"
        )


def sampled_poses(model: MultibodyModel, q: Array) -> Array:
    """(POSES + 1, n) q and random positions within the joint limits, or within half a turn or 1 m
    on either side of q where there are none."""
    reach = np.where(model.screws[model.first_bodies, :3].any(axis=1), np.pi, 1.0)
    lower = np.where(np.isfinite(model.limits.lower), model.limits.lower, q - reach)
    upper = np.where(np.isfinite(model.limits.upper), model.limits.upper, q + reach)
    random = np.random.default_rng(0).uniform(lower, upper, (POSES, model.n))
    return np.vstack((q, random))


def impedance_damping(mass: Array, stiffness: Array, ratio: float, least_rate: float) -> Array:
    """The damping matrix D (n, n), symmetric and positive semidefinite.

    Parameters
    ----------
    mass : M (n, n), symmetric positive definite.
    stiffness : K (n, n), symmetric positive semidefinite.
    ratio : zeta.
    least_rate : 1/s, at which a mode without stiffness loses its velocity; a lower bound for the
        rates of all modes.

    Raises DynamicsError for a mass matrix that is not positive definite.
    """
    try:
        L = np.linalg.cholesky(mass)
    except np.linalg.LinAlgError:
        raise DynamicsError("the mass matrix is not positive definite") from None
    # the modes of L^-1 K L^-T are orthonormal, and M X = L U
    scaled = np.linalg.solve(L, np.linalg.solve(L, stiffness).T)
    squares, U = np.linalg.eigh(0.5 * (scaled + scaled.T))
    rates = np.maximum(2.0 * ratio * np.sqrt(np.maximum(squares, 0.0)), least_rate)
    momenta = L @ U
    return np.asarray((momenta * rates) @ momenta.T)
