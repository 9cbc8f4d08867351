# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The motion of a base by what an IMU measures: its angular velocity omega and its specific force
f = a - g, the acceleration of the IMU without gravity.

Joint torques depend on nothing else: neither on where the base is, nor on how fast it is, nor, with
f, on which way is down. In inertial axes that coincide now with those of the base, where gravity
may point as in the model, and for an IMU at speed zero, its acceleration is a = f + g. A vector x
that is measured in the axes of the base has the rates

    dx/dt   = x' + omega x x
    d2x/dt2 = x'' + 2 omega x x' + omega' x x + omega x (omega x x)

and the linear parts of the spatial twist, acceleration, jerk and jounce about the place of the IMU
are, with the rates of f and omega in inertial axes,

    0,    a,    df/dt - omega x a,    d2f/dt2 - 3 omega' x a - omega x df/dt

About the origin, r x omega and its derivatives are added, where the IMU is at r.
"""

from ...core import compiled
from ...lie.screws import add, add3, cross, load_vector, muladd, store_screw, subtract


def _inertial_rates(measured, gravity, place, rates):
    """Write the spatial twist, acceleration, jerk and jounce to `rates` (4, 6).

    measured : (4 or more, 6) omega and f, rad/s and m/s^2, in the axes of the base, with their
        derivatives per s^k. gravity, place : (1, 3) of the model, m/s^2, and of the IMU, m, in the
        same axes.
    """
    g, r = load_vector(gravity, 0, 0), load_vector(place, 0, 0)
    w, w1 = load_vector(measured, 0, 0), load_vector(measured, 1, 0)
    w2, w3 = load_vector(measured, 2, 0), load_vector(measured, 3, 0)
    f, f1 = load_vector(measured, 0, 3), load_vector(measured, 1, 3)
    f2 = load_vector(measured, 2, 3)
    turned = cross(w, f)
    df = add(f1, turned)
    ddf = add3(muladd(2.0, cross(w, f1), f2), cross(w1, f), cross(w, turned))
    ddw = add(w2, cross(w, w1))
    dddw = add(muladd(2.0, cross(w, w2), w3), cross(w, cross(w, w1)))
    a = add(f, g)
    jerk = subtract(df, cross(w, a))
    jounce = subtract(muladd(-3.0, cross(w1, a), ddf), cross(w, df))
    store_screw(rates, 0, 0, (w, cross(r, w)))
    store_screw(rates, 1, 0, (w1, add(a, cross(r, w1))))
    store_screw(rates, 2, 0, (ddw, add(jerk, cross(r, ddw))))
    store_screw(rates, 3, 0, (dddw, add(jounce, cross(r, dddw))))


inertial_rates = compiled(_inertial_rates)
