# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Linear equations whose errors are correlated in time: least squares with valid covariances.

The equations A x = b + e of n channels are sampled evenly in time. Least squares gives x; the
covariance of x follows from the power spectra S_j of the errors e_j:

    cov x = H^-1 (sum_j integral S_j |A_j|^2) H^-1,    H = sum_j A_j^T A_j

(the "sandwich"; P. Whittle, "Hypothesis testing in time series analysis", 1951; E. J. Hannan,
"Multiple Time Series", 1970, ch. VII). White errors of one variance s^2 give s^2 H^-1, the usual
formula, which is too small if errors of low frequency dominate: filtered samples, for example,
repeat the same error many times.

Spectra are cosine transforms (DCT-II), which nearly diagonalise the covariance of stationary errors
and, unlike the Fourier transform, do not spread a slope over all frequencies. They are summed in
bands, and the spectrum of the errors is estimated as a smooth one. The fit takes away a part
of the errors, most of all at the frequencies of the motion; each band is corrected by the number of
parameters that were fitted in it, the trace of H^-1 A_j^T A_j over the band.
"""

from __future__ import annotations

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
    """Sums of A_j^T A_j, A_j^T b_j and b_j^T b_j by channel and frequency band.

    Blocks of samples without gaps are added one by one, so memory does not depend on the length of
    a recording. `longest` is the length of the longest block to come, in samples.
    """

    def __init__(self, channels: int, columns: int, longest: int) -> None:
        self.edges = _edges(max(longest, 1))
        self.sums = np.zeros((channels, len(self.edges) - 1, columns + 1, columns + 1))
        self.counts = np.zeros(len(self.edges) - 1)

    def add(self, table: Array) -> None:
        """Add a block of samples (k, channels, columns + 1) of A and, in the last column, b."""
        size = len(table)
        cosines = dct(table, axis=0, norm="ortho")
        frequencies = (np.arange(size) + 0.5) / size
        starts = np.searchsorted(frequencies, self.edges)
        for band, (begin, end) in enumerate(pairwise(starts)):
            rows = cosines[begin:end].transpose(1, 0, 2)
            self.sums[:, band] += rows.swapaxes(1, 2) @ rows
        self.counts += np.diff(starts)

    def normal(self) -> Array:
        """H (columns, columns) of all channels and bands."""
        return np.asarray(self.sums[:, :, :-1, :-1].sum(axis=(0, 1)))

    def power(self, x: Array) -> Array:
        """The sums of squares (channels, bands) of the errors left by x (columns,)."""
        end = np.append(x, -1.0)
        power = np.einsum("jbpq,p,q->jb", self.sums, end, end)
        return np.maximum(power, SMALLEST * self.sums[:, :, -1, -1])

    def spectra(self, x: Array) -> tuple[Array, Array]:
        """Densities (channels, bands) of the errors left by x (columns,), and the covariances
        (channels, bands, bands) of their logarithms."""
        inverse = inverse_of(self.normal())
        fitted = np.einsum("jbpq,qp->jb", self.sums[:, :, :-1, :-1], inverse)
        freedom = np.maximum(self.counts - fitted, LEAST_FREEDOM * self.counts)
        used = np.flatnonzero(self.counts)
        middle = ((self.edges[1:] + self.edges[:-1]) / 2.0)[used]
        density = np.zeros(freedom.shape)
        spread = np.zeros((*freedom.shape, freedom.shape[1]))
        for j, found in enumerate(self.power(x)):
            density[j, used], spread[j][np.ix_(used, used)] = smooth_spectrum(
                found[used], freedom[j, used], middle
            )
        return density, spread

    def covariance(self, density: Array) -> Array:
        """The covariance (columns, columns) of sum A_j^T e_j for errors of these densities."""
        return np.asarray(np.einsum("jbpq,jb->pq", self.sums[:, :, :-1, :-1], density))

    def freedom(self, density: Array, spread: Array, weights: Array) -> Array:
        """The degrees of freedom (m,) of the variances of sum_j weights^T A_j^T e_j, with weights
        (columns, m): twice the squared variance, divided by the variance of its estimate."""
        inner = self.sums[:, :, :-1, :-1] @ weights
        shares = np.einsum("jbpm,pm->jbm", inner, weights) * density[..., None]
        variance = np.einsum("jbm,jbc,jcm->m", shares, spread, shares)
        return np.asarray(2.0 * shares.sum(axis=(0, 1)) ** 2 / np.maximum(variance, 1e-300))

    def standard_errors(self, x: Array, combinations: Array) -> Array:
        """Standard errors (m,) of combinations (m, columns) of the least-squares solution x.

        They are widened by Student's t, so an interval of 1.96 of them on either side contains the
        true value in 95 % of cases.
        """
        density, spread = self.spectra(x)
        weights = inverse_of(self.normal()) @ combinations.T
        variance = np.einsum("pm,pq,qm->m", weights, self.covariance(density), weights)
        freedom = self.freedom(density, spread, weights)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)) * widening(freedom))


def norms(H: Array) -> Array:
    """Norms of the columns of A from H = A^T A; infinite for columns without effect."""
    size = np.sqrt(np.maximum(np.diag(H), 0.0))
    return np.where(size > NEGLIGIBLE * size.max(), size, np.inf)


def inverse_of(H: Array) -> Array:
    """The pseudo-inverse of a normal matrix, with columns scaled to equal norms."""
    scale = norms(H)
    scaled = H / np.outer(scale, scale)
    inverse = np.linalg.pinv(scaled, rcond=UNDETERMINED, hermitian=True)
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
