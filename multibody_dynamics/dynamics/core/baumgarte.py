# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Baumgarte's constraint stabilisation: constraint violations decay instead of drifting."""

from dataclasses import dataclass

import numpy as np

from .errors import InputError
from .inputs import exactly


@dataclass(frozen=True)
class Baumgarte:
    """Rates of Baumgarte stabilisation, A q'' + A' q' + 2 alpha A q' + beta^2 f = 0; both in 1/s.

    With alpha = beta a constraint violation decays with critical damping. Raises InputError for
    negative or infinite rates.
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for name, rate in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 <= exactly(f"Baumgarte: {name}", rate, ()).item() < np.inf:
                raise InputError(f"Baumgarte: {name} must not be negative, got {rate}")
