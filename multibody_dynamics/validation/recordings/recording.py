# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A recording of any kind: its overview, and its samples as a stream."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from ...dynamics.core import InputError
from ...dynamics.model import Transmission, motor_columns
from . import tables
from .bags import BATCH, Bag, JointSamples, Overview


@dataclass(frozen=True, kw_only=True)
class JointSelection:
    """Where a recording has the joints of a robot.

    topics, motor_topic : with the states of links and motors in a bag; by default those with the
        usual names. prefix : of the recorded names. held : constant positions of joints that were
        not recorded, rad or m.
    """

    topics: tuple[str, ...] = ()
    motor_topic: str = ""
    prefix: str = ""
    held: Mapping[str, float] = field(default_factory=dict)


ALL_JOINTS = JointSelection()


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
    def _tables(self) -> tuple[JointSamples, ...]:
        """The joints of a table and, for motor efforts, its motors, if it has their positions."""
        if self.path.suffix not in tables.SUFFIXES or self.path.is_dir():
            return ()
        joints = tables.read_table(self.path, self.effort, self._transmissions, self._prefix)
        motors = tables.read_motor_table(self.path) if self.effort == "motor" else None
        return (joints,) if motors is None else (joints, motors)

    @cached_property
    def _bag(self) -> Bag:
        return Bag(self.path)

    @cached_property
    def overview(self) -> Overview:
        """Topics and time span. Raises InputError for a recording that cannot be read."""
        if not self._tables:
            return self._bag.overview
        received = self._tables[0].received
        counts = {table.topic: len(table.received) for table in self._tables}
        return Overview(counts, int(received.min()), int(received.max()))

    def read(
        self,
        topics: Sequence[str] | None = None,
        *,
        start: int | None = None,
        stop: int | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Iterator[JointSamples]:
        """The samples; see :meth:`.Bag.read`. Joints behind transmissions become motors."""
        read = self._table_parts if self._tables else self._bag.read
        for batch in read(topics, start=start, stop=stop, progress=progress):
            columns = motor_columns(batch.names, self._transmissions, self._prefix)
            if columns.behind:
                rows = [
                    columns.convert(field, batch.rows[:, k])
                    for k, field in enumerate(("position", "velocity", "effort"))
                ]
                batch = replace(batch, names=columns.names, rows=np.stack(rows, axis=1))
            yield batch

    def whole(
        self,
        topics: Sequence[str] | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> tuple[list[JointSamples], str]:
        """All samples that can be read, and why there are not more, or ''. Raises InputError if
        there are none."""
        batches: list[JointSamples] = []
        try:
            batches.extend(self.read(topics, progress=progress))
        except InputError as error:
            if not batches:
                raise
            return batches, str(error)
        return batches, ""

    def _table_parts(
        self,
        topics: Sequence[str] | None,
        *,
        start: int | None,
        stop: int | None,
        progress: Callable[[int, int], None],
    ) -> Iterator[JointSamples]:
        """The tables as if they were received from `start` to `stop`; all of them, whatever the
        topics."""
        count = len(self._tables[0].received)
        for begin in range(0, count, BATCH):
            part = slice(begin, begin + BATCH)
            for table in self._tables:
                at = table.received[part]
                inside = (at >= (at if start is None else start)) & (
                    at < (at + 1 if stop is None else stop)
                )
                if inside.any():
                    yield JointSamples(
                        table.topic, table.names, at[inside], at[inside], table.rows[part][inside]
                    )
            progress(min(begin + BATCH, count), count)
