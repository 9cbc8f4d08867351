# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sums of the columns of all equations over the recordings, by frequency; and the fit to them.

Of the filtered columns A_j of an equation, least squares needs only the matrices A_j^T A_j of their
cosine transforms, one for each frequency band (`banded_equations`). With the coefficients
z_j(theta) and the power density S_j(f) of the errors, the estimate minimises

    1/2 sum_j sum_bands z_j^T (A_j^T A_j) z_j / S_j + prior(theta),

Whittle's likelihood, with the prior of `drive_parameters`. S_j follows from the residuals, in a few
rounds. The weight may also be a mean W_j of each equation instead of the density at every
frequency.

With the derivative D_j of z_j, the covariance of theta is

    P (sum_j sum_bands D_j^T A_j^T A_j D_j S_j / W_j^2) P + P B P,
    P = (sum_j sum_bands D_j^T A_j^T A_j D_j / W_j + B)^-1,

where B is the second derivative of the prior. The second term is its share: theta is pulled by
P B (theta_0 - theta) towards the mean theta_0 of the prior, which may be many of its standard
deviations away. In the last fit, the prior is therefore centred on the result of the one before
(iterated Tikhonov regularisation: J. T. King, D. Chillingworth, "Approximation of generalized
inverses by iterated regularization", Numer. Funct. Anal. Optim. 1(5), 1979). Where the recordings
say something, it then acts twice, and pulls theta by only (P B)^2 (theta_0 - theta); where they say
nothing, theta keeps its value. The covariance becomes

    (P + P B P) (sum_j sum_bands D_j^T A_j^T A_j D_j S_j / W_j^2) (P + P B P) + P B P B P B P.

All of this holds for errors that do not depend on the motion. Those of a model that lacks an effect
do; what they do to the estimate is then added (`segment_jackknife`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Array, DynamicsError
from ..bodies.consistent_inertia import divergence
from ..signals.banded_equations import (
    LEAST_FREEDOM,
    BandedEquations,
    smooth_spectrum,
    widening,
)
from ..signals.parallel_filter import ParallelFilter
from .bounded_minimum import Quadratic, minimum
from .drive_equations import Channel
from .drive_parameters import Coefficients

ROUNDS = 30  # maximum number of rounds of fit and residual spectra
SETTLED = 0.05  # typical relative change of the spectra that ends the first rounds
CLOSE = 0.02  # standard errors by which parameters still move in the last round
FIRST_ERROR = 0.3  # of an equation, relative to its left side, before the first fit
FLOOR = 1e-10  # of the power of residuals, relative to the powers of all terms: rounding
PASSED = 0.1  # mean square gain of the filter below which a band does not contribute to a spectrum
PRIOR_SHARE = 0.05  # of a variance; parameters with more are not determined by the recordings


class EquationSums:
    """A_j^T A_j (bands, c, c) of all channels, and the numbers of samples of the bands.

    longest : samples of the longest block to come. parallel : the filter that the rows have passed.
    """

    def __init__(
        self,
        channels: Sequence[Channel],
        places: Sequence[slice],
        longest: int,
        parallel: ParallelFilter | None = None,
    ) -> None:
        self.channels, self._places, self.longest = channels, places, longest
        self.parallel = parallel
        self._bands = [BandedEquations(each.columns, longest) for each in channels]
        self.sums = [each.sums for each in self._bands]

    def add(self, channel: int, rows: Array) -> None:
        """Add filtered samples (k, width) without gaps to one channel."""
        self._bands[channel].add(rows[:, self._places[channel]])

    @property
    def counts(self) -> Array:
        """(channels, bands) numbers of samples."""
        return np.stack([each.counts for each in self._bands])

    def copied(self) -> EquationSums:
        """A copy, which may be changed."""
        copy = EquationSums(self.channels, self._places, self.longest, self.parallel)
        for own, given in zip(copy._bands, self._bands, strict=True):
            own.sums += given.sums
            own.counts += given.counts
        return copy

    @property
    def middle(self) -> Array:
        """(bands,) middle frequencies, as shares of the Nyquist frequency."""
        edges = self._bands[0].edges
        return np.asarray((edges[1:] + edges[:-1]) / 2.0)

    @property
    def gain(self) -> Array:
        """(bands,) mean squares of the gain of the filter."""
        edges, parallel = self._bands[0].edges, self.parallel
        return np.ones(len(edges) - 1) if parallel is None else parallel.gain(edges)

    def subtract_noise(self, quiet: EquationSums, louder: Sequence[EquationSums]) -> None:
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
    the errors by whose inverses the equations were weighted. is_settled : whether the last round
    left all parameters where they were, within a small share of their standard errors."""

    theta: Array
    z: list[Array]
    density: Array
    is_settled: bool


def left_side(channel: Channel, z: Array) -> Array:
    """The coefficients of the measured side of an equation."""
    names: tuple[str, ...] = ("signal",) if "signal" in channel.blocks else ("sensor",)
    if channel.kind == "link" and "sensor" not in channel.blocks:
        names = tuple(name for name in ("spring", "damping", "effects") if name in channel.blocks)
    left = np.zeros_like(z)
    for name in names:
        left[channel.blocks[name]] = z[channel.blocks[name]]
    return left


class Uncertainty(NamedTuple):
    """The standard error of a combination; whether the recordings determine it."""

    error: float
    determined: bool


class _About(NamedTuple):
    """edge : (p,) mask of the parameters at bounds. inner : indices (f,) of the others that are
    free. P, prior : (f, f) of these. density : (channels, bands) of the errors. spread : the
    covariances (channels, bands, bands) of the logarithms of the densities."""

    edge: NDArray[np.bool_]
    inner: NDArray[np.intp]
    P: Array
    prior: Array
    density: Array
    spread: Array


class LeastSquares:
    """The fit of parameters to sums, and its covariance.

    spectral : weights by the spectra of the residuals; otherwise each equation has one weight.
    noisy : sums with all noise, from which the errors are judged; default: the same.
    repeated : the prior has the result of a fit as its mean, as at the top of this file.
    misfit : (s, f) deviations of the free parameters by errors of the model, whose covariance is
        sum_s d_s d_s^T.
    """

    def __init__(
        self,
        sums: EquationSums,
        coefficients: Coefficients,
        *,
        spectral: bool = True,
        noisy: EquationSums | None = None,
        repeated: bool = False,
        misfit: Array | None = None,
    ) -> None:
        self.sums, self._noisy = sums, noisy or sums
        self.coefficients, self.parameters = coefficients, coefficients.parameters
        self._spectral = spectral
        self._free = np.flatnonzero(np.array(self.parameters.free))
        self._mean = np.array(self.parameters.mean)
        self._spread = np.array(self.parameters.spread)
        self._is_repeated = repeated
        self._misfit = np.zeros((0, len(self._free))) if misfit is None else misfit
        self._known: tuple[Fit, _About] | None = None
        self._total: list[Array] | None = None

    def fit(self, begin: Array | None = None) -> Fit:
        """The parameters, from `begin` or from the prior."""
        theta = self._mean.copy() if begin is None else begin.copy()
        if begin is None:
            theta = self._approached(theta)
        if not self._spectral and self._noisy is self.sums:
            theta = self._minimum(theta, self._concentrated)
        density = self._densities(theta, self._flat(self._powers(theta)))
        for _ in range(ROUNDS):
            before, theta = theta, self._solved(theta, density)
            density = self._densities(theta, density)
            if is_settled := self._is_close(theta, before, density):
                break
        z = [self.coefficients.of(each, theta)[0] for each in self.sums.channels]
        return Fit(theta, z, density, is_settled)

    def renewed(self, **changed: Any) -> LeastSquares:
        """The same for parameters that have changed since, with other keyword arguments."""
        given: dict[str, Any] = {"spectral": self._spectral, "noisy": self._noisy}
        return LeastSquares(self.sums, self.coefficients, **given | changed)

    def of_others(self, sums: EquationSums, noisy: EquationSums | None = None) -> LeastSquares:
        """The same for other sums."""
        return LeastSquares(sums, self.coefficients, spectral=self._spectral, noisy=noisy)

    def otherwise_weighted(self) -> LeastSquares:
        """The same with weights by spectra, or without if these have them."""
        return self.renewed(spectral=not self._spectral, repeated=self._is_repeated)

    def cost(self, fit: Fit) -> float:
        """The negative logarithm of likelihood and prior, with one weight for each equation."""
        return self._concentrated(fit.theta).value

    def _approached(self, theta: Array) -> Array:
        """Parameters near those of the best fit, from a poor start: with spectral weights, which
        rely on all frequencies, the fit then converges."""
        # Before the fit, residuals are large, and would give the prior too much weight.
        first = FIRST_ERROR**2 * self._flat(self._left_powers(theta))
        density = np.minimum(self._flat(self._powers(theta)), first)
        for _ in range(ROUNDS):
            before = density
            theta = self._solved(theta, density)
            density = self._densities(theta, density, smooth=True)
            if np.abs(np.log(density / before)).mean() < SETTLED:
                break
        return theta

    def _is_close(self, theta: Array, before: Array, density: Array) -> bool:
        """Whether no parameter moved by a noticeable share of its standard error."""
        moved = (theta - before)[self._free]
        H = self._model(theta, self._weighted(density)).convex
        return bool(moved @ H @ moved < CLOSE**2)

    def _left_powers(self, theta: Array) -> Array:
        """Sums of squares (channels, bands) of the left sides of the equations."""
        rows = []
        for channel, sums in zip(self.sums.channels, self._noisy.sums, strict=True):
            left = left_side(channel, self.coefficients.of(channel, theta)[0])
            rows.append(np.einsum("bpq,p,q->b", sums, left, left))
        return np.maximum(np.array(rows), 1e-300)

    def _powers(self, theta: Array) -> Array:
        """Sums of squares (channels, bands) of the residuals."""
        rows = []
        for channel, sums in zip(self.sums.channels, self._noisy.sums, strict=True):
            z, _ = self.coefficients.of(channel, theta)
            floor = FLOOR * np.einsum("bpp,p->b", sums, z**2)
            rows.append(np.maximum(np.einsum("bpq,p,q->b", sums, z, z), floor))
        return np.maximum(np.array(rows), 1e-300)

    def _flat(self, powers: Array) -> Array:
        """Densities that do not depend on the frequency."""
        mean = powers.sum(axis=1) / np.maximum(self.sums.counts.sum(axis=1), 1.0)
        return np.repeat(mean[:, None], powers.shape[1], axis=1)

    def _weighted(self, density: Array) -> list[Array]:
        """Sums over the bands of all channels, divided by the densities."""
        return [
            np.einsum("bpq,b->pq", sums, 1.0 / each)
            for sums, each in zip(self.sums.sums, density, strict=True)
        ]

    def _solved(self, theta: Array, density: Array) -> Array:
        """theta for these densities. Raises DynamicsError if so much noise was subtracted that the
        sums are not positive definite."""
        weighted = self._weighted(density)
        return self._minimum(theta, lambda x: self._model(x, weighted))

    def _minimum(self, theta: Array, function: Callable[[Array], Quadratic]) -> Array:
        """theta with the free parameters that minimise a function of theta."""
        free, best = self._free, theta.copy()
        bounds = (np.array(row)[free] for row in (self.parameters.lower, self.parameters.upper))

        def of_free(x: Array) -> Quadratic:
            best[free] = x
            return function(best)

        best[free] = minimum(of_free, theta[free], *bounds)
        return best

    def _model(self, theta: Array, weighted: Sequence[Array]) -> Quadratic:
        """Half the weighted squares, with the Gauss-Newton matrix."""
        cost, gradient, H, _ = self._prior(theta)
        if not np.isfinite(cost):
            return Quadratic(cost, gradient, H, H)
        for channel, G in zip(self.sums.channels, weighted, strict=True):
            z, D, used = self._derivative(channel, theta)
            pull = G @ z
            cost += 0.5 * float(z @ pull)
            gradient[used] += D.T @ pull
            H[np.ix_(used, used)] += D.T @ (G @ D)
        return Quadratic(cost, gradient, H, H)

    def _prior(self, theta: Array) -> Quadratic:
        """The negative logarithm of the prior, for the free parameters; infinite for bodies that
        cannot exist."""
        precision = self._spread**-2.0
        value = 0.5 * float(precision @ (theta - self._mean) ** 2)
        gradient, H = precision * (theta - self._mean), np.diag(precision)
        for first, weight in self.parameters.weights.items():
            ten = slice(first, first + 10)
            found = divergence(theta[ten], self._mean[ten])
            if found.value == np.inf:
                return Quadratic(np.inf, gradient[self._free], H, H)
            value += weight * found.value
            gradient[ten] += weight * found.gradient
            H[ten, ten] += weight * found.hessian
        free = self._free
        H = H[np.ix_(free, free)]
        return Quadratic(value, gradient[free], H, H)

    def _concentrated(self, theta: Array) -> Quadratic:
        """The negative logarithm of likelihood and prior with one weight for each equation, the
        inverse of its mean square: half the logarithms of the sums of squares, times the numbers of
        samples."""
        cost, gradient, H, _ = self._prior(theta)
        if not np.isfinite(cost):
            return Quadratic(cost, gradient, H, H)
        across = np.zeros_like(H)
        for channel, sums, counts in zip(
            self.sums.channels, self._totals(), self.sums.counts.sum(axis=1), strict=True
        ):
            if counts == 0.0:
                continue
            z, D, used = self._derivative(channel, theta)
            pull = sums @ z
            power = max(float(z @ pull), FLOOR * float(np.diag(sums) @ z**2), 1e-300)
            weight = counts / power
            cost += 0.5 * counts * np.log(power)
            slope = weight * (D.T @ pull)
            gradient[used] += slope
            H[np.ix_(used, used)] += weight * (D.T @ (sums @ D))
            across[np.ix_(used, used)] += 2.0 / counts * np.outer(slope, slope)
        return Quadratic(cost, gradient, H, H - across)

    def total(self, k: int) -> Array:
        """A_k^T A_k (c, c) of one equation over all frequencies."""
        return self._totals()[k]

    def _totals(self) -> list[Array]:
        """A_j^T A_j (c, c) of all channels."""
        if self._total is None:
            self._total = [each.sum(axis=0) for each in self.sums.sums]
        return self._total

    def _derivative(self, channel: Channel, theta: Array) -> tuple[Array, Array, NDArray[np.intp]]:
        """z of a channel, its derivative with respect to the free parameters that it depends on,
        and their indices."""
        z, D = self.coefficients.of(channel, theta)
        D = D[:, self._free]
        used = np.flatnonzero(D.any(axis=0))
        return z, D[:, used], used

    def _densities(self, theta: Array, density: Array, *, smooth: bool = False) -> Array:
        """Densities (channels, bands) by whose inverses the equations are weighted: with spectral
        weights, or if smooth, as functions of the frequency; otherwise constant."""
        densities = np.ones(density.shape)
        powers, middle = self._powers(theta), self.sums.middle
        for j, freedom in enumerate(self._freedom(theta, density)):
            bands = np.flatnonzero(freedom)
            if self._spectral or smooth:
                densities[j, bands], _ = smooth_spectrum(
                    powers[j, bands], freedom[bands], middle[bands]
                )
            elif bands.size:
                densities[j] = powers[j].sum() / freedom.sum()
        return densities

    def _error_spectra(self, theta: Array, density: Array) -> tuple[Array, Array]:
        """Densities (channels, bands) of the errors, and the covariances (channels, bands, bands)
        of their logarithms.

        The spectrum is smooth before the filter. Where the filter leaves little, its errors may be
        smaller than those of the equations themselves: such bands have the density of the last band
        before them, as if the gain were no smaller.
        """
        powers, middle, gain = self._powers(theta), self.sums.middle, self.sums.gain
        found = np.ones(density.shape)
        spread = np.zeros((*density.shape, density.shape[1]))
        for j, freedom in enumerate(self._freedom(theta, density)):
            bands = np.flatnonzero(freedom)
            passed = bands[gain[bands] > PASSED]
            if not passed.size:
                continue
            before, covariance = smooth_spectrum(
                powers[j, passed] / gain[passed], freedom[passed], middle[passed]
            )
            at = np.minimum(np.arange(len(bands)), len(passed) - 1)
            found[j, bands] = np.maximum(gain[bands], PASSED) * before[at]
            spread[j][np.ix_(bands, bands)] = covariance[np.ix_(at, at)]
        return found, spread

    def _freedom(self, theta: Array, density: Array) -> Array:
        """Degrees of freedom (channels, bands) of the residuals: the numbers of samples without
        those of the parameters that were fitted in each band."""
        P = _inverse(self._curvature(theta, density, self.sums))
        found = np.zeros(density.shape)
        for j, (channel, sums, counts) in enumerate(
            zip(self.sums.channels, self.sums.sums, self.sums.counts, strict=True)
        ):
            _, D, used = self._derivative(channel, theta)
            across = D @ P[np.ix_(used, used)] @ D.T
            fitted = np.einsum("bpq,pq->b", sums, across) / density[j]
            found[j] = np.clip(counts - fitted, LEAST_FREEDOM * counts, counts)
        return found

    def _curvature(self, theta: Array, density: Array, sums: EquationSums) -> Array:
        """The Gauss-Newton matrix (f, f) of the free parameters, with the prior."""
        H = self._prior(theta).convex
        for channel, each, weight in zip(sums.channels, sums.sums, density, strict=True):
            _, D, used = self._derivative(channel, theta)
            H[np.ix_(used, used)] += D.T @ np.einsum("bpq,b->pq", each, 1.0 / weight) @ D
        return H

    def uncertainties(self, fit: Fit, combinations: Array) -> list[Uncertainty]:
        """The standard errors of combinations (m, p) of the parameters of a fit.

        They are widened by Student's t, so 1.96 of them on either side contain 95 %. Parameters at
        their bounds count as known.
        """
        about = self._about(fit)
        by_score, by_prior = self._effects(about, combinations)
        variance, widened = self._variances(fit, about, by_score)
        moved = self._moved(combinations)
        owed = np.einsum("pm,pq,qm->m", by_prior, about.prior, by_prior)
        total = variance * widened**2 + owed
        touched = np.abs(combinations[:, about.edge]).sum(axis=1) > 0.0
        known = (owed <= PRIOR_SHARE * total) & (total > 0.0) & ~touched
        total += np.einsum("sm,sm->m", moved, moved)
        return [
            Uncertainty(float(np.sqrt(max(value, 0.0))), bool(use))
            for value, use in zip(total, known, strict=True)
        ]

    def covariance(self, fit: Fit, combinations: Array) -> Array:
        """The covariance (m, m) of combinations (m, p) of the parameters of a fit, with the squares
        of the errors of `uncertainties` on its diagonal."""
        about = self._about(fit)
        by_score, by_prior = self._effects(about, combinations)
        found = np.zeros((len(combinations), len(combinations)))
        for channel, sums, each, here in self._channels(fit, about):
            v = self._of_columns(fit, about, channel, by_score)
            found += v.T @ np.einsum("bpq,b->pq", sums, here / each**2) @ v
        widened, moved = self._variances(fit, about, by_score)[1], self._moved(combinations)
        found = found * np.outer(widened, widened) + by_prior.T @ about.prior @ by_prior
        return np.asarray(found + moved.T @ moved)

    def deviations(self, fit: Fit, segments: Iterable[EquationSums]) -> Array:
        """How the free parameters (segments, f) change if the sums of one of the segments are left
        out, by one Gauss-Newton step; 0 for those at bounds."""
        about = self._about(fit)
        kept = np.searchsorted(self._free, about.inner)
        H, scores = [], []
        for sums in segments:
            curvature = np.zeros((len(self._free), len(self._free)))
            score = np.zeros(len(self._free))
            for channel, each, density in zip(sums.channels, sums.sums, fit.density, strict=True):
                z, D, used = self._derivative(channel, fit.theta)
                G = np.einsum("bpq,b->pq", each, 1.0 / density)
                curvature[np.ix_(used, used)] += D.T @ G @ D
                score[used] += D.T @ (G @ z)
            H.append(curvature[np.ix_(kept, kept)])
            scores.append(score[kept])
        curvatures, own = np.array(H), np.array(scores)
        found = np.zeros((len(H), len(self._free)))
        for s, rest in enumerate(curvatures.sum(axis=0) - curvatures + about.prior):
            P = _inverse(rest)
            step = P @ (own[s] - own.mean(axis=0))
            found[s, kept] = step + P @ (about.prior @ step) if self._is_repeated else step
        return found

    def _moved(self, combinations: Array) -> Array:
        """The deviations (s, m) of combinations (m, p) by errors of the model."""
        return np.asarray(self._misfit @ combinations[:, self._free].T)

    def profile(self, fit: Fit, k: int, own: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """How the cost depends on some parameters of equation k, if all others are fitted again.

        own : indices (m,) of these parameters, which occur in no other equation. Returns the
        gradient (columns,) and the curvature (columns, columns) of the cost for changes of the
        coefficients by them, and their variances (m,) for a unit of the cost; 0 at bounds.
        """
        about = self._about(fit)
        H = self._curvature(fit.theta, fit.density, self.sums)
        kept = np.searchsorted(self._free, about.inner)
        H = H[np.ix_(kept, kept)]
        G = np.einsum("bpq,b->pq", self.sums.sums[k], 1.0 / fit.density[k])
        z, D = self.coefficients.of(self.sums.channels[k], fit.theta)
        others = np.flatnonzero(~np.isin(about.inner, own))
        across = G @ D[:, about.inner[others]]
        Q = G - across @ _inverse(H[np.ix_(others, others)]) @ across.T
        variance = np.zeros(len(fit.theta))
        variance[about.inner] = np.diag(_inverse(H))
        return G @ z, Q, variance[own]

    def _effects(self, about: _About, combinations: Array) -> tuple[Array, Array]:
        """The derivatives (f, m) of the estimates of combinations (m, p) with respect to the score,
        sum_j D_j^T A_j^T e_j / W_j, and to the score of the prior, B (theta_0 - theta)."""
        u = about.P @ combinations[:, about.inner].T
        if not self._is_repeated:
            return u, u
        again = about.P @ (about.prior @ u)
        return u + again, again

    def _variances(self, fit: Fit, about: _About, by_score: Array) -> tuple[Array, Array]:
        """Variances (m,) by noise of estimates with derivatives (f, m) with respect to the score,
        and the factors (m,) by which Student's t widens their square roots."""
        shares = []
        for channel, sums, each, here in self._channels(fit, about):
            v = self._of_columns(fit, about, channel, by_score)
            shares.append(np.einsum("bpm,pm->bm", sums @ v, v) * (here / each**2)[:, None])
        rows = np.stack(shares)
        variance = rows.sum(axis=(0, 1))
        noise = np.einsum("jbm,jbc,jcm->m", rows, about.spread, rows, optimize=True)
        freedom = 2.0 * variance**2 / np.maximum(noise, 1e-300)
        return variance, np.asarray(widening(freedom))

    def _channels(self, fit: Fit, about: _About) -> Any:
        """Every equation with its sums, weights and densities of the errors by band."""
        noisy = self._noisy
        return zip(noisy.channels, noisy.sums, fit.density, about.density, strict=True)

    def _of_columns(self, fit: Fit, about: _About, channel: Channel, u: Array) -> Array:
        """The changes (columns, m) of the coefficients of an equation with changes (f, m) of the
        inner parameters."""
        return np.asarray(self.coefficients.of(channel, fit.theta)[1][:, about.inner] @ u)

    def _about(self, fit: Fit) -> _About:
        """What the errors of all combinations have in common."""
        if self._known is None or self._known[0] is not fit:
            edge = self._at_bounds(fit.theta)
            kept = np.flatnonzero(~edge[self._free])
            inside = np.ix_(kept, kept)
            P = _inverse(self._curvature(fit.theta, fit.density, self._noisy)[inside])
            prior = self._prior(fit.theta).convex[inside]
            density, spread = self._error_spectra(fit.theta, fit.density)
            self._known = fit, _About(edge, self._free[kept], P, prior, density, spread)
        return self._known[1]

    def _at_bounds(self, theta: Array) -> NDArray[np.bool_]:
        """(p,) mask of the parameters that are at a bound."""
        lower, upper = np.array(self.parameters.lower), np.array(self.parameters.upper)
        near = 1e-6 * np.where(np.isfinite(upper - lower), upper - lower, 1.0)
        return np.asarray((theta <= lower + near) | (theta >= upper - near)) & np.array(
            self.parameters.free
        )


def _inverse(H: Array) -> Array:
    """The inverse of a positive definite matrix, with its diagonal scaled to one. Raises
    DynamicsError for another one."""
    with suppress(np.linalg.LinAlgError):
        if (np.diag(H) > 0.0).all():
            size = 1.0 / np.sqrt(np.diag(H))
            return np.asarray(np.linalg.inv(H * np.outer(size, size)) * np.outer(size, size))
    raise DynamicsError("the measured signals contradict the known robot beyond all bounds")
