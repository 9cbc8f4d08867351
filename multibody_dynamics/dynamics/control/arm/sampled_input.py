# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What a cycle takes of the measured positions: turns, frozen sides and silences, in this order.

Python does not compile :func:`take_input`, which calls compiled functions; C prints it.
"""

from math import isfinite

from ..signals.encoder_steps import compiled_note_encoder_steps
from ..signals.frozen_sides import LINKS_FROZEN, MOTORS_FROZEN, compiled_notice_frozen
from ..signals.samples import (
    compiled_accept_next,
    compiled_follow_silence,
    compiled_take_samples,
    compiled_unwrap,
)
from .plausibility import springs_agree


def is_finite(row):
    """Whether all numbers of a row are finite."""
    for i in range(row.shape[0]):  # noqa: SIM110 (C has no all())
        if not isfinite(row[i]):
            return False
    return True


def take_input(
    a, arm, p, counts, samples, frozen, steps, resting, is_active, now, link_time, motor_time,
    q, theta, elapsed, desired, reference
):  # fmt: skip
    """Take what is new and valid of the positions q, theta, which move to their nearest turns in
    place.

    An arm that is active and was silent for long returns if its springs agree; an activation judges
    its positions itself. The other arguments are those of :func:`.take_samples`.
    """
    compiled_unwrap(p, samples, a.joint_of_motor, q, theta)
    sides = compiled_notice_frozen(
        a.joint_of_motor, a.torque_share, p.spring_bend, counts, frozen, steps, p.frozen_distance,
        min(elapsed, p.max_step), q, theta, desired[1],
    )  # fmt: skip
    compiled_note_encoder_steps(steps, now, q, theta)
    links_at = samples.link_time[0] if (sides & LINKS_FROZEN) != 0 else link_time
    motors_at = samples.motor_time[0] if (sides & MOTORS_FROZEN) != 0 else motor_time
    agrees = -1
    if not is_active:
        compiled_accept_next(samples)
    elif (
        is_finite(q)
        and is_finite(theta)
        and compiled_follow_silence(p, samples, links_at, motors_at)
    ):
        agrees = springs_agree(a, arm, resting, q, theta, p.external_load)
    compiled_take_samples(
        p, samples, steps, counts, now, links_at, motors_at, q, theta, agrees, elapsed, desired,
        reference,
    )  # fmt: skip
