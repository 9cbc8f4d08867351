# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""One low-pass filter for both sides of linear equations, and fewer equations after it.

Torques are low-passed before a least-squares fit. If the equations tau = Y x hold at every time,
then H tau = (H Y) x for any linear filter H; but H tau differs from Y evaluated with filtered
states wherever Y is not linear in them: Coulomb friction changes its sign within a few ms, and the
filtered torque does not. Torque and regressor must therefore pass the same filter, the "parallel
filter" of identification (M. Gautier, "Dynamic identification of robots with power model", ICRA
1997; A. Janot, P.-O. Vandanjon, M. Gautier, "A generic instrumental variable approach for
industrial robot identification", IEEE TCST 22(1), 2014). Above 1.5 times its cut-off, nothing is
left, so three samples per period of the cut-off keep all information (decimation).
"""

from collections.abc import Callable, Iterator

import numpy as np

from ...core import Array, IndependentCopies
from .differentiation import ZeroPhaseFilter

KEPT = 3.0  # samples per period of the cut-off
PER_BAND = 8  # frequencies at which the gain is evaluated
CHUNK = 2000  # samples that are computed at a time
LONGEST = 4096  # filtered samples of a block


class ParallelFilter(IndependentCopies):
    """Filters and thins out tables of equations that are computed piece by piece.

    rate : Hz, of the samples. cutoff : Hz. Raises InputError as :class:`ZeroPhaseFilter` does.
    """

    def __init__(self, rate: float, cutoff: float) -> None:
        self._filter = ZeroPhaseFilter(rate, cutoff, 1)
        self.reach = self._filter.reach
        self.step = max(int(rate / (KEPT * cutoff) + 1e-6), 1)

    def gain(self, edges: Array) -> Array:
        """Mean squares (bands,) of the gain between edges (bands + 1,), which are shares of the
        Nyquist frequency of the filtered samples; with what is folded into this range."""
        share = np.linspace(edges[:-1], edges[1:], 2 * PER_BAND + 1)[1::2]
        found = np.zeros(share.shape)
        for image in (share, 2.0 - share):
            found += self._filter.gain(0.5 * image * self._filter.rate / self.step) ** 2
        return np.asarray(found.mean(axis=0))

    def blocks(self, table: Callable[[slice], Array], count: int) -> Iterator[Array]:
        """The filtered table of `count` samples without gaps, in blocks of similar length.

        table : the rows (k, c) of a slice of the samples, computed in pieces.
        """
        total = -(-(count - 2 * self.reach) // self.step)
        if total <= 0:
            return
        size = -(-total // -(-total // LONGEST))
        left = filtered = None
        for begin in range(0, count, CHUNK):
            rows = table(slice(begin, min(begin + CHUNK, count)))
            rows = rows if left is None else np.concatenate([left, rows])
            (values,) = self._filter(rows, step=self.step)
            left = rows[len(values) * self.step :]
            filtered = values if filtered is None else np.concatenate([filtered, values])
            while len(filtered) >= size:
                yield filtered[:size]
                filtered = filtered[size:]
        if filtered is not None and len(filtered):
            yield filtered
