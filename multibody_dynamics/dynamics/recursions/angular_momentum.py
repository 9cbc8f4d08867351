# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The angular momentum of a body about its centre of mass, in inertial axes, and its derivatives.

h = Theta omega with an inertia Theta that rotates with the body. Below, x* = x' - omega x x is the
derivative of x seen from the body, in which Theta* = 0 and only omega is differentiated.
"""

from ..core import inlined
from ..lie.screws import add, add3, cross, scale, subtract, symmetric_times


@inlined
def angular_momentum_dot(Theta, w, w1):
    """h, h* and h' from Theta, omega and omega'."""
    h = symmetric_times(Theta, w)
    hs = symmetric_times(Theta, w1)  # omega* = omega'
    return h, hs, add(hs, cross(w, h))


@inlined
def angular_momentum_ddot(Theta, w, w1, w2, first):
    """omega**, h**, (h')* and h''; `first` is the result of `angular_momentum_dot`."""
    h, hs, h1 = first
    w2s = subtract(w2, cross(w, w1))
    hss = symmetric_times(Theta, w2s)
    h1s = add3(hss, cross(w1, h), cross(w, hs))
    return w2s, hss, h1s, add(h1s, cross(w, h1))


@inlined
def angular_momentum_dddot(Theta, w, w1, w2, w3, first, second):
    """h'''; `second` is the result of `angular_momentum_ddot`."""
    h, hs, h1 = first
    w2s, hss, h1s, h2 = second
    w3s = add3(w3, scale(-2, cross(w, w2)), cross(w, cross(w, w1)))  # omega***
    h1ss = add3(
        add(symmetric_times(Theta, w3s), cross(w2s, h)), scale(2.0, cross(w1, hs)), cross(w, hss)
    )
    return add3(h1ss, cross(w1, h1), cross(w, add(h1s, h2)))
