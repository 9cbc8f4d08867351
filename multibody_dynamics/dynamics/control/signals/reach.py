# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How far a joint can seem to move between two samples.

A multiple of its velocity limit (`state_speed_factor`) covers true motion, also that of an arm that
is hit or falls, STAMP_ERROR the stamps of samples that arrive in bursts, and some steps of the
encoder its resolution.
"""

import numpy as np

from ...core import Array, inlined_exactly
from .encoder_steps import KNOWN

STAMP_ERROR = 0.002  # s, by which the time between two samples may seem too short
ASSUMED_STEP = 0.01  # rad or m, of an encoder whose steps are not known yet


@inlined_exactly
def reach(speed, step, span):
    """The reach in rad or m, `span` s after the last sample, at a speed in rad/s or m/s, with an
    encoder that has steps of `step` rad or m (0: not known)."""
    return KNOWN * (step if step > 0.0 else ASSUMED_STEP) + speed * (span + STAMP_ERROR)


def reaching_speed(limit: Array, factor: float) -> Array:
    """Speeds (k,) for :func:`reach`, in rad/s or m/s: `factor` times the velocity limits (k,);
    infinite where the limit is 0, which cannot be meant."""
    return np.where(limit > 0.0, factor * limit, np.inf)
