"""Sums of the columns of all equations over the recordings, by frequency; and the fit to them.

Of the filtered columns A_j of an equation, least squares needs only the matrices A_j^T A_j of their
cosine transforms, one for each frequency band (`banded_equations`). With the coefficients
z_j(theta) and the power density S_j(f) of the errors, the estimate minimises

    sum_j sum_bands z_j^T (A_j^T A_j) z_j / S_j + sum (theta - mean)^2 / spread^2,

Whittle's likelihood with a Gaussian prior. S_j follows from the residuals, in a few rounds. The
weight may also be a mean W_j of each equation instead of the density at every frequency.

With the derivative D_j of z_j, the covariance of theta is

    P (sum_j sum_bands D_j^T A_j^T A_j D_j S_j / W_j^2) P + P diag(spread^-2) P,
    P = (sum_j sum_bands D_j^T A_j^T A_j D_j / W_j + diag(spread^-2))^-1.

The second term is the share of the prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Array
from ..signals.banded_equations import (
    LEAST_FREEDOM,
    BandedEquations,
    smooth_spectrum,
    widening,
)
from .drive_equations import Channel
from .drive_parameters import Coefficients, Parameters

ROUNDS = 12  # most rounds of fit and residual spectra
SETTLED = 0.05  # typical relative change of the spectra below which the rounds end
FIRST_ERROR = 0.01  # of an equation, relative to its left side, before the first fit
STEPS = 60  # most iterations of one fit
FIRST_DAMPING = 1e-4
CONVERGED = 1e-2  # decrease of the logarithm of the likelihood that ends a fit
FLOOR = 1e-10  # of a power density, relative to the power of the left side: rounding
PRIOR_SHARE = 0.1  # of a variance; parameters with more are not determined by the recordings


class EquationSums:
    """A_j^T A_j (bands, c, c) of all channels, and the numbers of samples of the bands.

    longest : samples of the longest block to come.
    """

    def __init__(self, channels: Sequence[Channel], places: Sequence[slice], longest: int) -> None:
        self.channels, self._places, self.longest = channels, places, longest
        self._bands = [BandedEquations(1, each.columns - 1, longest) for each in channels]
        self.sums = [each.sums[0] for each in self._bands]

    def add(self, channel: int, rows: Array) -> None:
        """Add filtered samples (k, width) without gaps to one channel."""
        self._bands[channel].add(rows[:, None, self._places[channel]])

    @property
    def counts(self) -> Array:
        """(channels, bands) numbers of samples."""
        return np.stack([each.counts for each in self._bands])

    def copied(self) -> EquationSums:
        """A copy, which may be changed."""
        copy = EquationSums(self.channels, self._places, self.longest)
        for own, given in zip(copy._bands, self._bands, strict=True):
            own.sums += given.sums
            own.counts += given.counts
        return copy

    @property
    def edges(self) -> Array:
        """(bands + 1,) of the frequency, as shares of the Nyquist frequency."""
        return self._bands[0].edges

    def less_noise(self, quiet: EquationSums, louder: Sequence[EquationSums]) -> None:
        """Subtract what the noise of the positions adds to the sums.

        quiet : sums of a part of the samples; louder : the same with as much noise again, once with
        either sign. The mean of the latter exceeds the former by the expected share of the noise.
        """
        for j, own in enumerate(self.sums):
            more = sum(each.sums[j] for each in louder) / len(louder) - quiet.sums[j]
            count, part = self._bands[j].counts, quiet._bands[j].counts
            scale = np.divide(count, part, out=np.zeros_like(count), where=part > 0.0)
            own -= more * scale[:, None, None]


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters theta (p,), coefficients z of each channel, and the densities (channels, bands) of
    the errors with the covariances (channels, bands, bands) of their logarithms."""

    theta: Array
    z: list[Array]
    density: Array
    spread: Array


def left_side(channel: Channel, z: Array) -> Array:
    """The coefficients of the measured side of an equation."""
    names: tuple[str, ...] = ("signal",) if "signal" in channel.blocks else ("sensor",)
    if channel.kind == "link" and "sensor" not in channel.blocks:
        names = ("spring", "damping")
    left = np.zeros_like(z)
    for name in names:
        left[channel.blocks[name]] = z[channel.blocks[name]]
    return left


class Uncertainty(NamedTuple):
    """The standard error of a combination; whether the recordings determine it."""

    error: float
    determined: bool


class LeastSquares:
    """The fit of parameters to sums, and its covariance.

    spectral : weights by the spectra of the residuals; otherwise each equation has one weight.
    noisy : sums with all noise, from which the errors are judged; default: the same.
    """

    def __init__(
        self,
        sums: EquationSums,
        coefficients: Coefficients,
        parameters: Parameters,
        *,
        spectral: bool = True,
        noisy: EquationSums | None = None,
    ) -> None:
        self._sums, self._noisy = sums, noisy or sums
        self._coefficients, self.parameters = coefficients, parameters
        self._spectral = spectral
        self._free = np.flatnonzero(np.array(parameters.free))
        self._mean = np.array(parameters.mean)
        self._spread = np.array(parameters.spread)
        self._known: tuple[Fit, Any] | None = None

    def fit(self, begin: Array | None = None) -> Fit:
        """The parameters, from `begin` or from the prior."""
        if begin is None and not self._spectral:
            # With spectral weights, the fit converges even from a poor start.
            begin = (
                LeastSquares(self._sums, self._coefficients, self.parameters, noisy=self._noisy)
                .fit()
                .theta
            )
        theta = self._mean.copy() if begin is None else begin.copy()
        density = self._flat(self._powers(theta))
        if begin is None:
            # Before the fit, residuals are large, and would give the prior too much weight.
            density = np.minimum(density, FIRST_ERROR**2 * self._flat(self._left_powers(theta)))
        for _ in range(ROUNDS):
            before = density
            theta = self._solved(theta, density)
            density, spread = self._spectra(theta, density)
            if np.abs(np.log(density / before)).mean() < SETTLED:
                break
        z = [self._coefficients.of(each, theta)[0] for each in self._sums.channels]
        return Fit(theta, z, density, spread)

    def _left_powers(self, theta: Array) -> Array:
        """Sums of squares (channels, bands) of the left sides of the equations."""
        rows = []
        for channel, sums in zip(self._sums.channels, self._noisy.sums, strict=True):
            left = left_side(channel, self._coefficients.of(channel, theta)[0])
            rows.append(np.einsum("bpq,p,q->b", sums, left, left))
        return np.maximum(np.array(rows), 1e-300)

    def _powers(self, theta: Array) -> Array:
        """Sums of squares (channels, bands) of the residuals."""
        rows = []
        for channel, sums in zip(self._sums.channels, self._noisy.sums, strict=True):
            z, _ = self._coefficients.of(channel, theta)
            floor = FLOOR * np.einsum("bpp,p->b", sums, z**2)
            rows.append(np.maximum(np.einsum("bpq,p,q->b", sums, z, z), floor))
        return np.maximum(np.array(rows), 1e-300)

    def _flat(self, powers: Array) -> Array:
        """Densities that do not depend on the frequency."""
        mean = powers.sum(axis=1) / np.maximum(self._sums.counts.sum(axis=1), 1.0)
        return np.repeat(mean[:, None], powers.shape[1], axis=1)

    def _solved(self, theta: Array, density: Array) -> Array:
        """theta for these densities: the Levenberg-Marquardt method on the sums themselves, with
        parameters at a bound held there while the gradient points outwards."""
        weighted = [
            np.einsum("bpq,b->pq", sums, 1.0 / each)
            for sums, each in zip(self._sums.sums, density, strict=True)
        ]
        free = self._free
        lower, upper = (
            np.array(row)[free] for row in (self.parameters.lower, self.parameters.upper)
        )
        theta = theta.copy()
        cost, gradient, H = self._model(theta, weighted)
        damping = FIRST_DAMPING
        for _ in range(STEPS):
            x = theta[free]
            held = ((x <= lower) & (gradient > 0.0)) | ((x >= upper) & (gradient < 0.0))
            inner = np.flatnonzero(~held)
            size = 1.0 / np.sqrt(np.diag(H)[inner])
            scaled = H[np.ix_(inner, inner)] * np.outer(size, size)
            scaled[np.diag_indices(len(inner))] *= 1.0 + damping
            step = np.zeros(len(free))
            step[inner] = -size * np.linalg.solve(scaled, size * gradient[inner])
            trial = theta.copy()
            trial[free] = np.clip(x + step, lower, upper)
            moved = trial[free] - x
            expected = -float(gradient @ moved + 0.5 * moved @ H @ moved)
            new = self._model(trial, weighted)
            if new[0] <= cost:
                theta, (cost, gradient, H) = trial, new
                damping = max(damping / 10.0, 1e-12)
                if abs(expected) < CONVERGED:
                    break
            elif damping > 1e10:
                break
            else:
                damping = max(10.0 * damping, 1e-6)
        return theta

    def _model(self, theta: Array, weighted: Sequence[Array]) -> tuple[float, Array, Array]:
        """Half the weighted squares, and their gradient and Gauss-Newton matrix for the free
        parameters."""
        free, held = self._free, self._spread[self._free] ** -2
        away = theta[free] - self._mean[free]
        cost = 0.5 * float(held @ away**2)
        gradient, H = held * away, np.diag(held)
        for channel, G in zip(self._sums.channels, weighted, strict=True):
            z, D = self._coefficients.of(channel, theta)
            D = D[:, free]
            used = np.flatnonzero(D.any(axis=0))
            D = D[:, used]
            pull = G @ z
            cost += 0.5 * float(z @ pull)
            gradient[used] += D.T @ pull
            H[np.ix_(used, used)] += D.T @ G @ D
        return cost, gradient, H

    def _slopes(self, theta: Array, sums: EquationSums) -> list[Array]:
        """D_j^T A_j^T A_j D_j (bands, f, f) of all channels for the free parameters."""
        found = []
        for channel, each in zip(sums.channels, sums.sums, strict=True):
            D = self._coefficients.of(channel, theta)[1][:, self._free]
            used = np.flatnonzero(np.abs(D).any(axis=0))
            wide = np.zeros((len(each), len(self._free), len(self._free)))
            wide[:, used[:, None], used] = D[:, used].T @ each @ D[:, used]
            found.append(wide)
        return found

    def _spectra(self, theta: Array, density: Array) -> tuple[Array, Array]:
        """Densities of the residuals, corrected for the parameters fitted in each band."""
        slopes = self._slopes(theta, self._sums)
        P = self._inverse(slopes, density)
        middle = (self._sums.edges[1:] + self._sums.edges[:-1]) / 2.0
        found = np.ones(density.shape)
        spread = np.zeros((*density.shape, density.shape[1]))
        powers = self._powers(theta)
        for j, (slope, counts) in enumerate(zip(slopes, self._sums.counts, strict=True)):
            used = np.flatnonzero(counts)
            if not used.size:
                continue
            fitted = np.einsum("bpq,qp->b", slope, P) / density[j]
            freedom = np.clip(counts - fitted, LEAST_FREEDOM * counts, counts)[used]
            found[j, used], spread[j][np.ix_(used, used)] = smooth_spectrum(
                powers[j, used], freedom, middle[used]
            )
            if not self._spectral:
                found[j] = powers[j, used].sum() / freedom.sum()
        return found, spread

    def _inverse(self, slopes: Sequence[Array], density: Array) -> Array:
        """P of the free parameters."""
        H = np.diag(1.0 / self._spread[self._free] ** 2)
        for slope, each in zip(slopes, density, strict=True):
            H += np.einsum("bpq,b->pq", slope, 1.0 / each)
        size = 1.0 / np.sqrt(np.diag(H))
        inverse = np.linalg.inv(H * np.outer(size, size))
        return np.asarray(inverse * np.outer(size, size))

    def uncertainties(self, fit: Fit, combinations: Array) -> list[Uncertainty]:
        """The standard errors of combinations (m, p) of the parameters of a fit.

        They are widened by Student's t, so 1.96 of them on either side contain 95 %. Parameters at
        their bounds count as known.
        """
        edge, inner, slopes, P, true = self._about(fit)
        u = P @ combinations[:, inner].T
        prior = np.diag(1.0 / self._spread[inner] ** 2)
        shares = np.stack(
            [
                np.einsum("pm,bpq,qm->bm", u, slope, u, optimize=True) * (here / each**2)[:, None]
                for slope, each, here in zip(slopes, fit.density, true, strict=True)
            ]
        )
        variance = shares.sum(axis=(0, 1))
        noise = np.einsum("jbm,jbc,jcm->m", shares, fit.spread, shares)
        freedom = 2.0 * variance**2 / np.maximum(noise, 1e-300)
        variance = variance * widening(freedom) ** 2
        by_prior = np.einsum("pm,pq,qm->m", u, prior, u)
        total = variance + by_prior
        touched = np.abs(combinations[:, edge]).sum(axis=1) > 0.0
        known = (by_prior <= PRIOR_SHARE * total) & (total > 0.0) & ~touched
        return [
            Uncertainty(float(np.sqrt(value)), bool(use))
            for value, use in zip(total, known, strict=True)
        ]

    def _about(
        self, fit: Fit
    ) -> tuple[NDArray[np.bool_], NDArray[np.intp], list[Array], Array, Array]:
        """Which parameters are at bounds (p,), the others that are free, their sums by band, P, and
        the densities of the errors, which do not depend on the combinations."""
        if self._known is not None and self._known[0] is fit:
            return self._known[1]
        edge = self._at_bounds(fit.theta)
        kept = np.flatnonzero(~edge[self._free])
        slopes = [each[:, kept[:, None], kept] for each in self._slopes(fit.theta, self._noisy)]
        inner = self._free[kept]
        H = np.diag(1.0 / self._spread[inner] ** 2)
        for slope, each in zip(slopes, fit.density, strict=True):
            H += np.einsum("bpq,b->pq", slope, 1.0 / each)
        size = 1.0 / np.sqrt(np.diag(H))
        P = np.linalg.inv(H * np.outer(size, size)) * np.outer(size, size)
        true = fit.density if self._spectral else self._true_density(fit)
        self._known = fit, (edge, inner, slopes, P, true)
        return self._known[1]

    def _true_density(self, fit: Fit) -> Array:
        """The densities of the errors, if one weight per equation was used."""
        spectral = LeastSquares(self._sums, self._coefficients, self.parameters, noisy=self._noisy)
        return spectral._spectra(fit.theta, fit.density)[0]

    def _at_bounds(self, theta: Array) -> NDArray[np.bool_]:
        """(p,) mask of the parameters that are at a bound."""
        lower, upper = np.array(self.parameters.lower), np.array(self.parameters.upper)
        near = 1e-6 * np.where(np.isfinite(upper - lower), upper - lower, 1.0)
        return np.asarray((theta <= lower + near) | (theta >= upper - near)) & np.array(
            self.parameters.free
        )
