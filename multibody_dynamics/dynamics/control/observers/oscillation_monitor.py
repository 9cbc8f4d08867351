# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Notices that the estimate of a disturbance oscillates, although the desired motion does not.

Between two turning points of the estimate lies a swing. A swing is unexplained if it is larger than
SHARE times the variation of the joint torque of the desired motion in the same time, which wrong
parameters would explain, and than FLOOR times the largest disturbance that is compensated, below
which there is noise. SWINGS such swings in a row are an oscillation that does not decay if none is
longer than LONGEST, and each is at least KEPT times as large as the one before it, or LARGE times
the largest disturbance, as at the limits of the torques, where swings are irregular. What happens
once, such as a hit, a payload or a reversal of friction, swings less often or decays.

Source: T. Hagglund, A control-loop performance monitor, Control Engineering Practice 3(11), 1995,
which counts the errors between zero crossings that exceed a limit.
"""

from ...core import inlined_exactly

SWINGS = 5  # in a row
LONGEST = 0.2  # s: slower oscillations are left to the feedback, until poles are lowered
FLOOR = 0.02  # of the largest disturbance
SHARE = 0.3  # of the reference's variation
KEPT = 0.9  # of the swing before
LARGE = 0.5  # of the largest disturbance


@inlined_exactly
def reset_oscillation(s, i):
    """Forget the swings of estimate i; s : a :class:`.Disturbances`."""
    s.turn[i] = 0.0
    s.swing[i] = 0.0
    s.explained[i] = 0.0
    s.since[i] = 0.0
    s.direction[i] = 0
    s.swings[i] = 0


@inlined_exactly
def oscillates(s, i, value, rate, reference_rate, limit, longest, step):
    """Whether estimate i, with this value and rate, `step` after the last one, oscillates, in
    swings of up to `longest`, s."""
    s.since[i] += step
    s.explained[i] += abs(reference_rate) * step
    direction = 1 if rate > 0.0 else 0
    if direction != s.direction[i]:
        swing = abs(value - s.turn[i])
        is_new = swing > FLOOR * limit + SHARE * s.explained[i] and s.since[i] <= longest
        s.swings[i] = (
            s.swings[i] + 1 if is_new and swing > min(KEPT * s.swing[i], LARGE * limit) else 0
        )
        s.turn[i] = value
        s.swing[i] = swing
        s.explained[i] = 0.0
        s.since[i] = 0.0
        s.direction[i] = direction
    return limit > 0.0 and s.swings[i] >= SWINGS
