# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Linear equations whose errors are correlated in time: least squares with valid covariances.

The equations A x = b + e are sampled evenly in time. Least squares gives x; the covariance of x
follows from the power spectrum S of the errors e:

    cov x = H^-1 (integral S |A|^2) H^-1,    H = A^T A

(the "sandwich"; P. Whittle, "Hypothesis testing in time series analysis", 1951; E. J. Hannan,
"Multiple Time Series", 1970, ch. VII). White errors of one variance s^2 give s^2 H^-1, the usual
formula, which is too small if errors of low frequency dominate: filtered samples, for example,
repeat the same error many times.

Spectra are cosine transforms (DCT-II), which nearly diagonalise the covariance of stationary errors
and, unlike the Fourier transform, do not spread a slope over all frequencies. They are summed in
bands, and the spectrum of the errors is estimated as a smooth one. The fit takes away a part
of the errors, most of all at the frequencies of the motion; each band is corrected by the number of
parameters that were fitted in it, the trace of H^-1 A^T A over the band.
"""

from itertools import pairwise

import numpy as np
from scipy.fft import dct
from scipy.stats import t as student

from ...core import Array, IndependentCopies

NARROWEST = 4  # coefficients of the longest block in a band
GROWTH = 1.15  # ratio of the widths of successive bands
STIFFNESS = 100.0  # of the smoothed logarithm of the spectrum
CORNERS = 8  # of processes of first order that are tried
FLOORS = (0.0, 0.01, 0.1)  # white floors that are tried, relative to zero frequency
UNDETERMINED = 1e-11  # eigenvalues, relative to the largest, of a scaled normal matrix
NEGLIGIBLE = 1e-10  # norm of a column without effect, relative to the largest
LEAST_FREEDOM = 0.02  # per coefficient of a band
SMALLEST = 1e-14  # of the power of b: rounding errors


class BandedEquations(IndependentCopies):
    """Sums of A^T A, A^T b and b^T b by frequency band.

    Blocks of samples without gaps are added one by one, so memory does not depend on the length of
    a recording. `width` is the number of columns of A and b, `longest` the length of the longest
    block to come, in samples.
    """

    def __init__(self, width: int, longest: int) -> None:
        self.edges = _edges(max(longest, 1))
        self.sums = np.zeros((len(self.edges) - 1, width, width))
        self.counts = np.zeros(len(self.edges) - 1)

    def add(self, table: Array) -> None:
        """Add a block of samples (k, width) of A and, in the last column, b."""
        cosines = dct(table, axis=0, norm="ortho")
        frequencies = (np.arange(len(table)) + 0.5) / len(table)
        starts = np.searchsorted(frequencies, self.edges)
        for band, (begin, end) in enumerate(pairwise(starts)):
            self.sums[band] += cosines[begin:end].T @ cosines[begin:end]
        self.counts += np.diff(starts)

    def standard_errors(self, x: Array, combinations: Array) -> Array:
        """Standard errors (m,) of combinations (m, width - 1) of the least-squares solution x.

        They are widened by Student's t, so an interval of 1.96 of them on either side contains the
        true value in 95 % of cases.
        """
        used = np.flatnonzero(self.counts)
        sums, counts = self.sums[used], self.counts[used]
        A, end = sums[:, :-1, :-1], np.append(x, -1.0)
        power = np.einsum("bpq,p,q->b", sums, end, end)
        inverse = inverse_of(A.sum(axis=0))
        fitted = np.einsum("bpq,qp->b", A, inverse)
        density, spread = smooth_spectrum(
            np.maximum(power, SMALLEST * sums[:, -1, -1]),
            np.maximum(counts - fitted, LEAST_FREEDOM * counts),
            ((self.edges[1:] + self.edges[:-1]) / 2.0)[used],
        )
        weights = inverse @ combinations.T
        shares = np.einsum("bpm,pm->bm", A @ weights, weights) * density[:, None]
        variance = shares.sum(axis=0)
        # Twice the squared variance, divided by the variance of its estimate.
        noise = np.einsum("bm,bc,cm->m", shares, spread, shares)
        freedom = 2.0 * variance**2 / np.maximum(noise, 1e-300)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)) * widening(freedom))


def inverse_of(H: Array) -> Array:
    """The pseudo-inverse of a normal matrix, with columns scaled to equal norms."""
    size = np.sqrt(np.maximum(np.diag(H), 0.0))
    scale = np.where(size > NEGLIGIBLE * size.max(), size, np.inf)
    inverse = np.linalg.pinv(H / np.outer(scale, scale), rcond=UNDETERMINED, hermitian=True)
    return np.asarray(inverse / np.outer(scale, scale))


def smooth_spectrum(power: Array, freedom: Array, frequency: Array) -> tuple[Array, Array]:
    """Density (m,) per coefficient, from the power (m,) in bands with their degrees of freedom.

    The density is that of a process of first order with a white floor, 1 / (1 + (f / f0)^2) +
    floor, times a smooth function: the squared second differences of its logarithm are penalised,
    and it is even about zero frequency. Each corner f0 and floor (from tables) has the weight of
    its likelihood for chi-squared powers, white errors the prior weight of all others together; the
    density is the mean over all of these. Also returns the covariance (m, m) of the logarithm.
    frequency : (m,) of the bands, in any unit.
    """
    m = len(power)
    if m < 3:
        return power / freedom, np.diag(2.0 / freedom)
    D = np.zeros((m - 1, m))
    D[0, :2] = -1.0, 1.0  # the mirrored neighbour of the first band equals the second one
    rows = np.arange(1, m - 1)
    D[rows, rows - 1], D[rows, rows], D[rows, rows + 1] = 1.0, -2.0, 1.0
    penalty = STIFFNESS * D.T @ D
    corners = np.geomspace(frequency[0], frequency[-1] / 4.0, CORNERS)
    red = [1.0 / (1.0 + (frequency / f0) ** 2) + floor for f0 in corners for floor in FLOORS]
    shapes = np.array([np.ones(m), *red])
    prior = np.array([0.5, *np.full(len(red), 0.5 / len(red))])
    found = [_smoothed(power / shape, freedom, penalty) for shape in shapes]
    logs = np.array([level for level, _ in found]) + np.log(shapes)
    cost = np.array([value for _, value in found]) + np.log(shapes) @ freedom / 2.0
    weight = prior * np.exp(cost.min() - cost)
    weight /= weight.sum()
    apart = logs - weight @ logs
    covariance = np.linalg.inv(penalty + np.diag(freedom / 2.0))
    covariance += (weight * apart.T) @ apart
    density = np.exp(weight @ logs + np.diag(covariance) / 2.0)
    return np.asarray(density), np.asarray(covariance)


def _smoothed(power: Array, freedom: Array, penalty: Array) -> tuple[Array, float]:
    """The smooth logarithm of the density (m,) and its negative log-likelihood with penalty."""
    half = freedom / 2.0
    raw = np.maximum(power, 1e-300) / freedom
    level = np.log(raw)
    for _ in range(100):
        ratio = raw * np.exp(-level)
        gradient = half * (1.0 - ratio) + penalty @ level
        hessian = penalty + np.diag(half * np.clip(ratio, 0.2, 5.0))
        step = np.clip(np.linalg.solve(hessian, -gradient), -2.0, 2.0)
        level = level + step
        if np.abs(step).max() < 1e-4:
            break
    value = half @ (level + raw * np.exp(-level)) + level @ penalty @ level / 2.0
    return np.asarray(level), float(value)


def widening(freedom: Array) -> Array:
    """The ratio of the 97.5 % quantiles of Student's t and of the normal distribution."""
    return np.asarray(student.ppf(0.975, np.maximum(freedom, 2.0)) / 1.959964)


def _edges(longest: int) -> Array:
    """Edges of the bands, as shares of the Nyquist frequency."""
    widths = [float(NARROWEST)]
    while sum(widths) < longest:
        widths.append(widths[-1] * GROWTH)
    return np.append(0.0, np.minimum(np.cumsum(widths) / longest, 1.0 + 1e-12))
