# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Encoders that repeat their last value while the arm moves.

A hardware interface whose `read` fails in silence leaves the same positions in place, cycle by
cycle. At rest, that is what an encoder shows; but a side cannot have stayed exactly where it was
once its reference has moved on by more than `frozen_distance` and the step of its encoder as far as
that is known, or the other side by as much and what the spring between them bends. Its side then
counts as missing until the value changes. What jumps has not moved: not a reference where a hold
begins, whose velocity is what counts, nor positions that change by more than `frozen_distance` and
a step at once. The motors of an arm at rest leapt, and its links, which were right, were not
believed.
"""

from typing import Annotated, NamedTuple

import numpy as np

from ...core import Array, Field, Integers, compiled_exactly, inlined_exactly
from ...elastic import Actuators, motor_range

LINKS_FROZEN, MOTORS_FROZEN = 1, 2


class FrozenSides(NamedTuple):
    """When positions last changed."""

    # fmt: off
    q: Annotated[Array, Field("rad or m, last positions of the links", ("n",))]
    theta: Annotated[Array, Field("rad or m, of the motors", ("m",))]
    motors_moved: Annotated[Array, Field("rad or m, of its motors, since a link changed", ("n",))]
    link_due: Annotated[Array, Field("rad or m, motion of its reference since then", ("n",))]
    link_moved: Annotated[Array, Field("rad or m, of its link, since a motor changed", ("m",))]
    motor_due: Annotated[Array, Field("rad or m, motion of its joint's reference since", ("m",))]
    link_is_frozen: Annotated[Integers, Field("whether a link repeats its position", ("n",))]
    motor_is_frozen: Annotated[Integers, Field("whether a motor does", ("m",))]
    # fmt: on


def spring_bends(actuators: Actuators, effort: Array) -> Array:
    """(n,) rad or m, by which a joint's motors move from the middle of their range without its
    link: within torque limits, `effort` (n,) of the joint, and the travel of springs; infinite
    where nothing limits that."""
    still, torque = np.zeros(actuators.n), actuators.joint_torque_limit_within(effort)
    lower, upper = motor_range(actuators, still, still, torque).T
    half = np.where(actuators.torque_share > 0.0, 0.5 * (upper - lower), 0.0)
    of_joint = np.bincount(actuators.joint_of_motor, actuators.torque_share * half, actuators.n)
    return np.asarray(of_joint, dtype=np.float64)


@inlined_exactly
def notice_frozen_sides(
    joint_of_motor, torque_share, bend, counts, s, steps, far, dt, q, theta, velocity
):  # fmt: skip
    """Which sides repeat their positions although the arm moves by more than `far`, the
    `frozen_distance`, and a step: the sum of LINKS_FROZEN and MOTORS_FROZEN. bend : (n,) see
    :func:`spring_bends`; velocity : (n,) of the reference, `dt` s after the last positions."""
    links = 0
    motors = 0
    for j in range(theta.shape[0]):
        joint = joint_of_motor[j]
        change = theta[j] - s.theta[j]
        if abs(change) <= far + steps.motor_step[j]:
            s.motors_moved[joint] += torque_share[j] * change
        if abs(q[joint] - s.q[joint]) <= far + steps.link_step[joint]:
            s.link_moved[j] += q[joint] - s.q[joint]
        s.motor_due[j] += dt * velocity[joint]
        moved = max(abs(s.motor_due[j]), abs(s.link_moved[j]) - bend[joint])
        if change != 0.0:
            s.theta[j] = theta[j]
            s.link_moved[j] = 0.0
            s.motor_due[j] = 0.0
            s.motor_is_frozen[j] = 0
        elif far > 0.0 and moved > far + steps.motor_step[j] and torque_share[j] > 0.0:
            s.motor_is_frozen[j] = 1
        if s.motor_is_frozen[j]:
            motors = MOTORS_FROZEN
    for i in range(q.shape[0]):
        s.link_due[i] += dt * velocity[i]
        moved = max(abs(s.link_due[i]), abs(s.motors_moved[i]) - bend[i])
        if q[i] != s.q[i]:
            s.q[i] = q[i]
            s.motors_moved[i] = 0.0
            s.link_due[i] = 0.0
            s.link_is_frozen[i] = 0
        elif far > 0.0 and moved > far + steps.link_step[i]:
            s.link_is_frozen[i] = 1
        if s.link_is_frozen[i]:
            links = LINKS_FROZEN
    counts.frozen_cycles[0] += 1 if links + motors > 0 else 0
    return links + motors


compiled_notice_frozen = compiled_exactly(notice_frozen_sides)
