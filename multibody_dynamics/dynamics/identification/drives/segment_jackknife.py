# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Standard errors where the model lacks an effect: from fits without one segment of the recordings.

The errors of a model that lacks an effect repeat with the motion, and no spectrum of residuals
shows what they do to the parameters. Segments with different motions show it: the delete-one-block
jackknife (H. R. Kunsch, "The jackknife and the bootstrap for general stationary observations",
Annals of Statistics 17(3), 1989) has the covariance

    (S - 1) / S sum_s (d_s - mean d) (d_s - mean d)^T,

with the deviations d_s of the estimate without segment s, here by one Gauss-Newton step. Few long
segments serve better than many short ones, because errors of a model last for a whole motion. Where
errors are noise, this covariance is that of `equation_sums` (H. White, "Maximum likelihood
estimation of misspecified models", Econometrica 50(1), 1982); where it is significantly larger, it
is added. Errors that are the same in all segments shift estimates that rely on other frequencies
differently: the difference from the estimate with other weights is added, too (J. A. Hausman,
"Specification tests in econometrics", Econometrica 46(6), 1978).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2
from scipy.stats import t as student

from ...core import Array, DynamicsError
from .filtered_rows import Block, sums_of
from .fitted_model import FittedModel

LONGEST = 8.0  # s, of a segment
FEWEST = 4  # of a block
CONFIDENCE = 0.999  # that the model lacks an effect


class Misfit(NamedTuple):
    """ratio : median over the parameters of the variance by the jackknife, relative to that by
    noise; NaN if none is determined. is_significant : whether noise does not explain it.
    deviations : (s, f) of the free parameters, with the covariance sum_s d_s d_s^T."""

    ratio: float
    is_significant: bool
    deviations: Array


def misfit(model: FittedModel) -> Misfit:
    """What the segments of the blocks say of a fit."""
    blocks, solver, fit = model
    sums, equations = solver.sums, model.equations
    parts = (sums_of(equations, [each], sums.parallel, sums.longest) for each in segments(blocks))
    found = solver.deviations(fit, parts)
    count = len(found)
    found = (found - found.mean(axis=0)) * np.sqrt((count - 1) / count)
    free = np.flatnonzero(np.array(solver.parameters.free))
    errors = solver.uncertainties(fit, np.eye(len(fit.theta))[free])
    known = np.array([each.determined for each in errors])
    if not known.any():
        return Misfit(float("nan"), False, found)
    by_noise = np.array([each.error for each in errors])[known] ** 2
    ratio = float(np.median((found[:, known] ** 2).sum(axis=0) / by_noise))
    freedom = (count - 1) * len(equations.channels)  # parameters of one equation are correlated
    if not ratio > chi2.ppf(CONFIDENCE, freedom) / freedom:
        return Misfit(ratio, False, found)
    found = found * (student.ppf(0.975, count - 1) / student.ppf(0.975, np.inf))
    try:
        other = solver.otherwise_weighted().fit(fit.theta)
    except DynamicsError:  # so much noise was subtracted that its weights have no solution
        return Misfit(ratio, True, found)
    return Misfit(ratio, True, np.vstack([found, (other.theta - fit.theta)[free]]))


def segments(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks with the samples of one segment used."""
    for block in blocks:
        times = block.rows[:, 0]
        count = max(int(np.ceil((times[-1] - times[0]) / LONGEST)), FEWEST)
        number = np.arange(len(times)) * count // len(times)
        for k in range(count):
            own = block.used & (number == k)[:, None]
            if own.any():
                yield replace(block, used=own)
