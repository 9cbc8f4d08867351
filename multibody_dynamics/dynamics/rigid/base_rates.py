# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The motion of the base as the body-fixed recursion reads it, without allocation, for the cycle.

Spatial rates become hybrid ones, r' = v + omega x r differentiated; -g is added to r'', in place of
gravity on the bodies; and R^T x is differentiated, x' - omega x x in inertial axes for each
derivative. :func:`.base_rows` does the same for batches and all representations.
"""

from ..core import compiled
from ..lie.screws import add, add3, cross, load_screw, muladd, rotate_back, store_vector, subtract


def body_rates(pose, rates, gravity, out):
    """Write the body-fixed twist and three derivatives of the base, less gravity, to `out` (4, 6).

    pose (4, 4); rates (4, 6) spatial twist, acceleration, jerk and jounce; gravity (3,), inertial
    axes.
    """
    r = (pose[0, 3], pose[1, 3], pose[2, 3])
    w, v = load_screw(rates, 0, 0)
    w1, v1 = load_screw(rates, 1, 0)
    w2, v2 = load_screw(rates, 2, 0)
    w3, v3 = load_screw(rates, 3, 0)
    x = add(v, cross(w, r))
    x1 = add3(v1, cross(w1, r), cross(w, x))
    x2 = add3(v2, cross(w2, r), muladd(2.0, cross(w1, x), cross(w, x1)))
    turned = muladd(3.0, add(cross(w2, x), cross(w1, x1)), cross(w, x2))
    x3 = add3(v3, cross(w3, r), turned)
    x1 = subtract(x1, (gravity[0], gravity[1], gravity[2]))

    a2 = subtract(w2, cross(w, w1))
    a3 = subtract(subtract(w3, cross(w, w2)), cross(w, a2))
    b1 = subtract(x1, cross(w, x))
    b1_1 = subtract(x2, add(cross(w1, x), cross(w, x1)))
    b1_2 = subtract(x3, add(cross(w2, x), muladd(2.0, cross(w1, x1), cross(w, x2))))
    b2 = subtract(b1_1, cross(w, b1))
    b2_1 = subtract(b1_2, add(cross(w1, b1), cross(w, b1_1)))
    b3 = subtract(b2_1, cross(w, b2))

    R = (pose[0, 0], pose[0, 1], pose[0, 2], pose[1, 0], pose[1, 1], pose[1, 2],
         pose[2, 0], pose[2, 1], pose[2, 2])  # fmt: skip
    for k, (turn, move) in enumerate(((w, x), (w1, b1), (a2, b2), (a3, b3))):
        store_vector(out, k, 0, rotate_back(R, turn))
        store_vector(out, k, 3, rotate_back(R, move))


compiled_body_rates = compiled(body_rates)
