# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recursive Newton-Euler in body-fixed representation over power series in time: any order.

With series as scalars, the twist of a body contains all its derivatives, and the momentum balance
of :mod:`.body_fixed` gives the wrench with its rates. The acceleration is the rate of the twist.
A product takes as many operations as the Leibniz rule has terms. This code is never compiled.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Series, turning
from ..lie.screws import (
    add,
    add_screws,
    cross,
    load_rotation,
    load_symmetric,
    load_vector,
    muladd,
    rotate,
    rotate_about_z,
    rotate_back,
    scale,
    symmetric_times,
)
from ..model.records import ANGULAR, COM, INERTIA, LINEAR, MASS, PLACEMENT, ROTOR
from .body_fixed import advance, pull, push
from .poses import coordinate

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def inverse_dynamics_series(
    parents: NDArray[Any], joints: Any, gravity: Any, trig: Any, derivatives: Any
) -> NDArray[Any]:
    """Q and its derivatives, (k + 1, n) objects, for a base at rest.

    Parameters
    ----------
    parents, joints, trig : as for :func:`.spatial.forward_recursion`.
    gravity : (3,).
    derivatives : (k + 3, n) scalars, q, q', ... q^(k+2).
    """
    count, n, order = len(parents), len(derivatives[0]), len(derivatives) - 3
    own = [coordinate(joints, i) for i in range(count)]
    rates = [Series.of([row[j] for row in derivatives[1:]]) for j in own]
    # gravity as an acceleration of the base: no pose is needed, so the base may stay where it is
    zero = Series([0.0] * (order + 2))
    rest = (zero,) * 3
    falling = tuple(Series([0.0, -gravity[k], *[0.0] * order]) for k in range(3))
    twists: list[Any] = []
    places: list[Any] = []
    for i in range(count):
        a, h, rate = joints[i, ANGULAR], joints[i, LINEAR], rates[i]
        B = load_rotation(joints, i, PLACEMENT)
        R = rotate_about_z(B, trig[0, i], trig[1, i])  # now
        travel = h * Series.of([row[own[i]] for row in derivatives])
        d = muladd(travel, (B[2], B[5], B[8]), load_vector(joints, i, PLACEMENT + 9))
        turned = rotate_about_z(IDENTITY, *turning(a * rate))  # from now on
        parent = twists[parents[i]] if parents[i] >= 0 else (rest, falling)
        V = pull(R, d, parent)
        V = (rotate_back(turned, V[0]), rotate_back(turned, V[1]))
        twists.append(advance(a, h, rate, V))
        places.append((R, d, turned))

    wrenches: list[Any] = [None] * count
    result = np.zeros((order + 1, n), dtype=object)
    for i in reversed(range(count)):
        m, c = joints[i, MASS], load_vector(joints, i, COM)
        w, v = twists[i]
        u = add(v, cross(w, c))
        h = symmetric_times(load_symmetric(joints, i, INERTIA), w)
        f = scale(m, add(_rate(u), cross(w, u)))
        W = (add(add(_rate(h), cross(w, h)), cross(c, f)), f)
        W = W if wrenches[i] is None else add_screws(W, wrenches[i])
        p = parents[i]
        if p >= 0:
            R, d, turned = places[i]
            F = push(R, d, (rotate(turned, W[0]), rotate(turned, W[1])))
            wrenches[p] = F if wrenches[p] is None else add_screws(F, wrenches[p])
        Q = joints[i, ANGULAR] * W[0][2] + joints[i, LINEAR] * W[1][2]
        Q = Q + joints[i, ROTOR] * rates[i].rate()
        for k, torque in enumerate(Q.derivatives()):
            result[k, own[i]] = result[k, own[i]] + torque
    return result


def _rate(x: tuple[Series, Series, Series]) -> tuple[Series, ...]:
    return (x[0].rate(), x[1].rate(), x[2].rate())
