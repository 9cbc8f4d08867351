# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Springs with a damper in parallel, over scalars: the filter from Q to their deflection.

Q = s(phi) + d phi' makes phi' = (Q - s(phi)) / d a state of the feedforward, which is filtered
along the motion; see :meth:`.Actuator.deflection_after`.
"""

from math import expm1, isnan

from ..core import compiled, inlined
from .actuator_tables import DAMPING, SPRING
from .spring_tables import DEGREE, spring_deflection, spring_deflection_motion, spring_law


@inlined
def _relaxed(push, stiffness, damping, t):
    """x(t) of d x' + K x = P + P' t + P'' t^2 / 2, x(0) = 0, with phi-functions of z = -K t / d:

    x = t / d (P phi_1(z) + P' t phi_2(z) + P'' t^2 phi_3(z)),  phi_k+1 = (phi_k - 1 / k!) / z.
    """
    P, Pd, Pdd = push
    z = -stiffness * t / damping
    if z > -1.0:
        three, term = 0.0, 1.0 / 6.0
        for j in range(18):
            three += term
            term *= z / (j + 4)
        two = z * three + 0.5
        one = z * two + 1.0
    else:
        one = expm1(z) / z
        two = (one - 1.0) / z
        three = (two - 0.5) / z
    return t / damping * (P * one + Pd * t * two + Pdd * t * t * three)


@inlined
def _deflection_after(laws, pieces, own, k, damping, phi, torque, dt):
    Q, Qd, Qdd = torque
    s, slope, _, _ = spring_law(laws, pieces, own, k, phi)
    if laws[k, DEGREE] == 1.0:
        return phi + _relaxed((Q - s, Qd, Qdd), slope, damping, dt)
    middle, end = 0.0, 0.0
    for _ in range(4):
        half = spring_law(laws, pieces, own, k, phi + middle)[0] - s - slope * middle
        full = spring_law(laws, pieces, own, k, phi + end)[0] - s - slope * end
        first, second = (4.0 * half - full) / dt, 4.0 * (full - 2.0 * half) / (dt * dt)
        push = Q - s, Qd - first, Qdd - second
        middle = _relaxed(push, slope, damping, 0.5 * dt)
        end = _relaxed(push, slope, damping, dt)
    return phi + end


@inlined
def _settled_deflection(laws, pieces, own, k, damping, torque):
    phi, _, phidd = spring_deflection_motion(laws, pieces, own, k, torque, 0.0)
    slope = spring_law(laws, pieces, own, k, phi)[1]
    phid = (torque[1] - damping * phidd) / slope
    return spring_deflection(laws, pieces, own, k, torque[0] - damping * phid, phi)


@inlined
def advance_filters(joints, laws, pieces, own, torque, filtered, dt):
    """Advance the deflections `filtered` (n,) of damped springs by dt in s under `torque` (3, n).

    NaN is first replaced by the settled deflection; with dt = 0 nothing else happens.
    """
    for i in range(joints.shape[0]):
        damping, k = joints[i, DAMPING], int(joints[i, SPRING])
        if damping > 0.0:
            Q = torque[0, i], torque[1, i], torque[2, i]
            if isnan(filtered[i]):
                filtered[i] = _settled_deflection(laws, pieces, own, k, damping, Q)
            if dt != 0.0:
                filtered[i] = _deflection_after(laws, pieces, own, k, damping, filtered[i], Q, dt)


@inlined
def damped_deflection(laws, pieces, own, k, damping, torque, filtered, i):
    """phi, phi' and phi'' of a damped spring, whose state is filtered[i]."""
    if isnan(filtered[i]):
        filtered[i] = _settled_deflection(laws, pieces, own, k, damping, torque)
    phi = filtered[i]
    s, slope, _, _ = spring_law(laws, pieces, own, k, phi)
    phid = (torque[0] - s) / damping
    return phi, phid, (torque[1] - slope * phid) / damping


compiled_advance_filters = compiled(advance_filters)
