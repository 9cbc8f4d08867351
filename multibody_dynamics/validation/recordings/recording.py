# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A recording of any kind: its overview, and its samples as a stream."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from ...dynamics.model import Transmission, motor_columns
from . import tables
from .bags import BATCH, Bag, JointSamples, Overview


class Recording:
    """A rosbag2 folder, a single .mcap or .db3 file, or a table (.csv, .npz).

    effort : which effort to take from a table, "joint" or "motor". transmissions : of which joints
    may have been recorded instead of motors. prefix : of the recorded names.
    """

    def __init__(
        self,
        path: Path,
        effort: str = "joint",
        transmissions: Sequence[Transmission] = (),
        prefix: str = "",
    ) -> None:
        self.path = path
        self.effort = effort
        self._transmissions, self._prefix = transmissions, prefix

    @cached_property
    def _table(self) -> JointSamples | None:
        is_table = self.path.suffix in tables.SUFFIXES and not self.path.is_dir()
        if not is_table:
            return None
        return tables.read_table(self.path, self.effort, self._transmissions, self._prefix)

    @cached_property
    def _bag(self) -> Bag:
        return Bag(self.path)

    @cached_property
    def overview(self) -> Overview:
        """Topics and time span. Raises InputError for a recording that cannot be read."""
        table = self._table
        if table is None:
            return self._bag.overview
        first, last = int(table.received.min()), int(table.received.max())
        return Overview({table.topic: len(table.received)}, first, last)

    def read(
        self,
        topics: Sequence[str] | None = None,
        *,
        start: int | None = None,
        stop: int | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Iterator[JointSamples]:
        """The samples; see :meth:`.Bag.read`. Joints behind transmissions become motors."""
        for batch in self._read(topics, start, stop, progress):
            columns = motor_columns(batch.names, self._transmissions, self._prefix)
            if columns.behind:
                rows = [
                    columns.convert(field, batch.rows[:, k])
                    for k, field in enumerate(("position", "velocity", "effort"))
                ]
                batch = replace(batch, names=columns.names, rows=np.stack(rows, axis=1))
            yield batch

    def _read(
        self,
        topics: Sequence[str] | None,
        start: int | None,
        stop: int | None,
        progress: Callable[[int, int], None],
    ) -> Iterator[JointSamples]:
        table = self._table
        if table is None:
            yield from self._bag.read(topics, start=start, stop=stop, progress=progress)
            return
        count = len(table.received)
        for begin in range(0, count, BATCH):
            part = slice(begin, begin + BATCH)
            at = table.received[part]
            inside = (at >= (at if start is None else start)) & (
                at < (at + 1 if stop is None else stop)
            )
            if inside.any():
                yield JointSamples(
                    table.topic, table.names, at[inside], at[inside], table.rows[part][inside]
                )
            progress(min(begin + BATCH, count), count)
