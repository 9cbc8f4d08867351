# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""One equation y = A x in the form in which the equations of drives are fitted."""

from types import SimpleNamespace

import numpy as np

from multibody_dynamics.dynamics.identification.drives.drive_equations import Channel
from multibody_dynamics.dynamics.identification.drives.drive_parameters import Parameters
from multibody_dynamics.dynamics.identification.drives.equation_sums import LeastSquares
from multibody_dynamics.dynamics.identification.drives.filtered_rows import Block, sums_of
from multibody_dynamics.dynamics.identification.drives.fitted_model import FittedModel
from multibody_dynamics.dynamics.identification.signals.parallel_filter import ParallelFilter

PARALLEL = ParallelFilter(500.0, 5.0)


class LinearEquation:
    """Its coefficients are the parameters themselves: x0, x1, ..., with these prior means."""

    def __init__(self, means, spread):
        self.parameters = Parameters()
        for k, mean in enumerate(means):
            self.parameters.add(f"x{k}", mean, spread)
        m = len(means)
        blocks = {"links": slice(0, m), "signal": slice(m, m + 1)}
        channels = [Channel("rigid", 0, 0, blocks, m + 1)]
        self.equations = SimpleNamespace(channels=channels, places=[slice(1, m + 2)])

    def of(self, channel, theta):
        return np.append(theta, -1.0), np.vstack([np.eye(len(theta)), np.zeros(len(theta))])


def fitted(times, A, y, used=None, spread=1e4):
    """The fit to one block, with one weight. used : (k, 1) samples, all by default."""
    linear = LinearEquation(np.zeros(A.shape[1]), spread)
    used = np.ones((len(y), 1), dtype=bool) if used is None else used
    blocks = [Block(0, np.column_stack([times, A, y]), used)]
    sums = sums_of(linear.equations, blocks, PARALLEL)
    solver = LeastSquares(sums, linear, spectral=False)
    return FittedModel(blocks, solver, solver.fit())
