# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Numbers given for all joints or for each, and the bandwidths for which gains can be designed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import Array, InputError, as_array

# 1/s; no robot comes near these bounds, beyond which powers of a rate overflow or cancel.
SLOWEST, FASTEST = 1e-4, 1e6


def per_name(
    name: str, value: Any, names: Sequence[str], *, positive: bool = False, of: str = "joint"
) -> Array:
    """A row (k,) of numbers that are not negative, for k names, from a scalar or (k,). InputError
    names the owner of a wrong number."""
    k = len(names)
    row = as_array(name, np.full(k, value) if np.ndim(value) == 0 else value, (k,), names)
    if row.ndim != 1:
        raise InputError(f"{name}: expected one value or {k}, got shape {row.shape}")
    for i in np.flatnonzero(row <= 0.0 if positive else row < 0.0).tolist():
        right = "positive" if positive else "zero or greater"
        raise InputError(f"{of} '{names[i]}': {name} is {row[i]:g}: must be {right}")
    return row


def bandwidths(
    value: Any, names: Sequence[str], *, what: str = "bandwidth", of: str = "joint"
) -> Array:
    """(n,) bandwidths in 1/s from a scalar or (n,).

    Raises InputError, naming the joint or motor, unless all are between SLOWEST and FASTEST.
    """
    rates = per_name(what, value, names, positive=True, of=of)
    for k in np.flatnonzero(~is_possible(rates)).tolist():
        raise InputError(
            f"{of} '{names[k]}': {what} {rates[k]:g} 1/s: must be between {SLOWEST:g} and"
            f" {FASTEST:g}"
        )
    return rates


def is_possible(rates: Any) -> Any:
    """Whether gains can be designed for rates or poles (1/s) of this magnitude; same shape."""
    size = np.abs(rates)
    return (size >= SLOWEST) & (size <= FASTEST)
