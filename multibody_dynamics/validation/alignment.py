# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Converts messages, in order of arrival, to samples of all joints on a uniform grid of times.

The grid is origin + k period for all sources. Each sample on it has a key that increases by one
from sample to sample; a larger step marks a gap. Everything is streamed, and the results do not
depend on how the messages are batched.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..dynamics.core import Array, InputError
from .recordings import JointSamples
from .unwrapping import unwrapped

WINDOW = 1_000_000_000  # ns; if a stamp goes back by more than this, the clock was set back
GAP = 3.5  # periods; longer gaps between samples are not interpolated
ON_GRID = 1e-6  # periods: a sample this close to a grid point is used unchanged
LISTED = 20  # events of each kind that are listed individually
EPOCH = 44  # bits of a key; the bits above count how often the clock was set back
MIDDLE = 1 << 43

# rows of a source
EVERYTHING, MOTION, EFFORT, MOTOR = slice(0, 3), slice(0, 2), slice(2, 3), slice(0, 3, 2)

Keys = NDArray[np.int64]


class Source(NamedTuple):
    """The messages of one topic that carry the same joints of the model.

    columns : the columns (m,) of these joints, for each list of names in the messages.
    places : (m,) indices of the joints in the model.
    stamped : whether the messages have stamps; otherwise the time of receipt is used.
    rows : which of position, velocity and effort are used.
    """

    topic: str
    columns: dict[tuple[str, ...], NDArray[np.intp]]
    places: NDArray[np.intp]
    stamped: bool = True
    rows: slice = EVERYTHING

    @property
    def used(self) -> range:
        """The rows as indices."""
        return range(3)[self.rows]

    def carries(self, batch: JointSamples) -> bool:
        """Whether a batch belongs to this source."""
        return batch.topic == self.topic and batch.names in self.columns

    def times(self, batch: JointSamples) -> Keys:
        """(k,) times of the messages by the clock of the source, ns."""
        return batch.stamp if self.stamped else batch.received

    def signal(self, batch: JointSamples, row: int) -> Array:
        """(k, m) position (row 0), velocity (1) or effort (2) of its joints."""
        return batch.rows[:, row, self.columns[batch.names]]


def sources_of(
    path: Path, batches: Sequence[JointSamples], places: Mapping[str, int]
) -> tuple[Source, ...]:
    """One source for each topic and set of joints in its messages.

    places : indices of the wanted joints by name. Raises InputError if a message contains one of
    these names twice.
    """
    found: dict[tuple[str, tuple[int, ...]], dict[tuple[str, ...], NDArray[np.intp]]] = {}
    for topic, names in dict.fromkeys((batch.topic, batch.names) for batch in batches):
        column = {places[name]: k for k, name in enumerate(names) if name in places}
        for name in places:
            if names.count(name) > 1:
                raise InputError(f"{path}: {topic}: a message contains joint '{name}' twice")
        if column:
            own = tuple(sorted(column))
            columns = np.array([column[place] for place in own], dtype=np.intp)
            found.setdefault((topic, own), {})[names] = columns
    sources = (
        Source(topic, columns, np.array(own, dtype=np.intp))
        for (topic, own), columns in sorted(found.items(), key=lambda item: item[0])
    )
    return tuple(
        source._replace(stamped=any(b.stamp.any() for b in batches if source.carries(b)))
        for source in sources
    )


def require_one_source(path: Path, sources: Sequence[Source], names: Mapping[int, str]) -> None:
    """Raise InputError for a joint with several sources. names : names of the joints by index."""
    for place, name in names.items():
        topics = sorted(source.topic for source in sources if place in source.places)
        if len(set(topics)) > 1:
            raise InputError(
                f"{path}: joint '{name}' is on the topics {', '.join(dict.fromkeys(topics))}; they "
                "may belong to two robots, be recorded twice, or be an output of these nodes; "
                "choose one topic with --topic, and the topic of the motors with --motor-topic"
            )
        if len(topics) > 1:
            raise InputError(
                f"{path}: {topics[0]}: joint '{name}' is in messages with different sets of "
                "joints, which must come from two publishers; remove the messages of one"
            )


def on_one_clock(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Sources for comparison with each other: by stamp if all have stamps, else by receipt."""
    stamped = all(source.stamped for source in sources)
    return tuple(source._replace(stamped=stamped) for source in sources)


DEFECTS = {
    "gaps": "{gaps} gaps, the longest {longest_gap:.4g} s; about {lost} samples missing",
    "clock_jumps": "the clock was set back {clock_jumps} times",
    "unusable": "{unusable} messages with NaN or infinity were skipped",
    "duplicates": "{duplicates} messages with a duplicate stamp were skipped",
    "out_of_order": "{out_of_order} messages arrived out of order and were sorted",
    "without_stamp": "{without_stamp} messages have no stamp; their time of receipt is used",
    "single": "{single} isolated messages between gaps were skipped",
}  # fields of Quality, in words


@dataclass
class Quality:
    """Counts and lists of defects in the messages of one source; times in s after the origin."""

    topic: str
    joints: tuple[str, ...]
    messages: int = 0
    duplicates: int = 0
    out_of_order: int = 0
    without_stamp: int = 0
    unusable: int = 0
    lost: int = 0
    gaps: int = 0
    clock_jumps: int = 0
    single: int = 0
    longest_gap: float = 0.0
    gap_list: list[dict[str, float]] = field(default_factory=list)
    unusable_list: list[dict[str, float]] = field(default_factory=list)
    jump_list: list[dict[str, float]] = field(default_factory=list)
    rate: float = 0.0

    def events(self) -> list[str]:
        """One line for each kind of defect that occurred."""
        facts = vars(self)
        texts = (text.format(**facts) for name, text in DEFECTS.items() if facts[name])
        return [f"{self.topic}: {text}" for text in texts]


class SortedSource:
    """Sorts the samples of one source by stamp; drops duplicates, NaN and infinity.

    `push` and `flush` yield tuples: how often the clock has been set back so far, the stamps (k,)
    in ns, and the rows (k, 3, m).
    """

    def __init__(
        self,
        quality: Quality,
        origin: int,
        *,
        used: Sequence[int],
        turning: NDArray[np.bool_],
        stamped: bool = True,
    ) -> None:
        self.quality = quality
        self._stamped = stamped
        self.origin = origin
        self.epoch = 0
        self._used = list(used)  # rows that must be finite
        self._turning = turning  # joints whose angle may jump by a turn
        self._newest: int | None = None
        self._last: int | None = None  # stamp of the last sample that was yielded
        self._before: Array | None = None
        self._waiting: list[tuple[Keys, Array]] = []

    def push(self, received: Keys, stamp: Keys, rows: Array) -> Iterator[tuple[int, Keys, Array]]:
        quality = self.quality
        quality.messages += len(stamp)
        if not self._stamped:
            quality.without_stamp += len(stamp)
            stamp = received
        finite = np.asarray(np.isfinite(rows[:, self._used]).all(axis=(1, 2)))
        if not finite.all():
            quality.unusable += int((~finite).sum())
            self._list_stretches(stamp, np.logical_not(finite))
            stamp, rows = stamp[finite], rows[finite]
        while len(stamp):
            before = stamp[0] if self._newest is None else self._newest
            newest = np.maximum.accumulate(np.concatenate([[before], stamp]))
            back = stamp < newest[:-1] - WINDOW
            end = int(np.argmax(back)) if back.any() else len(stamp)
            quality.out_of_order += int((stamp[:end] < newest[:end]).sum())
            if end:
                self._waiting.append((stamp[:end], rows[:end]))
                self._newest = int(newest[end])
            if end == len(stamp):
                break
            jump = 1e-9 * (int(stamp[end]) - int(newest[end]))
            quality.clock_jumps += 1
            if len(quality.jump_list) < LISTED:
                quality.jump_list.append({"at": self._seconds(newest[end]), "by": jump})
            yield from self.flush()
            self.epoch += 1
            self._newest = self._last = None
            stamp, rows = stamp[end:], rows[end:]
        if self._newest is not None:
            yield from self._release(self._newest - WINDOW)

    def flush(self) -> Iterator[tuple[int, Keys, Array]]:
        """The remaining samples."""
        yield from self._release(None)

    def _release(self, until: int | None) -> Iterator[tuple[int, Keys, Array]]:
        """The samples up to a stamp, or all if it is None."""
        if not self._waiting:
            return
        stamp = np.concatenate([stamp for stamp, _ in self._waiting])
        rows = np.concatenate([rows for _, rows in self._waiting])
        if (np.diff(stamp) <= 0).any():
            order = np.argsort(stamp, kind="stable")
            stamp, rows = stamp[order], rows[order]
        ready = len(stamp) if until is None else int(np.searchsorted(stamp, until, side="right"))
        self._waiting = [(stamp[ready:], rows[ready:])] if ready < len(stamp) else []
        stamp, rows = stamp[:ready], rows[:ready]
        if ready == 0:
            return
        before = stamp[0] - 1 if self._last is None else self._last
        again = np.diff(stamp, prepend=before) == 0
        if again.any():
            self.quality.duplicates += int(again.sum())
            stamp, rows = stamp[~again], rows[~again]
        if len(stamp):
            self._last = int(stamp[-1])
            rows = rows.copy()
            rows[:, 0] = unwrapped(rows[:, 0], self._turning, self._before)
            self._before = rows[-1, 0].copy()
            yield self.epoch, stamp, rows

    def _list_stretches(self, stamp: Keys, bad: NDArray[np.bool_]) -> None:
        edges = np.flatnonzero(np.diff(np.concatenate([[0], bad.view(np.int8), [0]])))
        for first, end in edges.reshape(-1, 2).tolist():
            if len(self.quality.unusable_list) < LISTED:
                span = {"from": self._seconds(stamp[first]), "to": self._seconds(stamp[end - 1])}
                self.quality.unusable_list.append(span)

    def _seconds(self, stamp: Any) -> float:
        return 1e-9 * (int(stamp) - self.origin)


class Resampler:
    """Interpolates sorted samples on the grid, by cubic polynomials through four neighbours."""

    def __init__(self, quality: Quality, origin: int, period: float) -> None:
        self.quality = quality
        self.origin, self.period = origin, period  # ns
        self._epoch = 0
        self._clear()

    def _clear(self) -> None:
        self._u: Array = np.zeros(0)  # periods after the origin
        self._values: Array | None = None
        self._next: int | None = None  # grid point

    def push(self, epoch: int, stamp: Keys, rows: Array) -> Iterator[tuple[Keys, Array]]:
        """The keys (k,) and rows (k, 3, m) that are now determined."""
        if epoch != self._epoch:
            yield from self.flush()
            self._epoch = epoch
        u = (stamp - self.origin) / self.period
        joined = np.concatenate([self._u, u])
        kept = rows if self._values is None else np.concatenate([self._values, rows])
        steps = np.diff(joined)
        breaks = np.flatnonzero(steps > GAP)
        for gap in breaks.tolist():
            self._report(joined[gap], steps[gap])
        first = 0
        for end in (breaks + 1).tolist():
            self._u, self._values = joined[first:end], kept[first:end]
            yield from self.flush()
            first = end
        self._u, self._values = joined[first:], kept[first:]
        if len(self._u) >= 4:
            yield from self._emit(int(np.floor(self._u[-3])))

    def flush(self) -> Iterator[tuple[Keys, Array]]:
        """The remaining samples, before a gap or the end."""
        if 0 < len(self._u) < 4 and self._next is None:
            self.quality.single += len(self._u)
        elif len(self._u) >= 4:
            yield from self._emit(int(np.floor(self._u[-1] + ON_GRID)))
        self._clear()

    def _emit(self, last: int) -> Iterator[tuple[Keys, Array]]:
        u, values = self._u, self._values
        assert values is not None
        first = int(np.ceil(u[0] - ON_GRID)) if self._next is None else self._next
        if last < first:
            return
        k = np.arange(first, last + 1)
        begin = np.clip(np.searchsorted(u, k + ON_GRID, side="right") - 2, 0, len(u) - 4)
        found = _interpolated(u, values, k, begin)
        keep = max(int(begin[-1]) - 1, 0)
        self._u, self._values, self._next = u[keep:], values[keep:], last + 1
        yield (np.int64(self._epoch) << EPOCH) + MIDDLE + k, found

    def _report(self, u: float, step: float) -> None:
        quality = self.quality
        seconds = 1e-9 * step * self.period
        quality.gaps += 1
        quality.lost += max(round(step) - 1, 0)
        quality.longest_gap = max(quality.longest_gap, seconds)
        if len(quality.gap_list) < LISTED:
            quality.gap_list.append({"at": 1e-9 * u * self.period, "lasts": seconds})


def _interpolated(u: Array, values: Array, k: NDArray[Any], begin: NDArray[np.intp]) -> Array:
    """Values at the points k, by Lagrange interpolation of the four samples from `begin` on."""
    stencil = begin[:, None] + np.arange(4)
    nodes = u[stencil] - k[:, None]
    weights = np.empty_like(nodes)
    for i in range(4):
        others = np.delete(nodes, i, axis=1)
        weights[:, i] = np.prod(others / (others - nodes[:, i : i + 1]), axis=1)
    near = np.abs(nodes) <= ON_GRID
    taken = np.flatnonzero(near.any(axis=1))
    weights[taken] = 0.0
    weights[taken, near[taken].argmax(axis=1)] = 1.0
    rows = np.arange(0, 4 * len(k) + 1, 4)
    sums = csr_array((weights.ravel(), stencil.ravel(), rows), shape=(len(k), len(u)))
    return np.asarray(sums @ values.reshape(len(u), -1)).reshape(-1, *values.shape[1:])


def seconds_of(keys: Keys, period: float) -> Array:
    """(k,) times in s after the origin; period in ns."""
    return np.asarray(1e-9 * period * ((keys & ((1 << EPOCH) - 1)) - MIDDLE), dtype=np.float64)


def runs_of(keys: Keys) -> list[slice]:
    """The stretches of consecutive keys."""
    cuts = [0, *(np.flatnonzero(np.diff(keys) != 1) + 1).tolist(), len(keys)]
    return [slice(a, b) for a, b in pairwise(cuts) if b > a]


class Merger:
    """Joins the samples of several sources on one grid into samples of all joints (k, 3, n)."""

    def __init__(self, sources: Sequence[Source], n: int, background: Array) -> None:
        self._sources = sources
        self._background = background  # (3, n) rows of joints without a source
        self._n = n
        self._waiting: list[list[tuple[Keys, Array]]] = [[] for _ in sources]

    def push(self, which: int, keys: Keys, rows: Array) -> Iterator[tuple[Keys, Array]]:
        self._waiting[which].append((keys, rows))
        if not all(self._waiting):
            return
        held = [
            (np.concatenate([k for k, _ in w]), np.concatenate([r for _, r in w]))
            for w in self._waiting
        ]
        end = min(int(keys[-1]) for keys, _ in held)
        common = reduce(np.intersect1d, [keys for keys, _ in held]) if len(held) > 1 else held[0][0]
        if len(common):
            merged = np.broadcast_to(self._background, (len(common), 3, self._n)).copy()
            for source, (keys, rows) in zip(self._sources, held, strict=True):
                merged[:, source.rows, source.places] = rows[np.searchsorted(keys, common)]
            yield common, merged
        self._waiting = [[(k[k > end], r[k > end])] if k[-1] > end else [] for k, r in held]


class Track:
    """Converts the messages of one source to samples on the grid: keys (k,), rows (k, 3, m)."""

    def __init__(self, source: Source, order: SortedSource, grid: Resampler) -> None:
        self._source, self._order, self._grid = source, order, grid
        self._parts: dict[tuple[str, ...], JointSamples] = {}  # for the same stretch of time

    def push(self, batch: JointSamples) -> Iterator[tuple[Keys, Array]]:
        """Process a batch if it belongs to this source.

        A publisher may add other joints to some of its messages. These form separate batches, which
        wait here until they can be merged in order.
        """
        if not self._source.carries(batch):
            return
        if batch.names in self._parts:
            yield from self._advance()
        self._parts[batch.names] = batch

    def flush(self) -> Iterator[tuple[Keys, Array]]:
        """The remaining samples."""
        yield from self._advance()
        for epoch, stamp, rows in self._order.flush():
            yield from self._grid.push(epoch, stamp, rows)
        yield from self._grid.flush()

    def _advance(self) -> Iterator[tuple[Keys, Array]]:
        if not self._parts:
            return
        parts = [
            (
                each.received,
                each.stamp,
                each.rows[:, self._source.rows, self._source.columns[names]],
            )
            for names, each in self._parts.items()
        ]
        self._parts.clear()
        messages = parts[0]
        if len(parts) > 1:
            received, stamp, rows = (np.concatenate(column) for column in zip(*parts, strict=True))
            turn = np.argsort(received, kind="stable")
            messages = received[turn], stamp[turn], rows[turn]
        for epoch, stamp, rows in self._order.push(*messages):
            yield from self._grid.push(epoch, stamp, rows)


class Grid(NamedTuple):
    """The grid on which sources are resampled, and how."""

    origin: int  # ns
    period: float  # ns
    background: Array  # (3, n) rows of joints without a source
    turning: NDArray[np.bool_]  # (n,) joints whose recorded angle may jump by a turn
    velocity: bool  # whether velocities are used


def aligned(
    batches: Iterator[JointSamples],
    sources: Sequence[Source],
    qualities: Sequence[Quality],
    grid: Grid,
    failed: Callable[[Exception], None] | None = None,
) -> Iterator[tuple[Keys, Array]]:
    """Keys (k,) and rows (k, 3, n) of all joints on the grid.

    qualities : one for each source, filled in here. failed : called with an error of the recording,
    which is raised by default; all samples that were read before the error still follow.
    """
    tracks = []
    for source, quality in zip(sources, qualities, strict=True):
        turns = grid.turning[source.places] & (source.rows != EFFORT)
        used = [k for k, row in enumerate(source.used) if grid.velocity or row != 1]
        order = SortedSource(quality, grid.origin, used=used, turning=turns, stamped=source.stamped)
        tracks.append(Track(source, order, Resampler(quality, grid.origin, grid.period)))
    merger = Merger(sources, grid.background.shape[1], grid.background)
    try:
        for batch in batches:
            for which, track in enumerate(tracks):
                for keys, rows in track.push(batch):
                    yield from merger.push(which, keys, rows)
    except Exception as error:
        if failed is None:
            raise
        failed(error)
    for which, track in enumerate(tracks):
        for keys, rows in track.flush():
            yield from merger.push(which, keys, rows)
