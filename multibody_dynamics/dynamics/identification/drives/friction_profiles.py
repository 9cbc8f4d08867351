# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Friction over its velocities v0 and vs: intervals from the profile of the likelihood, a search.

The velocities v0 and vs of Coulomb and Stribeck friction enter nonlinearly (`friction_terms`). If
the motion hardly distinguishes the two terms, the likelihood falls slowly on one side of its
maximum, or has a second one, and the standard errors of its curvature at the maximum are too small.
Here, a parameter x is judged by the profile of the likelihood,

    C(x) = minimum of the cost over all other parameters.

The likelihood-ratio test with the correction for correlated errors (J. T. Kent, "Robust properties
of likelihood ratio tests", Biometrika 69(1), 1982) rejects a value at z standard deviations of a
normal distribution if C exceeds its minimum by z^2 s^2 / (2 P_xx), with the standard error s and
the inverse P of the curvature. The interval x +- h is the one with a probability of 5 % beyond its
two ends together; for a quadratic cost, h is 1.96 s. The standard error becomes h / 1.96.

Everything but v0 and vs is linear in the equation of a joint or motor. For each pair (v0, vs) of a
grid, the cost is minimised over the sizes of friction and, in its quadratic approximation, over all
other parameters of the robot.

The same grid, with all other parameters unchanged, gives first values: a fit from one starting
point can end in another minimum of the likelihood, most often with a Stribeck friction of zero, its
bound, where vs has no effect any more, and Coulomb and viscous friction that explain the Stribeck
term in part. Whether the best pair is used depends on the likelihood of a fit that starts there
(`robot_identification`).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from ...core import Array
from .drive_equations import Channel
from .drive_parameters import Coefficients
from .equation_sums import EquationSums
from .fitted_model import FittedModel
from .friction_terms import NODES, VelocityNodes

WIDTH = 1.96  # standard errors on either side
OUTSIDE = 2.0 * float(ndtr(-WIDTH))  # probability of values outside of an interval
LEVELS = np.linspace(0.5, 3.5, 13)  # standard deviations for which the ends are computed
NEAR, NEAR_POINTS = 5.0, 41  # half width in standard errors, and size, of the fine grid
FAR_POINTS = 2 * NODES  # between the bounds of v0 and vs
RIDGE = 1e-9  # relative, of the normal matrices of the sizes
WORTH = 1.0  # least decrease of the negative logarithm of the likelihood for which a pair is tried


class Widening(NamedTuple):
    """The factor on the standard error of a parameter, and whether its interval ends within the
    values that v0 and vs can have."""

    factor: float
    is_closed: bool


class _Grid(NamedTuple):
    """log v0 and log vs (g,) of all pairs, sizes (g, k) of the best friction with its cost (g,)
    above that of the fit, and their variances (g, k) for a unit of the cost."""

    coulomb: Array
    stribeck: Array
    sizes: Array
    cost: Array
    variance: Array


def friction_widenings(model: FittedModel) -> dict[str, Widening]:
    """The factors by which the standard errors of friction parameters must be multiplied."""
    found: dict[str, Widening] = {}
    for k, channel in enumerate(model.equations.channels):
        if model.coefficients.seeks_friction(channel):
            found |= _Site(model.coefficients, channel).widenings(model, k)
    return found


def searched_friction(coefficients: Coefficients, sums: EquationSums, theta: Array) -> Array | None:
    """theta (p,) with the velocities and sizes of friction that explain each equation best, all
    other parameters unchanged; None if theta is at least nearly as good."""
    found, changed = theta.copy(), False
    counts = sums.counts.sum(axis=1)
    for channel, G, count in zip(sums.channels, sums.sums, counts, strict=True):
        if count and coefficients.seeks_friction(channel):
            site = _Site(coefficients, channel)
            changed |= site.search(found, G.sum(axis=0), float(count))
    return found if changed else None


class _Site:
    """The friction of one equation."""

    def __init__(self, coefficients: Coefficients, channel: Channel) -> None:
        equations, parameters = coefficients.equations, coefficients.parameters
        self._nodes, self._channel = equations.nodes_of(channel), channel
        self._coefficients, self._index = coefficients, parameters.index
        self._site = site = equations.site_of(channel)
        self._sizes = [
            name for name in ("viscous", "offset", "coulomb", "load", "stribeck")
            if name in channel.blocks and parameters.free[self._index[f"{site}.{name}"]]
        ]  # fmt: skip
        velocities = ["coulomb_velocity"]
        velocities += ["stribeck_velocity"] * ("stribeck" in self._sizes)
        self._names = [f"{site}.{name}" for name in (*self._sizes, *velocities)]

    def search(self, theta: Array, G: Array, count: float) -> bool:
        """Change the friction in theta, in place, to the best one at a pair of nodes, if that is
        worth a try. G, count : sums of the equation and of its samples."""
        z, _ = self._coefficients.of(self._channel, theta)
        nodes = np.log(self._nodes.values)
        logs = [nodes for name in self._names if name.endswith("_velocity")]
        grid = self._grid(theta, logs, 2.0 * G @ z, 2.0 * G)
        now = float(z @ G @ z)
        power = now + grid.cost
        if "stribeck" in self._sizes:
            power[grid.sizes[:, -1] == 0.0] = np.inf
        best = int(np.argmin(power))
        if not 0.0 < power[best] < np.inf or 0.5 * count * np.log(now / power[best]) < WORTH:
            return False
        values = [*grid.sizes[best], grid.coulomb[best], grid.stribeck[best]]
        for name, value in zip(self._names, values, strict=False):
            theta[self._index[name]] = value
        return True

    def widenings(self, model: FittedModel, k: int) -> dict[str, Widening]:
        """The factors by name. k : the number of the equation."""
        fit, where = model.fit, model.indices(self._names)
        errors = np.array([each.error for each in model.uncertainties(self._names)])
        g, Q, variance = model.solver.profile(fit, k, np.array(where))
        logs = [
            _logs(self._nodes, float(fit.theta[i]), float(error))
            for name, i, error in zip(self._names, where, errors, strict=True)
            if name.endswith("_velocity")
        ]
        grid = self._grid(fit.theta, logs, g, Q)
        above = grid.cost - min(float(grid.cost.min()), 0.0)
        widenings = {}
        for name, i, error, own in zip(self._names, where, errors, variance, strict=True):
            if not (error > 0.0 and own > 0.0):  # at a bound
                continue
            scale = 0.5 * error**2 / own
            of_level = [
                self._ends(grid, above, name, float(fit.theta[i]), scale * level**2)
                for level in LEVELS
            ]
            half = _half_width(*np.array([ends for ends, _ in of_level]).T)
            closed = self._ends(grid, above, name, float(fit.theta[i]), scale * WIDTH**2)[1]
            widenings[name] = Widening(max(1.0, half / (WIDTH * error)), closed)
        return widenings

    def _ends(
        self, grid: _Grid, above: Array, name: str, value: float, limit: float
    ) -> tuple[tuple[float, float], bool]:
        """The distances of the values at which the profile of a parameter reaches a limit, below
        and above the estimate; and whether they are within the grid."""
        kind = name.removeprefix(f"{self._site}.")
        if kind in self._sizes:
            low, high = _of_size(grid, above, self._sizes.index(kind), limit)
            low = max(low, 0.0) if kind == "stribeck" else low
            return (value - low, high - value), True
        at = grid.coulomb if kind == "coulomb_velocity" else grid.stribeck
        (low, high), closed = _of_velocity(at, above, limit)
        return (-float(np.expm1(low - value)), float(np.expm1(high - value))), closed

    def _grid(self, theta: Array, logs: list[Array], g: Array, Q: Array) -> _Grid:
        """The best sizes and their cost for all pairs of v0 and vs.

        logs : values of log v0 and, with Stribeck friction, log vs. g, Q : gradient (columns,) and
        curvature of the cost for changes of the coefficients.
        """
        pairs = np.meshgrid(*logs, indexing="ij")
        coulomb, stribeck = pairs[0].ravel(), pairs[-1].ravel()
        z, D = self._coefficients.of(self._channel, theta)
        blocks = self._channel.blocks
        of = {name: np.arange(blocks[name].start, blocks[name].stop) for name in self._sizes}
        places = np.concatenate([*of.values()])
        T = np.zeros((len(coulomb), len(z), len(self._sizes)))
        scale = float(D[blocks["viscous"].start, self._index[f"{self._site}.viscous"]])
        for k, (name, columns) in enumerate(of.items()):
            at = {"coulomb": coulomb, "load": coulomb, "stribeck": stribeck}.get(name)
            T[:, columns, k] = scale if at is None else scale * self._nodes.weights(at)[0]
        here = np.zeros_like(z)
        here[places] = z[places]
        return self._best(coulomb, stribeck, T[:, places], here[places], g[places],
                          Q[np.ix_(places, places)])  # fmt: skip

    # The quadratic cost of one equation, for all pairs of velocities
    def _best(
        self, coulomb: Array, stribeck: Array, T: Array, here: Array, g: Array, Q: Array
    ) -> _Grid:
        """cost = g^T (T a - here) + (T a - here)^T Q (T a - here) / 2, least over the sizes a."""
        A = T.swapaxes(1, 2) @ (Q @ T)
        b = T.swapaxes(1, 2) @ (g - Q @ here)
        inverse, sizes = _solved(A, b)
        least = float(-g @ here + 0.5 * here @ Q @ here)
        cost = least + 0.5 * np.einsum("gk,gk->g", sizes, b)
        if "stribeck" in self._sizes:  # which is the last one, and not negative
            _, without = _solved(A[:, :-1, :-1], b[:, :-1])
            negative = sizes[:, -1] < 0.0
            other = least + 0.5 * np.einsum("gk,gk->g", without, b[:, :-1])
            cost = np.where(negative, other, cost)
            sizes[negative, :-1], sizes[negative, -1] = without[negative], 0.0
        return _Grid(coulomb, stribeck, sizes, cost, np.einsum("gkk->gk", inverse))


def _solved(A: Array, b: Array) -> tuple[Array, Array]:
    """The inverses of matrices (g, k, k), and -A^-1 b (g, k)."""
    size = 1.0 / np.sqrt(np.maximum(np.einsum("gkk->gk", A), 1e-300))
    scaled = A * size[:, :, None] * size[:, None, :] + RIDGE * np.eye(A.shape[1])
    inverse = np.linalg.inv(scaled) * size[:, :, None] * size[:, None, :]
    return inverse, -np.einsum("gij,gj->gi", inverse, b)


def _logs(nodes: VelocityNodes, middle: float, error: float) -> Array:
    """Values of log v0 or log vs: close ones near the estimate, others up to the bounds."""
    near = middle + NEAR * min(error, 1.0) * np.linspace(-1.0, 1.0, NEAR_POINTS)
    far = np.linspace(*nodes.bounds, FAR_POINTS)
    return np.unique(np.clip(np.concatenate([near, far]), *nodes.bounds))


def _half_width(below: Array, beyond: Array) -> float:
    """Half the width of the symmetric interval with the probability OUTSIDE beyond its ends.

    below, beyond : distances at which the profile reaches the LEVELS; NaN where it is higher
    everywhere.
    """
    sides = [np.fmax.accumulate(np.append(0.0, each)) for each in (below, beyond)]
    levels = np.append(0.0, LEVELS)
    widths = np.unique(np.concatenate(sides))
    outside = sum(ndtr(-np.interp(widths, each, levels)) for each in sides)
    return float(np.interp(-OUTSIDE, -np.asarray(outside), widths))


def _of_size(grid: _Grid, above: Array, k: int, limit: float) -> tuple[float, float]:
    """The ends of the interval of a size: those of all pairs of velocities together."""
    inside = above <= limit
    if not inside.any():
        return float("nan"), float("nan")
    half = np.sqrt(2.0 * (limit - above[inside]) * np.maximum(grid.variance[inside, k], 0.0))
    middle = grid.sizes[inside, k]
    return float((middle - half).min()), float((middle + half).max())


def _of_velocity(at: Array, above: Array, limit: float) -> tuple[tuple[float, float], bool]:
    """The ends of the interval of log v0 or log vs, and whether they are within the grid."""
    values, which = np.unique(at, return_inverse=True)
    profile = np.full(len(values), np.inf)
    np.minimum.at(profile, which, above)
    inside = np.flatnonzero(profile <= limit)
    if not inside.size:
        return (float("nan"), float("nan")), False
    roots = np.sqrt(np.maximum(profile, 0.0) / limit)
    ends = [
        _crossing(values, roots, int(inside[0]), -1),
        _crossing(values, roots, int(inside[-1]), 1),
    ]
    closed = bool(inside[0] > 0 and inside[-1] < len(values) - 1)
    return (ends[0], ends[1]), closed


def _crossing(values: Array, roots: Array, last: int, step: int) -> float:
    """Where the root of the profile, which is nearly linear, becomes one beyond a value."""
    beyond = last + step
    if not 0 <= beyond < len(values):
        return float(values[last])
    share = (1.0 - roots[last]) / (roots[beyond] - roots[last])
    return float(values[last] + share * (values[beyond] - values[last]))
