# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""First values of the velocities v0 and vs of friction, from a search over all their nodes.

Coulomb and Stribeck terms are linear in their sizes, but not in v0 and vs (`friction_terms`). A
fit from one starting point can end in another minimum of the likelihood: most often with a
Stribeck friction of zero, its bound, where vs has no effect any more, and Coulomb and viscous
friction that explain the Stribeck term in part. For every pair of tabulated velocities, this search
solves for the sizes (viscous, offset, Coulomb, Stribeck and load-dependent friction) by least
squares, with everything else unchanged, and returns the best pair. Whether the pair is used depends
on the likelihood of a fit that starts there (`robot_identification`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core import Array
from .drive_equations import Channel, DriveEquations
from .drive_parameters import Coefficients, Parameters
from .equation_sums import EquationSums
from .friction_terms import NODES

SIZES = ("viscous", "offset", "coulomb", "stribeck", "load")
WORTH = 1.0  # least decrease of the negative logarithm of the likelihood for which a pair is tried


class _Pairs(NamedTuple):
    """Columns (pairs, terms) of the sizes of friction, for every pair of nodes; the names of the
    terms, and the nodes (pairs,) of v0 and vs."""

    columns: np.ndarray
    names: tuple[str, ...]
    coulomb: np.ndarray
    stribeck: np.ndarray


def searched_friction(
    equations: DriveEquations,
    coefficients: Coefficients,
    parameters: Parameters,
    sums: EquationSums,
    theta: Array,
) -> Array | None:
    """theta (p,) with the velocities and sizes of friction that explain each equation best, all
    other parameters unchanged; None if theta is at least nearly as good."""
    found, changed = theta.copy(), False
    counts = sums.counts.sum(axis=1)
    for channel, G, count in zip(sums.channels, sums.sums, counts, strict=True):
        if "coulomb" not in channel.blocks or count == 0.0:
            continue
        site = equations.site_of(channel)
        if parameters.free[parameters.index[f"{site}.coulomb_velocity"]]:
            changed |= _searched(
                channel, equations, coefficients, parameters, (site, G.sum(axis=0), count), found
            )
    return found if changed else None


# wide: an equation with its sums, and the parameters to change
def _searched(
    channel: Channel,
    equations: DriveEquations,
    coefficients: Coefficients,
    parameters: Parameters,
    of_site: tuple[str, Array, float],
    theta: Array,
) -> bool:
    """Change the friction of one equation in theta, in place, if that is worth a try."""
    (site, G, count), at = of_site, parameters.index
    z, D = coefficients.of(channel, theta)
    pairs = _pairs(channel)
    rest = z.copy()
    for name in SIZES:
        if name in channel.blocks:
            rest[channel.blocks[name]] = 0.0
    here = pairs.columns
    H = G[here[:, :, None], here[:, None, :]]
    b = -(G @ rest)[here]
    size = 1.0 / np.sqrt(np.maximum(np.einsum("pii->pi", H), 1e-300))
    scaled = H * size[:, :, None] * size[:, None, :] + 1e-9 * np.eye(here.shape[1])
    sizes = size * np.linalg.solve(scaled, (size * b)[..., None])[..., 0]
    power = float(rest @ G @ rest) - np.einsum("pi,pi->p", sizes, b)
    scale = float(D[channel.blocks["viscous"].start, at[f"{site}.viscous"]])
    values = dict(zip(pairs.names, (sizes / scale).T, strict=True))
    for name, each in values.items():
        i = at[f"{site}.{name}"]
        power[(each < parameters.lower[i]) | (each > parameters.upper[i])] = np.inf
    best = int(np.argmin(power))
    now = float(z @ G @ z)
    if not (np.isfinite(power[best]) and power[best] > 0.0):
        return False
    if 0.5 * count * np.log(now / power[best]) < WORTH:
        return False
    nodes = np.log(equations.nodes_of(channel).values)
    for name, each in values.items():
        theta[at[f"{site}.{name}"]] = each[best]
    theta[at[f"{site}.coulomb_velocity"]] = nodes[pairs.coulomb[best]]
    if "stribeck" in values:
        theta[at[f"{site}.stribeck_velocity"]] = nodes[pairs.stribeck[best]]
    return True


def _pairs(channel: Channel) -> _Pairs:
    """All pairs of nodes of v0 and vs; only nodes of v0 without Stribeck friction."""
    blocks = channel.blocks
    names = tuple(name for name in SIZES if name in blocks)
    coulomb, stribeck = (x.ravel() for x in np.meshgrid(range(NODES), range(NODES)))
    if "stribeck" not in blocks:
        coulomb, stribeck = np.arange(NODES), np.zeros(NODES, dtype=int)
    node = {"coulomb": coulomb, "load": coulomb, "stribeck": stribeck}
    columns = [blocks[name].start + node.get(name, np.zeros_like(coulomb)) for name in names]
    return _Pairs(np.stack(columns, axis=1), names, coulomb, stribeck)
