# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A model of the drives that was fitted to recordings: what every judgement of a fit asks for."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...core import Array
from .drive_equations import DriveEquations
from .drive_parameters import Coefficients
from .equation_sums import Fit, LeastSquares, Uncertainty
from .filtered_rows import Block


class FittedModel(NamedTuple):
    """blocks : filtered rows of the recordings. solver, fit : of the parameters to their sums."""

    blocks: Sequence[Block]
    solver: LeastSquares
    fit: Fit

    @property
    def coefficients(self) -> Coefficients:
        """The coefficients of the equations as functions of the parameters."""
        return self.solver.coefficients

    @property
    def equations(self) -> DriveEquations:
        """The equations of the robot."""
        return self.solver.coefficients.equations

    def indices(self, names: Iterable[str]) -> list[int]:
        """The indices of parameters by name."""
        index = self.solver.parameters.index
        return [index[name] for name in names]

    def values(self, names: Iterable[str]) -> Array:
        """(m,) parameters by name, as fitted: logarithms of velocities and gains."""
        return self.fit.theta[self.indices(names)]

    def uncertainties(self, names: Iterable[str]) -> list[Uncertainty]:
        """Their standard errors, and whether they are determined."""
        rows = np.eye(len(self.fit.theta))[self.indices(names)]
        return self.solver.uncertainties(self.fit, rows)

    def columns(self, k: int) -> Array:
        """The columns of equation k in the rows of all blocks that it uses."""
        place = self.equations.places[k]
        return np.concatenate([x.rows[:, place][x.used[:, k]] for x in self.blocks])
