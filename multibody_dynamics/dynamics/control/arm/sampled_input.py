# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What a cycle takes of the measured positions: turns, frozen sides and silences, in this order.

Python does not compile :func:`take_input`, which calls compiled functions; C prints it.
"""

from ..signals.encoder_steps import compiled_note_encoder_steps
from ..signals.frozen_sides import LINKS_FROZEN, MOTORS_FROZEN, compiled_notice_frozen
from ..signals.samples import (
    LINKS,
    MOTORS,
    compiled_accept_next,
    compiled_follow_silence,
    compiled_take_samples,
    compiled_unwrap,
    is_finite,
)
from .plausibility import springs_agree


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
    links_at = samples.sampled[LINKS] if (sides & LINKS_FROZEN) != 0 else link_time
    motors_at = samples.sampled[MOTORS] if (sides & MOTORS_FROZEN) != 0 else motor_time
    agrees = -1
    if not is_active:
        compiled_accept_next(samples)
    elif (
        compiled_follow_silence(p, samples, links_at, motors_at)
        and is_finite(q)
        and is_finite(theta)
    ):
        agrees = springs_agree(a, arm, resting, q, theta, p.external_load)
    compiled_take_samples(
        p, samples, steps, counts, now, links_at, motors_at, q, theta, agrees, elapsed, desired,
        reference,
    )  # fmt: skip
