# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How far a joint can seem to move between two samples.

`state_speed_factor` times its velocity limit lasts for a moment, as when the arm is hit, or when
the stamps of a burst of samples err; a fifth of that lasts. Some steps of its encoder are added.
"""

import numpy as np

from ...core import Array, inlined_exactly
from .encoder_steps import KNOWN

LASTS = 0.2  # of the factor
MOMENT = 1e-3  # s, in which the whole factor counts
ASSUMED_STEP = 0.01  # rad or m, of an encoder whose steps are not known yet


@inlined_exactly
def reach(speed, step, span):
    """The reach in rad or m, `span` s after the last sample, at a lasting speed in rad/s or m/s,
    with an encoder that has steps of `step` rad or m (0: not known)."""
    return KNOWN * (step if step > 0.0 else ASSUMED_STEP) + speed * (span + MOMENT / LASTS)


def lasting(factor: float) -> float:
    """The multiple of its velocity limit at which a joint may go on moving; a low factor is meant
    to refuse no motion at the limit."""
    return max(LASTS * factor, min(factor, 1.5))


def lasting_speed(limit: Array, factor: float) -> Array:
    """Speeds (k,) for :func:`reach`, in rad/s or m/s, with velocity limits (k,); infinite where the
    limit is 0, which cannot be meant."""
    return np.where(limit > 0.0, lasting(factor) * limit, np.inf)
