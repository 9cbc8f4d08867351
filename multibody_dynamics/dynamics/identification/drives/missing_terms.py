# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the residuals of a fit resemble: effects that the model lacks.

A score test (C. R. Rao, Proc. Cambridge Phil. Soc. 44(1), 1948) needs no second fit: residuals of a
model without a term contain that part of its column that the columns of the model cannot replace.
The share of the residual that this part explains is what the term can be worth. The load is taken
from the spring, and products of filtered signals for filtered products.
"""

import numpy as np

from ...core import Array
from .equation_sums import left_side
from .filtered_rows import CLOSE, OUTLIER
from .fitted_model import FittedModel
from .friction_terms import FASTEST, SLOWEST

NAMES = {
    "stribeck": "friction that changes with the speed",
    "load": "friction that grows with the load",
    "positional": "a torque that depends on the position",
}
"""Effects, in words."""
NOTABLE = 0.05  # share of a residual
VELOCITIES = 12  # of the Stribeck effect that are tried
SPARE = 4  # samples per column that are needed at least


def explained(found: FittedModel, k: int) -> dict[str, float]:
    """The shares of the mean square of the residual of equation k that each effect in NAMES would
    explain, beside the parameters that it has; without those of a negligible torque."""
    coefficients, channel = found.coefficients, found.equations.channels[k]
    if channel.kind == "spring" or not coefficients.seeks_friction(channel):
        return {}
    rows = found.columns(k)
    z, slope = coefficients.of(channel, found.fit.theta)
    own = rows @ slope[:, np.flatnonzero(coefficients.parameters.free)]
    own = own[:, own.any(axis=0)]
    if len(rows) < SPARE * own.shape[1]:
        return {}
    errors = rows @ z
    inside = np.abs(errors) < OUTLIER * 1.4826 * np.median(np.abs(errors))
    rows, own = rows[inside], own[inside]
    basis = np.linalg.qr(own / np.linalg.norm(own, axis=0))[0]
    errors, size = _rest(basis, rows @ z), rows @ left_side(channel, z)
    shares = {
        name: max(_share(_rest(basis, column), errors) for column in columns.T)
        for name, columns in _candidates(found, k, rows).items()
    }
    power, negligible = float(errors @ errors), CLOSE**2 * float(size @ size)
    return {name: share for name, share in shares.items() if share * power > negligible}


def _candidates(found: FittedModel, k: int, rows: Array) -> dict[str, Array]:
    """Columns (k, m) of each effect in the rows of equation k, for different velocities."""
    channel = found.equations.channels[k]
    nodes, block = found.equations.nodes_of(channel), channel.blocks
    (velocity,) = found.values([f"{found.equations.site_of(channel)}.coulomb_velocity"])
    y = rows[:, block["coulomb"]] @ nodes.weights(velocity)[0]
    columns: dict[str, Array] = {}
    if "stribeck" not in block:
        speeds = np.geomspace(SLOWEST, FASTEST, VELOCITIES) * nodes.speed
        v = rows[:, block["viscous"].start, None]
        columns["stribeck"] = y[:, None] * np.exp(-((v / speeds) ** 2))
    if "load" not in block and "spring" in block:
        Q = rows[:, block["spring"]] @ found.fit.z[k][block["spring"]]
        columns["load"] = (y * np.abs(Q))[:, None]
    if "positional" in block:
        columns["positional"] = rows[:, block["positional"]]
    return columns


def _rest(basis: Array, column: Array) -> Array:
    """What of a column the basis cannot replace."""
    return np.asarray(column - basis @ (basis.T @ column))


def _share(column: Array, errors: Array) -> float:
    """Of the square of the errors."""
    size = float(column @ column) * float(errors @ errors)
    return float(column @ errors) ** 2 / size if size > 0.0 else 0.0
