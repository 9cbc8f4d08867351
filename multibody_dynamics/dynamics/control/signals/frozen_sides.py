# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Encoders that repeat their last value while the arm moves.

A hardware interface whose `read` fails in silence leaves the same positions in place, cycle by
cycle. At rest, that is what an encoder shows; but a link whose motor, and a motor whose link or
whose reference has moved on by more than `frozen_distance`, and the step of its encoder as far as
that is known, cannot have stayed exactly where it was. Its side then counts as missing until the
value changes.
"""

from typing import Annotated, NamedTuple

from ...core import Array, Field, Integers, compiled_exactly, inlined_exactly

LINKS_FROZEN, MOTORS_FROZEN = 1, 2


class FrozenSides(NamedTuple):
    """When positions last changed."""

    # fmt: off
    q: Annotated[Array, Field("rad or m, last positions of the links", ("n",))]
    theta: Annotated[Array, Field("rad or m, of the motors", ("m",))]
    at_motors: Annotated[Array, Field("rad or m, of the links, if no spring were bent", ("n",))]
    motor_then: Annotated[Array, Field("rad or m, the same when a link last changed", ("n",))]
    wanted_then: Annotated[Array, Field("rad or m, its reference then", ("n",))]
    link_then: Annotated[Array, Field("rad or m, of a link when a motor last changed", ("m",))]
    goal_then: Annotated[Array, Field("rad or m, the reference of that link then", ("m",))]
    link_is_frozen: Annotated[Integers, Field("whether a link repeats its position", ("n",))]
    motor_is_frozen: Annotated[Integers, Field("whether a motor does", ("m",))]
    # fmt: on


@inlined_exactly
def notice_frozen_sides(joint_of_motor, torque_share, counts, s, steps, far, q, theta, wanted):
    """Which sides repeat their positions although the arm moves by more than `far`, the
    `frozen_distance`, and a step: the sum of LINKS_FROZEN and MOTORS_FROZEN."""
    links = 0
    motors = 0
    for i in range(q.shape[0]):
        s.at_motors[i] = 0.0
    for j in range(theta.shape[0]):
        s.at_motors[joint_of_motor[j]] += torque_share[j] * theta[j]
    for i in range(q.shape[0]):
        moved = max(abs(s.at_motors[i] - s.motor_then[i]), abs(wanted[i] - s.wanted_then[i]))
        if q[i] != s.q[i]:
            s.q[i] = q[i]
            s.motor_then[i] = s.at_motors[i]
            s.wanted_then[i] = wanted[i]
            s.link_is_frozen[i] = 0
        elif far > 0.0 and moved > far + steps.link_step[i]:
            s.link_is_frozen[i] = 1
        if s.link_is_frozen[i]:
            links = LINKS_FROZEN
    for j in range(theta.shape[0]):
        i = joint_of_motor[j]
        moved = max(abs(q[i] - s.link_then[j]), abs(wanted[i] - s.goal_then[j]))
        if theta[j] != s.theta[j]:
            s.theta[j] = theta[j]
            s.link_then[j] = q[i]
            s.goal_then[j] = wanted[i]
            s.motor_is_frozen[j] = 0
        elif far > 0.0 and moved > far + steps.motor_step[j] and torque_share[j] > 0.0:
            s.motor_is_frozen[j] = 1
        if s.motor_is_frozen[j]:
            motors = MOTORS_FROZEN
    counts.frozen_cycles[0] += 1 if links + motors > 0 else 0
    return links + motors


compiled_notice_frozen = compiled_exactly(notice_frozen_sides)
