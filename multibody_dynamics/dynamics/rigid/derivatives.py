"""Derivatives of inverse and forward dynamics by q, q', and q'' or tau: matrices, [K12] section 4.

A displacement along q_j moves what joint j carries like a rigid body, by the screw S_j. In spatial
representation, with p the parent of j, V the twists and A the accelerations less gravity,

    S'_j = [V_p, S_j],   S''_j = [A_p, S_j] + [V_p, S'_j],

the wrench W_i = sum of M A - ad_V^T M V that body i needs with all that it carries changes by

    dW_i/dq_j = C_i S'_j + M_i S''_j - ad_{S_j}^T W_i,   dW_i/dq'_j = C_i S_j + 2 M_i S'_j

if joint j carries body i, and by the same of body j if body i carries joint j. M_i is the inertia
of the subtree of i; C_i X = 2 integral (r x (omega x r'), omega x r') dm, with X = (omega, v), is
the wrench of the Coriolis forces on its particles at r. As Q_i = S_i . W_i less what the world
applies, each entry is a pairing of screws: O(n d) for a tree of depth d. The same in other words:
J. Carpentier, N. Mansard, "Analytical derivatives of rigid body dynamics algorithms", RSS 2018;
S. Singh, R. Russell, P. Wensing, "Efficient analytical derivatives of rigid-body dynamics using
spatial vector algebra", IEEE RA-L 7(2), 2022.

Forward dynamics has dq'' = M^-1 (dtau - dQ), with M^-1 by articulated bodies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core import STATE_ROWS, Array, InputError, compiled, inlined
from ..lie.screws import (
    accumulate_screw,
    add,
    add3,
    add_screws,
    coad,
    cross,
    dot,
    load_rotation,
    load_screw,
    load_symmetric,
    load_vector,
    muladd,
    muladd_screw,
    pair,
    rotate,
    rotate_back,
    rotate_symmetric,
    scale,
    store_vector,
    subtract,
)
from ..model import MultibodyModel, model_state
from ..model.records import BODY_ROW, COM, INERTIA, MASS, POSE, POSITION, SCREW, TWIST, WRENCH
from ..recursions import angular_momentum_dot, store_trig
from ..recursions.spatial import forward_recursion
from .aba import forward_dynamics
from .articulated_inertia import articulated_bodies
from .crba import COMPOSITE_ROW, composite_times, mass_matrix_recursion
from .kinematics import BaseMotion
from .rnea import flat_batch
from .wrenches import Wrenches

# The row of a subtree: its composite inertia as `mass_matrix_recursion` leaves it,
CORIOLIS = COMPOSITE_ROW  # integral r~ r'~ dm, row by row,
MOMENTUM = COMPOSITE_ROW + 9  # integral r' dm,
NEEDED = COMPOSITE_ROW + 12  # W,
APPLIED = COMPOSITE_ROW + 18  # and what the world applies.
SUBTREE_ROW = COMPOSITE_ROW + 24


class InverseDynamicsDerivatives(NamedTuple):
    """dQ/dq, dQ/dq' and dQ/dq'' = M, each (..., n, n); row i is of joint torque i.

    N m or N per rad or m, and times s and s^2.
    """

    dtau_dq: Array
    dtau_dqd: Array
    dtau_dqdd: Array


class ForwardDynamicsDerivatives(NamedTuple):
    """dq''/dq, dq''/dq' and dq''/dtau = M^-1, each (..., n, n); row i is of joint acceleration i.

    rad/s^2 or m/s^2 per rad or m, times s, and per N m or N.
    """

    dqdd_dq: Array
    dqdd_dqd: Array
    dqdd_dtau: Array


@inlined
def coriolis_times(subtrees, b, X):
    """C X of the subtree in row b."""
    N, p = load_rotation(subtrees, b, CORIOLIS), load_vector(subtrees, b, MOMENTUM)
    return (scale(-2, rotate(N, X[0])), scale(2, cross(X[0], p)))


@inlined
def coriolis_transposed_times(subtrees, b, X):
    """The angular part of C^T X; the linear one is zero."""
    N, p = load_rotation(subtrees, b, CORIOLIS), load_vector(subtrees, b, MOMENTUM)
    return scale(-2, add(rotate_back(N, X[0]), cross(X[1], p)))


@inlined
def add_coriolis(subtrees, b, Theta, w, m, c, v):
    """Add integral r~ r'~ dm of a body to row b: mass m at c, moving with v, and turning with w.

    It is w~ (tr Theta / 2 - Theta) + m c~ v~.
    """
    half = 0.5 * (Theta[0] + Theta[3] + Theta[5])
    x = cross(w, (half - Theta[0], -Theta[1], -Theta[2]))
    y = cross(w, (-Theta[1], half - Theta[3], -Theta[4]))
    z = cross(w, (-Theta[2], -Theta[4], half - Theta[5]))
    cv = dot(c, v)
    for i in range(3):
        subtrees[b, CORIOLIS + 3 * i] += x[i] + m * v[i] * c[0]
        subtrees[b, CORIOLIS + 3 * i + 1] += y[i] + m * v[i] * c[1]
        subtrees[b, CORIOLIS + 3 * i + 2] += z[i] + m * v[i] * c[2]
        subtrees[b, CORIOLIS + 4 * i] -= m * cv


@inlined
def derivatives_recursion(parents, joints, gravity, applied, bodies, subtrees, result):
    """dQ/dq and dQ/dq' into `result` (2 or more, n, n).

    Parameters
    ----------
    parents, joints, bodies : as the spatial forward recursion left them, called with order 1; on
        return the rows S'' of `bodies` are those above, less gravity.
    applied : (n, 6) or more columns, what the world applies, in inertial axes and origin.
    subtrees : (n + 1, SUBTREE_ROW), as `mass_matrix_recursion` left it.
    """
    n = parents.shape[0]
    g = (gravity[0], gravity[1], gravity[2])
    for b in range(n + 1):
        for k in range(COMPOSITE_ROW, SUBTREE_ROW):
            subtrees[b, k] = 0.0
    for i in range(n):
        b = i + 1
        S2 = load_vector(bodies, b, SCREW + 15)
        store_vector(bodies, b, SCREW + 15, add(S2, cross(load_vector(bodies, b, SCREW), g)))
        for j in range(n):
            result[0, i, j] = 0.0
            result[1, i, j] = 0.0
    for k in range(n):
        i = n - 1 - k
        b = i + 1
        p = parents[i] + 1

        # what the body adds to its subtree
        m = joints[i, MASS]
        R = load_rotation(bodies, b, POSE)
        Theta = rotate_symmetric(R, load_symmetric(joints, i, INERTIA))
        w, v = load_screw(bodies, b, TWIST)
        w1, v1 = load_screw(bodies, b, TWIST + 6)
        c = add(load_vector(bodies, b, POSITION), rotate(R, load_vector(joints, i, COM)))
        c1 = add(v, cross(w, c))
        c2 = add3(v1, cross(w1, c), cross(w, c1))
        f = scale(m, subtract(c2, g))
        _, _, h1 = angular_momentum_dot(Theta, w, w1)
        add_coriolis(subtrees, b, Theta, w, m, c, c1)
        store_vector(subtrees, b, MOMENTUM, muladd(m, c1, load_vector(subtrees, b, MOMENTUM)))
        W = accumulate_screw(subtrees, b, NEEDED, (add(h1, cross(c, f)), f))
        F = accumulate_screw(subtrees, b, APPLIED, load_screw(applied, i, 0))
        for j in range(COMPOSITE_ROW, SUBTREE_ROW):
            subtrees[p, j] += subtrees[b, j]

        # how it changes along q_i and q'_i, and how Q_i does along all that carry joint i
        S = load_screw(bodies, b, SCREW)
        S1 = load_screw(bodies, b, SCREW + 6)
        S2 = load_screw(bodies, b, SCREW + 12)
        MS1 = composite_times(subtrees, b, S1)
        dW = add_screws(coriolis_times(subtrees, b, S1), composite_times(subtrees, b, S2))
        dW = add_screws(dW, coad(S, W))
        dW_rate = muladd_screw(2, MS1, coriolis_times(subtrees, b, S))
        CS = coriolis_transposed_times(subtrees, b, S)
        MS = composite_times(subtrees, b, S)
        turned = coad(S, F)
        j = i
        while j >= 0:
            a = j + 1
            Sj = load_screw(bodies, a, SCREW)
            S1j = load_screw(bodies, a, SCREW + 6)
            S2j = load_screw(bodies, a, SCREW + 12)
            result[0, j, i] = pair(Sj, dW)
            result[1, j, i] = pair(Sj, dW_rate)
            result[0, i, j] = dot(CS, S1j[0]) + pair(S2j, MS) - pair(Sj, turned)
            result[1, i, j] = dot(CS, Sj[0]) + 2 * pair(S1j, MS)
            j = parents[j]


@inlined
def inverse_dynamics_derivatives_cycle(
    parents, joints, gravity, state, applied, trig, bodies, subtrees, result
):
    """One state (5, n), the last two rows zero: dQ/dq, dQ/dq' and M into `result` (3, n, n)."""
    store_trig(joints, state, trig)
    forward_recursion(parents, joints, trig, state, 1, bodies)
    mass_matrix_recursion(parents, joints, bodies, subtrees, result[2])
    derivatives_recursion(parents, joints, gravity, applied, bodies, subtrees, result)


def _batch(parents, joints, gravity, bases, states, applied, trig, bodies, subtrees, results):
    for k in range(states.shape[0]):
        bodies[0, :WRENCH] = bases[k]
        inverse_dynamics_derivatives_cycle(
            parents, joints, gravity, states[k], applied[k], trig, bodies, subtrees, results[k]
        )


_compiled_batch = compiled(_batch)


def inverse_dynamics_derivatives(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    qdd: Any,
    *,
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> InverseDynamicsDerivatives:
    """dQ/dq, dQ/dq' and dQ/dq'' (..., n, n) of the inverse dynamics, [K12] section 4.

    q, qd, qdd (..., n) broadcast. `wrenches` are constant in inertial axes about the inertial
    origin, whatever the bodies do; they and `base` are as of :func:`.inverse_dynamics`, rates of
    wrenches are not used. Raises InputError for wrong shapes or names, NaN or infinity.
    """
    found = model_state(model, q, qd, qdd)
    n = model.n
    if found[2] < 3:
        raise InputError(f"derivatives of the inverse dynamics need {STATE_ROWS[found[2]]}")
    shape, states, applied, bases = flat_batch(model, found, wrenches, base)
    results = np.empty((len(states), 3, n, n))
    constants = (model.parents, model.joint_rows, model.gravity)
    scratch = (np.empty((2, n)), np.zeros((n + 1, BODY_ROW)), np.empty((n + 1, SUBTREE_ROW)))
    _compiled_batch(*constants, bases, states, applied, *scratch, results)
    parts = (np.ascontiguousarray(results[:, k]).reshape(*shape, n, n) for k in range(3))
    return InverseDynamicsDerivatives(*parts)


def forward_dynamics_derivatives(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    tau: Any,
    *,
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> ForwardDynamicsDerivatives:
    """dq''/dq, dq''/dq' and dq''/dtau (..., n, n) of the forward dynamics, [K12] section 4.

    q, qd, tau (..., n) broadcast; the rest as :func:`inverse_dynamics_derivatives`. Raises
    InputError for wrong shapes or names, NaN or infinity; DynamicsError where the mass matrix is
    singular.
    """
    qdd = forward_dynamics(model, q, qd, tau, wrenches=wrenches, base=base)
    dq, dqd, _ = inverse_dynamics_derivatives(model, q, qd, qdd, wrenches=wrenches, base=base)
    inverse = articulated_bodies(model, q).inverse()
    by_tau = np.broadcast_to(inverse, dq.shape).copy()
    return ForwardDynamicsDerivatives(-by_tau @ dq, -by_tau @ dqd, by_tau)
