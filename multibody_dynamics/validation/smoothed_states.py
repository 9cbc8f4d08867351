# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Smooth states on the grid of a recording, piece by piece."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..dynamics.core import Array
from ..dynamics.identification import ZeroPhaseFilter
from .alignment import MIDDLE, Keys, runs_of, seconds_of
from .survey import Survey


class Smoothed(NamedTuple):
    """k states at times (k,) s: state (d, k, n) q, q', ... and efforts (e, k, n) with rates."""

    times: Array
    state: Array
    efforts: Array


class SmoothedStates:
    """Filters samples on the grid and thins them out to about `rate`, Hz.

    used : (m,) the columns with efforts; those of others are zero.
    cutoff : Hz. orders : numbers of rows d and e of the states and efforts.
    """

    def __init__(
        self, look: Survey, used: Array, cutoff: float, rate: float, orders: tuple[int, int]
    ) -> None:
        self._look, self._used = look, used
        self._motion = ZeroPhaseFilter(look.rate, cutoff, orders[0] - look.velocity)
        self._derived = ZeroPhaseFilter(look.rate, cutoff, orders[0]) if look.derived else None
        self._place = ZeroPhaseFilter(look.rate, cutoff, 1)
        self._effort = ZeroPhaseFilter(look.rate, cutoff, orders[1])
        self.step = max(int(look.rate / rate + 1e-6), 1)
        self.reach = self._motion.reach
        self._keys: Keys = np.zeros(0, dtype=np.int64)
        self._rows: Array = np.zeros((0, *look.background.shape))

    def push(self, keys: Keys, rows: Array) -> Iterator[Smoothed]:
        """The states that become available with the samples (k, 3, n); `alignment` explains the
        keys."""
        for run in runs_of(keys):
            if len(self._keys) and keys[run.start] != self._keys[-1] + 1:
                self.flush()
            self._keys = np.concatenate([self._keys, keys[run]])
            self._rows = np.concatenate([self._rows, rows[run]])
            yield from self._smoothed()

    def flush(self) -> None:
        """Drop the samples that the filter still holds, at a gap or at the end."""
        self._keys, self._rows = self._keys[:0], self._rows[:0]

    def _smoothed(self) -> Iterator[Smoothed]:
        if len(self._keys) <= 2 * self.reach:
            return
        first = int(-(self._keys[self.reach] - MIDDLE) % self.step)
        centres = self._keys[self.reach + first : len(self._keys) - self.reach : self.step]
        count = len(centres)
        if count:
            options = {"first": first, "step": self.step}
            q, qd, effort = self._rows.transpose(1, 0, 2)
            if self._look.velocity:
                rates = self._motion(_filled(qd, self._look.background[1]), **options)
                state = np.concatenate([self._place(q, **options), rates])
                if self._derived is not None:
                    joints = list(self._look.derived)
                    state[:, :, joints] = self._derived(q[:, joints], **options)
            else:
                state = self._motion(q, **options)
            measured = self._effort(effort[:, self._used], **options)
            efforts = np.zeros((len(measured), *state.shape[1:]))
            efforts[:, :, self._used] = measured
            yield Smoothed(seconds_of(centres, self._look.period), state, efforts)
            done = first + count * self.step
            self._keys, self._rows = self._keys[done:], self._rows[done:]


def _filled(rows: Array, background: Array) -> Array:
    """The rows (k, n) with the known values of the background (n,)."""
    known = np.isfinite(background)
    if known.any():
        rows = rows.copy()
        rows[:, known] = background[known]
    return rows
