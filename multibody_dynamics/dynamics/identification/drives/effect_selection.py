# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Which effects of real drives become part of the model: those that predict better.

More terms always fit better, and errors of any other kind make them significant. What is not fitted
tells: the recordings are cut into parts, of which every second one is predicted by a fit to the
others (M. Stone, "Cross-validatory choice and assessment of statistical predictions", J. R. Stat.
Soc. B 36(2), 1974). Parts last for many correlation times of the residuals, so these need no model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Array
from .filtered_rows import residuals_of, sums_of
from .fitted_model import FittedModel
from .spring_effects import SpringEffects

BETTER = 0.9  # of the mean squares of residuals that were not fitted, which effects must leave
PARTS = 4  # of each stretch of a recording


class IncludedEffects(NamedTuple):
    """The effects in a model: of springs and gears by joint, and the sites of friction with
    bristles."""

    springs: Mapping[int, SpringEffects] = {}
    presliding: frozenset[str] = frozenset()


NO_EFFECTS = IncludedEffects()


def squares(found: FittedModel, used: Sequence[NDArray[np.bool_]], z: Sequence[Array]) -> Array:
    """Sums (channels,) of the squares of the residuals where used (blocks, k, channels)."""
    errors = (residuals_of(found.equations, each, z) for each in found.blocks)
    kept = [error * use for error, use in zip(errors, used, strict=True)]
    return np.asarray(np.sum([(each**2).sum(axis=0) for each in kept], axis=0))


def _unseen_squares(found: FittedModel, used: Sequence[NDArray[np.bool_]]) -> Array:
    """The same, of every second part of the blocks by a fit to the others."""
    total = np.zeros(len(found.equations.channels))
    for own in (True, False):
        inside = [_alternating(len(block.rows)) == own for block in found.blocks]
        kept = [
            replace(block, used=block.used & part)
            for block, part in zip(found.blocks, inside, strict=True)
        ]
        sums = sums_of(found.equations, kept, found.solver.sums.parallel)
        fit = found.solver.of_others(sums).fit(found.fit.theta)
        outside = [use & ~part for use, part in zip(used, inside, strict=True)]
        total += squares(found, outside, fit.z)
    return total


def prediction(tried: FittedModel, plain: FittedModel) -> Array:
    """(channels,) sums of the squares of residuals that were not fitted, in the samples that both
    models use, relative to those of the plain model; all 1 if the model that is tried does not even
    fit any equation better."""
    used = [a.used & b.used for a, b in zip(tried.blocks, plain.blocks, strict=True)]
    fitted = squares(tried, used, tried.fit.z) < BETTER * squares(plain, used, plain.fit.z)
    if not fitted.any():
        return np.ones(len(fitted))
    before = np.maximum(_unseen_squares(plain, used), 1e-300)
    return np.asarray(_unseen_squares(tried, used) / before)


def _alternating(count: int) -> NDArray[np.bool_]:
    """(count, 1) whether a row belongs to the first, third, ... of PARTS equal parts."""
    return np.asarray(np.arange(count)[:, None] * PARTS // count % 2 == 0)
